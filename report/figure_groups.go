package report

import (
	"slices"
	"strconv"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// cpuGroup is the CPUs of one socket, or of one NUMA node where sockets are
// unknown, or all of them where neither is known.
type cpuGroup struct {
	id    int    // socket or node; -1 unknown
	name  string // "socket 3"; "" where nothing is known
	nodes []int  // NUMA nodes of a socket's CPUs, ascending
	cpus  []int  // ascending
}

// groupCPUs groups CPUs by socket, else by NUMA node; those of which nothing is
// known come last.
func groupCPUs(t *domain.Topology, cpus []int) []cpuGroup {
	where, word := socketOf, "socket "
	if !anyKnown(t, cpus, socketOf) {
		where, word = nodeOf, "NUMA node "
	}
	byID := map[int]*cpuGroup{}
	for _, c := range cpus {
		info := cpuInfo(t, c)
		id := where(info)
		k := byID[id]
		if k == nil {
			k = &cpuGroup{id: id}
			if id >= 0 {
				k.name = word + strconv.Itoa(id)
			}
			byID[id] = k
		}
		k.cpus = append(k.cpus, c)
		if word == "socket " && info.Node >= 0 && !slices.Contains(k.nodes, info.Node) {
			k.nodes = append(k.nodes, info.Node)
		}
	}
	out := make([]cpuGroup, 0, len(byID))
	for _, k := range byID {
		slices.Sort(k.cpus)
		slices.Sort(k.nodes)
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b cpuGroup) int {
		if (a.id < 0) != (b.id < 0) {
			return b.id - a.id // unknown last
		}
		return a.id - b.id
	})
	if len(out) > 1 && out[len(out)-1].id < 0 {
		out[len(out)-1].name = "elsewhere"
	}
	return out
}

func socketOf(c domain.CPU) int { return c.Socket }
func nodeOf(c domain.CPU) int   { return c.Node }

func anyKnown(t *domain.Topology, cpus []int, where func(domain.CPU) int) bool {
	return slices.ContainsFunc(cpus, func(c int) bool { return where(cpuInfo(t, c)) >= 0 })
}

// cpuInfo gives what is known of a CPU; -1 for what is not.
func cpuInfo(t *domain.Topology, id int) domain.CPU {
	if c, ok := t.CPU(id); ok {
		return c
	}
	return domain.CPU{ID: id, Socket: -1, Core: -1, Node: -1}
}

// knownCPUs gives every CPU that the series or the finding names, ascending.
func knownCPUs(f *domain.Finding, s *series.Series) []int {
	cpus := slices.Clone(s.Online)
	if f.Interrupts != nil {
		for _, c := range f.Interrupts.ByCPU {
			cpus = append(cpus, c.CPU)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}
