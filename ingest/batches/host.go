package batches

import (
	"fmt"
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

// Lists of a CPUSample, in the order of cpuLists.
const (
	listUser = iota
	listSystem
	listIOWait
	listIRQ
	listSoftIRQ
	listSteal
	listIdle
	listIRQSoftIRQMax
	listStealMax
	listBusyMax
	cpuLists
)

// cpu passes on the CPUs of one interval, and the host.
func (f *feed) cpu(m *corewaitv1.CPUSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err != nil {
		return err
	}
	lists := [cpuLists][]int32{
		m.GetUser(), m.GetSystem(), m.GetIowait(), m.GetIrq(), m.GetSoftirq(), m.GetSteal(), m.GetIdle(),
		m.GetIrqSoftirqMax(), m.GetStealMax(), m.GetBusyMax(),
	}
	ids, err := f.cpusOf(m.GetCpus(), &lists)
	if err != nil {
		return err
	}
	if m.GetHost() != nil {
		if err := f.hostCPU(to, to.Sub(from), m.GetHost()); err != nil {
			return err
		}
	}
	peaks := len(lists[listIRQSoftIRQMax]) != 0
	for i, id := range ids {
		of := func(list int) float64 { return basis(lists[list], i) }
		s := domain.CPUSample{
			At: to, Interval: to.Sub(from), CPU: id, Nice: math.NaN(), Guest: math.NaN(),
			User: of(listUser), System: of(listSystem), IOWait: of(listIOWait), IRQ: of(listIRQ), SoftIRQ: of(listSoftIRQ), Steal: of(listSteal), Idle: of(listIdle),
		}
		if peaks {
			s.Peaks = &domain.CPUPeaks{IRQSoftIRQ: of(listIRQSoftIRQMax), Steal: of(listStealMax), Busy: of(listBusyMax)}
		}
		if err := f.to.CPU(s); err != nil {
			return err
		}
	}
	return nil
}

// cpusOf gives the CPUs that lists are over.
func (f *feed) cpusOf(cpus []uint32, lists *[cpuLists][]int32) ([]int, error) {
	n := len(cpus)
	for i, list := range lists {
		if n == 0 {
			n = len(list)
		}
		if len(list) != 0 && len(list) != n {
			return nil, wrong("%d CPUs and %d shares", n, len(list))
		}
		for _, v := range list {
			if v > basisPoints {
				return nil, wrong("a share of %d hundredths of a percent", v)
			}
		}
		if first := lists[listIRQSoftIRQMax]; i > listIRQSoftIRQMax && (len(list) == 0) != (len(first) == 0) {
			return nil, wrong("some of the three lists of greatest shares without the others")
		}
	}
	return f.cpuIDs(cpus, n)
}

// basis gives a share of a list; NaN where it is unknown.
func basis(list []int32, i int) float64 {
	if len(list) == 0 || list[i] < 0 {
		return math.NaN()
	}
	return float64(list[i]) / basisPoints
}

// ofHost gives a host's share; NaN where it is unknown.
func ofHost(ppm *uint32) float64 {
	if ppm == nil {
		return math.NaN()
	}
	return float64(*ppm) / millionths
}

// checkHost bounds a host's shares.
func checkHost(h *corewaitv1.HostShares) error {
	if h == nil {
		return nil
	}
	for _, ppm := range [...]*uint32{h.User, h.System, h.Iowait, h.Irq, h.Softirq, h.Steal, h.Idle} { //nolint:protogetter // unknown is not 0
		if ppm != nil && *ppm > millionths {
			return wrong("a share of %d millionths", *ppm)
		}
	}
	return nil
}

func (f *feed) hostCPU(at time.Time, length time.Duration, h *corewaitv1.HostShares) error {
	if err := checkHost(h); err != nil {
		return err
	}
	return f.to.CPU(domain.CPUSample{
		At: at, Interval: length, CPU: domain.AllCPUs, Nice: math.NaN(), Guest: math.NaN(),
		User: ofHost(h.User), System: ofHost(h.System), IOWait: ofHost(h.Iowait), IRQ: ofHost(h.Irq), SoftIRQ: ofHost(h.Softirq),
		Steal: ofHost(h.Steal), Idle: ofHost(h.Idle),
	})
}

// rates reads numbers that are neither negative nor endless; NaN where unknown.
type rates struct{ err error }

func (r *rates) of(v *float64, name string) float64 {
	switch {
	case v == nil:
		return math.NaN()
	case !(*v >= 0 && *v <= math.MaxInt32) && r.err == nil: // the bound of a row's columns; nothing here comes near
		r.err = wrong("%s %v", name, *v)
	}
	return *v
}

// stalled reads for how long some task stalled; negative where unknown.
func (r *rates) stalled(us *uint64, name string) time.Duration {
	if us == nil {
		return -1
	}
	if *us > uint64(2*longestInterval/time.Microsecond) && r.err == nil {
		r.err = wrong("%s %d", name, *us)
	}
	return time.Duration(min(*us, latestUS)) * time.Microsecond
}

func (f *feed) system(m *corewaitv1.SystemSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err == nil {
		err = checkHost(m.GetShares())
	}
	if err != nil {
		return err
	}
	h := m.GetShares()
	if h == nil {
		h = &corewaitv1.HostShares{}
	}
	var r rates
	s := domain.SystemSample{
		At: to, Interval: to.Sub(from), RunQueue: r.of(m.RunQueue, "run_queue"), Blocked: r.of(m.Blocked, "blocked"),
		SwapInPerS: r.of(m.SwapInKibPerS, "swap_in_kib_per_s"), SwapOutPerS: r.of(m.SwapOutKibPerS, "swap_out_kib_per_s"),
		InterruptsPerS: r.of(m.InterruptsPerS, "interrupts_per_s"), ContextSwitchesPerS: r.of(m.ContextSwitchesPerS, "context_switches_per_s"),
		User: ofHost(h.User), System: ofHost(h.System), Idle: ofHost(h.Idle), IOWait: ofHost(h.Iowait), Steal: ofHost(h.Steal),
		RunQueueMax: math.NaN(), TimeSqueeze: math.NaN(),
		PSICPU: r.stalled(m.PsiCpuUs, "psi_cpu_us"), PSIIO: r.stalled(m.PsiIoUs, "psi_io_us"), PSIMemory: r.stalled(m.PsiMemoryUs, "psi_memory_us"),
	}
	if m.RunQueueMax != nil {
		s.RunQueueMax = float64(m.GetRunQueueMax())
	}
	if m.TimeSqueeze != nil {
		s.TimeSqueeze = float64(m.GetTimeSqueeze())
	}
	if r.err != nil {
		return r.err
	}
	return f.to.System(s)
}

func (f *feed) disk(m *corewaitv1.DiskSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err == nil {
		err = text(m.GetDevice())
	}
	if err == nil && m.GetDevice() == "" {
		err = wrong("no device")
	}
	if err != nil {
		return err
	}
	var r rates
	d := domain.DiskSample{
		At: to, Interval: to.Sub(from), Device: m.GetDevice(), ReadsPerS: r.of(m.ReadsPerS, "reads_per_s"), WritesPerS: r.of(m.WritesPerS, "writes_per_s"),
		ReadAwaitMS: r.of(m.ReadAwaitMs, "read_await_ms"), WriteAwaitMS: r.of(m.WriteAwaitMs, "write_await_ms"),
		QueueSize: r.of(m.QueueSize, "queue_size"), Utilisation: r.of(m.Utilisation, "utilisation"),
	}
	if r.err != nil {
		return r.err
	}
	return f.to.Disk(d)
}

// topology passes on how the node is built.
func (f *feed) topology(m *corewaitv1.Topology) error {
	from, err := f.instant(m.GetFromUs())
	if err != nil {
		return err
	}
	t := domain.Topology{
		Interconnects: m.GetInterconnects(), CoresInferred: m.GetCoresInferred(), Kernel: m.GetKernelRelease(),
		InterruptTimeAccounted: m.InterruptTimeAccounted,
	}
	if len(t.Interconnects) > mostItems {
		return wrong("%d interconnects, at most %d are taken", len(t.Interconnects), mostItems)
	}
	for _, kind := range []func() error{
		func() error { return text(append([]string{m.GetKernelRelease()}, m.GetInterconnects()...)...) },
		func() error {
			return each("cpus", m.GetCpus(), func(c *corewaitv1.Topology_CPU) error { return addCPU(&t, c) })
		},
		func() error {
			return each("ports", m.GetPorts(), func(p *corewaitv1.Topology_Port) error { return addPort(&t, p) })
		},
		func() error {
			return each("bonds", m.GetBonds(), func(b *corewaitv1.Topology_Bond) error { return addBond(&t, b) })
		},
		func() error {
			return each("affinity", m.GetAffinity(), func(a *corewaitv1.Topology_Affinity) error { return addAffinity(&t, a) })
		},
	} {
		if err := kind(); err != nil {
			return err
		}
	}
	slices.Sort(t.Fixed)
	return f.to.TopologyFrom(from, t)
}

// number gives an optional number; -1 where it is unknown.
func number(n *uint32, most int) (int, error) {
	if n == nil {
		return -1, nil
	}
	if int64(*n) > int64(most) {
		return 0, wrong("number %d, at most %d is taken", *n, most)
	}
	return int(*n), nil
}

func addCPU(t *domain.Topology, m *corewaitv1.Topology_CPU) (err error) {
	c := domain.CPU{ID: int(m.GetId()), Online: !m.GetOffline()}
	if m.GetId() >= mostCPUs {
		return wrong("CPU %d", m.GetId())
	}
	if n := len(t.CPUs); n > 0 && c.ID <= t.CPUs[n-1].ID {
		return wrong("CPU %d after CPU %d", c.ID, t.CPUs[n-1].ID)
	}
	if c.Socket, err = number(m.Socket, math.MaxInt16); err != nil {
		return err
	}
	if c.Core, err = number(m.Core, math.MaxInt32); err != nil {
		return err
	}
	if c.Node, err = number(m.NumaNode, math.MaxInt16); err != nil {
		return err
	}
	t.CPUs = append(t.CPUs, c)
	return nil
}

// ints gives numbers of IRQs or CPUs.
func ints(list []uint32, most int) ([]int, error) {
	if len(list) > mostItems {
		return nil, wrong("%d numbers, at most %d are taken", len(list), mostItems)
	}
	if len(list) == 0 {
		return nil, nil
	}
	all := make([]int, len(list))
	for i := range list {
		n, err := number(&list[i], most)
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

func addPort(t *domain.Topology, m *corewaitv1.Topology_Port) (err error) {
	p := domain.Port{Name: m.GetName(), Driver: m.GetDriver(), PCIAddress: m.GetPciAddress()}
	if err := text(p.Name, p.Driver, p.PCIAddress); err != nil {
		return err
	}
	if p.Node, err = number(m.NumaNode, math.MaxInt16); err != nil {
		return err
	}
	if p.IRQs, err = ints(m.GetIrqs(), math.MaxInt32); err != nil {
		return err
	}
	t.Ports = append(t.Ports, p)
	return nil
}

func addBond(t *domain.Topology, m *corewaitv1.Topology_Bond) error {
	if len(m.GetSlaves()) > mostItems {
		return wrong("%d slaves, at most %d are taken", len(m.GetSlaves()), mostItems)
	}
	if err := text(append([]string{m.GetName(), m.GetMode(), m.GetActiveSlave()}, m.GetSlaves()...)...); err != nil {
		return err
	}
	t.Bonds = append(t.Bonds, domain.Bond{Name: m.GetName(), Mode: m.GetMode(), ActiveSlave: m.GetActiveSlave(), Slaves: m.GetSlaves()})
	return nil
}

func addAffinity(t *domain.Topology, m *corewaitv1.Topology_Affinity) error {
	if m.GetIrq() > math.MaxInt32 {
		return wrong("IRQ %d", m.GetIrq())
	}
	on, err := ints(m.GetCpus(), mostCPUs-1)
	if err != nil {
		return err
	}
	if t.Affinity == nil {
		t.Affinity = map[int][]int{}
	}
	irq := int(m.GetIrq())
	if _, twice := t.Affinity[irq]; twice {
		return wrong("IRQ %d twice", irq)
	}
	t.Affinity[irq] = on
	if m.GetFixed() {
		t.Fixed = append(t.Fixed, irq)
	}
	return nil
}

// steps passes on where the node's clock was stepped.
func (f *feed) steps() error {
	for _, s := range f.clock.Steps() {
		e := domain.NodeEvent{At: f.at(s.BoottimeUS), Kind: domain.EventClockStep, Subject: "clock", Detail: fmt.Sprintf("stepped by %s", s.By)}
		if err := f.to.NodeEvent(e); err != nil {
			return within("clock", err)
		}
	}
	return nil
}

// bondEvent passes on that another slave of a bond became active.
func (f *feed) bondEvent(m *corewaitv1.BondEvent) error {
	at, err := f.instant(m.GetAtUs())
	if err == nil {
		err = text(m.GetBond(), m.GetFromSlave(), m.GetToSlave())
	}
	if err == nil && m.GetBond() == "" {
		err = wrong("no bond")
	}
	if err != nil {
		return err
	}
	return f.to.NodeEvent(domain.NodeEvent{
		At: at, Kind: domain.EventBondFailover, Subject: m.GetBond(), Detail: orNone(m.GetFromSlave()) + " -> " + orNone(m.GetToSlave()),
	})
}

func orNone(slave string) string {
	if slave == "" {
		return "none"
	}
	return slave
}

// watched passes on which process is watched.
func (f *feed) watched(m *corewaitv1.Watched) error {
	at, err := f.instant(m.GetFromUs())
	if err == nil {
		err = text(m.GetCommand(), m.GetInstance())
	}
	if err == nil && m.GetCommand() == "" {
		err = wrong("no command")
	}
	if err != nil {
		return err
	}
	e := domain.NodeEvent{At: at, Kind: domain.EventWatchStarted, Subject: m.GetCommand(), Detail: fmt.Sprintf("pid %d", m.GetPid())}
	if m.GetEnded() {
		e.Kind = domain.EventWatchEnded
	}
	if m.GetInstance() != "" {
		e.Detail += ", instance " + m.GetInstance()
	}
	return f.to.NodeEvent(e)
}
