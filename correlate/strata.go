package correlate

import (
	"slices"

	"github.com/corewait/corewait/correlate/series"
)

// stratum is the time spent under one load within one block of time: labels
// are exchanged within it only, which keeps the link of load to both the stalls
// and the process' place.
type stratum struct {
	block   int32
	visits  []int32
	seconds float64
}

// placesBySample gives the places of a stratum's visits, once for each of their
// samples.
func (st *stratum) placesBySample(p *path) []int32 {
	n := 0
	for _, v := range st.visits {
		n += p.samplesOf(v)
	}
	places := make([]int32, 0, n)
	for _, v := range st.visits {
		for range p.samplesOf(v) {
			places = append(places, p.visits[v].place)
		}
	}
	return places
}

// strata cuts a path's visits by load and time block.
type strata struct {
	list  []stratum
	of    []int32 // visit to stratum; -1 none
	block series.Micros
}

// visitsPerStratum is how many visits a stratum should hold on average, so
// that there is something to exchange: blocks grow beyond Params.Block for a
// process that seldom moves.
const visitsPerStratum = 8

func newStrata(p *path, l *load, w series.Span, prm Params) *strata {
	s := &strata{of: make([]int32, len(p.visits)), block: micros(prm.Block)}
	if n := len(p.visits); n > 0 {
		mean := series.Micros(p.seconds() / float64(n) * float64(series.Second))
		s.block = max(s.block, mean*visitsPerStratum*series.Micros(l.levels()))
	}
	s.block = min(s.block, max(1, (w.To-w.From)/2))
	type key struct {
		block series.Micros
		load  [2]int
	}
	index := map[key]int32{}
	var last key // most visits follow one of the same stratum
	var n int32
	for i, v := range p.visits {
		if k := (key{(v.From - w.From) / s.block, l.key(v.From)}); i == 0 || k != last {
			var ok bool
			if n, ok = index[k]; !ok {
				n = int32(len(s.list)) //nolint:gosec // bounded by the number of visits
				index[k] = n
				s.list = append(s.list, stratum{block: int32(k.block)}) //nolint:gosec // a window holds few blocks
			}
			last = k
		}
		s.of[i] = n
	}
	s.fill(p)
	return s
}

// fill gives the strata their visits, ascending, from where each visit belongs.
func (s *strata) fill(p *path) {
	size := make([]int, len(s.list))
	for _, n := range s.of {
		if n >= 0 {
			size[n]++
		}
	}
	all := make([]int32, len(s.of)) // one piece of memory for all strata
	for n := range s.list {
		s.list[n].visits, all = all[:0:size[n]], all[size[n]:]
	}
	for v, n := range s.of {
		if n >= 0 {
			st := &s.list[n]
			st.visits = append(st.visits, int32(v))
			st.seconds += p.visits[v].Seconds()
		}
	}
}

// subset keeps only visits that take part, for tests within a socket: a
// stratum then is (stratum, group). Visits of group -1 are left out; their
// stratum is -1.
func (s *strata) subset(p *path, group func(visit int32) int) *strata {
	o := &strata{of: make([]int32, len(s.of)), block: s.block}
	type part struct {
		group  int
		number int32
	}
	var parts []part // of one stratum: as few as there are sockets
	for k := range s.list {
		parts = parts[:0]
		for _, v := range s.list[k].visits {
			g := group(v)
			if g < 0 {
				o.of[v] = -1
				continue
			}
			i := slices.IndexFunc(parts, func(q part) bool { return q.group == g })
			if i < 0 {
				i = len(parts)
				parts = append(parts, part{g, int32(len(o.list))}) //nolint:gosec // bounded by the number of visits
				o.list = append(o.list, stratum{block: s.list[k].block})
			}
			o.of[v] = parts[i].number
		}
	}
	o.fill(p)
	return o
}

// mean gives, per stratum, the time-weighted mean of a visits' score.
func (s *strata) mean(p *path, score []float64) []float64 {
	out := make([]float64, len(s.list))
	for i := range s.list {
		st := &s.list[i]
		var sum float64
		for _, v := range st.visits {
			sum += score[v] * p.visits[v].Seconds()
		}
		if st.seconds > 0 {
			out[i] = sum / st.seconds
		}
	}
	return out
}

// blocks gives the number of time blocks.
func (s *strata) blocks() int {
	n := int32(0)
	for i := range s.list {
		n = max(n, s.list[i].block+1)
	}
	return int(n)
}
