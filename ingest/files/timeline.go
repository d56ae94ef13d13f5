package files

import (
	"bytes"
	"math"
	"strings"
	"time"
)

// timeLine is a line that holds nothing but a time, as loops print one before
// each reading: ISO 8601, seconds since 1970, what date prints, or the
// "zzz ***" lines of OSWatcher.
type timeLine struct {
	at    time.Time      // UTC
	zone  *time.Location // that the line carries; nil where it carries none or counts from 1970
	whole bool           // printed in whole seconds: the true time lies within the second after
	host  string         // node that an OSWatcher line names
}

// maxTimeLine bounds a time line; the longest locale needs under 80 bytes.
const maxTimeLine = 128

// parseTimeLine reads a time line; zone is taken for times that carry none.
// A zone's name (KST, EST) is not unique and counts as none, except UTC and GMT.
func parseTimeLine(line []byte, zone *time.Location) (timeLine, bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 || len(text) > maxTimeLine {
		return timeLine{}, false
	}
	var l timeLine
	if rest, ok := bytes.CutPrefix(text, []byte("zzz ***")); ok {
		text, l.host = cutHost(rest)
	}
	if at, whole, ok := epochLine(text); ok {
		l.at, l.whole = at, whole
		return l, true
	}
	var d dateParts
	if !d.parse(text) {
		return timeLine{}, false
	}
	day, ok := civilDay(d.year, d.month, d.day)
	if !ok || !d.hasTime {
		return timeLine{}, false
	}
	if d.time.hasOffset {
		zone = time.FixedZone("", d.time.offset)
		if d.time.offset == 0 {
			zone = time.UTC
		}
		l.zone = zone
	}
	if zone == nil {
		zone = time.UTC
	}
	y, m, dd := day.Date()
	l.at = time.Date(y, m, dd, 0, 0, d.time.second, d.nanosecond, zone).UTC()
	l.whole = !d.fraction
	return l, true
}

// cutHost cuts " - db1" from the end of an OSWatcher line.
func cutHost(text []byte) (rest []byte, host string) {
	before, after, found := bytes.Cut(text, []byte(" - "))
	if !found {
		return text, ""
	}
	name, more := cutField(after)
	if len(trimBlanks(more)) > 0 {
		return text, ""
	}
	return before, string(name)
}

// epochLine reads seconds since 1970 with or without a fraction, or an integer
// of milli-, micro- or nanoseconds since then, told apart by its length.
func epochLine(text []byte) (at time.Time, inSeconds, ok bool) {
	integer, fraction, pointed := bytes.Cut(text, []byte("."))
	seconds := integer
	switch len(integer) {
	case 9, 10:
		if pointed && len(fraction) == 0 {
			return at, false, false
		}
	case 13, 16, 19:
		if pointed {
			return at, false, false
		}
		seconds, fraction = integer[:10], integer[10:]
	default:
		return at, false, false
	}
	s, ok := whole(seconds, math.MaxInt)
	if !ok || int64(s) > latestEpoch {
		return at, false, false
	}
	nanosecond, ok := nanoseconds(fraction)
	return time.Unix(int64(s), int64(nanosecond)).UTC(), len(fraction) == 0, ok
}

// nanoseconds reads the digits after a decimal point.
func nanoseconds(digits []byte) (int, bool) {
	if len(digits) > 9 {
		return 0, false
	}
	v := 0
	for i := range 9 {
		v *= 10
		if i < len(digits) {
			if !digit(digits[i]) {
				return 0, false
			}
			v += int(digits[i] - '0')
		}
	}
	return v, true
}

// dateParts gathers the words of a time line, each at most once.
type dateParts struct {
	year, month, day int // 0: not met
	time             stamp
	hasTime          bool
	nanosecond       int
	fraction         bool
	weekday, zoned   bool
}

// parse reads all words; false where one is none of a time line's.
func (d *dateParts) parse(text []byte) bool {
	if date, rest, ok := cutDate(text); ok && d.takeDate(date) {
		text = rest
		if len(text) > 0 && text[0] == 'T' {
			text = text[1:]
		}
	}
	for {
		if text = trimBlanks(text); len(text) == 0 {
			return true
		}
		if rest, ok := d.takeTime(text); ok {
			text = rest
			continue
		}
		var word []byte
		if word, text = cutField(text); !d.takeWord(bytes.TrimSuffix(word, []byte(","))) {
			return false
		}
	}
}

func (d *dateParts) takeDate(date printedDate) bool {
	switch date.order {
	case dateYMD:
		d.year, d.month, d.day = date.parts[0], date.parts[1], date.parts[2]
	case dateDMY:
		d.year, d.month, d.day = date.year(), date.parts[1], date.parts[0]
	case dateSlash, dateNone: // month and day could be swapped, and nothing else tells
		return false
	}
	return true
}

// takeTime reads the time of day. A fraction is cut out first: it stands
// between the second and the zone.
func (d *dateParts) takeTime(text []byte) (rest []byte, ok bool) {
	if d.hasTime {
		return nil, false
	}
	end := bytes.IndexAny(text, ".,")
	if end > 0 && end == len("15:04:05") && text[2] == ':' {
		n := end + 1
		for n < len(text) && digit(text[n]) {
			n++
		}
		nanosecond, ok := nanoseconds(text[end+1 : n])
		if !ok || n == end+1 {
			return nil, false
		}
		text = append(append(make([]byte, 0, len(text)), text[:end]...), text[n:]...)
		d.nanosecond, d.fraction = nanosecond, true
	}
	s, rest, ok := leadTime(text)
	if !ok || s.epoch {
		return nil, false
	}
	d.time, d.hasTime, d.zoned = s, true, s.hasOffset
	return rest, true
}

func (d *dateParts) takeWord(word []byte) bool {
	text := string(word)
	switch {
	case text == "":
		return false
	case weekdayName(text):
		met := d.weekday
		d.weekday = true
		return !met
	case d.month == 0 && monthName(text) > 0:
		d.month = monthName(text)
		return true
	case digit(word[0]):
		return d.takeNumber(word)
	case !d.zoned && d.hasTime:
		return d.takeZone(word)
	default:
		return false
	}
}

// takeNumber reads the day, of one or two digits, or the year.
func (d *dateParts) takeNumber(word []byte) bool {
	v, ok := whole(word, 10000)
	switch {
	case ok && len(word) <= 2 && d.day == 0:
		d.day = v
	case ok && len(word) == 4 && d.year == 0:
		d.year = v
	default:
		return false
	}
	return true
}

// takeZone reads the name of a zone or an offset.
func (d *dateParts) takeZone(word []byte) bool {
	d.zoned = true
	if seconds, rest, ok := utcOffset(word); ok && len(rest) == 0 {
		d.time.hasOffset, d.time.offset = true, seconds
		return true
	}
	if namedZone(word) == time.UTC {
		d.time.hasOffset = true
		return true
	}
	for _, c := range word {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return len(word) <= 5 // the longest abbreviation, as ChST or AEST
}

func weekdayName(word string) bool {
	switch word {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return strings.HasPrefix(word, "(") && strings.HasSuffix(word, ")") ||
		strings.HasSuffix(word, "요일") || strings.HasSuffix(word, "曜日") || strings.HasPrefix(word, "星期")
}

// monthName gives the number of a month; 0 where the word is none.
func monthName(word string) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(word) != 3 {
		return 0
	}
	if i := strings.Index(names, word); i >= 0 && i%3 == 0 {
		return i/3 + 1
	}
	return 0
}
