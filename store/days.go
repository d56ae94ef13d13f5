package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// days remembers for which days the partitions exist, as days since 1970.
type days struct {
	mu    sync.RWMutex
	known map[int64]bool
}

const dayMicros = 24 * 3600 * 1_000_000

// dayOf gives the UTC day of an instant, counted since 1970.
func dayOf(us int64) int64 {
	d := us / dayMicros
	if us%dayMicros < 0 {
		d--
	}
	return d
}

func (d *days) have(from, to int64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for k := from; k <= to; k++ {
		if !d.known[k] {
			return false
		}
	}
	return true
}

// remember notes days that have partitions. It forgets those that retention
// drops by and by.
func (d *days) remember(from, to int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) > 1_000 {
		d.known = map[int64]bool{}
	}
	for k := from; k <= to; k++ {
		d.known[k] = true
	}
}

func (d *days) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = nil
}

// aheadOfNow is how far in the future rows are taken: a node's clock may be
// wrong, and its zone too.
const aheadOfNow = 48 * time.Hour

// ErrOutsideRetention says that rows are older than samples are kept, or too far
// in the future.
var ErrOutsideRetention = errors.New("outside of what is kept")

// OutsideRetentionError tells which rows of a batch cannot be stored. It is
// ErrOutsideRetention.
type OutsideRetentionError struct {
	Rows        int       // of the batch that are outside
	First, Last time.Time // of them
	From, To    time.Time // what is kept, half-open
}

func (e *OutsideRetentionError) Error() string {
	return fmt.Sprintf("%d rows from %s to %s are %v (%s to %s)", e.Rows, e.First.Format(time.RFC3339), e.Last.Format(time.RFC3339),
		ErrOutsideRetention, e.From.Format(time.RFC3339), e.To.Format(time.RFC3339))
}

// Is tells that it is ErrOutsideRetention.
func (e *OutsideRetentionError) Is(target error) bool { return target == ErrOutsideRetention }

// makeRoom holds the batch to the days that are kept and sees to it that their
// partitions exist.
func (s *Store) makeRoom(ctx context.Context, b *Batch) error {
	if b.first > b.last {
		return nil // no rows that have a day
	}
	now := time.Now().UTC()
	from, to := now.Add(-s.options.RawRetention), now.Add(aheadOfNow)
	if b.first < micros(from) || b.last >= micros(to) {
		return b.outside(from, to)
	}
	if s.mode == modeTimescale { // which makes its chunks itself
		return nil
	}
	first, last := dayOf(b.first), dayOf(b.last)
	if s.days.have(first, last) {
		return nil
	}
	if err := s.CreatePartitions(ctx, instant(b.first), instant(b.last)); err != nil {
		return err
	}
	s.days.remember(first, last)
	return nil
}

// outside counts the rows that are not within [from, to).
func (b *Batch) outside(from, to time.Time) error {
	e := &OutsideRetentionError{From: from, To: to}
	first, last := micros(from), micros(to)
	note := func(us int64) {
		if us >= first && us < last {
			return
		}
		at := instant(us)
		if e.Rows == 0 || at.Before(e.First) {
			e.First = at
		}
		if e.Rows == 0 || at.After(e.Last) {
			e.Last = at
		}
		e.Rows++
	}
	b.eachDated(func(at, _ int64) { note(at) })
	return e
}

// eachDated gives the begin and the end of all rows and readings that have a day;
// of a reading both are its instant.
func (b *Batch) eachDated(give func(from, to int64)) {
	eachInterval := func(i interval) { give(i.at, i.at+i.length) }
	for i := range b.interrupts {
		eachInterval(b.interrupts[i].interval)
	}
	for i := range b.devices {
		eachInterval(b.devices[i].interval)
	}
	for i := range b.softirqs {
		eachInterval(b.softirqs[i].interval)
	}
	for i := range b.cpuTimes {
		eachInterval(b.cpuTimes[i].interval)
	}
	for i := range b.systems {
		eachInterval(b.systems[i].interval)
	}
	for i := range b.disks {
		eachInterval(b.disks[i].interval)
	}
	b.eachReading(func(at int64) { give(at, at) })
}

// eachReading gives the instants of the waits and readings.
func (b *Batch) eachReading(give func(at int64)) {
	for i := range b.waits {
		give(b.waits[i].at)
	}
	for _, of := range b.placements {
		for i := range of {
			give(micros(of[i].At))
		}
	}
	for _, of := range b.histograms {
		for i := range of {
			give(micros(of[i].At))
		}
	}
	for i := range b.counters {
		give(b.counters[i].at)
	}
}
