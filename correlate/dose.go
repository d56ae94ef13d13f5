package correlate

import (
	"math"
	"slices"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// doseResponse gives stalls per hour by quintile of dose (of the time spent at it).
func (c *coincidence) doseResponse(set *stallSet) {
	type item struct{ dose, sec float64 }
	byPlace := make([]item, len(c.p.places))
	for i, sec := range c.p.secondsByPlace() {
		byPlace[i] = item{c.e.dose[i], sec}
	}
	known := slices.DeleteFunc(slices.Clone(byPlace), func(i item) bool { return math.IsNaN(i.dose) || i.sec == 0 })
	if len(known) < 2 {
		return
	}
	slices.SortFunc(known, func(a, b item) int {
		switch {
		case a.dose < b.dose:
			return -1
		case a.dose > b.dose:
			return 1
		}
		return 0
	})
	var total, run float64
	for _, k := range known {
		total += k.sec
	}
	const quintiles = 5
	last := -1 // quintile of the step before: equal doses stay in one step
	for i, k := range known {
		q := min(quintiles-1, int(run/total*quintiles))
		run += k.sec
		if last < 0 || (known[i-1].dose != k.dose && q > last) {
			c.steps, last = append(c.steps, domain.DoseStep{From: k.dose, To: k.dose}), q
		}
		c.steps[len(c.steps)-1].To = k.dose
		c.steps[len(c.steps)-1].Hours += k.sec / 3600
	}
	c.countSteps(set)
}

func (c *coincidence) countSteps(set *stallSet) {
	for i := range set.stalls {
		v := c.visit[i]
		if v < 0 {
			continue
		}
		d := c.e.dose[c.p.visits[v].place]
		for k := len(c.steps) - 1; k >= 0; k-- {
			if d >= c.steps[k].From {
				c.steps[k].Stalls++
				break
			}
		}
	}
	for k := range c.steps {
		if h := c.steps[k].Hours; h > 0 {
			c.steps[k].StallsPerHour = number(float64(c.steps[k].Stalls) / h)
		}
	}
}

// trend tests whether stalls fall into time at a higher dose than expected: the
// score is the rank of the CPU's dose, so that no unit matters. What is expected
// is the same in all draws, so the sums of scores are compared as they are.
type trend struct {
	rank    []float64 // by place
	seen    float64
	atLeast int
	rounds  int
}

// newTrend takes the stalls seen that lie in a stratum.
func (c *coincidence) newTrend(rank []float64, st *strata) *trend {
	onPlace := make([]int32, len(c.p.places))
	for _, v := range c.visit {
		if v >= 0 && st.of[v] >= 0 {
			onPlace[c.p.visits[v].place]++
		}
	}
	t := &trend{rank: rank}
	t.seen = t.sum(onPlace)
	return t
}

func (t *trend) sum(onPlace []int32) float64 {
	var sum float64
	for place, n := range onPlace {
		sum += float64(n) * t.rank[place]
	}
	return sum
}

// take compares one draw with what was seen.
func (t *trend) take(onPlace []int32) {
	t.rounds++
	if t.sum(onPlace) >= t.seen-roundingError {
		t.atLeast++
	}
}

func (t *trend) p() float64 { return float64(1+t.atLeast) / float64(1+t.rounds) }

// drawPlaces tests by drawing the place of each visit that holds stalls anew:
// single CPUs and devices, and the trend with dose, over the same draws; and the
// trend within sockets, where the socket itself cannot explain it, over draws
// that stay in the socket.
func (c *coincidence) drawPlaces(s *series.Series, prm Params) {
	f := c.newFamilies(s)
	if c.a+c.b == 0 {
		c.byCPU, c.byDevice = f.name()
		return
	}
	rank := c.doseRanks()
	overall := c.newTrend(rank, c.st)
	newExchange(c.p, c.st, c.visit).eachDraw(newLabelSource(prm.Seed, 3), prm.Permutations, func(onPlace []int32) {
		f.take(onPlace)
		overall.take(onPlace)
	})
	c.byCPU, c.byDevice = f.name()
	if len(c.steps) == 0 {
		return // without two known doses there is no trend
	}
	c.trendP = overall.p()
	sockets := c.socketOfPlaces(s)
	within := c.st.subset(c.p, func(v int32) int { return sockets[c.p.visits[v].place] })
	if !c.contrastWithin(within, rank) {
		return
	}
	inSocket := c.newTrend(rank, within)
	newExchange(c.p, within, c.visit).eachDraw(newLabelSource(prm.Seed, 6), prm.Permutations, inSocket.take)
	c.socketP = inSocket.p()
}

// contrastWithin says whether stalls lie in strata that hold several doses.
func (c *coincidence) contrastWithin(st *strata, rank []float64) bool {
	for _, v := range c.visit {
		if v < 0 || st.of[v] < 0 {
			continue
		}
		list := &st.list[st.of[v]]
		for _, o := range list.visits {
			if rank[c.p.visits[o].place] != rank[c.p.visits[v].place] {
				return true
			}
		}
	}
	return false
}

// doseRanks gives each place the rank of its dose among places, from 0 to 1;
// equal doses share one, unknown doses get the middle.
func (c *coincidence) doseRanks() []float64 {
	order := make([]int, 0, len(c.p.places))
	for i := range c.p.places {
		if !math.IsNaN(c.e.dose[i]) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return c.e.dose[order[i]] < c.e.dose[order[j]] })
	rank := make([]float64, len(c.p.places))
	for i := range rank {
		rank[i] = 0.5
	}
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && c.e.dose[order[j]] == c.e.dose[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			rank[order[k]] = float64(i+j) / 2 / float64(len(order))
		}
		i = j
	}
	return rank
}

// socketOfPlaces gives socketOf of each place.
func (c *coincidence) socketOfPlaces(s *series.Series) []int {
	sockets := make([]int, len(c.p.places))
	for i, cpus := range c.p.places {
		sockets[i] = socketOf(s, cpus)
	}
	return sockets
}

// socketOf gives the socket that all of a place's CPUs are on, the NUMA node
// where sockets are unknown; -1 where it is unknown or mixed.
func socketOf(s *series.Series, cpus []int32) int {
	socket := -1
	for i, id := range cpus {
		c, ok := s.Topology.CPU(int(id))
		if !ok {
			return -1
		}
		k := c.Socket
		if k < 0 {
			k = c.Node
		}
		if i > 0 && k != socket {
			return -1
		}
		socket = k
	}
	return socket
}

// placeboShift is how far stalls are shifted for a placebo: the nearest shift,
// from 20 s on, at which the process' exposure has forgotten where it was; 0
// where there is none.
func (c *coincidence) placeboShift() series.Micros {
	heavy := c.e.heavyPlaces()
	for _, sec := range []series.Micros{20, 40, 60, 120, 240} {
		if k := c.p.kappa(heavy, sec*series.Second); k < 0.1 {
			return sec * series.Second
		}
	}
	return 0
}

// placebo repeats the test with stalls shifted both ways. An excess there of
// half the size of the real one says that something else than the instant is
// at work.
func (c *coincidence) placebo(s *series.Series, set *stallSet, prm Params) {
	shift := c.placeboShift()
	if shift == 0 || len(set.stalls) == 0 {
		return
	}
	both := append(assign(c.p, set.stalls, s.Window, c.offset, shift), assign(c.p, set.stalls, s.Window, c.offset, -shift)...)
	_, c.placeboP = maximum([][]int32{both}, c.heavy, c.st, c.share, newLabelSource(prm.Seed, 7), prm.Permutations)
	var excess, placed float64
	for _, v := range both {
		if v >= 0 {
			excess += c.heavy[v] - c.share[c.st.of[v]]
			placed++
		}
	}
	atInstant := (float64(c.a) - c.expected) / math.Max(1, float64(c.a+c.b))
	c.placeboBig = placed > 0 && c.placeboP <= 0.05 && excess/placed >= atInstant/2
}

// describe renders the test for the finding.
func (c *coincidence) describe(prm Params) *domain.Coincidence {
	d := &domain.Coincidence{
		StallsExposed: c.a, StallsUnexposed: c.b, SecondsExposed: c.ta, SecondsUnexposed: c.tb, ExpectedExposed: number(c.expected),
		RelativeRisk: number(c.ratio.Value), RelativeRiskCI: [2]*float64{number(c.ratio.Low), number(c.ratio.High)},
		StratifiedRR: number(c.stratified.Value), StratifiedRRCI: [2]*float64{number(c.stratified.Low), number(c.stratified.High)},
		IncidenceRatio: number(c.incidence), PValue: number(c.pValue), VisitsExposed: c.visitsA,
		ByCPU: c.byCPU, ByDevice: c.byDevice, DoseResponse: c.steps, DoseTrendP: number(c.trendP), DoseTrendSocketP: number(c.socketP),
		PlaceboP: number(c.placeboP), DetectableRatio: number(c.detectable(prm)),
	}
	if d.DoseResponse == nil {
		d.DoseResponse = []domain.DoseStep{}
	}
	const kept = 20
	if len(d.ByCPU) > kept {
		d.ByCPU = d.ByCPU[:kept]
	}
	return d
}
