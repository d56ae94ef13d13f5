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

// claim claims a tick for a holder that has the lease of a process, or has none.
func (d *database) claim(job string, tick time.Time, holder string, alive bool) {
	d.t.Helper()
	if claimed, err := d.ClaimTick(d.t.Context(), job, tick, holder); err != nil || !claimed {
		d.t.Fatalf("%s claims %s: %v: %v", holder, job, claimed, err)
	}
	if alive {
		d.acquire(store.ProcessLease(holder), holder)
	}
}

// ticks lists runs as "job holder minute".
func ticks(runs []store.JobRun) []string {
	var list []string
	for _, r := range runs {
		list = append(list, fmt.Sprintf("%s %s %02d %s", r.Job, r.Holder, r.Tick.Minute(), r.Detail))
	}
	return list
}

func (d *database) abandoned(since time.Time) []string {
	d.t.Helper()
	runs, err := d.AbandonedTicks(d.t.Context(), since)
	if err != nil {
		d.t.Fatal(err)
	}
	return ticks(runs)
}

func TestTicksOfProcessesThatLiveNoMoreAreAbandoned(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	tick := utc(t, "2026-11-30 12:00:00")
	minute := func(n int) time.Time { return tick.Add(time.Duration(n) * time.Minute) }
	d.claim("weekly", minute(3), "dead", false)
	d.claim("retain", minute(2), "dead", false)
	d.claim("weekly", minute(4), "living", true)
	d.claim("weekly", minute(5), "dying", true)
	d.claim("weekly", minute(1), "finished", false)
	if err := d.FinishTick(t.Context(), "weekly", minute(1), "finished", store.JobSkipped, ""); err != nil {
		t.Fatal(err)
	}
	// Leases of another kind, or of another process, do not show that a process lives.
	d.acquire("job/weekly", "dead")
	d.acquire(store.ProcessLease("dead"), "another")

	long := time.Now().Add(-time.Hour)
	if diff := cmp.Diff([]string{"retain dead 02 ", "weekly dead 03 "}, d.abandoned(long)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	d.expire(store.Lease{Name: store.ProcessLease("dying")})
	if diff := cmp.Diff([]string{"retain dead 02 ", "weekly dead 03 ", "weekly dying 05 "}, d.abandoned(long)); diff != "" {
		t.Errorf("when a lease has expired: want -, got +:\n%s", diff)
	}
	d.exec(`UPDATE job_runs SET started_at = now() - interval '2 hours' WHERE job = 'retain'`)
	if diff := cmp.Diff([]string{"weekly dead 03 ", "weekly dying 05 "}, d.abandoned(long)); diff != "" {
		t.Errorf("since an hour: want -, got +:\n%s", diff)
	}
}

func TestAnAbandonedTickIsTakenOver(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	tick := utc(t, "2026-11-30 12:00:00")
	d.claim("weekly", tick, "dead", false)
	d.claim("weekly", tick.Add(time.Hour), "living", true)
	take := func(job string, tick time.Time, from, holder string) bool {
		t.Helper()
		taken, err := d.TakeOverTick(t.Context(), store.JobRun{Job: job, Tick: tick, Holder: from}, holder)
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	for name, taken := range map[string]bool{
		"of a process that lives":       take("weekly", tick.Add(time.Hour), "living", "thief"),
		"of another process than it is": take("weekly", tick, "living", "thief"),
		"of another job":                take("retain", tick, "dead", "thief"),
		"of a tick that nobody claimed": take("weekly", tick.Add(time.Minute), "dead", "thief"),
	} {
		if taken {
			t.Errorf("a tick %s was taken over", name)
		}
	}
	d.exec(`UPDATE job_runs SET started_at = now() - interval '1 hour'`)
	if !take("weekly", tick, "dead", "second") {
		t.Error("it was not taken over")
	}
	// It has begun anew.
	d.wantLines([]string{"second|true|taken over from dead"}, `SELECT holder || '|' || (started_at > now() - interval '1 minute') || '|' || detail FROM job_runs WHERE tick = $1`, tick)
	if err := d.FinishTick(t.Context(), "weekly", tick, "dead", store.JobDone, "late"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the process that it was taken from finished it: %v", err)
	}
	// One that the process has itself, with or without a lease, keeps its detail.
	if !take("weekly", tick, "second", "second") || !take("weekly", tick.Add(time.Hour), "living", "living") {
		t.Error("its own was not taken")
	}
	if diff := cmp.Diff([]string{"weekly second 00 taken over from dead"}, d.abandoned(time.Now().Add(-24*time.Hour))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if err := d.FinishTick(t.Context(), "weekly", tick, "second", store.JobDone, "noted"); err != nil {
		t.Fatal(err)
	}
	if take("weekly", tick, "second", "second") {
		t.Error("a tick that is finished was taken over")
	}
}

func TestOneOfAHundredTakesATickOver(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	tick := utc(t, "2026-11-30 12:00:00")
	d.claim("weekly", tick, "dead", false)
	var won atomic.Int32
	atOnce(100, func(i int) {
		taken, err := d.TakeOverTick(t.Context(), store.JobRun{Job: "weekly", Tick: tick, Holder: "dead"}, fmt.Sprintf("holder %d", i))
		if err != nil {
			t.Error(err)
		}
		if taken {
			won.Add(1)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d took it, want 1", won.Load())
	}
}

func TestStatesOfJobsAreTheNewestRunAndTheNewestThatWentWell(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	tick := utc(t, "2026-11-30 12:00:00")
	for minute, result := range []store.JobResult{store.JobDone, store.JobDone, store.JobFailed, store.JobSkipped, ""} {
		at := tick.Add(time.Duration(minute) * time.Minute)
		d.claim("review", at, "a", false)
		if result != "" {
			if err := d.FinishTick(t.Context(), "review", at, "a", result, "it was "+string(result)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.claim("retain", tick, "b", false)
	states, err := d.JobStates(t.Context(), []string{"retain", "none", "review", "review"})
	if err != nil || len(states) != 4 {
		t.Fatalf("%v: %v", states, err)
	}
	got := make([]string, len(states))
	for i, s := range states {
		got[i] = s.Job
		for _, run := range []*store.JobRun{s.Last, s.Done} {
			if run == nil {
				got[i] += ", none"
				continue
			}
			if run.StartedAt.IsZero() || run.FinishedAt.IsZero() != (run.Result == "") || run.Tick.Location() != time.UTC {
				t.Errorf("%+v", run)
			}
			got[i] += fmt.Sprintf(", %s %s %02d %s", run.Job, run.Result, run.Tick.Minute(), run.Detail)
		}
	}
	want := []string{"retain, retain  00 , none", "none, none, none", "review, review  04 , review done 01 it was done", "review, review  04 , review done 01 it was done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if states, err := d.JobStates(t.Context(), nil); err != nil || len(states) != 0 {
		t.Errorf("of no jobs: %v: %v", states, err)
	}
}
