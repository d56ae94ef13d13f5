package correlate

import (
	"math"
	"slices"

	"github.com/corewait/corewait/correlate/series"
)

// Exposure levels of an instant.
const (
	levelLight   = 0 // neither the CPU nor its sibling is heavy
	levelSibling = 1 // only its SMT sibling is
	levelHeavy   = 2 // the process' own CPU is heavy
)

// exposure tells, for each place, how exposed the process is there, in each
// stretch of the window for which a heavy set is fixed.
type exposure struct {
	level [][]uint8 // by segment, then place
	dose  []float64 // by place; NaN unknown
}

func newExposure(s *series.Series, p *path, pic *picture) *exposure {
	e := &exposure{dose: make([]float64, len(p.places))}
	siblings := make([][]int, len(p.places))
	for i, cpus := range p.places {
		for _, c := range cpus {
			siblings[i] = append(siblings[i], s.Topology.Siblings(int(c))...)
		}
	}
	for _, seg := range pic.segments {
		level := make([]uint8, len(p.places))
		for i, cpus := range p.places {
			level[i] = levelOf(seg.heavy, cpus, siblings[i])
		}
		e.level = append(e.level, level)
	}
	for i, cpus := range p.places {
		e.dose[i] = math.NaN()
		for _, c := range cpus {
			if d := lookup(pic.dose, int(c)); !(d <= e.dose[i]) { // NaN gives way to any dose
				e.dose[i] = d
			}
		}
	}
	return e
}

func levelOf(heavy map[int]bool, cpus []int32, siblings []int) uint8 {
	if slices.ContainsFunc(cpus, func(c int32) bool { return heavy[int(c)] }) {
		return levelHeavy
	}
	if slices.ContainsFunc(siblings, func(c int) bool { return heavy[c] }) {
		return levelSibling
	}
	return levelLight
}

// heavyPlaces says which places are heavy in most of the window's segments:
// for what has no instant.
func (e *exposure) heavyPlaces() []bool {
	out := make([]bool, len(e.dose))
	for i := range out {
		n := 0
		for _, l := range e.level {
			if l[i] == levelHeavy {
				n++
			}
		}
		out[i] = 2*n > len(e.level)
	}
	return out
}

// shares gives the part of known time spent at each level.
func (e *exposure) shares(p *path, pic *picture) (heavy, sibling float64) {
	var total float64
	for _, v := range p.visits {
		d := v.Seconds()
		total += d
		switch e.level[pic.segmentAt(v.From)][v.place] {
		case levelHeavy:
			heavy += d
		case levelSibling:
			sibling += d
		}
	}
	if total == 0 {
		return math.NaN(), math.NaN()
	}
	return heavy / total, sibling / total
}
