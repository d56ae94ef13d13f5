package files

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// noise is what SQL*Plus prints beside headings and rows.
type noise uint8

const (
	noiseNone   noise = iota
	noisePrompt       // a prompt with the statement typed or echoed behind it, or a further line of one
	noiseFooter       // what is said about a statement when it is done
	noiseError        // an error of the database or of SQL*Plus
)

// noiseOf tells a line that is no row. Only what SQL*Plus is known to print is told.
func noiseOf(line []byte) noise {
	switch {
	case isPrompt(line):
		return noisePrompt
	case isFooter(line):
		return noiseFooter
	case isDatabaseError(line):
		return noiseError
	default:
		return noiseNone
	}
}

// maxPrompt bounds a prompt.
const maxPrompt = 64

// isPrompt tells "SQL> ", "SYS@ORDP1> " and the like.
func isPrompt(line []byte) bool {
	end := bytes.IndexByte(line[:min(len(line), maxPrompt)], '>')
	if end < 1 || end+1 < len(line) && line[end+1] != ' ' {
		return false
	}
	name := line[:end]
	for _, c := range name {
		if !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune("_@.$#:- ", rune(c)) {
			return false
		}
	}
	return bytes.HasSuffix(bytes.ToUpper(name), []byte("SQL")) ||
		bytes.IndexByte(name, '@') > 0 && bytes.IndexByte(name, ' ') < 0
}

// afterPrompt gives what stands behind the prompts of a line: where statements
// come from a pipe, output follows the prompt without a line end. Numbers of
// statement lines ("  2    3  ") are none.
func afterPrompt(line []byte) []byte {
	for isPrompt(line) {
		line = bytes.TrimLeft(line[bytes.IndexByte(line, '>')+1:], " ")
		if len(line) == 0 {
			return nil
		}
	}
	if len(bytes.Trim(line, "0123456789 ")) == 0 {
		return nil
	}
	return line
}

// isEchoed tells the further lines of an echoed statement by their number:
// "  2  from v$instance", and the line that LIST and RUN mark as the current
// one: "  1* select 1 from dual".
func isEchoed(line []byte, number int) bool {
	if number == 0 {
		return false
	}
	text := bytes.TrimLeft(line, " ")
	if current := bytes.TrimLeft(text, "0123456789"); len(current) < len(text) && bytes.HasPrefix(current, []byte("* ")) {
		return true
	}
	rest, found := bytes.CutPrefix(text, strconv.AppendInt(nil, int64(number), 10))
	return found && (len(rest) == 0 || bytes.HasPrefix(rest, []byte("  ")))
}

// footers are how the lines begin that SQL*Plus prints around result sets.
func footers() []string {
	return []string{
		"no rows selected", "Elapsed: ", "PL/SQL procedure successfully completed", "Session altered",
		"System altered", "Commit complete", "Connected.", "Connected to:", "Disconnected from ", "Copyright (c) ",
		"SQL*Plus: Release ", "Oracle Database ", "Version ", "With the ", "and Real Application Testing",
		"Last Successful login time:", "SP2-0310",
	}
}

// isFooter tells "12 rows selected." in the languages that month names are
// known in, and what else SQL*Plus says when a statement is done.
func isFooter(line []byte) bool {
	c := line[0]
	if c >= '0' && c <= '9' {
		rest := bytes.TrimLeft(line, "0123456789")
		for _, text := range []string{" row selected.", " rows selected.", " Zeile ausgewählt.", " Zeilen ausgewählt.", "개의 행이 선택되었습니다.", " 개의 행이 선택되었습니다.", " 행이 선택되었습니다.", "行が選択されました。"} {
			if string(rest) == text {
				return true
			}
		}
		return false
	}
	if c >= 0x80 {
		return bytes.HasPrefix(line, []byte("已选择")) || bytes.HasPrefix(line, []byte("未选定行")) ||
			bytes.HasPrefix(line, []byte("선택된 레코드가 없습니다"))
	}
	if c == 'o' {
		return isSubstitution(line)
	}
	if strings.IndexByte("anCDELOPSVW", c) < 0 {
		return false
	}
	for _, footer := range footers() {
		if bytes.HasPrefix(line, []byte(footer)) {
			return true
		}
	}
	return isSubstitution(line)
}

// isSubstitution tells "old   1: select ..." and "new   1: ...".
func isSubstitution(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("old "))
	if !found {
		rest, found = bytes.CutPrefix(line, []byte("new "))
	}
	rest = bytes.TrimLeft(rest, " ")
	digits := len(rest) - len(bytes.TrimLeft(rest, "0123456789"))
	return found && digits > 0 && digits < len(rest) && rest[digits] == ':'
}

// isDatabaseError tells ORA-00942 and SP2-0042.
func isDatabaseError(line []byte) bool {
	for _, prefix := range []string{"ORA-", "SP2-", "PLS-", "TNS-"} {
		if rest, found := bytes.CutPrefix(line, []byte(prefix)); found {
			return len(rest) >= 4 && rest[0] >= '0' && rest[0] <= '9'
		}
	}
	return false
}

// printable gives a line's beginning without what a terminal would obey.
func printable(line []byte, limit int) string {
	if len(line) > limit {
		line = line[:limit]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(line), "?"))
}
