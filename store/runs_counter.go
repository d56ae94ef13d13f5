package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// counterPoint is one counter at one instant.
type counterPoint struct {
	instID int
	at     int64 // us since 1970
	name   string
	value  int64
}

// counterRun is a row of counters: readings of one set of counters. values holds
// those of the first reading, then the differences to the reading before, reading
// by reading, each in the order of names.
type counterRun struct {
	instID    int
	at, until int64 // us since 1970; until is the last reading's
	names     []string
	readingUS []int32 // of the following readings, after at; nil: none
	values    []int64
}

// valuesInRun bounds the values of a row; a single reading may have more.
const valuesInRun = 1 << 16

// Names of the counters that a row of V$SYSTEM_EVENT is stored as.
const (
	eventPrefix     = "event:"
	eventWaits      = ":waits"
	eventTimeWaited = ":time_us"
)

// pointOfCounter gives a row of V$SYSSTAT as it is stored.
func pointOfCounter(c *domain.Counter) counterPoint {
	return counterPoint{instID: c.InstID, at: micros(c.At), name: c.Name, value: c.Value}
}

// pointsOfEvent adds a row of V$SYSTEM_EVENT as it is stored.
func pointsOfEvent(points []counterPoint, e *domain.SystemEvent) []counterPoint {
	at := micros(e.At)
	points = append(points, counterPoint{e.InstID, at, eventPrefix + e.Event + eventWaits, e.TotalWaits})
	if e.TimeWaited >= 0 {
		points = append(points, counterPoint{e.InstID, at, eventPrefix + e.Event + eventTimeWaited, e.TimeWaited.Microseconds()})
	}
	return points
}

// counterRuns makes rows of counters, which may come in any order; the slice is
// reordered. Of one counter at one instant the first value counts, as in series.
func counterRuns(points []counterPoint) []counterRun {
	slices.SortStableFunc(points, func(a, b counterPoint) int {
		return cmp.Or(cmp.Compare(a.instID, b.instID), cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
	points = firstOfEach(points, func(a, b *counterPoint) bool { return a.instID == b.instID && a.at == b.at && a.name == b.name })
	var runs []*openCounterRun
	open := map[string]*openCounterRun{} // by set of names, of the instance at hand
	for len(points) > 0 {
		n := 1
		for n < len(points) && points[n].instID == points[0].instID && points[n].at == points[0].at {
			n++
		}
		reading := points[:n]
		if len(runs) > 0 && runs[len(runs)-1].instID != reading[0].instID {
			clear(open)
		}
		set := setOf(reading)
		if run := open[set]; run == nil || !run.add(reading) {
			run = newCounterRun(reading)
			open[set] = run
			runs = append(runs, run)
		}
		points = points[n:]
	}
	out := make([]counterRun, len(runs))
	for i, r := range runs {
		out[i] = r.counterRun
	}
	return out
}

// setOf names a set of counters.
func setOf(reading []counterPoint) string {
	var set strings.Builder
	for i := range reading {
		set.WriteString(reading[i].name)
		set.WriteByte(0) // in no name: Postgres takes none
	}
	return set.String()
}

// openCounterRun is a run that may go on.
type openCounterRun struct {
	counterRun
	last []int64 // values of the reading before
}

func newCounterRun(reading []counterPoint) *openCounterRun {
	r := &openCounterRun{counterRun: counterRun{instID: reading[0].instID, at: reading[0].at, until: reading[0].at}}
	for i := range reading {
		r.names, r.values = append(r.names, reading[i].name), append(r.values, reading[i].value)
	}
	r.last = slices.Clone(r.values)
	return r
}

// add adds a reading of the same set; false where it begins a new run.
func (r *openCounterRun) add(reading []counterPoint) bool {
	after := reading[0].at - r.at
	if after > longestRun || len(r.readingUS)+1 >= mostInRun || len(r.values)+len(reading) > valuesInRun {
		return false
	}
	for i := range reading {
		difference := reading[i].value - r.last[i] // wraps, and wraps back when it is added
		if difference == null64 {
			return false
		}
	}
	r.readingUS = append(r.readingUS, int32(after)) //nolint:gosec // at most longestRun
	r.until = reading[0].at
	for i := range reading {
		r.values = append(r.values, reading[i].value-r.last[i])
		r.last[i] = reading[i].value
	}
	return true
}

// setHash gives the hash of a set of names' ids, in their order, that keeps
// apart what two sources read at one instant: FNV-1a.
func setHash(nameIDs []int32) int32 {
	h := fnv.New32a()
	var b [4]byte
	for _, id := range nameIDs {
		binary.BigEndian.PutUint32(b[:], uint32(id)) //nolint:gosec // bit by bit
		_, _ = h.Write(b[:])                         // never fails
	}
	return int32(h.Sum32()) //nolint:gosec // bit by bit
}

// counterSink is what takes the records of a row.
type counterSink interface {
	Counter(c domain.Counter) error
	SystemEvent(e domain.SystemEvent) error
}

// each gives the records of the readings within [from, to) in order of time. A
// counter that names an event's waits becomes one record with its time waited.
func (r *counterRun) each(from, to int64, give counterSink) error {
	n := len(r.names)
	if n == 0 || len(r.values) != n*(1+len(r.readingUS)) {
		return fmt.Errorf("%d counters in %d readings have %d values", n, 1+len(r.readingUS), len(r.values))
	}
	records := recordsOf(r.names)
	totals := make([]int64, n)
	begun, known := make([]bool, n), make([]bool, n) // a total without a begin stays unknown
	for reading := range len(r.readingUS) + 1 {
		at := r.at
		if reading > 0 {
			at += int64(r.readingUS[reading-1])
		}
		for i, v := range r.values[reading*n : (reading+1)*n] {
			if reading == 0 {
				begun[i] = v != null64
			}
			if known[i] = begun[i] && v != null64; known[i] {
				totals[i] += v
			}
		}
		if at < from || at >= to {
			continue
		}
		if err := r.giveReading(records, at, totals, known, give); err != nil {
			return err
		}
	}
	return nil
}

func (r *counterRun) giveReading(records []counterRecord, at int64, totals []int64, known []bool, give counterSink) error {
	for _, k := range records {
		if !known[k.value] {
			continue
		}
		if k.event == "" {
			if err := give.Counter(domain.Counter{At: instant(at), InstID: r.instID, Name: r.names[k.value], Value: totals[k.value]}); err != nil {
				return err
			}
			continue
		}
		e := domain.SystemEvent{At: instant(at), InstID: r.instID, Event: k.event, TotalWaits: totals[k.value], TimeWaited: -1}
		if k.time >= 0 && known[k.time] && totals[k.time] >= 0 && totals[k.time] <= math.MaxInt64/int64(time.Microsecond) {
			e.TimeWaited = time.Duration(totals[k.time]) * time.Microsecond
		}
		if err := give.SystemEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// counterRecord says which values of a set make one record.
type counterRecord struct {
	event string // empty: a counter
	value int    // index of the counter's value, or of the event's waits
	time  int    // index of the event's time waited; negative: none
}

func recordsOf(names []string) []counterRecord {
	index := make(map[string]int, len(names))
	for i, n := range names {
		index[n] = i
	}
	var records []counterRecord
	for i, n := range names {
		event, isEvent := strings.CutPrefix(n, eventPrefix)
		if e, ok := strings.CutSuffix(event, eventTimeWaited); isEvent && ok && e != "" {
			if _, paired := index[eventPrefix+e+eventWaits]; paired {
				continue // told with the waits
			}
		}
		e, isWaits := strings.CutSuffix(event, eventWaits)
		if !isEvent || !isWaits || e == "" {
			records = append(records, counterRecord{value: i, time: -1})
			continue
		}
		k := counterRecord{event: e, value: i, time: -1}
		if t, ok := index[eventPrefix+e+eventTimeWaited]; ok {
			k.time = t
		}
		records = append(records, k)
	}
	return records
}
