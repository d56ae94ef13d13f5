package stats

import (
	"math"
	"slices"
)

// Gini is the Gini coefficient of x, zeros included:
//
//	G = sum((2i-n-1) x_i) / (n sum(x)), x ascending, i from 1.
//
// It is 0 where all are equal and (n-1)/n where one has everything. It is NaN
// for an empty or all-zero x and where a value is negative or not finite. x is
// not changed.
//
// Source: Dixon et al., Bootstrapping the Gini coefficient of inequality,
// Ecology 68 (1987), without the small-sample factor n/(n-1).
func Gini(x []float64) float64 {
	if len(x) == 0 || !countsAndTimes(x...) {
		return math.NaN()
	}
	ascending := slices.Clone(x)
	slices.Sort(ascending)
	largest := ascending[len(ascending)-1]
	if largest == 0 {
		return math.NaN()
	}
	n := float64(len(ascending))
	var weighted, sum float64
	for i, v := range ascending {
		v /= largest // the sums stay finite whatever the unit
		weighted += (2*float64(i+1) - n - 1) * v
		sum += v
	}
	return weighted / (n * sum)
}
