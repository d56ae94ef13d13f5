package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// The per-CPU table shows the heavy CPUs and some more, where stalls were or
// interrupts most: so many at least, and at the most.
const (
	leastCPUs = 24
	mostCPUs  = 64
	lightCPUs = 8 // beside the heavy ones
)

func cpus(f *domain.Finding) []Block {
	in := f.Interrupts
	if in == nil {
		return nil
	}
	heavy := map[int]bool{}
	for _, c := range in.HeavyCPUs {
		heavy[c] = true
	}
	residence := map[int]float64{}
	if f.Placement != nil {
		for _, r := range f.Placement.Residence {
			residence[r.CPU] = r.Share
		}
	}
	stalls := stallsByCPU(f)
	shown := chooseCPUs(in.ByCPU, heavy, stalls.n)
	t := &Table{
		Columns: []Column{
			{"CPU", Right}, {"heavy", Left}, {"stalls", Right}, {"expected", Right}, {"interrupts/s", Right}, {"irq+softirq", Right},
			{watched(f) + " there", Right}, {"node", Right}, {"core", Right},
		},
		Marks: map[int]Mark{},
	}
	for _, c := range shown {
		row := []string{
			strconv.Itoa(c.CPU), "", stalls.count(c.CPU), stalls.expectation(c.CPU), number(c.PerS, 0), percent(c.TimeShare),
			share(residence, c.CPU), id(c.NUMANode), id(c.Core),
		}
		if heavy[c.CPU] {
			row[1] = "heavy"
			t.Marks[len(t.Rows)] = Bad
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(in.ByCPU) - len(shown); n > 0 {
		t.Note = fmt.Sprintf("%s with fewer stalls or interrupts are in --json", plural(n, "more CPU"))
	}
	return []Block{{Text: pictureText(f)}, {Table: t}}
}

// cpuStalls is the stalls during which the watched process was on each CPU.
type cpuStalls struct {
	n        map[int]int
	expected map[int]float64 // where the test tells it
	complete bool            // a CPU without an entry had no stall
}

// stallsByCPU takes the test's own numbers; it lists the CPUs of the greatest
// excess only, so that the others are counted from the stalls.
func stallsByCPU(f *domain.Finding) cpuStalls {
	out := cpuStalls{map[int]int{}, map[int]float64{}, f.Waits != nil && f.Waits.Stalls <= len(f.StallList)}
	if out.complete {
		for i := range f.StallList {
			for _, c := range f.StallList[i].CPUs {
				out.n[c]++
			}
		}
	}
	if f.Coincidence != nil {
		for _, c := range f.Coincidence.ByCPU {
			out.n[c.CPU], out.expected[c.CPU] = c.Stalls, c.Expected
		}
	}
	return out
}

func (s cpuStalls) count(cpu int) string {
	if n, ok := s.n[cpu]; ok || s.complete {
		return count(n)
	}
	return unknown
}

func (s cpuStalls) expectation(cpu int) string {
	if v, ok := s.expected[cpu]; ok {
		return number(&v, 1)
	}
	return unknown
}

func pictureText(f *domain.Finding) string {
	in := f.Interrupts
	s := fmt.Sprintf("%d of %d CPUs are heavy", len(in.HeavyCPUs), in.OnlineCPUs)
	if len(in.HeavyCPUs) > 0 {
		s += ": " + correlate.CPUList(in.HeavyCPUs)
	}
	if in.HeavyCores != nil {
		s += fmt.Sprintf(" (%d cores counted by their first thread, %d by any thread)", *in.HeavyCores, *in.HeavyCoresAnyThread)
	}
	s += "."
	if in.Gini != nil {
		s += " Device interrupts over CPUs: Gini " + number(in.Gini, 2)
		if in.GiniCores != nil {
			s += ", over cores " + number(in.GiniCores, 2)
		}
		s += " (0: all alike, 1: all on one)."
	}
	if p := f.Placement; p != nil {
		s += fmt.Sprintf(" %s spent %s of the time on heavy CPUs", watched(f), percent(p.HeavyShare))
		if p.SiblingShare != nil && *p.SiblingShare > 0 {
			s += fmt.Sprintf(" and %s beside a heavy sibling", percent(p.SiblingShare))
		}
		s += fmt.Sprintf(", in %s stays, %s moves/s.", count(p.Visits), significant(p.MigrationsPerS))
	}
	return s
}

// chooseCPUs gives the CPUs to show, by id: those with stalls, then the
// heaviest.
func chooseCPUs(all []domain.CPURate, heavy map[int]bool, stalls map[int]int) []domain.CPURate {
	order := slices.Clone(all)
	weight := func(c domain.CPURate) float64 {
		w := 0.0
		if c.PerS != nil {
			w = *c.PerS
		}
		if heavy[c.CPU] {
			w += 1e9
		}
		return w + float64(stalls[c.CPU])*1e6
	}
	slices.SortStableFunc(order, func(a, b domain.CPURate) int {
		switch wa, wb := weight(a), weight(b); {
		case wa > wb:
			return -1
		case wa < wb:
			return 1
		}
		return 0
	})
	order = order[:min(len(order), max(leastCPUs, min(len(heavy)+lightCPUs, mostCPUs)))]
	slices.SortFunc(order, func(a, b domain.CPURate) int { return a.CPU - b.CPU })
	return order
}

func id(v *int) string {
	if v == nil {
		return unknown
	}
	return strconv.Itoa(*v)
}

func share(m map[int]float64, cpu int) string {
	v, ok := m[cpu]
	if !ok {
		return ""
	}
	return percent(&v)
}
