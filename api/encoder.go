package api

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
)

// Encoder makes a batch of records of the domain. Its methods are those of an
// ingest.IntervalSink. Records of one kind come in order of time, by CPU, device or
// thread; times that the batch cannot hold make a record fail, and nothing of it is
// taken. What is not part of the contract (NICE and GUEST, a thread's shares as
// pidstat prints them) is left out.
//
// An Encoder is not safe for concurrent use.
type Encoder struct {
	clock func(time.Time) int64
	batch *corewaitv1.Batch

	lines   map[domain.Line]uint32
	cpu     map[span]*cpuInterval
	threads map[thread]*run
	gaps    map[domain.Gap]*corewaitv1.Gap
}

// span is an interval in microseconds of CLOCK_BOOTTIME.
type span struct{ from, to int64 }

// NewEncoder makes an empty batch. Its clock gives the CLOCK_BOOTTIME, in
// microseconds, of an instant at which a record was taken.
func NewEncoder(clock func(time.Time) int64) *Encoder {
	e := &Encoder{clock: clock}
	e.Reset()
	return e
}

// Reset begins another batch.
func (e *Encoder) Reset() {
	*e = Encoder{
		clock: e.clock, batch: &corewaitv1.Batch{}, lines: map[domain.Line]uint32{}, cpu: map[span]*cpuInterval{},
		threads: map[thread]*run{}, gaps: map[domain.Gap]*corewaitv1.Gap{},
	}
}

// Batch gives the batch of all records so far, to which the caller adds what is not
// a record: spool, sequence, boot, versions. It is the encoder's until Reset.
func (e *Encoder) Batch() *corewaitv1.Batch {
	e.endCPUs()
	e.endRuns()
	return e.batch
}

// ClockReading adds a reading of the clocks: CLOCK_BOOTTIME, and what
// CLOCK_REALTIME was at that instant. What the kernel says of its clock is
// unknown where synchronized is nil and bound negative.
func (e *Encoder) ClockReading(boottimeUS int64, utc time.Time, synchronized *bool, bound time.Duration) {
	us := int64(-1)
	if bound >= 0 {
		us = bound.Microseconds()
	}
	e.batch.Clock = append(e.batch.Clock, &corewaitv1.ClockReading{BoottimeUs: boottimeUS, UtcUs: utc.UnixMicro(), Synchronized: synchronized, ErrorUs: us})
}

// at gives an instant of this boot.
func (e *Encoder) at(t time.Time) (int64, error) {
	if t.IsZero() {
		return 0, errors.New("its time is unknown")
	}
	us := e.clock(t)
	if us < 0 || us > maxBoottimeUS {
		return 0, fmt.Errorf("%s is not of this boot", t.UTC().Format(time.RFC3339Nano))
	}
	return us, nil
}

// between gives the interval from one instant to another.
func (e *Encoder) between(from, to time.Time) (span, error) {
	begin, err := e.at(from)
	if err != nil {
		return span{}, err
	}
	end, err := e.at(to)
	if err != nil {
		return span{}, err
	}
	if end <= begin {
		return span{}, errors.New("its interval is empty")
	}
	return span{begin, end}, nil
}

// endingAt gives the interval that ends at an instant.
func (e *Encoder) endingAt(end time.Time, length time.Duration) (span, error) {
	us, err := e.at(end)
	if err != nil {
		return span{}, err
	}
	if length < time.Microsecond || length.Microseconds() > us {
		return span{}, fmt.Errorf("an interval of %s cannot be", length)
	}
	return span{us - length.Microseconds(), us}, nil
}

// cpus gives ids of CPUs; nil where they are 0 to n-1.
func cpus(ids []int) ([]uint32, error) {
	if len(ids) == 0 {
		return nil, errors.New("no CPU")
	}
	plain := true
	for i, id := range ids {
		if id < 0 || id > math.MaxInt16 || i > 0 && id <= ids[i-1] {
			return nil, fmt.Errorf("CPU %d: want ids in ascending order", id)
		}
		plain = plain && id == i
	}
	if plain {
		return nil, nil
	}
	all := make([]uint32, len(ids))
	for i, id := range ids {
		all[i] = uint32(id) //nolint:gosec // checked above
	}
	return all, nil
}

// orUnknown copies counts: each unknown one becomes -1.
func orUnknown(counts []int64) []int64 {
	all := make([]int64, len(counts))
	for i, n := range counts {
		all[i] = max(n, -1)
	}
	return all
}

// count32 gives a count of what goes wrong.
func count32(n int) uint32 {
	return uint32(min(max(n, 0), math.MaxInt32))
}

// InterruptSample takes what devices' interrupts did in an interval.
func (e *Encoder) InterruptSample(s *domain.InterruptSample) error {
	i, err := e.between(s.From, s.To)
	if err == nil && len(s.CPUs) != len(s.Counts) {
		err = fmt.Errorf("%d CPUs and %d counts", len(s.CPUs), len(s.Counts))
	}
	if err != nil {
		return fmt.Errorf("interrupt sample: %w", err)
	}
	ids, err := cpus(s.CPUs)
	if err != nil {
		return fmt.Errorf("interrupt sample: %w", err)
	}
	e.batch.Interrupts = append(e.batch.Interrupts, &corewaitv1.InterruptSample{
		FromUs: i.from, ToUs: i.to, Cpus: ids, Counts: orUnknown(s.Counts), Wrapped: count32(s.Wrapped), Implausible: count32(s.Implausible),
	})
	return nil
}

// DeviceSample takes which lines interrupted which CPUs. A gain that is unknown is
// one more reading that is missing.
func (e *Encoder) DeviceSample(s *domain.DeviceSample) error {
	i, err := e.between(s.From, s.To)
	if err != nil {
		return fmt.Errorf("device sample: %w", err)
	}
	n := len(s.Gains)
	d := &corewaitv1.DeviceSample{
		FromUs: i.from, ToUs: i.to, ObservedUs: max(s.Observed.Microseconds(), 0), Untracked: count32(s.Untracked),
		Line: make([]uint32, 0, n), Cpu: make([]uint32, 0, n), Counts: make([]uint64, 0, n),
	}
	for _, g := range s.Gains {
		if g.CPU < 0 || g.CPU > math.MaxInt16 {
			return fmt.Errorf("device sample: CPU %d", g.CPU)
		}
	}
	for _, g := range s.Gains {
		if g.Count < 0 {
			d.Untracked++
			continue
		}
		d.Line = append(d.Line, e.line(g.Line))
		d.Cpu = append(d.Cpu, uint32(g.CPU)) //nolint:gosec // checked above
		d.Counts = append(d.Counts, uint64(g.Count))
	}
	e.batch.Devices = append(e.batch.Devices, d)
	return nil
}

// line gives the index of a line in the batch's list.
func (e *Encoder) line(l domain.Line) uint32 {
	if i, ok := e.lines[l]; ok {
		return i
	}
	i := uint32(len(e.batch.GetLines())) //nolint:gosec // memory bounds it
	// Classes have the numbers of the domain's.
	e.batch.Lines = append(e.batch.Lines, &corewaitv1.InterruptLine{Irq: l.IRQ, Device: l.Device, Class: corewaitv1.InterruptLine_Class(l.Class)})
	e.lines[l] = i
	return i
}

// SoftirqSample takes how often a softirq ran in an interval.
func (e *Encoder) SoftirqSample(s *domain.SoftirqSample) error {
	i, err := e.between(s.From, s.To)
	if err == nil && (len(s.Counts) != len(s.CPUs) || s.MaxPerS != nil && len(s.MaxPerS) != len(s.CPUs)) {
		err = fmt.Errorf("%d CPUs, %d counts and %d maxima", len(s.CPUs), len(s.Counts), len(s.MaxPerS))
	}
	if err != nil {
		return fmt.Errorf("softirq sample: %w", err)
	}
	ids, err := cpus(s.CPUs)
	if err != nil {
		return fmt.Errorf("softirq sample: %w", err)
	}
	sample := &corewaitv1.SoftirqSample{FromUs: i.from, ToUs: i.to, Name: s.Name, Cpus: ids, Counts: orUnknown(s.Counts)}
	if s.MaxPerS != nil {
		sample.MaxPerS = orUnknown(s.MaxPerS)
	}
	e.batch.Softirqs = append(e.batch.Softirqs, sample)
	return nil
}

// Gap takes what was not observed. Gaps that are the same are one gap of several
// readings. One that began before this boot is told in UTC.
func (e *Encoder) Gap(g domain.Gap) error {
	if g.From.IsZero() || g.To.IsZero() {
		return errors.New("gap: its time is unknown")
	}
	if g.To.Before(g.From) {
		return errors.New("gap: it ends before it begins")
	}
	if same, ok := e.gaps[g]; ok {
		same.Events = max(same.GetEvents(), 1) + 1
		return nil
	}
	wire := &corewaitv1.Gap{Source: g.Source, Reason: g.Reason, FromUs: e.clock(g.From), ToUs: e.clock(g.To)}
	if wire.GetFromUs() < 0 || wire.GetToUs() < wire.GetFromUs() {
		wire.FromUs, wire.ToUs = 0, 0
		wire.FromUtcUs, wire.ToUtcUs = g.From.UnixMicro(), g.To.UnixMicro()
	}
	e.gaps[g] = wire
	e.batch.Gaps = append(e.batch.Gaps, wire)
	return nil
}

// BondEvent takes a change of a bond's active slave. A topology from the same
// instant goes with it.
func (e *Encoder) BondEvent(at time.Time, bond, fromSlave, toSlave string) error {
	us, err := e.at(at)
	if err != nil {
		return fmt.Errorf("bond event: %w", err)
	}
	e.batch.BondEvents = append(e.batch.BondEvents, &corewaitv1.BondEvent{AtUs: us, Bond: bond, FromSlave: fromSlave, ToSlave: toSlave})
	return nil
}

// Watched takes that a process is watched, or no longer, from an instant on.
func (e *Encoder) Watched(from time.Time, p WatchedProcess, ended bool) error {
	us, err := e.at(from)
	if err != nil {
		return fmt.Errorf("watched process: %w", err)
	}
	if p.PID < 0 || p.PID > math.MaxInt32 {
		return fmt.Errorf("watched process: PID %d", p.PID)
	}
	e.batch.Watched = append(e.batch.Watched, &corewaitv1.Watched{
		FromUs: us, Command: p.Command, Pid: uint32(p.PID), Instance: p.Instance, StartTicks: p.StartTicks, Ended: ended,
	})
	return nil
}

// WatchedProcess names a process that an agent watches.
type WatchedProcess struct {
	Command    string
	PID        int
	Instance   string // the SID in its name, "" unknown
	StartTicks uint64 // field 22 of /proc/PID/stat
}

// What an agent does not send: readings of counters, and what Oracle says.
var (
	errReading = errors.New("a batch takes what counters gained over intervals")
	errOracle  = errors.New("a batch takes what a node's kernel says, not its database")
)

// Interrupts refuses a reading.
func (e *Encoder) Interrupts(*domain.InterruptSnapshot) error { return errReading }

// Softirqs refuses a reading.
func (e *Encoder) Softirqs(*domain.SoftirqSnapshot) error { return errReading }

// CPUTimes refuses a reading.
func (e *Encoder) CPUTimes(*domain.CPUTimesSnapshot) error { return errReading }

// Disks refuses a reading.
func (e *Encoder) Disks(*domain.DiskSnapshot) error { return errReading }

// Wait refuses what Oracle says.
func (e *Encoder) Wait(domain.Wait) error { return errOracle }

// Histogram refuses what Oracle says.
func (e *Encoder) Histogram(*domain.HistogramSnapshot) error { return errOracle }

// SystemEvent refuses what Oracle says.
func (e *Encoder) SystemEvent(domain.SystemEvent) error { return errOracle }

// Counter refuses what Oracle says.
func (e *Encoder) Counter(domain.Counter) error { return errOracle }

// Instance refuses what Oracle says.
func (e *Encoder) Instance(domain.Instance) error { return errOracle }
