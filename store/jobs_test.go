package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// atOnce runs do from n goroutines that start together, and waits for them.
func atOnce(n int, do func(i int)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	all.Wait()
}

// TestOneOfAHundredClaimersGetsTheTick: from two processes' pools.
func TestOneOfAHundredClaimersGetsTheTick(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	processes := []*database{openStore(t, store.Options{URL: address}), openStore(t, store.Options{URL: address})}
	for round := range 5 {
		tick := utc(t, "2026-11-30 12:00:00").Add(time.Duration(round) * time.Minute)
		var won, failed atomic.Int32
		var winner atomic.Value
		atOnce(100, func(i int) {
			holder := fmt.Sprintf("holder %d", i)
			claimed, err := processes[i%2].ClaimTick(t.Context(), "weekly", tick, holder)
			if err != nil {
				failed.Add(1)
				t.Error(err)
			}
			if claimed {
				won.Add(1)
				winner.Store(holder)
			}
		})
		if won.Load() != 1 || failed.Load() != 0 {
			t.Fatalf("round %d: %d won, %d failed, want 1 and 0", round, won.Load(), failed.Load())
		}
		processes[0].wantLines([]string{winner.Load().(string)}, `SELECT holder FROM job_runs WHERE job = 'weekly' AND tick = $1`, tick)
	}
}

func TestRunsTellHowTheyWent(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	tick := utc(t, "2026-11-30 12:00:00")
	for i, job := range []string{"weekly", "weekly", "weekly", "retention"} {
		if claimed, err := d.ClaimTick(t.Context(), job, tick.Add(time.Duration(i)*time.Hour), "a"); err != nil || !claimed {
			t.Fatalf("claimed %v: %v", claimed, err)
		}
	}
	if claimed, err := d.ClaimTick(t.Context(), "weekly", tick, "b"); err != nil || claimed {
		t.Errorf("claimed again: %v: %v", claimed, err)
	}
	if err := d.FinishTick(t.Context(), "weekly", tick, "a", store.JobDone, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.FinishTick(t.Context(), "weekly", tick.Add(time.Hour), "a", store.JobFailed, "no data"); err != nil {
		t.Fatal(err)
	}
	for name, holder := range map[string]string{"finished already": "a", "another's": "b"} {
		if err := d.FinishTick(t.Context(), "weekly", tick, holder, store.JobDone, ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	runs, err := d.LastRuns(t.Context(), "weekly", 2)
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %+v: %v", runs, err)
	}
	if !runs[0].FinishedAt.IsZero() || runs[1].FinishedAt.IsZero() || runs[0].StartedAt.IsZero() {
		t.Errorf("times: %+v", runs)
	}
	for i := range runs {
		runs[i].StartedAt, runs[i].FinishedAt = time.Time{}, time.Time{}
	}
	want := []store.JobRun{
		{Job: "weekly", Tick: tick.Add(2 * time.Hour), Holder: "a"},
		{Job: "weekly", Tick: tick.Add(time.Hour), Holder: "a", Result: store.JobFailed, Detail: "no data"},
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
