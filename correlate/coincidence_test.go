package correlate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
)

// fiveOfTwentyFive gives a process that is on heavy CPU 5 for 5 s and on light
// CPU 1 for 20 s, in turn from heavy on, for a multiple of 25 s.
func fiveOfTwentyFive(seconds int) *series.Series {
	s := host(float64(seconds))
	interrupts(s, map[int]float64{5: 4000})
	var cpus []int32
	for range seconds / 25 {
		cpus = append(append(cpus, repeat(5, 5)...), repeat(1, 20)...)
	}
	s.Threads = []series.Thread{lgwr(cpus...)}
	return s
}

// By hand, over 100 s in two blocks of 50 s: 20 s exposed, 80 s not; 6 of 10
// stalls exposed, 3 in each block. Each block is exposed for a fifth of its
// time, so 2 are expected, and crude and stratified ratio are both
// (6/20)/(4/80) = 6. The interval of 6 of 10 is 0.2623781 to 0.8784477 (R
// 4.2, binom.test); as odds over the odds of a fifth, 1.42284 to 28.9076.
func TestTheTableOfStallsAndSecondsByHand(t *testing.T) {
	t.Parallel()
	s := fiveOfTwentyFive(100)
	set := stallsAt(1.2, 2.2, 27.2, 51.2, 52.2, 77.2, 11.2, 35.2, 61.2, 90.2)
	c := testOf(s, set, quickParams())
	if c.a != 6 || c.b != 4 || c.visitsA != 4 || c.unplaced != 0 {
		t.Errorf("%d stalls exposed in %d visits, %d unexposed, %d unplaced; want 6 in 4, 4, 0", c.a, c.visitsA, c.b, c.unplaced)
	}
	near(t, "seconds exposed", c.ta, 20, 1e-9)
	near(t, "seconds unexposed", c.tb, 80, 1e-9)
	near(t, "expected", c.expected, 2, 1e-9)
	near(t, "crude ratio", c.ratio.Value, 6, 1e-9)
	near(t, "stratified ratio", c.stratified.Value, 6, 1e-9)
	near(t, "its lower end", c.stratified.Low, 1.42284, 1e-4)
	near(t, "its upper end", c.stratified.High, 28.9076, 1e-3)
	d := c.describe(quickParams())
	if d.StallsExposed != 6 || d.StallsUnexposed != 4 || d.VisitsExposed != 4 {
		t.Errorf("described as %+v", d)
	}
}

// By hand: six exposed stalls of 0.2 s were each caught by one sample of
// 1/0.2 = 5, so they stand for 30 and 6 s; four unexposed ones of 0.5 s stand
// for 8 and 4 s. (30/(20-6))/(8/(80-4)) = 20.3571. In histogram data every
// stall is seen and stands for itself: (6/(20-1.2))/(4/(80-2)) = 6.22340.
func TestIncidenceWeighsStallsByHowOftenASampleCatchesThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source string
		want   float64
	}{{sourceASH, 20.357143}, {sourceHistogram, 6.223404}} {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			set := stallsAt(1.2, 2.2, 27.2, 51.2, 52.2, 77.2, 11.2, 35.2, 61.2, 90.2)
			set.source = tt.source
			for i := 6; i < 10; i++ {
				set.stalls[i].longest = 500_000
			}
			near(t, "incidence ratio", testOf(fiveOfTwentyFive(100), set, quickParams()).incidence, tt.want, 1e-5)
		})
	}
}

func TestStallsWithoutAPlacementNearbyAreLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	s := fiveOfTwentyFive(100)
	s.Window.To = at(200)
	c := testOf(s, stallsAt(1.2, 11.2, 150, 160, 170), quickParams())
	if c.a != 1 || c.b != 1 || c.unplaced != 3 {
		t.Errorf("%d exposed, %d unexposed, %d unplaced; want 1, 1, 3", c.a, c.b, c.unplaced)
	}
}

func TestAnInfiniteRatioIsNullWithAnOpenInterval(t *testing.T) {
	t.Parallel()
	c := testOf(fiveOfTwentyFive(1000), stallsAt(1, 27, 52, 77, 102, 127), quickParams())
	d := c.describe(quickParams())
	if d.RelativeRisk != nil || d.RelativeRiskCI[0] == nil || d.RelativeRiskCI[1] != nil {
		t.Errorf("ratio = %v with interval %v", d.RelativeRisk, d.RelativeRiskCI)
	}
	if d.StratifiedRR != nil || known(d.StratifiedRRCI[0]) <= 1 || d.StratifiedRRCI[1] != nil {
		t.Errorf("stratified ratio = %v with interval %v", d.StratifiedRR, d.StratifiedRRCI)
	}
}

func TestAPlantedEffectHasASmallPValue(t *testing.T) {
	t.Parallel()
	prm := DefaultParams()
	s, set := planted(3600, 1)
	c := testOf(s, set, prm)
	if c.pValue > 0.002 || !c.meets(prm) {
		t.Errorf("p = %v, lower end %v, %d of %d stalls exposed in %d visits: a tenfold rate is not shown", c.pValue, c.stratified.Low, c.a, c.a+c.b, c.visitsA)
	}
}

func TestAPValueIsNeverZero(t *testing.T) {
	t.Parallel()
	// Twenty stalls in twenty stays on the heavy CPU, a fifth of the time: no draw
	// of 199 comes near.
	var instants []float64
	for k := range 20 {
		instants = append(instants, float64(50*k)+2)
	}
	c := testOf(fiveOfTwentyFive(1000), stallsAt(instants...), quickParams())
	near(t, "p", c.pValue, 1.0/200, 1e-12)
}

// planted gives a process that spends about a quarter of its time on heavy
// CPUs 4 to 7, stays 4 s as a rule, and stalls ten times as often there: one
// stall in 50 s there and one in 500 s elsewhere.
func planted(seconds int, seed uint64) (*series.Series, *stallSet) {
	rng := unseeded(seed)
	s := host(float64(seconds))
	interrupts(s, map[int]float64{4: 1500, 5: 2500, 6: 3500, 7: 4500})
	cpus := wander(rng, seconds, 4, func(int) int32 {
		if rng.Float64() < 0.25 {
			return 4 + rng.Int32N(4)
		}
		return rng.Int32N(4)
	})
	s.Threads = []series.Thread{lgwr(cpus...)}
	var instants []float64
	for k, cpu := range cpus {
		rate := 1.0 / 500
		if cpu >= 4 {
			rate = 1.0 / 50
		}
		if rng.Float64() < rate {
			instants = append(instants, float64(k)+0.3*rng.Float64())
		}
	}
	return s, stallsAt(instants...)
}

// nullSeries gives a process and stalls that have nothing to do with each
// other beyond a load that may move both.
func nullSeries(rng *rand.Rand, byLoad bool) (*series.Series, *stallSet) {
	const seconds = 1800
	s := host(seconds)
	interrupts(s, map[int]float64{5: 4000, 6: 4000})
	// Busy and calm periods of 400 s: the load before an instant lags by
	// 16 s on average, so that shorter ones would be told apart less well.
	busy := func(k int) bool { return byLoad && k/400%2 == 1 }
	heavy := func(k int) float64 {
		if busy(k) {
			return 0.6
		}
		return 0.2
	}
	cpus := wander(rng, seconds, 5, func(k int) int32 {
		if rng.Float64() < heavy(k) {
			return 5 + rng.Int32N(2)
		}
		return rng.Int32N(5)
	})
	s.Threads = []series.Thread{lgwr(cpus...)}
	s.Counters["user commits"] = demand(seconds, func(k int) float64 {
		if busy(k) {
			return 900 + 50*rng.Float64()
		}
		return 100 + 50*rng.Float64()
	})
	var instants []float64
	for k := range seconds {
		rate := 1.0 / 90
		switch {
		case busy(k):
			rate = 1.0 / 50
		case byLoad:
			rate = 1.0 / 300
		}
		if rng.Float64() < rate {
			instants = append(instants, float64(k)+rng.Float64())
		}
	}
	return s, stallsAt(instants...)
}

// Of 200 null series each has p <= 0.05 with a chance of at most 0.05: 10 are
// expected, and more than 22 come with a chance of 0.0002 (binomial). Half of
// the p-values lie under a half at most, but for chance and the coarseness of
// counts: more than 125 of 200 come with a chance of 0.0002. A test that never
// gives a small p would be of no use either: p <= 0.5 must come 40 times.
func TestPValuesAreHonestWhereInterruptsAreInnocent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		byLoad      bool
		wholeSecond bool
	}{
		{"with exact placement", false, false},
		{"with placement in whole seconds, whose phase is fitted", false, true},
		{"where load moves both stalls and the process", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const runs = 200
			prm := quickParams()
			small, half := 0, 0
			for k := range runs {
				s, set := nullSeries(unseeded(uint64(1000+k)), tt.byLoad)
				if tt.wholeSecond {
					s.Threads[0].Uncertainty = series.Second
				}
				prm.Seed = uint64(k)
				c := fitted(s, set, prm)
				if c.pValue <= 0.05 {
					small++
				}
				if c.pValue <= 0.5 {
					half++
				}
			}
			t.Logf("%d of %d p-values are at most 0.05, %d at most 0.5", small, runs, half)
			if chance := stats.BinomialTail(small, runs, 0.05); chance < 0.0002 {
				t.Errorf("%d of %d p-values are at most 0.05: by chance with %.2g", small, runs, chance)
			}
			if chance := stats.BinomialTail(half, runs, 0.5); chance < 0.0002 || half < 40 {
				t.Errorf("%d of %d p-values are at most 0.5", half, runs)
			}
		})
	}
}

// fitted runs the part of the interrupt test that gives its p-value.
func fitted(s *series.Series, set *stallSet, prm Params) *coincidence {
	p := newPath(s.Threads, s.Window)
	pic := newPicture(s, p, prm)
	c := prepare(s, p, pic, newLoad(s, prm), prm)
	c.fitOffset(s, set, prm)
	return c
}

// Without strata the confounded null would be blamed: this shows that the test
// above has something to withstand.
func TestLoadWouldDeceiveATestWithoutStrata(t *testing.T) {
	t.Parallel()
	prm := quickParams()
	prm.Block = 1800e9
	deceived := 0
	for k := range 40 {
		s, set := nullSeries(unseeded(uint64(1000+k)), true)
		s.Counters = map[string][]series.Rate{}
		if fitted(s, set, prm).pValue <= 0.05 {
			deceived++
		}
	}
	if deceived < 10 { // two are expected of an honest test
		t.Errorf("only %d of 40 confounded series have a small p without strata", deceived)
	}
}

// A stay of two seconds on CPU 5 in every ten, read 0.75 s after each whole
// second and printed as that second. Stalls 0.3 s after the stay's begin and
// 0.2 s after its end-reading fit one phase only: at 0.5 s the latter, at 1 s
// the former would be beside it.
func TestThePhaseOfWholeSecondPlacementIsFound(t *testing.T) {
	t.Parallel()
	s := host(1200)
	interrupts(s, map[int]float64{5: 4000})
	var cpus []int32
	var instants []float64
	for k := range 120 {
		cpus = append(append(cpus, 5, 5), repeat(1, 8)...)
		if k%4 == 0 {
			instants = append(instants, float64(10*k)+0.3, float64(10*k)+2.2)
		}
	}
	s.Threads = []series.Thread{lgwr(cpus...)}
	s.Threads[0].Uncertainty = series.Second
	set := stallsAt(instants[1:]...) // the first would lie before the first reading
	c := testOf(s, set, quickParams())
	if want := [2]series.Micros{750_000, 750_000}; c.offset != want {
		t.Errorf("offset = %v, want %v", c.offset, want)
	}
	if c.a != len(set.stalls) {
		t.Errorf("%d of %d stalls exposed, want all", c.a, len(set.stalls))
	}
	s.Threads[0].Uncertainty = 0
	if c := testOf(s, set, quickParams()); c.offset != [2]series.Micros{} {
		t.Errorf("exact placement was moved by %v", c.offset)
	}
}

// The phase drifts from 0 to 1 s over the window: reading n is taken at n +
// n/T. The process is on CPU 5 for half a second before and after one reading
// in ten, and stalls 0.4 s before or after it.
func TestADriftingPhaseIsFollowed(t *testing.T) {
	t.Parallel()
	const seconds = 2000
	s := host(seconds)
	interrupts(s, map[int]float64{5: 4000})
	var cpus []int32
	var instants []float64
	for n := range seconds {
		if n%10 != 5 {
			cpus = append(cpus, 1)
			continue
		}
		cpus = append(cpus, 5)
		side := 0.4
		if n%20 == 5 {
			side = -0.4
		}
		instants = append(instants, float64(n)+float64(n)/seconds+side)
	}
	s.Threads = []series.Thread{lgwr(cpus...)}
	s.Threads[0].Uncertainty = series.Second
	set := stallsAt(instants...)
	c := testOf(s, set, quickParams())
	if want := [2]series.Micros{0, series.Second}; c.offset != want {
		t.Errorf("offset = %v, want %v", c.offset, want)
	}
	if c.a != len(set.stalls) {
		t.Errorf("%d of %d stalls exposed, want all", c.a, len(set.stalls))
	}
}

func TestOffsetsToTry(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff([][2]series.Micros{{0, 0}}, offsets(0)); d != "" {
		t.Errorf("offsets of an exact source differ (-want +got):\n%s", d)
	}
	all := offsets(series.Second)
	for i, o := range all {
		if o[0] < -series.Second || o[0] > series.Second || o[1] < -series.Second || o[1] > series.Second || abs(o[1]-o[0]) > series.Second {
			t.Errorf("offset %v is out of range", o)
		}
		for _, other := range all[:i] {
			if o == other {
				t.Errorf("offset %v is tried twice", o)
			}
		}
	}
	// By hand: 9 constant ones by quarters; of 5 by 5 begins and ends by halves,
	// 3+4+5+4+3 = 19 at most a second apart, without the 5 on the diagonal 14.
	if len(all) != 23 {
		t.Errorf("%d offsets, want 23", len(all))
	}
}

func TestTheMaximumIsUnknownWithoutPlacedStalls(t *testing.T) {
	t.Parallel()
	s := fiveOfTwentyFive(100)
	s.Window.To = at(300)
	c := testOf(s, stallsAt(250, 260), quickParams())
	if d := c.describe(quickParams()); d.PValue != nil || d.StallsExposed+d.StallsUnexposed != 0 {
		t.Errorf("p = %v of %d stalls", d.PValue, c.a+c.b)
	}
}

// By hand: with 8 in the numerator and 2 in the denominator of every block any
// draw of blocks has the ratio 4; five blocks are too few to draw from.
func TestTheBootstrapDrawsWholeBlocks(t *testing.T) {
	t.Parallel()
	blocks := slices.Repeat([]blockSum{{num: 8, den: 2}}, 6)
	low, high := bootstrapRatio(blocks, unseeded(1), 50)
	near(t, "low", low, 4, 0)
	near(t, "high", high, 4, 0)
	low, high = bootstrapRatio(blocks[:5], unseeded(1), 50)
	if !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("interval of five blocks = %v to %v", low, high)
	}
	low, high = bootstrapRatio(blocks, unseeded(1), 0)
	if !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("interval of no rounds = %v to %v", low, high)
	}
}

func TestTheWiderEndIsTaken(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, tt := range []struct{ a, b, lesser, greater float64 }{{1, 2, 1, 2}, {2, 1, 1, 2}, {1, nan, 1, 1}, {1, math.Inf(1), 1, math.Inf(1)}} {
		near(t, "lesser", lesser(tt.a, tt.b), tt.lesser, 0)
		near(t, "greater", greater(tt.a, tt.b), tt.greater, 0)
	}
}
