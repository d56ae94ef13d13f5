package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
)

// give carries an error of the sink past the database's.
func give(err error) error {
	if err != nil {
		return &sinkError{err}
	}
	return nil
}

// interval reads at and length_us.
func (r *rowReader) interval() (from, to time.Time) {
	at, length := r.time(), r.int8()
	return instant(at), instant(at + length)
}

// orNegatives gives counts of which NULL is unknown as the domain has them:
// negative.
func orNegatives(counts []int64) []int64 {
	for i, n := range counts {
		if n == null64 {
			counts[i] = -1
		}
	}
	return counts
}

// cpuIDs gives the ids of n CPUs: NULL means 0 to n-1.
func cpuIDs(into []int, cpus []int16, n int) ([]int, error) {
	into = into[:0]
	if cpus == nil {
		for i := range n {
			into = append(into, i)
		}
		return into, nil
	}
	if len(cpus) != n {
		return nil, fmt.Errorf("%d CPUs have %d values", len(cpus), n)
	}
	for _, id := range cpus {
		if id < 0 {
			return nil, fmt.Errorf("CPU %d", id)
		}
		into = append(into, int(id))
	}
	return into, nil
}

// countOrZero gives a count of which NULL is none.
func countOrZero(v int32) int { return int(max(v, 0)) }

func (f *feed) interruptSamples(ctx context.Context) error {
	q := f.intervals(f.src.of(interruptSamples, "at, length_us, interval_us, intervals, cpus, counts, wrapped, implausible"))
	m := interruptMerge{window: f.window, to: f.to}
	q.add("ORDER BY at")
	if err := f.read(ctx, interruptSamples.name, q, m.row); err != nil {
		return err
	}
	return m.giveBefore(math.MaxInt64)
}

// keep gives the memory to read the next row's array into.
func keep[T any](before, now []T) []T {
	if now == nil {
		return before
	}
	return now
}

func (f *feed) deviceSamples(ctx context.Context) error {
	lines, err := f.lines(ctx)
	if err != nil {
		return err
	}
	q := f.intervals(f.src.of(deviceSamples, "at, length_us, observed_us, line_ids, cpus, counts, untracked"))
	var s domain.DeviceSample
	var line []int32
	var cpu []int16
	var count []int64
	q.add("ORDER BY at")
	return f.read(ctx, deviceSamples.name, q, func(r *rowReader) error {
		s.From, s.To = r.interval()
		s.Observed = time.Duration(r.int8()) * time.Microsecond
		line, cpu, count = packedInts(r, line, null32), packedInts(r, cpu, null16), packedInts(r, count, null64)
		s.Untracked = countOrZero(r.int4())
		if r.err != nil {
			return r.err
		}
		if len(cpu) != len(line) || len(count) != len(line) {
			return fmt.Errorf("%d lines, %d CPUs and %d counts", len(line), len(cpu), len(count))
		}
		s.Gains = s.Gains[:0]
		for i, id := range line {
			name, ok := lines[id]
			if !ok {
				return fmt.Errorf("there is no interrupt line %d", id)
			}
			if count[i] != null64 {
				s.Gains = append(s.Gains, domain.LineGain{Line: name, CPU: int(cpu[i]), Count: count[i]})
			}
		}
		return give(f.to.DeviceSample(&s))
	})
}

// lines gives the node's interrupt lines by number.
func (f *feed) lines(ctx context.Context) (map[int32]domain.Line, error) {
	lines := map[int32]domain.Line{}
	q := &query{}
	q.add("SELECT line_id, irq, device, class FROM interrupt_lines WHERE node_id = ?", f.src.Node)
	err := f.read(ctx, "interrupt_lines", q, func(r *rowReader) error {
		id := r.int4()
		line := domain.Line{IRQ: r.text(), Device: r.text()}
		class := r.int2()
		if class < 0 || class > int16(domain.ClassKernel) {
			return fmt.Errorf("interrupt line %d is of class %d", id, class)
		}
		line.Class = domain.DeviceClass(class)
		lines[id] = line
		return r.err
	})
	return lines, err
}

func (f *feed) softirqSamples(ctx context.Context) error {
	q := f.intervals(f.src.of(softirqSamples, "name, at, length_us, cpus, counts, max_per_s"))
	var s domain.SoftirqSample
	var cpus []int16
	var most []int64
	q.add("ORDER BY name, at")
	return f.read(ctx, softirqSamples.name, q, func(r *rowReader) (err error) {
		s.Name = f.texts.of(r.field())
		s.From, s.To = r.interval()
		ids := r.int2s(cpus)
		s.Counts = orNegatives(packedInts(r, s.Counts, null64))
		s.MaxPerS = orNegatives(packedInts(r, most, null64))
		if r.err != nil {
			return r.err
		}
		cpus, most = keep(cpus, ids), keep(most, s.MaxPerS)
		if s.MaxPerS != nil && len(s.MaxPerS) != len(s.Counts) {
			return fmt.Errorf("%d counts have %d maxima", len(s.Counts), len(s.MaxPerS))
		}
		if s.CPUs, err = cpuIDs(s.CPUs, ids, len(s.Counts)); err != nil {
			return err
		}
		return give(f.to.SoftirqSample(&s))
	})
}

// mostEvents bounds how often one row of coverage_gaps is passed on: readings
// without a time, one a second for a hundred days.
const mostEvents = 100 * 24 * 3600

const (
	gapColumns = "source, at, until, reason, events"
	gapOrder   = "source, at, until, reason"
)

// gaps passes on gaps: one for each reading that was left out. A stretch that
// misses readings is one gap, however many it misses.
func (f *feed) gaps(ctx context.Context) error {
	q := f.src.of(coverageGaps, gapColumns)
	touching(q, f.window)
	q.add("ORDER BY " + gapOrder)
	return f.read(ctx, coverageGaps.name, q, func(r *rowReader) error {
		g, events := readGap(r, &f.texts)
		if r.err != nil {
			return r.err
		}
		if g.Reason == domain.GapMissing {
			events = 1
		}
		for range min(events, mostEvents) {
			if err := give(f.to.Gap(g)); err != nil {
				return err
			}
		}
		return nil
	})
}

// readGap reads gapColumns.
func readGap(r *rowReader, t *repeatedTexts) (g domain.Gap, events int) {
	g = domain.Gap{Source: t.of(r.field()), From: knownInstant(r.time()), To: knownInstant(r.time()), Reason: t.of(r.field())}
	return g, int(max(r.int4(), 1))
}

// knownInstant gives the time of an instant that rowReader.time read: the zero
// time where it is unknown.
func knownInstant(us int64) time.Time {
	if us == timeUnknown {
		return time.Time{}
	}
	return instant(us)
}
