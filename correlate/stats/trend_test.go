package stats

import (
	"math"
	"testing"
)

func TestRateTrend(t *testing.T) {
	t.Parallel()
	// R: d <- c(3,5,9,14,22); t <- c(100,120,90,110,95); x <- 0:4
	//    U <- sum(x*(d-sum(d)*t/sum(t))); V <- sum(d)*(sum(t*x^2)/sum(t)-(sum(t*x)/sum(t))^2)
	//    anova(glm(d~offset(log(t)), poisson), glm(d~offset(log(t))+x, poisson), test="Rao")
	//    gives 23.17225270, p = 1.481192e-06 (glm stops at a relative 1e-8);
	//    pnorm(U/sqrt(V), lower=F) gives 7.40596332103408e-07
	counts, times, doses := []float64{3, 5, 9, 14, 22}, []float64{100, 120, 90, 110, 95}, []float64{0, 1, 2, 3, 4}
	got := RateTrend(counts, times, doses)
	near(t, "score", got.Score, 49.05825242718447, 1e-12)
	near(t, "variance", got.Variance, 103.86181543972098, 1e-12)
	near(t, "z squared", got.Z()*got.Z(), 23.17225270, 1e-7)
	near(t, "two-sided p", got.P(), 1.481192e-06, 1e-6)
	near(t, "one-sided p", got.Rising(), 7.40596332103408e-07, 1e-9)
	near(t, "statistic", TrendStatistic(counts, times, doses), 4.81375650791923, 1e-12)
}

func TestRateTrendDoesNotDependOnTheUnitOfDose(t *testing.T) {
	t.Parallel()
	counts, times := []float64{3, 5, 9, 14, 22}, []float64{100, 120, 90, 110, 95}
	near(t, "offset and scale", TrendStatistic(counts, times, []float64{1e6, 1e6 + 10, 1e6 + 20, 1e6 + 30, 1e6 + 40}), 4.81375650791923, 1e-9)
	near(t, "reversed", TrendStatistic(counts, times, []float64{0, -1, -2, -3, -4}), -4.81375650791923, 1e-12)
}

func TestTrendWithinStrataIsBlindToDifferencesBetweenThem(t *testing.T) {
	t.Parallel()
	// Two sockets, each with one rate for all doses: nothing rises within them,
	// though the busier socket has both the higher doses and the higher rate.
	low := RateTrend([]float64{10, 10}, []float64{1000, 1000}, []float64{0, 1})
	high := RateTrend([]float64{100, 100}, []float64{1000, 1000}, []float64{10, 11})
	near(t, "within", low.Plus(high).Z(), 0, 0)
	pooled := TrendStatistic([]float64{10, 10, 100, 100}, []float64{1000, 1000, 1000, 1000}, []float64{0, 1, 10, 11})
	if pooled < 5 {
		t.Errorf("pooled: got z = %v, want a strong trend", pooled)
	}
}

func TestRateTrendOfUnusableInputIsUnknown(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, in := range map[string][3][]float64{
		"nothing":             {nil, nil, nil},
		"unequal lengths":     {{1, 2}, {1}, {1, 2}},
		"no time":             {{0}, {0}, {1}},
		"events without time": {{1, 1}, {0, 5}, {1, 2}},
		"one dose":            {{1, 3}, {5, 5}, {2, 2}},
		"no events":           {{0, 0}, {5, 5}, {1, 2}},
		"an unknown dose":     {{1, 1}, {5, 5}, {1, nan}},
		"a negative count":    {{-1, 1}, {5, 5}, {1, 2}},
	} {
		trend := RateTrend(in[0], in[1], in[2])
		if !math.IsNaN(trend.Z()) || !math.IsNaN(trend.P()) || !math.IsNaN(trend.Rising()) {
			t.Errorf("%s: got z = %v, p = %v, want NaN", name, trend.Z(), trend.P())
		}
	}
}
