package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// pooled are two stores on one database: one through a pooler in transaction mode,
// and one on the server itself, which tells what the first one did.
func pooled(t *testing.T) (through, direct *database) {
	t.Helper()
	url := testdb.New(t)
	direct = openStore(t, store.Options{URL: url})
	through = openStore(t, store.Options{URL: testdb.Pooler(t, url), Pooler: true})
	return through, direct
}

func TestPushesGoThroughAPooler(t *testing.T) {
	t.Parallel()
	d, direct := pooled(t)
	at := today()
	const nodes, pushes = 12, 8
	var pushing sync.WaitGroup
	for n := range nodes {
		node := d.node(fmt.Sprint("db", n))
		pushing.Go(func() {
			for i := range pushes {
				b := gather(t, interrupts(at.Add(time.Duration(i)*10*time.Second), 10))
				for again := range 2 { // the second is a duplicate
					stored, err := d.Push(t.Context(), node, receipt(int64(i)), b)
					if err != nil || stored != (again == 0) {
						t.Errorf("push %d of node %d: %v, %v", i, n, stored, err)
					}
				}
			}
		})
	}
	pushing.Wait()
	direct.wantLines([]string{"12 96 8"}, `SELECT concat_ws(' ', count(DISTINCT node_id), count(*), max(per_node)) FROM (SELECT node_id, count(*) OVER (PARTITION BY node_id) AS per_node FROM interrupt_samples) AS s`)
	direct.wantLines([]string{"96"}, `SELECT count(*)::text FROM receipts`)
	if n := len(d.dirty()); n != nodes {
		t.Errorf("%d windows are marked, want one of each node", n)
	}

	// All kinds of rows, straight and through staging, are what they are without a pooler.
	node, other := d.node("of every kind"), direct.node("of every kind, directly")
	for i := range 2 {
		d.push(node, receipt(int64(i)), gather(t, everyKind(at)))
		direct.push(other, receipt(int64(i)), gather(t, everyKind(at)))
	}
	d.upsert(node, gather(t, everyKind(at)))
	feed := func(d *database, node store.NodeID) []string {
		t.Helper()
		j := newJournal()
		if err := d.Feed(t.Context(), store.Source{Node: node}, window(at.Add(-time.Hour), 2*time.Hour), j); err != nil {
			t.Fatal(err)
		}
		return j.lines
	}
	want := feed(direct, other)
	if diff := cmp.Diff(want, feed(d, node)); diff != "" || len(want) < 10 {
		t.Errorf("%d records, directly -, through the pooler +:\n%s", len(want), diff)
	}
}

func TestImportsGoThroughAPooler(t *testing.T) {
	t.Parallel()
	d, direct := pooled(t)
	through := d.importAll("through", feedImport)
	directly := direct.importAll("directly", feedImport)
	feed := func(i *store.Import) []string {
		t.Helper()
		j := newJournal()
		if err := d.Feed(t.Context(), store.Source{Node: i.Node(), Collection: i.Collection()}, domain.Window{}, j); err != nil {
			t.Fatal(err)
		}
		return j.lines
	}
	want := feed(directly)
	if diff := cmp.Diff(want, feed(through)); diff != "" || len(want) < 10 {
		t.Errorf("%d records, directly -, through the pooler +:\n%s", len(want), diff)
	}
	if err := d.DropCollection(t.Context(), "through"); err != nil {
		t.Error(err)
	}
}

func TestJobsAndLeasesGoThroughAPooler(t *testing.T) {
	t.Parallel()
	d, _ := pooled(t)
	tick := utc(t, "2026-11-30 12:00:00")
	const claimers = 30
	claimed := make([]bool, claimers)
	atOnce(claimers, func(i int) {
		var err error
		if claimed[i], err = d.ClaimTick(t.Context(), "review", tick, fmt.Sprint("process ", i)); err != nil {
			t.Error(err)
		}
	})
	winner := ""
	for i, c := range claimed {
		if c {
			winner += fmt.Sprint("process ", i)
		}
	}
	if err := d.FinishTick(t.Context(), "review", tick, winner, store.JobDone, "3 windows"); err != nil {
		t.Errorf("%q claimed the tick: %v", winner, err)
	}
	runs, err := d.LastRuns(t.Context(), "review", 5)
	if err != nil || len(runs) != 1 || runs[0].Holder != winner || runs[0].Result != store.JobDone {
		t.Errorf("%+v: %v", runs, err)
	}

	node, lease := d.node("db1"), d.acquire("poller/db1", "a")
	if _, acquired, err := d.AcquireLease(t.Context(), "poller/db1", "b", time.Minute); acquired || err != nil {
		t.Errorf("acquired a lease that another holds: %v, %v", acquired, err)
	}
	if err := d.MoveWatermark(t.Context(), lease, node, 1, "ash", tick); err != nil {
		t.Error(err)
	}
	if lease, err = d.RenewLease(t.Context(), lease, time.Minute); err != nil {
		t.Error(err)
	}
	if err := d.ReleaseLease(t.Context(), lease); err != nil {
		t.Error(err)
	}
	if err := d.MoveWatermark(t.Context(), lease, node, 1, "ash", tick.Add(time.Second)); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("moved a watermark under a lease that was given back: %v", err)
	}
}

func TestReviewsAndMaintenanceGoThroughAPooler(t *testing.T) {
	t.Parallel()
	d, _ := pooled(t)
	node, at := d.node("db1"), today()
	d.push(node, receipt(1), gather(t, everyKind(at)))
	w := window(at.Truncate(time.Hour), time.Hour)
	incident := d.incident(node, w)
	if _, err := d.KeepEvidence(t.Context(), incident, node, w, 1<<20); err != nil {
		t.Fatal(err)
	}
	f := someFinding(w)
	id, revision, err := d.SaveIncidentFinding(t.Context(), node, incident, w, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SaveFleetTest(t.Context(), node, id, revision, store.FleetTest{P: 0.5, Q: 0.5, Tests: 1}); err != nil {
		t.Error(err)
	}
	if heads, _, err := d.Findings(t.Context(), store.FindingFilter{Incident: incident}, store.Page{}); err != nil || len(heads) != 1 || heads[0].Fleet == nil {
		t.Errorf("%+v: %v", heads, err)
	}
	for _, dirty := range d.dirtyHours() {
		if clean, err := d.CleanWindow(t.Context(), dirty); !clean || err != nil {
			t.Errorf("%+v: %v, %v", dirty, clean, err)
		}
	}
	if err := d.NoteAgent(t.Context(), store.AgentState{Node: node, SeenAt: at}); err != nil {
		t.Error(err)
	}
	if agents, _, err := d.Agents(t.Context(), store.Page{}); err != nil || len(agents) != 1 {
		t.Errorf("%+v: %v", agents, err)
	}
	if covered, err := d.Coverage(t.Context(), store.Source{Node: node}, w); err != nil || len(covered) == 0 {
		t.Errorf("%+v: %v", covered, err)
	}
	if _, err := d.Size(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := d.Retain(t.Context(), store.DefaultRetention(), at.Add(40*24*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(d.Ping(t.Context()), d.Dismiss(t.Context(), incident)); err != nil {
		t.Error(err)
	}
}

// What is given up closes its connection, and must do no harm to the pooler's others.
func TestWhatIsGivenUpThroughAPoolerLeavesItRunning(t *testing.T) {
	t.Parallel()
	url := testdb.New(t)
	direct := openStore(t, store.Options{URL: url})
	address := testdb.Pooler(t, url)
	d := openStore(t, store.Options{URL: address, Pooler: true})
	hasty := openStore(t, store.Options{URL: address, Pooler: true, Deadline: time.Second})
	node, at := d.node("db1"), today()
	d.push(node, receipt(1), gather(t, interrupts(at, 1)))
	tx, err := direct.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE interrupt_samples`); err != nil {
		t.Fatal(err)
	}
	feed := func() error {
		return hasty.Feed(t.Context(), store.Source{Node: node}, window(at, time.Hour), store.NewBatch())
	}
	push := func() error {
		_, err := hasty.Push(t.Context(), node, receipt(2), gather(t, interrupts(at.Add(time.Minute), 1)))
		return err
	}
	for name, do := range map[string]func() error{"a feed": feed, "a push": push} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "deadline of 1s exceeded") {
			t.Errorf("%s that is locked out: %v", name, err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(feed(), push()); err != nil {
		t.Error(err)
	}
	if lines := direct.lines(`SELECT seq::text FROM receipts ORDER BY seq`); len(lines) != 2 {
		t.Errorf("stored are the pushes %v", lines)
	}
}

// A pooler's sessions keep no search_path that is set in them: what the role has by
// default must do.
func TestAPoolerWhoseNamesAreOtherTablesIsRefused(t *testing.T) {
	t.Parallel()
	url := testdb.New(t)
	direct := openStore(t, store.Options{URL: url})
	direct.exec(`CREATE SCHEMA elsewhere`)
	direct.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = elsewhere, public', current_database()); END $$`)
	_, err := store.Open(t.Context(), store.Options{URL: testdb.Pooler(t, url), Pooler: true})
	if !errors.Is(err, store.ErrSearchPath) || !strings.Contains(err.Error(), `but to "elsewhere": run ALTER ROLE `) {
		t.Errorf("names of another schema: %v", err)
	}
	// Without a pooler the session says where names are looked up.
	openStore(t, store.Options{URL: url}).node("db1")
}
