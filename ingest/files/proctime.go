package files

import (
	"bytes"
	"strings"
	"time"
)

// procTime is the time that a line of a log of /proc carries.
type procTime struct {
	timeLine
	absolute bool // seconds since 1970: an instant without a zone
}

// parseProcTime reads a time line with the ornaments that scripts put around
// it: "timestamp: 1424904529.913", "=== 2026-11-30 11:40:12 ===", "# ...".
func parseProcTime(line []byte, zone *time.Location) (procTime, bool) {
	text := bytes.TrimSpace(line)
	if len(text) < len("1424904529") || len(text) > maxTimeLine {
		return procTime{}, false
	}
	if !bytes.HasPrefix(text, []byte("zzz ")) {
		text = bytes.Trim(text, "#=*->< \t")
		text = bytes.TrimSuffix(text, []byte(":"))
		text = withoutTimeWord(text)
	} else if exa, ok := exaWatcherTime(text); ok {
		text = exa
	}
	_, _, absolute := epochLine(text)
	t, ok := parseTimeLine(text, zone)
	return procTime{t, absolute}, ok
}

// withoutTimeWord cuts "timestamp:" and its like from the beginning.
func withoutTimeWord(text []byte) []byte {
	end := bytes.IndexAny(text, ":= \t")
	if end <= 0 {
		return text
	}
	switch strings.ToLower(string(text[:end])) {
	case "timestamp", "time", "date", "ts", "epoch":
		return bytes.TrimLeft(text[end:], ":= \t")
	}
	return text
}

// exaWatcherTime turns "zzz <11/30/2026 11:40:12> Count:0", month first, as
// ExaWatcher prints it on every Exadata, into a date that reads one way only.
func exaWatcherTime(text []byte) ([]byte, bool) {
	const layout = "01/02/2006 15:04:05"
	rest, found := bytes.CutPrefix(text, []byte("zzz <"))
	end := bytes.IndexByte(rest, '>')
	if !found || end < 0 {
		return nil, false
	}
	t, err := time.Parse(layout, string(rest[:end]))
	if err != nil {
		return nil, false
	}
	return []byte(t.Format("2006-01-02 15:04:05")), true
}

// after gives the instant of a time line that follows one at last. Where the
// clocks were put back, the hour that comes twice is taken in order.
func (t procTime) after(last time.Time, zone *time.Location) time.Time {
	if t.zone != nil || t.absolute {
		return t.at
	}
	for _, candidate := range []time.Time{t.at.Add(-time.Hour), t.at, t.at.Add(time.Hour)} {
		if !candidate.Before(last) && sameClock(candidate.In(zone), t.at.In(zone)) {
			return candidate
		}
	}
	return t.at
}
