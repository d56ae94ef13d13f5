package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressive is a series of mean 10 with x(t) = phi x(t-1) + noise.
func autoregressive(rng *rand.Rand, n int, phi float64) []float64 {
	x := make([]float64, n)
	state := rng.NormFloat64() / math.Sqrt(1-phi*phi)
	for i := range x {
		x[i] = 10 + state
		state = phi*state + rng.NormFloat64()
	}
	return x
}

func meanOf(x []float64) func([]int) float64 {
	return func(index []int) float64 {
		var sum float64
		for _, i := range index {
			sum += x[i]
		}
		return sum / float64(len(index))
	}
}

// coverage is the share of series whose interval holds the true mean.
func coverage(t *testing.T, plan Bootstrap, series int) float64 {
	t.Helper()
	rng := seeded(20, 26)
	held := 0
	for range series {
		low, high, err := plan.Interval(rng, meanOf(autoregressive(rng, plan.Items, 0.6)))
		if err != nil {
			t.Fatal(err)
		}
		if low <= 10 && 10 <= high {
			held++
		}
	}
	return float64(held) / float64(series)
}

func TestBlockBootstrapCoversTheMeanOfAnAutocorrelatedSeries(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]Bootstrap{
		"stationary blocks": {Items: 400, Block: 20, Rounds: 300, Scheme: StationaryBlocks},
		"moving blocks":     {Items: 400, Block: 20, Rounds: 300, Scheme: MovingBlocks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := coverage(t, plan, 1000)
			t.Logf("coverage %.3f at nominal 0.95", got)
			if got < 0.90 || got > 0.98 {
				t.Errorf("coverage: got %.3f, want 0.90 to 0.98", got)
			}
		})
	}
	t.Run("without blocks it does not", func(t *testing.T) {
		t.Parallel()
		got := coverage(t, Bootstrap{Items: 400, Block: 1, Rounds: 300}, 500)
		t.Logf("coverage %.3f at nominal 0.95", got)
		if got > 0.80 {
			t.Errorf("coverage: got %.3f; the series is too tame to show anything", got)
		}
	})
}

func TestBlockBootstrapOfIndependentItemsIsTheNormalInterval(t *testing.T) {
	t.Parallel()
	// 0..999 drawn independently: the mean has standard error 288.7/sqrt(1000).
	x := make([]float64, 1000)
	for i := range x {
		x[i] = float64(i)
	}
	low, high, err := Bootstrap{Items: 1000, Block: 1, Rounds: 4000}.Interval(seeded(1, 1), meanOf(x))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "low", low, 499.5-1.96*288.675/math.Sqrt(1000), 0.002)
	near(t, "high", high, 499.5+1.96*288.675/math.Sqrt(1000), 0.002)
}

func TestTailOfRoundsCutOff(t *testing.T) {
	t.Parallel()
	// From R, n items by block: pnorm(-qt(.975, n-1)*sqrt(n/(n-1)))
	for name, test := range map[string]struct {
		plan Bootstrap
		want float64
	}{
		"2016 independent items":   {Bootstrap{Items: 2016, Block: 1}, 0.0249028722721},
		"400 items in 26.7 blocks": {Bootstrap{Items: 400, Block: 15}, 0.0180182774917},
		"5 blocks":                 {Bootstrap{Items: 5, Block: 1}, 0.000954100551882},
		"2 blocks":                 {Bootstrap{Items: 2, Block: 1}, 1.69521907261e-72},
		"less than 2 blocks":       {Bootstrap{Items: 19, Block: 10}, math.NaN()},
	} {
		near(t, name, test.plan.tail(), test.want, 1e-6)
	}
}

func TestBlocksAreRunsOfTheAskedLength(t *testing.T) {
	t.Parallel()
	for name, scheme := range map[string]BlockScheme{"moving": MovingBlocks, "stationary": StationaryBlocks} {
		plan := Bootstrap{Items: 1000, Block: 20, Rounds: 300, Scheme: scheme}
		breaks, drawn := 0, 0
		seen := make([]int, plan.Items)
		_, _, err := plan.Interval(seeded(4, 2), func(index []int) float64 {
			for i, at := range index {
				seen[at]++
				drawn++
				if i > 0 && at != (index[i-1]+1)%plan.Items {
					breaks++
				}
			}
			return 0
		})
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+": mean length of runs", float64(drawn)/float64(breaks+plan.Rounds), 20, 0.03)
		for i, n := range seen {
			// 300 expected in clumps: no item, at the ends either, is missed out.
			if n < 200 || n > 420 {
				t.Errorf("%s: item %d was drawn %d times, want about 300", name, i, n)
			}
		}
	}
}

func TestBootstrapKeepsInfinityAndGivesUpOnTheUndefined(t *testing.T) {
	t.Parallel()
	plan := Bootstrap{Items: 10, Block: 1, Rounds: 200}
	round := 0
	undefinedEvery := func(n int) func([]int) float64 {
		round = 0
		return func([]int) float64 {
			round++
			if round%n == 0 {
				return math.NaN()
			}
			if round%2 == 0 {
				return math.Inf(1)
			}
			return 2
		}
	}
	low, high, err := plan.Interval(seeded(1, 1), undefinedEvery(50))
	if err != nil || low != 2 || !math.IsInf(high, 1) {
		t.Errorf("2 %% undefined: got %v to %v (%v), want 2 to +Inf", low, high, err)
	}
	low, high, err = plan.Interval(seeded(1, 1), undefinedEvery(10))
	if err != nil || !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("10 %% undefined: got %v to %v (%v), want NaN", low, high, err)
	}
	for _, bad := range []Bootstrap{{0, 1, 1, 0}, {1, 0, 1, 0}, {1, 1, 0, 0}} {
		if _, _, err := bad.Interval(seeded(1, 1), undefinedEvery(50)); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestBootstrapRepeatsWithItsSeed(t *testing.T) {
	t.Parallel()
	x := autoregressive(seeded(8, 8), 200, 0.5)
	plan := Bootstrap{Items: 200, Block: 8, Rounds: 100}
	low1, high1, err1 := plan.Interval(seeded(5, 6), meanOf(x))
	low2, high2, err2 := plan.Interval(seeded(5, 6), meanOf(x))
	if err1 != nil || err2 != nil || low1 != low2 || high1 != high2 {
		t.Errorf("got %v to %v, then %v to %v", low1, high1, low2, high2)
	}
	low3, _, err3 := plan.Interval(seeded(7, 6), meanOf(x))
	if err3 != nil || low3 == low1 {
		t.Errorf("another seed gave the same end %v (%v)", low3, err3)
	}
}

func BenchmarkBootstrapOfAWeekOfFiveMinuteBlocks(b *testing.B) {
	x := autoregressive(seeded(8, 8), 2016, 0.5)
	plan := Bootstrap{Items: 2016, Block: 12, Rounds: 1000}
	rng := seeded(5, 6)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := plan.Interval(rng, meanOf(x)); err != nil {
			b.Fatal(err)
		}
	}
}
