package files

import (
	"testing"
	"time"
)

func TestLeadTime(t *testing.T) {
	t.Parallel()
	const none = -99999
	tests := []struct {
		name   string
		line   string
		second int // of the day, by hand
		offset int
		rest   string
	}{
		{"24 hours", "23:59:58  x", 86398, none, "  x"},
		{"24 hours alone", "00:00:00", 0, none, ""},
		{"an hour of one digit", "9:05:01 x", 32701, none, " x"},
		{"morning", "09:05:01 AM  x", 32701, none, "  x"},
		{"noon", "12:00:00 PM x", 43200, none, " x"},
		{"midnight", "12:00:00 AM x", 0, none, " x"},
		{"small letters", "01:00:00 pm x", 46800, none, " x"},
		{"Spanish with a narrow blank", "01:00:00 p.\u202fm. x", 46800, none, " x"},
		{"Greek", "01:00:00 μμ x", 46800, none, " x"},
		{"an offset", "09:05:01+0900   UID", 32701, 32400, "   UID"},
		{"an offset with a colon", "09:05:01-03:30 UID", 32701, -12600, " UID"},
		{"UTC", "09:05:01Z UID", 32701, 0, " UID"},
		{"Korean", "10시 36분 52초   UID", 38212, none, "   UID"},
		{"Korean with the half of the day", "오후 01시 00분 00초 UID", 46800, none, " UID"},
		{"Chinese", "14时05分26秒   UID", 50726, none, "   UID"},
		{"Chinese with the half of the day", "下午 02时05分26秒 UID", 50726, none, " UID"},
		{"Japanese", "午前09時05分01秒 UID", 32701, none, " UID"},
		{"Finnish", "10.36.52 UID", 38212, none, " UID"},
		{"French of Canada", "10 h 36 min 52 s UID", 38212, none, " UID"},
		{"a leap second", "23:59:60 x", 86400, none, " x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, rest, ok := leadTime([]byte(tt.line))
			if !ok {
				t.Fatal("not read")
			}
			offset := none
			if s.hasOffset {
				offset = s.offset
			}
			if s.epoch || s.second != tt.second || offset != tt.offset || string(rest) != tt.rest {
				t.Errorf("got second %d, offset %d, rest %q", s.second, offset, rest)
			}
		})
	}
	s, rest, ok := leadTime([]byte("1796032802    500"))
	if !ok || !s.epoch || s.unix != 1796032802 || string(rest) != "    500" {
		t.Errorf("seconds since 1970: %+v, rest %q, %v", s, rest, ok)
	}
}

func TestLeadTimeRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", " ", "Average:", "평균 :", "24:00:00 x", "10:60:00 x", "10:00:61 x", "13:00:00 PM x", "00:00:00 AM x",
		"10:00", "10:00:00x", "10:00:00+9 x", "10:00:00+1500 x", "100:00:00 x", "10:000:00 x", "10시 36분 x", "12345678 x", "12345678901 x", "x 10:00:00",
	} {
		if s, _, ok := leadTime([]byte(line)); ok {
			t.Errorf("%q is read as %+v", line, s)
		}
	}
}

func TestDatesOfBanners(t *testing.T) {
	t.Parallel()
	american := evidence{twelveHour: true, english: true}
	comma := evidence{decimalComma: true}
	tests := []struct {
		name    string
		text    string
		e       evidence
		want    string // "" where none can be read
		doubted bool
	}{
		{"ISO 8601", "2026-11-30 \t_x86_64_", evidence{}, "2026-11-30", false},
		{"year first with slashes", "2026/11/30", evidence{}, "2026-11-30", false},
		{"Korean", "2026년 11월 30일 \t_x86_64_", evidence{}, "2026-11-30", false},
		{"Chinese and Japanese", "2026年11月30日", evidence{}, "2026-11-30", false},
		{"older Chinese", "西元2026年11月30日", evidence{}, "2026-11-30", false},
		{"dots put the day first", "03.05.2026", american, "2026-05-03", false},
		{"dots with a short year", "03.05.26", evidence{}, "2026-05-03", false},
		{"dots and blanks", "3. 5. 2026", evidence{}, "2026-05-03", false},
		{"dashes with a long year put the day first", "03-05-2026", evidence{}, "2026-05-03", false},
		{"dashes with a short year can be read in three ways", "03-05-26", evidence{}, "", false},
		{"a day over 12 in second place", "05/13/26", comma, "2026-05-13", false},
		{"a day over 12 in first place", "13/05/2026", american, "2026-05-13", false},
		{"equal parts", "05/05/26", evidence{}, "2026-05-05", false},
		{"American", "03/05/2026", american, "2026-03-05", false},
		{"a decimal comma", "03/05/26", comma, "2026-05-03", false},
		{"the half of the day in another language", "03/05/2026", evidence{twelveHour: true}, "2026-05-03", false},
		{"the C locale", "03/05/26", evidence{}, "2026-03-05", true},
		{"24 hours and a long year", "03/05/2026", evidence{}, "2026-05-03", true},
		{"12 hours and a short year", "03/05/26", american, "2026-05-03", true},
		{"neither part a month", "13/14/2026", evidence{}, "", false},
		{"a day that is not", "2026-02-29", evidence{}, "", false},
		{"a year before any log", "1970-01-01", evidence{}, "", false},
		{"no date", "_x86_64_", evidence{}, "", false},
		{"separators that differ", "2026-11/30", evidence{}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			d, _, ok := cutDate([]byte(tt.text))
			day, doubt, known := d.day(tt.e)
			if ok && known {
				got = day.Format(time.DateOnly)
			}
			if got != tt.want || (doubt != "") != tt.doubted {
				t.Errorf("got %q, doubt %q", got, doubt)
			}
		})
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0.00": 0, "11.74": 11.74, "96,00": 96, "100": 100, "33.3%": 33.3, "123456789012345": 123456789012345, "0.123456789012": 0.123456789012,
	} {
		if v, ok := decimal([]byte(text)); !ok || v != want {
			t.Errorf("%q is read as %v, %v", text, v, ok)
		}
	}
	for _, text := range []string{"", "-", "-1", "+1", ".5", "1.", "1.2.3", "1e3", "nan", "inf", "1.2k", "%", "1234567890123456", "0x1"} {
		if v, ok := decimal([]byte(text)); ok {
			t.Errorf("%q is read as %v", text, v)
		}
	}
}

func TestAveragesAreToldFromRows(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"Average:        0      1271": true, "평균 :         0": true, "Durchschn.:     0": true, "Moyenne\u202f:     0": true,
		"Media:          0": true, "Trung bình:  0": true, "Среднее:  0": true, "Average:": true,
		"10:00:01        0": false, "": false, "Linux 4.18.0 (db1)": false, ":": false, "host1: x": false, "a:b c": false,
	} {
		if got := averages([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// Numbers of sched(7) and of the kernel's sched.h; names of ps(1) and of
// pidstat(1).
func TestSchedulingPolicies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"TS": 0, "FF": 1, "RR": 2, "B": 3, "ISO": 4, "IDL": 5, "DLN": 6, "-": -1, "?": -1} {
		if got := policyClass([]byte(name)); got != want {
			t.Errorf("class %s is %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]int{"NORMAL": 0, "FIFO": 1, "RR": 2, "BATCH": 3, "IDLE": 5, "DEADLN": 6, "ISO?": -1} {
		if got := policyName([]byte(name)); got != want {
			t.Errorf("policy %s is %d, want %d", name, got, want)
		}
	}
}
