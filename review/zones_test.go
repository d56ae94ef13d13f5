package review

import (
	"fmt"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// oddZones are zones whose days are hard: half and quarter hours, clocks that change
// at or about midnight, a day that was left out (Apia, 2011-12-30).
var oddZones = []string{
	"UTC", "Asia/Seoul", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Adelaide", "America/St_Johns", "Pacific/Chatham",
	"Asia/Tehran", "Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Damascus", "Africa/Cairo", "Africa/Casablanca", "Atlantic/Azores", "America/Havana",
	"America/Nuuk", "America/Asuncion", "America/Sao_Paulo", "America/Santiago", "America/Caracas", "Asia/Pyongyang", "Europe/Berlin", "Pacific/Apia",
}

// Whatever the clocks do, days and weeks follow one another without hole or overlap,
// each instant lies in the day and week that are given for it, and a window is found
// again by its begin, under which it is marked.
func TestDaysAndWeeksOfEveryZoneCoverTimeOnce(t *testing.T) {
	t.Parallel()
	for _, name := range oddZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("SKIPPED: the host knows no zones: ", err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Review{o: Options{Zone: zone}}
			for _, change := range changesOf(zone) {
				for at := change.Add(-26 * time.Hour).Truncate(30 * time.Minute); at.Before(change.Add(26 * time.Hour)); at = at.Add(30 * time.Minute) {
					if why := wrong(r, at); why != "" {
						t.Fatalf("%s: %s", at.Format(time.RFC3339), why)
					}
				}
			}
		})
	}
}

// changesOf gives when a zone's clocks changed or will: in the years in which more
// zones did so at midnight, and in those to come.
func changesOf(zone *time.Location) []time.Time {
	at := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC)
	changes := []time.Time{at}
	for at.Year() < 2030 {
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() {
			break
		}
		if at = end.UTC(); at.Year() < 2012 || at.Year() > 2024 {
			changes = append(changes, at)
		}
	}
	return changes
}

// wrong says what is wrong about the windows that hold an instant, "" nothing.
func wrong(r *Review, at time.Time) string {
	day, week := r.dayOf(at), r.weekOf(at)
	for _, w := range []struct {
		name     string
		of       func(time.Time) domain.Window
		window   domain.Window
		from, to time.Duration
	}{
		{"day", r.dayOf, day, 22 * time.Hour, 26 * time.Hour},
		{"week", r.weekOf, week, 142 * time.Hour, 170 * time.Hour},
	} {
		text := fmt.Sprintf("%s from %s to %s", w.name, w.window.From.Format(time.RFC3339), w.window.To.Format(time.RFC3339))
		switch {
		case !w.window.Contains(at):
			return text + " does not hold it"
		case w.of(w.window.From) != w.window:
			return text + " is not found by its begin"
		case !w.of(w.window.To).From.Equal(w.window.To):
			return text + " is not followed by another one"
		case w.window.Duration() < w.from || w.window.Duration() > w.to:
			return text + " lasts " + w.window.Duration().String()
		}
	}
	if day.From.Before(week.From) || day.To.After(week.To) {
		return "its day is not in its week"
	}
	return ""
}

// Half past five hours from UTC, the hour of UTC from 18:00 on has a half of two days,
// and that from 18:00 on a Sunday of two weeks: data of it opens both.
func TestAnHourThatHoldsMidnightBelongsToBothDays(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Skip("SKIPPED: the host knows no zones: ", err)
	}
	r := &Review{o: Options{Zone: zone}}
	hour := time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC) // a Sunday
	first, last := hour, hour.Add(time.Hour-time.Nanosecond)
	if a, b := r.dayOf(first), r.dayOf(last); !a.To.Equal(b.From) || !a.To.Equal(hour.Add(30*time.Minute)) {
		t.Errorf("days %v and %v", a, b)
	}
	if a, b := r.weekOf(first), r.weekOf(last); !a.To.Equal(b.From) || !a.To.Equal(hour.Add(30*time.Minute)) {
		t.Errorf("weeks %v and %v", a, b)
	}
}
