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

// Median is the quantile 0.5 of values free of NaN, NaN for none. It reorders
// them, but does not sort them, which takes ten times as long for a week of
// seconds.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	below := (len(x) - 1) / 2
	arrange(x, below)
	if len(x)%2 == 1 {
		return x[below]
	}
	return Quantile([]float64{x[below], slices.Min(x[below+1:])}, 0.5)
}

// arrange puts the value that sorting would put at position k there, less and
// equal ones before it and greater and equal ones behind it (Hoare's selection,
// algorithm 65, CACM 4, 1961).
func arrange(x []float64, k int) {
	// Halving would take as many rounds as the length has bits. Values laid out to
	// mislead the choice of the pivot take more; what is left is then sorted.
	const rounds, few = 64, 32
	for round := 0; round < rounds && len(x) > few; round++ {
		first, middle, last := x[0], x[len(x)/2], x[len(x)-1]
		pivot := max(min(first, middle), min(max(first, middle), last))
		less, greater := partition(x, pivot)
		switch {
		case k < less:
			x = x[:less]
		case k >= greater:
			x, k = x[greater:], k-greater
		default:
			return
		}
	}
	slices.Sort(x)
}

// partition puts the values under the pivot first and those over it last: they
// end and begin at the positions given.
func partition(x []float64, pivot float64) (less, greater int) {
	greater = len(x)
	for i := 0; i < greater; {
		switch v := x[i]; {
		case v < pivot:
			x[i], x[less] = x[less], v
			less++
			i++
		case v > pivot:
			greater--
			x[i], x[greater] = x[greater], v
		default:
			i++
		}
	}
	return less, greater
}
