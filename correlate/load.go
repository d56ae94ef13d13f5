package correlate

import (
	"math"
	"sort"

	"github.com/corewait/corewait/correlate/series"
)

// load is demand before an instant, for stratification.
type load struct {
	name  string
	rates []series.Rate
	sum   []float64     // running integral of the rate at the end of each span
	sec   []float64     // running sum of the spans' lengths at the end of each
	from  series.Micros // the window before an instant: [t-from, t-to)
	to    series.Micros
	cuts  []float64 // bounds between strata, ascending
	short *load     // demand just before, from context switches each second; nil where there are none
	// The spans that the last look-up found. Instants are asked in order, as a
	// rule, so that the next one begins there.
	asked      series.Micros
	first, end int
}

// newLoad takes the first of commits/s, user calls/s, redo/s that covers half
// of the window; else lagged context switches. Never the same second's run
// queue, interrupts or context switches: stalls themselves move those.
func newLoad(s *series.Series, prm Params) *load {
	l := &load{from: micros(prm.LoadFrom), to: micros(prm.LoadTo)}
	for _, c := range [][2]string{{"user commits", "commits_per_s"}, {"user calls", "user_calls_per_s"}, {"redo size", "redo_bytes_per_s"}} {
		rates := s.Counters[c[0]]
		var sec float64
		for i := range rates {
			sec += rates[i].Seconds()
		}
		if sec >= s.Window.Seconds()/2 {
			l.name, l.rates = c[1], rates
			break
		}
	}
	if l.name == "" {
		l.fromSystem(s)
	}
	l.integrate()
	l.setCuts(s.Window, prm.LoadStrata)
	l.short = newShortLoad(s, prm)
	return l
}

// newShortLoad takes context switches just before an instant, where they come
// every second or two: bursts of seconds are averaged out of the longer window.
func newShortLoad(s *series.Series, prm Params) *load {
	l := &load{from: micros(prm.BurstFrom), to: micros(prm.BurstTo)}
	l.fromSystem(s)
	if len(l.rates) < 60 || usualStep(s.System, func(p *series.SystemPoint) series.Micros { return p.At }) > 2*series.Second {
		return nil
	}
	l.integrate()
	l.setCuts(s.Window, prm.BurstStrata)
	return l
}

func (l *load) integrate() {
	l.sum, l.sec = make([]float64, len(l.rates)), make([]float64, len(l.rates))
	var total, sec float64
	for i := range l.rates {
		d := l.rates[i].Seconds()
		total += l.rates[i].PerS * d
		sec += d
		l.sum[i], l.sec[i] = total, sec
	}
}

func (l *load) fromSystem(s *series.Series) {
	l.rates = make([]series.Rate, 0, len(s.System))
	var before series.Micros
	for i := range s.System {
		p := &s.System[i]
		from := p.At - series.Second
		if before > 0 && p.At-before < 60*series.Second {
			from = before
		}
		before = p.At
		if math.IsNaN(p.ContextSwitchesPerS) {
			continue
		}
		l.rates = append(l.rates, series.Rate{Span: series.Span{From: from, To: p.At}, PerS: p.ContextSwitchesPerS})
	}
	if len(l.rates) > 0 {
		l.name = "lagged_context_switches_per_s"
	}
}

// at gives the mean load over [t-from, t-to), NaN where under half is known.
func (l *load) at(t series.Micros) float64 {
	w := series.Span{From: t - l.from, To: t - l.to}
	i, j := l.find(t, w)
	if i >= j {
		return math.NaN()
	}
	var sum, sec float64
	add := func(k int) {
		d := series.Span{From: max(l.rates[k].From, w.From), To: min(l.rates[k].To, w.To)}.Seconds()
		sum += l.rates[k].PerS * d
		sec += d
	}
	add(i)
	if j-1 > i {
		add(j - 1)
		if j-2 > i {
			sum += l.sum[j-2] - l.sum[i]
			sec += l.sec[j-2] - l.sec[i]
		}
	}
	if sec < w.Seconds()/2 {
		return math.NaN()
	}
	return sum / sec
}

// find gives the first span that ends after a window's begin, and the first that
// begins at its end or later.
func (l *load) find(t series.Micros, w series.Span) (first, end int) {
	if t < l.asked {
		l.first, l.end = 0, 0
	}
	l.asked = t
	for l.first < len(l.rates) && l.rates[l.first].To <= w.From {
		l.first++
	}
	for l.end < len(l.rates) && l.rates[l.end].From < w.To {
		l.end++
	}
	return l.first, l.end
}

// setCuts puts the bounds between strata at quantiles of the load over time.
func (l *load) setCuts(w series.Span, strata int) {
	if len(l.rates) == 0 || strata < 2 {
		return
	}
	var v []float64
	for t := w.From; t < w.To; t += max(series.Second, (w.To-w.From)/2000) {
		if x := l.at(t); !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	if len(v) < strata {
		return
	}
	sort.Float64s(v)
	for k := 1; k < strata; k++ {
		l.cuts = append(l.cuts, v[len(v)*k/strata])
	}
}

// stratum gives the load stratum of an instant, from 0; unknown load has one of
// its own.
func (l *load) stratum(t series.Micros) int {
	x := l.at(t)
	if math.IsNaN(x) {
		return len(l.cuts) + 1
	}
	return sort.SearchFloat64s(l.cuts, x)
}

// key gives the stratum of an instant over both loads.
func (l *load) key(t series.Micros) [2]int {
	k := [2]int{l.stratum(t), 0}
	if l.short != nil {
		k[1] = l.short.stratum(t)
	}
	return k
}

// levels gives the number of strata.
func (l *load) levels() int {
	n := len(l.cuts) + 1
	if l.short != nil {
		n *= len(l.short.cuts) + 1
	}
	return n
}
