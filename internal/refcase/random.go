package refcase

import (
	"math"
	"math/rand/v2"
)

// Each part of the model draws from a stream of its own, so that a change of
// one part leaves the others as they were.
const (
	streamLoad uint64 = iota + 1
	streamTraffic
	streamMachine
	streamPressure
	streamPlacement
	streamStalls
	streamHerds
	streamASH
	streamInterrupts
	streamHost
	streamCounters
	streamHistogram
	streamNoise
	streamPlacementGaps
	streamInterruptGaps
	streamFiles
	streamSecond // added to another stream for the second instance
)

// stream gives the numbers of one part of the model.
func stream(seed, part uint64) *rand.Rand {
	//nolint:gosec // a simulation must repeat; nothing here is secret
	return rand.New(rand.NewPCG(scatter(seed), scatter(part)))
}

// scatter spreads neighbouring seeds over all numbers (the finaliser of
// SplitMix64, Steele et al. 2014), so that scenario 17 and 18 share nothing.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson draws a count with that mean; over 30 the normal approximation is
// used, whose error is far under what any record shows. A mean of 0 and less
// gives 0.
func poisson(r *rand.Rand, mean float64) int {
	if mean > 30 {
		return int(max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, n := math.Exp(-mean), 0
	for p := r.Float64(); p > limit; p *= r.Float64() {
		n++
	}
	return n
}

// count is a number of things, which is never negative.
func count(n int) uint64 {
	if n < 0 {
		return 0
	}
	return uint64(n)
}

// between draws evenly from [low, high).
func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// logBetween draws from [low, high) evenly on a logarithmic scale.
func logBetween(r *rand.Rand, low, high float64) float64 {
	return low * math.Exp(r.Float64()*math.Log(high/low))
}

// intBetween draws one of low to high, both included.
func intBetween(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// wander is an autocorrelated series of n seconds with mean 0, that standard
// deviation and correlation time (first-order autoregression).
func wander(r *rand.Rand, n int, deviation, seconds float64) []float64 {
	series := make([]float64, n)
	if deviation == 0 {
		return series
	}
	keep := 0.0
	if seconds > 0 {
		keep = math.Exp(-1 / seconds)
	}
	x := deviation * r.NormFloat64()
	for i := range series {
		series[i] = x
		x = keep*x + deviation*math.Sqrt(1-keep*keep)*r.NormFloat64()
	}
	return series
}

// toMeanOne scales a positive series to a mean of 1.
func toMeanOne(series []float64) {
	sum := 0.0
	for _, x := range series {
		sum += x
	}
	if sum <= 0 {
		return
	}
	scale := float64(len(series)) / sum
	for i := range series {
		series[i] *= scale
	}
}

// roundTo rounds to a multiple of 1/perUnit, as tools print.
func roundTo(x, perUnit float64) float64 { return math.Round(x*perUnit) / perUnit }
