package correlate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The reference is math/rand/v2 itself, from the same seed.
func TestLabelsAreDrawnAsTheStandardLibraryDraws(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{1, 2, 3, 7, 8, 33, 64, 1000, 1<<31 + 1, 1<<63 + 1} {
		source, reference := newLabelSource(4, n), rand.New(rand.NewPCG(4, n))
		for i := range 1000 {
			if got, want := source.below(n), reference.Uint64N(n); got != want {
				t.Fatalf("draw %d below %d is %d, want %d", i, n, got, want)
			}
		}
	}
}

func TestAHitIsANumberUnderItsProbability(t *testing.T) {
	t.Parallel()
	for i, probability := range []float64{0, 1e-300, 1e-16, 0.1, 1.0 / 3, 0.5, 0.9999999999999999, 1} {
		stream := uint64(i)
		source, reference := newLabelSource(9, stream), rand.New(rand.NewPCG(9, stream))
		for range 1000 {
			want := uint64(0)
			if reference.Float64() < probability {
				want = 1
			}
			if got := source.hit(threshold(probability)); got != want {
				t.Fatalf("probability %v: %d, want %d", probability, got, want)
			}
		}
	}
}

// Float64 gives multiples of 2^-53; by hand: 0.5 is 2^52 of them, and under
// 1.5 of them lie two, 0 and 1.
func TestAThresholdCountsTheNumbersUnderAProbability(t *testing.T) {
	t.Parallel()
	for probability, want := range map[float64]uint64{0: 0, 0.5: 1 << 52, 1: 1 << 53, math.Ldexp(1.5, -53): 2, math.Ldexp(1, -53): 1} {
		if got := threshold(probability); got != want {
			t.Errorf("threshold of %v is %d, want %d", probability, got, want)
		}
	}
}
