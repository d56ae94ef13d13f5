package api

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
)

// Units of shares: hundredths of a percent of a CPU, millionths of a host.
const (
	basisPoints = 10_000
	millionths  = 1_000_000
)

// unknown stands for a share in a list that is not known.
const unknown = -1

// basis gives a CPU's share; unknown where it is none of its time.
func basis(share float64) int32 {
	v := math.Round(share * basisPoints)
	if !(v >= 0 && v <= basisPoints) {
		return unknown
	}
	return int32(v)
}

// ofHost gives a host's share; nil where it is none of its time.
func ofHost(share float64) *uint32 {
	v := math.Round(share * millionths)
	if !(v >= 0 && v <= millionths) {
		return nil
	}
	u := uint32(v)
	return &u
}

// known gives a number; nil where it is not known.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// whole32 and whole64 give a count; nil where it is not known.
func whole32(v float64) *uint32 {
	v = math.Round(v)
	if !(v >= 0 && v <= math.MaxInt32) {
		return nil
	}
	u := uint32(v)
	return &u
}

func whole64(v float64) *uint64 {
	v = math.Round(v)
	if !(v >= 0 && v < 1<<62) {
		return nil
	}
	u := uint64(v)
	return &u
}

// stalled gives whole microseconds; nil where they are not known.
func stalled(d time.Duration) *uint64 {
	if d < 0 {
		return nil
	}
	u := uint64(d.Microseconds()) //nolint:gosec // not negative
	return &u
}

// cpuShares is how many shares of its time a CPU has, and cpuPeaks how many peaks,
// in the order of the fields of CPUSample.
const (
	cpuShares = 7
	cpuPeaks  = 3
)

// cpuInterval is the CPUs of one interval.
type cpuInterval struct {
	sample *corewaitv1.CPUSample
	cells  []cpuCell // ascending by CPU
	peaks  bool      // of some CPU are known
}

type cpuCell struct {
	cpu    uint32
	values [cpuShares + cpuPeaks]int32
}

// CPU takes one CPU's use over an interval, or the host's. Of two of one CPU and
// interval the later one counts. A CPU that was not there is left out.
func (e *Encoder) CPU(s domain.CPUSample) error {
	if s.Offline {
		return nil
	}
	i, err := e.endingAt(s.At, s.Interval)
	if err == nil && s.CPU != domain.AllCPUs && (s.CPU < 0 || s.CPU > math.MaxInt16) {
		err = fmt.Errorf("CPU %d", s.CPU)
	}
	if err != nil {
		return fmt.Errorf("CPU sample: %w", err)
	}
	all := e.cpu[i]
	if all == nil {
		all = &cpuInterval{sample: &corewaitv1.CPUSample{FromUs: i.from, ToUs: i.to}}
		e.cpu[i] = all
		e.batch.Cpu = append(e.batch.Cpu, all.sample)
	}
	user := s.User
	if !math.IsNaN(s.Nice) {
		user = s.Nice
		if !math.IsNaN(s.User) {
			user += s.User
		}
	}
	if s.CPU == domain.AllCPUs {
		all.sample.Host = &corewaitv1.HostShares{
			User: ofHost(user), System: ofHost(s.System), Iowait: ofHost(s.IOWait), Irq: ofHost(s.IRQ), Softirq: ofHost(s.SoftIRQ),
			Steal: ofHost(s.Steal), Idle: ofHost(s.Idle),
		}
		return nil
	}
	cell := cpuCell{cpu: uint32(s.CPU), values: [...]int32{ //nolint:gosec // checked above
		basis(user), basis(s.System), basis(s.IOWait), basis(s.IRQ), basis(s.SoftIRQ), basis(s.Steal), basis(s.Idle), unknown, unknown, unknown,
	}}
	if s.Peaks != nil {
		all.peaks = true
		cell.values[cpuShares], cell.values[cpuShares+1], cell.values[cpuShares+2] = basis(s.Peaks.IRQSoftIRQ), basis(s.Peaks.Steal), basis(s.Peaks.Busy)
	}
	all.put(cell)
	return nil
}

// put keeps the CPUs in order of their ids.
func (c *cpuInterval) put(cell cpuCell) {
	i := len(c.cells)
	for i > 0 && c.cells[i-1].cpu >= cell.cpu {
		i--
	}
	if i < len(c.cells) && c.cells[i].cpu == cell.cpu {
		c.cells[i] = cell
		return
	}
	c.cells = slices.Insert(c.cells, i, cell)
}

// endCPUs writes the lists over CPUs.
func (e *Encoder) endCPUs() {
	for _, c := range e.cpu {
		c.write()
	}
}

func (c *cpuInterval) write() {
	s := c.sample
	lists := [...]*[]int32{
		&s.User, &s.System, &s.Iowait, &s.Irq, &s.Softirq, &s.Steal, &s.Idle, &s.IrqSoftirqMax, &s.StealMax, &s.BusyMax,
	}
	n := len(c.cells)
	some := false // list says that there are n CPUs
	for k, list := range lists {
		*list = nil
		if k >= cpuShares && !c.peaks || k < cpuShares && !slices.ContainsFunc(c.cells, func(cell cpuCell) bool { return cell.values[k] != unknown }) {
			continue
		}
		some = true
		*list = make([]int32, n)
		for i := range c.cells {
			(*list)[i] = c.cells[i].values[k]
		}
	}
	s.Cpus = nil
	if n == 0 || some && int(c.cells[n-1].cpu) == n-1 {
		return // ids ascend: they are 0 to n-1
	}
	s.Cpus = make([]uint32, n)
	for i := range c.cells {
		s.Cpus[i] = c.cells[i].cpu
	}
}

// System takes the node's state over an interval; not the first report of a
// vmstat, which averages since boot.
func (e *Encoder) System(s domain.SystemSample) error {
	if s.SinceBoot {
		return nil
	}
	i, err := e.endingAt(s.At, s.Interval)
	if err != nil {
		return fmt.Errorf("system sample: %w", err)
	}
	e.batch.System = append(e.batch.System, &corewaitv1.SystemSample{
		FromUs: i.from, ToUs: i.to, RunQueue: known(s.RunQueue), Blocked: known(s.Blocked),
		SwapInKibPerS: known(s.SwapInPerS), SwapOutKibPerS: known(s.SwapOutPerS),
		InterruptsPerS: known(s.InterruptsPerS), ContextSwitchesPerS: known(s.ContextSwitchesPerS),
		Shares:      &corewaitv1.HostShares{User: ofHost(s.User), System: ofHost(s.System), Idle: ofHost(s.Idle), Iowait: ofHost(s.IOWait), Steal: ofHost(s.Steal)},
		RunQueueMax: whole32(s.RunQueueMax), TimeSqueeze: whole64(s.TimeSqueeze), PsiCpuUs: stalled(s.PSICPU), PsiIoUs: stalled(s.PSIIO), PsiMemoryUs: stalled(s.PSIMemory),
	})
	return nil
}

// Disk takes one device over an interval.
func (e *Encoder) Disk(d domain.DiskSample) error {
	i, err := e.endingAt(d.At, d.Interval)
	if err != nil {
		return fmt.Errorf("disk sample: %w", err)
	}
	e.batch.Disks = append(e.batch.Disks, &corewaitv1.DiskSample{
		FromUs: i.from, ToUs: i.to, Device: d.Device, ReadsPerS: known(d.ReadsPerS), WritesPerS: known(d.WritesPerS),
		ReadAwaitMs: known(d.ReadAwaitMS), WriteAwaitMs: known(d.WriteAwaitMS), QueueSize: known(d.QueueSize), Utilisation: known(d.Utilisation),
	})
	return nil
}

// Topology refuses a fragment that is valid from an unknown instant on.
func (e *Encoder) Topology(domain.Topology) error {
	return errors.New("topology: a batch says from when on it is valid")
}

// TopologyFrom takes how the node is built from an instant on, whole.
func (e *Encoder) TopologyFrom(from time.Time, t domain.Topology) error {
	us, err := e.at(from)
	if err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	w := &corewaitv1.Topology{
		FromUs: us, Interconnects: slices.Clone(t.Interconnects), CoresInferred: t.CoresInferred,
		KernelRelease: t.Kernel, InterruptTimeAccounted: t.InterruptTimeAccounted,
	}
	for _, c := range t.CPUs {
		id := optional(c.ID)
		if id == nil {
			return fmt.Errorf("topology: CPU %d", c.ID)
		}
		w.Cpus = append(w.Cpus, &corewaitv1.Topology_CPU{
			Id: *id, Socket: optional(c.Socket), Core: optional(c.Core), NumaNode: optional(c.Node), Offline: !c.Online,
		})
	}
	for _, p := range t.Ports {
		irqs, err := numbers(p.IRQs)
		if err != nil {
			return fmt.Errorf("topology: port %s: IRQ %w", p.Name, err)
		}
		w.Ports = append(w.Ports, &corewaitv1.Topology_Port{Name: p.Name, Driver: p.Driver, PciAddress: p.PCIAddress, NumaNode: optional(p.Node), Irqs: irqs})
	}
	for _, b := range t.Bonds {
		w.Bonds = append(w.Bonds, &corewaitv1.Topology_Bond{Name: b.Name, Mode: b.Mode, ActiveSlave: b.ActiveSlave, Slaves: slices.Clone(b.Slaves)})
	}
	if w.Affinity, err = affinity(&t); err != nil {
		return err
	}
	e.batch.Topology = append(e.batch.Topology, w)
	return nil
}

// affinity gives where IRQs go, in order of their numbers.
func affinity(t *domain.Topology) ([]*corewaitv1.Topology_Affinity, error) {
	affinity := make(map[int][]int, len(t.Affinity))
	for _, irq := range t.Fixed { // also one of which it is not known where it goes
		affinity[irq] = nil
	}
	maps.Copy(affinity, t.Affinity)
	all := make([]*corewaitv1.Topology_Affinity, 0, len(affinity))
	for irq, on := range affinity {
		id := optional(irq)
		if id == nil {
			return nil, fmt.Errorf("topology: IRQ %d", irq)
		}
		ids, err := numbers(on)
		if err != nil {
			return nil, fmt.Errorf("topology: IRQ %d on CPU %w", irq, err)
		}
		all = append(all, &corewaitv1.Topology_Affinity{Irq: *id, Cpus: ids, Fixed: slices.Contains(t.Fixed, irq)})
	}
	slices.SortFunc(all, func(a, b *corewaitv1.Topology_Affinity) int { return int(a.GetIrq()) - int(b.GetIrq()) })
	return all, nil
}

// optional gives a number; nil where it is negative, which is unknown, or beyond
// any that Linux gives.
func optional(n int) *uint32 {
	if n < 0 || n > math.MaxInt32 {
		return nil
	}
	u := uint32(n)
	return &u
}

func numbers(of []int) ([]uint32, error) {
	all := make([]uint32, 0, len(of))
	for _, n := range of {
		u := optional(n)
		if u == nil {
			return nil, fmt.Errorf("%d", n)
		}
		all = append(all, *u)
	}
	return all, nil
}
