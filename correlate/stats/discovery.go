package stats

import (
	"cmp"
	"math"
	"slices"
)

// AdjustedP gives the p-values adjusted for the false-discovery rate by
// Benjamini and Hochberg (Journal of the Royal Statistical Society B 57,
// 1995): min over j >= i of n p(j)/j, at most 1, in the order given. Unknown
// p-values (NaN) stay NaN and are not counted among the n, as in R's p.adjust.
func AdjustedP(p []float64) []float64 {
	adjusted := slices.Clone(p)
	known := make([]int, 0, len(p))
	for i, v := range p {
		if !math.IsNaN(v) {
			known = append(known, i)
		}
	}
	slices.SortFunc(known, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	smallest := 1.0
	for rank := len(known); rank >= 1; rank-- {
		i := known[rank-1]
		smallest = min(smallest, p[i]*float64(len(known))/float64(rank))
		adjusted[i] = smallest
	}
	return adjusted
}

// Discoveries says which p-values are significant at a false-discovery rate of
// q.
func Discoveries(p []float64, q float64) []bool {
	found := make([]bool, len(p))
	for i, v := range AdjustedP(p) {
		found[i] = v <= q
	}
	return found
}
