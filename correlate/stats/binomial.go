package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// BinomialTail is P(X >= k) for X binomial(n, p). NaN for n < 0 or over 1e8, or
// a p outside [0, 1].
func BinomialTail(k, n int, p float64) float64 {
	switch {
	case n < 0 || n > exactLimit || !(p >= 0 && p <= 1):
		return math.NaN()
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	// P(X >= k) = I_p(k, n-k+1): Abramowitz and Stegun 26.5.24.
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// BinomialInterval is the exact interval of Clopper and Pearson (Biometrika
// 26, 1934) for the share k/n. NaN for k outside [0, n], n = 0 or over 1e8, or
// a level outside (0, 1).
func BinomialInterval(k, n int, level float64) (low, high float64) {
	if k < 0 || n < 1 || k > n || n > exactLimit || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	high = 1
	if k < n {
		high = betaQuantile(1-tail, float64(k+1), float64(n-k))
	}
	return lowestShare(float64(k), float64(n-k), tail), high
}

// lowestShare is the lower Clopper-Pearson end of the share a/(a+b).
func lowestShare(a, b, tail float64) float64 {
	if a == 0 {
		return 0
	}
	return betaQuantile(tail, a, b+1)
}

// SignTest is the exact two-sided p-value of k successes in n trials of
// probability one half. NaN for n = 0 or over 1e8, or k outside [0, n].
func SignTest(k, n int) float64 {
	if n < 1 || k < 0 || k > n {
		return math.NaN()
	}
	return min(1, 2*BinomialTail(max(k, n-k), n, 0.5))
}

// DetectableRatio is the smallest rate ratio that this much data could have
// shown: the smallest r at which the one-sided exact binomial test at level
// alpha, of how many of n stalls fall into the exposed share s of the time,
// has the given power. Under a rate ratio r each stall is exposed with
// probability rs/(rs + 1 - s).
//
// It is +Inf where even n of n exposed stalls would not reach alpha, and NaN
// for n < 1 or over 1e8 or where s, alpha or power lie outside (0, 1).
func DetectableRatio(stalls int, exposedShare, alpha, power float64) float64 {
	for _, v := range []float64{exposedShare, alpha, power} {
		if !(v > 0 && v < 1) {
			return math.NaN()
		}
	}
	if stalls < 1 || stalls > exactLimit {
		return math.NaN()
	}
	// The fewest exposed stalls that are significant; stalls+1 if none are.
	critical, above := 1, stalls+1
	for critical < above {
		middle := critical + (above-critical)/2
		if BinomialTail(middle, stalls, exposedShare) <= alpha {
			above = middle
		} else {
			critical = middle + 1
		}
	}
	if critical > stalls {
		return math.Inf(1)
	}
	// P(X >= k | p) = power is solved by the power quantile of beta(k, n-k+1).
	p := betaQuantile(power, float64(critical), float64(stalls-critical+1))
	ratio := p / (1 - p) * (1 - exposedShare) / exposedShare
	// A test whose size already exceeds the power asked for detects anything.
	return max(ratio, 1)
}
