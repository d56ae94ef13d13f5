package correlate

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

// coincidence is the interrupt test: do stalls fall into time spent on heavy
// CPUs more often than time and load explain?
type coincidence struct {
	p   *path
	e   *exposure
	st  *strata
	pic *picture

	level    []uint8   // by visit
	heavy    []float64 // by visit: 1 where exposed
	share    []float64 // expected share exposed, by stratum
	visit    []int32   // by stall; -1 unplaced
	unplaced int
	offset   [2]series.Micros // of placement readings, at the window's begin and end

	a, b       int // stalls exposed, unexposed
	ta, tb     float64
	expected   float64
	visitsA    int
	pValue     float64
	ratio      stats.Ratio // crude
	stratified stats.Ratio
	incidence  float64
	placeboP   float64
	placeboBig bool
	kappa      float64

	byCPU    []domain.CPUExcess
	byDevice []domain.DevExcess
	steps    []domain.DoseStep
	trendP   float64
	socketP  float64 // dose trend within sockets
}

// offsets lists how much later than their printed time placement readings may
// have been taken, at the begin and at the end of the window: a tool that
// prints whole seconds reads at an unknown phase, and that phase may drift.
// Exact sources have none.
func offsets(uncertainty series.Micros) [][2]series.Micros {
	if uncertainty == 0 {
		return [][2]series.Micros{{0, 0}}
	}
	var out [][2]series.Micros
	for k := int64(-4); k <= 4; k++ {
		out = append(out, [2]series.Micros{k * uncertainty / 4, k * uncertainty / 4})
	}
	for begin := int64(-2); begin <= 2; begin++ {
		for end := max(-2, begin-2); end <= min(2, begin+2); end++ {
			if begin != end {
				out = append(out, [2]series.Micros{begin * uncertainty / 2, end * uncertainty / 2})
			}
		}
	}
	return out
}

// assign finds the visit that holds each stall's instant under an offset.
func assign(p *path, stalls []stall, w series.Span, offset [2]series.Micros, shift series.Micros) []int32 {
	out := make([]int32, len(stalls))
	length := max(1, w.To-w.From)
	for i := range stalls {
		out[i] = -1
		if stalls[i].shared {
			continue
		}
		t := stalls[i].at + shift
		off := offset[0] + int64(float64(offset[1]-offset[0])*float64(t-w.From)/float64(length))
		if k := p.sampleAt(t, off); k >= 0 {
			out[i] = p.visitOf[k]
		}
	}
	return out
}

// newCoincidence runs the test. It needs a path with visits.
func newCoincidence(s *series.Series, p *path, pic *picture, set *stallSet, l *load, prm Params) *coincidence {
	c := prepare(s, p, pic, l, prm)
	c.fitOffset(s, set, prm)
	c.count(set)
	c.ratios(prm)
	c.weighIncidence(set)
	c.doseResponse(set)
	c.drawPlaces(s, prm)
	c.placebo(s, set, prm)
	return c
}

// prepare gives each visit its exposure and stratum.
func prepare(s *series.Series, p *path, pic *picture, l *load, prm Params) *coincidence {
	c := &coincidence{p: p, pic: pic, e: newExposure(s, p, pic), st: newStrata(p, l, s.Window, prm), pValue: 1,
		trendP: math.NaN(), socketP: math.NaN(), placeboP: math.NaN(), incidence: math.NaN()}
	c.level = make([]uint8, len(p.visits))
	for i, v := range p.visits {
		c.level[i] = c.e.level[pic.segmentAt(v.From)][v.place]
	}
	c.heavy = perVisit(p, func(v int32) float64 {
		if c.level[v] == levelHeavy {
			return 1
		}
		return 0
	})
	c.share = c.st.mean(p, c.heavy)
	c.kappa = p.kappa(c.e.heavyPlaces(), p.distance())
	return c
}

// perVisit gives a score to each visit.
func perVisit(p *path, score func(visit int32) float64) []float64 {
	out := make([]float64, len(p.visits))
	for i := range out {
		out[i] = score(int32(i))
	}
	return out
}

// fitOffset takes the offset under which most stalls are exposed beyond
// expectation, and the p-value of that maximum: the same maximum is taken over
// labels drawn anew, so the choice costs what it should.
func (c *coincidence) fitOffset(s *series.Series, set *stallSet, prm Params) {
	var candidates [][]int32
	var offs [][2]series.Micros
	for _, o := range offsets(c.p.uncertainty) {
		v := assign(c.p, set.stalls, s.Window, o, 0)
		if !slices.ContainsFunc(candidates, func(k []int32) bool { return slices.Equal(k, v) }) {
			candidates, offs = append(candidates, v), append(offs, o)
		}
	}
	best, p := maximum(candidates, c.heavy, c.st, c.share, newLabelSource(prm.Seed, 1), prm.Permutations)
	c.visit, c.offset, c.pValue = candidates[best], offs[best], p
	for i, v := range c.visit {
		if v < 0 && !set.stalls[i].shared {
			c.unplaced++
		}
	}
}

// count fills the 2x2 table of stalls and seconds.
func (c *coincidence) count(set *stallSet) {
	var exposedVisits []int32
	for i := range set.stalls {
		v := c.visit[i]
		if v < 0 {
			continue
		}
		c.expected += c.share[c.st.of[v]]
		if c.level[v] == levelHeavy {
			c.a++
			exposedVisits = append(exposedVisits, v)
		} else {
			c.b++
		}
	}
	slices.Sort(exposedVisits)
	c.visitsA = len(slices.Compact(exposedVisits))
	for i, v := range c.p.visits {
		if c.level[i] == levelHeavy {
			c.ta += v.Seconds()
		} else {
			c.tb += v.Seconds()
		}
	}
}

// ratios gives the crude prevalence ratio and the one stratified by load and
// time. The interval of the latter is the wider of the stationary bootstrap
// over time blocks and the exact conditional one.
func (c *coincidence) ratios(prm Params) {
	c.ratio = stats.RateRatioExact(float64(c.a), c.ta, float64(c.b), c.tb)
	perBlock := make([]blockSum, c.st.blocks())
	rates := make([]stats.RateStratum, len(c.st.list))
	for i := range c.p.visits {
		r := &rates[c.st.of[i]]
		if c.level[i] == levelHeavy {
			r.ExposedTime += c.p.visits[i].Seconds()
		} else {
			r.UnexposedTime += c.p.visits[i].Seconds()
		}
	}
	for _, v := range c.visit {
		if v < 0 {
			continue
		}
		if c.level[v] == levelHeavy {
			rates[c.st.of[v]].Exposed++
		} else {
			rates[c.st.of[v]].Unexposed++
		}
	}
	for i, r := range rates {
		if t := r.ExposedTime + r.UnexposedTime; t > 0 {
			perBlock[c.st.list[i].block].num += r.Exposed * r.UnexposedTime / t
			perBlock[c.st.list[i].block].den += r.Unexposed * r.ExposedTime / t
		}
	}
	c.stratified = stats.MantelHaenszelRates(rates)
	low, high := c.exactStratified()
	bootLow, bootHigh := bootstrapRatio(perBlock, newRand(prm.Seed, 2), prm.Bootstraps)
	c.stratified.Low = lesser(low, bootLow)
	c.stratified.High = greater(high, bootHigh)
}

// blockSum is one time block's part of the stratified ratio.
type blockSum struct{ num, den float64 }

// bootstrapRatio gives the 95 % interval of sum(num)/sum(den) over time blocks,
// NaN where the window holds too few.
func bootstrapRatio(blocks []blockSum, rng *rand.Rand, rounds int) (low, high float64) {
	const fewestBlocks = 6
	if len(blocks) < fewestBlocks {
		return math.NaN(), math.NaN()
	}
	b := stats.Bootstrap{Items: len(blocks), Block: 1, Rounds: rounds, Scheme: stats.StationaryBlocks}
	low, high, err := b.Interval(rng, func(index []int) float64 {
		var num, den float64
		for _, i := range index {
			num += blocks[i].num
			den += blocks[i].den
		}
		return num / den // +Inf where no unexposed stall was drawn, NaN where none at all
	})
	if err != nil {
		return math.NaN(), math.NaN()
	}
	return low, high
}

// exactStratified gives the exact conditional interval: of n stalls, a were
// exposed where a share expected/n of them was to be expected at that load
// (binomial, Clopper and Pearson 1934).
func (c *coincidence) exactStratified() (low, high float64) {
	n := c.a + c.b
	if n == 0 || c.expected <= 0 || c.expected >= float64(n) {
		return math.NaN(), math.NaN()
	}
	lo, hi := stats.BinomialInterval(c.a, n, 0.95)
	base := c.expected / float64(n)
	odds := func(p float64) float64 { return p / (1 - p) }
	return odds(lo) / odds(base), odds(hi) / odds(base)
}

func lesser(a, b float64) float64 {
	if math.IsNaN(b) || a < b {
		return a
	}
	return b
}

func greater(a, b float64) float64 {
	if math.IsNaN(b) || a > b {
		return a
	}
	return b
}

// weighIncidence gives the ratio of incidence: each stall seen stands for
// max(1, period/length) stalls, since a sample catches a long wait more often,
// and time inside stalls is no time at risk.
func (c *coincidence) weighIncidence(set *stallSet) {
	var wa, wb, inA, inB float64
	for i := range set.stalls {
		k, v := &set.stalls[i], c.visit[i]
		if v < 0 || k.longest <= 0 {
			continue
		}
		weight := 1.0
		if set.source != sourceHistogram {
			weight = max(1, float64(k.period)/float64(k.longest))
		}
		if c.level[v] == levelHeavy {
			wa += weight
			inA += weight * float64(k.longest) / float64(series.Second)
		} else {
			wb += weight
			inB += weight * float64(k.longest) / float64(series.Second)
		}
	}
	if ra, rb := c.ta-inA, c.tb-inB; ra > 0 && rb > 0 && wb > 0 {
		c.incidence = (wa / ra) / (wb / rb)
	}
}
