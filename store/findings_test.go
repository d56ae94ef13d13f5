package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

func someFinding(w domain.Window) *domain.Finding {
	risk, low := 11.3, 5.6
	return &domain.Finding{
		Schema: domain.AnalysisSchema, Window: w, Node: "db1", Instance: "ORDP1", Watch: "lgwr", Grade: "B",
		Coincidence: &domain.Coincidence{StallsExposed: 76, StallsUnexposed: 13, RelativeRisk: &risk, RelativeRiskCI: [2]*float64{&low, nil}, DoseResponse: []domain.DoseStep{}},
		StallList:   []domain.StallMark{{At: w.From.Add(1234567 * time.Microsecond), LongestMS: 0.1 + 0.2, Waiters: 3, CPUs: []int{28}, Exposure: "heavy"}},
		Causes:      []domain.Cause{{Cause: domain.CauseStorage, Verdict: domain.NotObservable, Evidence: []string{`a backslash \u0000 written out`}}},
		Verdict:     domain.CauseInterrupts, Mixed: []string{}, Headline: "76 of 89 commit stalls", NextSteps: []string{}, Warnings: []string{},
		Params: map[string]float64{"heavy_per_second": 1000},
	}
}

func TestFindingsComeBackAsTheyWereSaved(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	w := window(utc(t, "2026-11-30 12:00:00"), time.Hour)
	f := someFinding(w)
	id, revision, err := d.SaveFinding(t.Context(), node, store.ScopeIncident, f.Window, f)
	if err != nil || revision != 1 {
		t.Fatalf("revision %d: %v", revision, err)
	}
	got, err := d.Finding(t.Context(), node, id)
	if err != nil {
		t.Fatal(err)
	}
	var params map[string]float64
	if raw, ok := got.Document.Params.(json.RawMessage); !ok || json.Unmarshal(raw, &params) != nil {
		t.Fatalf("params %v", got.Document.Params)
	}
	got.Document.Params = params
	if diff := cmp.Diff(f, got.Document); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	want := store.FindingHead{
		ID: id, Node: node, Instance: "ORDP1", Watch: "lgwr", Scope: store.ScopeIncident, Window: w, Verdict: domain.CauseInterrupts,
		Grade: "B", Headline: "76 of 89 commit stalls", CreatedAt: got.CreatedAt, Revision: 1,
	}
	if diff := cmp.Diff(want, got.FindingHead); diff != "" || got.CreatedAt.IsZero() {
		t.Errorf("want -, got +:\n%s", diff)
	}
	heads, _, err := d.Findings(t.Context(), store.FindingFilter{Node: node, Instance: "ORDP1", Watch: "lgwr", Scope: store.ScopeIncident, Window: w}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]store.FindingHead{want}, heads); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if _, err := d.Finding(t.Context(), node, store.NewUUID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown finding: %v", err)
	}
}

func TestFindingsAreRevisedWhenTheySaySomethingElse(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	w := window(utc(t, "2026-11-30 12:00:00"), time.Hour)
	f := someFinding(w)
	save := func(node store.NodeID, scope store.Scope, want int) store.UUID {
		t.Helper()
		id, revision, err := d.SaveFinding(t.Context(), node, scope, f.Window, f)
		if err != nil || revision != want {
			t.Errorf("revision %d: %v; want %d", revision, err, want)
		}
		return id
	}
	first := save(node, store.ScopeDay, 1)
	save(node, store.ScopeDay, 1) // as it was
	f.Verdict = domain.Undetermined
	if again := save(node, store.ScopeDay, 2); again != first {
		t.Errorf("the revision is %v, the finding %v", again, first)
	}
	f.Params = map[string]float64{"heavy_per_second": 2000}
	save(node, store.ScopeDay, 3)
	got, err := d.Finding(t.Context(), node, first)
	if err != nil || got.Verdict != domain.Undetermined || got.Document.Verdict != domain.Undetermined || got.Revision != 3 {
		t.Errorf("%+v: %v", got, err)
	}
	// What it is about makes it another.
	save(other, store.ScopeDay, 1)
	save(node, store.ScopeWeek, 1)
	f.Watch = "lms"
	save(node, store.ScopeDay, 1)
	f.Window.To = f.Window.To.Add(time.Microsecond)
	save(node, store.ScopeDay, 1)
	if n := d.count("findings"); n != 5 {
		t.Errorf("%d findings, want 5", n)
	}
}

func TestTheFindingOfAnIncidentIsTheSameWhateverItsWindow(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	w := window(utc(t, "2026-11-30 12:00:00"), 15*time.Minute)
	incident := d.incident(node, w)
	f := someFinding(w)
	save := func(node store.NodeID, incident store.UUID, w domain.Window, want int) store.UUID {
		t.Helper()
		id, revision, err := d.SaveIncidentFinding(t.Context(), node, incident, w, f)
		if err != nil || revision != want {
			t.Errorf("revision %d: %v; want %d", revision, err, want)
		}
		return id
	}
	first := save(node, incident, w, 1)
	save(node, incident, w, 1)
	grown := window(w.From.Add(-time.Minute), time.Hour)
	if id := save(node, incident, grown, 2); id != first {
		t.Errorf("of a longer window: %v, want %v", id, first)
	}
	got, err := d.Finding(t.Context(), node, first)
	if err != nil || got.Incident != incident || got.Scope != store.ScopeIncident || got.Window != grown {
		t.Errorf("%+v: %v", got.FindingHead, err)
	}
	// What it is about makes it another.
	onOther, ofOther := save(other, incident, w, 1), save(node, store.NewUUID(), w, 1)
	if onOther == first || ofOther == first || onOther == ofOther {
		t.Error("other incidents and nodes share a finding")
	}
	if plain, _, err := d.SaveFinding(t.Context(), node, store.ScopeIncident, grown, f); err != nil || plain == first {
		t.Errorf("a finding of no incident: %v, %v", plain, err)
	}
	heads, _, err := d.Findings(t.Context(), store.FindingFilter{Incident: incident}, store.Page{})
	if err != nil || len(heads) != 2 || heads[0].ID != onOther || heads[1].ID != first {
		t.Errorf("of the incident: %+v, %v", heads, err)
	}
	if _, _, err := d.SaveIncidentFinding(t.Context(), node, store.UUID{}, w, f); err == nil {
		t.Error("saved for no incident")
	}
}

func TestAFleetTestIsOfOneRevision(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	f := someFinding(window(utc(t, "2026-11-30 12:00:00"), time.Hour))
	id, _, err := d.SaveFinding(t.Context(), node, store.ScopeDay, f.Window, f)
	if err != nil {
		t.Fatal(err)
	}
	test := store.FleetTest{P: 0.00025, Q: 0.0075, Tests: 30, Accepted: true}
	for name, c := range map[string]struct {
		node     store.NodeID
		id       store.UUID
		revision int
	}{"a later revision": {node, id, 2}, "another finding": {node, store.NewUUID(), 1}, "another node": {node + 1, id, 1}} {
		if err := d.SaveFleetTest(t.Context(), c.node, c.id, c.revision, test); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fleet := func() *store.FleetTest {
		t.Helper()
		heads, _, err := d.Findings(t.Context(), store.FindingFilter{}, store.Page{})
		if err != nil || len(heads) != 1 {
			t.Fatal(heads, err)
		}
		got, err := d.Finding(t.Context(), node, id)
		if diff := cmp.Diff(heads[0], got.FindingHead); err != nil || diff != "" {
			t.Errorf("%v: listed -, read +:\n%s", err, diff)
		}
		return got.Fleet
	}
	if got := fleet(); got != nil {
		t.Errorf("before any: %+v", got)
	}
	if err := d.SaveFleetTest(t.Context(), node, id, 1, test); err != nil {
		t.Fatal(err)
	}
	if got := fleet(); got == nil || *got != test {
		t.Errorf("read %+v, saved %+v", got, test)
	}
	if _, revision, err := d.SaveFinding(t.Context(), node, store.ScopeDay, f.Window, f); err != nil || revision != 1 {
		t.Fatal(revision, err)
	}
	if got := fleet(); got == nil {
		t.Error("lost when the finding was saved as it was")
	}
	f.Verdict = domain.Undetermined
	if _, revision, err := d.SaveFinding(t.Context(), node, store.ScopeDay, f.Window, f); err != nil || revision != 2 {
		t.Fatal(revision, err)
	}
	if got := fleet(); got != nil {
		t.Errorf("of a new revision: %+v", got)
	}
}

func TestFindingsWithHostileTextAreKept(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	f := someFinding(window(utc(t, "2026-11-30 12:00:00"), time.Hour))
	f.Instance = "OR\x00DP1"
	f.Warnings = []string{"a NUL \x00 and a \\\x00 and a literal \\u0000", "no UTF-8: \xff"}
	id, _, err := d.SaveFinding(t.Context(), node, store.ScopeAdHoc, f.Window, f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Finding(t.Context(), node, id)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a NUL \uFFFD and a \\\uFFFD and a literal \\u0000", "no UTF-8: \uFFFD"}
	if diff := cmp.Diff(want, got.Document.Warnings); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if got.Instance != "OR\uFFFDDP1" {
		t.Errorf("instance %q", got.Instance)
	}
}

func TestFindingsThatAreNoJSONAreRefused(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	f := someFinding(window(utc(t, "2026-11-30 12:00:00"), time.Hour))
	f.StallList[0].LongestMS = math.NaN()
	if _, _, err := d.SaveFinding(t.Context(), d.node("db1"), store.ScopeDay, f.Window, f); err == nil || !strings.Contains(err.Error(), "save finding") {
		t.Errorf("NaN: %v", err)
	}
}
