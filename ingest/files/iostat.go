package files

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

func probeIostat(head []byte) (probed, bool) { return probeTool(head, openIostat) }

func readIostat(ctx context.Context, in *input, to ingest.Sink) error {
	return readTool(ctx, openIostat(in, to))
}

func openIostat(in *input, to ingest.Sink) toolReader {
	return &iostatReader{toolFile: newToolFile(in, to), index: map[string]int{}}
}

// iostatReader reads iostat -xt of every version. After a banner the first
// report averages since boot (unless -y left it out, which the output does not
// show) and is dropped: at worst that costs one report.
type iostatReader struct {
	toolFile
	columns iostatColumns

	bannered bool  // a banner was met
	reports  int   // with a time, since the banner
	printed  stamp // time of the report
	settled  bool  // at, dated and interval are of this report
	at       time.Time
	dated    bool // at is an instant, not only a time of day
	interval time.Duration
	averages bool // the next line holds the values of avg-cpu

	// A report can name a device more than once: with --pretty each group of
	// columns is a table of its own.
	samples []domain.DiskSample
	index   map[string]int // of a device in samples

	toldNoTimes, toldNotExtended bool
}

// iostatColumns is what a heading says of the rows below it.
type iostatColumns struct {
	roles    []iostatRole
	names    []string
	extended bool // -x
}

type iostatRole uint8

const (
	iostatOther iostatRole = iota
	iostatDevice
	iostatTransfers // reads and writes together, in short output (-s)
	iostatReads
	iostatWrites
	iostatReadAwait // from here on only -x prints them
	iostatWriteAwait
	iostatAwait
	iostatQueue
	iostatUtilisation
	iostatRoles // how many there are
)

func iostatRoleOf(column string) iostatRole {
	switch column {
	case "Device", "Device:":
		return iostatDevice
	case "tps":
		return iostatTransfers
	case "r/s":
		return iostatReads
	case "w/s":
		return iostatWrites
	case "r_await":
		return iostatReadAwait
	case "w_await":
		return iostatWriteAwait
	case "await":
		return iostatAwait
	case "aqu-sz", "avgqu-sz":
		return iostatQueue
	case "%util":
		return iostatUtilisation
	default:
		return iostatOther
	}
}

func (r *iostatReader) take(line []byte) error {
	text := trimBlanks(line)
	switch {
	case len(text) == 0:
		return nil
	case r.averages:
		r.averages = false
		r.settle(text)
		return nil
	case bytes.HasPrefix(text, []byte("avg-cpu:")):
		r.averages = true
		return nil
	case bytes.HasPrefix(text, []byte("Linux ")):
		return r.restart(line)
	}
	if s, ok := iostatTime(text); ok {
		return r.report(s)
	}
	if r.heading(text) || (bytes.HasPrefix(text, []byte("zzz ")) && r.watched(line)) {
		return nil
	}
	r.row(text)
	return nil
}

// restart begins anew at a banner.
func (r *iostatReader) restart(line []byte) error {
	if err := r.flush(); err != nil {
		return err
	}
	if !r.banner(line) {
		if !r.watched(line) {
			r.problem("no row of iostat")
		}
		return nil
	}
	r.bannered, r.reports, r.columns = true, 0, iostatColumns{}
	r.settled, r.at, r.dated, r.interval = false, time.Time{}, false, 0
	return nil
}

// iostatTime reads the line that -t puts before a report: date and time as the
// locale or ISO 8601 writes them, or only "Time: 09:33:01 AM" in old versions.
func iostatTime(text []byte) (stamp, bool) {
	date, rest, dated := cutDate(text)
	switch {
	case dated && len(rest) > 0 && rest[0] == 'T':
		rest = rest[1:]
	case !dated && bytes.HasPrefix(text, []byte("Time:")):
		rest = text[len("Time:"):]
	case !dated:
		return stamp{}, false
	}
	s, rest, ok := leadTime(rest)
	if !ok || len(trimBlanks(rest)) > 0 {
		return stamp{}, false
	}
	s.date = date
	return s, true
}

// report ends the report before and begins the one printed at s.
func (r *iostatReader) report(s stamp) error {
	r.settle(nil)
	if err := r.flush(); err != nil {
		return err
	}
	r.reports++
	r.printed, r.settled = s, false
	return nil
}

// settle finds the instant of the report; row, if any, is one of its rows,
// which tells the locale.
func (r *iostatReader) settle(row []byte) {
	if r.settled || r.reports == 0 {
		return
	}
	before := r.at
	r.at, r.dated = r.clock.instant(r.printed, row)
	r.settled, r.interval = true, 0
	if r.reports > 1 && !before.IsZero() && r.at.After(before) {
		r.interval = r.at.Sub(before)
	}
}

// flush sends what the report said of each device.
func (r *iostatReader) flush() error {
	for _, s := range r.samples {
		r.in.count++
		if err := r.to.Disk(s); err != nil {
			return err
		}
	}
	r.samples = r.samples[:0]
	clear(r.index)
	return nil
}

func (r *iostatReader) finish() error { return r.flush() }

// heading takes over the columns that a heading names. The device stands
// first or, with --pretty, last.
func (r *iostatReader) heading(text []byte) bool {
	fields := bytes.Fields(text)
	if len(fields) < 2 || len(fields) > maxToolColumns ||
		(iostatRoleOf(string(fields[0])) != iostatDevice && iostatRoleOf(string(fields[len(fields)-1])) != iostatDevice) {
		return false
	}
	c := iostatColumns{roles: make([]iostatRole, 0, len(fields)), names: make([]string, 0, len(fields))}
	ours := false
	for _, f := range fields {
		role := iostatRoleOf(string(f))
		c.roles = append(c.roles, role)
		c.names = append(c.names, string(f))
		ours = ours || bytes.HasSuffix(f, []byte("/s")) || role == iostatTransfers
		c.extended = c.extended || role >= iostatReadAwait && role <= iostatUtilisation
	}
	if !ours {
		return false
	}
	r.columns = c
	r.known = true
	return true
}

// row takes over a row of a device.
func (r *iostatReader) row(text []byte) {
	switch {
	case len(r.columns.roles) == 0:
		r.problem("row before any heading")
		return
	case !r.columns.extended:
		r.tell(&r.toldNotExtended, "no await and no use of the device: run iostat -xt")
		return
	case r.reports == 0:
		r.tell(&r.toldNoTimes, "no timestamps: run iostat -xt")
		return
	}
	r.settle(text)
	v, name, ok := r.values(text)
	if !ok || (r.bannered && r.reports == 1) {
		return
	}
	i, ok := r.index[string(name)]
	if !ok {
		if len(r.samples) >= maxDevices {
			r.problem("more rows in a report than a node has devices")
			return
		}
		i = len(r.samples)
		r.samples = append(r.samples, r.sample(string(name)))
		r.index[r.samples[i].Device] = i
	}
	v.into(&r.samples[i])
}

// tell notes once what makes every row useless.
func (r *iostatReader) tell(told *bool, why string) {
	if !*told {
		r.problem(why)
	}
	*told = true
}

// iostatValues holds the columns of one row by role.
type iostatValues [iostatRoles]float64

// values reads a row; false where it cannot be read, which is noted.
func (r *iostatReader) values(text []byte) (v iostatValues, name []byte, ok bool) {
	for i := range v {
		v[i] = unknown()
	}
	for i, role := range r.columns.roles {
		var field []byte
		field, text = cutField(text)
		if len(field) == 0 {
			r.problem(fmt.Sprintf("row is cut short: %d of %d columns", i, len(r.columns.roles)))
			return v, nil, false
		}
		if role == iostatDevice {
			name = field
		}
		if role < iostatTransfers { // sizes, which are of no use here, print units with --human
			continue
		}
		if v[role], ok = decimal(field); !ok {
			r.problem(unreadable(r.columns.names[i], field))
			return v, nil, false
		}
	}
	if len(trimBlanks(text)) > 0 || len(name) > 255 {
		r.problem("row has more columns than its heading")
		return v, nil, false
	}
	return v, name, true
}

// sample is the record of a device of which nothing is known yet.
func (r *iostatReader) sample(device string) domain.DiskSample {
	s := domain.DiskSample{
		Interval: r.interval, Device: device,
		ReadsPerS: unknown(), WritesPerS: unknown(), ReadAwaitMS: unknown(), WriteAwaitMS: unknown(),
		QueueSize: unknown(), Utilisation: unknown(),
	}
	if r.dated {
		s.At = r.at
	}
	return s
}

// into adds the columns of a row to a record. Old versions (and -s) print one
// await over reads and writes: it stands for both where it is all there is. An
// await of no requests prints as 0.00 and is unknown.
func (v *iostatValues) into(s *domain.DiskSample) {
	set := func(to *float64, value float64) {
		if !math.IsNaN(value) {
			*to = value
		}
	}
	set(&s.ReadsPerS, v[iostatReads])
	set(&s.WritesPerS, v[iostatWrites])
	set(&s.QueueSize, v[iostatQueue])
	set(&s.Utilisation, v[iostatUtilisation]/100)
	if math.IsNaN(v[iostatReadAwait]) && math.IsNaN(v[iostatWriteAwait]) && !math.IsNaN(v[iostatAwait]) {
		requests := v[iostatTransfers]
		if math.IsNaN(requests) {
			requests = v[iostatReads] + v[iostatWrites]
		}
		await := awaitOf(v[iostatAwait], requests)
		set(&s.ReadAwaitMS, await)
		set(&s.WriteAwaitMS, await)
		return
	}
	set(&s.ReadAwaitMS, awaitOf(v[iostatReadAwait], v[iostatReads]))
	set(&s.WriteAwaitMS, awaitOf(v[iostatWriteAwait], v[iostatWrites]))
}

// awaitOf gives the mean time of requests, unknown where there were none.
func awaitOf(await, requestsPerS float64) float64 {
	if await == 0 && requestsPerS == 0 {
		return unknown()
	}
	return await
}
