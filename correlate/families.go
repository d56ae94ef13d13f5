package correlate

import (
	"cmp"
	"math"
	"slices"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// busyDevice is the least rate of a device whose CPUs are tested on their own.
const busyDevice = 100

// placeSet is a set of places under test: one CPU's, or those of the CPUs that
// serve a device. Sets of one family share the maximum statistic.
type placeSet struct {
	family   int
	holds    []bool // by place
	stalls   int
	expected float64
	p        float64
}

// excess is measured in units of the square root of what is expected.
func (s *placeSet) excess(stalls int) float64 {
	return (float64(stalls) - s.expected) / math.Sqrt(s.expected+0.5)
}

// families tests single CPUs, and the CPUs of single devices, by the maximum
// statistic over the same draws (Westfall and Young): p-values hold for the
// whole family.
func (c *coincidence) families(s *series.Series, prm Params) {
	var sets []placeSet
	ids := c.stalledCPUs()
	for _, id := range ids {
		sets = append(sets, placeSet{family: 0, holds: c.placesOn(func(cpu int32) bool { return cpu == id })})
	}
	var devices []string
	for _, d := range s.Devices {
		if d.Class == domain.ClassStorage || d.Total < busyDevice {
			continue
		}
		serving := servingCPUs(d)
		devices = append(devices, d.Name)
		sets = append(sets, placeSet{family: 1, holds: c.placesOn(func(cpu int32) bool { return slices.Contains(serving, int(cpu)) })})
	}
	c.testSets(sets, prm)
	for k, id := range ids {
		c.byCPU = append(c.byCPU, domain.CPUExcess{CPU: int(id), Stalls: sets[k].stalls, Expected: sets[k].expected, P: number(sets[k].p)})
	}
	slices.SortFunc(c.byCPU, func(a, b domain.CPUExcess) int {
		return cmp.Or(cmp.Compare(float64(b.Stalls)-b.Expected, float64(a.Stalls)-a.Expected), cmp.Compare(a.CPU, b.CPU))
	})
	for k, name := range devices {
		set := &sets[len(ids)+k]
		c.byDevice = append(c.byDevice, domain.DevExcess{Device: name, Stalls: set.stalls, Expected: set.expected, P: number(set.p)})
	}
}

// stalledCPUs lists the CPUs on which stalls were seen.
func (c *coincidence) stalledCPUs() []int32 {
	var ids []int32
	for _, v := range c.visit {
		if v >= 0 {
			ids = append(ids, c.p.places[c.p.visits[v].place]...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (c *coincidence) placesOn(is func(cpu int32) bool) []bool {
	out := make([]bool, len(c.p.places))
	for i, cpus := range c.p.places {
		out[i] = slices.ContainsFunc(cpus, is)
	}
	return out
}

// testSets gives each set the stalls in it, those expected, and the family-wise
// p-value of its excess.
func (c *coincidence) testSets(sets []placeSet, prm Params) {
	c.tallySets(sets)
	once, position := distinct(slices.DeleteFunc(slices.Clone(c.visit), func(v int32) bool { return v < 0 }))
	if len(sets) == 0 || len(once) == 0 {
		return
	}
	weight := make([]int, len(once)) // stalls per visit
	for _, i := range position {
		weight[i]++
	}
	placeOf := make([]int32, len(c.p.visits))
	for i := range placeOf {
		placeOf[i] = c.p.visits[i].place
	}
	places, drawn := newExchange(c.st, once, placeOf), make([]int32, len(once))
	atLeast := make([]int, len(sets))
	source := newLabelSource(prm.Seed, 3)
	onPlace := make([]int, len(c.p.places)) // stalls by place, of one draw
	for range prm.Permutations {
		clear(onPlace)
		places.draw(source, drawn)
		for i, place := range drawn {
			onPlace[place] += weight[i]
		}
		var top [2]float64 // by family
		top[0], top[1] = math.Inf(-1), math.Inf(-1)
		for k := range sets {
			top[sets[k].family] = max(top[sets[k].family], sets[k].excess(sumOver(onPlace, sets[k].holds)))
		}
		for k := range sets {
			if top[sets[k].family] >= sets[k].excess(sets[k].stalls)-roundingError {
				atLeast[k]++
			}
		}
	}
	for k := range sets {
		sets[k].p = float64(1+atLeast[k]) / float64(1+prm.Permutations)
	}
}

func sumOver(onPlace []int, holds []bool) int {
	sum := 0
	for place, n := range onPlace {
		if n > 0 && holds[place] {
			sum += n
		}
	}
	return sum
}

// tallySets counts the stalls seen in each set, and those expected by the time
// spent there in the stalls' strata.
func (c *coincidence) tallySets(sets []placeSet) {
	in := make([][]int, len(c.p.places)) // place to the sets that hold it
	for k := range sets {
		for place, held := range sets[k].holds {
			if held {
				in[place] = append(in[place], k)
			}
		}
	}
	inStratum := make([]float64, len(c.st.list)) // stalls
	for _, v := range c.visit {
		if v < 0 {
			continue
		}
		inStratum[c.st.of[v]]++
		for _, k := range in[c.p.visits[v].place] {
			sets[k].stalls++
		}
	}
	for i := range c.p.visits {
		n := inStratum[c.st.of[i]]
		if n == 0 {
			continue
		}
		share := n * c.p.visits[i].Seconds() / c.st.list[c.st.of[i]].seconds
		for _, k := range in[c.p.visits[i].place] {
			sets[k].expected += share
		}
	}
}
