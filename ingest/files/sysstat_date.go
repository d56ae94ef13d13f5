package files

import (
	"bytes"
	"fmt"
	"time"
)

// dateOrder says in which order a printed date names its parts.
type dateOrder uint8

const (
	dateNone  dateOrder = iota
	dateYMD             // 2026-11-30, 2026년 11월 30일, 2026年11月30日
	dateDMY             // 30.11.2026, 30-11-2026
	dateSlash           // 11/30/2026 or 30/11/2026: the locale's choice
)

// printedDate is a date as printed.
type printedDate struct {
	order    dateOrder
	parts    [3]int
	longYear bool // the year has four digits
}

// cutDate reads a date and gives what follows it.
func cutDate(p []byte) (d printedDate, rest []byte, ok bool) {
	p = bytes.TrimPrefix(p, []byte("西元")) // "AD", as older Chinese locales begin
	first, length, p := digits(p)
	separator, p, ok := dateSeparator(p)
	if !ok || length == 0 {
		return d, nil, false
	}
	second, secondLength, p := digits(p)
	if secondLength == 0 || secondLength > 2 {
		return d, nil, false
	}
	after, p, ok := dateSeparator(p)
	if !ok || after != separator {
		return d, nil, false
	}
	third, thirdLength, p := digits(p)
	for _, end := range [...]string{"일", "日", "."} {
		p = bytes.TrimPrefix(p, []byte(end))
	}
	d.parts = [3]int{first, second, third}
	d.order, d.longYear = orderOf(separator, length, thirdLength)
	return d, p, d.order != dateNone
}

// orderOf tells the order from the separator and from how many digits the
// first and the last part have.
func orderOf(separator byte, first, last int) (order dateOrder, longYear bool) {
	switch {
	case first == 4 && (last == 1 || last == 2):
		return dateYMD, true
	case first > 2 || (last != 2 && last != 4):
		return dateNone, false
	case separator == '.':
		return dateDMY, last == 4
	case separator == '/':
		return dateSlash, last == 4
	case separator == '-' && last == 4:
		return dateDMY, true
	default:
		return dateNone, false // 26-11-30: year or day first cannot be told
	}
}

// digits reads up to four digits.
func digits(p []byte) (v, n int, rest []byte) {
	for n < len(p) && n < 4 && p[n] >= '0' && p[n] <= '9' {
		v = v*10 + int(p[n]-'0')
		n++
	}
	return v, n, p[n:]
}

// dateSeparator reads what stands between two parts of a date; the words for
// year and month of East Asian languages count as one separator.
func dateSeparator(p []byte) (separator byte, rest []byte, ok bool) {
	for _, word := range [...]string{"년", "年", "월", "月"} {
		if bytes.HasPrefix(p, []byte(word)) {
			return 'y', trimBlanks(p[len(word):]), true
		}
	}
	if len(p) == 0 || (p[0] != '-' && p[0] != '/' && p[0] != '.') {
		return 0, nil, false
	}
	rest = p[1:]
	if p[0] == '.' {
		rest = trimBlanks(rest) // 30. 11. 2026
	}
	return p[0], rest, true
}

// evidence is what a file's rows tell about its locale.
type evidence struct {
	twelveHour   bool // times carry AM or PM in some language
	english      bool // in English
	decimalComma bool
}

// day gives midnight of the date, in UTC. Where month and day could be
// swapped, the locale's other habits decide: nobody who writes a decimal comma
// writes the month first, and of the locales of Linux only those of the USA
// print AM or PM beside a year of four digits. Where those do not tell either,
// a doubt is worded: the "C" locale writes 11/30/26, and it is what servers
// run their jobs in; other locales write the day first.
func (d printedDate) day(e evidence) (day time.Time, doubt string, ok bool) {
	switch d.order {
	case dateYMD:
		day, ok = civilDay(d.parts[0], d.parts[1], d.parts[2])
	case dateDMY:
		day, ok = civilDay(d.year(), d.parts[1], d.parts[0])
	case dateSlash:
		return d.slashDay(e)
	case dateNone:
	}
	return day, "", ok
}

func (d printedDate) slashDay(e evidence) (day time.Time, doubt string, ok bool) {
	a, b := d.parts[0], d.parts[1]
	monthFirst, monthFirstOK := civilDay(d.year(), a, b)
	dayFirst, dayFirstOK := civilDay(d.year(), b, a)
	switch {
	case !dayFirstOK || (monthFirstOK && a == b):
		return monthFirst, "", monthFirstOK
	case !monthFirstOK:
		return dayFirst, "", true
	case e.decimalComma, e.twelveHour && !e.english:
		return dayFirst, "", true
	case e.english && d.longYear:
		return monthFirst, "", true
	case !e.twelveHour && !d.longYear:
		return monthFirst, doubtful(monthFirst, dayFirst, `the "C" locale writes the month first`), true
	default:
		return dayFirst, doubtful(dayFirst, monthFirst, "most locales write the day first"), true
	}
}

func doubtful(taken, other time.Time, why string) string {
	return fmt.Sprintf("date can be %s or %s: taken as the former, as %s",
		taken.Format(time.DateOnly), other.Format(time.DateOnly), why)
}

func (d printedDate) year() int {
	if d.longYear {
		return d.parts[2]
	}
	return 2000 + d.parts[2] // these tools are younger than 2000
}

// civilDay gives midnight in UTC of a date that exists and that a log can have.
func civilDay(year, month, day int) (time.Time, bool) {
	if year < 1990 || year > 2200 || month < 1 || month > 12 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, day >= 1 && t.Day() == day
}
