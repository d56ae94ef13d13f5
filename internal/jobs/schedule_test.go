package jobs

import (
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func schedule(t *testing.T, spec string) Schedule {
	t.Helper()
	s, err := ParseSchedule(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchedulesAreFiveFieldsInUTC(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"", "@every 1m", "@daily", "@hourly", "* * * *", "0 * * * * *", "TZ=Asia/Seoul 0 9 * * 1", "CRON_TZ=Asia/Seoul * * * *",
		"60 * * * *", "0 24 * * *", "0 0 32 * *", "0 0 * 13 *", "0 0 * * 8", "0 0 30 2 *", "x * * * *", "*/0 * * * *", "5-1 * * * *", "? ? ? ? ? ?",
	} {
		if _, err := ParseSchedule(spec); err == nil {
			t.Errorf("%q was taken", spec)
		}
	}
	// Reckoned with a calendar: 2026-11-30 is a Monday, 2028 has a leap day.
	seoul := time.FixedZone("KST", 9*3600)
	for spec, want := range map[string]string{
		"* * * * *":        "2026-11-30 12:01:00",
		"17 2 * * *":       "2026-12-01 02:17:00",
		"0 9 * * 1":        "2026-12-07 09:00:00",
		"*/15 * * * *":     "2026-11-30 12:15:00",
		"0 0 1 */3 *":      "2027-01-01 00:00:00",
		"0 0 29 2 *":       "2028-02-29 00:00:00",
		"30 6 * * MON":     "2026-12-07 06:30:00",
		"5,35 13-14 * * *": "2026-11-30 13:05:00",
	} {
		s := schedule(t, spec)
		for _, from := range []time.Time{at(t, "2026-11-30 12:00:30"), at(t, "2026-11-30 12:00:30").In(seoul)} {
			if got := s.Next(from); !got.Equal(at(t, want)) || got.Location() != time.UTC {
				t.Errorf("%s after %v: %v, want %s", spec, from, got, want)
			}
		}
		if s.String() != spec {
			t.Errorf("%s is written %s", spec, s)
		}
	}
}

func TestLatestTick(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, after, now, want string }{
		"just now":                 {"* * * * *", "2026-11-30 00:00:00", "2026-11-30 12:00:00", "2026-11-30 12:00:00"},
		"a minute ago":             {"* * * * *", "2026-11-30 00:00:00", "2026-11-30 12:00:59", "2026-11-30 12:00:00"},
		"it was done":              {"* * * * *", "2026-11-30 12:00:00", "2026-11-30 12:00:59", ""},
		"yesterday":                {"17 2 * * *", "2026-11-01 00:00:00", "2026-11-30 02:16:59", "2026-11-29 02:17:00"},
		"last week":                {"0 9 * * 1", "2026-11-01 00:00:00", "2026-11-30 08:00:00", "2026-11-23 09:00:00"},
		"a year ago":               {"0 0 1 1 *", "2020-01-01 00:00:00", "2026-12-31 23:59:59", "2026-01-01 00:00:00"},
		"a leap day ago":           {"0 0 29 2 *", "2020-01-01 00:00:00", "2028-02-28 00:00:00", "2024-02-29 00:00:00"},
		"not since":                {"0 0 29 2 *", "2025-01-01 00:00:00", "2028-02-28 00:00:00", ""},
		"the clock stood back":     {"* * * * *", "2026-11-30 12:00:00", "2026-11-30 11:00:00", ""},
		"never done, no beginning": {"0 0 1 * *", "", "2026-11-30 12:00:00", "2026-11-01 00:00:00"},
	} {
		var after time.Time
		if c.after != "" {
			after = at(t, c.after)
		}
		got, found := schedule(t, c.spec).latest(after, at(t, c.now))
		if found != (c.want != "") || found && !got.Equal(at(t, c.want)) {
			t.Errorf("%s: %v, %v, want %s", name, got, found, c.want)
		}
	}
}

func TestLagIsTheAgeOfTheFirstTickThatWasNotDone(t *testing.T) {
	t.Parallel()
	run := func(tick string) *store.JobRun { return &store.JobRun{Tick: at(t, tick)} }
	for name, c := range map[string]struct {
		state store.JobState
		since time.Time
		want  time.Duration
	}{
		"done":                      {state: store.JobState{Done: run("2026-11-30 12:00:00")}},
		"two ticks were not":        {state: store.JobState{Done: run("2026-11-30 10:00:00")}, want: 90 * time.Minute},
		"failed since":              {state: store.JobState{Last: run("2026-11-30 12:00:00"), Done: run("2026-11-30 11:00:00")}, want: 30 * time.Minute},
		"the schedule is new":       {state: store.JobState{Done: run("2026-11-20 10:00:00")}, since: at(t, "2026-11-30 11:30:00"), want: 30 * time.Minute},
		"never went well":           {state: store.JobState{Last: run("2026-11-30 12:00:00")}, want: 30 * time.Minute},
		"never went well, all seen": {state: store.JobState{Last: run("2026-11-30 12:00:00")}, since: at(t, "2026-11-30 09:30:00"), want: 150 * time.Minute},
		"nothing is known":          {},
		"never ran, one was due":    {since: at(t, "2026-11-30 11:59:00"), want: 30 * time.Minute},
		"never ran, none was due":   {since: at(t, "2026-11-30 12:00:00")},
		"run by hand between ticks": {state: store.JobState{Done: run("2026-11-30 12:17:23")}},
	} {
		if got := schedule(t, "0 * * * *").Lag(c.state, c.since, at(t, "2026-11-30 12:30:00")); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
