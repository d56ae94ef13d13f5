package files

import (
	"cmp"
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

// maxCount bounds a bucket's waits: sums of two buckets must fit 64 bits.
const maxCount = 1 << 62

// histogramTable reads V$EVENT_HISTOGRAM and V$EVENT_HISTOGRAM_MICRO. The rows
// of one reading may come in any order: GV$ views mix instances. A snapshot that
// misses a bucket would show a false rise in the one after it: one unreadable
// row spoils its whole snapshot, or where that is not known, the whole reading.
type histogramTable struct {
	snapshotColumns
	event, edge, count, updated int
	unit                        time.Duration

	at      time.Time            // of the reading whose rows are coming
	groups  []histogramGroup     // its snapshots, by their first rows
	found   map[histogramKey]int // place in groups
	spoiled bool                 // a row of the reading was unreadable: of which group is unknown
	unsure  bool                 // an unreadable row may be of the reading that follows
}

// histogramGroup is one snapshot of a reading.
type histogramGroup struct {
	line     int // of its first row
	snapshot domain.HistogramSnapshot
	spoiled  bool // one of its rows was unreadable
}

// maxGroups bounds the instances and events of one reading.
const maxGroups = 4096

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
	errTogether = errors.New("the rows of one reading are not together (order by time)")
	errGroups   = errors.New("too many events and instances in one reading")
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
		found:           map[histogramKey]int{},
	}
	if t.edge < 0 {
		t.edge, t.unit = c.first("WAIT_TIME_MILLI"), time.Millisecond
	}
	return t
}

func (t *histogramTable) row(line int, cells [][]byte) error {
	at, err := t.time(cells)
	if err != nil {
		t.lost()
		t.file.in.problem(line, err.Error())
		return nil
	}
	if len(t.groups) == 0 || !at.Equal(t.at) {
		if err := t.flush(); err != nil {
			return err
		}
		t.at, t.spoiled = at, t.unsure
	}
	t.unsure = false
	group, err := t.group(line, cells)
	if err != nil {
		t.spoiled = true
		t.file.in.problem(line, err.Error())
		return nil
	}
	bucket, err := t.bucket(line, cells, group.snapshot.Buckets)
	if err != nil {
		group.spoiled = true
		t.file.in.problem(line, err.Error())
		return nil
	}
	group.snapshot.Buckets = append(group.snapshot.Buckets, bucket)
	return nil
}

// lost says that a row could not be told into cells, or carries no time: it may
// be of the reading before it or of the one after.
func (t *histogramTable) lost() { t.spoiled, t.unsure = true, true }

// group finds the snapshot that a row belongs to, or begins it.
func (t *histogramTable) group(line int, cells [][]byte) (*histogramGroup, error) {
	inst, err := t.instance(cells)
	if err != nil {
		return nil, err
	}
	event := t.file.texts.of(cellAt(cells, t.event))
	if event == "" || len(event) > maxText {
		return nil, errEvent
	}
	key := histogramKey{inst, event}
	if n := len(t.groups); n > 0 && t.groups[n-1].snapshot.Event == event && t.groups[n-1].snapshot.InstID == inst {
		return &t.groups[n-1], nil
	}
	if i, known := t.found[key]; known {
		return &t.groups[i], nil
	}
	n := len(t.groups)
	if n == maxGroups {
		return nil, errGroups
	}
	t.found[key] = n
	if n < cap(t.groups) {
		t.groups = t.groups[:n+1] // with the buckets of a reading before, to be used again
	} else {
		t.groups = append(t.groups, histogramGroup{})
	}
	g := &t.groups[n]
	g.line, g.spoiled = line, false
	g.snapshot = domain.HistogramSnapshot{
		At: t.at, InstID: inst, Event: event, Milli: t.unit == time.Millisecond, Buckets: g.snapshot.Buckets[:0],
	}
	return g, nil
}

func (t *histogramTable) bucket(line int, cells [][]byte, before []domain.HistogramBucket) (domain.HistogramBucket, error) {
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
	if err == nil && count > maxCount {
		err = errNumberRange
	}
	if err != nil {
		return b, fmt.Errorf("WAIT_COUNT: %w", err)
	}
	b.Below, b.Count = time.Duration(edge)*t.unit, uint64(count) //nolint:gosec // not negative: counterValue
	for i := range before {
		if before[i].Below == b.Below {
			return b, errTwice
		}
	}
	if len(before) == maxBuckets {
		return b, errNumberRange
	}
	if cell := cellAt(cells, t.updated); len(cell) > 0 {
		if b.LastUpdate, err = t.file.clock.read(cell); err != nil {
			t.file.in.problem(line, fmt.Sprintf("LAST_UPDATE_TIME, taken as unknown: %v", err))
		}
	}
	return b, nil
}

// flush sends the snapshots of the reading whose rows have all come.
func (t *histogramTable) flush() error {
	defer func() {
		t.groups = t.groups[:0]
		clear(t.found)
	}()
	for i := range t.groups {
		g := &t.groups[i]
		if t.spoiled || g.spoiled {
			continue
		}
		if err := t.send(g); err != nil {
			return err
		}
	}
	return nil
}

func (t *histogramTable) send(g *histogramGroup) error {
	key := histogramKey{g.snapshot.InstID, g.snapshot.Event}
	last, known := t.file.histograms[key]
	if known && !g.snapshot.At.After(last.at) {
		t.file.in.problem(g.line, errTogether.Error())
		return nil
	}
	if !known && len(t.file.histograms) >= maxHistograms {
		t.file.in.problem(g.line, "too many events and instances in one file")
		return nil
	}
	t.file.histograms[key] = sentHistogram{g.snapshot.At, len(g.snapshot.Buckets)}
	slices.SortFunc(g.snapshot.Buckets, func(a, b domain.HistogramBucket) int { return cmp.Compare(a.Below, b.Below) })
	t.file.in.count++
	return t.file.to.Histogram(&g.snapshot)
}

// end sends the last reading, less what the end of the file cuts: buckets never
// go away while an instance is up.
func (t *histogramTable) end(ofFile bool) error {
	for i := range t.groups {
		g := &t.groups[i]
		last := t.file.histograms[histogramKey{g.snapshot.InstID, g.snapshot.Event}]
		if ofFile && !t.spoiled && !g.spoiled && len(g.snapshot.Buckets) < last.buckets {
			g.spoiled = true
			t.file.in.problem(g.line, errCutShort.Error())
		}
	}
	return t.flush()
}
