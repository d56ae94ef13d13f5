package stats

import "math"

// BreslowDay tests whether the odds ratio is the same in all strata: the test
// of Breslow and Day (Statistical Methods in Cancer Research I, 1980, eq.
// 4.32) around the Mantel-Haenszel odds ratio, with the correction of Tarone
// (Biometrika 72, 1985). Strata with an empty margin tell nothing and are
// passed over. NaN where fewer than two tell, or the pooled odds ratio is 0 or
// +Inf.
func BreslowDay(tables []Table) ChiSquared {
	common := MantelHaenszelOdds(tables).Value
	var sum, difference, variance float64
	informative := 0
	for _, t := range tables {
		exposed, cases, other, non := t.exposed(), t.A+t.C, t.other(), t.B+t.D
		if !(exposed > 0 && cases > 0 && other > 0 && non > 0) {
			continue
		}
		informative++
		a := expectedCases(common, exposed, other, cases)
		v := 1 / (1/a + 1/(exposed-a) + 1/(cases-a) + 1/(other-cases+a))
		sum += (t.A - a) * (t.A - a) / v
		difference += t.A - a
		variance += v
	}
	return newChiSquared(sum-difference*difference/variance, informative-1)
}

// expectedCases is the number of exposed cases that makes the odds ratio of a
// table with these margins equal to odds: the root, within the margins, of
//
//	a (n0 - m + a) = odds (n1 - a)(m - a).
//
// It is found by bisection; the closed form loses its digits near odds = 1.
// NaN for odds that are 0, +Inf or NaN.
func expectedCases(odds, exposed, other, cases float64) float64 {
	if !(odds > 0) || math.IsInf(odds, 1) {
		return math.NaN()
	}
	low, high := max(0, cases-other), min(exposed, cases)
	return bisect(low, high, func(a float64) float64 {
		return a*(other-cases+a) - odds*(exposed-a)*(cases-a)
	})
}

// HomogeneityOfRates tests whether the rate ratio is the same in all strata:
// sum((A - E)^2 / V) around the Mantel-Haenszel rate ratio r, E = m r T1/(r T1
// + T0) of the stratum's m events and V = E(1 - E/m) (Breslow and Day,
// Statistical Methods in Cancer Research II, 1987, section 3.6). Strata
// without events or contrast are passed over. NaN where fewer than two tell,
// or the pooled ratio is 0 or +Inf.
func HomogeneityOfRates(strata []RateStratum) ChiSquared {
	common := MantelHaenszelRates(strata).Value
	if !(common > 0) || math.IsInf(common, 1) {
		return newChiSquared(math.NaN(), 0)
	}
	var sum float64
	informative := 0
	for _, s := range strata {
		events := s.Exposed + s.Unexposed
		if !s.contrasts() || events == 0 {
			continue
		}
		informative++
		p := conditional{events, s.ExposedTime, s.UnexposedTime}.probability(math.Log(common))
		difference := s.Exposed - events*p
		sum += difference * difference / (events * p * (1 - p))
	}
	return newChiSquared(sum, informative-1)
}
