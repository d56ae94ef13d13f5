package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
)

// fraction gives a stored number as a fraction of so many units.
func fraction[T int16 | int32 | int64](v, unknown T, units float64) float64 {
	if v == unknown {
		return math.NaN()
	}
	return float64(v) / units
}

// ppm gives a host's share.
func (r *rowReader) ppm() float64 { return fraction(r.int4(), null32, 1_000_000) }

// hundredths reads a number that is stored in hundredths.
func (r *rowReader) hundredths() float64 { return fraction(r.int4(), null32, 100) }

// micros reads a duration that is stored in microseconds; -1 where it is unknown.
func (r *rowReader) micros() time.Duration {
	us := r.int8()
	if us < 0 {
		return -1
	}
	return time.Duration(us) * time.Microsecond
}

// end reads at and length_us as records have them: the end and the length.
func (r *rowReader) end() (at time.Time, length time.Duration) {
	from, to := r.interval()
	return to, to.Sub(from)
}

const cpuColumns = `at, length_us, cpus, user_bp, system_bp, irq_bp, softirq_bp, steal_bp, iowait_bp, rest_bp,
	irq_softirq_max_bp, steal_max_bp, busy_max_bp,
	host_user_ppm, host_system_ppm, host_irq_ppm, host_softirq_ppm, host_steal_ppm, host_iowait_ppm, host_idle_ppm`

// cpuArrays is a row of cpu_samples: columns over CPUs, nil where unknown for all,
// empty where zero for all.
type cpuArrays struct {
	memory  []int16 // of cpus
	cpus    []int16
	ids     []int
	columns [cpuColumnCount][]int32 // what idle leaves may be far below zero, where shares are odd
}

// Columns over CPUs, in the order of cpuColumns.
const (
	cpuUser = iota
	cpuSystem
	cpuIRQ
	cpuSoftIRQ
	cpuSteal
	cpuIOWait
	cpuRest // what idle leaves of the whole beside the others
	cpuIRQSoftIRQMax
	cpuStealMax
	cpuBusyMax
	cpuColumnCount
)

// share gives the value of a column for CPU i of the row.
func (c *cpuArrays) share(column, i int) float64 {
	return fraction(sampleOf(c.columns[column], i, null32), null32, wholeShare)
}

// idle gives how much of its time CPU i was idle.
func (c *cpuArrays) idle(i int) float64 {
	rest := sampleOf(c.columns[cpuRest], i, null32)
	if rest == null32 {
		return math.NaN()
	}
	idle := wholeShare - int(rest)
	for _, column := range c.columns[:cpuRest] {
		if v := sampleOf(column, i, null32); v != null32 {
			idle -= int(v)
		}
	}
	return float64(idle) / wholeShare
}

// read reads the columns over CPUs.
func (c *cpuArrays) read(r *rowReader, memory *[cpuColumnCount][]int32) (err error) {
	c.cpus = r.int2s(c.memory)
	c.memory = keep(c.memory, c.cpus)
	n := len(c.cpus)
	for i := range c.columns {
		c.columns[i] = packedInts(r, memory[i], null32)
		memory[i] = keep(memory[i], c.columns[i])
		if c.cpus == nil && len(c.columns[i]) > 0 {
			n = len(c.columns[i])
		}
	}
	if r.err != nil {
		return r.err
	}
	for i, v := range c.columns {
		if len(v) != 0 && len(v) != n {
			return fmt.Errorf("%d CPUs have %d values in column %d", n, len(v), i)
		}
	}
	c.ids, err = cpuIDs(c.ids, c.cpus, n)
	return err
}

// peaks gives the greatest shares of CPU i in any second; nil where none is known.
func (c *cpuArrays) peaks(i int) *domain.CPUPeaks {
	p := domain.CPUPeaks{IRQSoftIRQ: c.share(cpuIRQSoftIRQMax, i), Steal: c.share(cpuStealMax, i), Busy: c.share(cpuBusyMax, i)}
	if math.IsNaN(p.IRQSoftIRQ) && math.IsNaN(p.Steal) && math.IsNaN(p.Busy) {
		return nil
	}
	return &p
}

func (f *feed) cpuSamples(ctx context.Context) error {
	q := f.intervals(f.src.of(cpuSamples, cpuColumns))
	var row cpuArrays
	var memory [cpuColumnCount][]int32
	q.add("ORDER BY at, length_us")
	return f.read(ctx, cpuSamples.name, q, func(r *rowReader) error {
		at, length := r.end()
		if err := row.read(r, &memory); err != nil {
			return err
		}
		nan := math.NaN()
		host := domain.CPUSample{
			At: at, Interval: length, CPU: domain.AllCPUs, Nice: nan, Guest: nan,
			User: r.ppm(), System: r.ppm(), IRQ: r.ppm(), SoftIRQ: r.ppm(), Steal: r.ppm(), IOWait: r.ppm(), Idle: r.ppm(),
		}
		if r.err != nil {
			return r.err
		}
		if hostKnown(&host) {
			if err := give(f.to.CPU(host)); err != nil {
				return err
			}
		}
		for i, id := range row.ids {
			s := domain.CPUSample{
				At: at, Interval: length, CPU: id, Nice: nan, Guest: nan,
				User: row.share(cpuUser, i), System: row.share(cpuSystem, i), IRQ: row.share(cpuIRQ, i), SoftIRQ: row.share(cpuSoftIRQ, i),
				Steal: row.share(cpuSteal, i), IOWait: row.share(cpuIOWait, i), Idle: row.idle(i), Peaks: row.peaks(i),
			}
			if err := give(f.to.CPU(s)); err != nil {
				return err
			}
		}
		return nil
	})
}

// hostKnown says whether a row told anything of the host as a whole.
func hostKnown(s *domain.CPUSample) bool {
	for _, v := range [...]float64{s.User, s.System, s.IRQ, s.SoftIRQ, s.Steal, s.IOWait, s.Idle} {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}

func (f *feed) systemSamples(ctx context.Context) error {
	q := f.intervals(f.src.of(systemSamples, `at, length_us, run_queue_x100, run_queue_max, blocked_x100, swap_in_kib_per_s, swap_out_kib_per_s,
		interrupts_per_s, context_switches_per_s, user_ppm, system_ppm, idle_ppm, iowait_ppm, steal_ppm, time_squeeze, psi_cpu_us, psi_io_us, psi_memory_us`))
	q.add("ORDER BY at, length_us")
	return f.read(ctx, systemSamples.name, q, func(r *rowReader) error {
		at, length := r.end()
		s := domain.SystemSample{
			At: at, Interval: length, RunQueue: r.hundredths(), RunQueueMax: fraction(r.int4(), null32, 1), Blocked: r.hundredths(),
			SwapInPerS: fraction(r.int4(), null32, 1), SwapOutPerS: fraction(r.int4(), null32, 1),
			InterruptsPerS: fraction(r.int8(), null64, 1), ContextSwitchesPerS: fraction(r.int8(), null64, 1),
			User: r.ppm(), System: r.ppm(), Idle: r.ppm(), IOWait: r.ppm(), Steal: r.ppm(),
			TimeSqueeze: fraction(r.int8(), null64, 1), PSICPU: r.micros(), PSIIO: r.micros(), PSIMemory: r.micros(),
		}
		if r.err != nil {
			return r.err
		}
		return give(f.to.System(s))
	})
}

func (f *feed) diskSamples(ctx context.Context) error {
	q := f.intervals(f.src.of(diskSamples, "at, length_us, device_ids, reads_per_ks, writes_per_ks, read_await_us, write_await_us, queue_x1000, utilisation_bp"))
	var devices []int32
	var columns, memory [6][]int64 // in the order of the statement
	q.add("ORDER BY at, length_us")
	return f.read(ctx, diskSamples.name, q, func(r *rowReader) error {
		at, length := r.end()
		devices = packedInts(r, devices, null32)
		for i := range columns {
			columns[i] = packedInts(r, memory[i], null64)
			memory[i] = keep(memory[i], columns[i])
		}
		if r.err != nil {
			return r.err
		}
		for _, v := range columns {
			if len(v) != 0 && len(v) != len(devices) {
				return fmt.Errorf("%d devices have %d values", len(devices), len(v))
			}
		}
		of := func(column, i int, units float64) float64 {
			return fraction(sampleOf(columns[column], i, null64), null64, units)
		}
		for i, id := range devices {
			name, err := f.name(NameID(id))
			if err != nil {
				return err
			}
			d := domain.DiskSample{
				At: at, Interval: length, Device: name,
				ReadsPerS: of(0, i, 1_000), WritesPerS: of(1, i, 1_000), ReadAwaitMS: of(2, i, 1_000), WriteAwaitMS: of(3, i, 1_000),
				QueueSize: of(4, i, 1_000), Utilisation: of(5, i, wholeShare),
			}
			if err := give(f.to.Disk(d)); err != nil {
				return err
			}
		}
		return nil
	})
}
