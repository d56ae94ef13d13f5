package files

import (
	"bytes"
)

// stamp is a time as a line prints it, before it is known which day and zone
// it belongs to.
type stamp struct {
	epoch  bool
	unix   int64 // seconds since 1970 where epoch
	second int   // of the day, where not epoch

	hasOffset bool
	offset    int // seconds east of UTC

	twelveHour bool // a mark tells the half of the day
	english    bool // the mark is AM or PM

	date printedDate // order is dateNone where the line prints no date
}

// leadTime reads the time that a row begins with:
//
//	09:33:01   09:33:01 AM   09:33:01+0900   1591016002   10시 36분 52초
//	14时05分26秒   上午 10時36分52秒   10.36.52   10 h 36 min 52 s
//
// and gives what follows it.
func leadTime(line []byte) (s stamp, rest []byte, ok bool) {
	p := trimBlanks(line)
	if len(p) == 0 {
		return s, nil, false
	}
	if unix, after, ok := epochTime(p); ok {
		return stamp{epoch: true, unix: unix}, after, true
	}
	afternoon, marked, p := halfDayBefore(p)
	hour, minute, second, p, ok := clockTime(p)
	if !ok {
		return s, nil, false
	}
	s.twelveHour = marked
	p, ok = s.cutOffset(p)
	if !ok {
		return s, nil, false
	}
	if !marked {
		if word, after := cutField(p); len(word) > 0 {
			if pm, english, ok := halfDay(word); ok {
				s.twelveHour, s.english, afternoon, p = true, english, pm, after
			}
		}
	}
	if s.twelveHour {
		if hour < 1 || hour > 12 {
			return s, nil, false
		}
		hour %= 12
		if afternoon {
			hour += 12
		}
	}
	if hour > 23 || minute > 59 || second > 60 { // 60: a leap second
		return s, nil, false
	}
	s.second = hour*3600 + minute*60 + second
	return s, p, true
}

// latestEpoch is the last second of the year 2200: a later time is some other
// number. Dates in words end with that year too.
const latestEpoch = 7289654399

// epochTime reads seconds since 1970, of nine to ten digits (1973 to 2200).
func epochTime(p []byte) (unix int64, rest []byte, ok bool) {
	n := 0
	for n < len(p) && p[n] >= '0' && p[n] <= '9' {
		n++
	}
	if n < 9 || n > 10 || !ends(p[n:]) {
		return 0, nil, false
	}
	for _, c := range p[:n] {
		unix = unix*10 + int64(c-'0')
	}
	return unix, p[n:], unix <= latestEpoch
}

// ends says whether a field ends here.
func ends(p []byte) bool { return len(p) == 0 || blank(p[0]) }

// clockTime reads hour, minute and second with the separators of the locales
// that Linux knows.
func clockTime(p []byte) (hour, minute, second int, rest []byte, ok bool) {
	hour, p, ok = shortNumber(p)
	if !ok {
		return 0, 0, 0, nil, false
	}
	for _, units := range [...][3]string{
		{":", ":", ""},
		{"시", "분", "초"}, // Korean
		{"时", "分", "秒"}, // Chinese, simplified
		{"時", "分", "秒"}, // Chinese, traditional, and Japanese
		{".", ".", ""},
		{"h", "min", "s"}, // French of Canada
	} {
		if minute, second, rest, ok = afterHour(p, units); ok {
			return hour, minute, second, rest, true
		}
	}
	return 0, 0, 0, nil, false
}

// afterHour reads minute and second between the units given.
func afterHour(p []byte, units [3]string) (minute, second int, rest []byte, ok bool) {
	worded := units[2] != ""
	if p, ok = cutUnit(p, units[0], worded); !ok {
		return 0, 0, nil, false
	}
	if minute, p, ok = shortNumber(p); !ok {
		return 0, 0, nil, false
	}
	if p, ok = cutUnit(p, units[1], worded); !ok {
		return 0, 0, nil, false
	}
	if second, p, ok = shortNumber(p); !ok {
		return 0, 0, nil, false
	}
	if worded {
		p, ok = cutUnit(trimBlanks(p), units[2], false)
		return minute, second, p, ok
	}
	return minute, second, p, true
}

// cutUnit cuts a separator; around words blanks are allowed.
func cutUnit(p []byte, unit string, worded bool) ([]byte, bool) {
	if worded {
		p = trimBlanks(p)
	}
	if !bytes.HasPrefix(p, []byte(unit)) {
		return nil, false
	}
	p = p[len(unit):]
	if worded {
		p = trimBlanks(p)
	}
	return p, true
}

// shortNumber reads one or two digits.
func shortNumber(p []byte) (v int, rest []byte, ok bool) {
	n := 0
	for n < len(p) && n < 3 && p[n] >= '0' && p[n] <= '9' {
		v = v*10 + int(p[n]-'0')
		n++
	}
	if n == 0 || n > 2 {
		return 0, nil, false
	}
	return v, p[n:], true
}

// cutOffset reads an offset from UTC that follows a time without a blank
// (+0900, +09:00, Z), if there is one; the field must end after it.
func (s *stamp) cutOffset(p []byte) (rest []byte, ok bool) {
	if ends(p) {
		return p, true
	}
	seconds, p, ok := utcOffset(p)
	if !ok || !ends(p) {
		return nil, false
	}
	s.hasOffset, s.offset = true, seconds
	return p, true
}

// utcOffset reads +09, +0900, +09:00 or Z.
func utcOffset(p []byte) (seconds int, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	sign := 1
	switch p[0] {
	case 'Z':
		return 0, p[1:], true
	case '-':
		sign = -1
	case '+':
	default:
		return 0, nil, false
	}
	hours, p, ok := twoDigits(p[1:])
	if !ok {
		return 0, nil, false
	}
	minutes := 0
	if !ends(p) {
		if minutes, p, ok = twoDigits(bytes.TrimPrefix(p, []byte(":"))); !ok {
			return 0, nil, false
		}
	}
	if hours > 14 || minutes > 59 { // the easternmost zone is +14:00
		return 0, nil, false
	}
	return sign * (hours*3600 + minutes*60), p, true
}

func twoDigits(p []byte) (v int, rest []byte, ok bool) {
	if len(p) < 2 {
		return 0, nil, false
	}
	v, ok = whole(p[:2], 100)
	return v, p[2:], ok
}

// halfDayBefore cuts a mark for the half of the day that stands before the
// time, as in Korean, Chinese and Japanese.
func halfDayBefore(p []byte) (afternoon, ok bool, rest []byte) {
	for _, mark := range [...]struct {
		text      string
		afternoon bool
	}{
		{"오전", false}, {"오후", true}, {"上午", false}, {"下午", true}, {"午前", false}, {"午後", true},
	} {
		if bytes.HasPrefix(p, []byte(mark.text)) {
			return mark.afternoon, true, trimBlanks(p[len(mark.text):])
		}
	}
	return false, false, p
}

// halfDay reads a mark for the half of the day that stands after the time.
func halfDay(word []byte) (afternoon, english, ok bool) {
	switch string(word) {
	case "AM":
		return false, true, true
	case "PM":
		return true, true, true
	case "am", "a.m.", "a.\u00a0m.", "a.\u202fm.", "πμ", "π.μ.", "ص", "पूर्वाह्न", "오전", "上午", "午前":
		return false, false, true
	case "pm", "p.m.", "p.\u00a0m.", "p.\u202fm.", "μμ", "μ.μ.", "م", "अपराह्न", "오후", "下午", "午後":
		return true, false, true
	default:
		return false, false, false
	}
}
