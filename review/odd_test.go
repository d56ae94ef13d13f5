package review_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// stall lets five sessions of db1, of INST_ID 1, wait for 300 ms at each of some instants: a
// stall each, of which nothing else is known.
func (h *hostile) stall(at ...time.Time) {
	h.t.Helper()
	h.feed("db1", func(to *series.Intervals) error {
		for _, t := range at {
			for session := range 5 {
				err := to.Wait(domain.Wait{
					At: t, SampleID: t.Unix(), InstID: 1, SessionID: 20 + session, Serial: 1, Waiting: true,
					Event: domain.EventLogFileSync, TimeWaited: 300 * time.Millisecond, Period: time.Second,
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// every gives the instants of [from, to) that lie so far apart.
func every(step time.Duration, from, to time.Time) []time.Time {
	var all []time.Time
	for t := from; t.Before(to); t = t.Add(step) {
		all = append(all, t)
	}
	return all
}

// minutes gives instants so many minutes after another.
func minutes(from time.Time, after ...float64) []time.Time {
	all := make([]time.Time, len(after))
	for i, m := range after {
		all[i] = from.Add(time.Duration(m * float64(time.Minute)))
	}
	return all
}

// incidents gives the incidents, the first ones first, as "HH:MM-HH:MM stalls state",
// with the day counted from the Monday.
func (h *hostile) incidents() []string {
	h.t.Helper()
	list, _, err := h.Incidents(h.t.Context(), store.IncidentFilter{}, store.Page{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	lines := make([]string, 0, len(list))
	for _, i := range list {
		from, to := i.Window.From.Sub(monday()), i.Window.To.Sub(monday())
		lines = append(lines, fmt.Sprintf("%02d:%02d-%02d:%02d %d %s",
			int(from.Hours()), int(from.Minutes())%60, int(to.Hours()), int(to.Minutes())%60, i.Stalls, i.State))
	}
	slices.Sort(lines)
	return lines
}

func (h *hostile) wantIncidents(what string, want ...string) {
	h.t.Helper()
	if got := h.incidents(); !slices.Equal(got, want) {
		h.t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

// verdictsOf gives "instance verdict" of the findings of a scope.
func (h *hostile) verdictsOf(scope store.Scope) []string {
	h.t.Helper()
	var lines []string
	for _, f := range h.findings(scope) {
		lines = append(lines, strings.TrimSpace(f.Instance+" "+f.Verdict))
	}
	slices.Sort(lines)
	return lines
}

// Gaps and margins are those of DefaultOptions, 15 and 5 minutes.
func TestLateStallsThatBridgeTwoIncidentsMakeThemOneForGood(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	ten := monday().Add(10 * time.Hour)
	h.stall(minutes(ten, 0, 1, 2, 26, 27, 28)...)
	h.review(time.Now())
	h.wantIncidents("before", "09:55-10:07 3 open", "10:21-10:33 3 open")
	h.stall(minutes(ten, 14)...)
	h.review(time.Now())
	bridged := []string{"09:55-10:33 7 open", "10:21-10:33 0 dismissed"}
	h.wantIncidents("bridged", bridged...)
	h.stall(minutes(ten, 14)...) // the same again
	h.review(time.Now())
	h.wantIncidents("reviewed again", bridged...)
	h.stall(minutes(ten, 31)...)
	h.review(time.Now())
	h.wantIncidents("and it grows on", "09:55-10:36 8 open", "10:21-10:33 0 dismissed")
}

// Of stalls 7 minutes apart from 01:00 on the last one within 12 hours of the first
// comes 102 gaps later, at 12:54. Those that go on from 13:01 are another incident,
// which begins where the margin of the first one ends, at 12:59; in 14 hours there are
// 120 stalls, the last one at 14:53.
func TestStallsThatGoOnForLongAreCutIntoTheSameIncidentsHourByHourAsAtOnce(t *testing.T) {
	t.Parallel()
	from := monday().Add(time.Hour)
	end := from.Add(14 * time.Hour)
	stalls := every(7*time.Minute, from, end)
	want := []string{"00:55-12:59 103 open", "12:59-14:58 17 open"}
	h := newHostile(t, nil)
	for hour := from; hour.Before(end); hour = hour.Add(time.Hour) {
		h.stall(slices.DeleteFunc(slices.Clone(stalls), func(s time.Time) bool { return s.Before(hour) || !s.Before(hour.Add(time.Hour)) })...)
		h.review(hour.Add(62 * time.Minute))
	}
	h.wantIncidents("hour by hour", want...)
	h.forget()
	h.review(time.Now())
	h.wantIncidents("at once", want...)
	h.stall(from.Add(5*time.Hour), from.Add(13*time.Hour+30*time.Minute))
	h.review(time.Now())
	h.wantIncidents("after late data", "00:55-12:59 104 open", "12:59-14:58 18 open")
}

func TestADismissedIncidentStaysDismissedWhateverComesLater(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	ten := monday().Add(10 * time.Hour)
	h.stall(minutes(ten, 10, 11, 12)...)
	h.review(time.Now())
	list, _, err := h.Incidents(t.Context(), store.IncidentFilter{}, store.Page{})
	if err != nil || len(list) != 1 {
		t.Fatalf("incidents %v, error %v", list, err)
	}
	if err := h.Dismiss(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	h.stall(minutes(ten, 10.5, 13)...)
	h.review(time.Now())
	h.wantIncidents("more of it", "10:05-10:17 3 dismissed")
	h.stall(minutes(ten, 20, 21, 22)...)
	h.review(time.Now())
	h.wantIncidents("more after it", "10:05-10:17 3 dismissed", "10:15-10:27 3 open")
	if rows := h.lines(`SELECT count(*)::text FROM kept_waits k WHERE at < $1`, ten.Add(15*time.Minute)); rows[0] != "0" {
		t.Errorf("%s rows are evidence of the dismissed one", rows[0])
	}
}

func TestAnHourWithWaitsAndNoPlacementHasStallsAndNoVerdict(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	ten := monday().Add(10 * time.Hour)
	h.stall(minutes(ten, 10, 11, 12, 13)...)
	if done := h.review(time.Now()); done.Failed != 0 || done.Hours != 1 || done.Days != 1 || done.Weeks != 1 || done.Incidents != 1 {
		t.Errorf("the review: %v", done)
	}
	want := []string{domain.InsufficientData}
	for _, scope := range []store.Scope{store.ScopeIncident, store.ScopeDay, store.ScopeWeek} {
		if got := h.verdictsOf(scope); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want one without a name: %q", scope, got, want)
		}
	}
	tallies := h.lines(`SELECT format('%s %s %s %s', instance = '', stalls, stalls_exposed IS NULL, exposed_s IS NULL) FROM tallies`)
	if !slices.Equal(tallies, []string{"t 4 t t"}) {
		t.Errorf("tallies %q, want four stalls of which nobody knows where LGWR was", tallies)
	}
}

// The name of an instance becomes known with the placement of its processes, which
// an agent whose network was down sends a day later.
func TestAnInstanceThatGetsItsNameLateIsReportedUnderItAlone(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	s := small("db1", "ORDP1", monday().Add(10*time.Hour), 30)
	h.feed("db1", func(to *series.Intervals) error {
		_, err := s.Generate(onlyWaits{to})
		return err
	})
	h.review(time.Now())
	if got := h.verdictsOf(store.ScopeDay); !slices.Equal(got, []string{domain.InsufficientData}) {
		t.Fatalf("before it has a name: %q", got)
	}
	h.store(s)
	h.review(time.Now())
	want := []string{"ORDP1 " + domain.CauseInterrupts, domain.InsufficientData}
	for _, scope := range []store.Scope{store.ScopeDay, store.ScopeWeek} {
		if got := h.verdictsOf(scope); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", scope, got, want)
		}
		for _, f := range h.findings(scope) {
			if says := strings.Contains(f.Headline, "No records"); says != (f.Instance == "") {
				t.Errorf("%s of %q: %s", scope, f.Instance, f.Headline)
			}
		}
	}
	if got := h.lines(`SELECT DISTINCT instance FROM stalls UNION SELECT DISTINCT instance FROM tallies`); !slices.Equal(got, []string{"ORDP1"}) {
		t.Errorf("stalls and tallies are of %q", got)
	}
	if got := h.lines(`SELECT DISTINCT instance FROM incidents WHERE state = 'open'`); !slices.Equal(got, []string{"ORDP1"}) {
		t.Errorf("open incidents are of %q", got)
	}
}

// onlyWaits lets nothing but the rows of ASH through.
type onlyWaits struct{ *series.Intervals }

func (onlyWaits) Instance(domain.Instance) error             { return nil }
func (onlyWaits) Topology(domain.Topology) error             { return nil }
func (onlyWaits) Interrupts(*domain.InterruptSnapshot) error { return nil }
func (onlyWaits) CPU(domain.CPUSample) error                 { return nil }
func (onlyWaits) System(domain.SystemSample) error           { return nil }
func (onlyWaits) Disk(domain.DiskSample) error               { return nil }
func (onlyWaits) Placement(domain.Placement) error           { return nil }

func TestTwoInstancesOfANodeAreJudgedEach(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	s := small("db1", "ORDP1", monday().Add(10*time.Hour), 30)
	s.SecondInstance = "ORDP2"
	h.store(s)
	h.review(time.Now())
	for _, scope := range []store.Scope{store.ScopeDay, store.ScopeWeek} {
		heads := h.findings(scope)
		if len(heads) != 2 || heads[0].Instance == heads[1].Instance || heads[0].Fleet == nil || heads[0].Fleet.Tests != 2 {
			t.Errorf("%s: %+v, want one finding of each instance, tested together", scope, heads)
		}
	}
	if got := h.lines(`SELECT DISTINCT instance FROM incidents ORDER BY 1`); !slices.Equal(got, []string{"ORDP1", "ORDP2"}) {
		t.Errorf("incidents are of %q", got)
	}
}

// The waits of an INST_ID that two instances of the node had one after the other may
// be of either, says analyze, and asks. The review has nobody to ask.
func TestAnInstanceThatIsRenamedHasHoursAndADayThatSaysWhyItHasNoVerdict(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	h.store(small("db1", "ORDP1", monday().Add(10*time.Hour), 30))
	h.review(monday().Add(12 * time.Hour))
	h.review(monday().Add(aDay + time.Hour))
	if got := h.verdictsOf(store.ScopeDay); !slices.Equal(got, []string{"ORDP1 " + domain.CauseInterrupts}) {
		t.Fatalf("before: %q", got)
	}
	h.store(small("db1", "ORDQ1", monday().Add(11*time.Hour), 30))
	if done := h.review(time.Now()); done.Failed != 0 {
		t.Errorf("the review: %v", done)
	}
	if got := h.lines(`SELECT format('%s %s', instance, stalls > 0) FROM tallies ORDER BY at`); !slices.Equal(got, []string{"ORDP1 t", "ORDQ1 t"}) {
		t.Errorf("tallies %q", got)
	}
	if got := h.lines(`SELECT DISTINCT instance FROM incidents WHERE state = 'open' ORDER BY 1`); !slices.Equal(got, []string{"ORDP1", "ORDQ1"}) {
		t.Errorf("incidents of %q", got)
	}
	if got := h.verdictsOf(store.ScopeDay); !slices.Equal(got, []string{"ORDP1 " + domain.InsufficientData, domain.InsufficientData}) {
		t.Errorf("the day: %q", got)
	}
	for _, f := range h.findings(store.ScopeDay) {
		if f.Instance == "" && !strings.Contains(f.Headline, "this node runs ORDP1 and ORDQ1") || f.Fleet != nil {
			t.Errorf("%q: %s, fleet %+v", f.Instance, f.Headline, f.Fleet)
		}
	}
}

// A zone that is wrong puts Oracle's rows hours away from the host's.
func TestADayWhoseSourcesDoNotMeetSaysSo(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	s := small("db1", "ORDP1", monday().Add(10*time.Hour), 20)
	h.feed("db1", func(to *series.Intervals) error {
		_, err := s.Generate(noWaits{to})
		return err
	})
	h.stall(minutes(monday(), 90, 91, 92)...)
	if done := h.review(time.Now()); done.Failed != 0 || done.Days != 1 {
		t.Errorf("the review: %v", done)
	}
	heads := h.findings(store.ScopeDay)
	if len(heads) != 1 || heads[0].Verdict != domain.InsufficientData || !strings.Contains(heads[0].Headline, "do not overlap") {
		t.Errorf("%+v", heads)
	}
	h.wantIncidents("of the hour that has waits only", "01:25-01:37 3 open")
}

// noWaits leaves out the rows of ASH and what else Oracle tells.
type noWaits struct{ *series.Intervals }

func (noWaits) Instance(domain.Instance) error            { return nil }
func (noWaits) Wait(domain.Wait) error                    { return nil }
func (noWaits) Histogram(*domain.HistogramSnapshot) error { return nil }
func (noWaits) Counter(domain.Counter) error              { return nil }
func (noWaits) SystemEvent(domain.SystemEvent) error      { return nil }

// A partition that is lost within the time that samples are kept leaves what was found
// in it, as retention does.
func TestADayWhosePartitionsAreLostKeepsItsVerdicts(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	h.store(small("db1", "ORDP1", monday().Add(10*time.Hour), 30))
	h.review(time.Now())
	want := h.state()
	h.dropDay(monday())
	node, err := h.Node(t.Context(), "db1")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.MarkDirty(t.Context(), store.ScopeHour, node, monday().Add(10*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if done := h.review(time.Now()); done.Failed != 0 || done.Hours != 1 {
		t.Errorf("the review: %v", done)
	}
	h.wantState(want, "after the partitions are lost")
}

// dropDay does what retention does to the samples of a day, ahead of its time. What
// comes then comes by a store that has not met the partitions.
func (h *hostile) dropDay(day time.Time) {
	h.t.Helper()
	policy := store.DefaultRetention()
	if _, err := h.Retain(h.t.Context(), policy, day.Add(aDay+policy.Raw)); err != nil {
		h.t.Fatal(err)
	}
	if got := h.lines(`SELECT count(*)::text FROM waits`); got[0] != "0" {
		h.t.Fatalf("%s waits are left", got[0])
	}
	st, err := store.Open(h.t.Context(), store.Options{URL: h.url})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(st.Close)
	h.Store = st
}

func TestLateDataOfADayWhoseSamplesAreDroppedTakesNothingAway(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	s := small("db1", "ORDP1", monday().Add(10*time.Hour), 30)
	h.store(s)
	h.review(time.Now())
	want := h.state()
	h.dropDay(monday())
	h.stall(minutes(s.Start, 5, 6, 7)...)
	late := monday().Add(aDay + 14*aDay) // the whole week begins over two weeks before
	if done := h.review(late); done.Failed != 0 {
		t.Errorf("the review: %v", done)
	}
	h.wantState(want, "after the samples are gone")
}

func TestDataThatComesWhileItsHourIsReviewedIsReviewedNext(t *testing.T) {
	t.Parallel()
	h := newHostile(t, nil)
	ten := monday().Add(10 * time.Hour)
	h.stall(minutes(ten, 10, 11, 12)...)
	during := newFuse(t.Context(), 12)
	during.blow = func() { h.stall(minutes(ten, 20, 21)...) }
	if _, err := h.Run(during, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := h.lines(`SELECT scope FROM dirty_windows WHERE scope = 'hour'`); len(got) != 1 {
		t.Errorf("the hour is not dirty any more")
	}
	h.review(time.Now())
	h.wantIncidents("after the next review", "10:05-10:26 5 open")
	if got := h.lines(`SELECT scope FROM dirty_windows`); len(got) != 0 {
		t.Errorf("dirty: %q", got)
	}
}

// Midnight in Kolkata is 18:30 in UTC: what the hour from 18:00 on holds belongs to two
// days, and on a Sunday to two weeks.
func TestStallsAboutMidnightOfAZoneWithHalfAnHourAreOfTheirOwnDays(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Skip("SKIPPED: the host knows no zones: ", err)
	}
	h := newHostile(t, func(o *review.Options) { o.Zone = zone })
	midnight := monday().Add(aDay + 18*time.Hour + 30*time.Minute)
	h.stall(minutes(midnight, -20, -19, -18, -17, 5, 6, 7)...)
	if done := h.review(time.Now()); done.Hours != 1 || done.Days != 2 || done.Weeks != 1 || done.Failed != 0 {
		t.Errorf("the review: %v", done)
	}
	stalls := map[time.Time]int{}
	for _, f := range h.findings(store.ScopeDay) {
		stored, err := h.Finding(t.Context(), f.Node, f.ID)
		if err != nil {
			t.Fatal(err)
		}
		stalls[f.Window.From] = stored.Document.Waits.Stalls
	}
	if len(stalls) != 2 || stalls[midnight.Add(-aDay)] != 4 || stalls[midnight] != 3 {
		t.Errorf("stalls by day: %v, want 4 and 3", stalls)
	}
}
