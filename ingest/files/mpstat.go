package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

func probeMpstat(head []byte) (probed, bool) {
	if jsonDocument(head) {
		return probeMpstatJSON(head)
	}
	return probeTool(head, openMpstat)
}

// readMpstat reads text, or what -o JSON prints.
func readMpstat(ctx context.Context, in *input, to ingest.Sink) error {
	r := openMpstat(in, to)
	for {
		line, err := in.lines.next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		if jsonDocument(line) {
			return readMpstatJSON(ctx, in, to, line)
		}
		if err := r.take(line); err != nil {
			return err
		}
		if len(trimBlanks(line)) > 0 {
			return readTool(ctx, r)
		}
	}
}

func openMpstat(in *input, to ingest.Sink) toolReader {
	r := &mpstatReader{toolFile: newToolFile(in, to)}
	r.times.clock = &r.clock
	return r
}

// mpstatReader reads mpstat with or without -P and -I: of its reports those
// with the use of CPU time by CPU yield records; those by NUMA node and of
// interrupts do not. `sar -u -P ALL` prints the same and reads the same.
type mpstatReader struct {
	toolFile
	times   reportTimes
	columns mpstatColumns

	// A lone report whose heading prints its own time averages since boot. It
	// is held back until a second one shows that it is none.
	held    []domain.CPUSample
	reports int
}

// mpstatColumns is what a heading says of the rows below it.
type mpstatColumns struct {
	roles []mpstatRole // of the columns right of CPU
	names []string
	used  bool // the report tells the use of CPU time by CPU
}

type mpstatRole uint8

const (
	mpstatOther mpstatRole = iota
	mpstatUser
	mpstatNice
	mpstatSystem
	mpstatIOWait
	mpstatIRQ
	mpstatSoftIRQ
	mpstatSteal
	mpstatGuest
	mpstatGuestNice
	mpstatIdle
	mpstatRoles // how many there are
)

// mpstatRoleOf knows the columns of all versions of mpstat and of sar, and
// their names in JSON, which have no percent sign.
func mpstatRoleOf(column string) mpstatRole {
	switch column {
	case "usr", "user":
		return mpstatUser
	case "nice":
		return mpstatNice
	case "sys", "system":
		return mpstatSystem
	case "iowait":
		return mpstatIOWait
	case "irq":
		return mpstatIRQ
	case "soft":
		return mpstatSoftIRQ
	case "steal":
		return mpstatSteal
	case "guest":
		return mpstatGuest
	case "gnice":
		return mpstatGuestNice
	case "idle":
		return mpstatIdle
	default:
		return mpstatOther
	}
}

func (r *mpstatReader) take(line []byte) error {
	s, rest, ok := r.times.split(line)
	if !ok {
		return r.other(line)
	}
	if rest = trimBlanks(rest); r.heading(rest) {
		r.times.headed(s)
		return nil
	}
	if !r.columns.used {
		if !r.known {
			r.problem("row before any heading")
		}
		return nil
	}
	if r.times.row(s, line, rest) {
		if err := r.report(); err != nil {
			return err
		}
	}
	return r.row(rest)
}

// other reads a line that does not begin with a time.
func (r *mpstatReader) other(line []byte) error {
	switch {
	case len(trimBlanks(line)) == 0, averages(line):
	case r.banner(line):
		r.sinceBoot()
		r.times.restart()
		r.reports = 0
	case r.watched(line):
	default:
		r.problem("no row of mpstat")
	}
	return nil
}

// heading takes over the columns that a heading names; false where the line is
// none.
func (r *mpstatReader) heading(text []byte) bool {
	first, rest := cutField(text)
	name := string(first)
	if name != "CPU" && name != "NODE" {
		return false
	}
	var c mpstatColumns
	ours := false
	for field, rest := cutField(rest); len(field) > 0; field, rest = cutField(rest) {
		percent := field[0] == '%'
		ours = ours || percent || bytes.HasSuffix(field, []byte("/s"))
		role := mpstatOther
		if percent {
			role = mpstatRoleOf(string(field[1:]))
		}
		if len(c.roles) < maxToolColumns { // interrupts have a column each: thousands
			c.roles = append(c.roles, role)
			c.names = append(c.names, string(field))
		}
		c.used = c.used || (role == mpstatIdle && name == "CPU")
	}
	if !ours {
		return false
	}
	r.columns = c
	r.known = true
	return true
}

// report begins a report at the time that r.times moved to.
func (r *mpstatReader) report() error {
	r.reports++
	if r.reports != 2 {
		return nil
	}
	return r.release()
}

// release sends the report that was held back.
func (r *mpstatReader) release() error {
	held := r.held
	r.held = nil
	for _, s := range held {
		if err := r.send(s); err != nil {
			return err
		}
	}
	return nil
}

// sinceBoot gives up a report that was held back.
func (r *mpstatReader) sinceBoot() {
	if len(r.held) > 0 {
		r.problem("the only report averages since boot: run mpstat with an interval")
	}
	r.held = nil
}

func (r *mpstatReader) finish() error {
	r.sinceBoot()
	return nil
}

func (r *mpstatReader) row(text []byte) error {
	first, text := cutField(text)
	cpu, ok := cpuOrAll(first)
	if !ok {
		r.problem(unreadable("CPU", first))
		return nil
	}
	shares := unknownShares()
	for i, role := range r.columns.roles {
		var field []byte
		field, text = cutField(text)
		if len(field) == 0 {
			r.problem(fmt.Sprintf("row is cut short: %d of %d columns", i+1, len(r.columns.roles)+1))
			return nil
		}
		if role == mpstatOther {
			continue
		}
		if shares[role], ok = share(field); !ok {
			r.problem(unreadable(r.columns.names[i], field))
			return nil
		}
	}
	s := shares.sample(cpu, r.times.instant(), r.times.interval)
	if r.reports == 1 && r.times.atStart {
		if len(r.held) > maxCPUID {
			r.problem("more rows in a report than a node has CPUs")
			return nil
		}
		r.held = append(r.held, s)
		return nil
	}
	return r.send(s)
}

func (r *mpstatReader) send(s domain.CPUSample) error {
	r.in.count++
	return r.to.CPU(s)
}

// cpuOrAll reads the id of a CPU, or "all".
func cpuOrAll(field []byte) (int, bool) {
	if string(field) == "all" {
		return domain.AllCPUs, true
	}
	return whole(field, maxCPUID)
}

// mpstatShares holds the columns of one row by role, 0 to 1.
type mpstatShares [mpstatRoles]float64

func unknownShares() (s mpstatShares) {
	for i := range s {
		s[i] = unknown()
	}
	return s
}

// sample gives the record of a row. A CPU whose every column prints zero, idle
// included, was not there: its time adds up to none, and so its shares are
// unknown.
func (s *mpstatShares) sample(cpu int, at time.Time, interval time.Duration) domain.CPUSample {
	there := false
	for _, v := range s {
		there = there || v > 0
	}
	if !there {
		*s = unknownShares()
	}
	return domain.CPUSample{
		At: at, Interval: interval, CPU: cpu, Offline: !there && cpu != domain.AllCPUs,
		User: s[mpstatUser], Nice: s[mpstatNice], System: s[mpstatSystem], IOWait: s[mpstatIOWait],
		IRQ: s[mpstatIRQ], SoftIRQ: s[mpstatSoftIRQ], Steal: s[mpstatSteal], Guest: s[mpstatGuest], Idle: s[mpstatIdle],
	}
}
