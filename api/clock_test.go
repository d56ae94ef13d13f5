package api_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
)

func readings(pairs ...int64) []*corewaitv1.ClockReading {
	var all []*corewaitv1.ClockReading
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, &corewaitv1.ClockReading{BoottimeUs: pairs[i], UtcUs: pairs[i+1]})
	}
	return all
}

// Expected values by hand from the rule in batch.proto.
func TestInstantsAreInterpolatedWhereTheClockRanOnAndCountedWhereItWasStepped(t *testing.T) {
	t.Parallel()
	const s = 1_000_000 // a second
	for _, c := range []struct {
		name     string
		readings []*corewaitv1.ClockReading
		at, want int64
	}{
		{"before the only reading", readings(10*s, 1_000*s), 4 * s, 994 * s},
		{"at it", readings(10*s, 1_000*s), 10 * s, 1_000 * s},
		{"after it", readings(10*s, 1_000*s), 17*s + 3, 1_007*s + 3},
		{"before 1970", readings(10*s, 1*s), 0, -9 * s},
		{"a clock that ran 40 ms fast in 10 s, a quarter on", readings(10*s, 1_000*s, 20*s, 1_010*s+40_000), 12*s + 500_000, 1_002*s + 500_000 + 10_000},
		{"a clock that ran 40 ms slow in 10 s, a quarter on", readings(10*s, 1_000*s, 20*s, 1_010*s-40_000), 12*s + 500_000, 1_002*s + 500_000 - 10_000},
		{"a quarter microsecond is cut", readings(0, 0, 4, 3), 1, 1},
		{"just 100 ms apart is no step", readings(10*s, 1_000*s, 20*s, 1_010*s+100_000), 15 * s, 1_005*s + 50_000},
		{"over 100 ms is one: counted from the earlier reading", readings(10*s, 1_000*s, 20*s, 1_010*s+100_001), 15 * s, 1_005 * s},
		{"just before a step", readings(10*s, 1_000*s, 20*s, 5_000*s), 20*s - 1, 1_010*s - 1},
		{"at the reading after a step", readings(10*s, 1_000*s, 20*s, 5_000*s), 20 * s, 5_000 * s},
		{"after a step back", readings(10*s, 1_000*s, 20*s, 500*s), 21 * s, 501 * s},
		{"beyond the last reading", readings(10*s, 1_000*s, 20*s, 1_010*s+40_000), 30 * s, 1_020*s + 40_000},
		{"two hundred years between readings", readings(0, 0, 6_000_000_000*s, 6_000_000_000*s+100_000), 3_000_000_000 * s, 3_000_000_000*s + 50_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clock, err := api.NewClock(c.readings)
			if err != nil {
				t.Fatal(err)
			}
			if got := clock.At(c.at); got.UnixMicro() != c.want || got.Location() != time.UTC {
				t.Errorf("got %d us in %s, want %d", got.UnixMicro(), got.Location(), c.want)
			}
		})
	}
}

func TestStepsOfTheClockAreTold(t *testing.T) {
	t.Parallel()
	const s = 1_000_000
	clock, err := api.NewClock(readings(10*s, 1_000*s, 20*s, 1_010*s+1, 30*s, 900*s, 40*s, 910*s, 50*s, 4_520*s))
	if err != nil {
		t.Fatal(err)
	}
	want := []api.Step{{BoottimeUS: 30 * s, By: -(120*time.Second + time.Microsecond)}, {BoottimeUS: 50 * s, By: time.Hour}}
	if diff := cmp.Diff(want, clock.Steps()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	off := clock.FarthestFrom(func(us int64) time.Time { return time.UnixMicro(us + 990*s) })
	if want := 3_480 * time.Second; off != want { // the last reading: 4,520 against 50 + 990 s
		t.Errorf("farthest %s, want %s", off, want)
	}
}

func TestReadingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		readings []*corewaitv1.ClockReading
		want     string
	}{
		{"none", nil, "no reading"},
		{"a negative boot time", readings(-1, 0), "clock[0]: boottime_us"},
		{"a boot time of ten thousand years", readings(math.MaxInt64, 0), "clock[0]: boottime_us"},
		{"a time beyond the calendar", readings(0, math.MaxInt64), "clock[0]: utc_us"},
		{"a time before the calendar", readings(0, math.MinInt64), "clock[0]: utc_us"},
		{"two of one instant", readings(5, 0, 5, 1), "clock[1]: boottime_us 5 is not after"},
		{"out of order", readings(5, 0, 4, 1), "clock[1]: boottime_us 4 is not after"},
		{"too many", make([]*corewaitv1.ClockReading, 10_001), "10001 readings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := api.NewClock(c.readings); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// No readings, however far apart, make an instant overflow into a panic.
func FuzzClock(f *testing.F) {
	f.Add(int64(0), int64(0), int64(1), int64(1), int64(7))
	f.Add(int64(0), int64(-62_135_596_800_000_000), int64(6_000_000_000_000_000), int64(253_402_300_799_999_999), int64(3_000_000_000_000_000))
	f.Fuzz(func(t *testing.T, b0, u0, b1, u1, at int64) {
		clock, err := api.NewClock(readings(b0, u0, b1, u1))
		if err != nil {
			return
		}
		if got := clock.At(b0).UnixMicro(); got != u0 {
			t.Errorf("at its first reading the clock is %d, want %d", got, u0)
		}
		if got := clock.At(b1).UnixMicro(); got != u1 {
			t.Errorf("at its second reading the clock is %d, want %d", got, u1)
		}
		if steps := clock.Steps(); len(steps) == 0 && at >= b0 && at <= b1 {
			if got := clock.At(at).UnixMicro(); got < min(u0, u1) || got > max(u0, u1) {
				t.Errorf("at %d the clock is %d, not between %d and %d", at, got, u0, u1)
			}
		}
		clock.At(at)
	})
}
