package stats

import (
	"math"
	"testing"
)

// admissions are the graduate admissions of Berkeley 1973 by department
// (Bickel, Hammel and O'Connell, Science 187, 1975; R's UCBAdmissions): men
// admitted and rejected, women admitted and rejected.
func admissions() []Table {
	return []Table{
		{512, 313, 89, 19}, {353, 207, 17, 8}, {120, 205, 202, 391},
		{138, 279, 131, 244}, {53, 138, 94, 299}, {22, 351, 24, 317},
	}
}

// clozapine are deaths and person-years of current and past users of
// clozapine by age (Walker et al. 1997, as in Rothman, Epidemiology: An
// Introduction, chapter on stratification).
func clozapine() []RateStratum {
	return []RateStratum{{196, 62119, 111, 15763}, {167, 6085, 157, 2780}}
}

func TestMantelHaenszelRates(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		strata []RateStratum
		want   Ratio
	}{
		// Published by Rothman as 0.47; digits from the formula in R:
		// T <- t1+t0; R <- sum(a*t0/T); S <- sum(b*t1/T)
		// v <- sum((a+b)*t1*t0/T^2)/(R*S); R/S*exp(c(-1,1)*qnorm(.975)*sqrt(v))
		"clozapine and death": {clozapine(), Ratio{0.4688721555987485, 0.3998398447641855, 0.5498228882753622}},
		"small numbers (R, as above)": {
			[]RateStratum{{5, 100, 7, 300}, {9, 150, 3, 200}, {12, 80, 2, 90}},
			Ratio{3.833597464342314, 1.826425838107120, 8.046573374062108},
		},
		"a stratum that was never exposed changes nothing": {
			append(clozapine(), RateStratum{0, 0, 500, 100}), Ratio{0.4688721555987485, 0.3998398447641855, 0.5498228882753622},
		},
		// R: uniroot(function(r) prod((r*c(100,150)/(r*c(100,150)+c(300,200)))^c(4,3)) - .025, ..)
		"all events exposed": {[]RateStratum{{4, 100, 0, 300}, {3, 150, 0, 200}}, Ratio{inf, 3.20185708973616, inf}},
		// R: uniroot(function(r) prod((c(300,200)/(r*c(100,150)+c(300,200)))^c(4,3)) - .025, ..)
		"no event exposed": {[]RateStratum{{0, 100, 4, 300}, {0, 150, 3, 200}}, Ratio{0, 0, 1.40169034509054}},
		"one stratum, all exposed, is the exact rate ratio (R: poisson.test(c(8,0), c(300,600)))": {
			[]RateStratum{{8, 300, 0, 600}, {0, 1e-300, 0, 1e300}}, Ratio{inf, 3.41394117793254, inf},
		},
		"no events":                     {[]RateStratum{{0, 100, 0, 300}}, Ratio{nan, 0, inf}},
		"no stratum":                    {nil, Ratio{nan, nan, nan}},
		"no stratum with both":          {[]RateStratum{{3, 100, 0, 0}}, Ratio{nan, nan, nan}},
		"events without time are a lie": {[]RateStratum{{3, 0, 1, 5}}, Ratio{nan, nan, nan}},
		"an unknown count":              {[]RateStratum{{nan, 3, 1, 5}}, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, MantelHaenszelRates(test.strata), test.want, 1e-9)
		})
	}
}

func TestMantelHaenszelRisks(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	tests := map[string]struct {
		tables []Table
		want   Ratio
	}{
		// University Group Diabetes Program (Diabetes 19, 1970), deaths under
		// tolbutamide and placebo by age; published by Rothman as 1.33. R:
		// R <- sum(a*n0/N); S <- sum(b*n1/N)
		// v <- sum((a+b)*n1*n0/N^2-a*b/N)/(R*S)
		"tolbutamide and death": {
			[]Table{{8, 98, 5, 115}, {22, 76, 16, 69}}, Ratio{1.3255553241551052, 0.7979070401464857, 2.2021323650351112},
		},
		"all cases exposed (R: poisson.test(c(8,0), c(300,600)))": {[]Table{{8, 292, 0, 600}}, Ratio{inf, 3.41394117793254, inf}},
		"no stratum with both": {[]Table{{3, 100, 0, 0}}, Ratio{nan, nan, nan}},
		"a negative cell":      {[]Table{{3, -1, 1, 5}}, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, MantelHaenszelRisks(test.tables), test.want, 1e-9)
		})
	}
	everyone := MantelHaenszelRisks([]Table{{3, 0, 7, 0}, {2, 0, 1, 0}})
	if !(everyone.Low < 1) || !(everyone.High > 1) {
		t.Errorf("where everyone is a case: got %+v, want a proper interval around 1", everyone)
	}
}

func TestMantelHaenszelOdds(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	tests := map[string]struct {
		tables []Table
		want   Ratio
	}{
		"R: mantelhaen.test(UCBAdmissions)": {
			admissions(), Ratio{0.904696828258623, 0.771907361759350, 1.060329764436656},
		},
		"R: mantelhaen.test(array(c(2,5,3,6,4,1,8,9,1,7,2,12), c(2,2,3)))": {
			[]Table{{2, 3, 5, 6}, {4, 8, 1, 9}, {1, 2, 7, 12}}, Ratio{1.51319648093842, 0.425782088776169, 5.377782791441287},
		},
		"an empty table":  {[]Table{{0, 0, 0, 0}}, Ratio{nan, nan, nan}},
		"an unknown cell": {[]Table{{1, 2, 3, nan}}, Ratio{nan, nan, nan}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nearRatio(t, MantelHaenszelOdds(test.tables), test.want, 1e-10)
		})
	}
}

func TestMantelHaenszelOddsAtTheBoundary(t *testing.T) {
	t.Parallel()
	// By hand: with halves added, OR = 8.5*20.5/(2.5*.5) = 139.4 and the log's
	// variance is 1/8.5+1/2.5+1/.5+1/20.5, so low = exp(4.9373-1.96*1.6019).
	infinite := MantelHaenszelOdds([]Table{{8, 2, 0, 20}})
	nearRatio(t, infinite, Ratio{math.Inf(1), 6.036, math.Inf(1)}, 1e-3)
	zero := MantelHaenszelOdds([]Table{{0, 20, 8, 2}})
	nearRatio(t, zero, Ratio{0, 0, 1 / 6.036}, 1e-3)
}

func TestBreslowDay(t *testing.T) {
	t.Parallel()
	// R, from the formula in DescTools' BreslowDayTest(UCBAdmissions, correct=TRUE):
	// the roots of the quadratic for the expected cell by polyroot, then Tarone.
	got := BreslowDay(admissions())
	near(t, "chi-squared", got.Statistic, 18.82550125205171, 1e-9)
	near(t, "p", got.P, 0.00207140139788218, 1e-8)
	if got.DegreesOfFreedom != 5 {
		t.Errorf("degrees of freedom: got %d, want 5", got.DegreesOfFreedom)
	}
}

func TestBreslowDayPassesOverWhatTellsNothing(t *testing.T) {
	t.Parallel()
	got := BreslowDay(append(admissions(), Table{0, 50, 0, 60}, Table{5, 0, 0, 0}))
	if got.DegreesOfFreedom != 5 {
		t.Errorf("degrees of freedom: got %d, want 5", got.DegreesOfFreedom)
	}
	near(t, "chi-squared", got.Statistic, 18.82550125205171, 1e-9)
	for name, tables := range map[string][]Table{
		"one stratum":         {{1, 2, 3, 4}},
		"infinite odds ratio": {{3, 2, 0, 4}, {2, 2, 0, 4}},
		"nothing":             nil,
	} {
		if got := BreslowDay(tables); !math.IsNaN(got.P) || !math.IsNaN(got.Statistic) {
			t.Errorf("%s: got %+v, want NaN", name, got)
		}
	}
}

func TestHomogeneityOfRates(t *testing.T) {
	t.Parallel()
	// From R, with p <- phi*t1/(phi*t1+t0): sum((a-m*p)^2/(m*p*(1-p)))
	got := HomogeneityOfRates(clozapine())
	near(t, "clozapine", got.Statistic, 0.249653064218202, 1e-9)
	near(t, "clozapine p", got.P, 0.617319471580999, 1e-9)
	got = HomogeneityOfRates([]RateStratum{{5, 100, 7, 300}, {9, 150, 3, 200}, {12, 80, 2, 90}, {0, 10, 0, 10}})
	near(t, "small numbers", got.Statistic, 1.582470301419037, 1e-9)
	near(t, "small numbers p", got.P, 0.453284574611154, 1e-9)
	if got := HomogeneityOfRates([]RateStratum{{5, 100, 0, 300}, {9, 150, 0, 200}}); !math.IsNaN(got.P) {
		t.Errorf("an infinite ratio: got %+v, want NaN", got)
	}
}
