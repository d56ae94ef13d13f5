package receive

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Times of /readyz.
const (
	pingPatience = 2 * time.Second
	pingKept     = time.Second // so that many who ask are one question to the database
)

// readiness is what the database last answered.
type readiness struct {
	mu    sync.Mutex
	asked time.Time
	err   error
}

// ready says whether a push would be stored now.
func (r *Receiver) ready(w http.ResponseWriter, req *http.Request) {
	switch {
	case r.draining.Load():
		answer(w, http.StatusServiceUnavailable, "the service stops")
	case r.ping(req.Context()) != nil:
		answer(w, http.StatusServiceUnavailable, "the database does not answer")
	default:
		answer(w, http.StatusOK, "ok")
	}
}

func (r *Receiver) ping(ctx context.Context) error {
	s := &r.readiness
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := r.options.Now(); s.asked.IsZero() || now.Sub(s.asked).Abs() >= pingKept {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingPatience)
		defer cancel()
		s.err = r.keeper.Ping(ctx)
		s.asked = r.options.Now()
		if s.err != nil {
			r.log.warn("database does not answer", 0, "error", s.err)
		}
	}
	return s.err
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // who asked has gone
}
