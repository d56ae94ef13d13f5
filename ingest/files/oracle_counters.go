package files

import (
	"errors"
	"fmt"
	"time"

	"github.com/corewait/corewait/domain"
)

// container keeps the rows of one container of a multitenant database apart
// from those of the others, whose counters have the same names: the first
// CON_ID of a result set is the one that is read (0 is the whole database).
type container struct {
	column int
	known  bool
	id     int64
}

var errContainer = errors.New("of another container than the rows before (CON_ID)")

func (c *container) check(cells [][]byte) error {
	if c.column < 0 {
		return nil
	}
	id, err := counterValue(cellAt(cells, c.column))
	switch {
	case err != nil:
		return fmt.Errorf("CON_ID: %w", err)
	case !c.known:
		c.known, c.id = true, id
		return nil
	case id != c.id:
		return errContainer
	default:
		return nil
	}
}

// readingRow is what a row of counters begins with.
type readingRow struct {
	at   time.Time
	inst int
	name string
}

// named reads the time, the instance and the name of a row.
func (s *snapshotColumns) named(cells [][]byte, name int) (readingRow, error) {
	var r readingRow
	var err error
	if r.at, err = s.time(cells); err != nil {
		return r, err
	}
	if r.inst, err = s.instance(cells); err != nil {
		return r, err
	}
	if r.name = s.file.texts.of(cellAt(cells, name)); r.name == "" {
		return r, errors.New("no name")
	}
	return r, nil
}

// systemEventTable reads V$SYSTEM_EVENT.
type systemEventTable struct {
	snapshotColumns
	container    container
	event, total int
	waited       int
	unit         time.Duration // of waited
}

func newSystemEventTable(s snapshotColumns, c oracleColumns) *systemEventTable {
	t := &systemEventTable{
		snapshotColumns: s,
		container:       container{column: c.first("CON_ID")},
		event:           c.first("EVENT", "EVENT_NAME"),
		total:           c.first("TOTAL_WAITS"),
		waited:          c.first("TIME_WAITED_MICRO"),
		unit:            time.Microsecond,
	}
	if t.waited < 0 {
		t.waited, t.unit = c.first("TIME_WAITED"), 10*time.Millisecond // centiseconds
	}
	return t
}

func (t *systemEventTable) row(line int, cells [][]byte) error {
	e, err := t.read(cells)
	if err != nil {
		t.file.in.problem(line, err.Error())
		return nil
	}
	t.file.in.count++
	return t.file.to.SystemEvent(e)
}

func (t *systemEventTable) read(cells [][]byte) (domain.SystemEvent, error) {
	var e domain.SystemEvent
	if err := t.container.check(cells); err != nil {
		return e, err
	}
	r, err := t.named(cells, t.event)
	if err != nil {
		return e, err
	}
	e.At, e.InstID, e.Event = r.at, r.inst, r.name
	if e.TotalWaits, err = counterValue(cellAt(cells, t.total)); err != nil {
		return e, fmt.Errorf("TOTAL_WAITS: %w", err)
	}
	waited, err := counterValue(cellAt(cells, t.waited))
	if err != nil {
		return e, fmt.Errorf("time waited: %w", err)
	}
	e.TimeWaited, err = durationOf(waited, t.unit)
	return e, err
}

func (t *systemEventTable) lost() {}

func (t *systemEventTable) end(bool) error { return nil }

// durationOf gives value units as a duration, or an error where that overflows.
func durationOf(value int64, unit time.Duration) (time.Duration, error) {
	const longest = time.Duration(1<<63 - 1)
	if value > int64(longest/unit) {
		return 0, errNumberRange
	}
	return time.Duration(value) * unit, nil
}

// sysstatTable reads V$SYSSTAT.
type sysstatTable struct {
	snapshotColumns
	container   container
	name, value int
}

func newSysstatTable(s snapshotColumns, c oracleColumns) *sysstatTable {
	return &sysstatTable{
		snapshotColumns: s,
		container:       container{column: c.first("CON_ID")},
		name:            c.first("NAME", "STAT_NAME"),
		value:           c.first("VALUE"),
	}
}

func (t *sysstatTable) row(line int, cells [][]byte) error {
	err := t.container.check(cells)
	var r readingRow
	var value int64
	if err == nil {
		r, err = t.named(cells, t.name)
	}
	if err == nil {
		// Some statistics wrap or are gauges that may be below zero.
		if value, err = wholeNumber(cellAt(cells, t.value)); err != nil {
			err = fmt.Errorf("VALUE: %w", err)
		}
	}
	if err != nil {
		t.file.in.problem(line, err.Error())
		return nil
	}
	t.file.in.count++
	return t.file.to.Counter(domain.Counter{At: r.at, InstID: r.inst, Name: r.name, Value: value})
}

func (t *sysstatTable) lost() {}

func (t *sysstatTable) end(bool) error { return nil }
