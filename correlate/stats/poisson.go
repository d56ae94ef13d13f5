package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// PoissonTail is P(X >= k) for X Poisson with the given mean. NaN for a mean
// that is negative or over 1e8, or a k over 1e8.
func PoissonTail(k int, mean float64) float64 {
	switch {
	case !(mean >= 0 && mean <= exactLimit) || k > exactLimit:
		return math.NaN()
	case k <= 0:
		return 1
	case mean == 0:
		return 0
	}
	// P(X >= k) = P(k, mean), the lower incomplete gamma ratio: Abramowitz and
	// Stegun 26.4.21.
	return mathext.GammaIncReg(float64(k), mean)
}

// PoissonInterval is the exact interval of Garwood (Biometrika 28, 1936) for
// the mean of a Poisson count k. NaN for k < 0 or over 1e8, or a level
// outside (0, 1).
func PoissonInterval(k int, level float64) (low, high float64) {
	if k < 0 || k > exactLimit || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - level) / 2
	if k > 0 {
		low = mathext.GammaIncRegInv(float64(k), tail)
	}
	return low, mathext.GammaIncRegCompInv(float64(k)+1, tail)
}
