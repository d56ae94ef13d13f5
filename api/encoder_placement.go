package api

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
)

// thread names a thread of a batch.
type thread struct {
	pid, tid int
	command  string
}

// run is the samples of a thread that came last.
type run struct {
	*corewaitv1.PlacementRun

	last int64 // the last sample's instant
}

// Placement takes one sample of a thread.
func (e *Encoder) Placement(p domain.Placement) error {
	at, err := e.at(p.At)
	switch {
	case err != nil:
	case p.CPU < 0 || p.CPU > math.MaxInt16:
		err = fmt.Errorf("CPU %d", p.CPU)
	case p.PID < 0 || p.PID > math.MaxInt32 || p.TID < 0 || p.TID > math.MaxInt32:
		err = fmt.Errorf("PID %d, thread %d", p.PID, p.TID)
	case p.Interval.Microseconds() > at:
		err = fmt.Errorf("an interval of %s", p.Interval)
	}
	if err != nil {
		return fmt.Errorf("placement of %s: %w", p.Command, err)
	}
	k := thread{p.PID, p.TID, p.Command}
	r := e.threads[k]
	interval := uint64(max(p.Interval.Microseconds(), 0))
	if r == nil || !r.continues(&p, at, interval) {
		if r != nil {
			r.end()
		}
		r = &run{PlacementRun: &corewaitv1.PlacementRun{
			Command: p.Command, Pid: uint32(p.PID), Tid: uint32(p.TID), FirstUs: at, UncertaintyUs: uncertainty(&p), FirstIntervalUs: interval, //nolint:gosec // checked above
		}, last: at}
		e.threads[k] = r
		e.batch.Placement = append(e.batch.Placement, r.PlacementRun)
	}
	r.add(&p, at, interval > 0 || r.GetAfterUs() != nil)
	return nil
}

func uncertainty(p *domain.Placement) uint64 {
	return uint64(max(p.Uncertainty.Microseconds(), 0))
}

// continues says whether a sample belongs to the run: its values cover the time
// since the sample before.
func (r *run) continues(p *domain.Placement, at int64, interval uint64) bool {
	return at > r.last && interval == uint64(at-r.last) && uncertainty(p) == r.GetUncertaintyUs() //nolint:gosec // at is later
}

// add adds a sample; values that cover no known time are unknown.
func (r *run) add(p *domain.Placement, at int64, covered bool) {
	r.AfterUs = append(r.AfterUs, uint64(at-r.last)) //nolint:gosec // continues
	r.last = at
	r.Cpu = append(r.Cpu, uint32(p.CPU)) //nolint:gosec // checked by Placement
	r.State = append(r.State, p.State)
	exec, delay, voluntary, involuntary := int64(unknown), int64(unknown), int64(unknown), int64(unknown)
	if covered {
		exec, delay, voluntary, involuntary = rounded(p.Exec), rounded(p.RunDelay), max(p.Voluntary, unknown), max(p.Involuntary, unknown)
	}
	r.ExecUs, r.RunDelayUs = append(r.ExecUs, exec), append(r.RunDelayUs, delay)
	r.Voluntary, r.Involuntary = append(r.Voluntary, voluntary), append(r.Involuntary, involuntary)
	r.Policy = append(r.Policy, int32(min(max(p.Policy, unknown), math.MaxInt16)))
}

// rounded gives a duration in whole microseconds.
func rounded(d time.Duration) int64 {
	if d < 0 {
		return unknown
	}
	return d.Round(time.Microsecond).Microseconds()
}

// end leaves out lists that say nothing, and all but one policy that is the same
// throughout.
func (r *run) end() {
	for _, list := range []*[]int64{&r.ExecUs, &r.RunDelayUs, &r.Voluntary, &r.Involuntary} {
		if !slices.ContainsFunc(*list, func(v int64) bool { return v != unknown }) {
			*list = nil
		}
	}
	if !slices.ContainsFunc(r.Policy, func(v int32) bool { return v != r.Policy[0] }) {
		r.Policy = r.Policy[:1]
		if r.Policy[0] == unknown {
			r.Policy = nil
		}
	}
	if !slices.ContainsFunc(r.State, func(v byte) bool { return v != 0 }) {
		r.State = nil
	}
}

// endRuns ends the runs that are open; what comes after begins others.
func (e *Encoder) endRuns() {
	for k, r := range e.threads {
		r.end()
		delete(e.threads, k)
	}
}
