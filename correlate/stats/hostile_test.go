package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// oddFloat and oddInt draw what no source should send and some will.
func oddFloat(rng *rand.Rand) float64 {
	odd := []float64{
		0, 1, 2, 0.5, 7, 1e-3, 1e6, 9e7, 1e15, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300,
		-1, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1),
	}
	return odd[rng.IntN(len(odd))]
}

func oddInt(rng *rand.Rand) int {
	odd := []int{0, 1, 2, 9, 1000, 1 << 20, 9e7, 1 << 31, 1 << 53, math.MaxInt, -1, math.MinInt}
	return odd[rng.IntN(len(odd))]
}

func ordered(t *testing.T, what string, in any, r Ratio) {
	t.Helper()
	if r.Low > r.Value*(1+1e-9) || r.High < r.Value*(1-1e-9) || r.Low > r.High || r.Low < 0 {
		t.Errorf("%s of %v: %+v is no interval", what, in, r)
	}
}

func share(t *testing.T, what string, in any, p float64) {
	t.Helper()
	if p < 0 || p > 1 {
		t.Errorf("%s of %v: %v is no probability", what, in, p)
	}
}

func TestRatiosOfHostileInputAreIntervalsOrUnknown(t *testing.T) {
	t.Parallel()
	rng := seeded(66, 6)
	f := func() float64 { return oddFloat(rng) }
	for range 3000 {
		a, b, c, d := f(), f(), f(), f()
		in := []float64{a, b, c, d}
		ordered(t, "relative risk", in, RelativeRisk(a, b, c, d))
		ordered(t, "rate ratio", in, RateRatio(a, b, c, d))
		ordered(t, "exact rate ratio", in, RateRatioExact(a, b, c, d))
		rates := []RateStratum{{a, b, c, d}, {f(), f(), f(), f()}}
		ordered(t, "pooled rates", rates, MantelHaenszelRates(rates))
		share(t, "homogeneity of rates", rates, HomogeneityOfRates(rates).P)
		tables := []Table{{a, b, c, d}, {f(), f(), f(), f()}}
		ordered(t, "pooled risks", tables, MantelHaenszelRisks(tables))
		ordered(t, "pooled odds", tables, MantelHaenszelOdds(tables))
		share(t, "breslow-day", tables, BreslowDay(tables).P)
		share(t, "gini", in, Gini(in))
		share(t, "trend", in, RateTrend(in[:2], in[2:], []float64{f(), f()}).P())
		if k := Kappa(a, b, c, d); k < -1-1e-9 || k > 1+1e-9 {
			t.Errorf("kappa of %v: %v", in, k)
		}
	}
}

func TestExactTestsOfHostileInputAreProbabilitiesOrUnknown(t *testing.T) {
	t.Parallel()
	rng := seeded(66, 7)
	i := func() int { return oddInt(rng) }
	f := func() float64 { return oddFloat(rng) }
	for range 2000 {
		k, n, p, q := i(), i(), f(), f()
		in := []any{k, n, p, q}
		share(t, "binomial tail", in, BinomialTail(k, n, p))
		share(t, "sign test", in, SignTest(k, n))
		share(t, "poisson tail", in, PoissonTail(k, p))
		if low, high := BinomialInterval(k, n, p); low > high || low < 0 || high > 1 {
			t.Errorf("binomial interval of %v: %v to %v", in, low, high)
		}
		if low, high := PoissonInterval(k, p); low > high || low < 0 {
			t.Errorf("poisson interval of %v: %v to %v", in, low, high)
		}
		if r := DetectableRatio(k, p, q, 0.8); r < 1 {
			t.Errorf("detectable ratio of %v: %v", in, r)
		}
		share(t, "fisher", in, FisherExact(min(k, 2000), min(n, 2000), min(i(), 2000), min(i(), 2000)).TwoSided)
		share(t, "signed rank", in, WilcoxonSignedRank([]float64{p, q, f(), f()}).P)
	}
}
