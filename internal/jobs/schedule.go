package jobs

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/corewait/corewait/store"
)

// Schedule says when a job is due, in UTC.
type Schedule struct {
	spec string
	next cron.Schedule
}

// fieldsOfSchedule are those of crontab(5).
const fieldsOfSchedule = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow

// ParseSchedule reads the five fields of crontab(5): minute, hour, day of the
// month, month, day of the week, in UTC. It takes neither a zone nor @every and
// its like: intervals count from a process's start, and so differ between
// processes that share their ticks.
func ParseSchedule(spec string) (Schedule, error) {
	wrong := func(why string) (Schedule, error) {
		return Schedule{}, fmt.Errorf("schedule %q: %s", spec, why)
	}
	switch fields := strings.Fields(spec); {
	case strings.HasPrefix(spec, "@"):
		return wrong("is not five fields (minute hour day month weekday), which all processes reckon alike")
	case strings.Contains(spec, "="):
		return wrong("names a zone: schedules are in UTC")
	case len(fields) != 5:
		return wrong(fmt.Sprintf("has %d fields, needs five (minute hour day month weekday)", len(fields)))
	}
	parsed, err := cron.NewParser(fieldsOfSchedule).Parse(spec)
	if err != nil {
		return wrong(err.Error())
	}
	s := Schedule{spec: spec, next: parsed}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return wrong("never comes")
	}
	return s, nil
}

func (s Schedule) String() string { return s.spec }

// Next gives the first tick after an instant.
func (s Schedule) Next(after time.Time) time.Time { return s.next.Next(after.UTC()) }

// latest gives the last tick in (after, now]; none is false.
func (s Schedule) latest(after, now time.Time) (tick time.Time, found bool) {
	// Ticks can only be reckoned forward: from a little before, where there is one.
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 31 * 24 * time.Hour, longestInterval} {
		from := now.Add(-back)
		if from.Before(after) {
			from = after
		}
		for next := s.Next(from); !next.IsZero() && !next.After(now); next = s.Next(next) {
			tick, found = next, true
		}
		if found || from.Equal(after) {
			return tick, found
		}
	}
	return tick, found
}

// longestInterval bounds how far back a tick is looked for: a leap day may be
// eight years away.
const longestInterval = 8 * 366 * 24 * time.Hour

// Lag gives now minus the first tick due that has not been done, zero where all
// went well. Ticks up to since do not count. Of a job that was never done they
// count from since, where that is not zero, else from its newest run.
func (s Schedule) Lag(state store.JobState, since, now time.Time) time.Duration {
	var due time.Time
	switch {
	case state.Done != nil:
		from := state.Done.Tick
		if from.Before(since) {
			from = since
		}
		due = s.Next(from)
	case !since.IsZero():
		due = s.Next(since)
	case state.Last != nil:
		due = state.Last.Tick
	}
	if due.IsZero() || due.After(now) {
		return 0
	}
	return now.Sub(due)
}
