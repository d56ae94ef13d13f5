package correlate

import (
	"math"
	"slices"
	"testing"
)

// The numbers that Rosetta Code lists for SplitMix64 from 1234567, and that
// Vigna's splitmix64.c gives.
func TestRandomNumbersAreThoseOfSplitMix64(t *testing.T) {
	t.Parallel()
	source := labelSource{state: 1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := source.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// Each place of a list comes as often as any other; shares of 100,000 draws lie
// within five standard deviations: one false alarm in a million for each.
func TestLabelsArePickedEvenly(t *testing.T) {
	t.Parallel()
	const draws = 100_000
	for _, n := range []int32{1, 2, 3, 7, 300} {
		labels, drawn := make([]int32, n), make([]int32, draws)
		for i := range labels {
			labels[i] = int32(i) * 10
		}
		newLabelSource(4, uint64(n)).pick(labels, drawn)
		count := map[int32]int{}
		for _, label := range drawn {
			count[label]++
		}
		share := 1 / float64(n)
		for _, label := range labels {
			near(t, "share of a label", float64(count[label])/draws, share, 5*math.Sqrt(share*(1-share)/draws))
		}
		if len(count) != int(n) {
			t.Errorf("%d labels were drawn of %d", len(count), n)
		}
	}
}

// The reference makes all numbers in full: bit b of the word drawn as number k
// is bit 52-k of draw b's number, and a hit is a number under the chance.
func TestAHitIsANumberUnderItsChance(t *testing.T) {
	t.Parallel()
	for i, probability := range []float64{0, 1e-300, 1e-16, 0.001, 0.1, 1.0 / 3, 0.5, 0.75, 0.9999999999999999, 1} {
		source := newLabelSource(9, uint64(i))
		for range 100 {
			words := *source
			var number [lanes]uint64
			for range chanceBits {
				word := words.next()
				for b := range number {
					number[b] = number[b]<<1 | word>>b&1
				}
			}
			got := source.hits(chance(probability))
			for b, n := range number {
				if want := float64(n) < probability*(1<<chanceBits); want != (got>>b&1 == 1) {
					t.Fatalf("probability %v: draw %d with %d is taken for a hit: %t", probability, b, n, !want)
				}
			}
		}
	}
}

// By hand: 0.5 is 2^52 in units of 2^-53, and under 1.5 of them lie two, 0 and 1.
func TestAChanceCountsTheNumbersUnderAProbability(t *testing.T) {
	t.Parallel()
	for probability, want := range map[float64]uint64{0: 0, 0.5: 1 << 52, 1: 1 << 53, math.Ldexp(1.5, -53): 2, math.Ldexp(1, -53): 1} {
		if got := chance(probability); got != want {
			t.Errorf("chance of %v is %d, want %d", probability, got, want)
		}
	}
}

// By hand: draw b counts the numbers up to 300 that have bit b; draw 0 the 150
// odd ones, draw 8 those from 256 to 300, which are 45, and draw 9 none.
func TestATallyCountsInEachDrawByItself(t *testing.T) {
	t.Parallel()
	var hits tally
	for n := range uint64(301) {
		hits.add(n)
	}
	for draw, want := range map[int]int{0: 150, 8: 45, 9: 0, 63: 0} {
		if got := hits.count(draw); got != want {
			t.Errorf("draw %d counts %d, want %d", draw, got, want)
		}
	}
}

func TestTheSameSeedGivesTheSameDraws(t *testing.T) {
	t.Parallel()
	draw := func(seed, stream uint64) []int32 {
		drawn := make([]int32, 20)
		newLabelSource(seed, stream).pick([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, drawn)
		return drawn
	}
	if !slices.Equal(draw(1, 2), draw(1, 2)) {
		t.Error("a stream differs from itself")
	}
	if slices.Equal(draw(1, 2), draw(1, 3)) || slices.Equal(draw(1, 2), draw(2, 2)) {
		t.Error("other streams and seeds give the same draws")
	}
}
