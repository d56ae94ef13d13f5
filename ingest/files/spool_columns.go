package files

import (
	"bytes"
	"unicode/utf8"
)

// tabStop is the distance of SQL*Plus' tab stops (SET TAB ON is its default).
const tabStop = 8

// expandTabs puts blanks in the place of tabs; a line without any comes back as it is.
func expandTabs(line []byte) []byte {
	if bytes.IndexByte(line, '\t') < 0 {
		return line
	}
	expanded := make([]byte, 0, min(2*len(line), maxLine))
	for _, c := range line {
		if c != '\t' {
			expanded = append(expanded, c)
			continue
		}
		for expanded = append(expanded, ' '); len(expanded)%tabStop != 0; {
			expanded = append(expanded, ' ')
		}
		if len(expanded) > maxLine {
			break
		}
	}
	return expanded
}

// cut gives the cells of a line with the blanks that pad them, and false where its text does not keep to the
// columns. Text in other than ASCII may be padded by screen columns, by
// characters or by bytes, depending on client and release: the first of these
// in which everything stands where it should is the one.
func (l *fixedLayout) cut(line []byte) ([][]byte, bool) {
	if isASCII(line) {
		return l.cutAt(line, nil)
	}
	for _, offsets := range [][]int{columnOffsets(line, runeWidth), columnOffsets(line, func(rune) int { return 1 }), nil} {
		if cells, ok := l.cutAt(line, offsets); ok && l.aligned(cells) {
			return cells, true
		}
	}
	return nil, false
}

// cutAt cuts a line where the columns are; offsets holds the byte at which
// each screen column begins, nil where they are the same.
func (l *fixedLayout) cutAt(line []byte, offsets []int) ([][]byte, bool) {
	byteAt := func(column int) int {
		if offsets == nil {
			return min(column, len(line))
		}
		if column >= len(offsets) {
			return len(line)
		}
		return offsets[column]
	}
	cells := make([][]byte, len(l.spans))
	end := 0
	for i, at := range l.spans {
		from, to := byteAt(at.from), byteAt(at.to)
		if from < end || to < from || !l.onlyGap(line[end:from]) || to-from > maxCell {
			return nil, false
		}
		cells[i] = line[from:to]
		end = to
	}
	return cells, l.onlyGap(line[end:])
}

// onlyGap says whether nothing but blanks and the column separator stands
// between two columns.
func (l *fixedLayout) onlyGap(gap []byte) bool {
	for _, c := range gap {
		if c != ' ' && c != l.gap {
			return false
		}
	}
	return true
}

// aligned says whether numbers end where their columns do.
func (l *fixedLayout) aligned(cells [][]byte) bool {
	for i, cell := range cells {
		if l.number[i] && len(trimPadding(cell)) > 0 && cell[len(cell)-1] == ' ' {
			return false
		}
	}
	return true
}

func isASCII(line []byte) bool {
	for _, c := range line {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// columnOffsets gives the byte at which each column begins, when each
// character takes as many as width says.
func columnOffsets(line []byte, width func(rune) int) []int {
	offsets := make([]int, 0, len(line))
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		for range width(r) {
			offsets = append(offsets, i)
		}
		i += size
	}
	return offsets
}

// runeWidth is 2 for the characters that take two columns of a screen: Hangul,
// Han, Kana and full-width forms (Unicode Standard Annex 11, W and F).
func runeWidth(r rune) int {
	switch {
	case r < 0x1100:
		return 1
	case r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
		r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60, r >= 0xFFE0 && r <= 0xFFE6:
		return 2
	default:
		return 1
	}
}

// screenWidth is how many columns a text takes.
func screenWidth(text []byte) int {
	if isASCII(text) {
		return len(text)
	}
	width := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		width += runeWidth(r)
		i += size
	}
	return width
}
