package correlate

import (
	"math"
	"slices"
	"sort"

	"github.com/corewait/corewait/correlate/series"
)

// columnSums adds up a matrix's rows, each weighed by its length. Cells of CPUs
// on which the watched process was meanwhile are added up apart, so that a mean
// can leave them out.
type columnSums struct {
	total   float64   // seconds, known or not
	away    []float64 // by column: value times seconds, without the process
	missing []float64 // by column: seconds that are not in away
	own     []float64 // by column: value times seconds, with the process there
	ownSec  []float64 // by column: seconds in own
}

func newColumnSums(columns int) *columnSums {
	all := make([]float64, 4*columns)
	part := func(k int) []float64 { return all[k*columns : (k+1)*columns : (k+1)*columns] }
	return &columnSums{away: part(0), missing: part(1), own: part(2), ownSec: part(3)}
}

// add takes a row; the process was on the CPUs of the columns given. A week has
// tens of millions of cells: what is known is added in one step, and what is
// not, the exception, is counted instead.
func (s *columnSums) add(row []float32, seconds float64, occupied []int) {
	var few [4]float64 // LGWR alone is on one CPU, with workers on a few
	before := few[:0]
	for _, c := range occupied {
		before = append(before, s.away[c])
	}
	s.total += seconds
	away, missing := s.away[:len(row)], s.missing[:len(row)]
	for c, v := range row {
		if v == v { // NaN is not
			away[c] += float64(v) * seconds
		} else {
			missing[c] += seconds
		}
	}
	for i, c := range occupied {
		away[c] = before[i]
		if v := row[c]; v == v {
			missing[c] += seconds
			s.own[c] += float64(v) * seconds
			s.ownSec[c] += seconds
		}
	}
}

func (s *columnSums) plus(o *columnSums) {
	s.total += o.total
	for c := range s.away {
		s.away[c] += o.away[c]
		s.missing[c] += o.missing[c]
		s.own[c] += o.own[c]
		s.ownSec[c] += o.ownSec[c]
	}
}

// means gives each CPU's mean; NaN where nothing is known.
func (s *columnSums) means(cpus []int) map[int]float64 {
	out := make(map[int]float64, len(cpus))
	for c, id := range cpus {
		out[id] = math.NaN()
		if sec := s.total - s.missing[c] + s.ownSec[c]; sec > 0 {
			out[id] = (s.away[c] + s.own[c]) / sec
		}
	}
	return out
}

// awayMeans is means over the intervals in which the watched process was not on
// the CPU; NaN where those make up under a tenth of the observed time.
func (s *columnSums) awayMeans(cpus []int) map[int]float64 {
	out := make(map[int]float64, len(cpus))
	for c, id := range cpus {
		out[id] = math.NaN()
		if sec := s.total - s.missing[c]; sec > 0 && sec >= s.total/10 {
			out[id] = s.away[c] / sec
		}
	}
	return out
}

// matrixSums holds a matrix's sums over runs of intervals, cut where any of the
// stretches begins or ends over which means are wanted: stretches overlap, and
// the matrix is read once for all of them.
type matrixSums struct {
	m    *series.Matrix
	cuts []int // run k has the intervals from cuts[k] up to cuts[k+1]
	runs []*columnSums
}

func sumMatrix(m *series.Matrix, p *path, stretches []series.Span) *matrixSums {
	s := &matrixSums{m: m}
	for _, w := range stretches {
		first, end := intervalsIn(m.Spans, w)
		s.cuts = append(s.cuts, first, end)
	}
	slices.Sort(s.cuts)
	s.cuts = slices.Compact(s.cuts)
	on := newOccupancy(m, p)
	for k := 1; k < len(s.cuts); k++ {
		sums := newColumnSums(len(m.CPUs))
		for i := s.cuts[k-1]; i < s.cuts[k]; i++ {
			sums.add(m.Row(i), m.Spans[i].Seconds(), on.columnsIn(m.Spans[i]))
		}
		s.runs = append(s.runs, sums)
	}
	return s
}

// over gives the sums over one of the stretches.
func (s *matrixSums) over(w series.Span) *columnSums {
	out := newColumnSums(len(s.m.CPUs))
	first, end := intervalsIn(s.m.Spans, w)
	k, _ := slices.BinarySearch(s.cuts, first)
	for ; k < len(s.runs) && s.cuts[k] < end; k++ {
		out.plus(s.runs[k])
	}
	return out
}

// means gives each CPU's mean over one of the stretches, intervals weighed by
// length.
func (s *matrixSums) means(w series.Span) map[int]float64 { return s.over(w).means(s.m.CPUs) }

// awayMeans is means over the intervals without the watched process.
func (s *matrixSums) awayMeans(w series.Span) map[int]float64 {
	return s.over(w).awayMeans(s.m.CPUs)
}

// occupancy tells, for intervals asked in order, which of a matrix's columns the
// watched process was on.
type occupancy struct {
	p       *path
	columns [][]int // by place
	visit   int     // the first that ends after the begin of the interval asked last
	found   []int
}

func newOccupancy(m *series.Matrix, p *path) *occupancy {
	o := &occupancy{p: p, columns: make([][]int, len(p.places))}
	for i, cpus := range p.places {
		for _, cpu := range cpus {
			if c := m.Column(int(cpu)); c >= 0 {
				o.columns[i] = append(o.columns[i], c)
			}
		}
	}
	return o
}

// columnsIn gives each column once; the slice is reused.
func (o *occupancy) columnsIn(sp series.Span) []int {
	visits := o.p.visits
	for o.visit < len(visits) && visits[o.visit].To <= sp.From {
		o.visit++
	}
	o.found = o.found[:0]
	for k := o.visit; k < len(visits) && visits[k].From < sp.To; k++ {
		for _, c := range o.columns[visits[k].place] {
			if !slices.Contains(o.found, c) {
				o.found = append(o.found, c)
			}
		}
	}
	return o.found
}

// intervalsIn gives the first of the ascending intervals that lie in the
// window, give or take a second, and the one after the last.
func intervalsIn(spans []series.Span, w series.Span) (first, end int) {
	first = sort.Search(len(spans), func(i int) bool { return spans[i].From >= w.From-series.Second })
	end = sort.Search(len(spans), func(i int) bool { return spans[i].To > w.To+series.Second })
	return first, max(first, end)
}

func spanSeconds(spans []series.Span, w series.Span) float64 {
	var s float64
	first, end := intervalsIn(spans, w)
	for _, sp := range spans[first:end] {
		s += sp.Seconds()
	}
	return s
}
