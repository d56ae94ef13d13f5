package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/store"
)

func openStore(t *testing.T, address string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// start makes and starts a Runner, which is stopped when the test ends.
func start(t *testing.T, claims Claims, holder string, o Options, list ...Job) *Runner {
	t.Helper()
	r := New(claims, holder, o)
	if err := r.Start(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := r.Stop(patience); err != nil {
			t.Errorf("stop %s: %v", holder, err)
		}
	})
	return r
}

// quick are lengths for tests by the clock of the database: a fifth of the usual
// lease, which a busy machine still renews in time.
func quick() Options {
	return Options{Lease: 4 * time.Second, Renew: 500 * time.Millisecond, Poll: 250 * time.Millisecond}
}

// diary notes which ticks of which job were run.
type diary struct {
	mu   sync.Mutex
	runs map[string][]string
}

// stamp writes a tick as diaries have it.
func stamp(at time.Time) string { return at.UTC().Format("02 15:04:05") }

func (d *diary) note(job string, tick time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == nil {
		d.runs = map[string][]string{}
	}
	d.runs[job] = append(d.runs[job], stamp(tick))
}

func (d *diary) of(job string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.runs[job]...)
}

// job is one that only notes its ticks.
func (d *diary) job(name, schedule string) Job {
	return Job{Name: name, Schedule: schedule, Deadline: time.Minute, Run: func(_ context.Context, tick time.Time) (string, error) {
		d.note(name, tick)
		return "noted", nil
	}}
}

// yearly is a schedule that does not come while a test runs.
const yearly = "0 0 1 1 *"

// blocked is a job that says when it begins and goes on until it is let go or its
// context ends: then it gives the cause.
type blocked struct {
	begun chan time.Time
	letGo chan struct{}
	cause chan error
}

func newBlocked() *blocked {
	return &blocked{begun: make(chan time.Time, 10), letGo: make(chan struct{}), cause: make(chan error, 10)}
}

func (b *blocked) job(name, schedule string) Job {
	return Job{Name: name, Schedule: schedule, Deadline: time.Hour, Run: func(ctx context.Context, tick time.Time) (string, error) {
		b.begun <- tick
		select {
		case <-b.letGo:
			return "let go", nil
		case <-ctx.Done():
			b.cause <- context.Cause(ctx)
			return "", ctx.Err()
		}
	}}
}

// soon receives within a minute.
func soon[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("not within a minute: %s", what)
		panic("unreachable")
	}
}

// until polls a condition for a minute.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so within a minute: %s", what)
		}
	}
}

// recorded lists the runs of a job that the database has, the oldest first: "tick
// holder result detail".
func recorded(t *testing.T, s *store.Store, job string) []string {
	t.Helper()
	runs, err := s.LastRuns(context.WithoutCancel(t.Context()), job, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		result := string(r.Result)
		if r.FinishedAt.IsZero() {
			result = "under way"
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", stamp(r.Tick), r.Holder, result, r.Detail)))
	}
	return lines
}

// did records a run of long ago, by a process that is gone: the ticks since then
// were missed.
func did(t *testing.T, s *store.Store, job string, tick time.Time) {
	t.Helper()
	claimed, err := s.ClaimTick(t.Context(), job, tick, "gone")
	if err != nil || !claimed {
		t.Fatalf("claimed %v: %v", claimed, err)
	}
	if err := s.FinishTick(t.Context(), job, tick, "gone", store.JobDone, ""); err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement on the database, past the store.
func execute(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// network is a database as seen over a line that may fail: before a call reaches
// the database, or after it did. A hook that gives an error makes the call fail.
type network struct {
	*store.Store

	mu            sync.Mutex
	before, after func(call string) error
}

var errCut = errors.New("connection refused")

// fail sets the hooks; nil: none.
func (n *network) fail(before, after func(call string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before, n.after = before, after
}

// cut makes every call fail.
func (n *network) cut() { n.fail(func(string) error { return errCut }, nil) }

func (n *network) mend() { n.fail(nil, nil) }

func (n *network) call(name string, do func() error) error {
	n.mu.Lock()
	before, after := n.before, n.after
	n.mu.Unlock()
	if before != nil {
		if err := before(name); err != nil {
			return err
		}
	}
	err := do()
	if after != nil {
		err = errors.Join(err, after(name))
	}
	return err
}

func (n *network) ClaimTick(ctx context.Context, job string, tick time.Time, holder string) (claimed bool, err error) {
	err = n.call("ClaimTick", func() (err error) { claimed, err = n.Store.ClaimTick(ctx, job, tick, holder); return err })
	return claimed && err == nil, err
}

func (n *network) FinishTick(ctx context.Context, job string, tick time.Time, holder string, result store.JobResult, detail string) error {
	return n.call("FinishTick", func() error { return n.Store.FinishTick(ctx, job, tick, holder, result, detail) })
}

func (n *network) AbandonedTicks(ctx context.Context, since time.Time) (runs []store.JobRun, err error) {
	err = n.call("AbandonedTicks", func() (err error) { runs, err = n.Store.AbandonedTicks(ctx, since); return err })
	return runs, err
}

func (n *network) TakeOverTick(ctx context.Context, run store.JobRun, holder string) (taken bool, err error) {
	err = n.call("TakeOverTick", func() (err error) { taken, err = n.Store.TakeOverTick(ctx, run, holder); return err })
	return taken && err == nil, err
}

func (n *network) JobStates(ctx context.Context, names []string) (states []store.JobState, err error) {
	err = n.call("JobStates", func() (err error) { states, err = n.Store.JobStates(ctx, names); return err })
	return states, err
}

func (n *network) AcquireLease(ctx context.Context, name, holder string, length time.Duration) (lease store.Lease, acquired bool, err error) {
	err = n.call("AcquireLease", func() (err error) {
		lease, acquired, err = n.Store.AcquireLease(ctx, name, holder, length)
		return err
	})
	return lease, acquired && err == nil, err
}

func (n *network) RenewLease(ctx context.Context, lease store.Lease, length time.Duration) (renewed store.Lease, err error) {
	err = n.call("RenewLease", func() (err error) { renewed, err = n.Store.RenewLease(ctx, lease, length); return err })
	return renewed, err
}

func (n *network) ReleaseLease(ctx context.Context, lease store.Lease) error {
	return n.call("ReleaseLease", func() error { return n.Store.ReleaseLease(ctx, lease) })
}

func (n *network) DeleteDeadProcesses(ctx context.Context, longer time.Duration) error {
	return n.call("DeleteDeadProcesses", func() error { return n.Store.DeleteDeadProcesses(ctx, longer) })
}
