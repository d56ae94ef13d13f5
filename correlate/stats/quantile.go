package stats

import (
	"math"
	"slices"
)

// Quantile is the quantile of type 7 of Hyndman and Fan (Sample quantiles in
// statistical packages, The American Statistician 50, 1996), the default of R:
// linear between the order statistics at (n-1)p + 1. sorted must be ascending
// and free of NaN; +Inf may be in it. It is NaN for no values or a p outside
// [0, 1].
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	position := float64(len(sorted)-1) * p
	below := int(position)
	fraction := position - float64(below)
	// Interpolating to an infinite or equal neighbour would give Inf*0 or
	// Inf-Inf.
	if fraction == 0 || below+1 >= len(sorted) || sorted[below] == sorted[below+1] {
		return sorted[below]
	}
	return sorted[below] + fraction*(sorted[below+1]-sorted[below])
}

// Quantiles gives the quantiles p of x, which need not be sorted and is not
// changed. Unknown values (NaN) are left out.
func Quantiles(x []float64, p ...float64) []float64 {
	sorted := make([]float64, 0, len(x))
	for _, v := range x {
		if !math.IsNaN(v) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	quantiles := make([]float64, len(p))
	for i, q := range p {
		quantiles[i] = Quantile(sorted, q)
	}
	return quantiles
}
