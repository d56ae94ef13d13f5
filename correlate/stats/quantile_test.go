package stats

import (
	"math"
	"slices"
	"testing"
)

func TestQuantilesAreThoseOfR(t *testing.T) {
	t.Parallel()
	x := []float64{3.1, 0.4, math.NaN(), 2.2, 9.7, 5.5, 1.8, 4.4}
	// R: quantile(c(3.1,0.4,2.2,9.7,5.5,1.8,4.4), p, type=7)
	p := []float64{0, .1, .25, .5, .9, .95, .99, 1}
	want := []float64{0.4, 1.24, 2, 3.1, 7.18, 8.44, 9.448, 9.7}
	for i, got := range Quantiles(x, p...) {
		near(t, "quantile", got, want[i], 1e-12)
	}
	if x[0] != 3.1 || x[1] != 0.4 {
		t.Error("the input was sorted in place")
	}
}

func TestQuantileAtTheEdges(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		sorted []float64
		p      float64
		want   float64
	}{
		"no values":                         {nil, 0.5, nan},
		"one value":                         {[]float64{4}, 0.99, 4},
		"a p over one":                      {[]float64{1, 2}, 1.01, nan},
		"an unknown p":                      {[]float64{1, 2}, nan, nan},
		"exactly below infinity":            {[]float64{1, 2, inf}, 0.5, 2},
		"between a value and infinity":      {[]float64{1, 2, inf}, 0.75, inf},
		"between infinities":                {[]float64{1, inf, inf}, 0.75, inf},
		"halfway of an even number, by eye": {[]float64{1, 2, 4, 8}, 0.5, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "quantile", Quantile(test.sorted, test.p), test.want, 1e-15)
		})
	}
}

// R: median(c(4, 1, 3, 2)) is 2.5; the others by eye.
func TestMedianOfUnsortedValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"none", nil, math.NaN()},
		{"one", []float64{7}, 7},
		{"two", []float64{7, 1}, 4},
		{"four", []float64{4, 1, 3, 2}, 2.5},
		{"an infinite one", []float64{math.Inf(1), 5, 1}, 5},
		{"infinite in the middle", []float64{math.Inf(1), 5, 1, math.Inf(1)}, math.Inf(1)},
	} {
		near(t, tt.name, Median(tt.x), tt.want, 0)
	}
}

// The reference sorts.
func TestMedianIsThatOfSortedValues(t *testing.T) {
	t.Parallel()
	rng := seeded(7, 7)
	for name, value := range map[string]func(i, n int) float64{
		"at random":                func(int, int) float64 { return rng.NormFloat64() },
		"few different":            func(int, int) float64 { return float64(rng.IntN(3)) },
		"all equal":                func(int, int) float64 { return 4 },
		"ascending":                func(i, _ int) float64 { return float64(i) },
		"descending":               func(i, n int) float64 { return float64(n - i) },
		"rising to the middle":     func(i, n int) float64 { return float64(min(i, n-i)) },
		"small and great by turns": func(i, _ int) float64 { return float64(i * (i%2*2 - 1)) },
	} {
		for n := 1; n < 200; n++ {
			x := make([]float64, n)
			for i := range x {
				x[i] = value(i, n)
			}
			want := Quantile(slices.Sorted(slices.Values(x)), 0.5)
			if got := Median(x); got != want {
				t.Errorf("%s: median of %d values is %v, want %v", name, n, got, want)
			}
		}
	}
}
