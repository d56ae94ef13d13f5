package stats

import (
	"math"
	"testing"
)

// repeated gives n sets of one kind.
func repeated(n int, s MatchedSet) []MatchedSet {
	sets := make([]MatchedSet, n)
	for i := range sets {
		sets[i] = s
	}
	return sets
}

func joined(parts ...[]MatchedSet) []MatchedSet {
	var all []MatchedSet
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestCaseCrossoverIsClogitOfR(t *testing.T) {
	t.Parallel()
	// Trichopoulos et al. 1976 (R's infert): spontaneous abortions, any against
	// none, of 83 cases with two controls each, one with one. Counted in R by
	// paste(case exposed, controls exposed, controls). R:
	// clogit(case ~ I(spontaneous > 0) + strata(stratum), infert)
	sets := joined(
		repeated(16, MatchedSet{false, 0, 2}), repeated(6, MatchedSet{false, 1, 2}), repeated(6, MatchedSet{false, 2, 2}),
		repeated(32, MatchedSet{true, 0, 2}), repeated(1, MatchedSet{true, 1, 1}),
		repeated(11, MatchedSet{true, 1, 2}), repeated(11, MatchedSet{true, 2, 2}),
	)
	got := CaseCrossover(sets)
	nearRatio(t, got.Odds, Ratio{math.Exp(1.65387296292251), 2.71585725758075, 10.0607153817445}, 1e-8)
	near(t, "score chi-squared", got.Z*got.Z, 29.5363636363637, 1e-10)
	if got.Informative != 83-16-1-11 {
		t.Errorf("informative sets: got %d, want %d", got.Informative, 83-16-1-11)
	}
}

func TestCaseCrossoverOfPairsIsTheRatioOfDiscordantPairs(t *testing.T) {
	t.Parallel()
	// McNemar: 12 pairs with only the case exposed, 4 with only the control:
	// odds ratio 3, variance of its log 1/12 + 1/4, z^2 = (12-4)^2/16.
	got := CaseCrossover(joined(repeated(12, MatchedSet{true, 0, 1}), repeated(4, MatchedSet{false, 1, 1}), repeated(9, MatchedSet{true, 1, 1})))
	half := z975 * math.Sqrt(1.0/12+1.0/4)
	nearRatio(t, got.Odds, Ratio{3, 3 * math.Exp(-half), 3 * math.Exp(half)}, 1e-12)
	near(t, "z", got.Z, 2, 1e-12)
	near(t, "p", got.P, 0.0455002638963584, 1e-12) // R: 2*pnorm(-2)
}

func TestCaseCrossoverAtTheBoundary(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	// Pairs: the case was the exposed one in all 6, p^6 = .025 at the low end,
	// and p/(1-p) is the odds ratio; with the roles changed it is its inverse.
	p := math.Pow(0.025, 1.0/6)
	nearRatio(t, CaseCrossover(repeated(6, MatchedSet{true, 0, 1})).Odds, Ratio{inf, p / (1 - p), inf}, 1e-10)
	nearRatio(t, CaseCrossover(repeated(6, MatchedSet{false, 1, 1})).Odds, Ratio{0, 0, (1 - p) / p}, 1e-10)
}

func TestCaseCrossoverOfUninformativeOrInvalidSetsIsUnknown(t *testing.T) {
	t.Parallel()
	for name, sets := range map[string][]MatchedSet{
		"no sets":                     nil,
		"all members alike":           {{true, 3, 3}, {false, 0, 3}},
		"no controls":                 {{true, 0, 0}},
		"more exposed than there are": {{true, 4, 3}},
		"a negative count":            {{true, -1, 3}},
	} {
		got := CaseCrossover(sets)
		if !math.IsNaN(got.Odds.Value) || !math.IsNaN(got.Odds.Low) || !math.IsNaN(got.P) || got.Informative != 0 {
			t.Errorf("%s: got %+v, want NaN", name, got)
		}
	}
}
