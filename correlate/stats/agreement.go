package stats

import "math"

// Kappa is Cohen's kappa of two binary judgements of the same things (Cohen,
// Educational and Psychological Measurement 20, 1960): both say yes n11 times,
// only the first n10, only the second n01, neither n00.
//
//	kappa = (observed - expected agreement) / (1 - expected agreement)
//
// NaN for no judgements, invalid counts, or where both always say the same
// one thing: agreement beyond chance cannot be told then.
func Kappa(n11, n10, n01, n00 float64) float64 {
	total := n11 + n10 + n01 + n00
	if !countsAndTimes(n11, n10, n01, n00, total) || total == 0 {
		return math.NaN()
	}
	first, second := (n11+n10)/total, (n11+n01)/total
	expected := first*second + (1-first)*(1-second)
	if expected == 1 {
		return math.NaN()
	}
	return ((n11+n00)/total - expected) / (1 - expected)
}
