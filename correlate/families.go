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
	atLeast  int // draws whose greatest excess in the family is at least this set's
}

// excess is measured in units of the square root of what is expected.
func (s *placeSet) excess(stalls int) float64 {
	return (float64(stalls) - s.expected) / math.Sqrt(s.expected+0.5)
}

// families tests single CPUs, and the CPUs of single devices, by the maximum
// statistic over the same draws (Westfall and Young): p-values hold for the
// whole family.
type families struct {
	cpus    []int32
	devices []string
	sets    []placeSet // of CPUs, then of devices
	in      [][]int32  // place to the sets that hold it
	onSet   []int      // stalls in each set, of one draw
	rounds  int
}

const (
	familyCPUs    = 0
	familyDevices = 1
)

// newFamilies gives each set the stalls in it and those expected.
func (c *coincidence) newFamilies(s *series.Series) *families {
	f := &families{cpus: c.stalledCPUs(), in: make([][]int32, len(c.p.places))}
	for _, id := range f.cpus {
		f.sets = append(f.sets, placeSet{family: familyCPUs, holds: c.placesOn(func(cpu int32) bool { return cpu == id })})
	}
	for _, d := range s.Devices {
		if d.Class == domain.ClassStorage || d.Total < busyDevice {
			continue
		}
		serving := servingCPUs(d)
		f.devices = append(f.devices, d.Name)
		f.sets = append(f.sets, placeSet{family: familyDevices, holds: c.placesOn(func(cpu int32) bool { return slices.Contains(serving, int(cpu)) })})
	}
	for k := range f.sets {
		for place, held := range f.sets[k].holds {
			if held {
				f.in[place] = append(f.in[place], int32(k))
			}
		}
	}
	f.onSet = make([]int, len(f.sets))
	c.tallySets(f)
	return f
}

// take compares one draw with what was seen.
func (f *families) take(onPlace []int32) {
	f.rounds++
	clear(f.onSet)
	for place, n := range onPlace {
		if n > 0 {
			for _, k := range f.in[place] {
				f.onSet[k] += int(n)
			}
		}
	}
	top := [...]float64{familyCPUs: math.Inf(-1), familyDevices: math.Inf(-1)}
	for k := range f.sets {
		set := &f.sets[k]
		top[set.family] = max(top[set.family], set.excess(f.onSet[k]))
	}
	for k := range f.sets {
		set := &f.sets[k]
		if top[set.family] >= set.excess(set.stalls)-roundingError {
			set.atLeast++
		}
	}
}

// p gives the family-wise p-value of a set, unknown where nothing was drawn.
func (f *families) p(k int) float64 {
	if f.rounds == 0 {
		return math.NaN()
	}
	return float64(1+f.sets[k].atLeast) / float64(1+f.rounds)
}

// name gives the finding's lists, CPUs by falling excess.
func (f *families) name() (byCPU []domain.CPUExcess, byDevice []domain.DevExcess) {
	for k, id := range f.cpus {
		byCPU = append(byCPU, domain.CPUExcess{CPU: int(id), Stalls: f.sets[k].stalls, Expected: f.sets[k].expected, P: number(f.p(k))})
	}
	slices.SortFunc(byCPU, func(a, b domain.CPUExcess) int {
		return cmp.Or(cmp.Compare(float64(b.Stalls)-b.Expected, float64(a.Stalls)-a.Expected), cmp.Compare(a.CPU, b.CPU))
	})
	for i, device := range f.devices {
		k := len(f.cpus) + i
		byDevice = append(byDevice, domain.DevExcess{Device: device, Stalls: f.sets[k].stalls, Expected: f.sets[k].expected, P: number(f.p(k))})
	}
	return byCPU, byDevice
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

// tallySets counts the stalls seen in each set, and those expected by the time
// spent there in the stalls' strata.
func (c *coincidence) tallySets(f *families) {
	inStratum := make([]float64, len(c.st.list)) // stalls
	for _, v := range c.visit {
		if v < 0 {
			continue
		}
		inStratum[c.st.of[v]]++
		for _, k := range f.in[c.p.visits[v].place] {
			f.sets[k].stalls++
		}
	}
	for i := range c.p.visits {
		n := inStratum[c.st.of[i]]
		if n == 0 {
			continue
		}
		share := n * c.p.visits[i].Seconds() / c.st.list[c.st.of[i]].seconds
		for _, k := range f.in[c.p.visits[i].place] {
			f.sets[k].expected += share
		}
	}
}
