package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/corewait/corewait/store"
)

// due is what cron calls at a tick.
func (r *Runner) due(w *work) {
	r.mu.Lock()
	tick, found := w.schedule.latest(w.since, r.o.Now())
	found = found && w.scheduled
	r.mu.Unlock()
	if found {
		r.atTick(w, tick)
	}
}

// atTick claims a tick and, where the job is not running, runs it. A tick that
// fails to be claimed is looked at again by the look-out.
func (r *Runner) atTick(w *work, tick time.Time) {
	if !r.enter() {
		return
	}
	defer r.runs.Done()
	if !r.lives() || !r.takeInHand(w, tick) {
		return
	}
	defer r.letGo(w, tick)
	log := r.o.Log.With("job", w.name, "tick", tick)
	idle := w.tryTake()
	if idle {
		defer w.giveBack()
	}
	claimed, err := r.claims.ClaimTick(r.running, w.name, tick, r.holder)
	if err != nil {
		log.Warn("a tick was not claimed", "error", err)
	}
	if !claimed {
		return
	}
	if !idle {
		r.finish(w, tick, time.Time{}, store.JobSkipped, "an earlier run is still under way in this process")
		return
	}
	h, acquired, err := r.acquire(r.running, jobLease(w.name))
	switch {
	case err != nil: // the look-out finds the tick, which is this process's
		log.Warn("the lease of a job was not acquired", "error", err)
	case !acquired:
		r.finish(w, tick, time.Time{}, store.JobSkipped, "an earlier run is still under way in another process")
	default:
		_ = r.execute(r.running, w, tick, h) // told by the record
	}
}

func jobLease(job string) string { return "job/" + job }

// takeOver runs a tick that a dead process left, or one of this process that it
// does not know it has: the answer to its claim was lost.
func (r *Runner) takeOver(w *work, run store.JobRun) {
	if !r.enter() {
		return
	}
	defer r.runs.Done()
	if !r.lives() || !w.tryTake() {
		return
	}
	defer w.giveBack()
	if !r.takeInHand(w, run.Tick) {
		return
	}
	defer r.letGo(w, run.Tick)
	log := r.o.Log.With("job", w.name, "tick", run.Tick, "from", run.Holder)
	// The lease comes first: where it is held, another process is at it.
	h, acquired, err := r.acquire(r.running, jobLease(w.name))
	if err != nil {
		log.Warn("the lease of a job was not acquired", "error", err)
	}
	if !acquired {
		return
	}
	taken, err := r.claims.TakeOverTick(r.running, run, r.holder)
	if err != nil {
		log.Warn("a tick was not taken over", "error", err)
	}
	if !taken {
		r.release(r.living, h)
		return
	}
	if why := r.whyNotAgain(w, run); why != "" {
		r.finish(w, run.Tick, time.Time{}, store.JobFailed, why)
		r.release(r.living, h)
		return
	}
	log.Info("takes over a tick")
	_ = r.execute(r.running, w, run.Tick, h) // told by the record
}

// whyNotAgain says why a tick that a process left is not run again, if so. A run
// during which two processes ended may well be what ends them.
func (r *Runner) whyNotAgain(w *work, run store.JobRun) string {
	r.mu.Lock()
	next := w.schedule.Next(run.Tick)
	r.mu.Unlock()
	now := r.o.Now()
	switch {
	case run.Holder == r.holder:
		return ""
	case run.Detail != "":
		return fmt.Sprintf("the process %s ended while it ran; before, it was %s", run.Holder, run.Detail)
	case now.Sub(run.StartedAt) > longestAbandoned && !next.IsZero() && !next.After(now):
		return fmt.Sprintf("the process %s ended while it ran, over %v ago", run.Holder, longestAbandoned)
	}
	return ""
}

// longestAbandoned is how old a broken run may be that is run again although
// later ticks have come.
const longestAbandoned = 24 * time.Hour

// RunNow runs a job at once, at a tick of its own, after a run that is under way.
// An error is that of the run, or says why there was none.
func (r *Runner) RunNow(ctx context.Context, name string) error {
	if !r.enter() {
		return fmt.Errorf("job %s: %w", name, ErrNotRunning)
	}
	defer r.runs.Done()
	r.mu.Lock()
	w := r.works[name]
	known := w != nil && w.scheduled
	r.mu.Unlock()
	if !known {
		return fmt.Errorf("job %s: %w", name, ErrUnknownJob)
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.running, func() { cancel(context.Cause(r.running)) })() //nolint:contextcheck // runs end with the Runner too
	select {
	case <-w.free:
		defer w.giveBack()
	case <-both.Done():
		return fmt.Errorf("job %s: waits for its earlier run: %w", name, context.Cause(both))
	}
	h, err := r.awaitLease(both, w)
	if err != nil {
		return fmt.Errorf("job %s: %w", name, err)
	}
	tick := r.o.Now().UTC().Truncate(time.Microsecond) // as the database keeps it
	if !r.takeInHand(w, tick) {
		r.release(context.WithoutCancel(ctx), h)
		return fmt.Errorf("job %s: has a run of this instant", name)
	}
	defer r.letGo(w, tick)
	claimed, err := r.claims.ClaimTick(both, name, tick, r.holder)
	if err != nil || !claimed {
		r.release(context.WithoutCancel(ctx), h)
		return errors.Join(fmt.Errorf("job %s: the tick %v was not claimed", name, tick), err)
	}
	return r.execute(both, w, tick, h)
}

// awaitLease acquires the lease of a job, waiting for another process that has it.
func (r *Runner) awaitLease(ctx context.Context, w *work) (hold, error) {
	timer := time.NewTicker(max(r.o.Renew/10, time.Millisecond))
	defer timer.Stop()
	for {
		if !r.lives() {
			if err := r.keepAlive(ctx); err != nil {
				return hold{}, err
			}
		}
		h, acquired, err := r.acquire(ctx, jobLease(w.name))
		if acquired || err != nil {
			return h, err
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return hold{}, fmt.Errorf("waits for its run in another process: %w", context.Cause(ctx))
		}
	}
}

// outcome is how the work of a tick ended.
type outcome struct {
	detail string
	err    error
}

// execute runs a job at a tick that is claimed, under the hold on the job's lease,
// which it gives back.
func (r *Runner) execute(parent context.Context, w *work, tick time.Time, h hold) error {
	r.mu.Lock()
	job := w.job
	r.mu.Unlock()
	begun := time.Now()
	runCtx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	ctx, cancelDeadline := context.WithTimeoutCause(runCtx, job.Deadline, fmt.Errorf("deadline of %v exceeded", job.Deadline))
	defer cancelDeadline()

	ended := make(chan outcome, 1)
	go r.call(ctx, &job, tick, ended)
	h, out := r.await(runCtx, h, ended, func(lost error) { cancel(lost) })

	if cause := context.Cause(ctx); out.err != nil && cause != nil && !errors.Is(out.err, cause) {
		out.err = fmt.Errorf("%w: %w", cause, out.err)
	}
	switch {
	case out.err == nil:
		r.finish(w, tick, begun, store.JobDone, out.detail)
	case errors.Is(context.Cause(ctx), errStopped) && parent == r.running:
		// Not finished: when this process has given up its lease, another takes it over.
		r.o.Log.Info("a run is broken off and left to another process", "job", w.name, "tick", tick)
	default:
		r.finish(w, tick, begun, store.JobFailed, out.err.Error())
		out.err = fmt.Errorf("job %s: %w", w.name, out.err)
	}
	if h.lasts() {
		r.release(context.WithoutCancel(parent), h)
	}
	return out.err
}

// call calls a job. Its panic is an error, and so is a goroutine that ends without
// a word.
func (r *Runner) call(ctx context.Context, job *Job, tick time.Time, ended chan<- outcome) {
	out := outcome{err: errors.New("it ended its goroutine")}
	defer func() {
		if what := recover(); what != nil {
			r.o.Log.Error("a job panicked", "job", job.Name, "tick", tick, "panic", what, "stack", string(debug.Stack()))
			out.err = fmt.Errorf("panic: %v", what)
		}
		ended <- out
	}()
	out.detail, out.err = job.Run(ctx, tick)
}

// await renews the hold on a job's lease until the run ends, whether or not its
// context has: it is running until it returns. lost is told once when the hold is
// lost.
func (r *Runner) await(ctx context.Context, h hold, ended <-chan outcome, lost func(error)) (hold, outcome) {
	timer := time.NewTimer(r.untilRenewal(h))
	defer timer.Stop()
	renewing := context.WithoutCancel(ctx)
	for {
		select {
		case out := <-ended:
			return h, out
		case <-timer.C:
		}
		renewed, err := r.renew(renewing, h)
		if errors.Is(err, store.ErrLeaseLost) {
			lost(fmt.Errorf("its lease: %w", err))
			return hold{}, <-ended
		}
		h = renewed
		timer.Reset(r.untilRenewal(h))
	}
}

// report is a finished run that the database does not know of yet.
type report struct {
	work   *work
	tick   time.Time
	result store.JobResult
	detail string
}

// finish records how a tick went. begun is zero where it was not run.
func (r *Runner) finish(w *work, tick, begun time.Time, result store.JobResult, detail string) {
	took := time.Duration(0)
	if !begun.IsZero() {
		took = time.Since(begun)
		r.metrics.took(w.name, took)
	}
	r.metrics.ended(w.name, result)
	log := r.o.Log.With("job", w.name, "tick", tick, "result", result, "detail", detail, "took", took)
	if result == store.JobFailed {
		log.Warn("a job failed")
	} else {
		log.Debug("a job ended")
	}
	now := r.o.Now().UTC()
	r.noteState(w, store.JobRun{
		Job: w.name, Tick: tick, Holder: r.holder, StartedAt: now.Add(-took), FinishedAt: now, Result: result, Detail: detail,
	})
	if p := (report{w, tick, result, detail}); !r.deliver(r.living, p) {
		r.mu.Lock()
		w.inHand[tick.UTC()]++
		r.unreported = append(r.unreported, p)
		r.mu.Unlock()
	}
}

// deliver tells the database of a run; false: it is away.
func (r *Runner) deliver(ctx context.Context, p report) bool {
	limited, cancel := context.WithTimeout(ctx, r.o.Lease)
	defer cancel()
	err := r.claims.FinishTick(limited, p.work.name, p.tick, r.holder, p.result, p.detail)
	if err == nil {
		return true
	}
	log := r.o.Log.With("job", p.work.name, "tick", p.tick, "result", p.result, "error", err)
	if errors.Is(err, store.ErrNotFound) {
		log.Warn("a tick was taken over by another process, or was recorded already")
		return true
	}
	log.Warn("a run was not recorded and will be")
	return false
}
