package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// clock gives an instant of a day by hours and minutes.
func clock(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2026-11-30 "+s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func stallsAt(t *testing.T, times string) []store.Stall {
	t.Helper()
	var stalls []store.Stall
	for s := range strings.FieldsSeq(times) {
		stalls = append(stalls, store.Stall{At: clock(t, s), Longest: 200 * time.Millisecond, Waiters: 5})
	}
	return stalls
}

// known makes an incident of "ID FROM-TO", with "dismissed" behind it or not.
func known(t *testing.T, s string) store.Incident {
	t.Helper()
	fields := strings.Fields(s)
	from, to, _ := strings.Cut(fields[1], "-")
	i := store.Incident{ID: store.UUID{fields[0][0]}, Window: domain.Window{From: clock(t, from), To: clock(t, to)}, Stalls: 3, State: store.IncidentOpen}
	if len(fields) > 2 {
		i.State = store.IncidentDismissed
	}
	return i
}

func describe(c change) string {
	id := "new"
	if c.is {
		id = string(c.incident.ID[0])
	}
	if c.absorbed {
		return id + " absorbed"
	}
	const layout = "15:04"
	w := c.incident.Window
	return fmt.Sprintf("%s %s-%s %d", id, w.From.Format(layout), w.To.Format(layout), c.incident.Stalls)
}

// Gaps, margins and bounds are those of DefaultOptions: 15 and 5 minutes, three
// stalls, twelve hours. What is wanted was worked out by hand.
func TestRunsOfStallsBecomeIncidents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stalls string
		known        []string
		window       string // "" 10:00-11:00
		want         []string
	}{
		{name: "no stalls, no incident"},
		{name: "two stalls are too few", stalls: "10:10 10:12"},
		{name: "three stalls are one", stalls: "10:10 10:12 10:27", want: []string{"new 10:05-10:32 3"}},
		{name: "a gap over 15 minutes parts", stalls: "10:10 10:11 10:12 10:28 10:29 10:30", want: []string{"new 10:05-10:17 3", "new 10:23-10:35 3"}},
		{name: "it may have begun in the hour before", stalls: "09:50 09:58 10:03", want: []string{"new 09:45-10:08 3"}},
		{name: "one far from the hour is left alone", stalls: "08:00 08:01 08:02"},
		{name: "a known one grows and keeps its name", stalls: "09:50 09:55 09:58 10:03", known: []string{"A 09:45-10:03"}, want: []string{"A 09:45-10:08 4"}},
		{name: "a known one may shrink to what is left of it", stalls: "10:10", known: []string{"A 10:05-10:35"}, want: []string{"A 10:05-10:15 1"}},
		{
			name: "one that joins two absorbs the second", stalls: "10:00 10:01 10:02 10:14 10:26 10:27 10:28",
			known: []string{"A 09:55-10:07", "B 10:21-10:33"}, want: []string{"B absorbed", "A 09:55-10:33 7"},
		},
		{name: "one whose stalls are gone is kept, and says so", known: []string{"A 10:05-10:35"}, want: []string{"A 10:05-10:35 0"}},
		{name: "a dismissed one stays dismissed", stalls: "10:10 10:12 10:14", known: []string{"A 10:05-10:19 dismissed"}},
		{
			name: "what goes on after a dismissed one is another", stalls: "10:10 10:12 10:14 10:25 10:26 10:27",
			known: []string{"A 10:05-10:19 dismissed"}, want: []string{"new 10:20-10:32 3"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &pass{Review: &Review{o: DefaultOptions()}}
			var of []store.Incident
			for _, k := range tt.known {
				of = append(of, known(t, k))
			}
			var got []string
			w := domain.Window{From: clock(t, "10:00"), To: clock(t, "11:00")}
			about, of, err := p.about(w, func(w domain.Window) ([]store.Incident, error) {
				return slices.DeleteFunc(slices.Clone(of), func(k store.Incident) bool { return !overlap(k.Window, w) }), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			stalls := slices.DeleteFunc(stallsAt(t, tt.stalls), func(s store.Stall) bool { return !widen(about, p.o.IncidentGap).Contains(s.At) })
			for _, c := range p.plan(stalls, of, about, w) {
				got = append(got, describe(c))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A host that stalls every ten minutes all day must not make one incident without
// end: 144 stalls, of which 73 lie within 12 hours, ends included.
func TestAnIncidentEndsAfterTwelveHours(t *testing.T) {
	t.Parallel()
	var stalls []store.Stall
	for at := clock(t, "00:00"); len(stalls) < 144; at = at.Add(10 * time.Minute) {
		stalls = append(stalls, store.Stall{At: at})
	}
	runs := runsOf(stalls, 15*time.Minute, longestIncident)
	if len(runs) != 2 || len(runs[0]) != 73 || len(runs[1]) != 71 {
		t.Errorf("%d runs, the first of %d stalls", len(runs), len(runs[0]))
	}
}

// What the clocks did is public: Seoul has no summer time, Berlin's clocks went
// forward on 2026-03-29 and back on 2026-10-25, those of Santiago forward at
// midnight of 2026-09-06, so that this day begins at 01:00.
func TestDaysAndWeeksBeginAsInTheirZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone, at  string
		day, week string // in UTC
	}{
		{"UTC", "2026-11-30T12:00:00Z", "2026-11-30T00 24h", "2026-11-30T00 168h"},
		{"UTC", "2026-11-29T23:59:59Z", "2026-11-29T00 24h", "2026-11-23T00 168h"},
		{"Asia/Seoul", "2026-11-30T14:59:59Z", "2026-11-29T15 24h", "2026-11-29T15 168h"},
		{"Asia/Seoul", "2026-11-30T15:00:00Z", "2026-11-30T15 24h", "2026-11-29T15 168h"},
		{"Europe/Berlin", "2026-03-29T10:00:00Z", "2026-03-28T23 23h", "2026-03-22T23 167h"},
		{"Europe/Berlin", "2026-10-25T10:00:00Z", "2026-10-24T22 25h", "2026-10-18T22 169h"},
		{"America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04 23h", "2026-08-31T04 167h"},
		{"America/Santiago", "2026-09-05T12:00:00Z", "2026-09-05T04 24h", "2026-08-31T04 167h"},
	} {
		t.Run(tt.zone+" "+tt.at, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Skip("SKIPPED: the host knows no zones: ", err)
			}
			at, err := time.Parse(time.RFC3339, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			r := &Review{o: Options{Zone: zone}}
			text := func(w domain.Window) string {
				return w.From.Format("2006-01-02T15 ") + strings.TrimSuffix(w.Duration().String(), "0m0s")
			}
			if day, week := text(r.dayOf(at)), text(r.weekOf(at)); day != tt.day || week != tt.week {
				t.Errorf("day %s, week %s; want %s, %s", day, week, tt.day, tt.week)
			}
		})
	}
}
