package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hour is a made-up half hour of visits: where load is high, both the chance
// of sitting on a heavy CPU and the rate of stalls rise, and load wanders
// slowly. Stalls of a visit are its outcome; heavy multiplies their rate.
type hour struct {
	load   []float64 // at the start of each visit
	at     []float64 // start in seconds
	heavy  []int32
	stalls []int
}

func wanderingLoad(rng *rand.Rand, seconds int) []float64 {
	const persistence = 0.99 // a time constant of about 100 s
	load := make([]float64, seconds)
	state := rng.NormFloat64()
	for i := range load {
		load[i] = state
		state = persistence*state + math.Sqrt(1-persistence*persistence)*rng.NormFloat64()
	}
	return load
}

func poissonDraw(rng *rand.Rand, mean float64) int {
	n, product, limit := 0, rng.Float64(), math.Exp(-mean)
	for product > limit {
		n++
		product *= rng.Float64()
	}
	return n
}

func newHour(rng *rand.Rand, heavyRatio float64) *hour {
	const seconds, dwell = 1800, 4.0
	load := wanderingLoad(rng, seconds)
	h := &hour{}
	for t := 0.0; t < seconds; {
		length := dwell * rng.ExpFloat64()
		l := load[int(t)]
		heavy := int32(0)
		rate := 0.02 * math.Exp(1.2*l-0.72) // 0.02/s on average: 36 stalls
		if rng.Float64() < 1/(1+math.Exp(1-1.5*l)) {
			heavy = 1
			rate *= heavyRatio
		}
		h.load, h.at = append(h.load, l), append(h.at, t)
		h.heavy, h.stalls = append(h.heavy, heavy), append(h.stalls, poissonDraw(rng, rate*length))
		t += length
	}
	return h
}

// blocks gives each visit its stratum: five-minute block by quintile of load.
func (h *hour) blocks() []int32 {
	byLoad := make([]int, len(h.load))
	for i := range byLoad {
		byLoad[i] = i
	}
	slices.SortFunc(byLoad, func(a, b int) int { return cmp.Compare(h.load[a], h.load[b]) })
	strata := make([]int32, len(h.load))
	for rank, visit := range byLoad {
		strata[visit] = int32(5*math.Floor(h.at[visit]/300) + math.Floor(5*float64(rank)/float64(len(byLoad))))
	}
	return strata
}

// exposedStallsP is the p-value of the number of stalls on heavy CPUs.
func (h *hour) exposedStallsP(t *testing.T, rng *rand.Rand, strata []int32) float64 {
	t.Helper()
	withStalls := make([]bool, len(h.stalls))
	for i, n := range h.stalls {
		withStalls[i] = n > 0
	}
	result := tested(t, prepared(t, strata, withStalls), rng, 199, h.heavy, 1, func(labels []int32, out []float64) {
		for i, n := range h.stalls {
			out[0] += float64(n) * float64(labels[i])
		}
	})
	return result.P[0]
}

func TestPermutingWithinBlocksHoldsItsSizeUnderLoadConfounding(t *testing.T) {
	t.Parallel()
	const series = 1000
	rng := seeded(30, 5)
	within, plain := 0, 0
	for range series {
		h := newHour(rng, 1)
		if h.exposedStallsP(t, rng, h.blocks()) <= 0.05 {
			within++
		}
		if h.exposedStallsP(t, rng, make([]int32, len(h.heavy))) <= 0.05 {
			plain++
		}
	}
	size, naive := float64(within)/series, float64(plain)/series
	t.Logf("size at nominal 0.05 over %d null series: %.3f within blocks, %.3f plain", series, size, naive)
	if size > 0.07 {
		t.Errorf("within blocks: got size %.3f, want at most 0.07", size)
	}
	if naive < 0.3 {
		t.Errorf("plain: got size %.3f; load confounds too little for the test to show anything", naive)
	}
}

func TestPermutingWithinBlocksFindsAPlantedEffect(t *testing.T) {
	t.Parallel()
	const series = 400
	rng := seeded(30, 6)
	found := 0
	for range series {
		h := newHour(rng, 4)
		if h.exposedStallsP(t, rng, h.blocks()) <= 0.05 {
			found++
		}
	}
	power := float64(found) / series
	t.Logf("power at a rate ratio of 4: %.3f", power)
	if power < 0.9 {
		t.Errorf("power: got %.3f, want at least 0.9", power)
	}
}
