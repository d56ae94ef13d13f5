package stats

import "math"

// Ratio is a ratio of risks, rates or odds with the ends of its 95 % interval.
// Value and High may be +Inf; all three are NaN where the input allows none.
type Ratio struct{ Value, Low, High float64 }

func unknownRatio() Ratio { return Ratio{math.NaN(), math.NaN(), math.NaN()} }

// waldRatio is the ratio with the interval exp(log r -+ z se).
func waldRatio(value, varianceOfLog float64) Ratio {
	half := z975 * math.Sqrt(varianceOfLog)
	return Ratio{Value: value, Low: value * math.Exp(-half), High: value * math.Exp(half)}
}

// RelativeRisk is (a/n1)/(b/n0), a of n1 exposed and b of n0 unexposed, with
// the interval of Katz et al. (Biometrics 34, 1978): var(log RR) = 1/a - 1/n1
// + 1/b - 1/n0.
//
// Where a or b is zero, or all of both groups are cases, that variance does
// not exist; the interval is then the exact one for rates (RateRatioExact),
// which is wider than risks need. With a = b = 0 the value is NaN within
// [0, +Inf]. NaN for empty groups or more cases than members.
func RelativeRisk(a, n1, b, n0 float64) Ratio {
	if !countsAndTimes(a, n1, b, n0) || n1 == 0 || n0 == 0 || a > n1 || b > n0 {
		return unknownRatio()
	}
	if a == 0 || b == 0 || (a == n1 && b == n0) {
		return RateRatioExact(a, n1, b, n0)
	}
	return waldRatio((a/n1)/(b/n0), 1/a-1/n1+1/b-1/n0)
}

// RateRatio is (a/t1)/(b/t0), a events in exposed time t1 and b in unexposed
// time t0, with the interval from var(log) = 1/a + 1/b (Rothman, Greenland
// and Lash, Modern Epidemiology, 3rd ed., chapter 14). Where a or b is zero it
// is RateRatioExact.
func RateRatio(a, t1, b, t0 float64) Ratio {
	if !countsAndTimes(a, t1, b, t0) || t1 == 0 || t0 == 0 {
		return unknownRatio()
	}
	if a == 0 || b == 0 {
		return RateRatioExact(a, t1, b, t0)
	}
	return waldRatio((a/t1)/(b/t0), 1/a+1/b)
}

// RateRatioExact is RateRatio with the exact conditional interval: given a+b
// events, a is binomial with p = r t1/(r t1 + t0), so the Clopper-Pearson ends
// of p give those of r (as R's poisson.test). b = 0 gives +Inf with a finite
// lower end, a = 0 gives 0, a = b = 0 gives NaN within [0, +Inf]. NaN for more
// than 1e8 events.
func RateRatioExact(a, t1, b, t0 float64) Ratio {
	if !countsAndTimes(a, t1, b, t0) || t1 == 0 || t0 == 0 || a+b > exactLimit {
		return unknownRatio()
	}
	if a == 0 && b == 0 {
		return Ratio{Value: math.NaN(), Low: 0, High: math.Inf(1)}
	}
	times := t0 / t1
	if b == 0 {
		return Ratio{Value: math.Inf(1), Low: lowestOdds(a, b) * times, High: math.Inf(1)}
	}
	// The upper end of a's odds is the lower end of b's, turned over.
	return Ratio{Value: a / b * times, Low: lowestOdds(a, b) * times, High: times / lowestOdds(b, a)}
}

// lowestOdds is the lower Clopper-Pearson end of the share a/(a+b), as odds.
func lowestOdds(a, b float64) float64 {
	low := lowestShare(a, b, alpha/2)
	return low / (1 - low)
}

// conditional is what one stratum, or one matched set, gives to the
// conditional likelihood of a ratio r: each of its events is exposed with
// probability r exposed/(r exposed + unexposed).
type conditional struct{ events, exposed, unexposed float64 }

// probability of an event being exposed at log ratio theta.
func (c conditional) probability(theta float64) float64 {
	return 1 / (1 + math.Exp(math.Log(c.unexposed)-math.Log(c.exposed)-theta))
}

// logRange bounds log ratios; exp overflows beyond.
const logRange = 700

// lowestRatio is the exact lower end of a ratio that is estimated as +Inf
// since every event was exposed: the r at which that had a chance of just
// alpha/2, sum(events log p(r)) = log(alpha/2). It is 0 where there are no
// events to tell.
func lowestRatio(strata []conditional) float64 {
	missing := func(theta float64) float64 {
		sum := -math.Log(alpha / 2)
		for _, c := range strata {
			sum -= c.events * math.Log1p(math.Exp(math.Log(c.unexposed)-math.Log(c.exposed)-theta))
		}
		return sum
	}
	if missing(-logRange) >= 0 {
		return 0
	}
	return math.Exp(bisect(-logRange, logRange, missing))
}

// boundaryRatio is the Ratio where all events are exposed or all unexposed.
func boundaryRatio(strata []conditional, allExposed bool) Ratio {
	if allExposed {
		return Ratio{Value: math.Inf(1), Low: lowestRatio(strata), High: math.Inf(1)}
	}
	mirrored := make([]conditional, len(strata))
	for i, c := range strata {
		mirrored[i] = conditional{c.events, c.unexposed, c.exposed}
	}
	return Ratio{Value: 0, Low: 0, High: 1 / lowestRatio(mirrored)}
}
