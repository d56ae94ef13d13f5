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
	"github.com/corewait/corewait/procfmt"
)

// procBlock says which file under /proc the lines being read come from.
type procBlock uint8

const (
	blockNone    procBlock = iota
	blockHeader            // a line of CPU names; the next row tells whose
	blockSkipped           // cannot be used, and that was told
	blockInterrupts
	blockSoftirqs
	blockStat
	blockDisks
	blockBond
	procBlocks // their number
)

func (b procBlock) String() string {
	switch b {
	case blockInterrupts:
		return "/proc/interrupts"
	case blockSoftirqs:
		return "/proc/softirqs"
	case blockStat:
		return "/proc/stat"
	case blockDisks:
		return "/proc/diskstats"
	case blockBond:
		return "/proc/net/bonding"
	default:
		return "/proc"
	}
}

// procLog reads what loops of `date; cat /proc/...` leave: time lines, and
// under each one block per file under /proc, in any mixture. What a block is
// follows from its lines. A file without any time line holds one reading,
// whose time is unknown.
type procLog struct {
	in *input
	to ingest.Sink

	block    procBlock
	skipping procBlock // whose rows are passed over, where block is blockSkipped
	begin    int       // line with which the block begins
	last     int       // last line that belonged to it
	header   []byte    // the last line of CPU names

	irqs     procfmt.InterruptParser
	softirqs procfmt.SoftirqParser
	stat     procfmt.StatParser
	disks    procfmt.DiskParser
	bond     procfmt.BondParser
	bondName string // told by a line before the bond; ""
	bonds    map[string]domain.Bond
	told     map[string]bool // announced files that are not read

	at    time.Time
	timed bool // a time line was met
	first procTime
	// met holds the blocks since the last time line, by the line with which
	// they began; held those that wait to be sent until it is known whether
	// the file has time lines at all.
	met, held [procBlocks]int
	gap       int // line since the last time line where rows are missing; 0 none

	kind procBlock // what the file holds: interrupts where there are any, else what came first
	hostOfFile
	strange int // lines that belong to nothing, before the first block
}

// readProc reads a log of files under /proc.
func readProc(ctx context.Context, in *input, to ingest.Sink) error {
	return newProcLog(in, to).read(ctx)
}

func newProcLog(in *input, to ingest.Sink) *procLog {
	return &procLog{in: in, to: to, bonds: map[string]domain.Bond{}, told: map[string]bool{}}
}

func (l *procLog) read(ctx context.Context) error {
	for {
		line, err := l.in.lines.next()
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			if failed := l.finish(); failed != nil {
				return failed
			}
			return err
		}
		if l.in.lines.number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if l.ended {
			l.passOver(l.in, line)
			continue
		}
		if err := l.line(line); err != nil {
			return err
		}
	}
}

// line takes one line: first as a row of the block it stands in, which most
// lines are.
func (l *procLog) line(line []byte) error {
	rowErr := l.row(line)
	if rowErr == nil {
		l.last = l.in.lines.number
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if done, err := l.boundary(line, rowErr); done || err != nil {
		return err
	}
	switch {
	case l.block == blockBond:
		l.bond.Line(line)
		l.last = l.in.lines.number
	case l.block == blockSkipped, isCommentLine(line):
	case errors.Is(rowErr, procfmt.ErrOrder), errors.Is(rowErr, procfmt.ErrRepeated):
		l.in.problem(l.in.lines.number, rowErr.Error())
		l.gap = l.in.lines.number
		skipping := l.block
		if err := l.end(); err != nil {
			return err
		}
		l.block, l.skipping = blockSkipped, skipping
	default:
		if l.kind == blockNone {
			l.strange++
		}
		l.in.problem(l.in.lines.number, rowErr.Error())
	}
	return nil
}

var errNoBlock = errors.New("belongs to no file under /proc that is read here")

// row gives a line to the parser of the current block.
func (l *procLog) row(line []byte) error {
	switch l.block {
	case blockInterrupts:
		return l.irqs.Line(line)
	case blockSoftirqs:
		return l.softirqs.Line(line)
	case blockStat:
		return l.stat.Line(line)
	case blockDisks:
		return l.disks.Line(line)
	case blockHeader:
		return l.afterHeader(line)
	default:
		return errNoBlock
	}
}

// boundary reads lines at which a block ends or begins; rowErr says why the
// line is no row of the current block.
func (l *procLog) boundary(line []byte, rowErr error) (done bool, err error) {
	if t, ok := parseProcTime(line, l.in.zone); ok {
		return true, l.time(t)
	}
	switch {
	case procfmt.IsCPUHeader(line):
		if err := l.end(); err != nil {
			return true, err
		}
		l.block, l.begin = blockHeader, l.in.lines.number
		l.header = append(l.header[:0], line...)
	case procfmt.IsStatRow(line):
		if l.block == blockStat && !errors.Is(rowErr, procfmt.ErrRepeated) {
			return false, nil // a damaged row
		}
		if started, err := l.start(blockStat); !started || err != nil {
			return true, err
		}
		l.stat.Begin()
		l.firstRow(l.stat.Line(line))
	case procfmt.IsDiskRow(line):
		if l.block == blockDisks && !errors.Is(rowErr, procfmt.ErrRepeated) {
			return false, nil // a torn row
		}
		if started, err := l.start(blockDisks); !started || err != nil {
			return true, err
		}
		l.disks.Begin()
		l.firstRow(l.disks.Line(line))
	case procfmt.IsBondHeading(line):
		// Several bonds stand under one time line.
		if err := l.end(); err != nil {
			return true, err
		}
		l.block, l.begin, l.last = blockBond, l.in.lines.number, l.in.lines.number
		l.note(blockBond)
		l.bond.Begin(l.nameOfBond())
		l.bond.Line(line)
	default:
		return l.landmark(line)
	}
	return true, nil
}

// landmark reads lines that announce a file or name the host.
func (l *procLog) landmark(line []byte) (done bool, err error) {
	if file, ok := announcedFile(line); ok {
		err := l.end()
		l.bondName = file.bond
		if file.other != "" {
			l.block, l.skipping = blockSkipped, blockNone
			l.tellOther(file.other)
		}
		return true, err
	}
	if host, ok := watcherBanner(line); ok {
		l.named(l.in, host)
		return true, nil
	}
	return false, nil
}

// maxTold bounds how many files of other kinds within a log are told apart.
const maxTold = 32

// tellOther tells once of each file within the log that is not read.
func (l *procLog) tellOther(file string) {
	if l.told[file] || len(l.told) >= maxTold {
		return
	}
	l.told[file] = true
	l.in.problem(l.in.lines.number, file+" is not read here; its lines are passed over")
}

func (l *procLog) firstRow(err error) {
	if err != nil {
		l.in.problem(l.in.lines.number, err.Error())
	}
}

// note remembers what the file holds.
func (l *procLog) note(b procBlock) {
	if l.kind == blockNone || b == blockInterrupts {
		l.kind = b
	}
}

// start begins a block. Two blocks of one file without a time line between
// them are two readings that cannot be told apart, or those of two hosts.
func (l *procLog) start(b procBlock) (started bool, err error) {
	if l.block == blockSkipped && l.skipping == b {
		return false, nil
	}
	if err := l.end(); err != nil {
		return false, err
	}
	l.begin, l.last = l.in.lines.number, l.in.lines.number
	return l.admit(b), nil
}

// admit says whether a block of that file may follow here.
func (l *procLog) admit(b procBlock) bool {
	if l.gap > 0 {
		l.block, l.skipping = blockSkipped, b
		l.in.problem(l.begin, fmt.Sprintf("%s behind a gap (line %d) that a time line may be missing in; not used", b, l.gap))
		return false
	}
	if l.met[b] > 0 {
		l.block, l.skipping = blockSkipped, b
		l.in.problem(l.begin, fmt.Sprintf("another %s without a time line after that of line %d: two readings or two hosts; not used", b, l.met[b]))
		return false
	}
	l.block, l.met[b] = b, l.begin
	l.note(b)
	return true
}

// afterHeader takes the first row after a line of CPU names, which tells
// /proc/softirqs from /proc/interrupts.
func (l *procLog) afterHeader(line []byte) error {
	name, _, found := bytes.Cut(line, []byte(":"))
	if !found || len(name) > maxTimeLine {
		return errNoBlock
	}
	if procfmt.IsSoftirq(string(bytes.TrimSpace(name))) {
		return l.openTable(blockSoftirqs, l.softirqs.Begin, l.softirqs.Line, line)
	}
	if _, isTime := parseProcTime(line, l.in.zone); isTime {
		return errNoBlock
	}
	return l.openTable(blockInterrupts, l.irqs.Begin, l.irqs.Line, line)
}

// openTable begins a block that has a header with its header and first row.
func (l *procLog) openTable(b procBlock, begin, row func([]byte) error, line []byte) error {
	if !l.admit(b) {
		return nil
	}
	if err := begin(l.header); err != nil {
		l.block, l.skipping = blockSkipped, b
		l.in.problem(l.begin, err.Error())
		return nil
	}
	return row(line)
}

// end closes the current block and sends what it holds.
func (l *procLog) end() error {
	b := l.block
	l.block = blockNone
	switch b {
	case blockNone, blockSkipped:
		return nil
	case blockHeader:
		l.in.problem(l.begin, "CPU names without a row below them")
		return nil
	case blockBond:
		return l.sendBond()
	default:
		return l.endReading(b)
	}
}

// endReading closes a block that a snapshot is made of.
func (l *procLog) endReading(b procBlock) error {
	rows, err := l.close(b)
	if err != nil && l.gap == 0 {
		l.in.problem(l.last, err.Error())
		l.gap = l.last
	}
	if rows == 0 {
		l.in.problem(l.begin, fmt.Sprintf("%s without a row that can be read", b))
		return nil
	}
	if !l.timed {
		l.held[b] = l.begin
		return nil
	}
	return l.send(b, l.at)
}

// close ends the parser of a block; the error says that the block is cut.
func (l *procLog) close(b procBlock) (rows int, err error) {
	switch b {
	case blockInterrupts:
		_, err = l.irqs.End()
		rows = l.irqs.Rows()
	case blockSoftirqs:
		_, err = l.softirqs.End()
		rows = l.softirqs.Rows()
	case blockStat:
		_, err = l.stat.End()
		rows = l.stat.Rows()
	default:
		rows = l.disks.Rows()
	}
	return rows, err
}

// send sends the snapshot that the parser of a block holds.
func (l *procLog) send(b procBlock, at time.Time) error {
	l.in.count++
	switch b {
	case blockInterrupts:
		s := l.irqs.Snapshot()
		s.At = at
		return l.to.Interrupts(s)
	case blockSoftirqs:
		s := l.softirqs.Snapshot()
		s.At = at
		return l.to.Softirqs(s)
	case blockStat:
		s := l.stat.Snapshot()
		s.At = at
		return l.to.CPUTimes(s)
	default:
		s := l.disks.Snapshot()
		s.At = at
		return l.to.Disks(s)
	}
}

// time takes a time line.
func (l *procLog) time(t procTime) error {
	if err := l.end(); err != nil {
		return err
	}
	if l.named(l.in, t.host); l.ended {
		return nil
	}
	if !l.timed {
		l.timed, l.first = true, t
		for b := range procBlocks {
			if l.held[b] > 0 {
				l.in.problem(l.held[b], fmt.Sprintf("%s without a time line before it in a log that has them; not used", b))
			}
		}
	}
	l.at = t.after(l.at, l.in.zone)
	l.met, l.held, l.gap = [procBlocks]int{}, [procBlocks]int{}, 0
	return nil
}

// finish ends the last block and sends what a file without time lines holds.
func (l *procLog) finish() error {
	if err := l.end(); err != nil {
		return err
	}
	for b := range procBlocks {
		if l.held[b] > 0 {
			l.held[b] = 0
			if err := l.send(b, time.Time{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxBonds bounds how many bonds of one file are kept apart.
const maxBonds = 1024

// sendBond sends the bond just read, unless it was sent in the same state before.
func (l *procLog) sendBond() error {
	bond, err := l.bond.End()
	if err != nil {
		l.in.problem(l.begin, err.Error())
		return nil
	}
	if bond.Name == "" {
		l.in.problem(l.begin, "which bond this is stands nowhere: name the file after it, as /proc/net/bonding does")
	}
	before, met := l.bonds[bond.Name]
	if met && sameBond(before, bond) {
		return nil
	}
	if !met && len(l.bonds) >= maxBonds {
		l.in.problem(l.begin, fmt.Sprintf("more than %d bonds", maxBonds))
		return nil
	}
	l.bonds[bond.Name] = bond
	l.in.count++
	return l.to.Topology(domain.Topology{Bonds: []domain.Bond{bond}})
}
