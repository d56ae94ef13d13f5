package stats

import (
	"math"
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
