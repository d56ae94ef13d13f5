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
	samples []int32 // a visit's number once for each of its samples: a draw from them goes by time
	seconds float64
}

func (st *stratum) add(p *path, visit int32) {
	st.visits = append(st.visits, visit)
	st.seconds += p.visits[visit].Seconds()
	for range p.samplesOf(visit) {
		st.samples = append(st.samples, visit)
	}
}

// strata cuts a path's visits by load and time block.
type strata struct {
	list  []stratum
	of    []int32 // visit to stratum
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
	for i, v := range p.visits {
		k := key{(v.From - w.From) / s.block, l.key(v.From)}
		n, ok := index[k]
		if !ok {
			n = int32(len(s.list)) //nolint:gosec // bounded by the number of visits
			index[k] = n
			s.list = append(s.list, stratum{block: int32(k.block)}) //nolint:gosec // a window holds few blocks
		}
		s.list[n].add(p, int32(i))
		s.of[i] = n
	}
	return s
}

// subset keeps only visits that take part, for tests within a socket: a
// stratum then is (stratum, group). Visits of group -1 are left out; their
// stratum is -1.
func (s *strata) subset(p *path, group func(visit int32) int) *strata {
	o := &strata{of: make([]int32, len(s.of)), block: s.block}
	type key struct {
		stratum int32
		group   int
	}
	index := map[key]int32{}
	for i := range p.visits {
		g := group(int32(i))
		if g < 0 {
			o.of[i] = -1
			continue
		}
		k := key{s.of[i], g}
		n, ok := index[k]
		if !ok {
			n = int32(len(o.list)) //nolint:gosec // bounded by the number of visits
			index[k] = n
			o.list = append(o.list, stratum{block: s.list[s.of[i]].block})
		}
		o.list[n].add(p, int32(i))
		o.of[i] = n
	}
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

// distinct gives the visits of a list once each, and each entry's position
// among them.
func distinct(visits []int32) (once []int32, position []int32) {
	once = slices.Clone(visits)
	slices.Sort(once)
	once = slices.Compact(once)
	position = make([]int32, len(visits))
	for i, v := range visits {
		k, _ := slices.BinarySearch(once, v)
		position[i] = int32(k) //nolint:gosec // index into a short list
	}
	return once, position
}
