package refcase

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/corewait/corewait/domain"
)

// secondsPerInterrupt is the softirq time that one interconnect interrupt
// brings with it: a few packets each, about 50 us on servers of this class.
const secondsPerInterrupt = 50e-6

// What makes a CPU heavy, as the reference case counts them.
const (
	heavyPerS      = 1000
	heavyTimeShare = 0.10
)

// driver says what an interrupt line's rate follows.
type driver uint8

const (
	driverClock    driver = iota // nothing: a steady rate
	driverLoad                   // the load of the instance
	driverTraffic                // the traffic on the interconnect
	driverSubmit                 // block I/O that the line's CPU submitted, LGWR's included
	driverKernel                 // the kernel's own lines, on every CPU
	driverUnmoving               // ERR and MIS
)

// irqLine is a line of /proc/interrupts and what moves it.
type irqLine struct {
	domain.InterruptLine
	driver driver
	cpu    int     // the CPU that serves it; every one for driverKernel
	perS   float64 // mean rate
}

// machine is the node as built and wired.
type machine struct {
	cpus      int
	socket    []int // by CPU
	core      []int // by CPU
	sibling   []int // by CPU; -1 none
	queueCPUs []int // that serve the interconnect, ascending
	lines     []irqLine
	networkPS []float64 // by CPU: interrupts/s of both networks, mean
	softirq   []float64 // by CPU: share of time in network softirqs, mean
	heavyCPUs []int
	polling   bool
}

func (m Machine) cpus() int { return m.Sockets * m.CoresPerSocket * m.ThreadsPerCore }

// newMachine builds the node of a scenario.
func newMachine(s *Scenario) *machine {
	r := stream(s.Seed, streamMachine)
	n, cores := s.Machine.cpus(), s.Machine.Sockets*s.Machine.CoresPerSocket
	m := &machine{
		cpus: n, socket: make([]int, n), core: make([]int, n), sibling: make([]int, n),
		networkPS: make([]float64, n), softirq: make([]float64, n), polling: s.Interconnect.Polling,
	}
	for cpu := range n {
		m.core[cpu] = cpu % cores
		m.socket[cpu] = m.core[cpu] / s.Machine.CoresPerSocket
		m.sibling[cpu] = -1
		if s.Machine.ThreadsPerCore == 2 {
			m.sibling[cpu] = (cpu + cores) % n
		}
		if m.servesQueue(s, cpu) {
			m.queueCPUs = append(m.queueCPUs, cpu)
		}
	}
	m.wire(r, s)
	for cpu := range n {
		if m.networkPS[cpu] > heavyPerS || m.softirq[cpu] > heavyTimeShare {
			m.heavyCPUs = append(m.heavyCPUs, cpu)
		}
	}
	return m
}

// servesQueue says whether the interconnect has a queue on that CPU.
func (m *machine) servesQueue(s *Scenario, cpu int) bool {
	if m.socket[cpu] != s.Interconnect.Socket {
		return false
	}
	within := m.core[cpu] % s.Machine.CoresPerSocket
	return !s.Interconnect.HalfSocket || within < (s.Machine.CoresPerSocket+1)/2
}

// wire gives every device its interrupt lines.
func (m *machine) wire(r *rand.Rand, s *Scenario) {
	m.add("0", "IR-IO-APIC    2-edge      timer", "timer", domain.ClassOther, driverClock, 0, 0.01)
	m.add("9", "IR-IO-APIC    9-fasteoi   acpi", "acpi", domain.ClassOther, driverUnmoving, 0, 0)
	m.wireInterconnect(r, s)
	m.wirePublic(r, s)
	m.wireDisks()
	m.wireKernel()
}

// bus is a PCI address as the kernel numbers message-signalled interrupts:
// the device's bus and function, shifted, plus the vector.
func bus(number, function, vector int) int { return (number<<8|function)<<11 + vector }

// wireInterconnect adds the active port with one queue per CPU and the standby
// port, which only answers link checks.
func (m *machine) wireInterconnect(r *rand.Rand, s *Scenario) {
	rates, shares := queueRates(r, &s.Interconnect, len(m.queueCPUs))
	irq := 120
	for i, cpu := range m.queueCPUs {
		m.addQueue(irq, "ens3f0", bus(0xd8, 0, i), i, driverTraffic, cpu, rates[i])
		m.networkPS[cpu] += rates[i]
		m.softirq[cpu] += shares[i]
		irq++
	}
	for i, cpu := range m.queueCPUs {
		m.addQueue(irq, "ens3f1", bus(0xd8, 1, i), i, driverClock, cpu, 0.2)
		m.networkPS[cpu] += 0.2
		irq++
	}
}

// queueRates draws the mean interrupt rate of each queue and the share of its
// CPU's time that goes with it.
func queueRates(r *rand.Rand, ic *Interconnect, n int) (rates, shares []float64) {
	rates, shares = make([]float64, n), make([]float64, n)
	for i := range rates {
		rates[i] = logBetween(r, ic.LowPerS, ic.HighPerS)
		if i < len(ic.QueuesPerS) {
			rates[i] = ic.QueuesPerS[i]
		}
	}
	for _, i := range r.Perm(n)[:min(ic.HotQueues, n)] {
		rates[i] = between(r, 8000, 12000)
	}
	for i := range rates {
		shares[i] = min(rates[i]*secondsPerInterrupt, 0.65)
		if ic.Polling {
			rates[i], shares[i] = between(r, 250, 850), between(r, 0.15, 0.45)
		}
	}
	return rates, shares
}

// wirePublic adds the network port that clients come through, lightly loaded,
// on the socket after the interconnect's.
func (m *machine) wirePublic(r *rand.Rand, s *Scenario) {
	socket, vector := (s.Interconnect.Socket+1)%s.Machine.Sockets, 0
	if s.Machine.Sockets == 1 {
		socket = 0
	}
	for cpu := range m.cpus {
		if m.socket[cpu] != socket || vector == 8 {
			continue
		}
		rate := between(r, 40, 160)
		m.addQueue(200+vector, "eno1", bus(1, 0, vector), vector, driverLoad, cpu, rate)
		m.networkPS[cpu] += rate
		m.softirq[cpu] += rate * secondsPerInterrupt
		vector++
	}
}

// wireDisks adds an NVMe controller: an admin queue and one queue per CPU,
// which completes what that CPU submitted.
func (m *machine) wireDisks() {
	m.add("300", describe(bus(0x5e, 0, 0), "nvme0q0"), "nvme0", domain.ClassStorage, driverUnmoving, 0, 0)
	for cpu := range m.cpus {
		name := "nvme0q" + strconv.Itoa(cpu+1)
		m.add(strconv.Itoa(301+cpu), describe(bus(0x5e, 0, cpu+1), name), "nvme0", domain.ClassStorage, driverSubmit, cpu, 4)
	}
}

// wireKernel adds the kernel's own lines; rates are per CPU.
func (m *machine) wireKernel() {
	for _, k := range []struct {
		id, text string
		perS     float64
	}{
		{"NMI", "Non-maskable interrupts", 0.02},
		{"LOC", "Local timer interrupts", 620},
		{"RES", "Rescheduling interrupts", 340},
		{"CAL", "Function call interrupts", 150},
		{"TLB", "TLB shootdowns", 45},
	} {
		m.add(k.id, k.text, "", domain.ClassKernel, driverKernel, 0, k.perS)
	}
	for _, id := range []string{"ERR", "MIS"} {
		m.lines = append(m.lines, irqLine{InterruptLine: domain.InterruptLine{ID: id, Class: domain.ClassKernel}, driver: driverUnmoving})
	}
}

// describe is the text after the counts as the kernel prints it: chip,
// hardware number, trigger padded to eight, handler.
func describe(hardware int, handler string) string {
	return fmt.Sprintf("IR-PCI-MSI %d-%-8s  %s", hardware, "edge", handler)
}

func (m *machine) addQueue(irq int, port string, hardware, queue int, d driver, cpu int, perS float64) {
	handler := port + "-TxRx-" + strconv.Itoa(queue)
	m.add(strconv.Itoa(irq), describe(hardware, handler), port, domain.ClassNetwork, d, cpu, perS)
}

func (m *machine) add(id, text, device string, class domain.DeviceClass, d driver, cpu int, perS float64) {
	m.lines = append(m.lines, irqLine{
		InterruptLine: domain.InterruptLine{
			ID: id, Description: text, Device: device, Class: class, Counts: make([]uint64, m.cpus),
		},
		driver: d, cpu: cpu, perS: perS,
	})
}

// topology is the node as lscpu tells it; cores only where its list of CPUs
// was collected.
func (m *machine) topology(cores bool) domain.Topology {
	t := domain.Topology{CPUs: make([]domain.CPU, m.cpus)}
	for cpu := range t.CPUs {
		t.CPUs[cpu] = domain.CPU{ID: cpu, Socket: m.socket[cpu], Core: -1, Node: m.socket[cpu], Online: true}
		if cores {
			t.CPUs[cpu].Core = m.core[cpu]
		}
	}
	return t
}

// bond is the interconnect's bond as /proc/net/bonding tells it.
func bond() domain.Bond {
	return domain.Bond{
		Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "ens3f0",
		Slaves: []string{"ens3f0", "ens3f1"},
	}
}
