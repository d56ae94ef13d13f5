package stats

import (
	"math"
	"strings"
	"testing"
)

// abortions are the 83 matched sets of R's infert (Trichopoulos et al. 1976)
// by pattern: two digits a woman, spontaneous and induced abortions (2: two or
// more), the case first. Counted in R with
// table(sapply(split(infert, infert$stratum), ..)).
func abortions() []RiskSet {
	patterns := []struct {
		women string
		sets  int
	}{
		{"00 00 00", 3}, {"00 00 01", 1}, {"00 02 10", 1}, {"00 10 10", 1}, {"00 10 20", 1},
		{"01 00 00", 3}, {"01 00 01", 4}, {"01 00 10", 3}, {"01 02 11", 1}, {"01 10 20", 1},
		{"02 00 00", 1}, {"02 00 01", 1}, {"02 00 02", 1}, {"02 01 01", 1}, {"02 02 02", 1},
		{"02 02 12", 1}, {"02 10 20", 2}, {"02 11 11", 1}, {"10 00 00", 5}, {"10 00 01", 7},
		{"10 00 10", 4}, {"10 01 01", 1}, {"10 01 10", 2}, {"10 02 10", 1}, {"10 10 10", 2},
		{"11 00 00", 1}, {"11 00 02", 1}, {"11 01 01", 1}, {"11 02 11", 1}, {"11 10 20", 1},
		{"12 10 11", 2}, {"12 11 20", 1}, {"12 20 21", 1}, {"20 00 00", 4}, {"20 00 01", 2},
		{"20 00 02", 2}, {"20 01 01", 3}, {"20 01 02", 2}, {"20 01 10", 1}, {"20 01 11", 1},
		{"20 11 20", 2}, {"20 20", 1}, {"21 02 02", 3}, {"21 02 12", 1}, {"21 11 12", 1},
		{"21 12 20", 1},
	}
	var sets []RiskSet
	for _, p := range patterns {
		var rows [][]float64
		for woman := range strings.FieldsSeq(p.women) {
			rows = append(rows, []float64{float64(woman[0] - '0'), float64(woman[1] - '0')})
		}
		for range p.sets {
			sets = append(sets, RiskSet{Case: rows[0], Controls: rows[1:]})
		}
	}
	return sets
}

// heavyAndCommits are eight made-up stalls with three control instants each:
// whether the CPU was heavy, and commits/s.
func heavyAndCommits() []RiskSet {
	heavy := []float64{1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0}
	commits := []float64{
		410, 380, 395, 400, 620, 600, 640, 580, 300, 310, 290, 305, 505, 500, 480, 515,
		710, 690, 700, 720, 450, 455, 430, 440, 390, 400, 370, 380, 560, 540, 570, 530,
	}
	var sets []RiskSet
	for i := 0; i < len(heavy); i += 4 {
		s := RiskSet{Case: []float64{heavy[i], commits[i]}}
		for j := i + 1; j < i+4; j++ {
			s.Controls = append(s.Controls, []float64{heavy[j], commits[j]})
		}
		sets = append(sets, s)
	}
	return sets
}

func fitted(t *testing.T, sets []RiskSet) LogitFit {
	t.Helper()
	fit, err := ConditionalLogit(sets)
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

func TestConditionalLogitIsClogitOfR(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sets               []RiskSet
		coefficients, errs []float64
		null, top, score   float64
	}{
		// R: m <- clogit(case ~ spontaneous + induced + strata(stratum), infert)
		// coef(m); sqrt(diag(vcov(m))); m$loglik; m$score
		"infert": {
			abortions(), []float64{1.98587551667772, 1.40901163187514}, []float64{0.352443539807170, 0.360712436248923},
			-90.7793548513448, -64.2022369244310, 48.4386450788241,
		},
		// R: clogit(case ~ heavy + commits + strata(set), d), d as in heavyAndCommits
		"a yes-or-no beside a rate": {
			heavyAndCommits(), []float64{2.638587693081260, 0.102664786486395}, []float64{1.4842319107666899, 0.0675495515706817},
			-11.09035488895912, -7.31909117498555, 5.51033431755407,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit := fitted(t, test.sets)
			if fit.Status != Converged {
				t.Fatalf("status: got %v, want converged", fit.Status)
			}
			for k := range test.coefficients {
				near(t, "coefficient", fit.Coefficients[k], test.coefficients[k], 1e-7)
				near(t, "standard error", fit.StandardErrors[k], test.errs[k], 1e-6)
			}
			near(t, "null log likelihood", fit.Null, test.null, 1e-12)
			near(t, "log likelihood", fit.LogLikelihood, test.top, 1e-12)
			near(t, "score", fit.Score.Statistic, test.score, 1e-9)
			if fit.Score.DegreesOfFreedom != 2 {
				t.Errorf("degrees of freedom: got %d, want 2", fit.Score.DegreesOfFreedom)
			}
		})
	}
	// R: summary(m)$conf.int of infert
	infert := fitted(t, abortions())
	nearRatio(t, infert.Odds(0), Ratio{7.28542310345, 3.65135697352, 14.53634639977}, 1e-7)
}

func TestConditionalLogitAgreesWithCaseCrossoverOnOneCovariate(t *testing.T) {
	t.Parallel()
	rng := seeded(3, 9)
	matched, sets := make([]MatchedSet, 0, 300), make([]RiskSet, 0, 300)
	for range 300 {
		m := MatchedSet{Exposed: rng.Float64() < 0.6, Controls: 1 + rng.IntN(5)}
		s := RiskSet{Case: []float64{0}}
		if m.Exposed {
			s.Case[0] = 1
		}
		for range m.Controls {
			x := 0.0
			if rng.Float64() < 0.3 {
				x = 1
				m.ControlsExposed++
			}
			s.Controls = append(s.Controls, []float64{x})
		}
		matched, sets = append(matched, m), append(sets, s)
	}
	want, got := CaseCrossover(matched), fitted(t, sets)
	nearRatio(t, got.Odds(0), want.Odds, 1e-7)
	near(t, "score", got.Score.Statistic, want.Z*want.Z, 1e-9)
	near(t, "p", got.Score.P, want.P, 1e-8)
}

func TestConditionalLogitDoesNotDependOnUnits(t *testing.T) {
	t.Parallel()
	sets := heavyAndCommits()
	for _, s := range sets {
		for _, row := range append([][]float64{s.Case}, s.Controls...) {
			row[1] = row[1]*1e12 + 5e15
		}
	}
	fit := fitted(t, sets)
	near(t, "heavy", fit.Coefficients[0], 2.638587693081260, 1e-7)
	near(t, "commits", fit.Coefficients[1], 0.102664786486395e-12, 1e-7)
}

func TestConditionalLogitDoesNotLeapOverTheMaximum(t *testing.T) {
	t.Parallel()
	// Ten exposed cases pull up; the second full Newton step passes an outlier
	// among 1,001 controls and the likelihood falls. R: the root of
	// 10*exp(-b)/(1+exp(-b)) - 10*exp(10*b)/(1001+exp(10*b)) and its slope.
	outlier := RiskSet{Case: []float64{0}, Controls: make([][]float64, 1001)}
	for i := range outlier.Controls {
		outlier.Controls[i] = []float64{0}
	}
	outlier.Controls[0][0] = 10
	sets := append(make([]RiskSet, 0, 11), outlier)
	for range 10 {
		sets = append(sets, RiskSet{Case: []float64{1}, Controls: [][]float64{{0}}})
	}
	fit := fitted(t, sets)
	if fit.Status != Converged {
		t.Fatalf("status: got %v, want converged", fit.Status)
	}
	near(t, "coefficient", fit.Coefficients[0], 0.628068616301384, 1e-8)
	near(t, "standard error", fit.StandardErrors[0], 0.20017285999481, 1e-7)
}

func TestConditionalLogitSaysWhenThereIsNoMaximum(t *testing.T) {
	t.Parallel()
	pair := func(c, o []float64) RiskSet { return RiskSet{Case: c, Controls: [][]float64{o}} }
	tests := map[string]struct {
		sets   []RiskSet
		status FitStatus
		first  float64
	}{
		"every case exposed, no control": {
			[]RiskSet{pair([]float64{1}, []float64{0}), pair([]float64{1}, []float64{0})}, Separated, math.Inf(1),
		},
		"every control exposed, no case": {
			[]RiskSet{pair([]float64{0}, []float64{1}), pair([]float64{0}, []float64{1})}, Separated, math.Inf(-1),
		},
		"separated by exposure beside a covariate that varies": {
			[]RiskSet{
				pair([]float64{1, 3}, []float64{0, 2}), pair([]float64{1, 1}, []float64{0, 2}),
				pair([]float64{1, 5}, []float64{0, 2}), pair([]float64{0, 2}, []float64{0, 3}), pair([]float64{0, 4}, []float64{0, 3}),
			}, Separated, math.Inf(1),
		},
		"exposure constant in every set": {
			[]RiskSet{pair([]float64{1, 3}, []float64{1, 2}), pair([]float64{0, 1}, []float64{0, 2})}, Singular, math.NaN(),
		},
		"one covariate twice": {
			[]RiskSet{pair([]float64{1, 2}, []float64{0, 0}), pair([]float64{0, 0}, []float64{1, 2}), pair([]float64{1, 2}, []float64{0, 0})},
			Singular, math.NaN(),
		},
		"one covariate all but twice": {
			[]RiskSet{
				pair([]float64{1, 1 + 1e-7}, []float64{0, 0}), pair([]float64{0, 0}, []float64{1, 1}),
				pair([]float64{3, 3}, []float64{0, 0}), pair([]float64{2, 2 - 1e-7}, []float64{0, 0}),
			},
			Singular, math.NaN(),
		},
		"no controls": {[]RiskSet{{Case: []float64{1}}}, Singular, math.NaN()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit := fitted(t, test.sets)
			if fit.Status != test.status {
				t.Errorf("status: got %v, want %v", fit.Status, test.status)
			}
			near(t, "coefficient", fit.Coefficients[0], test.first, 0)
			if !math.IsNaN(fit.StandardErrors[0]) || !math.IsNaN(fit.Odds(0).Low) {
				t.Errorf("an interval was given: %+v", fit.Odds(0))
			}
		})
	}
}

func TestConditionalLogitRefusesUnusableInput(t *testing.T) {
	t.Parallel()
	row := func(n int) []float64 { return make([]float64, n) }
	for name, test := range map[string]struct {
		sets []RiskSet
		want string
	}{
		"no sets":             {nil, "no sets"},
		"no covariates":       {[]RiskSet{{}}, "0 covariates"},
		"nine covariates":     {[]RiskSet{{Case: row(9)}}, "9 covariates"},
		"rows unequal":        {[]RiskSet{{Case: row(2), Controls: [][]float64{row(1)}}}, "set 0: control: 1 covariates"},
		"an unknown value":    {[]RiskSet{{Case: row(1)}, {Case: []float64{math.NaN()}}}, "set 1: case: a covariate is not finite"},
		"an infinite control": {[]RiskSet{{Case: row(1), Controls: [][]float64{{math.Inf(-1)}}}}, "not finite"},
	} {
		if _, err := ConditionalLogit(test.sets); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, test.want)
		}
	}
}
