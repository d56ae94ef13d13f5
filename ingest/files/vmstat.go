package files

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

func probeVmstat(head []byte) (probed, bool) { return probeTool(head, openVmstat) }

func readVmstat(ctx context.Context, in *input, to ingest.Sink) error {
	return readTool(ctx, openVmstat(in, to))
}

func openVmstat(in *input, to ingest.Sink) toolReader {
	return &vmstatReader{toolFile: newToolFile(in, to)}
}

// vmstatReader reads vmstat -t, narrow or wide (-w), of every version.
type vmstatReader struct {
	toolFile
	roles []vmstatRole
	names []string
	zone  *time.Location // that the heading names; nil where its name tells no offset

	sinceBoot bool // the next row is a program's first
	page      int  // rows since the heading
	fullPage  int  // rows of the longest page so far

	before   time.Time // instant of the row before
	hasRow   bool
	noTimes  bool // told that rows carry no time
	headings int
}

type vmstatRole uint8

const (
	vmstatOther vmstatRole = iota
	vmstatRunQueue
	vmstatBlocked
	vmstatSwapIn
	vmstatSwapOut
	vmstatInterrupts
	vmstatContextSwitches
	vmstatUser
	vmstatSystem
	vmstatIdle
	vmstatIOWait
	vmstatSteal
	vmstatRoles // how many there are
)

// vmstatRoleOf knows the columns of vmstat; false for the name of a zone that
// heads the time.
func vmstatRoleOf(column string) (vmstatRole, bool) {
	switch column {
	case "r":
		return vmstatRunQueue, true
	case "b":
		return vmstatBlocked, true
	case "si":
		return vmstatSwapIn, true
	case "so":
		return vmstatSwapOut, true
	case "in":
		return vmstatInterrupts, true
	case "cs":
		return vmstatContextSwitches, true
	case "us":
		return vmstatUser, true
	case "sy":
		return vmstatSystem, true
	case "id":
		return vmstatIdle, true
	case "wa":
		return vmstatIOWait, true
	case "st":
		return vmstatSteal, true
	case "w", "swpd", "free", "buff", "cache", "inact", "active", "bi", "bo", "gu":
		return vmstatOther, true
	default:
		return vmstatOther, false
	}
}

func (r *vmstatReader) take(line []byte) error {
	text := trimBlanks(line)
	switch {
	case len(text) == 0, bytes.HasPrefix(text, []byte("procs ")), bytes.HasPrefix(text, []byte("--procs--")):
		return nil
	case digit(text[0]):
		return r.row(text)
	case !r.heading(text) && !r.watched(line):
		r.problem("no row of vmstat")
	}
	return nil
}

// heading takes over the columns that a heading names, and the zone that -t
// adds to it. Headings return with every page; one that comes early is that of
// a program started anew.
func (r *vmstatReader) heading(text []byte) bool {
	fields := bytes.Fields(text)
	if len(fields) < 3 || len(fields) > maxToolColumns || string(fields[0]) != "r" || string(fields[1]) != "b" {
		return false
	}
	roles := make([]vmstatRole, 0, len(fields))
	names := make([]string, 0, len(fields))
	var zone *time.Location
	for i, f := range fields {
		role, ok := vmstatRoleOf(string(f))
		if !ok && i == len(fields)-1 {
			zone = namedZone(f)
			break
		}
		roles = append(roles, role)
		names = append(names, string(f))
	}
	if !slices.Contains(names, "cs") || !slices.Contains(names, "us") {
		return false
	}
	r.roles, r.names, r.zone, r.known = roles, names, zone, true
	r.headings++
	if r.headings == 1 || r.page < r.fullPage {
		r.sinceBoot = true
	}
	r.fullPage = max(r.fullPage, r.page)
	r.page = 0
	return true
}

// namedZone gives the zone of a name that means one offset everywhere: UTC,
// GMT, or the offset itself. Others, such as KST or IST, are not unique.
func namedZone(name []byte) *time.Location {
	switch string(name) {
	case "UTC", "GMT", "UCT", "Z":
		return time.UTC
	}
	if seconds, rest, ok := utcOffset(name); ok && len(rest) == 0 {
		return time.FixedZone("", seconds)
	}
	return nil
}

func (r *vmstatReader) row(text []byte) error {
	if len(r.roles) == 0 {
		r.problem("row before any heading")
		return nil
	}
	r.page++
	var v [vmstatRoles]float64
	for i := range v {
		v[i] = unknown()
	}
	for i, role := range r.roles {
		var field []byte
		field, text = cutField(text)
		if len(field) == 0 {
			r.problem(fmt.Sprintf("row is cut short: %d of %d columns", i, len(r.roles)))
			return nil
		}
		n, ok := decimal(field)
		if !ok {
			r.problem(unreadable(r.names[i], field))
			return nil
		}
		v[role] = n
	}
	at, ok := r.time(text)
	if !ok {
		return nil
	}
	return r.send(&v, at)
}

// time reads the time that -t puts at the end of a row, with the name of its
// zone after it in older versions.
func (r *vmstatReader) time(text []byte) (time.Time, bool) {
	text = trimBlanks(text)
	if len(text) == 0 {
		if !r.noTimes {
			r.problem("no timestamps: run vmstat -t")
		}
		r.noTimes = true
		return time.Time{}, false
	}
	date, rest, ok := cutDate(text)
	if !ok {
		r.problem(unreadable("timestamp", text))
		return time.Time{}, false
	}
	s, rest, ok := leadTime(rest)
	if !ok {
		r.problem(unreadable("timestamp", text))
		return time.Time{}, false
	}
	s.date = date
	zone := r.zone
	if name, after := cutField(rest); len(name) > 0 {
		if len(trimBlanks(after)) > 0 {
			r.problem(unreadable("timestamp", text))
			return time.Time{}, false
		}
		zone = namedZone(name)
	}
	if zone != nil && !s.hasOffset {
		_, s.offset = time.Time{}.In(zone).Zone()
		s.hasOffset = true
	}
	at, ok := r.clock.instant(s, nil)
	if !ok {
		r.problem(unreadable("timestamp", text))
	}
	return at, ok
}

func (r *vmstatReader) send(v *[vmstatRoles]float64, at time.Time) error {
	var interval time.Duration
	if r.hasRow && !r.sinceBoot && at.After(r.before) {
		interval = at.Sub(r.before)
	}
	s := domain.SystemSample{
		At: at, Interval: interval, SinceBoot: r.sinceBoot,
		RunQueue: v[vmstatRunQueue], Blocked: v[vmstatBlocked],
		SwapInPerS: v[vmstatSwapIn], SwapOutPerS: v[vmstatSwapOut],
		InterruptsPerS: v[vmstatInterrupts], ContextSwitchesPerS: v[vmstatContextSwitches],
		User: v[vmstatUser] / 100, System: v[vmstatSystem] / 100, Idle: v[vmstatIdle] / 100,
		IOWait: v[vmstatIOWait] / 100, Steal: v[vmstatSteal] / 100,
		RunQueueMax: math.NaN(), TimeSqueeze: math.NaN(), PSICPU: -1, PSIIO: -1, PSIMemory: -1,
	}
	r.before, r.hasRow, r.sinceBoot = at, true, false
	r.in.count++
	return r.to.System(s)
}
