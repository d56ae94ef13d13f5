package files

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// snapshotColumns are what the rows of all readings of counters begin with:
// when they were read and of which instance.
type snapshotColumns struct {
	file *oracleFile
	at   int
	utc  bool
	inst int
}

// time gives the instant of a row's reading.
func (s *snapshotColumns) time(cells [][]byte) (time.Time, error) {
	read := s.file.clock.read
	if s.utc {
		read = s.file.clock.readUTC
	}
	at, err := read(cellAt(cells, s.at))
	if err != nil {
		return at, fmt.Errorf("time of the reading: %w", err)
	}
	return at, nil
}

// instance gives a row's INST_ID; negative where the column is absent.
func (s *snapshotColumns) instance(cells [][]byte) (int, error) { return instanceNumber(cells, s.inst) }

// maxInstance is the greatest INST_ID; Oracle allows 1 to 1,023 or fewer.
const maxInstance = 1 << 16

func instanceNumber(cells [][]byte, column int) (int, error) {
	if column < 0 {
		return -1, nil
	}
	value, err := counterValue(cellAt(cells, column))
	if err == nil && value > maxInstance {
		err = errNumberRange
	}
	if err != nil {
		return -1, fmt.Errorf("instance number: %w", err)
	}
	return int(value), nil
}

// maxBuckets bounds a histogram: V$EVENT_HISTOGRAM_MICRO has 32 buckets.
const maxBuckets = 64

// histogramTable reads V$EVENT_HISTOGRAM and V$EVENT_HISTOGRAM_MICRO. A
// snapshot that misses a bucket would show a false rise in the one after it:
// one unreadable row spoils its whole snapshot.
type histogramTable struct {
	snapshotColumns
	event, edge, count, updated int
	unit                        time.Duration

	open    bool // current holds rows
	line    int  // of current's first row
	current domain.HistogramSnapshot
	spoiled bool // a row of current was unreadable
	unsure  bool // an unreadable row may be of the snapshot that follows
}

// histogramKey is what a series of histograms is of.
type histogramKey struct {
	inst  int
	event string
}

// sentHistogram is what the last snapshot of a series held.
type sentHistogram struct {
	at      time.Time
	buckets int
}

// maxHistograms bounds the series that one file may hold: 64 instances with
// the 2,000 events of release 23.
const maxHistograms = 128_000

var (
	errEvent    = errors.New("EVENT: no name of an event")
	errEdge     = errors.New("not the edge of a bucket (they are powers of two)")
	errTogether = errors.New("the rows of one reading are not together (order by time, instance, event)")
	errTwice    = errors.New("the same bucket twice in one reading")
	errCutShort = errors.New("the reading at the end of the file lacks buckets that the one before had: not taken")
)

func newHistogramTable(s snapshotColumns, c oracleColumns) *histogramTable {
	t := &histogramTable{
		snapshotColumns: s,
		event:           c.first("EVENT", "EVENT_NAME"),
		edge:            c.first("WAIT_TIME_MICRO"),
		count:           c.first("WAIT_COUNT"),
		updated:         c.first("LAST_UPDATE_TIME"),
		unit:            time.Microsecond,
	}
	if t.edge < 0 {
		t.edge, t.unit = c.first("WAIT_TIME_MILLI"), time.Millisecond
	}
	return t
}

func (t *histogramTable) row(line int, cells [][]byte) error {
	at, err := t.time(cells)
	if err != nil {
		return t.spoil(line, err)
	}
	inst, err := t.instance(cells)
	if err != nil {
		return t.spoil(line, err)
	}
	event := t.file.texts.of(cellAt(cells, t.event))
	if event == "" || len(event) > maxText {
		return t.spoil(line, errEvent)
	}
	if !t.open || !at.Equal(t.current.At) || inst != t.current.InstID || event != t.current.Event {
		if err := t.flush(); err != nil {
			return err
		}
		t.begin(line, at, inst, event)
	}
	t.unsure = false
	bucket, err := t.bucket(line, cells)
	if err != nil {
		t.spoiled = true
		t.file.in.problem(line, err.Error())
		return nil
	}
	t.current.Buckets = append(t.current.Buckets, bucket)
	return nil
}

// lost says that a row could not be told into cells.
func (t *histogramTable) lost() { t.spoiled, t.unsure = true, true }

// spoil notes a row of which it is not known to which snapshot it belongs: to
// the one before it or the one after.
func (t *histogramTable) spoil(line int, err error) error {
	t.lost()
	t.file.in.problem(line, err.Error())
	return nil
}

func (t *histogramTable) begin(line int, at time.Time, inst int, event string) {
	t.open, t.line, t.spoiled, t.unsure = true, line, t.unsure, false
	t.current.At, t.current.InstID, t.current.Event = at, inst, event
	t.current.Milli = t.unit == time.Millisecond
	t.current.Buckets = t.current.Buckets[:0]
}

func (t *histogramTable) bucket(line int, cells [][]byte) (domain.HistogramBucket, error) {
	var b domain.HistogramBucket
	edge, err := counterValue(cellAt(cells, t.edge))
	if err != nil {
		return b, fmt.Errorf("bucket: %w", err)
	}
	// 2^42 us are 52 days; the views end at 2^32.
	if edge < 1 || edge > 1<<42 || edge&(edge-1) != 0 {
		return b, errEdge
	}
	count, err := counterValue(cellAt(cells, t.count))
	if err != nil {
		return b, fmt.Errorf("WAIT_COUNT: %w", err)
	}
	b.Below, b.Count = time.Duration(edge)*t.unit, uint64(count) //nolint:gosec // not negative: counterValue
	for i := range t.current.Buckets {
		if t.current.Buckets[i].Below == b.Below {
			return b, errTwice
		}
	}
	if len(t.current.Buckets) == maxBuckets {
		return b, errNumberRange
	}
	if cell := cellAt(cells, t.updated); len(cell) > 0 {
		if b.LastUpdate, err = t.file.clock.read(cell); err != nil {
			t.file.in.problem(line, fmt.Sprintf("LAST_UPDATE_TIME, taken as unknown: %v", err))
		}
	}
	return b, nil
}

// flush sends the snapshot whose rows have all been read.
func (t *histogramTable) flush() error {
	if !t.open {
		return nil
	}
	t.open = false
	if t.spoiled {
		return nil
	}
	key := histogramKey{t.current.InstID, t.current.Event}
	last, known := t.file.histograms[key]
	if known && !t.current.At.After(last.at) {
		t.file.in.problem(t.line, errTogether.Error())
		return nil
	}
	if !known && len(t.file.histograms) >= maxHistograms {
		t.file.in.problem(t.line, "too many events and instances in one file")
		return nil
	}
	t.file.histograms[key] = sentHistogram{t.current.At, len(t.current.Buckets)}
	slices.SortFunc(t.current.Buckets, func(a, b domain.HistogramBucket) int { return int(a.Below.Microseconds() - b.Below.Microseconds()) })
	t.file.in.count++
	return t.file.to.Histogram(&t.current)
}

// end sends the last snapshot, unless the file ends within it: buckets never
// go away while an instance is up.
func (t *histogramTable) end(ofFile bool) error {
	if ofFile && t.open && !t.spoiled {
		last := t.file.histograms[histogramKey{t.current.InstID, t.current.Event}]
		if len(t.current.Buckets) < last.buckets {
			t.open = false
			t.file.in.problem(t.line, errCutShort.Error())
			return nil
		}
	}
	return t.flush()
}
