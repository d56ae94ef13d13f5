package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/corewait/corewait/ingest"
)

// jsonDocument says whether a file that begins so is a JSON object.
func jsonDocument(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{"))
}

// probeMpstatJSON looks at the beginning of what mpstat -o JSON prints. The
// end of the beginning cuts the document, which says nothing.
func probeMpstatJSON(head []byte) (probed, bool) {
	in := probeInput(head)
	r := newMpstatJSON(context.Background(), in, noRecords{}, nil)
	if err := r.documents(); err != nil && !broken(err) {
		return probed{}, false
	}
	return r.probed()
}

// readMpstatJSON reads the rest of a document whose first line was read. A
// document that breaks off gives what stood before the break.
func readMpstatJSON(ctx context.Context, in *input, to ingest.Sink, first []byte) error {
	r := newMpstatJSON(ctx, in, to, first)
	err := r.documents()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.problem("JSON breaks off here")
		return nil
	case err != nil && broken(err):
		r.problem(fmt.Sprintf("JSON cannot be read on: %v", err))
		return nil
	}
	if err == nil && r.reports == 1 {
		r.problem("a single report: unless mpstat ran with an interval, it averages since boot")
	}
	return err
}

// broken says whether an error is of the document, not of the file or the sink.
func broken(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoMpstat)
}

// errNoMpstat: the document is JSON, but not as mpstat shapes it.
var errNoMpstat = errors.New("not the shape of mpstat's JSON")

// maxJSONDepth bounds the nesting; mpstat's is eight deep.
const maxJSONDepth = 32

// mpstatJSON walks the document token by token, so that memory does not grow
// with it: under "sysstat", "hosts" holds one object with "nodename", "date"
// and "statistics"; each of those has a "timestamp" and a "cpu-load" of one
// object per CPU.
type mpstatJSON struct {
	toolFile
	tokens  *json.Decoder
	reports int
	at      time.Time
	dated   bool
	covered time.Duration
	timed   bool // at is set
}

func newMpstatJSON(ctx context.Context, in *input, to ingest.Sink, first []byte) *mpstatJSON {
	r := &mpstatJSON{toolFile: newToolFile(in, to)}
	r.tokens = json.NewDecoder(&linesAsStream{ctx: ctx, lines: in.lines, unread: append(bytes.Clone(first), '\n')})
	r.tokens.UseNumber()
	return r
}

// linesAsStream gives the lines of a file as one stream again.
type linesAsStream struct {
	ctx    context.Context //nolint:containedctx // io.Reader has no room for it
	lines  *lineReader
	line   []byte
	unread []byte // of line
}

// Read gives at most one line.
func (l *linesAsStream) Read(p []byte) (int, error) {
	for len(l.unread) == 0 {
		if err := l.ctx.Err(); err != nil {
			return 0, err
		}
		line, err := l.lines.next()
		if err != nil {
			return 0, err
		}
		l.line = append(append(l.line[:0], line...), '\n')
		l.unread = l.line
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// documents walks the whole file: one document, or several appended.
func (r *mpstatJSON) documents() error {
	for n := 0; ; n++ {
		token, err := r.tokens.Token()
		if n > 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if token != json.Delim('{') {
			return errNoMpstat
		}
		if err := r.object(1); err != nil {
			return err
		}
	}
}

// object walks the members of an object whose brace was read.
func (r *mpstatJSON) object(depth int) error {
	if depth > maxJSONDepth {
		return errNoMpstat
	}
	for r.tokens.More() {
		key, err := r.tokens.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := r.member(name, depth); err != nil {
			return err
		}
	}
	_, err := r.tokens.Token() // the closing brace
	return err
}

// member takes over a member that is of use and walks into all others.
func (r *mpstatJSON) member(name string, depth int) error {
	value, err := r.tokens.Token()
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		r.text(name, v)
		return nil
	case json.Delim:
		switch {
		case name == "cpu-load" && v == '[':
			return r.load(depth + 1)
		case name == "node-load" || name == "sum-interrupts":
			r.known = true
		}
		if v == '{' {
			return r.object(depth + 1)
		}
		return r.array(depth + 1)
	default:
		return nil
	}
}

// array walks the elements of an array whose bracket was read.
func (r *mpstatJSON) array(depth int) error {
	if depth > maxJSONDepth {
		return errNoMpstat
	}
	for r.tokens.More() {
		if err := r.member("", depth); err != nil {
			return err
		}
	}
	_, err := r.tokens.Token() // the closing bracket
	return err
}

func (r *mpstatJSON) text(name, value string) {
	switch name {
	case "nodename":
		if r.host == "" {
			r.host = value
		}
	case "date":
		date, _, ok := cutDate([]byte(value))
		if !ok {
			r.problem("date cannot be read: times of day have no date")
		}
		r.clock.begin(date, r.in.lines.number)
		r.timed = false
	case "timestamp":
		r.report([]byte(value))
	}
}

// report begins the report of a timestamp.
func (r *mpstatJSON) report(value []byte) {
	s, rest, ok := leadTime(value)
	if !ok || len(trimBlanks(rest)) > 0 {
		r.problem(unreadable("timestamp", value))
		r.timed, r.dated, r.at = false, false, time.Time{}
		return
	}
	before, known := r.at, r.timed
	r.at, r.dated = r.clock.instant(s, nil)
	r.timed, r.covered = true, 0
	if known && r.at.After(before) {
		r.covered = r.at.Sub(before)
	}
}

// load reads the array of the CPUs of one report.
func (r *mpstatJSON) load(depth int) error {
	r.known = true
	r.reports++
	for r.tokens.More() {
		token, err := r.tokens.Token()
		if err != nil {
			return err
		}
		if token != json.Delim('{') {
			return errNoMpstat
		}
		if err := r.cpu(depth + 1); err != nil {
			return err
		}
	}
	_, err := r.tokens.Token()
	return err
}

// cpu reads the object of one CPU and sends its record.
func (r *mpstatJSON) cpu(depth int) error {
	row := jsonRow{shares: unknownShares()}
	for r.tokens.More() {
		key, err := r.tokens.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if name != "cpu" && mpstatRoleOf(name) == mpstatOther {
			err = r.member(name, depth)
		} else {
			err = r.column(&row, name)
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.tokens.Token(); err != nil {
		return err
	}
	return r.send(&row)
}

// jsonRow is the object of one CPU as read.
type jsonRow struct {
	id     string
	shares mpstatShares
	why    string // why it cannot be read
}

// column reads one value of a row.
func (r *mpstatJSON) column(row *jsonRow, name string) error {
	value, err := r.tokens.Token()
	if err != nil {
		return err
	}
	switch v := value.(type) {
	case string:
		if name != "cpu" {
			row.why = unreadable(name, []byte(v))
		}
		row.id = v
	case json.Number:
		ok := false
		if role := mpstatRoleOf(name); role != mpstatOther {
			row.shares[role], ok = share([]byte(v))
		}
		if !ok {
			row.why = unreadable(name, []byte(v))
		}
	default:
		return errNoMpstat
	}
	return nil
}

func (r *mpstatJSON) send(row *jsonRow) error {
	cpu, ok := cpuOrAll([]byte(row.id))
	switch {
	case row.why != "":
		r.problem(row.why)
		return nil
	case !ok:
		r.problem(unreadable("cpu", []byte(row.id)))
		return nil
	case !r.timed:
		r.problem("no timestamp before cpu-load")
		return nil
	}
	at := time.Time{}
	if r.dated {
		at = r.at
	}
	r.in.count++
	return r.to.CPU(row.shares.sample(cpu, at, r.covered))
}
