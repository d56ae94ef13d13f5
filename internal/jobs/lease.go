package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/corewait/corewait/store"
)

// hold is a lease as this process sees it. until is reckoned by its own clock
// from before the database was asked, and so is never later than the end that the
// database knows.
type hold struct {
	lease store.Lease
	until time.Time
}

func (h hold) lasts() bool { return time.Now().Before(h.until) }

func (r *Runner) acquire(ctx context.Context, name string) (h hold, acquired bool, err error) {
	asked := time.Now()
	lease, acquired, err := r.claims.AcquireLease(ctx, name, r.holder, r.o.Lease)
	return hold{lease, asked.Add(r.o.Lease)}, acquired, err
}

// renew makes a hold last longer. Where the database does not answer for as long
// as the hold lasts, it is lost.
func (r *Runner) renew(ctx context.Context, h hold) (hold, error) {
	asked := time.Now()
	limited, cancel := context.WithDeadline(ctx, h.until)
	defer cancel()
	lease, err := r.claims.RenewLease(limited, h.lease, r.o.Lease)
	switch {
	case err == nil:
		return hold{lease, asked.Add(r.o.Lease)}, nil
	case !errors.Is(err, store.ErrLeaseLost) && !h.lasts():
		return h, fmt.Errorf("%w: not renewed in %v: %w", store.ErrLeaseLost, r.o.Lease, err)
	}
	return h, err
}

// untilRenewal is how long to wait before a hold is renewed.
func (r *Runner) untilRenewal(h hold) time.Duration {
	return max(min(r.o.Renew, time.Until(h.until)), time.Millisecond)
}

func (r *Runner) release(ctx context.Context, h hold) {
	limited, cancel := context.WithTimeout(ctx, r.o.Lease) // it has expired by then
	defer cancel()
	if err := r.claims.ReleaseLease(limited, h.lease); err != nil {
		r.o.Log.Warn("a lease was not given back and has to expire", "lease", h.lease.Name, "error", err)
	}
}

// lives says whether the process holds its lease: without it no tick is claimed,
// since others would take it for abandoned.
func (r *Runner) lives() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process.lasts()
}

// keepAlive acquires or renews the lease of the process.
func (r *Runner) keepAlive(ctx context.Context) error {
	r.mu.Lock()
	h := r.process
	r.mu.Unlock()
	var err error
	if h.lasts() {
		if h, err = r.renew(ctx, h); errors.Is(err, store.ErrLeaseLost) {
			h = hold{}
		}
	}
	if !h.lasts() && ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, r.o.Lease)
		defer cancel()
		var acquired bool
		if h, acquired, err = r.acquire(limited, store.ProcessLease(r.holder)); !acquired {
			h = hold{}
		}
	}
	r.mu.Lock()
	r.process = h
	r.mu.Unlock()
	return err
}

// keepAliveOn keeps the lease of the process for as long as it lives.
func (r *Runner) keepAliveOn() {
	away := trouble{log: r.o.Log, what: "the database does not renew the lease of this process"}
	timer := time.NewTimer(r.o.Renew)
	defer timer.Stop()
	for {
		select {
		case <-r.living.Done():
			return
		case <-timer.C:
		}
		err := r.keepAlive(r.living)
		if r.living.Err() == nil {
			away.note(err)
		}
		timer.Reset(r.o.Renew)
	}
}

func (r *Runner) giveUpLife(ctx context.Context) {
	r.mu.Lock()
	h := r.process
	r.process = hold{}
	r.mu.Unlock()
	if h.lasts() {
		r.release(ctx, h)
	}
}

// trouble tells once that something fails, and once that it works again.
type trouble struct {
	log  *slog.Logger
	what string
	on   bool
}

func (t *trouble) note(err error) {
	switch {
	case err != nil && !t.on:
		t.log.Warn(t.what, "error", err)
	case err == nil && t.on:
		t.log.Info(t.what + ": over")
	}
	t.on = err != nil
}
