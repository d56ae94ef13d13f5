package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/store"
)

// Options are the choices of New.
type Options struct {
	// Token, where it is not empty, must come with every request as
	// "Authorization: Bearer TOKEN"; /livez and /readyz need none.
	Token string
	// Hosts are the names under which people reach the service, beside loopback's:
	// a page of another origin that a browser is led to resolve to it has others.
	// Nil: requests of any host are answered, for what listens with a token.
	Hosts   []string
	Metrics http.Handler // of /metrics; may be nil
	// Jobs tells how the service's jobs do; may be nil.
	Jobs func() []jobs.Status
	// Ready says why the service is not ready, nil if it is.
	Ready   func(context.Context) error
	Version string
	Log     *slog.Logger
}

// site answers requests.
type site struct {
	st    *store.Store
	o     Options
	token [sha256.Size]byte
}

// New gives the handler of the listener for people.
func New(st *store.Store, o Options) http.Handler {
	s := &site{st: st, o: o, token: sha256.Sum256([]byte(o.Token))}
	open, mux := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "alive") })
	open.HandleFunc("GET /readyz", s.ready)
	open.Handle("/", s.authenticated(mux))
	for path, handle := range map[string]func(*http.Request) (any, error){
		"nodes":                s.nodes,
		"findings":             s.findings,
		"findings/{node}/{id}": s.finding,
		"incidents":            s.incidents,
		"incidents/{id}":       s.incident,
		"status":               s.status,
	} {
		mux.Handle("GET /api/v1/"+path, s.document(handle))
	}
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	mux.HandleFunc("GET /{$}", s.index)
	return s.hardened(open)
}

// index says in plain text what there is.
func (s *site) index(w http.ResponseWriter, _ *http.Request) {
	text(w, http.StatusOK, `corewait `+s.o.Version+`

/api/v1/findings          verdicts of days, weeks and incidents (?scope= node= instance= watch= from= to= limit= after=)
/api/v1/findings/NODE/ID  one of them, in the form of corewait analyze --json
/api/v1/incidents         runs of stalls (?state= node= instance= from= to= limit= after=)
/api/v1/incidents/ID      one of them, on each of its nodes, with its findings
/api/v1/nodes             nodes and when their agents were heard of last
/api/v1/status            jobs: last run, result, lag
/metrics  /livez  /readyz`)
}

// hardened refuses foreign hosts and sets what browsers are to know.
func (s *site) hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !s.knows(r.Host) {
			failed(w, http.StatusMisdirectedRequest, "this host name is not corewait's: use the address that it listens on, or add the name to people.hosts")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			failed(w, http.StatusMethodNotAllowed, "this listener only reads")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knows says whether a Host header names this service.
func (s *site) knows(host string) bool {
	if s.o.Hosts == nil {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost") {
		return true
	}
	for _, own := range s.o.Hosts {
		if strings.EqualFold(name, own) {
			return true
		}
	}
	return false
}

// authenticated asks for the token, where there is one.
func (s *site) authenticated(next http.Handler) http.Handler {
	if s.o.Token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		hash := sha256.Sum256([]byte(given))
		if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 || !bearer {
			w.Header().Set("WWW-Authenticate", "Bearer")
			failed(w, http.StatusUnauthorized, "a token is needed: Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readyPatience bounds the answer to /readyz.
const readyPatience = 3 * time.Second

func (s *site) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	if s.o.Ready != nil {
		if err := s.o.Ready(ctx); err != nil {
			text(w, http.StatusServiceUnavailable, "not ready") // why is not everybody's business: /api/v1/status and the log say it
			return
		}
	}
	text(w, http.StatusOK, "ready")
}

// requestError is a request that cannot be answered for its own fault.
type requestError struct{ why string }

func (e *requestError) Error() string { return e.why }

// document answers with JSON.
func (s *site) document(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := handle(r)
		var bad *requestError
		switch {
		case err == nil:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			if err := e.Encode(v); err != nil {
				s.log(r, err)
			}
		case errors.As(err, &bad):
			failed(w, http.StatusBadRequest, bad.why)
		case errors.Is(err, store.ErrCursor):
			failed(w, http.StatusBadRequest, "after: not the next of such a list")
		case errors.Is(err, store.ErrNotFound):
			failed(w, http.StatusNotFound, "not found")
		default:
			s.log(r, err)
			failed(w, http.StatusServiceUnavailable, "the database does not answer: the log says why")
		}
	})
}

func (s *site) log(r *http.Request, err error) {
	if s.o.Log != nil {
		s.o.Log.WarnContext(r.Context(), "request failed", "path", r.URL.Path, "error", err)
	}
}

// failed answers with an error in JSON.
func failed(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	quoted, err := json.Marshal(why)
	if err != nil {
		quoted = []byte(`""`)
	}
	_, _ = fmt.Fprintf(w, "{\"error\":{\"message\":%s}}\n", quoted) // the client has gone
}

func text(w http.ResponseWriter, status int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(s + "\n")) // the client has gone
}
