package series

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// Intervals passes records on as they are kept: what counters gained in place
// of their readings, in order of time and once, each with the length of its
// interval. A Builder makes the same series of what it passes on as of what it
// takes.
//
// What files may tell of one instant in several places (CPU, System, Disk,
// Topology) waits until Flush, where topology is merged; all else is passed on
// at once.
type Intervals struct {
	ingest.IntervalSink // where to

	readings readings
	cpu      cpuTimeRates
	system   []domain.SystemSample
	disks    []domain.DiskSample
	topology topologyParts
	told     bool // a fragment of topology came
}

// NewIntervals makes Intervals that pass on to a sink.
func NewIntervals(to ingest.IntervalSink) *Intervals {
	i := &Intervals{IntervalSink: to}
	i.readings = newReadings(i)
	return i
}

// Interrupts takes a reading of /proc/interrupts.
func (i *Intervals) Interrupts(s *domain.InterruptSnapshot) error { return i.readings.Interrupts(s) }

// Softirqs takes a reading of /proc/softirqs.
func (i *Intervals) Softirqs(s *domain.SoftirqSnapshot) error { return i.readings.Softirqs(s) }

// CPUTimes takes a reading of /proc/stat.
func (i *Intervals) CPUTimes(s *domain.CPUTimesSnapshot) error { return i.readings.CPUTimes(s) }

// Disks takes a reading of /proc/diskstats.
func (i *Intervals) Disks(s *domain.DiskSnapshot) error { return i.readings.Disks(s) }

// CPU takes one CPU's use over an interval.
func (i *Intervals) CPU(s domain.CPUSample) error {
	if !s.At.IsZero() {
		i.cpu.addSample(s)
	}
	return nil
}

// System takes the host's state over an interval.
func (i *Intervals) System(s domain.SystemSample) error {
	if !s.At.IsZero() && !s.SinceBoot {
		i.system = append(i.system, s)
	}
	return nil
}

// Disk takes one device over an interval.
func (i *Intervals) Disk(s domain.DiskSample) error {
	if !s.At.IsZero() {
		i.disks = append(i.disks, s)
	}
	return nil
}

// Topology takes a fragment.
func (i *Intervals) Topology(t domain.Topology) error {
	i.topology.add(t)
	i.told = true
	return nil
}

// Flush ends the input and passes on what waited. Call it once.
func (i *Intervals) Flush() error {
	if err := i.readings.flush(); err != nil {
		return err
	}
	for _, pass := range []func() error{i.passCPU, i.passSystem, i.passDisks, i.passTopology} {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intervals) passCPU() error {
	for _, row := range i.cpu.inOrder() {
		for _, cpu := range slices.Sorted(maps.Keys(row.shares)) {
			s := row.shares[cpu]
			if err := i.IntervalSink.CPU(s.sample(cpu, row.Span)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *Intervals) passSystem() error {
	merged := mergeSystem(i.system)
	lengths := intervalLengths(len(merged), func(k int) (time.Time, time.Duration) { return merged[k].At, merged[k].Interval })
	for k, s := range merged {
		s.Interval = lengths[k]
		if err := i.IntervalSink.System(s); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intervals) passDisks() error {
	slices.SortStableFunc(i.disks, func(a, b domain.DiskSample) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), a.At.Compare(b.At))
	})
	i.disks = slices.CompactFunc(i.disks, func(a, b domain.DiskSample) bool { return a.Device == b.Device && a.At.Equal(b.At) })
	for from := 0; from < len(i.disks); {
		to := from + 1
		for to < len(i.disks) && i.disks[to].Device == i.disks[from].Device {
			to++
		}
		of := i.disks[from:to]
		for k, length := range intervalLengths(len(of), func(k int) (time.Time, time.Duration) { return of[k].At, of[k].Interval }) {
			of[k].Interval = length
		}
		from = to
	}
	slices.SortStableFunc(i.disks, func(a, b domain.DiskSample) int { return a.At.Compare(b.At) })
	for _, d := range i.disks {
		if err := i.IntervalSink.Disk(d); err != nil {
			return err
		}
	}
	return nil
}

// intervalLengths completes the lengths of n intervals in order of their ends:
// one that the source does not say is the time since the end before, and the
// first one's as long as usual.
func intervalLengths(n int, of func(int) (end time.Time, length time.Duration)) []time.Duration {
	ends := make([]Micros, n)
	lengths := make([]time.Duration, n)
	for k := range n {
		end, length := of(k)
		ends[k], lengths[k] = FromTime(end), length
	}
	usual := time.Duration(usualStep(ends)) * time.Microsecond
	for k := range n {
		if lengths[k] <= 0 {
			lengths[k] = usual
			if k > 0 {
				lengths[k] = min(usual, time.Duration(ends[k]-ends[k-1])*time.Microsecond)
			}
		}
	}
	return lengths
}

func (i *Intervals) passTopology() error {
	if !i.told {
		return nil
	}
	return i.IntervalSink.Topology(i.topology.build())
}
