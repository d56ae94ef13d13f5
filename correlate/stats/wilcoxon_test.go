package stats

import (
	"math"
	"slices"
	"testing"
)

// depression are the Hamilton scale differences of Hollander and Wolfe
// (Nonparametric Statistical Methods, 1973), the example of R's wilcox.test.
func depression() []float64 {
	return []float64{0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010}
}

func TestWilcoxonSignedRank(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	ascending := make([]float64, 60)
	for i := range ascending {
		ascending[i] = float64(i + 1)
	}
	mixed := make([]float64, 49)
	for i := range mixed {
		mixed[i] = float64((i+1)*37%53) - 20 + float64(i+1)/1000
	}
	tests := map[string]struct {
		differences []float64
		want        SignedRank
	}{
		"Hollander and Wolfe, R: V = 40, p = 0.0390625": {depression(), SignedRank{40, 9, 0.0390625, true}},
		"zeros are dropped":                             {append(depression(), 0, 0), SignedRank{40, 9, 0.0390625, true}},
		"R: wilcox.test(c(1.5,-2.25,3,4,-5.5,7,8,9))":   {[]float64{1.5, -2.25, 3, 4, -5.5, 7, 8, 9}, SignedRank{29, 8, 0.1484375, true}},
		"R: wilcox.test(c(3,-1,2,2,5,-3,4,1,6,-2,7,3)), ties": {
			[]float64{3, -1, 2, 2, 5, -3, 4, 1, 6, -2, 7, 3}, SignedRank{65.5, 12, 0.0406870720162621, false},
		},
		"R: x <- (1:49*37)%%53-20+(1:49)/1000; wilcox.test(x, exact=T)": {mixed, SignedRank{875, 49, 0.00832119255814234, true}},
		"R: wilcox.test(1:60), normal from 50 pairs on":                 {ascending, SignedRank{1830, 60, 1.67132856965264e-11, false}},
		"all negative, by hand: 2/2^10":                                 {[]float64{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10}, SignedRank{0, 10, 0.001953125, true}},
		"perfectly balanced, by hand":                                   {[]float64{1, -1}, SignedRank{1.5, 2, 1, false}},
		"one pair proves nothing":                                       {[]float64{4}, SignedRank{1, 1, 1, true}},
		"no pairs":                                                      {nil, SignedRank{nan, 0, nan, false}},
		"nothing but zeros":                                             {[]float64{0, 0}, SignedRank{nan, 0, nan, false}},
		"an unknown difference":                                         {[]float64{1, nan}, SignedRank{nan, 0, nan, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(test.differences)
			got := WilcoxonSignedRank(test.differences)
			near(t, "V", got.V, test.want.V, 1e-12)
			near(t, "p", got.P, test.want.P, 1e-10)
			if got.Pairs != test.want.Pairs || got.Exact != test.want.Exact {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if !math.IsNaN(test.want.V) && !slices.Equal(before, test.differences) {
				t.Error("the input was changed")
			}
		})
	}
}
