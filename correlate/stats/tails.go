package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// alpha is the error that the 95 % intervals of this package allow.
	alpha = 0.05
	// z975 is the 0.975 quantile of the standard normal distribution.
	z975 = 1.959963984540054
	// exactLimit bounds the counts of exact tests and intervals: the incomplete
	// beta function of mathext is right to 1e-8 up to here, and wrong in the
	// fifth digit at ten times as much. Beyond it they are NaN.
	exactLimit = 1e8
)

// countsAndTimes says whether every value can be a count or a time: finite
// and not negative.
func countsAndTimes(values ...float64) bool {
	for _, v := range values {
		if !(v >= 0) || math.IsInf(v, 1) {
			return false
		}
	}
	return true
}

// normalTail is P(Z >= z) of a standard normal Z. It keeps its relative
// precision far out, where one minus the distribution function has none left.
func normalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// twoSidedNormal is P(|Z| >= |z|).
func twoSidedNormal(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// ChiSquared is a test statistic with its degrees of freedom and p-value.
type ChiSquared struct {
	Statistic        float64
	DegreesOfFreedom int
	P                float64
}

func newChiSquared(statistic float64, degrees int) ChiSquared {
	if math.IsNaN(statistic) || degrees < 1 {
		return ChiSquared{Statistic: math.NaN(), DegreesOfFreedom: max(degrees, 0), P: math.NaN()}
	}
	// Rounding may leave a sum of squares just under zero.
	statistic = max(statistic, 0)
	p := distuv.ChiSquared{K: float64(degrees)}.Survival(statistic)
	return ChiSquared{Statistic: statistic, DegreesOfFreedom: degrees, P: p}
}

// bisect finds the zero of an increasing function in [low, high]: the last
// float64 before it. Where the function does not cross zero it gives the
// nearer end.
func bisect(low, high float64, increasing func(float64) float64) float64 {
	for range 2000 { // halving doubles down to the smallest takes under 1,100 steps
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if increasing(middle) < 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// betaQuantile is the x with I_x(a, b) = p. It inverts the incomplete beta
// function by bisection: mathext.InvRegIncBeta is off by 4 % at a=20000, b=5,
// p=1e-6.
func betaQuantile(p, a, b float64) float64 {
	return bisect(0, 1, func(x float64) float64 { return mathext.RegIncBeta(a, b, x) - p })
}
