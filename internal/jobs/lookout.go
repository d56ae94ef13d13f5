package jobs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/corewait/corewait/store"
)

// lookOut looks, until Stop, for what cron's call at a tick does not see to:
// ticks that came while the database or all processes were away, ticks that dead
// processes left, and results that are not recorded yet. It also learns what
// other processes did.
func (r *Runner) lookOut() {
	away := trouble{log: r.o.Log, what: "the database does not tell the state of jobs"}
	timer := time.NewTimer(r.o.Poll)
	defer timer.Stop()
	r.forgetDead()
	for {
		err := r.look()
		if r.looking.Err() == nil {
			away.note(err)
		}
		timer.Reset(r.o.Poll)
		select {
		case <-r.looking.Done():
			return
		case <-timer.C:
		}
	}
}

// longDead is how long leases of dead processes are left, for whoever wants to
// know which there were.
const longDead = 24 * time.Hour

func (r *Runner) forgetDead() {
	limited, cancel := context.WithTimeout(r.looking, r.o.Lease)
	defer cancel()
	if err := r.claims.DeleteDeadProcesses(limited, longDead); err != nil && r.looking.Err() == nil {
		r.o.Log.Warn("leases of dead processes were not deleted", "error", err)
	}
}

func (r *Runner) look() error {
	ctx, cancel := context.WithTimeout(r.looking, r.o.Lease)
	defer cancel()
	r.deliverReports(ctx)
	states, err := r.claims.JobStates(ctx, r.scheduledNames())
	if err != nil {
		return err
	}
	for _, state := range states {
		r.pursue(state)
	}
	abandoned, err := r.claims.AbandonedTicks(ctx, r.o.Now().Add(-longestLookBack))
	if err != nil {
		return err
	}
	seen := map[string]bool{} // the oldest tick of each job first; the next one when it is done
	for _, run := range abandoned {
		if w := r.scheduledWork(run.Job); w != nil && !seen[run.Job] {
			seen[run.Job] = true
			r.runs.Go(func() { r.takeOver(w, run) })
		}
	}
	return nil
}

// longestLookBack is for how long ticks that dead processes left are looked for:
// runs are not kept longer.
const longestLookBack = 90 * 24 * time.Hour

// pursue learns the state of a job and runs what is due by it.
func (r *Runner) pursue(state store.JobState) {
	w := r.scheduledWork(state.Job)
	if w == nil {
		return
	}
	r.mu.Lock()
	if w.catchUp && state.Last != nil {
		w.since = time.Time{}
	}
	w.catchUp = false
	w.state.Last, w.state.Done = newer(w.state.Last, state.Last), newer(w.state.Done, state.Done)
	from := w.since
	if last := w.state.Last; last != nil && last.Tick.After(from) {
		from = last.Tick
	}
	tick, missed := w.schedule.latest(from, r.o.Now())
	r.mu.Unlock()
	switch last := state.Last; {
	case missed:
		r.runs.Go(func() { r.atTick(w, tick) })
	case last != nil && last.FinishedAt.IsZero() && last.Holder == r.holder:
		r.runs.Go(func() { r.takeOver(w, *last) }) // which leaves it if it is in hand
	}
}

// newer gives the run of the later tick; of one tick the finished.
func newer(a, b *store.JobRun) *store.JobRun {
	if a == nil || b != nil && (b.Tick.After(a.Tick) || b.Tick.Equal(a.Tick) && (a.FinishedAt.IsZero() || !b.FinishedAt.IsZero())) {
		return b
	}
	return a
}

// noteState notes a run of this process.
func (r *Runner) noteState(w *work, run store.JobRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.state.Last = newer(w.state.Last, &run)
	if run.Result == store.JobDone {
		w.state.Done = newer(w.state.Done, &run)
	}
}

// deliverReports tells the database what it was not told when it was away.
func (r *Runner) deliverReports(ctx context.Context) {
	r.mu.Lock()
	waiting := r.unreported
	r.unreported = nil
	r.mu.Unlock()
	for i, p := range waiting {
		if !r.deliver(ctx, p) {
			r.mu.Lock()
			r.unreported = append(r.unreported, waiting[i:]...)
			r.mu.Unlock()
			return
		}
		r.letGo(p.work, p.tick)
	}
}

func (r *Runner) scheduledNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.Sorted(maps.Keys(r.works))
	return slices.DeleteFunc(names, func(name string) bool { return !r.works[name].scheduled })
}

func (r *Runner) scheduledWork(name string) *work {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.works[name]; w != nil && w.scheduled {
		return w
	}
	return nil
}

// takeInHand notes that this process sees to a tick; false: it does so already.
func (r *Runner) takeInHand(w *work, tick time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.inHand[tick.UTC()] > 0 {
		return false
	}
	w.inHand[tick.UTC()]++
	return true
}

// letGo ends one thing that this process had to do with a tick.
func (r *Runner) letGo(w *work, tick time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.inHand[tick.UTC()]--; w.inHand[tick.UTC()] == 0 {
		delete(w.inHand, tick.UTC())
	}
}

// tryTake takes the right to run a job in this process, if it is free.
func (w *work) tryTake() bool {
	select {
	case <-w.free:
		return true
	default:
		return false
	}
}

func (w *work) giveBack() { w.free <- struct{}{} }

// Status tells how the jobs stand that are scheduled, by name. What other
// processes did it knows as of the last look at the database.
func (r *Runner) Status() []Status {
	now := r.o.Now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Status
	for _, name := range slices.Sorted(maps.Keys(r.works)) {
		w := r.works[name]
		if !w.scheduled {
			continue
		}
		s := Status{
			Job: name, Schedule: w.schedule.String(), Next: w.schedule.Next(now), Running: len(w.free) == 0,
			Lag: w.schedule.Lag(w.state, w.since, now),
		}
		if last := w.state.Last; last != nil {
			s.Tick, s.Holder, s.StartedAt, s.FinishedAt = last.Tick, last.Holder, last.StartedAt, last.FinishedAt
			s.Result, s.Detail = last.Result, last.Detail
			if !last.FinishedAt.IsZero() {
				s.Took = last.FinishedAt.Sub(last.StartedAt)
			}
		}
		if w.state.Done != nil {
			s.Succeeded = w.state.Done.FinishedAt
		}
		list = append(list, s)
	}
	return list
}
