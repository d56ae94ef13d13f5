package files

import (
	"bytes"
	"errors"
	"strings"
	"time"
)

// What keeps a printed time from being read with certainty.
var (
	errTimeEmpty     = errors.New("no time")
	errTimeForm      = errors.New("not a time in a known format (print it as YYYY-MM-DD HH24:MI:SS.FF3)")
	errTimeOfDay     = errors.New("printed without time of day (set NLS_DATE_FORMAT or use TO_CHAR)")
	errTimeSeconds   = errors.New("printed without seconds")
	errTimeAmbiguous = errors.New("day, month and year cannot be told apart (print it as YYYY-MM-DD HH24:MI:SS.FF3)")
	errTimeRange     = errors.New("not a date or time that exists")
	errTimeZone      = errors.New("zone not known")
	errTimeTooWide   = errors.New("printed as #: the column is too narrow")
)

// maxOffset is the greatest distance of a zone from UTC that is in use (Line
// Islands, +14:00).
const maxOffset = 14 * time.Hour

// maxRegions bounds the zone names that one file may make us look up.
const maxRegions = 32

// oracleClock turns the times that one file prints into instants.
type oracleClock struct {
	zone *time.Location // of times that carry none
	seen *time.Location // the first zone that a time carried; nil so far
	utc  bool           // a column that is UTC by its name was read

	regions map[string]*time.Location // nil values are names that do not exist

	// The rows of one reading print the same time: the last one is kept.
	lastCell []byte
	lastZone *time.Location
	lastTime time.Time
}

// read gives the instant of a cell, taking the file's zone where the cell
// carries none.
func (c *oracleClock) read(cell []byte) (time.Time, error) { return c.readIn(cell, c.zone) }

// readUTC gives the instant of a cell whose column is UTC by its name.
func (c *oracleClock) readUTC(cell []byte) (time.Time, error) {
	c.utc = true
	return c.readIn(cell, time.UTC)
}

// readIn is read with another zone for cells that carry none.
func (c *oracleClock) readIn(cell []byte, zone *time.Location) (time.Time, error) {
	if len(c.lastCell) > 0 && c.lastZone == zone && bytes.Equal(c.lastCell, cell) {
		return c.lastTime, nil
	}
	p := timeParser{text: cell, clock: c}
	wall, err := p.parse()
	if err != nil {
		return time.Time{}, err
	}
	carried := zone
	if p.zone != nil {
		carried = p.zone
		if c.seen == nil {
			c.seen = p.zone
		}
	}
	c.lastCell, c.lastZone, c.lastTime = append(c.lastCell[:0], cell...), zone, inZone(wall, carried)
	return c.lastTime, nil
}

// inZone gives the instant at which a clock in zone shows what wall shows in UTC.
func inZone(wall time.Time, zone *time.Location) time.Time {
	if zone == time.UTC {
		return wall
	}
	year, month, day := wall.Date()
	return time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone).UTC()
}

// region looks a zone's name up.
func (c *oracleClock) region(name string) *time.Location {
	if zone, known := c.regions[name]; known {
		return zone
	}
	if len(c.regions) >= maxRegions || name == "Local" || name == "" {
		return nil
	}
	if c.regions == nil {
		c.regions = make(map[string]*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = nil
	}
	c.regions[name] = zone
	return zone
}

// timeParser reads one printed time from left to right: a date, a time of day,
// and perhaps a half of the day and a zone.
type timeParser struct {
	text  []byte
	at    int
	clock *oracleClock

	year, month, day     int
	hour, minute, second int
	nanosecond           int
	half                 dayHalf
	zone                 *time.Location
}

// dayHalf is AM or PM where a time is printed with it.
type dayHalf uint8

const (
	wholeDay dayHalf = iota
	beforeNoon
	afterNoon
)

// parse gives the time as if its clock were in UTC, and sets zone where the
// text carries one.
func (p *timeParser) parse() (time.Time, error) {
	p.blanks()
	if p.at == len(p.text) {
		return time.Time{}, errTimeEmpty
	}
	if p.text[p.at] == '#' {
		return time.Time{}, errTimeTooWide
	}
	if err := p.date(); err != nil {
		return time.Time{}, err
	}
	if err := p.timeOfDay(); err != nil {
		return time.Time{}, err
	}
	if err := p.halfAndZone(); err != nil {
		return time.Time{}, err
	}
	return p.wall()
}

// wall puts the parts together, if there is such a date and time.
func (p *timeParser) wall() (time.Time, error) {
	if !p.clockHour() || p.minute > 59 || p.second > 59 {
		return time.Time{}, errTimeRange
	}
	// Oracle's first release is of 1979: a year far from now is a misread date.
	if p.year < 1980 || p.year > 2199 || p.month < 1 || p.month > 12 {
		return time.Time{}, errTimeRange
	}
	t := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.minute, p.second, p.nanosecond, time.UTC)
	if p.day < 1 || t.Day() != p.day {
		return time.Time{}, errTimeRange
	}
	return t, nil
}

// clockHour turns an hour of half a day into one of 24; false where there is
// no such hour.
func (p *timeParser) clockHour() bool {
	if p.half == wholeDay {
		return p.hour <= 23
	}
	if p.hour < 1 || p.hour > 12 {
		return false
	}
	p.hour %= 12
	if p.half == afterNoon {
		p.hour += 12
	}
	return true
}

// digits reads up to limit digits and says how many there were.
func (p *timeParser) digits(limit int) (value, count int) {
	for p.at < len(p.text) && count < limit {
		d := p.text[p.at]
		if d < '0' || d > '9' {
			break
		}
		value = value*10 + int(d-'0')
		p.at++
		count++
	}
	return value, count
}

func (p *timeParser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// one reads a byte that is in set; 0 where the next is not.
func (p *timeParser) one(set string) byte {
	if p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

// prefix reads s, letters of any case.
func (p *timeParser) prefix(s string) bool {
	if len(p.text)-p.at < len(s) || !bytes.EqualFold(p.text[p.at:p.at+len(s)], []byte(s)) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *timeParser) date() error {
	value, count := p.digits(8)
	switch count {
	case 8:
		p.year, p.month, p.day = value/10000, value/100%100, value%100
		return nil
	case 4:
		p.year = value
		return p.monthAndDay()
	case 1, 2:
		p.day = value
		return p.monthAndYear()
	default:
		return errTimeForm
	}
}

// monthAndDay reads what follows the year of 2026-09-15, 2026/09/15, 2026-SEP-15.
func (p *timeParser) monthAndDay() error {
	separator := p.one("-/. ")
	if separator == 0 {
		return errTimeForm
	}
	var count int
	if p.month, count = p.digits(2); count == 0 {
		if p.month = p.monthName(); p.month == 0 {
			return errTimeForm
		}
	}
	if p.one(string(separator)) == 0 {
		return errTimeForm
	}
	if p.day, count = p.digits(2); count == 0 {
		return errTimeForm
	}
	return nil
}

// monthAndYear reads what follows the day of 15-SEP-26, 15-SEP-2026,
// 15-9월 -26 and 15.09.2026. All-digit dates that do not begin with a year of
// four digits are printed in as many orders as there are territories
// (RR/MM/DD, DD/MM/RR, MM/DD/YYYY): none of them is guessed.
func (p *timeParser) monthAndYear() error {
	separator := p.one("-/. ")
	if separator == 0 {
		return errTimeForm
	}
	begin := p.at
	if p.month = p.monthName(); p.month == 0 {
		p.at = begin
		return p.dottedYear(separator)
	}
	p.blanks()
	if p.one("-/.") == 0 && separator != ' ' {
		return errTimeForm
	}
	value, count := p.digits(4)
	switch {
	case count == 4:
		p.year = value
	case count == 2 && value < 50: // Oracle's RR
		p.year = 2000 + value
	case count == 2:
		p.year = 1900 + value
	default:
		return errTimeForm
	}
	return nil
}

func (p *timeParser) dottedYear(separator byte) error {
	var count int
	if p.month, count = p.digits(2); count == 0 {
		return errTimeForm
	}
	if p.one(string(separator)) == 0 {
		return errTimeForm
	}
	if p.year, count = p.digits(4); count != 4 || separator != '.' {
		return errTimeAmbiguous
	}
	return nil
}

func (p *timeParser) timeOfDay() error {
	begin := p.at
	p.blanks()
	if p.at == len(p.text) {
		return errTimeOfDay
	}
	if p.at == begin && p.one("Tt:") == 0 && !p.packedTime() {
		return errTimeForm
	}
	p.half = p.halfOfDay()
	p.blanks()
	var count int
	if p.hour, count = p.digits(2); count == 0 {
		return errTimeOfDay
	}
	separator := p.one(":.")
	if p.minute, count = p.digits(2); count != 2 {
		return errTimeSeconds
	}
	if separator != 0 && p.one(string(separator)) == 0 {
		return errTimeSeconds
	}
	if p.second, count = p.digits(2); count != 2 {
		return errTimeSeconds
	}
	return p.fraction()
}

// packedTime says whether six digits follow the date at once: 20260915093352.
func (p *timeParser) packedTime() bool {
	rest := p.text[p.at:]
	if len(rest) < 6 {
		return false
	}
	for _, d := range rest[:6] {
		if d < '0' || d > '9' {
			return false
		}
	}
	return true
}

func (p *timeParser) fraction() error {
	if p.at+1 >= len(p.text) || p.text[p.at] != '.' && p.text[p.at] != ',' {
		return nil
	}
	if d := p.text[p.at+1]; d < '0' || d > '9' {
		return errTimeForm
	}
	p.at++
	value, count := p.digits(9)
	for ; count < 9; count++ {
		value *= 10
	}
	p.nanosecond = value
	return nil
}

func (p *timeParser) halfAndZone() error {
	p.blanks()
	if half := p.halfOfDay(); half != wholeDay {
		if p.half != wholeDay {
			return errTimeForm
		}
		p.half = half
		p.blanks()
	}
	rest := bytes.TrimRight(p.text[p.at:], " \t")
	if len(rest) == 0 {
		return nil
	}
	switch c := rest[0]; {
	case c == '+' || c == '-':
		return p.offset(rest)
	case len(rest) == 1 && (c == 'Z' || c == 'z'):
		p.zone = time.UTC
		return nil
	case c >= 'A' && c <= 'Z' && len(rest) <= 40:
		if p.zone = p.clock.region(string(rest)); p.zone == nil {
			return errTimeZone
		}
		return nil
	default:
		return errTimeForm
	}
}

// offset reads +09:00, +0900 and +09.
func (p *timeParser) offset(rest []byte) error {
	sign := rest[0]
	p.at++
	hours, count := p.digits(2)
	if count != 2 {
		return errTimeZone
	}
	minutes := 0
	if p.at < len(p.text) && p.text[p.at] != ' ' {
		p.one(":")
		if minutes, count = p.digits(2); count != 2 {
			return errTimeZone
		}
	}
	p.blanks()
	distance := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if p.at != len(p.text) || minutes > 59 || distance > maxOffset {
		return errTimeZone
	}
	if sign == '-' {
		distance = -distance
	}
	p.zone = p.clock.fixedZone(distance)
	return nil
}

// fixedZone gives one Location for each offset, so that locations compare.
func (c *oracleClock) fixedZone(distance time.Duration) *time.Location {
	name := time.Time{}.In(time.FixedZone("", int(distance.Seconds()))).Format("-07:00")
	if zone, known := c.regions[name]; known {
		return zone
	}
	zone := time.FixedZone(name, int(distance.Seconds()))
	if c.regions == nil {
		c.regions = make(map[string]*time.Location)
	}
	if len(c.regions) < maxRegions {
		c.regions[name] = zone
	}
	return zone
}
