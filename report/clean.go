package report

import (
	"strings"
	"unicode"
)

// Clean replaces control characters in text that comes from input: an escape
// sequence in a device or module name must not reach a terminal, nor a line
// break a table.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\u2028' || r == '\u2029' { // the last two: Unicode's line and paragraph separators
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
}
