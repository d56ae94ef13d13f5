package stats

import (
	"math"
	"slices"
	"testing"
)

func TestAdjustedPIsThatOfR(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, test := range map[string]struct{ p, want []float64 }{
		`R: p.adjust(c(0.01,0.02,0.03,0.04,0.05,0.5,0.001,0.9), "BH")`: {
			[]float64{0.01, 0.02, 0.03, 0.04, 0.05, 0.5, 0.001, 0.9},
			[]float64{0.04, 0.16 / 3, 0.06, 0.064, 0.2 / 3, 4.0 / 7, 0.008, 0.9},
		},
		`R: p.adjust(c(.01,NA,.04,.03), "BH")`: {[]float64{0.01, nan, 0.04, 0.03}, []float64{0.03, nan, 0.04, 0.04}},
		"none":                                 {nil, nil},
	} {
		for i, got := range AdjustedP(test.p) {
			near(t, name, got, test.want[i], 1e-12)
		}
	}
}

// The example of Benjamini and Hochberg 1995, section 4.1: 15 p-values of
// which the four smallest are discoveries at q = 0.05.
func TestDiscoveriesOfThePublishedExample(t *testing.T) {
	t.Parallel()
	p := []float64{
		0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
	}
	want := make([]bool, len(p))
	copy(want, []bool{true, true, true, true})
	if got := Discoveries(p, 0.05); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Discoveries([]float64{math.NaN()}, 0.05); got[0] {
		t.Error("an unknown p-value was discovered")
	}
}
