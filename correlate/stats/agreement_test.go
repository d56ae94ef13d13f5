package stats

import (
	"math"
	"testing"
)

func TestKappa(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := map[string]struct{ n11, n10, n01, n00, want float64 }{
		// The textbook example of 50 grant proposals: observed 0.7, expected 0.5.
		"two readers of 50 proposals":      {20, 5, 10, 15, 0.4},
		"by hand: (.6-.54)/.46":            {45, 15, 25, 15, 0.06 / 0.46},
		"by hand: (.6-.46)/.54":            {25, 35, 5, 35, 0.14 / 0.54},
		"full agreement":                   {3, 0, 0, 4, 1},
		"agreement as by chance":           {1, 1, 1, 1, 0},
		"full disagreement of even shares": {0, 2, 2, 0, -1},
		"both always exposed":              {9, 0, 0, 0, nan},
		"nothing judged":                   {0, 0, 0, 0, nan},
		"a negative count":                 {1, -1, 1, 1, nan},
		"an unknown count":                 {1, nan, 1, 1, nan},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near(t, "kappa", Kappa(test.n11, test.n10, test.n01, test.n00), test.want, 1e-12)
		})
	}
}
