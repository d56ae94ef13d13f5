package refcase

import (
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

func TestPoissonHasItsMeanAndVariance(t *testing.T) {
	t.Parallel()
	r := stream(1, 1)
	for _, want := range []float64{0.3, 4, 29, 31, 500} {
		const n = 20_000
		sum, squares := 0.0, 0.0
		for range n {
			x := float64(poisson(r, want))
			sum += x
			squares += x * x
		}
		got := sum / n
		variance := squares/n - got*got
		if math.Abs(got-want) > 5*math.Sqrt(want/n) || math.Abs(variance/want-1) > 0.08 {
			t.Errorf("mean %.3f, variance %.3f, want both %.1f", got, variance, want)
		}
	}
	for _, none := range []float64{0, -1} {
		if n := poisson(r, none); n != 0 {
			t.Errorf("mean %g gave %d, want 0", none, n)
		}
	}
}

func TestWanderHasItsDeviationAndCorrelationTime(t *testing.T) {
	t.Parallel()
	x := wander(stream(2, 1), 200_000, 0.3, 20)
	variance, lagged := 0.0, 0.0
	for i := range len(x) - 20 {
		variance += x[i] * x[i]
		lagged += x[i] * x[i+20]
	}
	n := float64(len(x) - 20)
	if got := math.Sqrt(variance / n); math.Abs(got-0.3) > 0.02 {
		t.Errorf("deviation %.3f, want 0.3", got)
	}
	if got := lagged / variance; math.Abs(got-math.Exp(-1)) > 0.06 { // one correlation time later: 1/e
		t.Errorf("correlation %.3f after 20 s, want %.3f", got, math.Exp(-1))
	}
}

func TestDwellTimesHaveTheirMean(t *testing.T) {
	t.Parallel()
	r, sum := stream(3, 1), 0.0
	const n = 100_000
	for range n {
		sum += dwellTime(r, 2)
	}
	if got := sum / n; math.Abs(got-2) > 0.05 {
		t.Errorf("mean dwell %.3f s, want 2", got)
	}
}

func TestHistogramBucketsAreThePowersOfTwoAboveAWait(t *testing.T) {
	t.Parallel()
	// V$EVENT_HISTOGRAM_MICRO: WAIT_TIME_MICRO is the upper bound, exclusive.
	for wait, below := range map[float64]time.Duration{
		0.0000004: time.Microsecond,
		0.000001:  2 * time.Microsecond,
		0.0014:    2048 * time.Microsecond,
		0.1:       131_072 * time.Microsecond,
		0.131071:  131_072 * time.Microsecond,
		0.131072:  262_144 * time.Microsecond,
		1000:      67_108_864 * time.Microsecond,
	} {
		if got := time.Microsecond << bucketOf(wait); got != below {
			t.Errorf("wait of %g s counted below %s, want %s", wait, got, below)
		}
	}
}

// Of lognormal waits half are under the median, and 0.8413 under the median
// times e to the spread (one standard deviation of the normal distribution).
func TestLognormalShares(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]float64{2: 0.5, 2 * math.Exp(0.5): 0.8413, 2 * math.Exp(-1): 0.0228} {
		if got := lognormalBelow(x, 2, 0.5); math.Abs(got-want) > 0.0001 {
			t.Errorf("share below %g: %.4f, want %.4f", x, got, want)
		}
	}
}

func TestSQLIDsAreThirteenCharactersAndDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 12 {
		id := sqlID(i)
		if len(id) != 13 || seen[id] {
			t.Errorf("SQL_ID %q of %d", id, i)
		}
		seen[id] = true
	}
}

func TestSiblingsAreHalfTheMachineApart(t *testing.T) {
	t.Parallel()
	s := Reference()
	m := newMachine(&s)
	topology := m.topology(true)
	for _, c := range topology.CPUs {
		// CPU n and n+32 are threads of core n mod 32; socket k owns cores 8k to 8k+7.
		want := domain.CPU{ID: c.ID, Core: c.ID % 32, Socket: c.ID % 32 / 8, Node: c.ID % 32 / 8, Online: true}
		if c != want || m.sibling[c.ID] != (c.ID+32)%64 {
			t.Errorf("CPU %+v with sibling %d, want %+v", c, m.sibling[c.ID], want)
		}
	}
	if got := m.topology(false).CPUs[40]; got.Core != -1 || got.Socket != 1 {
		t.Errorf("CPU %+v without lscpu -p, want socket 1 and no core", got)
	}
	s.Machine.ThreadsPerCore = 1
	if got := newMachine(&s).sibling[3]; got != -1 {
		t.Errorf("sibling %d without SMT, want none", got)
	}
}
