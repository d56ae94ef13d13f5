package refcase

import (
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// SQL*Plus with `set markup csv on` prints an empty line, then headings and
// text in quotes and numbers without; NULL is empty.

const (
	headingASH = "\n" + `"SAMPLE_ID","SAMPLE_TIME","INST_ID","SESSION_ID","SESSION_SERIAL#","SESSION_TYPE","SQL_ID","EVENT","WAIT_CLASS","SESSION_STATE","TIME_WAITED","P1","P2","P3","PROGRAM","MODULE","MACHINE"` + "\n"

	headingSysstat   = "\n" + `"SNAP_TIME","INST_ID","NAME","VALUE"` + "\n"
	headingHistogram = "\n" + `"SNAP_TIME","INST_ID","EVENT","WAIT_TIME_MICRO","WAIT_COUNT","LAST_UPDATE_TIME"` + "\n"
	headingInstance  = "\n" + `"INST_ID","INSTANCE_NAME","HOST_NAME"` + "\n"
)

// sqlTime is how times are printed: NLS_TIMESTAMP_FORMAT set to it in SQL.
const sqlTime = "2006-01-02 15:04:05.000"

// lastUpdate is how V$EVENT_HISTOGRAM_MICRO.LAST_UPDATE_TIME, which is text,
// looks: 16-JUN-26 09.00.05.123456 AM +09:00.
const lastUpdate = "02-Jan-06 03.04.05.000000 PM -07:00"

// row builds one line of CSV.
type row struct{ b []byte }

func (r *row) separate() {
	if len(r.b) > 0 {
		r.b = append(r.b, ',')
	}
}

func (r *row) number(n int64) {
	r.separate()
	r.b = strconv.AppendInt(r.b, n, 10)
}

func (r *row) text(s string) {
	r.separate()
	if s != "" {
		r.b = append(r.b, '"')
		r.b = append(r.b, strings.ReplaceAll(s, `"`, `""`)...)
		r.b = append(r.b, '"')
	}
}

func (r *row) time(t time.Time, zone *time.Location) {
	r.separate()
	r.b = append(r.b, '"')
	r.b = t.In(zone).AppendFormat(r.b, sqlTime)
	r.b = append(r.b, '"')
}

// end completes the line and writes it.
func (f *outFile) end(r row) error {
	r.b = append(r.b, '\n')
	f.line = r.b
	return f.write(f.line)
}

// Wait writes a row of GV$ACTIVE_SESSION_HISTORY.
func (w *FileWriter) Wait(wait domain.Wait) error {
	f, err := w.open(fileASH, headingASH)
	if err != nil {
		return err
	}
	kind, state := "FOREGROUND", "WAITING"
	if wait.Background {
		kind = "BACKGROUND"
	}
	if !wait.Waiting {
		state = "ON CPU"
	}
	r := row{f.line[:0]}
	r.number(wait.SampleID)
	r.time(wait.At, w.zone)
	r.number(int64(wait.InstID))
	r.number(int64(wait.SessionID))
	r.number(int64(wait.Serial))
	r.text(kind)
	r.text(wait.SQLID)
	r.text(wait.Event)
	r.text(waitClass(wait.Event))
	r.text(state)
	r.number(wait.TimeWaited.Microseconds())
	r.number(wait.P1)
	r.number(wait.P2)
	r.number(wait.P3)
	r.text(wait.Program)
	r.text(wait.Module)
	r.text(wait.Machine)
	return f.end(r)
}

// waitClass is V$EVENT_NAME.WAIT_CLASS of the events that the model knows.
func waitClass(event string) string {
	switch event {
	case domain.EventLogFileSync:
		return "Commit"
	case domain.EventLogFileParallelWrite:
		return "System I/O"
	case eventSequential:
		return "User I/O"
	case eventLogSwitch:
		return "Configuration"
	case "":
		return ""
	default:
		return "Other"
	}
}

// Counter writes a row of V$SYSSTAT.
func (w *FileWriter) Counter(c domain.Counter) error {
	f, err := w.open(fileSysstat, headingSysstat)
	if err != nil {
		return err
	}
	r := row{f.line[:0]}
	r.time(c.At, w.zone)
	r.number(int64(c.InstID))
	r.text(c.Name)
	r.number(c.Value)
	return f.end(r)
}

// Histogram writes the rows of V$EVENT_HISTOGRAM_MICRO.
func (w *FileWriter) Histogram(h *domain.HistogramSnapshot) error {
	f, err := w.open(fileHistogram, headingHistogram)
	if err != nil {
		return err
	}
	for _, b := range h.Buckets {
		r := row{f.line[:0]}
		r.time(h.At, w.zone)
		r.number(int64(h.InstID))
		r.text(h.Event)
		r.number(b.Below.Microseconds())
		r.separate()
		r.b = strconv.AppendUint(r.b, b.Count, 10)
		updated := ""
		if !b.LastUpdate.IsZero() {
			updated = strings.ToUpper(b.LastUpdate.In(w.zone).Format(lastUpdate))
		}
		r.text(updated)
		if err := f.end(r); err != nil {
			return err
		}
	}
	return nil
}

// Instance writes a row of GV$INSTANCE.
func (w *FileWriter) Instance(in domain.Instance) error {
	f, err := w.open(fileInstance, headingInstance)
	if err != nil {
		return err
	}
	r := row{f.line[:0]}
	r.number(int64(in.InstID))
	r.text(in.Name)
	r.text(in.Host)
	return f.end(r)
}
