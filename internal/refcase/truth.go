package refcase

import (
	"time"

	"github.com/corewait/corewait/domain"
)

// What a verdict needs, by the method's own defaults: that many stalls seen on
// heavy CPUs, and placement that is still right half a second later.
const (
	seenStallsNeeded = 12
	dwellNeeded      = time.Second
)

// truth says what happened and which verdicts are right.
func (w *world) truth(stallTicks int) Truth {
	t := Truth{
		Cause:        w.Stalls.Cause,
		Null:         !w.guilty(),
		HeavyCPUs:    append([]int(nil), w.machine.heavyCPUs...),
		Stalls:       len(w.instances[0].stalls),
		StallTicks:   stallTicks,
		ExposedShare: w.exposedShare(w.instances[0]),
	}
	if w.Stalls.OtherCause != "" {
		t.Cause = CauseMixed
	}
	t.Accept = w.accept(&t)
	return t
}

// accept lists the right verdicts. A verdict that the records cannot carry
// need not be reached: there, saying so is right as well.
func (w *world) accept(t *Truth) []string {
	saysNot := []string{domain.Undetermined, domain.InsufficientData}
	switch {
	case t.Cause == CauseMixed:
		return []string{domain.Undetermined}
	case t.Cause == CauseNone && w.Stalls.LoadPower > 0:
		// Stalls rise with the host's activity, which the run queue shows too.
		return append([]string{CauseNone, domain.CauseCPUSaturation}, saysNot...)
	case t.Cause == CauseNone:
		return append([]string{CauseNone}, saysNot...)
	case t.Cause == domain.CauseCPULocation:
		return []string{domain.CauseCPULocation, domain.Undetermined}
	case w.thin(t):
		return append([]string{t.Cause}, saysNot...)
	default:
		return []string{t.Cause}
	}
}

// thin says whether the records are too few or too coarse for a verdict.
func (w *world) thin(t *Truth) bool {
	few := t.StallTicks < seenStallsNeeded && w.Records.ASH != ASHNone
	coarse := w.guilty() && w.LGWR.Dwell < dwellNeeded
	return few || coarse
}

// exposedShare is the share of the writing threads' time on heavy CPUs.
func (w *world) exposedShare(in *instance) float64 {
	heavy := make([]bool, w.machine.cpus)
	for _, cpu := range w.machine.heavyCPUs {
		heavy[cpu] = true
	}
	var on, all float64
	for _, t := range in.threads {
		if t.share == 0 {
			continue
		}
		for i, v := range t.visits {
			stay := t.end(i, w.length) - v.at
			all += t.share * stay
			if heavy[v.cpu] {
				on += t.share * stay
			}
		}
	}
	if all == 0 {
		return 0
	}
	return on / all
}
