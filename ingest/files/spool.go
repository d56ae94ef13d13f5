package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
)

// oracleTable takes the rows of one result set.
type oracleTable interface {
	// row takes a row's cells, in the order of the headings and valid during
	// the call. It returns what the sink returned.
	row(line int, cells [][]byte) error
	// lost says that a row was told to people as unreadable.
	lost()
	// end says that the result set ends, with the file or before.
	end(ofFile bool) error
}

// spool reads a file of result sets line by line: separated values, or columns
// of fixed width under rulers as SQL*Plus prints them. Each heading decides
// what follows; lines that are no rows (prompts, echoed statements, footers,
// page headings) are passed over where it is certain that they are none.
type spool struct {
	in   *input
	open func(line int, names []string) oracleTable

	table oracleTable // nil where the rows are of no view that is read here
	names []string    // of the result set being read
	cut   delimited
	fixed *fixedRows // not nil where the rows are under rulers

	previous heldLine // the line before, held until it is known whether a ruler follows
	heading  fixedHeading
	quoted   openRow

	echo      int          // number of the statement line that an echo would show next; 0 after rows
	pageBreak bool         // since the last row there was a blank line or a prompt
	pending   []spoolDoubt // lines since then that are no rows: page headings, unless rows follow at once
}

// heldLine is a copy of a line.
type heldLine struct {
	text   []byte
	number int // 0: none is held
}

// spoolDoubt is a line that is not a row, and why.
type spoolDoubt struct {
	line int
	why  string
}

// maxPending bounds the lines that may turn out to be a page heading.
const maxPending = 32

func newSpool(in *input, open func(line int, names []string) oracleTable) *spool {
	return &spool{in: in, open: open}
}

func (s *spool) read(ctx context.Context) error {
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := s.in.lines.next()
		if errors.Is(err, io.EOF) {
			return s.finish()
		}
		if err != nil {
			return err
		}
		if err := s.next(line); err != nil {
			return err
		}
	}
}

// next takes one line. A ruler makes the line before it a heading.
func (s *spool) next(line []byte) error {
	number := s.in.lines.number
	if s.previous.number > 0 && isRuler(line) {
		taken, err := s.ruler(number, line)
		if taken || err != nil {
			return err
		}
	}
	if err := s.release(); err != nil {
		return err
	}
	s.previous.text, s.previous.number = append(s.previous.text[:0], line...), number
	return nil
}

// release reads the line that was held back.
func (s *spool) release() error {
	if s.previous.number == 0 {
		return nil
	}
	number := s.previous.number
	s.previous.number = 0
	if s.heading.lines() > 0 {
		if err := s.openFixed(); err != nil {
			return err
		}
	}
	return s.line(number, s.previous.text)
}

func (s *spool) finish() error {
	if err := s.release(); err != nil {
		return err
	}
	if s.heading.lines() > 0 {
		if err := s.openFixed(); err != nil {
			return err
		}
	}
	if s.quoted.lines() > 0 {
		if err := s.giveUpQuoted(); err != nil {
			return err
		}
	}
	if err := s.endRecord(true); err != nil {
		return err
	}
	s.tellPending()
	return s.close(true)
}

// line reads a line that is not under suspicion of being a heading with a ruler.
func (s *spool) line(number int, line []byte) error {
	if s.quoted.lines() > 0 {
		return s.continueQuoted(number, line)
	}
	line = bytes.TrimRight(line, " \t")
	if len(line) > 0 && line[0] == '\f' {
		s.pageBreak = true
		line = bytes.TrimLeft(line, "\f")
	}
	if len(line) == 0 {
		return s.blank()
	}
	if isEchoed(line, s.echo) {
		s.echo++
		return nil
	}
	switch noiseOf(line) {
	case noisePrompt:
		return s.prompt(number, line)
	case noiseFooter:
		err := s.endRecord(true)
		s.pageBreak = true
		return err
	case noiseError:
		s.in.problem(number, "the database answered: "+printable(line, 80))
		return nil
	case noiseNone:
	}
	if names := s.delimitedHeading(line); names != nil {
		return s.openDelimited(number, names)
	}
	if s.table == nil || isRuler(line) {
		return nil
	}
	if s.fixed != nil {
		return s.fixedLine(number, line)
	}
	return s.delimitedLine(number, line)
}

// prompt passes over a prompt and the statement behind it, unless what is
// behind it is a heading or a row.
func (s *spool) prompt(number int, line []byte) error {
	if err := s.endRecord(true); err != nil {
		return err
	}
	s.echo, s.pageBreak = 2, true
	output := afterPrompt(line)
	if len(output) > 0 && (output[0] >= '0' && output[0] <= '9' || output[0] == '"' || s.delimitedHeading(output) != nil) {
		return s.line(number, output)
	}
	return nil
}

// blank is a line between pages or records, or a line of a wrapped record of
// which all columns are empty.
func (s *spool) blank() error {
	if s.fixed != nil && s.fixed.inRecord() {
		s.fixed.emptyLine()
		return nil
	}
	err := s.endRecord(false)
	s.pageBreak = true
	return err
}

// openTable begins a result set, or goes on with the one before where a page
// repeats its headings.
func (s *spool) openTable(number int, names []string) error {
	s.pending = s.pending[:0]
	s.pageBreak, s.echo = false, 0
	if s.table != nil && slices.Equal(names, s.names) {
		return nil
	}
	if err := s.close(false); err != nil {
		return err
	}
	s.names = names
	s.table = s.open(number, names)
	return nil
}

func (s *spool) close(ofFile bool) error {
	if s.table == nil {
		return nil
	}
	table := s.table
	s.table = nil
	return table.end(ofFile)
}

// row hands a row to the table.
func (s *spool) row(number int, cells [][]byte) error {
	if len(s.pending) > 0 {
		s.tellPending()
	}
	s.pageBreak, s.echo = false, 0
	return s.table.row(number, cells)
}

// notARow notes a line that could not be told into cells.
func (s *spool) notARow(number int, why string) {
	if s.pageBreak && len(s.pending) < maxPending {
		s.pending = append(s.pending, spoolDoubt{number, why})
		return
	}
	s.tell(number, why)
}

func (s *spool) tell(number int, why string) {
	s.in.problem(number, why)
	if s.table != nil {
		s.table.lost()
	}
}

// tellPending shows the lines since the last page break: no heading followed.
func (s *spool) tellPending() {
	for _, u := range s.pending {
		s.tell(u.line, u.why)
	}
	s.pending = s.pending[:0]
}
