package stats

import "math"

// MatchedSet is one case with its controls: for a stall, whether it was
// exposed, and how many of the control instants drawn for it were.
type MatchedSet struct {
	Exposed         bool
	ControlsExposed int
	Controls        int
}

// Matched is the result of a matched (case-crossover) comparison.
type Matched struct {
	Odds Ratio // conditional odds ratio
	// Z is the score statistic of odds ratio 1, positive where cases are
	// exposed more often than their controls; P is its two-sided p-value.
	Z, P float64
	// Informative counts the sets whose members differ in exposure; the others
	// say nothing.
	Informative int
}

// CaseCrossover estimates the odds ratio psi of matched sets with one case
// each (Maclure, American Journal of Epidemiology 133, 1991) by conditional
// maximum likelihood: with e exposed and u unexposed members, the case is the
// exposed kind with probability psi e/(psi e + u) (Breslow and Day I, 1980,
// chapter 7). It is clogit of R's survival package with one binary covariate.
//
// The interval is Wald's on the log scale. Where all informative cases are
// exposed the ratio is +Inf with an exact lower end, where none are it is 0
// with an exact upper end. NaN without informative sets or on sets with
// negative counts or more exposed controls than controls.
func CaseCrossover(sets []MatchedSet) Matched {
	terms := make([]conditional, 0, len(sets))
	var exposed, expected, variance float64
	for _, s := range sets {
		if s.ControlsExposed < 0 || s.ControlsExposed > s.Controls {
			return Matched{Odds: unknownRatio(), Z: math.NaN(), P: math.NaN()}
		}
		c := conditional{1, float64(s.ControlsExposed), float64(s.Controls - s.ControlsExposed)}
		if s.Exposed {
			c.exposed++
		} else {
			c.unexposed++
		}
		if c.exposed == 0 || c.unexposed == 0 {
			continue
		}
		if s.Exposed {
			exposed++
		}
		p := c.probability(0)
		expected += p
		variance += p * (1 - p)
		terms = append(terms, c)
	}
	if len(terms) == 0 {
		return Matched{Odds: unknownRatio(), Z: math.NaN(), P: math.NaN()}
	}
	z := (exposed - expected) / math.Sqrt(variance)
	return Matched{Odds: matchedOdds(terms, exposed), Z: z, P: twoSidedNormal(z), Informative: len(terms)}
}

// matchedOdds solves sum(p(theta)) = exposed; the sum rises with theta, so
// bisection cannot miss.
func matchedOdds(terms []conditional, exposed float64) Ratio {
	if exposed == 0 || exposed == float64(len(terms)) {
		return boundaryRatio(terms, exposed > 0)
	}
	theta := bisect(-logRange, logRange, func(theta float64) float64 {
		sum := -exposed
		for _, c := range terms {
			sum += c.probability(theta)
		}
		return sum
	})
	var information float64
	for _, c := range terms {
		p := c.probability(theta)
		information += p * (1 - p)
	}
	return waldRatio(math.Exp(theta), 1/information)
}
