package domain

import "slices"

// CPU is one logical CPU. Socket, Core and Node are -1 where unknown. Core is
// unique within the host (not within the socket, as some tools print it).
type CPU struct {
	ID, Socket, Core, Node int
	Online                 bool
}

// Bond is one bonding interface as /proc/net/bonding shows it.
type Bond struct {
	Name, Mode, ActiveSlave string
	Slaves                  []string
}

// Port is one network port or storage adapter.
type Port struct {
	Name, Driver, PCIAddress string
	Node                     int // NUMA node; -1 unknown
	IRQs                     []int
}

// Topology is how a node is built.
type Topology struct {
	CPUs  []CPU // ascending by ID
	Bonds []Bond
	Ports []Port
	// Interconnects are the interfaces that V$CLUSTER_INTERCONNECTS names.
	Interconnects []string
	// Affinity gives the CPUs that an IRQ really goes to (effective_affinity_list).
	Affinity map[int][]int
	// Fixed are the IRQs, ascending, that the kernel does not let be moved.
	Fixed []int
	// CoresInferred: cores were concluded from the order of CPU numbers, not read.
	CoresInferred bool
	Kernel        string // as uname -r prints it; "" unknown
	// InterruptTimeAccounted says whether the kernel accounts the time of interrupts
	// and softirqs (CONFIG_IRQ_TIME_ACCOUNTING); nil unknown.
	InterruptTimeAccounted *bool
}

// CPU gives the CPU of that id.
func (t *Topology) CPU(id int) (CPU, bool) {
	i, ok := slices.BinarySearchFunc(t.CPUs, id, func(c CPU, id int) int { return c.ID - id })
	if !ok {
		return CPU{}, false
	}
	return t.CPUs[i], true
}

// Siblings gives the other threads of the CPU's core, ascending; nil where
// cores are unknown.
func (t *Topology) Siblings(id int) []int {
	c, ok := t.CPU(id)
	if !ok || c.Core < 0 {
		return nil
	}
	var ids []int
	for _, o := range t.CPUs {
		if o.Core == c.Core && o.ID != id {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// BondOf gives the bond that a port is a slave of, or "".
func (t *Topology) BondOf(port string) string {
	for _, b := range t.Bonds {
		if slices.Contains(b.Slaves, port) {
			return b.Name
		}
	}
	return ""
}
