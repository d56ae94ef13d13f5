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
	draw := d.byVisit
	if isBinary(score) {
		draw = d.byMean
	}
	atLeast := 0
	for range rounds {
		draw(score, rng)
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
	st     *strata
	mean   []float64 // by stratum
	visits []int32
	value  []float64
	index  [][]int32 // by candidate: the position in visits of each stall's
	expect []float64 // by candidate
}

func newDraws(candidates [][]int32, st *strata, mean []float64) *draws {
	d := &draws{st: st, mean: mean, index: make([][]int32, len(candidates)), expect: make([]float64, len(candidates))}
	takesPart := func(v int32) bool { return v >= 0 && st.of[v] >= 0 }
	for _, c := range candidates {
		for _, v := range c {
			if takesPart(v) {
				d.visits = append(d.visits, v)
			}
		}
	}
	d.visits, _ = distinct(d.visits)
	d.value = make([]float64, len(d.visits))
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
func (d *draws) byVisit(score []float64, rng *rand.Rand) {
	for i, v := range d.visits {
		d.value[i] = score[d.st.list[d.st.of[v]].draw(rng)]
	}
}

// byMean draws scores of 0 and 1, which a mean describes wholly.
func (d *draws) byMean(_ []float64, rng *rand.Rand) {
	for i, v := range d.visits {
		d.value[i] = 0
		if rng.Float64() < d.mean[d.st.of[v]] {
			d.value[i] = 1
		}
	}
}

func isBinary(score []float64) bool {
	return !slices.ContainsFunc(score, func(v float64) bool { return v != 0 && v != 1 })
}
