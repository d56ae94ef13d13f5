package files

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// mayBeHeading passes over nearly all rows: headings begin with a letter and
// hold the name of a column that every table has.
func mayBeHeading(line []byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '"' || line[i] == '\t') {
		i++
	}
	if i == len(line) || !isLetter(line[i]) {
		return false
	}
	return mayHoldHeadings(line)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// delimitedHeading gives the headings of a line of separated values where they
// are of a view that is read here.
func (s *spool) delimitedHeading(line []byte) []string {
	if !mayBeHeading(line) {
		return nil
	}
	for _, delimiter := range []byte(delimiters) {
		if bytes.IndexByte(line, delimiter) < 0 {
			continue
		}
		cut := delimited{delimiter: delimiter}
		cells, err := cut.split(line)
		if err != nil || slices.ContainsFunc(cells, isCutExpression) {
			continue
		}
		names := make([]string, len(cells))
		for i, cell := range cells {
			names[i] = columnName(string(cell))
		}
		if _, known := newOracleColumns(names).kind(); known {
			s.cut.delimiter = delimiter
			return names
		}
	}
	return nil
}

// isCutExpression tells the pieces of a statement, such as "(NAME" and "VALUE)",
// from headings.
func isCutExpression(cell []byte) bool {
	return bytes.Count(cell, []byte("(")) != bytes.Count(cell, []byte(")"))
}

func (s *spool) openDelimited(number int, names []string) error {
	if err := s.endRecord(true); err != nil {
		return err
	}
	s.fixed = nil
	return s.openTable(number, names)
}

// delimitedLine reads a row of separated values.
func (s *spool) delimitedLine(number int, line []byte) error {
	cells, err := s.cut.split(line)
	switch {
	case errors.Is(err, errOpenQuote):
		s.quoted.begin(number, line)
		return nil
	case err != nil:
		s.notARow(number, err.Error())
		return nil
	case len(cells) == len(s.names):
		return s.row(number, cells)
	case s.pageBreak && otherHeading(cells):
		return s.close(false)
	default:
		s.notARow(number, fmt.Sprintf("%d values under %d headings", len(cells), len(s.names)))
		return nil
	}
}

// otherHeading says whether cells are the headings of another result set:
// names in capitals, at least two.
func otherHeading(cells [][]byte) bool {
	for _, cell := range cells {
		if len(cell) == 0 || len(cell) > 128 || cell[0] < 'A' || cell[0] > 'Z' {
			return false
		}
		for _, c := range cell {
			if c >= 'a' && c <= 'z' || c >= 0x80 || c == ' ' {
				return false
			}
		}
	}
	return len(cells) > 1
}

// Bounds of a row whose quoted values hold line ends, as SQL texts do.
const (
	maxRowLines = 200
	maxRowSize  = 64 << 10
)

// openRow is a row of which a quoted value has not ended yet.
type openRow struct {
	text  []byte
	ends  []int // of its lines, in text
	first int   // line number
}

func (o *openRow) lines() int { return len(o.ends) }

func (o *openRow) begin(number int, line []byte) {
	o.text, o.first = append(o.text[:0], line...), number
	o.ends = append(o.ends[:0], len(o.text))
}

func (o *openRow) add(line []byte) {
	o.text = append(append(o.text, '\n'), line...)
	o.ends = append(o.ends, len(o.text))
}

// continueQuoted adds a line to a row that a quoted value left open.
func (s *spool) continueQuoted(number int, line []byte) error {
	if s.quoted.lines() == maxRowLines || len(s.quoted.text)+len(line) > maxRowSize {
		if err := s.giveUpQuoted(); err != nil {
			return err
		}
		return s.line(number, line)
	}
	s.quoted.add(line)
	cells, err := s.cut.split(s.quoted.text)
	switch {
	case errors.Is(err, errOpenQuote):
		return nil
	case err == nil && len(cells) == len(s.names):
		first := s.quoted.first
		s.quoted.ends = s.quoted.ends[:0]
		return s.row(first, cells)
	default:
		return s.giveUpQuoted()
	}
}

// giveUpQuoted shows the line whose quote was stray and reads the lines behind
// it by themselves.
func (s *spool) giveUpQuoted() error {
	row := s.quoted
	s.quoted = openRow{}
	s.notARow(row.first, errOpenQuote.Error())
	for i := 1; i < len(row.ends); i++ {
		if err := s.line(row.first+i, row.text[row.ends[i-1]+1:row.ends[i]]); err != nil {
			return err
		}
	}
	return nil
}
