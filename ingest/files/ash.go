package files

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// What one row stands for where USECS_PER_ROW does not say: V$ views sample
// every second, DBA_HIST keeps one sample in ten.
const (
	periodASH     = time.Second
	periodHistory = 10 * time.Second
)

// longestWait bounds TIME_WAITED: a year.
const longestWait = 365 * 24 * time.Hour

// unknownLength is the TimeWaited of a wait whose length could not be read.
const unknownLength time.Duration = -1

var (
	errState = errors.New("SESSION_STATE: neither WAITING nor ON CPU")
	errLong  = errors.New("longer than a year")
	// errLength: a wait is certain and its length is not. What a narrow column
	// hides is the longest waits, so such a row is sent, with unknownLength.
	errLength = errors.New("TIME_WAITED")
)

// ashTable reads rows of V$ACTIVE_SESSION_HISTORY, GV$ACTIVE_SESSION_HISTORY
// and DBA_HIST_ACTIVE_SESS_HISTORY; -1 stands for a column that is absent.
type ashTable struct {
	file   *oracleFile
	period time.Duration

	local, utc                      int // SAMPLE_TIME, SAMPLE_TIME_UTC
	event, waited                   int
	sample, inst, session, serial   int
	state, kind, usecs              int
	sqlID, program, module, machine int
	service, p1, p2, p3             int
	offsetKnown                     bool
}

func newASHTable(f *oracleFile, c oracleColumns) *ashTable {
	t := &ashTable{
		file:    f,
		period:  periodASH,
		local:   c.first("SAMPLE_TIME"),
		utc:     c.first("SAMPLE_TIME_UTC"),
		event:   c.first("EVENT"),
		waited:  c.first("TIME_WAITED"),
		sample:  c.first("SAMPLE_ID"),
		inst:    c.first("INST_ID", "INSTANCE_NUMBER"),
		session: c.first("SESSION_ID"),
		serial:  c.first("SESSION_SERIAL#"),
		state:   c.first("SESSION_STATE"),
		kind:    c.first("SESSION_TYPE"),
		usecs:   c.first("USECS_PER_ROW"),
		sqlID:   c.first("SQL_ID"),
		program: c.first("PROGRAM"),
		module:  c.first("MODULE"),
		machine: c.first("MACHINE"),
		service: c.first("SERVICE_NAME", "SERVICE", "SERVICE_HASH"),
		p1:      c.first("P1"),
		p2:      c.first("P2"),
		p3:      c.first("P3"),
	}
	// Only the history has these columns; V$ views call the instance INST_ID.
	if c.has("SNAP_ID", "DBID", "INSTANCE_NUMBER") {
		t.period = periodHistory
	}
	return t
}

func (t *ashTable) row(line int, cells [][]byte) error {
	w, err := t.read(cells)
	if errors.Is(err, errLength) {
		t.file.in.problem(line, err.Error())
		err = nil
	}
	if err != nil {
		t.file.in.problem(line, err.Error())
		return nil
	}
	t.file.in.count++
	return t.file.to.Wait(w)
}

func (t *ashTable) lost() {}

func (t *ashTable) end(bool) error { return nil }

// read gives the wait of a row; beside errLength it is good but for its length.
func (t *ashTable) read(cells [][]byte) (domain.Wait, error) {
	var w domain.Wait
	var err error
	if w.At, err = t.time(cells); err != nil {
		return w, err
	}
	if w.InstID, err = instanceNumber(cells, t.inst); err != nil {
		return w, err
	}
	length := t.wait(cells, &w)
	if length != nil && !errors.Is(length, errLength) {
		return w, length
	}
	if w.Period, err = t.rowPeriod(cells); err != nil {
		return w, err
	}
	w.SampleID = optionalNumber(cellAt(cells, t.sample))
	w.SessionID = int(optionalNumber(cellAt(cells, t.session)))
	w.Serial = int(optionalNumber(cellAt(cells, t.serial)))
	texts := t.file.texts
	w.SQLID = texts.of(cellAt(cells, t.sqlID))
	w.Program = texts.of(cellAt(cells, t.program))
	w.Module = texts.of(cellAt(cells, t.module))
	w.Machine = texts.of(cellAt(cells, t.machine))
	w.Service = texts.of(cellAt(cells, t.service))
	w.P1 = optionalNumber(cellAt(cells, t.p1))
	w.P2 = optionalNumber(cellAt(cells, t.p2))
	w.P3 = optionalNumber(cellAt(cells, t.p3))
	w.Background = t.background(cellAt(cells, t.kind), w.Program)
	return w, length
}

// time gives the instant of the sample: the UTC column needs no zone.
func (t *ashTable) time(cells [][]byte) (time.Time, error) {
	if t.utc < 0 {
		at, err := t.file.clock.read(cellAt(cells, t.local))
		if err != nil {
			return at, fmt.Errorf("SAMPLE_TIME: %w", err)
		}
		return at, nil
	}
	at, err := t.file.clock.readUTC(cellAt(cells, t.utc))
	if err != nil {
		return at, fmt.Errorf("SAMPLE_TIME_UTC: %w", err)
	}
	if !t.offsetKnown && t.local >= 0 {
		t.offsetKnown = true
		t.learnZone(at, cellAt(cells, t.local))
	}
	return at, nil
}

// learnZone takes the zone of the database host from a row that holds its time
// and UTC: other files of the same node may carry none.
func (t *ashTable) learnZone(at time.Time, local []byte) {
	clock := oracleClock{zone: time.UTC}
	wall, err := clock.read(local)
	if err != nil || clock.seen != nil || t.file.clock.seen != nil {
		return
	}
	distance := wall.Sub(at).Round(time.Second)
	if distance.Abs() <= maxOffset && distance%(15*time.Minute) == 0 {
		t.file.clock.seen = t.file.clock.fixedZone(distance)
	}
}

// wait reads what the session was doing. TIME_WAITED is in microseconds, of a
// wait that spans samples only in its last one, and 0 until then.
func (t *ashTable) wait(cells [][]byte, w *domain.Wait) error {
	event := cellAt(cells, t.event)
	w.Waiting = len(event) > 0 && string(event) != "ON CPU"
	if t.state >= 0 {
		switch state := cellAt(cells, t.state); {
		case string(state) == "ON CPU":
			w.Waiting = false
		case string(state) == "WAITING":
			if !w.Waiting {
				return errors.New("EVENT: no value in a row that is WAITING")
			}
		case len(state) > 0:
			return errState
		}
	}
	if !w.Waiting {
		return nil
	}
	w.Event = t.file.texts.of(event)
	waited, err := counterValue(cellAt(cells, t.waited))
	if err == nil && waited > longestWait.Microseconds() {
		err = errLong
	}
	if err != nil {
		w.TimeWaited = unknownLength
		return fmt.Errorf("%w: %w", errLength, err)
	}
	w.TimeWaited = time.Duration(waited) * time.Microsecond
	return nil
}

// rowPeriod is what one row stands for.
func (t *ashTable) rowPeriod(cells [][]byte) (time.Duration, error) {
	cell := cellAt(cells, t.usecs)
	if len(cell) == 0 {
		return t.period, nil
	}
	usecs, err := counterValue(cell)
	if err == nil && (usecs == 0 || usecs > time.Hour.Microseconds()) {
		err = errNumberRange
	}
	if err != nil {
		return 0, fmt.Errorf("USECS_PER_ROW: %w", err)
	}
	return time.Duration(usecs) * time.Microsecond, nil
}

// background says whether a session is a background process; where
// SESSION_TYPE is absent, by the name that those have: oracle@db1 (LGWR).
func (t *ashTable) background(kind []byte, program string) bool {
	if len(kind) > 0 {
		return string(kind) == "BACKGROUND"
	}
	_, name, found := strings.Cut(program, " (")
	name, closed := strings.CutSuffix(name, ")")
	if !found || !closed || len(name) != 4 || !strings.HasPrefix(program, "oracle@") {
		return false
	}
	switch name[:2] {
	case "LG", "LM", "LC", "LN", "NS", "TT", "DB", "BW", "CK", "SM", "PM", "AR", "VK", "RM", "DI", "GC", "RB", "TM", "MM":
		return true
	default:
		return false
	}
}
