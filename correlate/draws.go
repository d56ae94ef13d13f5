package correlate

import (
	"math"
	"slices"
)

// maximum gives the candidate assignment of stalls to visits with the greatest
// sum of score minus expectation, and the p-value of that greatest sum. Labels
// of whole visits are drawn within their stratum in proportion to the time
// spent, so that a long stay counts for what it is; all stalls of a visit share
// its label. p is NaN where no stall lies in a visit.
func maximum(candidates [][]int32, score []float64, st *strata, mean []float64, source *labelSource, rounds int) (best int, p float64) {
	d := newDraws(candidates, st, mean)
	if len(d.visits) == 0 {
		return 0, math.NaN()
	}
	for i, v := range d.visits {
		d.value[i] = score[v]
	}
	best, seen := d.greatest()
	again := d.again(score, st)
	atLeast := 0
	for range rounds {
		if again(source) >= seen-roundingError {
			atLeast++
		}
	}
	return best, float64(1+atLeast) / float64(1+rounds)
}

// again gives what draws the labels anew and tells the greatest sum. A single
// candidate is summed while it is drawn.
func (d *draws) again(score []float64, st *strata) func(*labelSource) float64 {
	alone := len(d.index) == 1
	if isBinary(score) {
		if alone {
			return d.sumByMean
		}
		return func(source *labelSource) float64 {
			d.byMean(source)
			_, sum := d.greatest()
			return sum
		}
	}
	var kind []int32
	d.values, kind = kinds(score)
	d.kinds, d.drawn = newExchange(st, d.visits, kind), make([]int32, len(d.visits))
	if alone {
		return d.sumByVisit
	}
	return func(source *labelSource) float64 {
		d.byVisit(source)
		_, sum := d.greatest()
		return sum
	}
}

// roundingError: sums that differ by less are taken as equal.
const roundingError = 1e-9

// draws holds the visits that any candidate puts a stall in, and a value of
// each: its own score, or one drawn anew.
type draws struct {
	visits []int32
	value  []float64
	chance []uint64  // by position in visits: the threshold of its stratum's mean
	index  [][]int32 // by candidate: the position in visits of each stall's
	expect []float64 // by candidate
	stalls []uint64  // by position in visits: of the first candidate

	// Of scores that byVisit draws: those there are, and which of them each
	// visit's may be exchanged with.
	values []float64
	kinds  *exchange
	drawn  []int32
}

func newDraws(candidates [][]int32, st *strata, mean []float64) *draws {
	d := &draws{index: make([][]int32, len(candidates)), expect: make([]float64, len(candidates))}
	takesPart := func(v int32) bool { return v >= 0 && st.of[v] >= 0 }
	for _, c := range candidates {
		for _, v := range c {
			if takesPart(v) {
				d.visits = append(d.visits, v)
			}
		}
	}
	d.visits, _ = distinct(d.visits)
	d.value, d.chance = make([]float64, len(d.visits)), make([]uint64, len(d.visits))
	for i, v := range d.visits {
		d.chance[i] = threshold(mean[st.of[v]])
	}
	d.stalls = make([]uint64, len(d.visits))
	for k, c := range candidates {
		for _, v := range c {
			if takesPart(v) {
				i, _ := slices.BinarySearch(d.visits, v)
				d.index[k] = append(d.index[k], int32(i)) //nolint:gosec // index into a short list
				d.expect[k] += mean[st.of[v]]
				if k == 0 {
					d.stalls[i]++
				}
			}
		}
	}
	return d
}

// greatest gives the candidate with the greatest sum of values minus
// expectation; the first of equals.
func (d *draws) greatest() (candidate int, sum float64) {
	sum = math.Inf(-1)
	for k := range d.index {
		s := -d.expect[k]
		for _, i := range d.index[k] {
			s += d.value[i]
		}
		if s > sum+roundingError {
			candidate, sum = k, s
		}
	}
	return candidate, sum
}

// byVisit draws the score of a visit of the same stratum.
func (d *draws) byVisit(source *labelSource) {
	d.kinds.draw(source, d.drawn)
	for i, kind := range d.drawn {
		d.value[i] = d.values[kind]
	}
}

// sumByVisit is byVisit and the sum of the only candidate.
func (d *draws) sumByVisit(source *labelSource) float64 {
	d.kinds.draw(source, d.drawn)
	sum := -d.expect[0]
	for i, kind := range d.drawn {
		sum += d.values[kind] * float64(d.stalls[i])
	}
	return sum
}

// byMean draws scores of 0 and 1, which a mean describes wholly.
func (d *draws) byMean(source *labelSource) {
	for i, t := range d.chance {
		d.value[i] = float64(source.hit(t))
	}
}

// sumByMean is byMean and the sum of the only candidate.
func (d *draws) sumByMean(source *labelSource) float64 {
	sum := uint64(0)
	for i, t := range d.chance {
		sum += d.stalls[i] * source.hit(t)
	}
	return float64(sum) - d.expect[0]
}

// kinds numbers the distinct values of a score: the values, and by visit which
// of them it has.
func kinds(score []float64) (values []float64, kind []int32) {
	kind = make([]int32, len(score))
	number := map[float64]int32{}
	for i, v := range score {
		k, ok := number[v]
		if !ok {
			k = int32(len(values)) //nolint:gosec // at most one a visit
			number[v] = k
			values = append(values, v)
		}
		kind[i] = k
	}
	return values, kind
}

// exchange holds, for each visit of a list, the labels that its own may be
// exchanged with: those of its stratum's visits, once for each of their
// samples, so that a draw goes by time. A permutation reads them thousands of
// times, so they are kept small and side by side in the order of the list.
type exchange struct {
	narrow [][]uint16
	wide   [][]int32 // instead, where a label does not fit
}

// newExchange takes the label of each visit, numbered from 0.
func newExchange(st *strata, visits, label []int32) *exchange {
	if len(label) == 0 || slices.Max(label) <= math.MaxUint16 {
		return &exchange{narrow: exchangeable[uint16](st, visits, label)}
	}
	return &exchange{wide: exchangeable[int32](st, visits, label)}
}

func exchangeable[T uint16 | int32](st *strata, visits, label []int32) [][]T {
	out := make([][]T, len(visits))
	byStratum := make([][]T, len(st.list))
	for i, v := range visits {
		n := st.of[v]
		if byStratum[n] == nil {
			samples := st.list[n].samples
			byStratum[n] = make([]T, len(samples))
			for k, o := range samples {
				byStratum[n][k] = T(label[o]) // the caller knows that it fits
			}
		}
		out[i] = byStratum[n]
	}
	return out
}

// draw gives a label to each visit.
func (e *exchange) draw(source *labelSource, drawn []int32) {
	for i, labels := range e.narrow {
		drawn[i] = int32(labels[source.below(uint64(len(labels)))]) //nolint:gosec // as long as the list
	}
	for i, labels := range e.wide {
		drawn[i] = labels[source.below(uint64(len(labels)))] //nolint:gosec // as long as the list
	}
}

func isBinary(score []float64) bool {
	return !slices.ContainsFunc(score, func(v float64) bool { return v != 0 && v != 1 })
}
