package files

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// isRuler tells a line of dashes under headings: runs of dashes with blanks or
// a separator between them.
func isRuler(line []byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == len(line) || line[i] != '-' {
		return false
	}
	for _, c := range line[i:] {
		if c != '-' && c != ' ' && strings.IndexByte(delimiters, c) < 0 {
			return false
		}
	}
	return true
}

// span is where a column stands in a line: [from, to), in columns of the screen.
type span struct{ from, to int }

// rulerSpans gives the columns of a ruler; nil where there are too many.
func rulerSpans(ruler []byte) []span {
	var spans []span
	for i := 0; i < len(ruler); {
		if ruler[i] != '-' {
			i++
			continue
		}
		begin := i
		for i < len(ruler) && ruler[i] == '-' {
			i++
		}
		if len(spans) == maxResultColumns {
			return nil
		}
		spans = append(spans, span{begin, i})
	}
	return spans
}

// fixedLayout is one line of a heading or a row that LINESIZE may have wrapped
// over several, and the columns in it.
type fixedLayout struct {
	spans  []span
	first  int    // number of the line's first column in the row
	number []bool // which columns are aligned to the right
	gap    byte   // what stands between columns beside blanks (SET COLSEP); a blank where nothing does
}

// fixedHeading gathers the lines of a heading: each is followed by its ruler,
// and at once by the next where LINESIZE wraps it.
type fixedHeading struct {
	text    []byte // the first line
	layouts []fixedLayout
	names   []string
	first   int // line number of the first heading line
	last    int // line number of the last ruler
}

func (h *fixedHeading) lines() int { return len(h.layouts) }

// ruler takes a ruler and the line above it. It says false where that line is
// no heading, and the ruler nothing but a line of dashes.
func (s *spool) ruler(number int, line []byte) (taken bool, err error) {
	above := s.previous
	if s.heading.lines() > 0 && above.number != s.heading.last+1 {
		if err := s.openFixed(); err != nil {
			return false, err
		}
	}
	spans := rulerSpans(expandTabs(line))
	if len(spans) == 0 || len(s.heading.names)+len(spans) > maxResultColumns {
		return false, nil
	}
	text := expandTabs(bytes.TrimLeft(above.text, "\f"))
	names, ok := headingNames(text, spans)
	if !ok {
		return false, nil
	}
	if s.heading.lines() == 0 {
		s.heading.first, s.heading.text = above.number, bytes.Clone(above.text)
	}
	layout := fixedLayout{spans: spans, first: len(s.heading.names), number: make([]bool, len(spans)), gap: ' '}
	if i := bytes.IndexAny(line, delimiters); i >= 0 && line[i] != '\t' {
		layout.gap = line[i]
	}
	for i, name := range names {
		layout.number[i] = isNumberColumn(name)
	}
	s.heading.layouts = append(s.heading.layouts, layout)
	s.heading.names = append(s.heading.names, names...)
	s.heading.last = number
	s.previous.number = 0
	return true, nil
}

// maxHeading bounds a heading: names have up to 128 bytes, expressions more.
const maxHeading = 512

// headingNames gives the names above a ruler; ok is false where what stands
// there is no heading.
func headingNames(text []byte, spans []span) (names []string, ok bool) {
	names = make([]string, len(spans))
	for i, at := range spans {
		if at.from >= len(text) {
			return nil, false
		}
		name := string(trimPadding(text[at.from:min(at.to, len(text))]))
		if name == "" || len(name) > maxHeading || name[0] >= '0' && name[0] <= '9' || name[0] == '#' {
			return nil, false
		}
		names[i] = columnName(fullColumnName(name, at.to-at.from))
	}
	return names, true
}

// openFixed begins the result set whose heading has been gathered.
func (s *spool) openFixed() error {
	heading := s.heading
	s.heading = fixedHeading{}
	// Where the heading's one line is of separated values (SET COLSEP), so are the rows.
	if heading.lines() == 1 {
		if names := s.delimitedHeading(heading.text); len(names) == len(heading.names) {
			return s.openDelimited(heading.first, heading.names)
		}
	}
	if s.fixed != nil && s.table != nil && slices.Equal(heading.names, s.names) {
		// A page's heading amid a record leaves the record open.
		s.pending, s.pageBreak, s.echo = s.pending[:0], false, 0
		return nil
	}
	if err := s.endRecord(true); err != nil {
		return err
	}
	if err := s.openTable(heading.first, heading.names); err != nil {
		return err
	}
	s.fixed = newFixedRows(heading)
	return nil
}

// fixedRows puts rows together from the lines that they are printed on.
type fixedRows struct {
	layouts []fixedLayout
	time    int // number of the column that holds the row's time; -1 unknown

	cells [][]byte // of the record; copies
	piece []int    // how many columns of the screen the last line of each cell took
	line  int      // how many of the record's lines have been read
	first int      // number of its first line
	lost  bool     // after an unreadable record: lines until one fits are passed over
}

func newFixedRows(h fixedHeading) *fixedRows {
	return &fixedRows{
		layouts: h.layouts,
		time:    slices.IndexFunc(h.names, isTimeColumn),
		cells:   make([][]byte, len(h.names)),
		piece:   make([]int, len(h.names)),
	}
}

// inRecord says whether lines of a record are missing.
func (r *fixedRows) inRecord() bool { return r.line > 0 && r.line < len(r.layouts) }

func (r *fixedRows) complete() bool { return r.line == len(r.layouts) }

// emptyLine takes a line of a wrapped record of which all columns are empty.
func (r *fixedRows) emptyLine() {
	layout := &r.layouts[r.line]
	for i := range layout.spans {
		r.cells[layout.first+i] = r.cells[layout.first+i][:0]
	}
	r.line++
}

// fixedLine reads one line of a row under rulers.
func (s *spool) fixedLine(number int, line []byte) error {
	r := s.fixed
	line = expandTabs(line)
	if r.complete() {
		if r.continues(line) {
			return nil
		}
		if err := s.endRecord(false); err != nil {
			return err
		}
	}
	layout := &r.layouts[r.line]
	cells, ok := layout.cut(line)
	if ok {
		ok = r.plausible(layout, cells)
	}
	if !ok {
		return s.unfitting(number, line)
	}
	r.lost = false
	if r.line == 0 {
		r.first = number
	}
	for i, cell := range cells {
		cell = trimPadding(cell)
		r.cells[layout.first+i] = append(r.cells[layout.first+i][:0], cell...)
		r.piece[layout.first+i] = screenWidth(cell)
	}
	r.line++
	return nil
}

// unfitting deals with a line that is not the line of a record that is due.
func (s *spool) unfitting(number int, line []byte) error {
	r := s.fixed
	if r.line > 0 {
		// The record before is cut; this line may begin the next one.
		r.line = 0
		s.tell(r.first, "row not complete")
		r.lost = true
		return s.fixedLine(number, line)
	}
	if !r.lost {
		s.notARow(number, "not a row under the headings")
		r.lost = len(r.layouts) > 1 && !s.pageBreak
	}
	return nil
}

// endRecord hands the record to the table when its last line has been read;
// cut says that no more lines of it can follow.
func (s *spool) endRecord(cut bool) error {
	r := s.fixed
	if r == nil || r.line == 0 || s.table == nil {
		return nil
	}
	if r.complete() {
		r.line = 0
		return s.row(r.first, r.cells)
	}
	if cut {
		r.line = 0
		s.tell(r.first, fmt.Sprintf("row not complete: it has %d lines under this heading", len(r.layouts)))
	}
	return nil
}

// plausible says whether the cells may be of the line that is due: the time
// must begin like one, so that a lost line does not shift all that follow.
func (r *fixedRows) plausible(layout *fixedLayout, cells [][]byte) bool {
	i := r.time - layout.first
	if r.time < 0 || i < 0 || i >= len(cells) {
		return true
	}
	cell := trimPadding(cells[i])
	return len(cell) > 0 && (cell[0] >= '0' && cell[0] <= '9' || cell[0] == '#')
}

// continues says whether a line goes on with values of the record's last line
// that were wider than their columns, and adds it to them.
func (r *fixedRows) continues(line []byte) bool {
	layout := &r.layouts[r.line-1]
	cells, ok := layout.cut(line)
	if !ok || !r.keyed(layout) {
		return false
	}
	some := false
	for i, cell := range cells {
		if cell = trimPadding(cell); len(cell) == 0 {
			continue
		}
		if !r.overflows(layout, i, cell) {
			return false
		}
		some = true
	}
	for i, cell := range cells {
		r.extend(layout, i, cell)
	}
	return some
}

// overflows says whether a cell can be what did not fit in the line above: the
// column was full, or the cell's first word would not have fitted behind it.
func (r *fixedRows) overflows(layout *fixedLayout, i int, cell []byte) bool {
	at := layout.first + i
	width := layout.spans[i].to - layout.spans[i].from
	word, _, _ := bytes.Cut(cell, []byte(" "))
	return !layout.number[i] && at != r.time && len(r.cells[at]) > 0 &&
		r.piece[at]+1+screenWidth(word) > width && len(r.cells[at])+len(cell) < maxCell
}

// extend adds what did not fit in the line above. The cut is at the column's
// width, or at a blank, of which nothing is to be seen at the line's end.
func (r *fixedRows) extend(layout *fixedLayout, i int, cell []byte) {
	text := trimPadding(cell)
	if len(text) == 0 {
		return
	}
	at := layout.first + i
	if r.piece[at] < layout.spans[i].to-layout.spans[i].from || cell[0] == ' ' {
		r.cells[at] = append(r.cells[at], ' ')
	}
	r.cells[at] = append(r.cells[at], text...)
	r.piece[at] = screenWidth(text)
}

// keyed says whether the record's last line holds a time or a number: a line
// that continues values has none, and so differs from a record.
func (r *fixedRows) keyed(layout *fixedLayout) bool {
	for i := range layout.spans {
		if (layout.number[i] || layout.first+i == r.time) && len(r.cells[layout.first+i]) > 0 {
			return true
		}
	}
	return false
}
