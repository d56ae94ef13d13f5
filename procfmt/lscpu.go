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

// MaxLscpu bounds the text that ParseLscpu is given: 8,192 CPUs as JSON take
// less than 2 MiB.
const MaxLscpu = 4 << 20

var errNotLscpu = errors.New("not the output of lscpu: no list of online CPUs")

// ParseLscpu reads what lscpu prints: plain, -p, -e, or any of them with -J.
//
// Only -p and -e say which CPUs share a core. Plain output gives counts, from
// which cores follow only where each has one thread, and sockets only where
// there is one, or one per NUMA node; else they stay unknown.
func ParseLscpu(data []byte) (domain.Topology, error) {
	if len(data) > MaxLscpu {
		return domain.Topology{}, fmt.Errorf("more than %d bytes", MaxLscpu)
	}
	data = bytes.TrimSpace(data)
	if bytes.HasPrefix(data, []byte("{")) {
		return lscpuJSON(data)
	}
	if header, rows, ok := lscpuColumns(data); ok {
		return lscpuTable(header, rows)
	}
	return lscpuSummary(lscpuFields(data))
}

// IsLscpu says whether line is one that only lscpu prints.
func IsLscpu(line []byte) bool {
	line = bytes.TrimSpace(line)
	for _, only := range []string{"On-line CPU(s) list:", "Thread(s) per core:", "Core(s) per socket:", "# CPU,"} {
		if bytes.HasPrefix(line, []byte(only)) {
			return true
		}
	}
	if bytes.HasPrefix(line, []byte("CPU ")) {
		words := strings.Fields(string(line))
		return slices.Contains(words, "SOCKET") || slices.Contains(words, "NODE") || slices.Contains(words, "CORE")
	}
	_, isNode := numaNodeKey(string(line[:min(len(line), 64)]))
	return isNode
}

// lscpuField is one line of plain output.
type lscpuField struct{ key, value string }

// lscpuFields splits plain output into its lines; wrapped values lose their tail.
func lscpuFields(data []byte) []lscpuField {
	var fields []lscpuField
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		if key, value, found := strings.Cut(string(line), ":"); found {
			fields = append(fields, lscpuField{strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return fields
}

// lscpuCounts is what plain output says. Counts are 0 where it does not.
type lscpuCounts struct {
	online, offline         []int
	threads, cores, sockets int
	nodes                   []numaNode // that have CPUs, in the order printed
	inNodes                 int        // CPUs in all nodes
}

type numaNode struct {
	number int
	cpus   []int
}

// lscpuSummary builds a topology from plain output.
func lscpuSummary(fields []lscpuField) (domain.Topology, error) {
	c, err := readLscpuCounts(fields)
	if err != nil {
		return domain.Topology{}, err
	}
	node := make(map[int]int)
	for _, n := range c.nodes {
		for _, id := range n.cpus {
			if other, met := node[id]; met {
				return domain.Topology{}, fmt.Errorf("CPU %d lies in NUMA nodes %d and %d", id, other, n.number)
			}
			node[id] = n.number
		}
	}
	if len(c.online) == 0 { // translated output: the NUMA lines alone are certain
		for _, n := range c.nodes {
			c.online = append(c.online, n.cpus...)
		}
	}
	if len(c.online) == 0 {
		return domain.Topology{}, errNotLscpu
	}
	socket := c.socketOf()
	onePerCore := c.threads == 1 && c.complete()
	core := c.coreOf()
	t := domain.Topology{CoresInferred: core != nil}
	for _, id := range c.online {
		cpu := domain.CPU{ID: id, Socket: valueOr(socket, id), Core: valueOr(core, id), Node: valueOr(node, id), Online: true}
		if onePerCore {
			cpu.Core = id
		}
		t.CPUs = append(t.CPUs, cpu)
	}
	for _, id := range c.offline {
		t.CPUs = append(t.CPUs, domain.CPU{ID: id, Socket: -1, Core: -1, Node: valueOr(node, id)})
	}
	return t, sortCPUs(t.CPUs)
}

func readLscpuCounts(fields []lscpuField) (lscpuCounts, error) {
	var c lscpuCounts
	for _, f := range fields {
		var err error
		switch f.key {
		case "On-line CPU(s) list":
			c.online, err = ParseCPUList(f.value)
		case "Off-line CPU(s) list":
			c.offline, err = ParseCPUList(f.value)
		case "Thread(s) per core":
			c.threads, err = lscpuCount(f.value)
		case "Core(s) per socket":
			c.cores, err = lscpuCount(f.value)
		case "Socket(s)":
			c.sockets, err = lscpuCount(f.value)
		default:
			number, isNode := numaNodeKey(f.key + ":")
			if !isNode {
				continue
			}
			var cpus []int
			if cpus, err = ParseCPUList(f.value); len(cpus) > 0 {
				c.nodes = append(c.nodes, numaNode{number, cpus})
			}
			if c.inNodes += len(cpus); c.inNodes > maxCPUs { // a CPU belongs to one node
				err = fmt.Errorf("NUMA nodes of more than %d CPUs", maxCPUs)
			}
		}
		if err != nil {
			return c, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	return c, nil
}

// lscpuCount reads a count; "-" is unknown.
func lscpuCount(value string) (int, error) {
	if value == "-" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxCPUs {
		return 0, fmt.Errorf("%.20q is not a count", value)
	}
	return n, nil
}

// complete says whether the counts account for every CPU. lscpu takes them
// from the online CPUs, so that a sibling or a core off line distorts them.
func (c *lscpuCounts) complete() bool {
	return len(c.offline) == 0 && c.threads*c.cores*c.sockets == len(c.online)
}

// coreOf infers cores where plain output leaves one plausible reading: two
// threads per core, and every NUMA node printed as two equal runs (0-7,32-39).
// The kernel then counted the first threads of all cores before their siblings,
// so the runs pair up in order; a core is named by its first thread. One run
// (0-15) may be numbered either way and infers nothing.
func (c *lscpuCounts) coreOf() map[int]int {
	if c.threads != 2 || !c.complete() || len(c.nodes) == 0 {
		return nil
	}
	core := make(map[int]int)
	for _, n := range c.nodes {
		half := len(n.cpus) / 2
		if len(n.cpus)%2 != 0 {
			return nil
		}
		for i, id := range n.cpus[:half] {
			sibling := n.cpus[half+i]
			if id != n.cpus[0]+i || sibling != n.cpus[half]+i {
				return nil
			}
			core[id], core[sibling] = id, id
		}
		if n.cpus[half] == n.cpus[half-1]+1 {
			return nil
		}
	}
	if len(core) != len(c.online) {
		return nil
	}
	return core
}

// socketOf gives the sockets of CPUs where the counts leave one possibility.
func (c *lscpuCounts) socketOf() map[int]int {
	socket := make(map[int]int)
	if c.sockets == 1 {
		for _, id := range c.online {
			socket[id] = 0
		}
		return socket
	}
	if !c.complete() || len(c.nodes) != c.sockets {
		return nil
	}
	for i, n := range c.nodes {
		if len(n.cpus) != c.threads*c.cores {
			return nil
		}
		for _, id := range n.cpus {
			socket[id] = i
		}
	}
	return socket
}

func valueOr(m map[int]int, key int) int {
	if v, ok := m[key]; ok {
		return v
	}
	return -1
}

// numaNodeKey reads the key "NUMA node3 CPU(s):", and its translations, in
// which NUMA, the number and CPU stay ("NUMA 노드3 CPU:", "NUMA-Knoten3 CPU(s):").
func numaNodeKey(key string) (number int, ok bool) {
	key, _, found := strings.Cut(key, ":")
	at := strings.Index(key, "NUMA")
	if !found || at < 0 || !strings.Contains(key, "CPU") {
		return 0, false
	}
	begin := strings.IndexAny(key, "0123456789")
	if begin < 0 {
		return 0, false
	}
	end := begin
	for end < len(key) && isDigit(key[end]) {
		end++
	}
	number, err := strconv.Atoi(key[begin:end])
	return number, err == nil && number < maxCPUs
}
