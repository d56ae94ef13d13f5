package store

import (
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
)

// interruptRow is an interval of a row of interrupt_samples.
type interruptRow struct {
	interval
	cpus                 []int16 // nil: 0 to n-1
	counts               []int64
	wrapped, implausible int32
}

// InterruptSample takes what devices' interrupts did in an interval.
func (b *Batch) InterruptSample(s *domain.InterruptSample) error {
	span, ok, err := spanOf(s.From, s.To)
	if err != nil || !ok {
		return err
	}
	if len(s.CPUs) > math.MaxInt16 {
		return fmt.Errorf("interrupt sample: %d CPUs: %w", len(s.CPUs), ErrUnstorable)
	}
	cpus, err := b.cpusOf("interrupt sample", s.CPUs, len(s.Counts))
	if err != nil {
		return err
	}
	b.interrupts = append(b.interrupts, interruptRow{
		interval: span, cpus: cpus, counts: b.storedCounts(s.Counts),
		wrapped: narrow(int64(s.Wrapped)), implausible: narrow(int64(s.Implausible)),
	})
	b.add(span.at)
	return nil
}

// cpusOf holds the number of counts to that of CPUs and gives the CPUs' ids.
func (b *Batch) cpusOf(what string, ids []int, counts int) ([]int16, error) {
	if counts != len(ids) {
		return nil, fmt.Errorf("%s: %d counts of %d CPUs: %w", what, counts, len(ids), ErrUnstorable)
	}
	cpus, err := b.storedCPUs(ids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return cpus, nil
}

// deviceRow is a row of device_samples; lines are indexes into Batch.lines.
type deviceRow struct {
	interval
	observed  int64
	lines     []int32
	cpus      []int16
	counts    []int64
	untracked int32
}

// DeviceSample takes which lines interrupted which CPUs.
func (b *Batch) DeviceSample(s *domain.DeviceSample) error {
	span, ok, err := spanOf(s.From, s.To)
	if err != nil || !ok {
		return err
	}
	n := len(s.Gains)
	row := deviceRow{
		interval: span, observed: max(s.Observed.Microseconds(), 0), untracked: narrow(int64(s.Untracked)),
		lines: b.refs.take(n), cpus: b.cpus.take(n), counts: b.ints.take(n),
	}
	for i, g := range s.Gains {
		if g.CPU < 0 || g.CPU > math.MaxInt16 {
			return fmt.Errorf("device sample: CPU %d: %w", g.CPU, ErrUnstorable)
		}
		if g.Line.Class > domain.ClassKernel {
			return fmt.Errorf("device sample: a line of class %d: %w", g.Line.Class, ErrUnstorable)
		}
		row.lines[i], row.cpus[i], row.counts[i] = b.lines.of(g.Line), int16(g.CPU), g.Count
		if g.Count < 0 {
			row.counts[i] = null64
		}
	}
	b.devices = append(b.devices, row)
	b.add(span.at)
	return nil
}

// softirqRow is a row of softirq_samples.
type softirqRow struct {
	interval
	name            string
	cpus            []int16
	counts, maxPerS []int64 // maxPerS nil: unknown
}

// SoftirqSample takes how often a softirq ran in an interval.
func (b *Batch) SoftirqSample(s *domain.SoftirqSample) error {
	span, ok, err := spanOf(s.From, s.To)
	if err != nil || !ok {
		return err
	}
	cpus, err := b.cpusOf("softirq sample", s.CPUs, len(s.Counts))
	if err != nil {
		return err
	}
	row := softirqRow{interval: span, name: b.word(s.Name, longestName), cpus: cpus, counts: b.storedCounts(s.Counts)}
	if s.MaxPerS != nil {
		if len(s.MaxPerS) != len(s.CPUs) {
			return fmt.Errorf("softirq sample: %d maxima of %d CPUs: %w", len(s.MaxPerS), len(s.CPUs), ErrUnstorable)
		}
		row.maxPerS = b.storedCounts(s.MaxPerS)
	}
	b.softirqs = append(b.softirqs, row)
	b.add(span.at)
	return nil
}

// Gap takes what was not observed. Gaps that are the same but for their number
// are one row.
func (b *Batch) Gap(g domain.Gap) error {
	for _, t := range []*time.Time{&g.From, &g.To} {
		us, known, err := instantOf(*t)
		if err != nil {
			return fmt.Errorf("gap of %s: %w", g.Source, err)
		}
		if known {
			*t = instant(us)
		}
	}
	g.Source, g.Reason = b.word(g.Source, longestName), b.word(g.Reason, longestName)
	if b.gaps[g] == 0 {
		b.gapOrder = append(b.gapOrder, g)
		b.rows++ // coverage_gaps has no partitions: a gap may be of any time
	}
	if b.gaps[g] < math.MaxInt32 {
		b.gaps[g]++
	}
	return nil
}

// cpuRow is a row of cpu_samples: the CPUs of one interval, and the host.
type cpuRow struct {
	interval
	cpus  []cpuCell
	peaks bool          // of some CPU are known
	host  [shares]int32 // ppm
}

// shares is how many shares of its time a CPU has, in the order of the columns
// of cpu_samples: user, system, irq, softirq, steal, iowait, idle.
const shares = 7

// wholeShare is all of a CPU's time, in hundredths of a percent.
const wholeShare = 10_000

// cpuCell is one CPU in one interval: hundredths of a percent.
type cpuCell struct {
	cpu    int16
	shares [shares]int16
	peaks  [3]int16 // irq and softirq, steal, busy
}

// CPU takes one CPU's use over an interval. Of two of one CPU and interval the
// later one counts, as in series.
func (b *Batch) CPU(s domain.CPUSample) error {
	span, ok, err := endingAt(s.At, s.Interval)
	if err != nil || !ok || s.Offline {
		return err
	}
	if s.CPU != domain.AllCPUs && (s.CPU < 0 || s.CPU > math.MaxInt16) {
		return fmt.Errorf("CPU sample: CPU %d: %w", s.CPU, ErrUnstorable)
	}
	row := b.cpuTimesRow(span)
	values := [shares]float64{addKnown(s.User, s.Nice), s.System, s.IRQ, s.SoftIRQ, s.Steal, s.IOWait, s.Idle}
	if s.CPU == domain.AllCPUs {
		for i, v := range values {
			row.host[i] = narrow(scaled(v, 1_000_000))
		}
		return nil
	}
	cell := cpuCell{cpu: int16(s.CPU), peaks: [3]int16{null16, null16, null16}} //nolint:gosec // checked above
	for i, v := range values {
		cell.shares[i] = basisPoints(v)
	}
	if s.Peaks != nil {
		row.peaks = true
		cell.peaks = [3]int16{basisPoints(s.Peaks.IRQSoftIRQ), basisPoints(s.Peaks.Steal), basisPoints(s.Peaks.Busy)}
	}
	row.put(cell)
	return nil
}

// addKnown adds two shares; one that the tool did not print is left out.
func addKnown(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

// cpuTimesRow gives the row of an interval. The CPUs of one come one after
// another.
func (b *Batch) cpuTimesRow(span interval) *cpuRow {
	if n := len(b.cpuTimes); n > 0 && b.cpuTimes[n-1].interval == span {
		return &b.cpuTimes[n-1]
	}
	if i, ok := b.cpuRow[span]; ok {
		return &b.cpuTimes[i]
	}
	row := cpuRow{interval: span}
	for i := range row.host {
		row.host[i] = null32
	}
	if n := len(b.cpuTimes); n > 0 { // most likely with as many CPUs as the one before
		row.cpus = make([]cpuCell, 0, len(b.cpuTimes[n-1].cpus))
	}
	b.cpuRow[span] = len(b.cpuTimes)
	b.cpuTimes = append(b.cpuTimes, row)
	b.add(span.at)
	return &b.cpuTimes[len(b.cpuTimes)-1]
}

// put keeps the CPUs in order of their ids.
func (r *cpuRow) put(cell cpuCell) {
	i := len(r.cpus)
	for i > 0 && r.cpus[i-1].cpu >= cell.cpu {
		i--
	}
	if i < len(r.cpus) && r.cpus[i].cpu == cell.cpu {
		r.cpus[i] = cell
		return
	}
	r.cpus = append(r.cpus, cell)
	copy(r.cpus[i+1:], r.cpus[i:])
	r.cpus[i] = cell
}

// scaled rounds v times a factor to an integer; null64 where it is unknown or
// beyond any that is stored.
func scaled(v, factor float64) int64 {
	v = math.Round(v * factor)
	if !(math.Abs(v) < math.MaxInt64) {
		return null64
	}
	return int64(v)
}

// systemRow is a row of system_samples.
type systemRow struct {
	interval
	runQueue, runQueueMax, blocked, swapIn, swapOut int32
	interrupts, contextSwitches                     int64
	user, system, idle, iowait, steal               int32
	timeSqueeze                                     int64
	pressureUS                                      [3]int64 // of CPU, I/O, memory
}

// System takes the host's state over an interval; not the first report of a
// vmstat, which averages since boot.
func (b *Batch) System(s domain.SystemSample) error {
	span, ok, err := endingAt(s.At, s.Interval)
	if err != nil || !ok || s.SinceBoot {
		return err
	}
	int4 := func(v, factor float64) int32 { return narrow(scaled(v, factor)) }
	b.systems = append(b.systems, systemRow{
		interval: span,
		runQueue: int4(s.RunQueue, 100), runQueueMax: delta(scaled(s.RunQueueMax, 1)), blocked: int4(s.Blocked, 100), swapIn: int4(s.SwapInPerS, 1), swapOut: int4(s.SwapOutPerS, 1),
		interrupts: scaled(s.InterruptsPerS, 1), contextSwitches: scaled(s.ContextSwitchesPerS, 1),
		user: int4(s.User, 1e6), system: int4(s.System, 1e6), idle: int4(s.Idle, 1e6), iowait: int4(s.IOWait, 1e6), steal: int4(s.Steal, 1e6),
		timeSqueeze: count(scaled(s.TimeSqueeze, 1)), pressureUS: [3]int64{storedMicros(s.PSICPU), storedMicros(s.PSIIO), storedMicros(s.PSIMemory)},
	})
	b.add(span.at)
	return nil
}

// count gives a number of events; null64 where it is negative.
func count(v int64) int64 {
	if v < 0 {
		return null64
	}
	return v
}

// storedMicros gives microseconds; null64 where they are unknown.
func storedMicros(d time.Duration) int64 {
	if d < 0 {
		return null64
	}
	return d.Microseconds()
}

// diskRow is a row of disk_samples: the devices of one interval.
type diskRow struct {
	interval
	devices []diskCell
}

// diskCell is one device in one interval; device is an index into Batch.texts.
type diskCell struct {
	device                                   int32
	reads, writes, readAwaitUS, writeAwaitUS int64
	queue                                    int32
	utilisation                              int16
}

// mostDevices bounds the devices of one row.
const mostDevices = 4_096

// Disk takes one device over an interval. Of two of one device and interval the
// first one counts, as in series.
func (b *Batch) Disk(d domain.DiskSample) error {
	span, ok, err := endingAt(d.At, d.Interval)
	if err != nil || !ok {
		return err
	}
	row := b.disksRow(span)
	device := b.texts.of(d.Device)
	for i := range row.devices {
		if row.devices[i].device == device {
			return nil
		}
	}
	if len(row.devices) >= mostDevices {
		return fmt.Errorf("disk sample: more than %d devices at one time: %w", mostDevices, ErrUnstorable)
	}
	row.devices = append(row.devices, diskCell{
		device: device, reads: scaled(d.ReadsPerS, 1000), writes: scaled(d.WritesPerS, 1000),
		readAwaitUS: scaled(d.ReadAwaitMS, 1000), writeAwaitUS: scaled(d.WriteAwaitMS, 1000),
		queue: narrow(scaled(d.QueueSize, 1000)), utilisation: basisPoints(d.Utilisation),
	})
	return nil
}

func (b *Batch) disksRow(span interval) *diskRow {
	if i, ok := b.diskRow[span]; ok {
		return &b.disks[i]
	}
	b.diskRow[span] = len(b.disks)
	b.disks = append(b.disks, diskRow{interval: span})
	b.add(span.at)
	return &b.disks[len(b.disks)-1]
}

// Topology takes how the node is built, from when on is unknown.
func (b *Batch) Topology(t domain.Topology) error { return b.TopologyFrom(time.Time{}, t) }

// TopologyFrom takes how the node is built from an instant on.
func (b *Batch) TopologyFrom(from time.Time, t domain.Topology) error {
	at, known, err := instantOf(from)
	if err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	if !known {
		at = timeUnknown
	}
	kept, err := keptTopology(t)
	if err != nil {
		return err
	}
	b.topologies = append(b.topologies, topologyAt{at, kept})
	b.rows++
	return nil
}
