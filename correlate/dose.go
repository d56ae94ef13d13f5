package correlate

import (
	"math"
	"slices"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// busyDevice is the least rate of a device whose CPUs are tested on their own.
const busyDevice = 100

// families tests single CPUs, and the CPUs of single devices, by the maximum
// statistic over the same draws (Westfall and Young): p-values hold for the
// whole family.
func (c *coincidence) families(s *series.Series, prm Params) {
	cpus := map[int32]int{}
	var ids []int32
	for _, v := range c.visit {
		if v < 0 {
			continue
		}
		for _, id := range c.p.places[c.p.visits[v].place] {
			if _, ok := cpus[id]; !ok {
				cpus[id] = len(ids)
				ids = append(ids, id)
			}
		}
	}
	sets := make([][]bool, 0, len(ids))
	for _, id := range ids {
		sets = append(sets, c.placesOn(func(cpu int32) bool { return cpu == id }))
	}
	stalls, expected, p := c.family(sets, prm, 3)
	for k, id := range ids {
		if stalls[k] > 0 {
			c.byCPU = append(c.byCPU, domain.CPUExcess{CPU: int(id), Stalls: stalls[k], Expected: expected[k], P: number(p[k])})
		}
	}
	sort.Slice(c.byCPU, func(i, j int) bool {
		a, b := c.byCPU[i], c.byCPU[j]
		if da, db := float64(a.Stalls)-a.Expected, float64(b.Stalls)-b.Expected; da != db {
			return da > db
		}
		return a.CPU < b.CPU
	})
	var devices []series.Device
	sets = sets[:0]
	for _, d := range s.Devices {
		if d.Class == domain.ClassStorage || d.Total < busyDevice {
			continue
		}
		on := mainCPUs(d)
		devices = append(devices, d)
		sets = append(sets, c.placesOn(func(cpu int32) bool { return on[int(cpu)] }))
	}
	stalls, expected, p = c.family(sets, prm, 4)
	for k, d := range devices {
		c.byDevice = append(c.byDevice, domain.DevExcess{Device: d.Name, Stalls: stalls[k], Expected: expected[k], P: number(p[k])})
	}
}

// mainCPUs are the CPUs that take a hundredth or more of a device's interrupts.
func mainCPUs(d series.Device) map[int]bool {
	on := map[int]bool{}
	for _, c := range servingCPUs(d) {
		on[c] = true
	}
	return on
}

func (c *coincidence) placesOn(is func(cpu int32) bool) []bool {
	out := make([]bool, len(c.p.places))
	for i, cpus := range c.p.places {
		out[i] = slices.ContainsFunc(cpus, is)
	}
	return out
}

// family gives, for each set of places, the stalls in it, those expected, and
// the family-wise p-value of its excess, in units of the square root of what
// is expected.
func (c *coincidence) family(sets [][]bool, prm Params, stream uint64) (stalls []int, expected, p []float64) {
	n := len(sets)
	stalls, expected, p = make([]int, n), make([]float64, n), make([]float64, n)
	var visits []int32
	for _, v := range c.visit {
		if v >= 0 {
			visits = append(visits, v)
		}
	}
	once, position := distinct(visits)
	if n == 0 || len(once) == 0 {
		return stalls, expected, p
	}
	holds := make([][]int, len(c.p.places)) // place to the sets that hold it
	for k, set := range sets {
		for place, in := range set {
			if in {
				holds[place] = append(holds[place], k)
			}
		}
	}
	inStratum := make([]float64, len(c.st.list)) // stalls
	for _, v := range visits {
		inStratum[c.st.of[v]]++
		for _, k := range holds[c.p.visits[v].place] {
			stalls[k]++
		}
	}
	for i := range c.p.visits {
		st := c.st.of[i]
		if inStratum[st] == 0 {
			continue
		}
		share := inStratum[st] * c.p.visits[i].Seconds() / c.st.list[st].seconds
		for _, k := range holds[c.p.visits[i].place] {
			expected[k] += share
		}
	}
	excess := func(k, count int) float64 { return (float64(count) - expected[k]) / math.Sqrt(expected[k]+0.5) }
	weight := make([]int, len(once)) // stalls per visit
	for _, i := range position {
		weight[i]++
	}
	rng := newRand(prm.Seed, stream)
	placeOf := make([]int32, len(c.p.visits))
	for i := range placeOf {
		placeOf[i] = c.p.visits[i].place
	}
	onPlace := make([]int, len(c.p.places)) // stalls by place, of one draw
	atLeast := make([]int, n)
	for range prm.Permutations {
		clear(onPlace)
		for i, v := range once {
			onPlace[placeOf[c.st.list[c.st.of[v]].draw(rng)]] += weight[i]
		}
		top := math.Inf(-1)
		for k, set := range sets {
			count := 0
			for place, stalls := range onPlace {
				if set[place] {
					count += stalls
				}
			}
			top = max(top, excess(k, count))
		}
		for k := range sets {
			if top >= excess(k, stalls[k])-1e-9 {
				atLeast[k]++
			}
		}
	}
	for k := range p {
		p[k] = float64(1+atLeast[k]) / float64(1+prm.Permutations)
	}
	return stalls, expected, p
}

// doseResponse gives stalls per hour by quintile of dose (of the time spent at
// it), and tests the trend: over all CPUs, and within sockets, where the socket
// itself cannot explain it.
func (c *coincidence) doseResponse(s *series.Series, set *stallSet, prm Params) {
	type item struct{ dose, sec float64 }
	byPlace := make([]item, len(c.p.places))
	for i := range byPlace {
		byPlace[i].dose = c.e.dose[i]
	}
	for _, v := range c.p.visits {
		byPlace[v.place].sec += v.Seconds()
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
	c.trends(s, prm)
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

// trends tests whether stalls fall into time at a higher dose than expected:
// the score is the rank of the CPU's dose, so that no unit matters.
func (c *coincidence) trends(s *series.Series, prm Params) {
	rank := c.doseRanks()
	score := perVisit(c.p, func(v int32) float64 { return rank[c.p.visits[v].place] })
	_, c.trendP = c.maximum([][]int32{c.visit}, score, c.st.mean(c.p, score), c.st, newRand(prm.Seed, 5), prm.Permutations)
	socket := func(v int32) int { return socketOf(s, c.p.places[c.p.visits[v].place]) }
	within := c.st.subset(c.p, socket)
	if !c.contrastWithin(within, rank) {
		return
	}
	_, c.socketP = c.maximum([][]int32{c.visit}, score, within.mean(c.p, score), within, newRand(prm.Seed, 6), prm.Permutations)
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
	_, c.placeboP = c.maximum([][]int32{both}, c.heavy, c.share, c.st, newRand(prm.Seed, 7), prm.Permutations)
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
