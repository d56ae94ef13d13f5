package procfmt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/domain"
)

// ParseNumactl reads `numactl -H` (--hardware): which CPUs belong to which
// NUMA node. Sockets and cores stay unknown. Nodes may hold memory alone.
func ParseNumactl(data []byte) (domain.Topology, error) {
	var t domain.Topology
	nodes := 0
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		node, list, ok := numactlNode(line)
		if !ok {
			continue
		}
		nodes++
		ids := strings.Fields(list)
		if len(t.CPUs)+len(ids) > maxCPUs {
			return domain.Topology{}, fmt.Errorf("more than %d CPUs", maxCPUs)
		}
		for _, word := range ids {
			id, err := cpuID(word)
			if err != nil {
				return domain.Topology{}, fmt.Errorf("node %d: %w", node, err)
			}
			t.CPUs = append(t.CPUs, domain.CPU{ID: id, Socket: -1, Core: -1, Node: node, Online: true})
		}
	}
	if nodes == 0 || len(t.CPUs) == 0 {
		return domain.Topology{}, errors.New("not the output of numactl -H: no `node N cpus:` line names a CPU")
	}
	return t, sortCPUs(t.CPUs)
}

// IsNumactl says whether line is one that only numactl -H prints.
func IsNumactl(line []byte) bool {
	_, _, ok := numactlNode(line)
	return ok
}

// numactlNode reads "node 0 cpus: 0 1 2 3".
func numactlNode(line []byte) (node int, list string, ok bool) {
	rest, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("node "))
	if !found {
		return 0, "", false
	}
	number, list, found := strings.Cut(string(rest), " cpus:")
	node, err := strconv.Atoi(number)
	return node, list, found && err == nil && node >= 0
}

// sortCPUs puts CPUs in the order of their ids and refuses one that occurs twice.
func sortCPUs(cpus []domain.CPU) error {
	slices.SortFunc(cpus, func(a, b domain.CPU) int { return a.ID - b.ID })
	for i := 1; i < len(cpus); i++ {
		if cpus[i].ID == cpus[i-1].ID {
			return fmt.Errorf("CPU %d %w", cpus[i].ID, ErrRepeated)
		}
	}
	return nil
}
