package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// The node of the budget: 64 CPUs, interrupts each second, CPU time, NET_RX, eight
// disks and the system every 5 s, 100 interrupt lines every 10 s, LGWR and two
// workers 20 times a second, all pushed every 10 s.
const (
	cpus          = 64
	pushEvery     = 10 * time.Second
	samplesEvery  = 5 * time.Second
	placementTick = 50 * time.Millisecond
	runLength     = 400 * time.Microsecond // that LGWR runs before it waits again
	pushesOfDay   = int(24 * time.Hour / pushEvery)
)

// node makes up what an agent on one node sees, push by push. Values are drawn
// anew each time, since rows that repeat would compress as no real rows do.
type node struct {
	draw    *rand.Rand
	cpuIDs  []int
	perS    [cpus]float64 // mean interrupts by CPU, storage left out
	lines   []lineShape
	disks   []string
	threads []*thread
}

// lineShape is an interrupt line that goes to one CPU, as a queue of a NIC or HBA
// does, and how often.
type lineShape struct {
	line domain.Line
	cpu  int
	perS float64
}

// thread is where LGWR or a worker is.
type thread struct {
	command string
	tid     int
	busy    float64 // share of the samples in which it ran
	cpu     int
	last    time.Time // of the sample before

	ranLeft, queuedLeft time.Duration // of what it ran and queued, not told yet
}

// newNode makes the node of that number: 16 of its CPUs serve the interconnect
// and take a thousand to several thousand interrupts a second, others few or none.
func newNode(number uint64) *node {
	n := &node{draw: rand.New(rand.NewPCG(number, 64))} //nolint:gosec // made-up values, the same in every run
	for cpu := range cpus {
		n.cpuIDs = append(n.cpuIDs, cpu)
	}
	add := func(device string, class domain.DeviceClass, queues int, cpuOf func(int) int, perS func() float64) {
		for q := range queues {
			l := lineShape{domain.Line{IRQ: fmt.Sprint(100 + len(n.lines)), Device: device, Class: class}, cpuOf(q), perS()}
			n.lines = append(n.lines, l)
			if class != domain.ClassStorage {
				n.perS[l.cpu] += l.perS
			}
		}
	}
	socket := func(q int) int { return 24 + q%8 + q/8*32 } // CPUs 24 to 31 and their siblings 56 to 63
	spread := func(q int) int { return q * 5 % cpus }
	add("ens3f0", domain.ClassNetwork, 16, socket, func() float64 { return 900 + 3500*math.Pow(n.draw.Float64(), 2) })
	add("ens3f1", domain.ClassNetwork, 16, socket, func() float64 { return 0.2 })
	add("eno1", domain.ClassNetwork, 8, spread, func() float64 { return 40 + 200*n.draw.Float64() })
	add("qla2xxx0", domain.ClassStorage, 16, spread, func() float64 { return 20 + 300*n.draw.Float64() })
	add("qla2xxx1", domain.ClassStorage, 16, spread, func() float64 { return 20 + 300*n.draw.Float64() })
	add("megasas0", domain.ClassStorage, 16, spread, func() float64 { return 5 * n.draw.Float64() })
	add("", domain.ClassOther, 12, spread, func() float64 { return n.draw.Float64() })
	for d := range 8 {
		n.disks = append(n.disks, fmt.Sprint("dm-", d))
	}
	n.threads = []*thread{
		{command: "ora_lgwr_ORDP1", tid: 4711, busy: 0.8},
		{command: "ora_lg00_ORDP1", tid: 4713, busy: 0.03},
		{command: "ora_lg01_ORDP1", tid: 4717, busy: 0.01},
	}
	return n
}

// push gives a sink what the node saw in the 10 s from an instant on.
func (n *node) push(to ingest.IntervalSink, from time.Time) error {
	load := 0.6 - 0.4*math.Cos(2*math.Pi*from.Sub(from.Truncate(24*time.Hour)).Hours()/24) // quiet at midnight
	var failed []error
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	at := n.near(from)
	for s := range int(pushEvery / time.Second) {
		next := n.near(from.Add(time.Duration(s+1) * time.Second))
		counts := make([]int64, cpus)
		for cpu, perS := range n.perS {
			counts[cpu] = n.count(perS * load * next.Sub(at).Seconds())
		}
		note(to.InterruptSample(&domain.InterruptSample{From: at, To: next, CPUs: n.cpuIDs, Counts: counts}))
		at = next
	}
	note(n.pushDevices(to, from, load))
	for s := time.Duration(0); s < pushEvery; s += samplesEvery {
		note(n.pushSamples(to, from.Add(s), load))
	}
	for _, t := range n.threads {
		note(n.pushThread(to, t, from))
	}
	return errors.Join(failed...)
}

// near gives an instant as a timer meets it: late by some tenths of a millisecond.
func (n *node) near(t time.Time) time.Time {
	return t.Add(time.Duration(n.draw.ExpFloat64()*150) * time.Microsecond)
}

// phase is by how much the milliseconds of the agent's clock, which counts from the
// start of the node, begin after those of UTC. It drifts by 15 ppm.
func phase(at time.Time) time.Duration {
	const drift = 15
	return time.Duration(at.UnixMicro()/1e6*drift%1e3) * time.Microsecond
}

// count draws a number of events about its mean.
func (n *node) count(mean float64) int64 {
	return int64(math.Round(max(0, mean+math.Sqrt(mean)*2*n.draw.NormFloat64())))
}

// vary draws a value about its mean, within [0, 1].
func (n *node) vary(mean float64) float64 {
	return min(1, max(0, mean*(1+0.4*n.draw.NormFloat64())))
}

func (n *node) pushDevices(to ingest.IntervalSink, from time.Time, load float64) error {
	s := domain.DeviceSample{From: n.near(from), To: n.near(from.Add(pushEvery))}
	s.Observed = s.To.Sub(s.From)
	for _, l := range n.lines {
		if count := n.count(l.perS * load * pushEvery.Seconds()); count > 0 {
			s.Gains = append(s.Gains, domain.LineGain{Line: l.line, CPU: l.cpu, Count: count})
		}
	}
	return to.DeviceSample(&s)
}

// pushSamples gives what is sampled every 5 s.
func (n *node) pushSamples(to ingest.IntervalSink, from time.Time, load float64) error {
	start, end := n.near(from), n.near(from.Add(samplesEvery))
	length := end.Sub(start)
	counts, most := make([]int64, cpus), make([]int64, cpus)
	for cpu, perS := range n.perS {
		perS = (0.8*perS + 5) * load // loopback traffic raises it as well, on any CPU
		counts[cpu] = n.count(perS * length.Seconds())
		most[cpu] = n.count(1.3 * perS)
	}
	failed := []error{to.SoftirqSample(&domain.SoftirqSample{From: start, To: end, Name: "NET_RX", CPUs: n.cpuIDs, Counts: counts, MaxPerS: most})}
	for cpu := domain.AllCPUs; cpu < cpus; cpu++ {
		failed = append(failed, to.CPU(n.cpuSample(end, length, cpu, load)))
	}
	for _, disk := range n.disks {
		failed = append(failed, to.Disk(domain.DiskSample{
			At: end, Interval: length, Device: disk, ReadsPerS: float64(n.count(300*load)) / 5, WritesPerS: float64(n.count(900*load)) / 5,
			ReadAwaitMS: 0.6 * n.draw.ExpFloat64(), WriteAwaitMS: 0.4 * n.draw.ExpFloat64(), QueueSize: n.vary(0.2), Utilisation: n.ticks(0.1*load, 5_000),
		}))
	}
	return errors.Join(append(failed, to.System(domain.SystemSample{
		At: end, Interval: length, RunQueue: float64(n.count(10 * load)), Blocked: float64(n.count(2)), SwapInPerS: 0, SwapOutPerS: 0,
		InterruptsPerS: float64(n.count(90_000 * load)), ContextSwitchesPerS: float64(n.count(120_000 * load)),
		User: n.vary(0.12 * load), System: n.vary(0.06 * load), Idle: n.vary(0.8), IOWait: n.vary(0.01), Steal: 0,
		RunQueueMax: float64(n.count(25 * load)), TimeSqueeze: float64(n.count(0.3 * load)),
		PSICPU: n.stalled(0.02*load, length), PSIIO: n.stalled(0.01*load, length), PSIMemory: 0,
	}))...)
}

// cpuSample gives shares as /proc/stat has them: whole ticks of 10 ms, over 5 s or,
// for the peaks, over the busiest second.
func (n *node) cpuSample(end time.Time, length time.Duration, cpu int, load float64) domain.CPUSample {
	softirq := 0.002 * load
	if cpu != domain.AllCPUs && n.perS[cpu] > 500 {
		softirq = n.perS[cpu] / 15_000 * load
	}
	of := length.Seconds() * userHz
	if cpu == domain.AllCPUs {
		of *= cpus
	}
	s := domain.CPUSample{
		At: end, Interval: length, CPU: cpu, User: n.ticks(0.12*load, of), Nice: 0, System: n.ticks(0.06*load, of),
		IOWait: n.ticks(0.005, of), IRQ: 0, SoftIRQ: n.ticks(softirq, of), Steal: 0, Guest: math.NaN(),
	}
	busy := s.User + s.System + s.SoftIRQ
	s.Idle = max(0, 1-busy-s.IOWait)
	if cpu != domain.AllCPUs {
		s.Peaks = &domain.CPUPeaks{IRQSoftIRQ: n.ticks(1.5*s.SoftIRQ, userHz), Steal: 0, Busy: n.ticks(1.5*busy, userHz)}
	}
	return s
}

// ticks draws a share about its mean, of so many ticks.
func (n *node) ticks(mean, of float64) float64 {
	of = math.Round(of)
	return math.Round(n.vary(mean)*of) / of
}

// stalled draws for how long of an interval some task stalled.
func (n *node) stalled(mean float64, of time.Duration) time.Duration {
	return time.Duration(n.vary(mean) * float64(of)).Truncate(time.Microsecond)
}

// pushThread gives 10 s of a thread: where it was, in what state, and how long it
// ran and queued since the reading before. It moves every few seconds.
func (n *node) pushThread(to ingest.IntervalSink, t *thread, from time.Time) error {
	for tick := phase(from); tick < pushEvery; tick += placementTick {
		at := domain.RoundSampled(n.near(from.Add(tick)))
		if t.last.IsZero() {
			t.last = at.Add(-placementTick)
		}
		if n.draw.Float64() < 0.25*placementTick.Seconds() {
			t.cpu = n.draw.IntN(cpus)
		}
		p := domain.Placement{
			At: at, Interval: at.Sub(t.last), PID: t.tid, TID: t.tid, Command: t.command, CPU: t.cpu, State: 'S',
			CPUShare: math.NaN(), WaitShare: math.NaN(),
		}
		if n.draw.Float64() < t.busy {
			p.Exec = carry(&t.ranLeft, time.Duration(n.draw.ExpFloat64()*8*float64(time.Millisecond)))
			if n.draw.Float64() < 0.3 {
				p.RunDelay = carry(&t.queuedLeft, time.Duration(n.draw.ExpFloat64()*60*float64(time.Microsecond)))
			}
			p.Voluntary, p.Involuntary = n.count(p.Exec.Seconds()/runLength.Seconds()), n.count(0.05)
			p.State = "RSSD"[n.draw.IntN(4)]
		}
		t.last = at
		if err := to.Placement(p); err != nil {
			return fmt.Errorf("%s: %w", t.command, err)
		}
	}
	return nil
}

// carry gives a duration as the agent does: in steps of 10 us. What is left counts
// into the next one.
func carry(left *time.Duration, d time.Duration) time.Duration {
	const step = 10 * time.Microsecond
	*left += d
	told := left.Truncate(step)
	*left -= told
	return told
}
