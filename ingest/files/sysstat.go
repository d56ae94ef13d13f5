package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// sysstatFormats gives the readers of what node tools print at intervals: the
// sysstat tools, vmstat and ps.
func sysstatFormats() []format {
	return []format{
		{kind: KindPidstat, clock: clockHost, probe: probePidstat, read: readPidstat},
		{kind: KindMpstat, clock: clockHost, probe: probeMpstat, read: readMpstat},
		{kind: KindIostat, clock: clockHost, probe: probeIostat, read: readIostat},
		{kind: KindVmstat, clock: clockHost, probe: probeVmstat, read: readVmstat},
		{kind: KindPs, clock: clockHost, probe: probePs, read: readPs},
	}
}

// Bounds of one report; a report beyond them is not a node's.
const (
	maxToolColumns = 64      // of a heading; pidstat with every option prints 27
	maxCPUID       = 1 << 16 // logical CPUs; Linux stops at 8,192
	maxDevices     = 1 << 14 // rows of one iostat report
	maxCommands    = 4096    // command names kept for reuse
	maxCommand     = 1024    // bytes of a command line that are kept
	maxTaskID      = 1 << 30 // the kernel stops at 4,194,304
	linesPerStop   = 4096    // lines read between two looks at the context
)

// printedSecond is how far the true instant can lie after a time that a tool
// printed in whole seconds.
const printedSecond = time.Second

// toolReader reads what one tool prints, line by line.
type toolReader interface {
	take(line []byte) error
	finish() error // after the last line
	common() *toolFile
}

// toolFile is what the readers of all tools share.
type toolFile struct {
	in    *input
	to    ingest.Sink
	clock toolClock
	hostOfFile
	known bool // a heading of this tool was met
}

func newToolFile(in *input, to ingest.Sink) toolFile {
	return toolFile{in: in, to: to, clock: newToolClock(in)}
}

func (f *toolFile) common() *toolFile { return f }

func (f *toolFile) finish() error { return nil }

func (f *toolFile) problem(why string) { f.in.problem(f.in.lines.number, why) }

// readTool feeds every line of the file to the reader.
func readTool(ctx context.Context, r toolReader) error {
	in := r.common().in
	for n := 0; ; n++ {
		if n%linesPerStop == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		line, err := in.lines.next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		if f := r.common(); f.ended {
			f.passOver(in, line)
			continue
		}
		if err := r.take(line); err != nil {
			return err
		}
	}
}

// probeTool runs a reader over the beginning of a file, which may be cut in
// mid-line, and says what it met there.
func probeTool(head []byte, open func(in *input, to ingest.Sink) toolReader) (probed, bool) {
	in := probeInput(head)
	r := open(in, noRecords{})
	if err := readTool(context.Background(), r); err != nil {
		return probed{}, false
	}
	return r.common().probed()
}

// probeInput is the beginning of a file as an input of its own, without the
// line that the end of the beginning cuts.
func probeInput(head []byte) *input {
	if len(head) >= probeSize {
		if end := bytes.LastIndexByte(head, '\n'); end >= 0 {
			head = head[:end+1]
		}
	}
	in := &input{zone: time.UTC, bad: &problems{}}
	in.lines = newLineReader(bytes.NewReader(head), func(int) {})
	return in
}

func (f *toolFile) probed() (probed, bool) {
	return probed{
		host:     f.host,
		zone:     f.clock.carried,
		first:    f.clock.first,
		hasTimes: !f.clock.first.IsZero(),
		absolute: !f.clock.first.IsZero() && !f.clock.local && f.clock.carried == nil,
	}, f.known
}

// noRecords takes the records that these readers make and drops them.
type noRecords struct{ ingest.Sink }

func (noRecords) CPU(domain.CPUSample) error       { return nil }
func (noRecords) System(domain.SystemSample) error { return nil }
func (noRecords) Disk(domain.DiskSample) error     { return nil }
func (noRecords) Placement(domain.Placement) error { return nil }

// banner reads the line that a sysstat tool begins with, such as
//
//	Linux 4.18.0 (db1) \t2026-09-15 \t_x86_64_\t(32 CPU)
//
// A program started anew appends another one: times start over with it.
func (f *toolFile) banner(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("Linux ")) {
		return false
	}
	open := bytes.Index(line, []byte(" ("))
	if open < 0 {
		return false
	}
	rest := line[open+2:]
	end := bytes.IndexByte(rest, ')')
	if end < 0 {
		return false
	}
	f.named(f.in, string(rest[:min(end, 255)])) // a host name has 64 bytes on Linux, 255 in DNS
	if f.ended {
		return true
	}
	date, _, ok := cutDate(trimBlanks(rest[end+1:]))
	if !ok {
		f.problem("date of the banner cannot be read: times of day have no date")
	}
	f.clock.begin(date, f.in.lines.number)
	return true
}

// watched says whether a line is one that OSWatcher and like scripts print
// between what the tools print: the time, or what began the file.
func (f *toolFile) watched(line []byte) bool {
	host, ok := watcherBanner(line)
	if !ok {
		var t procTime
		t, ok = parseProcTime(line, f.in.zone)
		host = t.host
	}
	if ok {
		f.named(f.in, host)
	}
	return ok
}

// averages says whether a line belongs to the averages that a tool prints when
// it ends ("Average:", "Durchschn.:", "평균 :", "Moyenne :"): words without a
// digit up to a colon. Samples begin with a time.
func averages(line []byte) bool {
	const longest = 40 // bytes; the longest translation is shorter
	end := bytes.IndexByte(line[:min(len(line), longest)], ':')
	if end <= 0 || (end+1 < len(line) && !blank(line[end+1])) {
		return false
	}
	return !bytes.ContainsAny(line[:end], "0123456789")
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	return b
}

// cutField gives the first blank-separated field and what follows it.
func cutField(b []byte) (field, rest []byte) {
	b = trimBlanks(b)
	for i, c := range b {
		if blank(c) {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// decimal reads a number without sign or exponent, with a decimal point or
// comma; a percent sign after it (--human) is allowed. Up to 15 digits, which
// a float64 holds exactly.
func decimal(b []byte) (float64, bool) {
	if n := len(b); n > 0 && b[n-1] == '%' {
		b = b[:n-1]
	}
	var mantissa int64
	digits, decimals, point := 0, 0, false
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			mantissa = mantissa*10 + int64(c-'0')
			digits++
			if point {
				decimals++
			}
		case (c == '.' || c == ',') && !point && digits > 0:
			point = true
		default:
			return 0, false
		}
	}
	if digits == 0 || digits > 15 || (point && decimals == 0) {
		return 0, false
	}
	return float64(mantissa) / powerOfTen(decimals), true
}

// powerOfTen is exact up to 10^22.
func powerOfTen(n int) float64 {
	p := 1.0
	for range n {
		p *= 10
	}
	return p
}

// share reads a percentage as a share of one.
func share(b []byte) (float64, bool) {
	v, ok := decimal(b)
	return v / 100, ok
}

// whole reads an integer from 0 up to, not including, below.
func whole(b []byte, below int) (int, bool) {
	if len(b) == 0 || len(b) > 10 {
		return 0, false
	}
	v := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, v < below
}

// unreadable words a column whose value cannot be read.
func unreadable(column string, value []byte) string {
	return fmt.Sprintf("column %s: %.40q cannot be read", column, value)
}

// commandNames keeps names that return with every report, so that a row costs
// no allocation.
type commandNames map[string]string

func (c commandNames) name(b []byte) string {
	b = b[:min(len(b), maxCommand)]
	if s, ok := c[string(b)]; ok {
		return s
	}
	if len(c) >= maxCommands {
		clear(c)
	}
	s := string(b)
	c[s] = s
	return s
}

// unknown is the value of a column that a tool does not print.
func unknown() float64 { return math.NaN() }
