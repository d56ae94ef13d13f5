package review_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// fixture is a store and a review of it.
type fixture struct {
	t testing.TB

	*store.Store

	*review.Review
}

func newFixture(t testing.TB, change func(*review.Options)) *fixture {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: testdb.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	o := review.DefaultOptions()
	o.Quiet = 0 // the data is all there
	if change != nil {
		change(&o)
	}
	r, err := review.New(st, o)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, Store: st, Review: r}
}

// yesterday gives the begin of the day before, in UTC.
func yesterday() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour) }

// write makes the files of a scenario.
func write(t testing.TB, s refcase.Scenario) (dir string, truth refcase.Truth) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), s.Node)
	w, err := refcase.NewFileWriter(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if truth, err = s.Generate(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, truth
}

func options(paths ...string) analysis.Options {
	return analysis.Options{Paths: paths, InstID: -1, Params: correlate.DefaultParams(), Limits: files.DefaultLimits()}
}

// receive puts a node's files beside what agents push.
func (f *fixture) receive(path string) {
	f.t.Helper()
	o := options(path)
	o.DBTimezone = "UTC" // of the scenarios here; Oracle's files alone do not tell
	if _, err := analysis.ImportLive(f.t.Context(), f.Store, filepath.Base(path), o); err != nil {
		f.t.Fatal(err)
	}
}

// review runs everything that is due at now.
func (f *fixture) review(now time.Time) review.Done {
	f.t.Helper()
	done, err := f.Run(f.t.Context(), now)
	if err != nil {
		f.t.Fatal(err)
	}
	return done
}

// findings gives the heads of a scope, the latest windows first.
func (f *fixture) findings(scope store.Scope) []store.FindingHead {
	f.t.Helper()
	heads, _, err := f.Findings(f.t.Context(), store.FindingFilter{Scope: scope}, store.Page{})
	if err != nil {
		f.t.Fatal(err)
	}
	return heads
}

// document gives a finding without what only files have: zones, names of files and
// what was odd about them.
func (f *fixture) document(h store.FindingHead) map[string]any {
	f.t.Helper()
	stored, err := f.Finding(f.t.Context(), h.Node, h.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return document(f.t, stored.Document)
}

func document(t testing.TB, f *domain.Finding) map[string]any {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"timezone", "inputs", "warnings", "params"} {
		delete(d, of)
	}
	return d
}

// analyzed gives what analyze --from --to says of files.
func analyzed(t testing.TB, w domain.Window, paths ...string) map[string]any {
	t.Helper()
	o := options(paths...)
	o.From, o.To = w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano)
	res, err := analysis.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Findings) != 1 {
		t.Fatalf("%d findings of the files, want one", len(res.Findings))
	}
	return document(t, res.Findings[0])
}

func TestVerdictsAreThoseOfAnalyzeOnTheSameData(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := refcase.Reference()
	s.Start = yesterday().Add(9*time.Hour + 23*time.Minute)
	dir, truth := write(t, s)
	f.receive(dir)
	done := f.review(time.Now())
	if done.Hours != 2 || done.Days != 1 || done.Failed != 0 {
		t.Errorf("a review of one hour that touches two of a day: %v", done)
	}
	for _, scope := range []store.Scope{store.ScopeDay, store.ScopeIncident} {
		heads := f.findings(scope)
		if len(heads) == 0 {
			t.Fatalf("no finding of a %s", scope)
		}
		for _, h := range heads {
			if diff := cmp.Diff(analyzed(t, h.Window, dir), f.document(h)); diff != "" {
				t.Errorf("%s %v: analyze -, review +:\n%s", scope, h.Window, diff)
			}
		}
	}
	day := f.findings(store.ScopeDay)[0]
	if day.Verdict != truth.Cause || !day.Window.From.Equal(yesterday()) || day.Window.Duration() != 24*time.Hour {
		t.Errorf("the day's finding: %+v", day)
	}
	if day.Fleet == nil || day.Fleet.Tests != 1 || !day.Fleet.Accepted {
		t.Errorf("the only finding of the fleet: %+v", day.Fleet)
	}

	// The tallies of both hours add up to the day: no stall of this scenario lies on
	// the hour, as their instants tell.
	node, err := f.Node(t.Context(), s.Node)
	if err != nil {
		t.Fatal(err)
	}
	tallies, err := f.Tallies(t.Context(), node, s.Instance, "lgwr", day.Window)
	if err != nil {
		t.Fatal(err)
	}
	stalls := 0
	for _, tally := range tallies {
		stalls += tally.Stalls
	}
	list := f.document(day)["stall_list"].([]any)
	if len(tallies) != 2 || stalls != len(list) {
		t.Errorf("%d tallies with %d stalls; the day has %d", len(tallies), stalls, len(list))
	}

	// A second review has nothing to do.
	if done := f.review(time.Now()); done.Hours+done.Days+done.Incidents != 0 {
		t.Errorf("a second review did %v", done)
	}
}

func TestEvidenceOfAnIncidentTellsTheSameWhenTheSamplesAreGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := refcase.Reference()
	s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.5
	dir, _ := write(t, s)
	f.receive(dir)
	f.review(time.Now())
	incidents, _, err := f.Incidents(t.Context(), store.IncidentFilter{}, store.Page{})
	if err != nil || len(incidents) == 0 {
		t.Fatalf("incidents %v, error %v", incidents, err)
	}
	for _, i := range incidents {
		if i.Evidence == 0 || i.Stalls < 3 || i.Watch != "lgwr" || i.Instance != s.Instance {
			t.Errorf("incident %+v", i)
		}
		o := options()
		o.From, o.To = i.Window.From.Format(time.RFC3339Nano), i.Window.To.Format(time.RFC3339Nano)
		res, err := analysis.RunStored(t.Context(), f.Store, store.EvidenceName(i.ID), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(analyzed(t, i.Window, dir), document(t, res.Findings[0])); diff != "" {
			t.Errorf("files -, evidence +:\n%s", diff)
		}
	}
}

func TestLateDataOpensItsWindowsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	s := refcase.Reference()
	s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.9
	dir, truth := write(t, s)
	host, oracle := apart(t, dir)
	f.receive(host)
	f.review(time.Now())
	before := f.findings(store.ScopeDay)
	if len(before) != 1 || before[0].Verdict != domain.InsufficientData || before[0].Revision != 1 {
		t.Fatalf("without Oracle's rows: %+v", before)
	}
	f.receive(oracle)
	f.review(time.Now())
	after := f.findings(store.ScopeDay)
	if len(after) != 1 || after[0].ID != before[0].ID || after[0].Revision != 2 || after[0].Verdict != truth.Cause {
		t.Errorf("with Oracle's rows: %+v", after)
	}
	if diff := cmp.Diff(analyzed(t, after[0].Window, dir), f.document(after[0])); diff != "" {
		t.Errorf("analyze -, review +:\n%s", diff)
	}
}

// apart copies Oracle's files of a scenario into one folder and the host's into
// another, under the node's name.
func apart(t *testing.T, dir string) (host, oracle string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	host, oracle = filepath.Join(t.TempDir(), filepath.Base(dir)), filepath.Join(t.TempDir(), filepath.Base(dir))
	for _, d := range []string{host, oracle} {
		if err := os.Mkdir(d, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		to := host
		if head := strings.ToUpper(string(text[:min(len(text), 4096)])); strings.Contains(head, "SAMPLE_TIME") || strings.Contains(head, "INST_ID") || strings.Contains(head, "EVENT") {
			to = oracle
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return host, oracle
}

func TestAnHourThatIsNotOverIsReviewedOnceItsDataHasWaited(t *testing.T) {
	t.Parallel()
	s := refcase.Reference()
	s.Start, s.Hours = yesterday().Add(9*time.Hour), 0.3
	dir, _ := write(t, s)
	during := s.Start.Add(20 * time.Minute)
	for every, hours := range map[time.Duration]int{time.Hour: 0, 0: 1} {
		t.Run(fmt.Sprint("every ", every), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(o *review.Options) { o.CurrentEvery = every })
			f.receive(dir)
			if done := f.review(during); done.Hours != hours || done.Days != 0 {
				t.Errorf("at 20 minutes past: %v, want %d hours", done, hours)
			}
			if done := f.review(s.Start.Add(61 * time.Minute)); done.Hours != 0 && hours == 0 {
				t.Errorf("a minute after its end, which is not settled: %v", done)
			}
			f.receive(dir) // the same again is new data as well
			if done := f.review(s.Start.Add(62 * time.Minute)); done.Hours != 1 {
				t.Errorf("two minutes after its end: %v, want the hour", done)
			}
		})
	}
}
