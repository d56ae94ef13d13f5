package correlate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

// state of one second of an indicator.
const (
	unseen uint8 = iota
	calm
	raised
)

// indicator tells, second by second, whether something a rival explanation
// needs was there: a slow device, a full run queue, steal.
type indicator struct {
	cause   string
	what    string // for people: "device await over 5 ms"
	from    series.Micros
	seconds []uint8
	// causal is the stretch around a stall in which the rival must be raised
	// to explain it, seconds relative to onset and to the instant seen.
	before, after int
	// strict asks for an association with seconds wholly before the onset too:
	// for what the woken sessions of a stall raise themselves.
	strict    bool
	placement *coincidence // of the stalls; nil unknown
	// seen and up count the seconds before each that were seen and raised.
	seen, up []int32
}

func newIndicator(cause, what string, w series.Span) *indicator {
	return &indicator{cause: cause, what: what, from: w.From, seconds: make([]uint8, max(0, (w.To-w.From+series.Second-1)/series.Second))}
}

// set marks the seconds of a span; raised wins over calm.
func (d *indicator) set(sp series.Span, up bool) {
	d.seen, d.up = nil, nil
	v := calm
	if up {
		v = raised
	}
	first := max(0, floorSeconds(sp.From-d.from))
	last := floorSeconds(sp.To - 1 - d.from)
	for k := first; k <= last && k < int64(len(d.seconds)); k++ {
		d.seconds[k] = max(d.seconds[k], v)
	}
}

// floorSeconds gives whole seconds, rounded down also under zero.
func floorSeconds(d series.Micros) int64 {
	q := d / series.Second
	if d%series.Second < 0 {
		q--
	}
	return q
}

// index makes the running counts that within looks up.
func (d *indicator) index() {
	d.seen, d.up = make([]int32, len(d.seconds)+1), make([]int32, len(d.seconds)+1)
	for k, v := range d.seconds {
		d.seen[k+1], d.up[k+1] = d.seen[k], d.up[k]
		if v != unseen {
			d.seen[k+1]++
		}
		if v == raised {
			d.up[k+1]++
		}
	}
}

// within gives the state of a stretch of seconds: raised if any second is,
// unseen if none was seen.
func (d *indicator) within(first, last int64) uint8 {
	if d.seen == nil {
		d.index()
	}
	first, end := max(0, first), min(last+1, int64(len(d.seconds)))
	switch {
	case first >= end || d.seen[end] == d.seen[first]:
		return unseen
	case d.up[end] > d.up[first]:
		return raised
	}
	return calm
}

// around gives the state around a stall whose times are moved by shift seconds,
// in a window that wraps around: strictly before its onset, or up to the
// instant at which it was seen.
func (d *indicator) around(k *stall, shift int64, strictly bool) uint8 {
	n := int64(len(d.seconds))
	l := d.stretchAround(k, shift, strictly)
	if shift != 0 && l.last >= n {
		return max(d.within(l.first, n-1), d.within(l.first-n, l.last-n))
	}
	return d.within(l.first, l.last)
}

func (d *indicator) stretchAround(k *stall, shift int64, strictly bool) stretch {
	onset := floorSeconds(k.onset-d.from) + shift
	at := floorSeconds(k.at-d.from) + shift
	if strictly {
		// A row printed with whole second T was read before T+1 and is set into
		// the second that ends at T: the last one sure to lie before the onset
		// is printed a second before it.
		return stretch{onset - int64(d.before), onset - 2}
	}
	return stretch{onset - int64(d.before), at + int64(d.after)}
}

// rival is the judgement of an indicator against the stalls.
type rival struct {
	cause     domain.Cause
	explained []bool // by stall
	share     float64
	low, high float64
	supported bool
}

// seenShare is how much of the stalls an indicator must have seen to be judged.
const seenShare = 0.5

// judge compares how often the indicator was raised around stalls with how
// often it is raised around the same stalls shifted in time (circularly, so
// that its own autocorrelation stays).
func (d *indicator) judge(set *stallSet, prm Params, rng *rand.Rand) rival {
	r := rival{cause: domain.Cause{Cause: d.cause}, explained: make([]bool, len(set.stalls)), share: math.NaN(), low: math.NaN(), high: math.NaN()}
	seen, covered := d.coverage(set, 0, false, r.explained)
	if len(set.stalls) == 0 {
		r.cause.Verdict = domain.NotObservable
		r.cause.Evidence = []string{"no stalls to compare with"}
		return r
	}
	if float64(seen) < seenShare*float64(len(set.stalls)) {
		r.cause.Verdict = domain.NotObservable
		r.cause.Evidence = []string{fmt.Sprintf("%s was seen around %d of %d stalls only", d.what, seen, len(set.stalls))}
		return r
	}
	expected, p := d.shifted(set, covered, false, rng, prm.Permutations)
	if d.strict {
		_, strictly := d.coverage(set, 0, true, nil)
		_, ps := d.shifted(set, strictly, true, rng, prm.Permutations)
		p = max(p, ps, d.herdP(set, d.placement))
	}
	lo, hi := stats.BinomialInterval(covered, seen, 0.95)
	base := expected / float64(seen)
	r.share, r.low, r.high = excessShare(float64(covered)/float64(seen), base), excessShare(lo, base), excessShare(hi, base)
	r.cause.AttributableShare = number(r.share)
	r.cause.AttributableCI = [2]*float64{number(r.low), number(r.high)}
	r.cause.Evidence = []string{fmt.Sprintf("%s around %d of %d stalls; %.1f expected by chance (p = %.2g)", d.what, covered, seen, expected, p)}
	switch {
	case p <= prm.SupportedP && covered >= prm.MinStalls && lo >= prm.SupportedRatio*base:
		r.cause.Verdict, r.supported = domain.Supported, true
	case r.high < prm.RivalShare:
		r.cause.Verdict = domain.Rejected
	default:
		r.cause.Verdict = domain.Inconclusive
	}
	return r
}

// excessShare is the share of stalls beyond those that chance covers:
// (p - p0)/(1 - p0), not under zero.
func excessShare(p, base float64) float64 {
	if base >= 1 {
		return 0
	}
	return max(0, (p-base)/(1-base))
}

func (d *indicator) coverage(set *stallSet, shift int64, strictly bool, mark []bool) (seen, covered int) {
	for i := range set.stalls {
		switch d.around(&set.stalls[i], shift, strictly) {
		case raised:
			seen++
			covered++
			if mark != nil {
				mark[i] = true
			}
		case calm:
			seen++
		}
	}
	return seen, covered
}

// shifted gives the mean coverage under circular shifts of at least a minute,
// and the share of shifts that cover as many stalls as seen.
func (d *indicator) shifted(set *stallSet, covered int, strictly bool, rng *rand.Rand, rounds int) (expected, p float64) {
	n := int64(len(d.seconds))
	const least = 60
	switch {
	case n < 4*least:
		return float64(covered), 1
	case d.within(0, n) != raised:
		return 0, 1 // never raised: no shift can cover a stall
	}
	looked, ahead := d.stretches(set, strictly), d.secondsToRaised()
	atLeast := 0
	for range rounds {
		c := coveredAt(looked, ahead, least+rng.Int64N(n-2*least))
		expected += float64(c)
		if c >= covered {
			atLeast++
		}
	}
	return expected / float64(rounds), float64(1+atLeast) / float64(1+rounds)
}

// stretch is the seconds that are looked at around a stall, both ends included.
type stretch struct{ first, last int64 }

// stretches gives those of all stalls, as they are.
func (d *indicator) stretches(set *stallSet, strictly bool) []stretch {
	out := make([]stretch, len(set.stalls))
	for i := range set.stalls {
		out[i] = d.stretchAround(&set.stalls[i], 0, strictly)
	}
	return out
}

// secondsToRaised gives, for each second, how many lie between it and the next
// raised one, in a window that wraps around. At least one second is raised.
func (d *indicator) secondsToRaised() []int32 {
	ahead := make([]int32, len(d.seconds))
	next := int32(0)
	for range 2 { // the first time around finds the raised second that follows the window's end
		for k := len(ahead) - 1; k >= 0; k-- {
			next++
			if d.seconds[k] == raised {
				next = 0
			}
			ahead[k] = next
		}
	}
	return ahead
}

// coveredAt counts the stretches that hold a raised second when all are moved
// by shift seconds, in a window that wraps around. Two thousand shifts of ten
// thousand stalls ask this, so it takes one look for each.
func coveredAt(looked []stretch, ahead []int32, shift int64) int {
	n := int64(len(ahead))
	covered := 0
	for _, l := range looked {
		// What a histogram places beyond the window is not carried around twice.
		first, last := max(0, l.first+shift), min(l.last+shift, 2*n-1)
		if first > last {
			continue
		}
		at := first
		if at >= n {
			at -= n
		}
		if int64(ahead[at]) <= last-first {
			covered++
		}
	}
	return covered
}

// What is looked at around a stall for what stalls do not raise, in seconds:
// tools print whole seconds.
const (
	causalBefore = 1
	causalAfter  = 1
)

// indicators builds those that the series can feed.
func indicators(s *series.Series, prm Params) []*indicator {
	var out []*indicator
	for _, build := range []func(*series.Series, Params) *indicator{storageIndicator, saturationIndicator, stealIndicator, swapIndicator} {
		if d := build(s, prm); d != nil {
			out = append(out, d)
		}
	}
	return out
}

func storageIndicator(s *series.Series, prm Params) *indicator {
	if len(s.Disks) == 0 {
		return nil
	}
	d := newIndicator(domain.CauseStorage, "", s.Window)
	d.before, d.after = causalBefore, causalAfter
	limit := 0.0
	for i := 0; i < len(s.Disks); { // sorted by device
		j := i
		var v []float64
		for j < len(s.Disks) && s.Disks[j].Device == s.Disks[i].Device {
			v = append(v, s.Disks[j].AwaitMS)
			j++
		}
		over := max(prm.SlowAwaitMS, prm.ManyTimes*medianOf(v))
		limit = max(limit, over)
		usual := usualStep(s.Disks[i:j], func(p *series.DiskPoint) series.Micros { return p.At })
		for k := i; k < j; k++ {
			p := &s.Disks[k]
			d.set(series.Span{From: p.At - usual, To: p.At}, p.AwaitMS >= over)
		}
		i = j
	}
	d.what = fmt.Sprintf("device await over %.3g ms", limit)
	return d
}

func saturationIndicator(s *series.Series, prm Params) *indicator {
	queue, system := make([]float64, 0, len(s.System)), make([]float64, 0, len(s.System))
	for i := range s.System {
		queue, system = appendKnown(queue, s.System[i].RunQueue), appendKnown(system, s.System[i].System)
	}
	if len(queue) == 0 && len(system) == 0 {
		return nil
	}
	over := max(float64(len(s.Online)), prm.ManyTimes*medianOf(queue), 4)
	usualSystem := medianOf(system)
	overSystem := min(0.9, max(prm.SystemShare, prm.ManyTimes*usualSystem))
	d := newIndicator(domain.CauseCPUSaturation, fmt.Sprintf("run queue of %.0f and more with raised system time, or system time over %.0f %%", over, 100*overSystem), s.Window)
	d.before, d.after, d.strict = int(micros(prm.OnsetWindow)/series.Second), causalAfter, true
	usual := usualStep(s.System, func(p *series.SystemPoint) series.Micros { return p.At })
	for i := range s.System {
		p := &s.System[i]
		// The sessions that a stall wakes fill the run queue for a moment, but
		// they do not raise system time.
		up := p.System >= overSystem || p.RunQueue >= over && !(p.System < 2*usualSystem)
		d.set(series.Span{From: p.At - usual, To: p.At}, up)
	}
	return d
}

func stealIndicator(s *series.Series, prm Params) *indicator {
	d := newIndicator(domain.CauseCPUSteal, "", s.Window)
	d.before, d.after = causalBefore, causalAfter
	v := make([]float64, 0, len(s.System))
	for i := range s.System {
		v = appendKnown(v, s.System[i].Steal)
	}
	usual := usualStep(s.System, func(p *series.SystemPoint) series.Micros { return p.At })
	over := max(prm.StealShare, prm.ManyTimes*medianOf(v))
	for i := range s.System {
		if p := &s.System[i]; !math.IsNaN(p.Steal) {
			d.set(series.Span{From: p.At - usual, To: p.At}, p.Steal >= over)
		}
	}
	if len(v) == 0 {
		for i := range s.CPU.Host {
			v = appendKnown(v, s.CPU.Host[i].Steal)
		}
		over = max(prm.StealShare, prm.ManyTimes*medianOf(v))
		for i := range s.CPU.Host {
			if h := &s.CPU.Host[i]; !math.IsNaN(h.Steal) {
				d.set(h.Span, h.Steal >= over)
			}
		}
	}
	if len(v) == 0 {
		return nil
	}
	d.what = fmt.Sprintf("steal over %.0f %%", 100*over)
	return d
}

func swapIndicator(s *series.Series, prm Params) *indicator {
	v := make([]float64, 0, len(s.System))
	for i := range s.System {
		v = appendKnown(v, s.System[i].SwapPerS)
	}
	if len(v) == 0 {
		return nil
	}
	over := max(prm.SwapKiBPerS, prm.ManyTimes*medianOf(v))
	d := newIndicator(domain.CauseSwapping, fmt.Sprintf("swapping over %.0f KiB/s", over), s.Window)
	d.before, d.after = causalBefore, causalAfter
	usual := usualStep(s.System, func(p *series.SystemPoint) series.Micros { return p.At })
	for i := range s.System {
		if p := &s.System[i]; !math.IsNaN(p.SwapPerS) {
			d.set(series.Span{From: p.At - usual, To: p.At}, p.SwapPerS >= over)
		}
	}
	return d
}

func appendKnown(v []float64, x float64) []float64 {
	if math.IsNaN(x) {
		return v
	}
	return append(v, x)
}

// medianOf reorders v; the median of nothing is 0.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return stats.Median(v)
}

// usualStep gives the usual distance between ascending points, the median of
// about a thousand of them; a second where there are too few to tell.
func usualStep[T any](p []T, at func(*T) series.Micros) series.Micros {
	const looked = 1000
	var d []series.Micros
	for i := 1; i < len(p); i += max(1, len(p)/looked) {
		if step := at(&p[i]) - at(&p[i-1]); step > 0 {
			d = append(d, step)
		}
	}
	if len(d) == 0 {
		return series.Second
	}
	slices.Sort(d)
	return d[len(d)/2]
}
