package procfmt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/corewait/corewait/domain"
)

// A gap in a log joins what stands before it to what comes after. Where both
// are parts of rows, the row that results may have the right number of counts
// and a text, and yet say what no reading said: counts of two readings, or one
// interrupt with another one's device. And rows behind a gap may be those of a
// later reading, whose header was lost. Torn rows are told by their columns and
// by what the reading before called the same interrupt, gaps by interrupts that
// the reading before had.

// errColumns says that a row does not stand in the kernel's columns.
var errColumns = errors.New("its counts do not stand below the names of their CPUs, as those of other rows do: a torn row")

// rowColumns holds rows against the columns that the kernel prints.
type rowColumns struct {
	end int  // where the last count of each row ends; 0 where the header does not tell
	met bool // rows stood in their columns: blanks were not collapsed on the way
}

// header takes the line of CPU names. Each begins a column to the right of the
// one before, and its first character stands four before the end of its counts.
func (c *rowColumns) header(line []byte) {
	c.end = 0
	name := []byte("CPU")
	first, last := bytes.Index(line, name), bytes.LastIndex(line, name)
	if first < columnWidth || bytes.IndexByte(line, '\t') >= 0 || (last-first)/columnWidth+1 != bytes.Count(line, name) {
		return
	}
	for at := first; at < last; at += columnWidth {
		if !bytes.HasPrefix(line[at:], name) {
			return
		}
	}
	c.end = last + len("CPU0")
}

// check takes a row whose last count ends at an offset.
func (c *rowColumns) check(end int, counts []uint64) error {
	const wide = 10_000_000_000 // does not fit its column, and shifts those after it
	switch {
	case c.end == 0:
	case end == c.end:
		c.met = true
	case c.met && !slices.ContainsFunc(counts, func(n uint64) bool { return n >= wide }):
		return errColumns
	}
	return nil
}

// rowsBefore follows a snapshot through the numbered rows of the one before. As
// a rule a row stands at the same place in both; from the first that does not,
// they are indexed.
type rowsBefore struct {
	indexed bool
	rows    map[string]rowBefore
	next    int // rank of the row that should come next
}

type rowBefore struct {
	text string
	rank int // among the rows that are indexed
}

// index takes what the present snapshot has not replaced yet of the one before.
func (b *rowsBefore) index(lines []domain.InterruptLine) {
	if b.rows == nil {
		b.rows = make(map[string]rowBefore, len(lines))
	}
	clear(b.rows)
	b.indexed, b.next = true, 0
	for i := range lines {
		if allDigits(lines[i].ID) {
			b.rows[lines[i].ID] = rowBefore{lines[i].Description, len(b.rows)}
		}
	}
}

// textBefore gives the text of a row of the snapshot before that the present
// one does not have yet.
func (p *InterruptParser) textBefore(id []byte) (text string, known bool) {
	if !p.before.indexed {
		n := len(p.snap.Lines)
		left := p.snap.Lines[n:max(n, p.rowsBefore)]
		if len(left) > 0 && left[0].ID == string(id) {
			return left[0].Description, true
		}
		p.before.index(left)
	}
	row, known := p.before.rows[string(id)]
	return row.text, known
}

// checkPlace looks for rows of devices that the snapshot before had before this
// one, and that did not come.
func (p *InterruptParser) checkPlace(id []byte) error {
	_, known := p.textBefore(id)
	if !known || !p.before.indexed {
		return nil
	}
	rank := p.before.rows[string(id)].rank
	if rank > p.before.next {
		return fmt.Errorf("interrupt %s, before which the reading before had others: %w", id, ErrOrder)
	}
	p.before.next = rank + 1
	return nil
}

// afterTear gives the error of a row that is not taken. Where the reading before
// had it, a gap may lie in it, so that no row behind it is surely of this reading.
func (p *InterruptParser) afterTear(id []byte, err error) error {
	if _, known := p.textBefore(id); known {
		return fmt.Errorf("%w; %w", err, ErrOrder)
	}
	return err
}

// checkDevice looks for a tear in the row of a device, whose last count ends at
// an offset.
func (p *InterruptParser) checkDevice(id, text []byte, end int, counts []uint64) error {
	if err := p.columns.check(end, counts); err != nil {
		return fmt.Errorf("interrupt %s: %w", id, err)
	}
	return p.checkText(id, text)
}

// checkText compares the text after an interrupt's counts with that of the
// reading before. A text that changed is not used in the first reading that has
// it: where it is no tear, the next one says the same.
func (p *InterruptParser) checkText(id, text []byte) error {
	before, known := p.textBefore(id)
	switch {
	case known && before == string(text):
		return nil
	case known:
		return fmt.Errorf("interrupt %s is %.64q, and was %.64q in the reading before: a torn row, or a change, which is used from the next reading on", id, text, before)
	case countsWithin(text):
		return fmt.Errorf("interrupt %s is %.64q: counts stand in its text: a torn row", id, text)
	}
	return nil
}

// countsWithin says whether two words of a text that follow each other are
// numbers: no chip or handler is called so.
func countsWithin(text []byte) bool {
	before := false
	for {
		var word []byte
		word, text = token(text)
		if len(word) == 0 {
			return false
		}
		_, numeric := number(word)
		if numeric && before {
			return true
		}
		before = numeric
	}
}
