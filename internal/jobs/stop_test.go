package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/internal/testdb"
)

func TestStopWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "weekly", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	b := newBlocked()
	r := start(t, s, "one", quick(), b.job("weekly", yearly))
	soon(t, "it begins", b.begun)
	stopped := make(chan error, 2)
	for range 2 { // to stop twice is to wait twice
		go func() { stopped <- r.Stop(t.Context()) }()
	}
	until(t, "it stops", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.phase == stopping
	})
	time.Sleep(quick().Lease + 2*quick().Renew) // the leases of a run go on while it is waited for
	select {
	case err := <-stopped:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(b.letGo)
	for range 2 {
		if err := soon(t, "it is stopped", stopped); err != nil {
			t.Error(err)
		}
	}
	if lines := recorded(t, s, "weekly"); !strings.HasSuffix(lines[1], "one done let go") {
		t.Errorf("runs %v", lines)
	}
	if err := r.Reschedule(nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("rescheduled: %v", err)
	}
	if err := r.RunNow(t.Context(), "weekly"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("run now: %v", err)
	}
	if err := r.Start(t.Context(), nil); err == nil {
		t.Error("it was started again")
	}
	// Its leases are given back: another process need not wait for them.
	for _, lease := range []string{"process/one", "job/weekly"} {
		if _, acquired, err := s.AcquireLease(t.Context(), lease, "another", time.Minute); err != nil || !acquired {
			t.Errorf("%s is held: %v", lease, err)
		}
	}
}

// TestStopThatLosesPatienceLeavesTheTickToAnother: at once, since the lease of the
// process is given back.
func TestStopThatLosesPatienceLeavesTheTickToAnother(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "weekly", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	first, second := newBlocked(), newBlocked()
	close(second.letGo)
	r := New(s, "first", Options{Lease: time.Hour, Poll: quick().Poll, Renew: time.Second})
	if err := r.Start(t.Context(), []Job{first.job("weekly", yearly)}); err != nil {
		t.Fatal(err)
	}
	soon(t, "the first begins", first.begun)
	start(t, openStore(t, address), "second", quick(), second.job("weekly", yearly))
	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := r.Stop(impatient)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "broken off: weekly") {
		t.Errorf("stop: %v", err)
	}
	if cause := soon(t, "the first ends", first.cause); !errors.Is(cause, errStopped) {
		t.Errorf("the cause is %v", cause)
	}
	soon(t, "the second begins", second.begun)
	until(t, "it is recorded", func() bool { return strings.HasSuffix(recorded(t, s, "weekly")[1], "second done let go") })
}

func TestStopWithoutADatabaseEnds(t *testing.T) {
	t.Parallel()
	s := openStore(t, testdb.New(t))
	line := &network{Store: s}
	var d diary
	r := start(t, line, "one", quick(), d.job("any", yearly))
	line.cut()
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopOfWhatWasNotStarted(t *testing.T) {
	t.Parallel()
	r := New(nil, "one", Options{})
	for range 2 {
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := r.Start(t.Context(), nil); err == nil {
		t.Error("it was started after it was stopped")
	}
}

func TestRunNow(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "busy", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	disk := errors.New("disk full")
	var d diary
	b := newBlocked()
	one := start(t, s, "one", quick(), d.job("fine", yearly), b.job("busy", yearly), Job{
		Name: "fails", Schedule: yearly, Deadline: time.Minute, Run: func(context.Context, time.Time) (string, error) { return "", disk },
	})
	soon(t, "the busy one begins", b.begun) // else the other process might make its missed tick good
	two := start(t, openStore(t, address), "two", quick(), d.job("busy", yearly))

	for range 2 {
		if err := one.RunNow(t.Context(), "fine"); err != nil {
			t.Error(err)
		}
	}
	if len(d.of("fine")) != 2 {
		t.Errorf("ran at %v", d.of("fine"))
	}
	if err := one.RunNow(t.Context(), "fails"); !errors.Is(err, disk) || !strings.Contains(err.Error(), "job fails: ") {
		t.Errorf("an error: %v", err)
	}
	if err := one.RunNow(t.Context(), "none"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("no such job: %v", err)
	}
	if err := New(s, "three", quick()).RunNow(t.Context(), "fine"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("not started: %v", err)
	}

	// A run that is under way is waited for, in this process or the other.
	for _, r := range []*Runner{one, two} {
		impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := r.RunNow(impatient, "busy"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s did not wait: %v", r.holder, err)
		}
		cancel()
	}
	ran := make(chan error, 1)
	go func() { ran <- two.RunNow(t.Context(), "busy") }()
	close(b.letGo)
	if err := soon(t, "it runs when the other has ended", ran); err != nil {
		t.Error(err)
	}
	if len(d.of("busy")) != 1 {
		t.Errorf("ran at %v", d.of("busy"))
	}
}
