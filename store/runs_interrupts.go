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
		start := e.beginArray(len(run), oidInt4)
		for i := range run {
			e.int4(int32(run[i].length)) //nolint:gosec // at most interruptSlot, or there is one
		}
		e.endArray(start)
	} else {
		e.null()
	}
	e.int2(int16(len(first.counts))) //nolint:gosec // Batch.InterruptSample bounds it
	e.int2s(first.cpus)
	e.interruptCounts(run)
	e.int4(first.wrapped)
	e.int4(first.implausible)
	e.endRow()
}

// interruptCounts writes the counts of all intervals of a run.
func (e encoder) interruptCounts(run []interruptRow) {
	oid, write := uint32(oidInt4), func(n int64) { e.int4(narrow(n)) }
	if e.to.kept() {
		oid, write = oidInt8, e.int8
	}
	start := e.beginArray(len(run)*len(run[0].counts), oid)
	for i := range run {
		for _, n := range run[i].counts {
			write(n)
		}
	}
	e.endArray(start)
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
	lengths []int32
	ids     []int16
	cpus    []int
	counts  []int64
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
	length, lengths, cpuCount := r.int8(), r.int4s(m.lengths), int(r.int2())
	ids, counts := r.int2s(m.ids), orNegatives(r.int8s(m.counts))
	first := interruptInterval{interval: interval{at: at}, wrapped: countOrZero(r.int4()), implausible: countOrZero(r.int4())}
	if r.err != nil {
		return r.err
	}
	m.lengths, m.ids, m.counts = keep(m.lengths, lengths), keep(m.ids, ids), keep(m.counts, counts)
	n, err := intervalsOf(length, lengths, cpuCount, len(counts))
	if err != nil {
		return err
	}
	if m.cpus, err = cpuIDs(m.cpus, ids, cpuCount); err != nil {
		return err
	}
	first.cpus = m.cpus
	for i := range n {
		next := first
		next.length = length / int64(n)
		if lengths != nil {
			next.length = int64(lengths[i])
		}
		next.counts = counts[i*cpuCount : (i+1)*cpuCount]
		m.add(next)
		first.at += next.length
	}
	return nil
}

// intervalsOf gives the number of intervals of a row, and says what does not fit
// together.
func intervalsOf(length int64, lengths []int32, cpuCount, counts int) (int, error) {
	n := 1
	switch {
	case cpuCount < 0 || cpuCount == 0 && counts > 0 || cpuCount > 0 && (counts == 0 || counts%cpuCount != 0):
		return 0, fmt.Errorf("%d counts of %d CPUs", counts, cpuCount)
	case cpuCount > 0:
		n = counts / cpuCount
	}
	if lengths == nil {
		if length%int64(n) != 0 {
			return 0, fmt.Errorf("%d us are not %d intervals of the same length", length, n)
		}
		return n, nil
	}
	sum := int64(0)
	for _, us := range lengths {
		if us < 0 {
			return 0, errors.New("an interval has no length")
		}
		sum += int64(us)
	}
	if len(lengths) != n || sum != length {
		return 0, fmt.Errorf("%d intervals of %d us have %d lengths of %d us", n, length, len(lengths), sum)
	}
	return n, nil
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
