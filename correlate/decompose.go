package correlate

import (
	"math"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// finest is the longest sampling period at which a stall's time can be taken
// apart.
const finest = series.Second / 4

// decompose takes each stall's time apart from what the watched thread's own
// accounting says: sleeping (S or D), queued (its run delay grew), or stolen:
// runnable, no run delay, and little time on the CPU where the kernel accounts
// interrupt time; else the CPU's own irq+softirq share of its time there
// (kernel/sched/core.c, update_rq_clock_task). Nil where samples are too coarse
// or carry no deltas.
func decompose(s *series.Series, set *stallSet, pic *picture) *domain.Decomposed {
	main, _ := splitThreads(s.Threads)
	if main == nil || main.Period() == 0 || main.Period() > finest || main.Uncertainty > 0 {
		return nil
	}
	use := newThreadUse(main)
	d := &domain.Decomposed{}
	for i := range set.stalls {
		k := &set.stalls[i]
		before := *d
		use.addStall(d, s, pic, series.Span{From: k.at - k.longest/2, To: k.at + k.longest/2})
		if *d != before {
			d.Stalls++
		}
	}
	if d.Stalls == 0 {
		return nil
	}
	return d
}

// threadUse is how a thread spent each interval between its samples, as shares
// of the interval that ends at the sample; NaN unknown.
type threadUse struct {
	t           *series.Thread
	ran, queued []float64
}

// newThreadUse settles run delays. The kernel adds a wait for the CPU to
// run_delay when it ends, so the whole of a long wait shows in the interval of
// its end: what does not fit there belongs to the intervals before, back to
// the last sample at which the thread slept. A thread that is runnable at the
// end of the samples may be in a wait that no sample tells yet: unknown.
func newThreadUse(t *series.Thread) *threadUse {
	u := &threadUse{t: t, ran: make([]float64, len(t.At)), queued: make([]float64, len(t.At))}
	var owed float64 // seconds of waiting that later intervals told of
	open := true
	for i := len(t.At) - 1; i > 0; i-- {
		whole := float64(t.At[i]-t.At[i-1]) / float64(series.Second)
		if asleep(t.State[i]) {
			owed, open = 0, false
		}
		if t.Exec[i] < 0 || t.RunDelay[i] < 0 || whole <= 0 || t.At[i]-t.At[i-1] > 2*finest {
			u.ran[i], u.queued[i] = math.NaN(), math.NaN()
			owed = 0
			continue
		}
		ran := math.Min(1, float64(t.Exec[i])/1e9/whole)
		owed += float64(t.RunDelay[i]) / 1e9
		queued := math.Min(1-ran, owed/whole)
		owed -= queued * whole
		open = open && t.Exec[i] == 0 && t.RunDelay[i] == 0
		if open {
			ran, queued = math.NaN(), math.NaN()
		}
		u.ran[i], u.queued[i] = ran, queued
	}
	return u
}

func asleep(state byte) bool { return state == 'S' || state == 'D' }

// addStall adds the time of one stall, sample interval by sample interval.
func (u *threadUse) addStall(d *domain.Decomposed, s *series.Series, pic *picture, w series.Span) {
	t := u.t
	first := sort.Search(len(t.At), func(i int) bool { return t.At[i] > w.From })
	for i := max(1, first); i < len(t.At) && t.At[i-1] < w.To; i++ {
		sec := series.Span{From: max(t.At[i-1], w.From), To: min(t.At[i], w.To)}.Seconds()
		if math.IsNaN(u.ran[i]) {
			d.UnexplainedS += sec
			continue
		}
		u.addInterval(d, i, sec, s, pic)
	}
}

// addInterval shares one interval out; the part within the stall gets its
// shares in proportion.
func (u *threadUse) addInterval(d *domain.Decomposed, i int, sec float64, s *series.Series, pic *picture) {
	ran, queued, cpu := u.ran[i], u.queued[i], int(u.t.CPU[i])
	rest := 1 - ran - queued
	d.QueuedS += queued * sec
	switch {
	case asleep(u.t.State[i]):
		d.SleepingS += rest * sec
		d.UnexplainedS += ran * sec
	case s.CPU.IRQAccounted:
		// Runnable and yet neither running nor queued: the CPU was taken.
		addStolen(d, rest*sec, cpu, pic)
		d.UnexplainedS += ran * sec
	default:
		// Without accounting, interrupt time is billed to the thread's own.
		share := lookup(pic.share, cpu)
		if math.IsNaN(share) {
			d.UnexplainedS += (ran + rest) * sec
			return
		}
		addStolen(d, share*ran*sec, cpu, pic)
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
