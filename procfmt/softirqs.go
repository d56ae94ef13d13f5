package procfmt

import (
	"bytes"
	"fmt"

	"github.com/corewait/corewait/domain"
)

// maxSoftirqs bounds the rows of /proc/softirqs; the kernel has ten.
const maxSoftirqs = 64

// SoftirqParser reads snapshots of /proc/softirqs one after the other, like
// InterruptParser. The columns are the possible CPUs, online or not.
type SoftirqParser struct {
	snap   domain.SoftirqSnapshot
	counts []uint64

	columns    rowColumns
	unended    bool // the last row does not show its own end
	rowsBefore int
	lastBefore string
}

// IsSoftirq says whether name is that of a row of /proc/softirqs
// (kernel/softirq.c, softirq_to_name; BLOCK_IOPOLL is IRQ_POLL's older name).
func IsSoftirq(name string) bool {
	switch name {
	case "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "BLOCK_IOPOLL", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU":
		return true
	}
	return false
}

// Begin starts a snapshot with its header line.
func (p *SoftirqParser) Begin(header []byte) error {
	p.rowsBefore, p.lastBefore = len(p.snap.Names), ""
	if p.rowsBefore > 0 {
		p.lastBefore = p.snap.Names[p.rowsBefore-1]
	}
	p.snap.Names, p.snap.Counts = p.snap.Names[:0], p.snap.Counts[:0]
	p.counts, p.unended = p.counts[:0], false
	p.columns.header(header)
	var err error
	p.snap.CPUs, err = cpuHeader(header, p.snap.CPUs)
	return err
}

// Rows is the number of rows taken since Begin.
func (p *SoftirqParser) Rows() int { return len(p.snap.Names) }

// Line takes one row. After an error the row is not part of the snapshot.
func (p *SoftirqParser) Line(line []byte) error {
	name, rest, found := bytes.Cut(line, []byte(":"))
	name = bytes.TrimSpace(name)
	switch {
	case !found:
		return errNoColon
	case len(name) == 0 || len(name) > maxInterruptID+len("_IOPOLL"):
		return fmt.Errorf("%.20q is not the name of a softirq", name)
	case len(p.snap.Names) >= maxSoftirqs:
		return errTooManyLines
	}
	for _, before := range p.snap.Names {
		if before == string(name) {
			return fmt.Errorf("softirq %s occurs twice", name)
		}
	}
	width, begin := len(p.snap.CPUs), len(p.counts)
	p.counts = append(p.counts, make([]uint64, width)...)
	n, end, ok := counts(p.counts[begin:], rest)
	if !ok || n < width || len(bytes.TrimSpace(rest[end:])) > 0 {
		p.counts = p.counts[:begin]
		return fmt.Errorf("softirq %s: %d counts for %d CPUs", name, n, width)
	}
	if err := p.columns.check(len(line)-len(rest)+end, p.counts[begin:]); err != nil {
		p.counts = p.counts[:begin]
		return fmt.Errorf("softirq %s: %w", name, err)
	}
	p.addName(name)
	p.unended = end == len(rest) && end < columnWidth*width
	return nil
}

// addName appends a name; the string of the snapshot before is kept where it
// is the same.
func (p *SoftirqParser) addName(name []byte) {
	if n := len(p.snap.Names); n < cap(p.snap.Names) {
		p.snap.Names = p.snap.Names[:n+1]
		if p.snap.Names[n] != string(name) {
			p.snap.Names[n] = string(name)
		}
		return
	}
	p.snap.Names = append(p.snap.Names, string(name))
}

// Snapshot gives what the last End closed.
func (p *SoftirqParser) Snapshot() *domain.SoftirqSnapshot { return &p.snap }

// End closes the snapshot. Where it stops short (ErrCut), a last row that may
// be cut is already taken out.
func (p *SoftirqParser) End() (*domain.SoftirqSnapshot, error) {
	var err error
	if n := len(p.snap.Names); n > 0 {
		last := p.snap.Names[n-1]
		switch {
		case p.unended:
			p.snap.Names = p.snap.Names[:n-1]
			err = fmt.Errorf("%w: softirq %s has no end", ErrCut, last)
		case n < p.rowsBefore && last != p.lastBefore:
			err = fmt.Errorf("%w: ends at softirq %s, the one before at %s", ErrCut, last, p.lastBefore)
		}
	}
	width := len(p.snap.CPUs)
	p.snap.Counts = p.snap.Counts[:0]
	for i := range p.snap.Names {
		p.snap.Counts = append(p.snap.Counts, p.counts[i*width:(i+1)*width:(i+1)*width])
	}
	return &p.snap, err
}

// Parse reads one whole snapshot; for its error see InterruptParser.Parse.
func (p *SoftirqParser) Parse(data []byte) (*domain.SoftirqSnapshot, error) {
	var unread UnreadRows
	begun := false
	err := eachRow(data, func(number int, line []byte) error {
		if !begun {
			begun = true
			return p.Begin(line)
		}
		unread.note(number, p.Line(line))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !begun {
		return nil, ErrEmpty
	}
	snap, err := p.End()
	if unread.Count > 0 {
		return snap, unread.err()
	}
	return snap, err
}
