package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// A row of interrupt_samples is a run of intervals. All of them begin within the
// same slot of the clock, so that the same intervals make the same rows wherever
// a batch begins.
const (
	interruptSlot = 10 * 1_000_000 // us
	mostIntervals = 100            // of one run
)

// interruptRun says how many of the intervals, which are in the order in which
// they came, are one row.
func interruptRun(rows []interruptRow) int {
	n := 1
	for n < min(len(rows), mostIntervals) && rows[n].follows(&rows[n-1]) && slotOf(rows[n].at) == slotOf(rows[0].at) {
		n++
	}
	return n
}

// follows says whether an interval may be in one row with the one before.
func (r *interruptRow) follows(before *interruptRow) bool {
	return r.at == before.at+before.length && !r.isAlone() && !before.isAlone() &&
		len(r.counts) == len(before.counts) && slices.Equal(r.cpus, before.cpus)
}

// isAlone says whether an interval is a row of its own.
func (r *interruptRow) isAlone() bool {
	return r.wrapped != 0 || r.implausible != 0 || r.length == 0 || r.length > interruptSlot || len(r.counts) == 0
}

// slotOf gives the number of the slot that an instant is in.
func slotOf(at int64) int64 {
	slot := at / interruptSlot
	if at%interruptSlot < 0 {
		slot--
	}
	return slot
}

// interrupts writes a run as a row.
func (e encoder) interrupts(run []interruptRow) {
	first, last := &run[0], &run[len(run)-1]
	e.begin()
	e.time(first.at)
	e.int8(last.at + last.length - first.at)
	if slices.ContainsFunc(run, func(r interruptRow) bool { return r.length != first.length }) {
		e.packed(len(run), func(i int) int64 { return run[i].length })
	} else {
		e.null()
	}
	n := len(run)
	e.int2(int16(n)) //nolint:gosec // at most mostIntervals
	e.int2s(first.cpus)
	e.packed(n*len(first.counts), func(i int) int64 { return e.count(run[i%n].counts[i/n]) })
	e.int4(first.wrapped)
	e.int4(first.implausible)
	e.endRow()
}

// interruptMerge makes intervals of rows and passes on those that a window needs,
// in order of their begin. Runs of two spools may overlap, and the rows of two
// imports may be cut in different places: of intervals with the same begin, that
// of the first row counts.
type interruptMerge struct {
	window  domain.Window
	to      ingest.IntervalSink
	pending []interruptInterval // in order of their begin

	// Memory of the last row, for the next one where nothing of the last is pending.
	lengths []int64
	ids     []int16
	cpus    []int
	counts  []int64 // by interval, then CPU
	stored  []int64 // by CPU, then interval
}

// interruptInterval is an interval that waits for its turn.
type interruptInterval struct {
	interval
	cpus                 []int
	counts               []int64
	wrapped, implausible int
}

// row takes the next row, in order of at.
func (m *interruptMerge) row(r *rowReader) error {
	at := r.time()
	if err := m.giveBefore(at); err != nil {
		return give(err)
	}
	if len(m.pending) > 0 {
		m.ids, m.cpus, m.counts = nil, nil, nil
	}
	length, lengths, n := r.int8(), packedInts(r, m.lengths, null64), int(r.int2())
	ids, counts := r.int2s(m.ids), orNegatives(packedInts(r, m.stored, null64))
	first := interruptInterval{interval: interval{at: at}, wrapped: countOrZero(r.int4()), implausible: countOrZero(r.int4())}
	if r.err != nil {
		return r.err
	}
	m.lengths, m.ids, m.stored = keep(m.lengths, lengths), keep(m.ids, ids), keep(m.stored, counts)
	err := checkIntervals(length, lengths, n, len(counts))
	if err != nil {
		return err
	}
	cpuCount := len(counts) / n
	if m.cpus, err = cpuIDs(m.cpus, ids, cpuCount); err != nil {
		return err
	}
	first.cpus, m.counts = m.cpus, byInterval(m.counts, counts, n)
	for i := range n {
		next := first
		next.length = length / int64(n)
		if lengths != nil {
			next.length = lengths[i]
		}
		next.counts = m.counts[i*cpuCount : (i+1)*cpuCount]
		m.add(next)
		first.at += next.length
	}
	return nil
}

// byInterval puts the counts of n intervals, which are stored by CPU, in order of
// the intervals, in the memory of into where that is large enough.
func byInterval(into, counts []int64, n int) []int64 {
	into = slices.Grow(into[:0], len(counts))
	for i := range n {
		for k := i; k < len(counts); k += n {
			into = append(into, counts[k])
		}
	}
	return into
}

// checkIntervals says what does not fit together in a row of n intervals.
func checkIntervals(length int64, lengths []int64, n, counts int) error {
	if n <= 0 || counts%n != 0 {
		return fmt.Errorf("%d counts of %d intervals", counts, n)
	}
	if lengths == nil {
		if length%int64(n) != 0 {
			return fmt.Errorf("%d us are not %d intervals of the same length", length, n)
		}
		return nil
	}
	sum := int64(0)
	for _, us := range lengths {
		if us < 0 {
			return errors.New("an interval has no length")
		}
		sum += us
	}
	if len(lengths) != n || sum != length {
		return fmt.Errorf("%d intervals of %d us have %d lengths of %d us", n, length, len(lengths), sum)
	}
	return nil
}

// add keeps an interval until its turn.
func (m *interruptMerge) add(next interruptInterval) {
	at, found := slices.BinarySearchFunc(m.pending, next.at, func(p interruptInterval, at int64) int { return cmp.Compare(p.at, at) })
	if !found {
		m.pending = slices.Insert(m.pending, at, next)
	}
}

// giveBefore passes on the intervals that begin before an instant.
func (m *interruptMerge) giveBefore(at int64) error {
	n := 0
	for ; n < len(m.pending) && m.pending[n].at < at; n++ {
		p := &m.pending[n]
		s := domain.InterruptSample{
			From: instant(p.at), To: instant(p.at + p.length), CPUs: p.cpus, Counts: p.counts, Wrapped: p.wrapped, Implausible: p.implausible,
		}
		if !m.window.From.IsZero() && s.To.Before(m.window.From) || !m.window.To.IsZero() && s.From.After(m.window.To) {
			continue
		}
		if err := m.to.InterruptSample(&s); err != nil {
			return err
		}
	}
	m.pending = slices.Delete(m.pending, 0, n)
	return nil
}
