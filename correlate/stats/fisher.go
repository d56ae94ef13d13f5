package stats

import "math"

// Fisher holds the p-values of Fisher's exact test of a two by two table.
type Fisher struct {
	Greater  float64 // odds ratio over 1
	Less     float64 // odds ratio under 1
	TwoSided float64 // all tables no likelier than the one seen
}

// leastWeight ends the walk outwards. Weights must not become denormal: the
// smallest of these times 0.9 rounds to itself and would never get to zero.
const leastWeight = 1e-300

// fisherLimit bounds the total of a table: the sums run over some 80 standard
// deviations, at most 1.3 million steps at this total.
const fisherLimit = 1 << 30

// FisherExact tests the table a, b (exposed: case, not) and c, d (unexposed)
// given its margins. It sums hypergeometric probabilities outwards from the
// likeliest table, so that small p-values keep their relative precision down
// to 1e-300. The two-sided value takes ties as R does, within 1e-7. NaN for
// negative counts or a total over 2^30.
func FisherExact(a, b, c, d int) Fisher {
	for _, n := range []int{a, b, c, d} {
		if n < 0 || n > fisherLimit {
			return Fisher{math.NaN(), math.NaN(), math.NaN()}
		}
	}
	if a+b+c+d > fisherLimit {
		return Fisher{math.NaN(), math.NaN(), math.NaN()}
	}
	h := newHypergeometric(a, b, c, d)
	seen := 0.0
	h.walk(func(x int, weight float64) {
		if x == a {
			seen = weight
		}
	})
	const tie = 1 + 1e-7
	var total, greater, less, unlikely float64
	h.walk(func(x int, weight float64) {
		total += weight
		if x >= a {
			greater += weight
		}
		if x <= a {
			less += weight
		}
		if weight <= seen*tie {
			unlikely += weight
		}
	})
	return Fisher{Greater: min(1, greater/total), Less: min(1, less/total), TwoSided: min(1, unlikely/total)}
}

// hypergeometric is the distribution of the first cell given the margins.
type hypergeometric struct {
	exposed, cases, other float64
	low, high, mode       int
}

func newHypergeometric(a, b, c, d int) hypergeometric {
	exposed, cases, other := a+b, a+c, c+d
	h := hypergeometric{
		exposed: float64(exposed), cases: float64(cases), other: float64(other),
		low: max(0, cases-other), high: min(exposed, cases),
	}
	mode := int((h.exposed + 1) * (h.cases + 1) / (h.exposed + h.other + 2))
	h.mode = min(max(mode, h.low), h.high)
	return h
}

// walk visits the values outwards from the mode with their weights relative to
// it, until a weight is under leastWeight.
func (h hypergeometric) walk(visit func(x int, weight float64)) {
	visit(h.mode, 1)
	weight := 1.0
	for x := h.mode; x < h.high && weight > leastWeight; x++ {
		weight *= h.step(x)
		visit(x+1, weight)
	}
	weight = 1
	for x := h.mode; x > h.low && weight > leastWeight; x-- {
		weight /= h.step(x - 1)
		visit(x-1, weight)
	}
}

// step is P(x+1)/P(x).
func (h hypergeometric) step(x int) float64 {
	v := float64(x)
	return (h.exposed - v) * (h.cases - v) / ((v + 1) * (h.other - h.cases + v + 1))
}
