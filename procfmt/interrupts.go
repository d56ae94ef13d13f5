package procfmt

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/corewait/corewait/domain"
)

// maxInterruptID bounds the name before the colon: "120", "LOC", "IPI12".
const maxInterruptID = 8

var (
	errInterruptID = errors.New("not a row of /proc/interrupts")
	errTooLarge    = errors.New("a count exceeds 64 bits")
)

// ErrEmpty says that a file under /proc held nothing. Container runtimes mask
// /proc/interrupts by default: it must then be read on the host.
var ErrEmpty = errors.New("empty: masked by a container runtime?")

// ErrCut says that a block of rows stops before its end. The snapshot that
// comes with it holds the rows known to be whole.
var ErrCut = errors.New("block is cut")

// ErrOrder says that the numbers of interrupts do not ascend, as the kernel
// prints them, that some are left out, or that one is torn: what follows may be
// another snapshot's, whose header is missing.
var ErrOrder = errors.New("what follows may be of another reading")

// InterruptParser reads snapshots of /proc/interrupts one after the other,
// either whole (Parse) or by line: Begin with the header, Line for each row,
// End. The snapshot it gives is valid until the next Begin. The zero value is
// ready to use.
type InterruptParser struct {
	snap   domain.InterruptSnapshot
	counts []uint64 // of all rows
	begins []int    // where a row's counts begin in counts; negative for a row with one value

	columns   rowColumns
	lowest    uint64 // number that the next numbered row may have: they ascend
	unended   bool   // the last row does not show its own end: it may be cut
	unchanged bool   // the last row is named as in the snapshot before

	rowsBefore int    // of the snapshot before
	lastBefore string // ID of its last row
	before     rowsBefore
}

// Begin starts a snapshot with its header line.
func (p *InterruptParser) Begin(header []byte) error {
	p.rowsBefore, p.lastBefore = 0, ""
	if n := len(p.snap.Lines); n > 0 {
		p.rowsBefore, p.lastBefore = n, p.snap.Lines[n-1].ID
	}
	p.snap.Lines = p.snap.Lines[:0]
	p.counts, p.begins = p.counts[:0], p.begins[:0]
	p.lowest, p.unended, p.unchanged, p.before.indexed = 0, false, false, false
	p.columns.header(header)
	var err error
	p.snap.CPUs, err = cpuHeader(header, p.snap.CPUs)
	return err
}

// Rows is the number of rows taken since Begin.
func (p *InterruptParser) Rows() int { return len(p.snap.Lines) }

// Line takes one row. After an error the row is not part of the snapshot and
// the next one may be given.
func (p *InterruptParser) Line(line []byte) error {
	id, rest, err := interruptID(line)
	if err != nil {
		return err
	}
	irq, numbered := number(id)
	if !numbered {
		p.textBefore(id)
		return p.row(line, id, rest, false)
	}
	if irq < p.lowest {
		return fmt.Errorf("interrupt %d after interrupt %d: %w", irq, p.lowest-1, ErrOrder)
	}
	if err := p.checkPlace(id); err != nil {
		return err
	}
	if err := p.row(line, id, rest, true); err != nil {
		return p.afterTear(id, err)
	}
	p.lowest = irq + 1
	return nil
}

// row takes a row that may follow here.
func (p *InterruptParser) row(line, id, rest []byte, numbered bool) error {
	if err := p.room(); err != nil {
		return err
	}
	begin := len(p.counts)
	row := p.grow()
	found, end, ok := counts(row, rest)
	text := bytes.TrimSpace(rest[end:])
	var err error
	switch {
	case !ok:
		err = errTooLarge
	case found == 1 && len(text) == 0 && p.carriesOneValue(id):
		p.counts = p.counts[:begin]
		p.add(id, text).Single = row[0]
		p.begins[len(p.begins)-1] = -1
		p.unended = false
		return nil
	case found < len(row):
		err = fmt.Errorf("interrupt %s: %d counts for %d CPUs", id, found, len(row))
	case beginsWithNumber(text):
		err = fmt.Errorf("interrupt %s: more counts than the %d CPUs of the header", id, len(row))
	case numbered:
		err = p.checkDevice(id, text, len(line)-len(rest)+end, row)
	}
	if err != nil {
		p.counts = p.counts[:begin]
		return err
	}
	p.add(id, text)
	p.begins[len(p.begins)-1] = begin
	// Numbered rows always name a chip. Others may end with their last count,
	// which is whole where a blank follows or where it fills its column.
	p.unended = len(text) == 0 && (numbered || end == len(rest) && end < columnWidth*len(row))
	return nil
}

// Snapshot gives what the last End closed.
func (p *InterruptParser) Snapshot() *domain.InterruptSnapshot { return &p.snap }

// End closes the snapshot. Where it stops short (ErrCut), what may be cut is
// already taken out of it.
func (p *InterruptParser) End() (*domain.InterruptSnapshot, error) {
	err := p.cut()
	width := len(p.snap.CPUs)
	for i := range p.snap.Lines {
		if at := p.begins[i]; at >= 0 {
			p.snap.Lines[i].Counts = p.counts[at : at+width : at+width]
		}
	}
	return &p.snap, err
}

// Parse reads one whole snapshot. Rows that cannot be read are left out, and
// the error (*UnreadRows, or ErrCut) says so; the snapshot is nil only where
// nothing could be read at all.
func (p *InterruptParser) Parse(data []byte) (*domain.InterruptSnapshot, error) {
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

// cut looks for signs that the block ended in mid-row or before its last row,
// and takes out a last row that may be cut.
func (p *InterruptParser) cut() error {
	n := len(p.snap.Lines)
	if n == 0 {
		return nil
	}
	last := p.snap.Lines[n-1].ID
	if p.unended {
		p.dropLast()
		return fmt.Errorf("%w: interrupt %s has no end", ErrCut, last)
	}
	if n < p.rowsBefore && last != p.lastBefore {
		if !p.unchanged {
			p.dropLast()
		}
		return fmt.Errorf("%w: ends at interrupt %s, the one before at %s", ErrCut, last, p.lastBefore)
	}
	return nil
}

func (p *InterruptParser) dropLast() {
	n := len(p.snap.Lines) - 1
	p.snap.Lines, p.begins = p.snap.Lines[:n], p.begins[:n]
}

// room says whether one more row is within bounds.
func (p *InterruptParser) room() error {
	if len(p.snap.Lines) >= maxLines {
		return errTooManyLines
	}
	if len(p.counts)+len(p.snap.CPUs) > maxCells {
		return errTooManyCells
	}
	return nil
}

// grow lengthens counts by one row and gives that row.
func (p *InterruptParser) grow() []uint64 {
	begin := len(p.counts)
	end := begin + len(p.snap.CPUs)
	if end > cap(p.counts) {
		grown := make([]uint64, begin, max(2*cap(p.counts), end))
		copy(grown, p.counts)
		p.counts = grown
	}
	p.counts = p.counts[:end]
	return p.counts[begin:end]
}

// add appends a line. Where the same line stood at the same place in the
// snapshot before, its strings and what they say are kept.
func (p *InterruptParser) add(id, text []byte) *domain.InterruptLine {
	n := len(p.snap.Lines)
	if n < cap(p.snap.Lines) {
		p.snap.Lines = p.snap.Lines[:n+1]
	} else {
		p.snap.Lines = append(p.snap.Lines, domain.InterruptLine{})
	}
	p.begins = append(p.begins, 0)
	line := &p.snap.Lines[n]
	line.Counts, line.Single = nil, 0
	p.unchanged = line.ID == string(id) && line.Description == string(text)
	if !p.unchanged {
		line.ID, line.Description = string(id), string(text)
		line.Device, line.Class = InterruptDevice(line.ID, line.Description)
	}
	return line
}

// carriesOneValue says whether a row with a single number is whole: the
// kernel's error counters, and NMI on old kernels. A row that had a count per
// CPU in the snapshot before is cut.
func (p *InterruptParser) carriesOneValue(id []byte) bool {
	switch string(id) {
	case "ERR", "Err", "MIS", "BAD":
		return true
	case "NMI":
		if n := len(p.snap.Lines); n < cap(p.snap.Lines) {
			before := p.snap.Lines[:n+1][n]
			if before.ID == "NMI" && before.Counts != nil {
				return false
			}
		}
		return len(p.snap.CPUs) > 1
	}
	return false
}

// beginsWithNumber says whether the first word of text is a number. What
// follows the counts is a chip's name or words, so that it is one count more.
func beginsWithNumber(text []byte) bool {
	if len(text) == 0 || !isDigit(text[0]) {
		return false
	}
	word, _ := token(text)
	_, ok := number(word)
	return ok
}

// interruptID splits a row into its name and what follows the colon.
func interruptID(line []byte) (id, rest []byte, err error) {
	begin := 0
	for begin < len(line) && isBlank(line[begin]) {
		begin++
	}
	for i := begin; i < len(line) && i <= begin+maxInterruptID; i++ {
		c := line[i]
		if c == ':' {
			if i == begin || !isInterruptID(line[begin:i]) {
				return nil, nil, errInterruptID
			}
			return line[begin:i], line[i+1:], nil
		}
	}
	if bytes.IndexByte(line, ':') < 0 {
		return nil, nil, errNoColon
	}
	return nil, nil, errInterruptID
}

// isInterruptID accepts numbers and the names the kernel gives its own lines:
// LOC, IPI0, I/O, Err.
func isInterruptID(id []byte) bool {
	if string(id) == "Err" { // ARM; all others are capitals
		return true
	}
	digitsOnly := true
	for _, c := range id {
		if isDigit(c) {
			continue
		}
		digitsOnly = false
		if (c < 'A' || c > 'Z') && c != '/' && c != '_' && c != '-' {
			return false
		}
	}
	return digitsOnly || id[0] >= 'A' && id[0] <= 'Z'
}
