package files

import (
	"testing"
	"time"
)

// Expected instants were computed by hand; 1796032802 is what date -u prints
// for 2026-11-30 10:00:02.
func TestParseTimeLine(t *testing.T) {
	t.Parallel()
	const none = -1 // no zone carried
	seoul := time.FixedZone("", 9*3600)
	at := utc(1, 0, 2) // 10:00:02 in Seoul
	tests := []struct {
		name   string
		line   string
		at     time.Time
		offset int
		whole  bool
		host   string
	}{
		{"ISO 8601 with an offset", "2026-11-30T10:00:02+0900", at, 9 * 3600, true, ""},
		{"ISO 8601 with Z and a fraction", "2026-11-30T01:00:02.25Z", at.Add(250 * time.Millisecond), 0, false, ""},
		{"ISO 8601 with a decimal comma, as date --iso=ns prints it", "2026-11-30T10:00:02,000000001+09:00", at.Add(time.Nanosecond), 9 * 3600, false, ""},
		{"ISO 8601 with blanks", "2026-11-30 10:00:02 +0900", at, 9 * 3600, true, ""},
		{"ISO 8601 without a zone", "  2026-11-30 10:00:02\r", at, none, true, ""},
		{"west of Greenwich", "2026-11-29T21:30:02-0330", at, -(3*3600 + 1800), true, ""},
		{"seconds since 1970", "1796032802", utc(10, 0, 2), none, true, ""},
		{"seconds since 1970 with a fraction", "1796032802.500", utc(10, 0, 2).Add(500 * time.Millisecond), none, false, ""},
		{"nanoseconds since 1970", "1796032802000000001", utc(10, 0, 2).Add(time.Nanosecond), none, false, ""},
		{"date in the C locale with a local zone", "Mon Nov 30 10:00:02 KST 2026", at, none, true, ""},
		{"date in the C locale with UTC", "Mon Nov 30 01:00:02 UTC 2026", at, 0, true, ""},
		{"date with blanks before a day of one digit", "Tue Dec  1 10:00:02 KST 2026", at.AddDate(0, 0, 1), none, true, ""},
		{"date in American English", "Mon 30 Nov 2026 10:00:02 AM KST", at, none, true, ""},
		{"date with a half of the day and the year last", "Mon Nov 30 10:00:02 AM KST 2026", at, none, true, ""},
		{"the afternoon", "Mon 30 Nov 2026 10:00:02 PM KST", at.Add(12 * time.Hour), none, true, ""},
		{"date -R", "Mon, 30 Nov 2026 10:00:02 +0900", at, 9 * 3600, true, ""},
		{"date without a zone", "Mon Nov 30 10:00:02 2026", at, none, true, ""},
		{"date in Korean", "2026. 11. 30. (월) 10:00:02 KST", at, none, true, ""},
		{"date in older Korean", "2026년 11월 30일 월요일 오전 10시 00분 02초", at, none, true, ""},
		{"date in Chinese", "2026年 11月 30日 星期一 10:00:02 CST", at, none, true, ""},
		{"OSWatcher", "zzz ***Mon Nov 30 10:00:02 KST 2026", at, none, true, ""},
		{"OSWatcher with a node", "zzz ***Mon Nov 30 10:00:02 KST 2026 - db1", at, none, true, "db1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, ok := parseTimeLine([]byte(tt.line), seoul)
			if !ok {
				t.Fatal("not read")
			}
			offset := none
			if l.zone != nil {
				_, offset = l.at.In(l.zone).Zone()
			}
			if !l.at.Equal(tt.at) || l.at.Location() != time.UTC || offset != tt.offset || l.whole != tt.whole || l.host != tt.host {
				t.Errorf("got %v, offset %d, whole %v, host %q", l.at, offset, l.whole, l.host)
			}
		})
	}
}

func TestParseTimeLineRefusesWhatIsNoTimeOrCanBeTwo(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"nothing":                     "",
		"month and day that can swap": "03/05/2026 10:00:02",
		"a day that is not":           "2026-02-30 10:00:02",
		"a date alone":                "2026-11-30",
		"a time alone":                "10:00:02",
		"no year":                     "Mon Nov 30 10:00:02 KST",
		"two years":                   "Mon Nov 30 10:00:02 2026 2027",
		"two times":                   "2026-11-30 10:00:02 10:00:03",
		"words after the time":        "2026-11-30 10:00:02 restarted",
		"an hour that is not":         "2026-11-30 24:00:02",
		"1 PM twice told":             "2026-11-30 13:00:02 PM",
		"a counter":                   "12345",
		"a counter of eleven digits":  "17960328021",
		"a point without a fraction":  "1796032802.",
		"a row of /proc/interrupts":   " 28:  1796032802  0  PCI-MSI 524288-edge  eth0",
		"a row of ps":                 "4711 4711 28 S TS - ora_lgwr_PROD1",
		"an offset that is not":       "2026-11-30T10:00:02+2500",
		"a lone comma":                ", 2026",
	} {
		if l, ok := parseTimeLine([]byte(line), time.UTC); ok {
			t.Errorf("%s: %q is read as %v", name, line, l.at)
		}
	}
}
