package files

import (
	"errors"
	"testing"
	"time"
)

// Expected instants are worked out by hand: Seoul is UTC+9 the year round.
func TestOracleTimesAreReadInEveryPrintedForm(t *testing.T) {
	t.Parallel()
	zone := seoul(t)
	const morning = "2026-09-15T00:33:52.212Z" // 09:33:52.212 in Seoul
	tests := []struct{ name, text, want string }{
		{"ISO with a blank", "2026-09-15 09:33:52.212", morning},
		{"ISO with T", "2026-09-15T09:33:52.212", morning},
		{"ISO with T and offset", "2026-09-15T09:33:52.212+09:00", morning},
		{"offset without colon", "2026-09-15 09:33:52.212 +0900", morning},
		{"offset of hours", "2026-09-15 09:33:52.212 +09", morning},
		{"another offset than the file's zone", "2026-09-15 02:33:52.212 +02:00", morning},
		{"western offset", "2026-09-14 19:33:52.212 -05:00", morning},
		{"Z", "2026-09-15T00:33:52.212Z", morning},
		{"named zone", "2026-09-15 02:33:52.212 Europe/Berlin", morning},
		{"UTC named", "15-SEP-26 12.33.52.212000000 AM UTC", morning},
		{"slashes", "2026/09/15 09:33:52.212", morning},
		{"dots", "2026.09.15 09:33:52.212", morning},
		{"decimal comma", "2026-09-15 09:33:52,212", morning},
		{"NLS default", "15-SEP-26 09.33.52.212 AM", morning},
		{"NLS default with nine digits", "15-SEP-26 09.33.52.212000000 AM", morning},
		{"NLS default with zone", "15-SEP-26 09.33.52.212 AM +09:00", morning},
		{"afternoon", "15-SEP-26 09.33.52.212 PM", "2026-09-15T12:33:52.212Z"},
		{"noon", "15-SEP-26 12.00.00.000 PM", "2026-09-15T03:00:00Z"},
		{"midnight", "15-SEP-26 12.00.00.000 AM", "2026-09-14T15:00:00Z"},
		{"four digits of year", "15-SEP-2026 09:33:52", "2026-09-15T00:33:52Z"},
		{"lower case and English blanks", "15 Sep 2026 09:33:52", "2026-09-15T00:33:52Z"},
		{"padded full month", "15-SEPTEMBER -2026 09:33:52", "2026-09-15T00:33:52Z"},
		{"day of one digit", "5-SEP-26 09.33.52 AM", "2026-09-05T00:33:52Z"},
		{"colon behind the date", "15-SEP-2026:09:33:52", "2026-09-15T00:33:52Z"},
		{"Korean", "15-9월 -26 09.33.52.212000 오전", morning},
		{"Korean afternoon in October", "15-10월-26 09.33.52.212000 오후", "2026-10-15T12:33:52.212Z"},
		{"Korean with the half of the day first", "2026/09/15 오전 09:33:52", "2026-09-15T00:33:52Z"},
		{"Korean in KO16MSWIN949", "15-9\xbf\xf9 -26 09.33.52.212000 \xbf\xc0\xc0\xfc", morning},
		{"Chinese", "15-9月 -26 09.33.52.212000 上午", morning},
		{"Chinese afternoon", "15-12月-26 09.33.52.212000 下午", "2026-12-15T12:33:52.212Z"},
		{"Chinese in ZHS16GBK", "15-9\xd4\xc2 -26 09.33.52.212000 \xc9\xcf\xce\xe7", morning},
		{"German", "15-OKT-26 09.33.52,212", "2026-10-15T00:33:52.212Z"},
		{"German March", "15-MÄR-26 09.33.52,212", "2026-03-15T00:33:52.212Z"},
		{"German March in Latin-1", "15-M\xc4R-26 09.33.52,212", "2026-03-15T00:33:52.212Z"},
		{"German December in full", "15. not a date", ""},
		{"German dotted date", "15.09.2026 09:33:52,212", morning},
		{"packed", "20260915093352", "2026-09-15T00:33:52Z"},
		{"packed date", "20260915 09:33:52", "2026-09-15T00:33:52Z"},
		{"leap day", "29-FEB-28 09.33.52 AM", "2028-02-29T00:33:52Z"},
		{"RR takes 99 for the last century", "31-DEC-99 11.59.59 PM", "1999-12-31T14:59:59Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := oracleClock{zone: zone}
			got, err := clock.read([]byte(test.text))
			if test.want == "" {
				if err == nil {
					t.Fatalf("read as %v, want an error", got)
				}
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", test.text, err)
			}
			if want := instant(t, test.want); !got.Equal(want) {
				t.Errorf("%q: got %v, want %v", test.text, got, want)
			}
			// The cell of the next row is the same: the kept answer must be, too.
			if again, err := clock.read([]byte(test.text)); err != nil || !again.Equal(got) {
				t.Errorf("read again: %v, %v", again, err)
			}
		})
	}
}

func TestOracleTimesThatAreNotCertainAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       error
	}{
		{"a DATE without time of day", "15-SEP-26", errTimeOfDay},
		{"an ISO date without time of day", "2026-09-15", errTimeOfDay},
		{"a Korean date without time of day", "15-9월 -26", errTimeOfDay},
		{"no seconds", "2026-09-15 09:33", errTimeSeconds},
		{"overflow", "#########", errTimeTooWide},
		{"empty", "  ", errTimeEmpty},
		{"American order", "09/15/2026 09:33:52", errTimeAmbiguous},
		{"Korean territory's RR/MM/DD", "26/09/15 09:33:52.212", errTimeAmbiguous},
		{"dots with a year of two digits", "15.09.26 09:33:52", errTimeAmbiguous},
		{"day that does not exist", "31-FEB-26 09.33.52 AM", errTimeRange},
		{"month 13", "2026-13-15 09:33:52", errTimeRange},
		{"hour 24", "2026-09-15 24:00:00", errTimeRange},
		{"hour 13 with PM", "15-SEP-26 13.33.52 PM", errTimeRange},
		{"hour 0 with AM", "15-SEP-26 00.33.52 AM", errTimeRange},
		{"second 60", "2026-09-15 09:33:60", errTimeRange},
		{"ancient year", "1026-09-15 09:33:52", errTimeRange},
		{"unknown zone", "2026-09-15 09:33:52 KORT", errTimeZone},
		{"the reading machine's zone", "2026-09-15 09:33:52 Local", errTimeZone},
		{"offset beyond any zone", "2026-09-15 09:33:52 +15:00", errTimeZone},
		{"text behind", "2026-09-15 09:33:52 and more", errTimeForm},
		{"unknown month", "15-XYZ-26 09.33.52 AM", errTimeForm},
		{"digits behind the fraction's nine", "2026-09-15 09:33:52.2120000001", errTimeForm},
		{"both halves of the day", "2026-09-15 AM 09:33:52 PM", errTimeForm},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := oracleClock{zone: time.UTC}
			got, err := clock.read([]byte(test.text))
			if !errors.Is(err, test.want) {
				t.Errorf("%q: got %v, %v, want error %q", test.text, got, err, test.want)
			}
		})
	}
}

func TestOneFileCannotMakeUsLookUpZonesWithoutEnd(t *testing.T) {
	t.Parallel()
	clock := oracleClock{zone: time.UTC}
	for i := range 1000 {
		text := "2026-09-15 09:33:52 X" + string(rune('A'+i%26)) + string(rune('A'+i/26%26)) + string(rune('A'+i/676))
		if _, err := clock.read([]byte(text)); err == nil {
			t.Fatalf("%q was read", text)
		}
	}
	if len(clock.regions) > maxRegions {
		t.Errorf("%d zones kept, bound is %d", len(clock.regions), maxRegions)
	}
}
