package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/corewait/corewait/store"
)

// Runner runs jobs in one process. Its methods are safe for concurrent use.
type Runner struct {
	claims  Claims
	holder  string
	o       Options
	metrics *metrics
	cron    *cron.Cron

	// What ends when: the look-out for ticks as Stop begins, runs when the patience
	// of Stop ends, the lease of the process last of all.
	looking, running, living context.Context //nolint:containedctx // they last as long as the Runner, not as a call
	stopLooking, stopLiving  context.CancelFunc
	stopRunning              context.CancelCauseFunc
	loops, runs, keeper      sync.WaitGroup

	scheduling sync.Mutex    // one schedules at a time
	stopped    chan struct{} // closed when Stop is through

	mu         sync.Mutex
	phase      phase
	stopError  error
	works      map[string]*work
	process    hold     // on the lease of the process
	unreported []report // of runs that ended while the database was away
}

type phase int

const (
	idle phase = iota
	started
	stopping
)

// work is a job over all its schedules. It stays when its job is not scheduled
// any more: a run may be under way.
type work struct {
	name string
	free chan struct{} // holds one token, which a run takes

	// Under the Runner's lock:
	job       Job
	schedule  Schedule
	scheduled bool
	entry     cron.EntryID
	since     time.Time // ticks up to then are of no concern
	catchUp   bool      // unless it ran before: then its ticks since that run are
	state     store.JobState
	// How many things this process has to do with a tick: claim or run it, record
	// how it went.
	inHand map[time.Time]int
}

// New makes a Runner. The holder names this process and no other that ever was,
// as NewHolder does.
func New(claims Claims, holder string, o Options) *Runner {
	r := &Runner{claims: claims, holder: holder, o: o.withDefaults(), works: map[string]*work{}, stopped: make(chan struct{})}
	r.metrics = newMetrics(r)
	return r
}

// Start begins to run jobs at their ticks, until Stop: the end of ctx ends only
// Start itself. An error is one of the jobs or the options; a database that is
// away is waited for.
//
// Of ticks that came when no process was there, the last of each job is made good
// at once, if the job ever ran.
func (r *Runner) Start(ctx context.Context, list []Job) error {
	r.scheduling.Lock()
	defer r.scheduling.Unlock()
	schedules, err := r.check(list)
	if err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.keepAlive(ctx); err != nil {
		r.o.Log.Warn("no ticks are claimed until the database answers", "error", err)
	}
	r.keeper.Go(r.keepAliveOn)
	r.schedule(list, schedules)
	r.cron.Start()
	r.loops.Go(r.lookOut)
	return nil
}

// check holds jobs and options to their rules, all or none.
func (r *Runner) check(list []Job) ([]Schedule, error) {
	if r.holder == "" || len(r.holder) > longestName {
		return nil, fmt.Errorf("jobs: holder %q: must have 1 to %d bytes", r.holder, longestName)
	}
	if err := r.o.validate(); err != nil {
		return nil, err
	}
	schedules := make([]Schedule, len(list))
	names := map[string]bool{}
	for i := range list {
		schedule, err := list[i].validate()
		if err != nil {
			return nil, err
		}
		if names[list[i].Name] {
			return nil, fmt.Errorf("job %s: is there twice", list[i].Name)
		}
		names[list[i].Name], schedules[i] = true, schedule
	}
	return schedules, nil
}

func (r *Runner) begin(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != idle {
		return errors.New("jobs: a Runner is started once")
	}
	if err := r.metrics.register(); err != nil {
		return err
	}
	r.phase = started
	lasting := context.WithoutCancel(ctx)
	r.looking, r.stopLooking = context.WithCancel(lasting)
	r.running, r.stopRunning = context.WithCancelCause(lasting)
	r.living, r.stopLiving = context.WithCancel(lasting)
	log := cronLog{r.o.Log}
	// Runs handle their panics themselves: Recover is for what is around them. To
	// skip a tick is not left to the chain, which keeps no record of it.
	r.cron = cron.New(cron.WithLocation(time.UTC), cron.WithLogger(log), cron.WithChain(cron.Recover(log)))
	return nil
}

// Reschedule puts these jobs in place of those that are scheduled. Runs under way
// go on. A job whose schedule changes has its next tick by the new one. An error
// leaves all as it was.
func (r *Runner) Reschedule(list []Job) error {
	r.scheduling.Lock()
	defer r.scheduling.Unlock()
	schedules, err := r.check(list)
	if err != nil {
		return err
	}
	r.mu.Lock()
	phase := r.phase
	r.mu.Unlock()
	if phase != started {
		return ErrNotRunning
	}
	r.schedule(list, schedules)
	return nil
}

func (r *Runner) schedule(list []Job, schedules []Schedule) {
	keep := map[string]bool{}
	for i, job := range list {
		keep[job.Name] = true
		w, anew := r.put(job, schedules[i])
		if !anew {
			continue
		}
		r.cron.Remove(w.entry) // zero is no entry's
		entry := r.cron.Schedule(offsetSchedule{schedules[i], r.o.Now}, cron.FuncJob(func() { r.due(w) }))
		r.mu.Lock()
		w.entry = entry
		r.mu.Unlock()
	}
	r.mu.Lock()
	var removed []cron.EntryID
	for name, w := range r.works {
		if w.scheduled && !keep[name] {
			w.scheduled = false
			removed = append(removed, w.entry)
		}
	}
	r.mu.Unlock()
	for _, entry := range removed {
		r.cron.Remove(entry)
	}
}

// put makes a job the one of its name; anew says that its schedule is another.
func (r *Runner) put(job Job, schedule Schedule) (w *work, anew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.works[job.Name]
	if !known {
		w = &work{name: job.Name, free: make(chan struct{}, 1), inHand: map[time.Time]int{}}
		w.free <- struct{}{}
		r.works[job.Name] = w
		r.metrics.expect(job.Name)
	}
	w.job = job
	if w.scheduled && w.schedule.String() == schedule.String() {
		return w, false
	}
	w.schedule, w.scheduled = schedule, true
	w.since, w.catchUp = r.o.Now(), !known
	return w, true
}

// offsetSchedule gives cron, which has no clock but time.Now, the ticks of
// another clock.
type offsetSchedule struct {
	Schedule

	now func() time.Time
}

func (s offsetSchedule) Next(after time.Time) time.Time {
	ahead := time.Until(s.now())
	next := s.Schedule.Next(after.Add(ahead))
	if next.IsZero() {
		return next
	}
	return next.Add(-ahead)
}

// Stop ends what Start began. No tick is begun any more; runs under way are
// waited for. Where ctx ends first, the context of the runs ends, they are waited
// for, and the error names them: their ticks are left to other processes, or to
// this one's next start. When it returns, nothing of the Runner goes on.
func (r *Runner) Stop(ctx context.Context) error { //nolint:contextcheck // what it ends has contexts of its own
	r.scheduling.Lock() // what is half scheduled cannot be stopped
	r.mu.Lock()
	before := r.phase
	r.phase = stopping
	r.mu.Unlock()
	r.scheduling.Unlock()
	switch before {
	case idle:
		close(r.stopped)
		return nil
	case stopping:
		<-r.stopped
		return r.stopError
	}
	r.stopLooking()
	cronDone := r.cron.Stop()
	r.loops.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-cronDone.Done()
		r.runs.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		if broken := r.namesInHand(); len(broken) > 0 {
			r.stopError = fmt.Errorf("jobs: broken off: %s: %w", strings.Join(broken, ", "), context.Cause(ctx))
		}
		r.stopRunning(errStopped)
		<-ended
	}
	r.stopRunning(errStopped)
	r.deliverReports(context.WithoutCancel(ctx))
	r.stopLiving()
	r.keeper.Wait()
	r.giveUpLife(context.WithoutCancel(ctx))
	r.metrics.unregister()
	close(r.stopped)
	return r.stopError
}

// namesInHand lists the jobs that this process runs.
func (r *Runner) namesInHand() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, w := range r.works {
		if len(w.free) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// enter counts the caller among the runs that Stop waits for, unless it is too
// late: then no run may begin.
func (r *Runner) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != started {
		return false
	}
	r.runs.Add(1)
	return true
}

// cronLog tells what cron does, which is of little interest, and what goes wrong
// in it.
type cronLog struct{ log *slog.Logger }

func (l cronLog) Info(msg string, keysAndValues ...any) { l.log.Debug("cron: "+msg, keysAndValues...) }

func (l cronLog) Error(err error, msg string, keysAndValues ...any) {
	l.log.Error("cron: "+msg, append([]any{"error", err}, keysAndValues...)...)
}
