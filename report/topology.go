package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// nodeMap is a node as the topology map shows it.
type nodeMap struct {
	boxes     []socketBox
	scale     scale
	measure   string
	top       float64 // greatest share of LGWR's time on one CPU
	known     bool    // sockets or NUMA nodes are known
	cores     bool    // cores are known
	inferred  bool    // cores were inferred
	elsewhere int     // storage and quiet devices that are not drawn
}

// socketBox is one socket with its cores and the devices that interrupt it.
type socketBox struct {
	cpuGroup
	cores []coreCell
	ports []portChip
}

// coreCell is the threads of one core, or one CPU where cores are unknown.
type coreCell struct{ threads []threadCell }

// threadCell is one CPU: its dose (NaN unknown), LGWR's share of time there.
type threadCell struct {
	cpu   int
	dose  float64
	heavy bool
	lgwr  float64
}

// portChip is one device's interrupts on one socket.
type portChip struct {
	device, bond, mode string
	active             bool
	perS               float64 // on this socket
	share              float64 // of the device's interrupts
	node               int     // NUMA node of its slot; -1 unknown
}

// Devices under these are not drawn: they interrupt hardly, or hardly there.
const (
	leastPortPerS  = 1
	leastPortShare = 0.1
	mostPorts      = 6 // per socket
)

func newNodeMap(f *domain.Finding, s *series.Series) *nodeMap {
	cpus := knownCPUs(f, s)
	if len(cpus) == 0 {
		return nil
	}
	m := &nodeMap{inferred: s.Topology.CoresInferred}
	cells := threadCells(f, cpus)
	for _, group := range groupCPUs(&s.Topology, cpus) {
		m.known = m.known || group.id >= 0
		box := socketBox{cpuGroup: group}
		box.cores = m.coresOf(s, group.cpus, cells)
		m.boxes = append(m.boxes, box)
	}
	m.attachPorts(s)
	top := 0.0
	for _, c := range cells {
		top, m.top = math.Max(top, zeroNaN(c.dose)), math.Max(m.top, c.lgwr)
	}
	if f.Interrupts != nil {
		m.measure = f.Interrupts.DoseMeasure
	}
	m.scale = newScale(top, m.measure == doseTimeShare)
	return m
}

// doseTimeShare is the dose measure that is a share of time; the others are rates.
const doseTimeShare = "irq_softirq_time"

// doseText says a dose measure in words.
func doseText(measure string) string {
	switch measure {
	case doseTimeShare:
		return "share of time in irq and softirq"
	case "net_rx_softirqs_per_s":
		return "NET_RX softirqs per second"
	case "device_interrupts_per_s":
		return "device interrupts per second, storage left out"
	}
	return measure
}

func threadCells(f *domain.Finding, cpus []int) map[int]threadCell {
	cells := make(map[int]threadCell, len(cpus))
	for _, c := range cpus {
		cells[c] = threadCell{cpu: c, dose: math.NaN()}
	}
	update := func(cpu int, change func(*threadCell)) {
		if c, ok := cells[cpu]; ok {
			change(&c)
			cells[cpu] = c
		}
	}
	if f.Interrupts != nil {
		for _, r := range f.Interrupts.ByCPU {
			if r.Dose != nil {
				update(r.CPU, func(c *threadCell) { c.dose = *r.Dose })
			}
		}
		for _, id := range f.Interrupts.HeavyCPUs {
			update(id, func(c *threadCell) { c.heavy = true })
		}
	}
	if f.Placement != nil {
		for _, r := range f.Placement.Residence {
			update(r.CPU, func(c *threadCell) { c.lgwr = r.Share })
		}
	}
	return cells
}

// coresOf groups CPUs by core, cores by their lowest CPU.
func (m *nodeMap) coresOf(s *series.Series, cpus []int, cells map[int]threadCell) []coreCell {
	var out []coreCell
	at := map[int]int{}
	for _, id := range cpus {
		core := cpuInfo(&s.Topology, id).Core
		i, ok := at[core]
		if core < 0 || !ok {
			i = len(out)
			out = append(out, coreCell{})
		}
		if core >= 0 {
			at[core], m.cores = i, true
		}
		out[i].threads = append(out[i].threads, cells[id])
	}
	return out
}

// attachPorts puts each device to the sockets that it interrupts. Storage is
// left out: its interrupts follow whoever submits the I/O.
func (m *nodeMap) attachPorts(s *series.Series) {
	box := map[int]int{}
	for i := range m.boxes {
		for _, c := range m.boxes[i].cpus {
			box[c] = i
		}
	}
	for _, d := range s.Devices {
		if d.Class == domain.ClassStorage || d.Total < leastPortPerS {
			m.elsewhere++
			continue
		}
		on := make([]float64, len(m.boxes))
		for cpu, v := range d.PerS {
			if i, ok := box[cpu]; ok && v > 0 {
				on[i] += v
			}
		}
		for i, v := range on {
			if v >= leastPortShare*d.Total {
				m.boxes[i].ports = append(m.boxes[i].ports, chipOf(&s.Topology, d, v))
			}
		}
	}
	for i := range m.boxes {
		p := m.boxes[i].ports
		slices.SortStableFunc(p, func(a, b portChip) int {
			return cmp.Or(cmp.Compare(b.perS, a.perS), strings.Compare(a.device, b.device))
		})
		if len(p) > mostPorts {
			m.elsewhere += len(p) - mostPorts
			m.boxes[i].ports = p[:mostPorts]
		}
	}
}

func chipOf(t *domain.Topology, d series.Device, perS float64) portChip {
	c := portChip{device: d.Name, perS: perS, share: perS / d.Total, node: -1, bond: t.BondOf(d.Name)}
	for _, b := range t.Bonds {
		if b.Name == c.bond && c.bond != "" {
			c.mode, c.active = b.Mode, b.ActiveSlave == d.Name
		}
	}
	for _, p := range t.Ports {
		if p.Name == d.Name {
			c.node = p.Node
		}
	}
	return c
}

// text says what a chip stands for.
func (c portChip) text() string {
	s := c.device
	if c.bond != "" {
		s += " (" + c.bond
		if c.active {
			s += ", active port"
		}
		s += ")"
	}
	s += ": " + number(&c.perS, 0) + "/s"
	if c.share < 0.995 {
		s += ", " + percent(&c.share) + " of its interrupts"
	}
	if c.node >= 0 {
		s += ", slot at node " + count(c.node)
	}
	return s
}

// bondText says how each bond that carries a drawn port works.
func (m *nodeMap) bondText() string {
	var parts []string
	for i := range m.boxes {
		for _, p := range m.boxes[i].ports {
			if t := p.bond + " is bonded as " + p.mode; p.bond != "" && p.mode != "" && !slices.Contains(parts, t) {
				parts = append(parts, t)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, "; ") + "."
}
