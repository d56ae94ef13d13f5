package stats

import "math"

// Trend is the score statistic of a log-linear trend of event rates with a
// score (a dose). Those of several strata may be added (Plus): their sum tests
// the trend within strata.
type Trend struct{ Score, Variance float64 }

// RateTrend gives the score statistic of events counted in classes of the
// given times and scores, conditional on the number D of all events:
//
//	U = sum(x (d - D t/T)),  V = D (sum(t x^2)/T - (sum(t x)/T)^2).
//
// It is Armitage's test for trend in the form for person-time (Breslow and
// Day, Statistical Methods in Cancer Research II, 1987, section 3.6), and
// equals Rao's score test of a Poisson regression. NaN for slices of unequal
// length, no time, or values that are negative or not finite.
func RateTrend(counts, times, scores []float64) Trend {
	unknown := Trend{math.NaN(), math.NaN()}
	if len(counts) != len(times) || len(counts) != len(scores) || !countsAndTimes(counts...) || !countsAndTimes(times...) {
		return unknown
	}
	var events, time, mean float64
	for i, t := range times {
		if math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) || (t == 0 && counts[i] > 0) {
			return unknown
		}
		events += counts[i]
		time += t
		mean += t * scores[i]
	}
	if time == 0 {
		return unknown
	}
	mean /= time
	var trend Trend
	for i, t := range times {
		distance := scores[i] - mean // centred: sum(x^2) - n mean^2 would lose digits
		trend.Score += distance * counts[i]
		trend.Variance += distance * distance * t
	}
	trend.Variance *= events / time
	return trend
}

// Plus adds the statistic of another stratum.
func (t Trend) Plus(o Trend) Trend { return Trend{t.Score + o.Score, t.Variance + o.Variance} }

// Z is the standardised statistic, positive where rates rise with the score.
// NaN where nothing varies.
func (t Trend) Z() float64 {
	if !(t.Variance > 0) {
		return math.NaN()
	}
	return t.Score / math.Sqrt(t.Variance)
}

// Rising is the one-sided p-value of rates that rise with the score.
func (t Trend) Rising() float64 { return normalTail(t.Z()) }

// P is the two-sided p-value.
func (t Trend) P() float64 { return twoSidedNormal(t.Z()) }

// TrendStatistic is the standardised statistic alone, for a permutation test.
func TrendStatistic(counts, times, scores []float64) float64 {
	return RateTrend(counts, times, scores).Z()
}
