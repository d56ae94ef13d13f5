package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// seeded is a generator that every run of a test repeats.
func seeded(a, b uint64) *rand.Rand {
	return rand.New(rand.NewPCG(a, b))
}

// near fails where got is not within a relative tolerance of want; NaN equals
// NaN and an infinity itself.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	switch {
	case math.IsNaN(want) && math.IsNaN(got), got == want:
		return
	case math.IsNaN(got) || math.IsInf(got, 0) || math.IsInf(want, 0),
		!(math.Abs(got-want) <= tolerance*math.Max(math.Abs(want), 1e-300)):
		t.Errorf("%s: got %.15g, want %.15g", what, got, want)
	}
}

func nearRatio(t *testing.T, got, want Ratio, tolerance float64) {
	t.Helper()
	near(t, "value", got.Value, want.Value, tolerance)
	near(t, "low", got.Low, want.Low, tolerance)
	near(t, "high", got.High, want.High, tolerance)
}
