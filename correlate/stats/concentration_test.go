package stats

import (
	"math"
	"slices"
	"testing"
)

func TestGini(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := map[string]struct {
		x    []float64
		want float64
	}{
		"one to four, by hand: (-3*1 -1*2 +1*3 +3*4)/(4*10)":      {[]float64{1, 2, 3, 4}, 0.25},
		"one of four has everything: (n-1)/n":                     {[]float64{0, 0, 0, 10}, 0.75},
		"order does not matter":                                   {[]float64{3, 1, 4, 2}, 0.25},
		"equal shares":                                            {[]float64{7, 7, 7}, 0},
		"a single value":                                          {[]float64{5}, 0},
		"R: sum(abs(outer(x, x, \"-\")))/(2*length(x)^2*mean(x))": {[]float64{5, 0, 120, 3, 3, 900, 42, 0}, 0.817684063373719},
		"values near the largest float64 do not overflow":         {[]float64{1e308, 1e308, 1e308, 0}, 0.25},
		"nothing at all":                                          {nil, nan},
		"all zero is unknown, not equal":                          {[]float64{0, 0}, nan},
		"an unknown value makes it unknown":                       {[]float64{1, nan}, nan},
		"a negative rate is no rate":                              {[]float64{1, -1}, nan},
		"an infinite rate is no rate":                             {[]float64{1, math.Inf(1)}, nan},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(test.x)
			near(t, "gini", Gini(test.x), test.want, 1e-12)
			for i, v := range test.x {
				if v != before[i] && !math.IsNaN(v) {
					t.Errorf("x[%d] was changed from %v to %v", i, before[i], v)
				}
			}
		})
	}
}

func TestGiniDoesNotDependOnUnitOrReplication(t *testing.T) {
	t.Parallel()
	rng := seeded(1, 2)
	for range 200 {
		x := make([]float64, 1+rng.IntN(80))
		for i := range x {
			x[i] = math.Exp(3 * rng.NormFloat64())
		}
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = v * 1234.5
		}
		g := Gini(x)
		near(t, "in another unit", Gini(scaled), g, 1e-9)
		near(t, "every CPU twice", Gini(append(slices.Clone(x), x...)), g, 1e-9)
		if g < 0 || g >= 1 {
			t.Fatalf("gini %v is outside [0, 1)", g)
		}
	}
}
