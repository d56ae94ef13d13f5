package files

import (
	"bytes"
	"time"
)

// toolClock turns the times that a tool prints into instants: it adds the date
// of the banner, follows midnight, and takes the zone.
type toolClock struct {
	in      *input
	banner  printedDate
	line    int       // of the banner
	settled bool      // day is known, or known to be unknown
	dated   bool      // a date was printed somewhere
	day     time.Time // midnight, in UTC, of the date that times of day belong to
	second  int       // of the day, of the time before; -1 at the start
	last    time.Time // instant before
	doubted bool      // a doubt about the date was told

	carried *time.Location // zone of the first time that carries one
	local   bool           // a time needed the zone given
	first   time.Time      // first instant
}

func newToolClock(in *input) toolClock { return toolClock{in: in, second: -1} }

// begin starts over at a banner, on the date that it prints.
func (c *toolClock) begin(banner printedDate, line int) {
	*c = toolClock{in: c.in, banner: banner, line: line, second: -1, doubted: c.doubted, carried: c.carried, local: c.local, first: c.first}
}

// instant gives the instant of a time; row is a row of data printed beside it,
// which tells the locale. Without a date anywhere, known is false and the
// instant is good for distances only.
func (c *toolClock) instant(s stamp, row []byte) (t time.Time, known bool) {
	if s.epoch {
		t = time.Unix(s.unix, 0).UTC()
		c.note(t)
		return t, true
	}
	if !c.settle(s, row) {
		return time.Time{}, false
	}
	zone := c.in.zone
	switch {
	case s.hasOffset && s.offset == 0:
		zone = time.UTC
	case s.hasOffset:
		zone = time.FixedZone("", s.offset)
	}
	if s.hasOffset && c.carried == nil {
		c.carried = zone
	}
	c.local = c.local || !s.hasOffset
	t = c.secondOfDay(s.second, zone)
	if c.dated {
		c.note(t)
	}
	return t, c.dated
}

func (c *toolClock) note(t time.Time) {
	if c.first.IsZero() {
		c.first = t
	}
	c.last = t
}

// settle finds the day of a time; false where its date is none.
func (c *toolClock) settle(s stamp, row []byte) bool {
	if s.date.order != dateNone {
		day, ok := c.resolve(s.date, s, row, c.in.lines.number)
		c.day, c.dated, c.settled, c.second = day, ok, true, s.second
		return ok
	}
	if !c.settled {
		c.settled = true
		c.day, c.dated = c.resolve(c.banner, s, row, c.line)
		if !c.dated {
			c.day = time.Time{}
			c.in.problem(c.in.lines.number, "no date: no banner tells the day that times of day belong to")
		}
	}
	// Reports come in order: a step back of more than half a day is midnight.
	if c.second-s.second > 12*3600 {
		c.day = c.day.AddDate(0, 0, 1)
	}
	c.second = s.second
	return true
}

func (c *toolClock) resolve(d printedDate, s stamp, row []byte, line int) (time.Time, bool) {
	day, doubt, ok := d.day(evidence{twelveHour: s.twelveHour, english: s.english, decimalComma: decimalComma(row)})
	if doubt != "" && !c.doubted {
		c.doubted = true
		c.in.problem(line, doubt)
	}
	return day, ok
}

// secondOfDay gives the instant of a second of the day. In the hour that the end of
// summer time repeats, times that step back belong to the second pass.
func (c *toolClock) secondOfDay(second int, zone *time.Location) time.Time {
	y, m, d := c.day.Date()
	t := time.Date(y, m, d, 0, 0, second, 0, zone)
	if early := t.Add(-time.Hour); sameClock(early, t) {
		t = early
	}
	if late := t.Add(time.Hour); t.UTC().Before(c.last) && sameClock(late, t) {
		t = late
	}
	return t.UTC()
}

func sameClock(a, b time.Time) bool {
	ah, am, as := a.Clock()
	bh, bm, bs := b.Clock()
	return ah == bh && am == bm && as == bs
}

// decimalComma says whether a row holds a number with a decimal comma.
func decimalComma(row []byte) bool {
	for {
		i := bytes.IndexByte(row, ',')
		if i < 0 {
			return false
		}
		if i > 0 && i+1 < len(row) && digit(row[i-1]) && digit(row[i+1]) {
			return true
		}
		row = row[i+1:]
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// reportTimes follows the reports of a tool that prints the time at the head
// of every line, as pidstat and mpstat do.
type reportTimes struct {
	clock *toolClock

	printed  stamp         // of the report read last
	lead     []byte        // the same as text
	seen     bool          // a report was read since the banner
	at       time.Time     // instant of it
	dated    bool          // at is an instant, not only a time of day
	interval time.Duration // that the report covers; 0 unknown
	atStart  bool          // the heading before the report printed the same time

	heading    stamp // of the heading that no row has followed yet
	hasHeading bool
}

// restart forgets the reports before a banner.
func (r *reportTimes) restart() { *r = reportTimes{clock: r.clock, lead: r.lead[:0]} }

// split reads the time that a line begins with and gives what follows it.
func (r *reportTimes) split(line []byte) (s stamp, rest []byte, ok bool) {
	if n := len(r.lead); n > 0 && bytes.HasPrefix(line, r.lead) && ends(line[n:]) {
		return r.printed, line[n:], true
	}
	return leadTime(line)
}

// headed notes the time that a heading printed: when the interval of the next
// report began.
func (r *reportTimes) headed(s stamp) { r.heading, r.hasHeading = s, true }

// row moves to the report that a row of data belongs to: line printed at s,
// with rest after the time. It says whether the row is the report's first. A
// report covers the time since its heading's, or where it has no heading of
// its own, since the report before.
func (r *reportTimes) row(s stamp, line, rest []byte) (fresh bool) {
	if r.seen && s == r.printed {
		r.hasHeading = false
		return false
	}
	from, known := r.at, r.seen
	r.atStart = r.hasHeading && r.heading == s
	if r.hasHeading && !r.atStart {
		from, _ = r.clock.instant(r.heading, rest)
		known = true
	}
	r.hasHeading = false
	r.at, r.dated = r.clock.instant(s, rest)
	r.interval = 0
	if known && r.at.After(from) {
		r.interval = r.at.Sub(from)
	}
	r.printed, r.seen = s, true
	r.lead = append(r.lead[:0], line[:len(line)-len(rest)]...)
	return true
}

// instant is the time of the report for records: zero where no date is known.
func (r *reportTimes) instant() time.Time {
	if r.dated {
		return r.at
	}
	return time.Time{}
}
