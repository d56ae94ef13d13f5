package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

var _ ingest.IntervalSink = (*Batch)(nil)

// ErrUnstorable says that a record cannot be a row: its lists do not fit
// together, or an id or a time is beyond any that Linux and Oracle give.
var ErrUnstorable = errors.New("cannot be stored")

// Batch gathers records of one node and builds the rows that they are stored
// as. It implements ingest.IntervalSink, and takes no readings of counters:
// series.Intervals turns those into intervals first. It keeps copies of what it
// is given. A record without a time is left out, as series leave it out.
//
// A Batch is not safe for concurrent use.
type Batch struct {
	rows        int
	first, last int64 // instants of the rows that belong to a day's partition

	texts nameList // names that the database numbers
	words map[string]string
	lines lineList

	cpus slab[int16]
	ints slab[int64]
	refs slab[int32]

	interrupts []interruptRow
	devices    []deviceRow
	softirqs   []softirqRow
	cpuTimes   []cpuRow
	cpuRow     map[interval]int
	systems    []systemRow
	disks      []diskRow
	diskRow    map[interval]int
	gaps       map[domain.Gap]int32 // how often, times in whole microseconds
	gapOrder   []domain.Gap
	events     []eventRow
	eventKeys  map[eventKey]bool
	waits      []waitRow
	sessions   sessionNumbers

	threads    map[threadKey]int
	placements [][]domain.Placement // by thread
	histogram  map[histogramKey]int
	histograms [][]domain.HistogramSnapshot
	buckets    int // of all histograms
	counters   []counterPoint

	instances  []domain.Instance
	topologies []topologyAt
}

// interval is the start and the length of a row.
type interval struct{ at, length int64 }

type threadKey struct {
	tid     int
	command string
}

type histogramKey struct {
	inst  int
	event string
	milli bool
}

// topologyAt is how the node was built from an instant on.
type topologyAt struct {
	at int64
	domain.Topology
}

// NewBatch makes an empty batch.
func NewBatch() *Batch {
	b := &Batch{}
	b.clear()
	return b
}

// clear empties the batch, but for the numbers of unknown sessions.
func (b *Batch) clear() {
	sessions := b.sessions
	*b = Batch{
		first: math.MaxInt64, last: math.MinInt64,
		words: map[string]string{}, cpuRow: map[interval]int{}, diskRow: map[interval]int{}, gaps: map[domain.Gap]int32{}, eventKeys: map[eventKey]bool{},
		threads: map[threadKey]int{}, histogram: map[histogramKey]int{},
		sessions: sessions,
	}
}

// Rows says how much the batch holds: rows, and readings that become part of
// rows.
func (b *Batch) Rows() int { return b.rows }

// Interrupts refuses a reading: see Batch.
func (b *Batch) Interrupts(*domain.InterruptSnapshot) error { return errReading }

// Softirqs refuses a reading: see Batch.
func (b *Batch) Softirqs(*domain.SoftirqSnapshot) error { return errReading }

// CPUTimes refuses a reading: see Batch.
func (b *Batch) CPUTimes(*domain.CPUTimesSnapshot) error { return errReading }

// Disks refuses a reading: see Batch.
func (b *Batch) Disks(*domain.DiskSnapshot) error { return errReading }

var errReading = errors.New("the store takes what counters gained over intervals: series.Intervals makes that of readings")

// Seconds since 1970 of the first and past the last time that is believed: the
// years 1 to 9999. Postgres' own range is wider.
const (
	firstSecond = -62_135_596_800
	pastSecond  = 253_402_300_800
)

// instantOf gives an instant in microseconds since 1970; ok is false where it is
// unknown.
func instantOf(t time.Time) (us int64, ok bool, err error) {
	if t.IsZero() {
		return 0, false, nil
	}
	if s := t.Unix(); s < firstSecond || s >= pastSecond {
		return 0, false, fmt.Errorf("time of the year %d: %w", t.UTC().Year(), ErrUnstorable)
	}
	return micros(t), true, nil
}

// spanOf gives the interval from one instant to another.
func spanOf(from, to time.Time) (span interval, ok bool, err error) {
	start, known, err := instantOf(from)
	if err != nil || !known {
		return interval{}, false, err
	}
	end, known, err := instantOf(to)
	if err != nil || !known {
		return interval{}, false, err
	}
	if end < start {
		return interval{}, false, fmt.Errorf("interval that ends before it begins: %w", ErrUnstorable)
	}
	return interval{start, end - start}, true, nil
}

// endingAt gives the interval that ends at an instant. Its length is 0 where the
// source does not say.
func endingAt(end time.Time, length time.Duration) (span interval, ok bool, err error) {
	us, known, err := instantOf(end)
	if err != nil || !known {
		return interval{}, false, err
	}
	span.length = max(length.Microseconds(), 0)
	span.at = us - span.length
	return span, true, nil
}

// add counts a row at an instant.
func (b *Batch) add(at int64) {
	b.rows++
	b.first, b.last = min(b.first, at), max(b.last, at)
}

// storedCPUs copies ids of CPUs; nil where they are 0 to n-1.
func (b *Batch) storedCPUs(ids []int) ([]int16, error) {
	plain := true
	for i, id := range ids {
		if id < 0 || id > math.MaxInt16 {
			return nil, fmt.Errorf("CPU %d: %w", id, ErrUnstorable)
		}
		plain = plain && id == i
	}
	if plain {
		return nil, nil
	}
	cpus := b.cpus.take(len(ids))
	for i, id := range ids {
		cpus[i] = int16(id) //nolint:gosec // checked above
	}
	return cpus, nil
}

// storedCounts copies counts; negative is unknown.
func (b *Batch) storedCounts(counts []int64) []int64 {
	kept := b.ints.take(len(counts))
	for i, n := range counts {
		if n < 0 {
			n = null64
		}
		kept[i] = n
	}
	return kept
}

// word keeps one copy of a text.
func (b *Batch) word(s string, limit int) string {
	if s == "" {
		return ""
	}
	if kept, ok := b.words[s]; ok {
		return kept
	}
	kept := string([]byte(storable(s, limit))) // not a slice of some larger buffer
	b.words[kept] = kept
	return kept
}

// nameList are the names of a batch that the database numbers, in the order in
// which they came; rows refer to their index.
type nameList struct {
	list  []string
	index map[string]int32
}

func (t *nameList) of(s string) int32 {
	if i, ok := t.index[s]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]int32{}
	}
	s = string([]byte(storable(s, longestName)))
	if i, ok := t.index[s]; ok {
		return i
	}
	i := int32(len(t.list)) //nolint:gosec // memory bounds it
	t.list = append(t.list, s)
	t.index[s] = i
	return i
}

// lineList are the interrupt lines of a batch; rows refer to their index.
type lineList struct {
	list  []domain.Line
	index map[domain.Line]int32
}

func (l *lineList) of(line domain.Line) int32 {
	if i, ok := l.index[line]; ok {
		return i
	}
	if l.index == nil {
		l.index = map[domain.Line]int32{}
	}
	line.IRQ, line.Device = string([]byte(storable(line.IRQ, longestName))), string([]byte(storable(line.Device, longestName)))
	if i, ok := l.index[line]; ok {
		return i
	}
	i := int32(len(l.list)) //nolint:gosec // memory bounds it
	l.list = append(l.list, line)
	l.index[line] = i
	return i
}
