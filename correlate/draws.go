package correlate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maximum gives the candidate assignment of stalls to visits with the greatest
// sum of score minus expectation, and the p-value of that greatest sum. Labels
// of whole visits are drawn within their stratum in proportion to the time
// spent, so that a long stay counts for what it is; all stalls of a visit share
// its label. p is NaN where no stall lies in a visit.
func maximum(candidates [][]int32, score []float64, st *strata, mean []float64, rng *rand.Rand, rounds int) (best int, p float64) {
	d := newDraws(candidates, st, mean)
	if len(d.visits) == 0 {
		return 0, math.NaN()
	}
	for i, v := range d.visits {
		d.value[i] = score[v]
	}
	best, seen := d.greatest()
	draw := d.byMean
	if !isBinary(score) {
		draw = d.byVisit
		var kind []int32
		d.values, kind = kinds(score)
		d.exchange = exchangeable(st, d.visits, kind)
	}
	atLeast := 0
	for range rounds {
		draw(rng)
		if _, top := d.greatest(); top >= seen-roundingError {
			atLeast++
		}
	}
	return best, float64(1+atLeast) / float64(1+rounds)
}

// roundingError: sums that differ by less are taken as equal.
const roundingError = 1e-9

// draws holds the visits that any candidate puts a stall in, and a value of
// each: its own score, or one drawn anew.
type draws struct {
	visits []int32
	value  []float64
	mean   []float64 // by position in visits: that of the visit's stratum
	index  [][]int32 // by candidate: the position in visits of each stall's
	expect []float64 // by candidate

	// Of scores that byVisit draws: those there are, and, by position in
	// visits, which of them the visit's may be exchanged with.
	values   []float64
	exchange [][]int32
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
	d.value, d.mean = make([]float64, len(d.visits)), make([]float64, len(d.visits))
	for i, v := range d.visits {
		d.mean[i] = mean[st.of[v]]
	}
	for k, c := range candidates {
		for _, v := range c {
			if takesPart(v) {
				i, _ := slices.BinarySearch(d.visits, v)
				d.index[k] = append(d.index[k], int32(i)) //nolint:gosec // index into a short list
				d.expect[k] += mean[st.of[v]]
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
func (d *draws) byVisit(rng *rand.Rand) {
	for i, kinds := range d.exchange {
		d.value[i] = d.values[kinds[rng.IntN(len(kinds))]]
	}
}

// byMean draws scores of 0 and 1, which a mean describes wholly.
func (d *draws) byMean(rng *rand.Rand) {
	for i, mean := range d.mean {
		// 1 where the number drawn is under the mean, else 0: the bits of floats
		// that are not negative order as they do. A branch could not be foreseen
		// by the processor, and costs more than all the rest.
		under := (math.Float64bits(rng.Float64()) - math.Float64bits(mean)) >> 63
		d.value[i] = float64(under)
	}
}

// kinds numbers the distinct values of a score: the values, and by visit which
// of them it has.
func kinds(score []float64) (values []float64, kind []int32) {
	values = slices.Clone(score)
	slices.Sort(values)
	values = slices.Compact(values)
	kind = make([]int32, len(score))
	for i, v := range score {
		k, _ := slices.BinarySearch(values, v)
		kind[i] = int32(k) //nolint:gosec // at most one a visit
	}
	return values, kind
}

// exchangeable gives, for each visit of a list, what its label may be exchanged
// with: the labels of its stratum's visits, once for each of their samples, so
// that a draw goes by time. They lie side by side in the order of the list: a
// permutation reads them thousands of times.
func exchangeable[T any](st *strata, visits []int32, label []T) [][]T {
	out := make([][]T, len(visits))
	byStratum := make([][]T, len(st.list))
	for i, v := range visits {
		n := st.of[v]
		if byStratum[n] == nil {
			samples := st.list[n].samples
			byStratum[n] = make([]T, len(samples))
			for k, o := range samples {
				byStratum[n][k] = label[o]
			}
		}
		out[i] = byStratum[n]
	}
	return out
}

func isBinary(score []float64) bool {
	return !slices.ContainsFunc(score, func(v float64) bool { return v != 0 && v != 1 })
}
