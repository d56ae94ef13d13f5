package correlate

import (
	"math"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// finest is the longest sampling period at which a stall's time can be taken
// apart.
const finest = series.Second / 5

// decompose takes each stall's time apart from what the watched thread's own
// accounting says (agent data): sleeping (S or D), queued (its run delay grew),
// or stolen: runnable, no run delay, and little time on the CPU where the
// kernel accounts interrupt time; else the CPU's own irq+softirq share of it
// (kernel/sched/core.c, update_rq_clock_task). Nil where samples are too coarse
// or carry no deltas.
func decompose(s *series.Series, set *stallSet, pic *picture) *domain.Decomposed {
	main, _ := splitThreads(s.Threads)
	if main == nil || main.Period() == 0 || main.Period() > finest || main.Uncertainty > 0 {
		return nil
	}
	d := &domain.Decomposed{}
	for i := range set.stalls {
		k := &set.stalls[i]
		before := *d
		addStall(d, main, s, pic, series.Span{From: k.at - k.longest/2, To: k.at + k.longest/2})
		if *d != before {
			d.Stalls++
		}
	}
	if d.Stalls == 0 {
		return nil
	}
	return d
}

// addStall adds the time of one stall, sample interval by sample interval.
func addStall(d *domain.Decomposed, t *series.Thread, s *series.Series, pic *picture, w series.Span) {
	first := sort.Search(len(t.At), func(i int) bool { return t.At[i] > w.From })
	for i := max(1, first); i < len(t.At); i++ {
		if t.At[i-1] >= w.To {
			return
		}
		span := series.Span{From: max(t.At[i-1], w.From), To: min(t.At[i], w.To)}
		if t.At[i]-t.At[i-1] > 2*finest || t.Exec[i] < 0 || t.RunDelay[i] < 0 {
			d.UnexplainedS += span.Seconds()
			continue
		}
		addInterval(d, t, i, span.Seconds(), s, pic)
	}
}

// addInterval shares one interval out. Deltas cover the whole sample interval;
// the part within the stall gets them in proportion.
func addInterval(d *domain.Decomposed, t *series.Thread, i int, sec float64, s *series.Series, pic *picture) {
	whole := float64(t.At[i]-t.At[i-1]) / float64(series.Second)
	ran := math.Min(1, float64(t.Exec[i])/1e9/whole)
	queued := math.Min(1-ran, float64(t.RunDelay[i])/1e9/whole)
	rest := 1 - ran - queued
	d.QueuedS += queued * sec
	switch {
	case t.State[i] == 'S' || t.State[i] == 'D':
		d.SleepingS += rest * sec
		d.UnexplainedS += ran * sec
		return
	case s.CPU.IRQAccounted:
		// Runnable and yet neither running nor queued: the CPU was taken.
		addStolen(d, rest*sec, int(t.CPU[i]), pic)
		d.UnexplainedS += ran * sec
	default:
		// Without accounting, interrupt time is billed to the thread's own.
		share := lookup(pic.share, int(t.CPU[i]))
		if math.IsNaN(share) {
			d.UnexplainedS += (ran + rest) * sec
			return
		}
		addStolen(d, share*ran*sec, int(t.CPU[i]), pic)
		d.UnexplainedS += (rest + ran*(1-share)) * sec
	}
}

func addStolen(d *domain.Decomposed, sec float64, cpu int, pic *picture) {
	d.StolenS += sec
	if pic.heavy[cpu] {
		d.StolenHeavyS += sec
	}
}

// gradeA says whether at least half of the stalls' time was stolen on heavy CPUs.
func gradeA(d *domain.Decomposed) bool {
	return d != nil && d.StolenHeavyS >= (d.SleepingS+d.QueuedS+d.StolenS+d.UnexplainedS)/2
}
