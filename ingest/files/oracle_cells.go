package files

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"unicode/utf8"
)

// What keeps a printed number from being read with certainty.
var (
	errNumberEmpty   = errors.New("no value")
	errNumberTooWide = errors.New("printed as #: the column is too narrow (SET NUMWIDTH 20)")
	errNumberRounded = errors.New("printed rounded with an exponent (SET NUMWIDTH 20)")
	errNumberForm    = errors.New("not a whole number without group separators")
	errNumberRange   = errors.New("number out of range")
)

// wholeNumber reads a cell that holds a whole number. Group separators are
// refused: 1,434 is one thing in one territory and another in the next.
func wholeNumber(cell []byte) (int64, error) {
	digits := cell
	if len(digits) == 0 {
		return 0, errNumberEmpty
	}
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	var value int64
	for i, d := range digits {
		if d < '0' || d > '9' {
			if i > 0 && onlyZeros(digits[i:]) {
				break
			}
			return 0, numberError(cell)
		}
		if value > (math.MaxInt64-int64(d-'0'))/10 {
			return 0, errNumberRange
		}
		value = value*10 + int64(d-'0')
	}
	if len(digits) == 0 {
		return 0, errNumberForm
	}
	if negative {
		value = -value
	}
	return value, nil
}

// onlyZeros says whether the rest of a number is ".0" or ".00", as tools print
// whole numbers that they hold as floating point. Three zeros may be a group.
func onlyZeros(rest []byte) bool {
	return string(rest) == ".0" || string(rest) == ".00"
}

func numberError(cell []byte) error {
	switch {
	case cell[0] == '#':
		return errNumberTooWide
	case cell[0] >= '0' && cell[0] <= '9' && bytes.ContainsAny(cell, "eE"):
		return errNumberRounded
	default:
		return errNumberForm
	}
}

// counterValue reads a whole number that cannot be negative.
func counterValue(cell []byte) (int64, error) {
	value, err := wholeNumber(cell)
	if err == nil && value < 0 {
		return 0, errNumberRange
	}
	return value, err
}

// optionalNumber reads a number that nothing hangs on; -1 unknown.
func optionalNumber(cell []byte) int64 {
	value, err := counterValue(cell)
	if err != nil {
		return -1
	}
	return value
}

// cellAt gives a row's cell, without what tools print for null; nil where the
// result set has no such column.
func cellAt(cells [][]byte, column int) []byte {
	if column < 0 || column >= len(cells) {
		return nil
	}
	cell := cells[column]
	if len(cell) == 6 && string(cell) == "(null)" {
		return nil
	}
	return cell
}

// Bounds of the texts that are shared between rows: their number, and their
// length, which is 64 for events and statistics and up to 84 for programs.
const (
	maxTexts = 4096
	maxText  = 128
)

// texts shares equal texts between the rows of a file: events, programs and
// machines repeat in every row.
type texts map[string]string

func (t texts) of(cell []byte) string {
	if len(cell) == 0 {
		return ""
	}
	if s, known := t[string(cell)]; known {
		return s
	}
	s := string(cell)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(t) < maxTexts && len(cell) <= maxText {
		t[string(cell)] = s
	}
	return s
}
