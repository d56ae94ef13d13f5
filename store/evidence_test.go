package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/store"
)

// TestEvidenceIsWhatOverlapsTheWindow: of the rows around a window from 06:00 to
// 07:00, and of those of another node.
func TestEvidenceIsWhatOverlapsTheWindow(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		from := utc(t, "2026-11-01 06:00:00")
		d.partitions(from, from)
		node, other := d.node("db1"), d.node("db2")
		d.oneOfEach(node, from.Add(30*time.Minute))
		d.oneOfEach(node, from.Add(time.Hour+time.Microsecond))
		d.oneOfEach(node, from.Add(-2*time.Hour))
		d.oneOfEach(node, from.Add(-30*time.Second))
		d.oneOfEach(other, from.Add(30*time.Minute))
		d.oneOfEach(node, from.Add(-500*time.Millisecond)) // reaches into the window, but for its readings at one instant
		incident := d.incident(node, window(from, time.Hour))
		collection, err := d.KeepEvidence(t.Context(), incident, node, window(from, time.Hour), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range liveTables {
			want := []string{"05:59:59.5", "06:30:00.0"}
			switch table {
			case "waits", "histograms", "counters", "node_events":
				want = []string{"06:30:00.0"}
			}
			d.wantLines(want, `SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI:SS.FF1') FROM kept_`+table+` WHERE node_id = $1 AND collection_id = $2 ORDER BY at`, node, collection)
			if n := d.count("kept_" + table); n != len(want) {
				t.Errorf("kept_%s has %d rows, want those of the node only: %d", table, n, len(want))
			}
		}
		// Values are copied as they are.
		d.wantLines(nil, `SELECT w::text FROM (SELECT at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us FROM kept_waits
			EXCEPT SELECT at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us FROM waits) AS w`)
		incidents, err := d.Incident(t.Context(), incident)
		if err != nil || len(incidents) != 1 || incidents[0].Evidence != collection {
			t.Errorf("incident %+v: %v, want evidence %d", incidents, err, collection)
		}
		d.wantLines([]string{store.EvidenceName(incident) + " {}"}, `SELECT c.name || ' ' || n.notes::text FROM collections c
			JOIN collection_nodes n USING (collection_id) WHERE c.incident_id = $1 AND n.node_id = $2`, incident, node)
	})
}

// TestEvidenceThatExceedsItsSizeIsKeptFromTheMiddle: 5 runs of placement fit, and
// of 11 interrupt samples, one a minute, there is room for the middle 3.
func TestEvidenceThatExceedsItsSizeIsKeptFromTheMiddle(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	from := utc(t, "2026-11-01 06:00:00")
	d.partitions(from, from)
	node := d.node("db1")
	d.exec(`INSERT INTO names (name_id, name) VALUES (1, 'ora_lgwr_X')`)
	for i := range 5 {
		d.exec(`INSERT INTO placement_samples (node_id, command_id, tid, at, until, uncertainty_us, period_us, run_samples, run_cpu)
			VALUES ($1, 1, 7, $2, $2, 0, 0, '[1]', '[1]')`, node, from.Add(time.Duration(i)*time.Minute))
	}
	for i := range 11 {
		d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES ($1, $2, 1000000, 1, '[1]')`, node, from.Add(time.Duration(i)*time.Minute))
		d.exec(`INSERT INTO system_samples (node_id, at, length_us) VALUES ($1, $2, 1000000)`, node, from.Add(time.Duration(i)*time.Minute))
	}
	var room int64
	err := d.Pool().QueryRow(t.Context(), `SELECT (SELECT sum(pg_column_size(p)) FROM placement_samples p) + (SELECT 3 * max(pg_column_size(i)) FROM interrupt_samples i)`).Scan(&room)
	if err != nil {
		t.Fatal(err)
	}
	w := window(from, 10*time.Minute+time.Second)
	incident := d.incident(node, w)
	if _, err := d.KeepEvidence(t.Context(), incident, node, w, room); err != nil {
		t.Fatal(err)
	}
	if n := d.count("kept_placement_samples"); n != 5 {
		t.Errorf("%d runs of placement were kept, want all 5", n)
	}
	d.wantLines([]string{"06:04:00", "06:05:00", "06:06:00"}, `SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI:SS') FROM kept_interrupt_samples ORDER BY at`)
	if n := d.count("kept_system_samples"); n != 0 {
		t.Errorf("%d system samples were kept, want none", n)
	}
	d.wantLines([]string{
		"interrupts 06:00:00 06:04:00 size-cap 4",
		"interrupts 06:06:01 06:10:01 size-cap 4",
		"system_samples 06:00:00 06:10:01 size-cap 11",
	}, `SELECT format('%s %s %s %s %s', source, to_char(at AT TIME ZONE 'UTC', 'HH24:MI:SS'), to_char(until AT TIME ZONE 'UTC', 'HH24:MI:SS'), reason, events)
		FROM kept_coverage_gaps ORDER BY source, at`)
	d.wantLines([]string{
		"size cap: 4 rows of interrupts between 2026-11-01 06:00:00.000Z and 2026-11-01 06:04:00.000Z were left out",
		"size cap: 4 rows of interrupts between 2026-11-01 06:06:01.000Z and 2026-11-01 06:10:01.000Z were left out",
		"size cap: 11 rows of system_samples between 2026-11-01 06:00:00.000Z and 2026-11-01 06:10:01.000Z were left out",
	}, `SELECT unnest(notes) FROM collection_nodes`)

	// With more room the rest is added, and the gaps are gone.
	if _, err := d.KeepEvidence(t.Context(), incident, node, w, 1<<20); err != nil {
		t.Fatal(err)
	}
	if n := d.count("kept_interrupt_samples") + d.count("kept_system_samples"); n != 22 {
		t.Errorf("%d samples were kept, want 22", n)
	}
	d.wantLines(nil, `SELECT source FROM kept_coverage_gaps`)
	d.wantLines([]string{"{}"}, `SELECT notes::text FROM collection_nodes`)
}

// TestEvidenceKeptAgainTakesNoRoomTwice: with the very room that it took, it is
// whole the second time as well; and it takes over the wait that was fixed up.
func TestEvidenceKeptAgainTakesNoRoomTwice(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	from := utc(t, "2026-11-01 06:00:00")
	d.partitions(from, from)
	node := d.node("db1")
	d.exec(`INSERT INTO names (name_id, name) VALUES (2, 'log file sync')`)
	for i, waited := range []any{0, nil, 90000, 120000} {
		d.exec(`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us)
			VALUES ($1, $2, 1, 1, $3, 1, 2, false, true, $4)`, node, from, i, waited)
	}
	var size int64
	if err := d.Pool().QueryRow(t.Context(), `SELECT sum(pg_column_size(w)) + 40 FROM waits w`).Scan(&size); err != nil { // each has a column more when kept
		t.Fatal(err)
	}
	incident := d.incident(node, window(from, time.Minute))
	first, err := d.KeepEvidence(t.Context(), incident, node, window(from, time.Minute), size)
	if err != nil {
		t.Fatal(err)
	}
	d.exec(`UPDATE waits SET time_waited_us = session_id * 1000 + 100000`) // 100,000 101,000 102,000 103,000
	again, err := d.KeepEvidence(t.Context(), incident, node, window(from, time.Minute), size)
	if err != nil || again != first {
		t.Fatalf("collection %d after %d: %v", again, first, err)
	}
	d.wantLines([]string{"0 100000", "1 101000", "2 102000", "3 120000"}, `SELECT session_id || ' ' || time_waited_us FROM kept_waits ORDER BY session_id`)
	d.wantLines(nil, `SELECT source FROM kept_coverage_gaps`)

	// For another wait, in a window that goes on, there is no room left.
	d.exec(`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting) VALUES ($1, $2, 1, 2, 9, 1, 2, false, true)`,
		node, from.Add(2*time.Minute))
	if _, err := d.KeepEvidence(t.Context(), incident, node, window(from.Add(time.Minute), 2*time.Minute), size); err != nil {
		t.Fatal(err)
	}
	if n := d.count("kept_waits"); n != 4 {
		t.Errorf("%d waits were kept, want 4", n)
	}
	d.wantLines([]string{"waits 1"}, `SELECT source || ' ' || events FROM kept_coverage_gaps`)
}

func TestDismissedIncidentsLoseTheirEvidenceAndNothingElse(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := utc(t, "2026-11-01 06:00:00")
	d.partitions(at, at)
	node, partner := d.node("db1"), d.node("db2")
	d.oneOfEach(node, at)
	d.oneOfEach(partner, at)
	w := window(at, time.Hour)
	incident, kept := d.incident(node, w), d.incident(node, w)
	// The partner shares the incident, and its collection.
	if _, err := d.CreateIncident(t.Context(), store.Incident{ID: incident, Node: partner, Instance: "ORDP2", Window: w}); err != nil {
		t.Fatal(err)
	}
	collections := map[store.CollectionID]bool{}
	for _, of := range []struct {
		incident store.UUID
		node     store.NodeID
	}{{incident, node}, {incident, partner}, {kept, node}} {
		c, err := d.KeepEvidence(t.Context(), of.incident, of.node, w, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		collections[c] = true
	}
	d.importedCopy("before", node)
	if len(collections) != 2 || d.count("kept_waits") != 4 {
		t.Fatalf("collections %v with %d waits, want 2 and with the import 4", collections, d.count("kept_waits"))
	}
	for range 2 { // dismissing twice is dismissing
		if err := d.Dismiss(t.Context(), incident); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range liveTables {
		if n := d.count("kept_" + table); n != 2 {
			t.Errorf("kept_%s has %d rows, want those of the other incident and of the import", table, n)
		}
		if n := d.count(table); n != 2 {
			t.Errorf("%s has %d rows, want 2", table, n)
		}
	}
	d.wantLines([]string{"before", store.EvidenceName(kept)}, `SELECT name FROM collections ORDER BY name`)
	incidents, err := d.Incident(t.Context(), incident)
	if err != nil || len(incidents) != 2 {
		t.Fatalf("%+v: %v", incidents, err)
	}
	for _, i := range incidents {
		if i.State != store.IncidentDismissed || i.DismissedAt.IsZero() || i.Evidence != 0 {
			t.Errorf("dismissed: %+v", i)
		}
	}
}

func TestEvidenceIsRefusedWhereThereIsNoOpenIncident(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := utc(t, "2026-11-01 06:00:00")
	node := d.node("db1")
	dismissed := d.incident(node, window(at, time.Hour))
	if err := d.Dismiss(t.Context(), dismissed); err != nil {
		t.Fatal(err)
	}
	for name, incident := range map[string]store.UUID{"unknown": store.NewUUID(), "dismissed": dismissed} {
		if _, err := d.KeepEvidence(t.Context(), incident, node, window(at, time.Hour), 1<<20); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s incident: %v, want ErrNotFound", name, err)
		}
	}
	if err := d.Dismiss(t.Context(), store.NewUUID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dismissed an unknown incident: %v", err)
	}
	if n := d.count("collections"); n != 0 {
		t.Errorf("%d collections were left behind", n)
	}
	open := d.incident(node, window(at, time.Hour))
	d.exec(`INSERT INTO collections (name) VALUES ($1)`, store.EvidenceName(open))
	if _, err := d.KeepEvidence(t.Context(), open, node, window(at, time.Hour), 1<<20); err == nil {
		t.Error("an import of the evidence's name was written into")
	}
}

func TestDroppedCollectionsTakeTheirOwnRowsOnly(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := utc(t, "2026-11-01 06:00:00")
	d.partitions(at, at)
	node := d.node("db1")
	d.oneOfEach(node, at)
	for _, name := range []string{"before", "after"} {
		d.importedCopy(name, node)
	}
	incident := d.incident(node, window(at, time.Hour))
	if _, err := d.KeepEvidence(t.Context(), incident, node, window(at, time.Hour), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := d.DropCollection(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	for _, table := range append([]string{"collection_nodes"}, prefixed("kept_", liveTables)...) {
		if n := d.count(table); n != 2 {
			t.Errorf("%s has %d rows, want those of the other collection and of the incident", table, n)
		}
	}
	if n := d.count("collection_inputs"); n != 1 {
		t.Errorf("collection_inputs has %d rows, want 1", n)
	}
	if err := d.DropCollection(t.Context(), "before"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped twice: %v, want ErrNotFound", err)
	}
	if err := d.DropCollection(t.Context(), store.EvidenceName(incident)); !errors.Is(err, store.ErrIsEvidence) {
		t.Errorf("dropped evidence: %v, want ErrIsEvidence", err)
	}
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprint(prefix, s)
	}
	return out
}

// TestEvidenceHoldsHowTheNodeWasBuiltInTheWindow: as it was when the window
// began, and what changed within; and the instances, whenever they were heard of.
func TestEvidenceHoldsHowTheNodeWasBuiltInTheWindow(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	from := utc(t, "2026-11-01 06:00:00")
	node, other := d.node("db1"), d.node("db2")
	for _, of := range []store.NodeID{node, other} {
		d.exec(`INSERT INTO instances (node_id, inst_id, name, first_seen, last_seen) VALUES ($1, 1, 'ORDP1', now(), now())`, of)
		for _, at := range []string{"-infinity", "2026-10-01", "2026-11-01 06:30+00", "2026-11-01 07:00+00"} {
			d.exec(`INSERT INTO topology (node_id, at, cores_inferred) VALUES ($1, $2::text::timestamptz, false)`, of, at)
			d.exec(`INSERT INTO topology_cpus (node_id, at, cpu, online) VALUES ($1, $2::text::timestamptz, 0, true)`, of, at)
		}
	}
	incident := d.incident(node, window(from, time.Hour))
	for range 2 {
		if _, err := d.KeepEvidence(t.Context(), incident, node, window(from, time.Hour), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"topology", "topology_cpus"} {
		d.wantLines([]string{"2026-10-01 00:00", "2026-11-01 06:30"}, `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') FROM `+table+`
			WHERE collection_id <> 0 ORDER BY at`)
	}
	d.wantLines([]string{"ORDP1"}, `SELECT name FROM instances WHERE collection_id <> 0`)
	if err := d.Dismiss(t.Context(), incident); err != nil {
		t.Fatal(err)
	}
	d.wantLines([]string{"8 8 2"}, `SELECT format('%s %s %s', (SELECT count(*) FROM topology), (SELECT count(*) FROM topology_cpus), (SELECT count(*) FROM instances))`)
}

// TestSeriesOfEvidenceAreThoseOfTheLiveTables compares them in the window that
// was kept.
func TestSeriesOfEvidenceAreThoseOfTheLiveTables(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	begin := time.Now().UTC().Truncate(time.Second).Add(-2 * time.Hour)
	b := store.NewBatch()
	intervals := series.NewIntervals(b)
	newHost(12, begin, intervals).feed(t)
	if err := intervals.Flush(); err != nil {
		t.Fatal(err)
	}
	node := d.node("db1")
	if err := d.Upsert(t.Context(), node, b); err != nil {
		t.Fatal(err)
	}
	w := window(begin.Add(time.Minute), 340*time.Second)
	incident := d.incident(node, w)
	evidence, err := d.KeepEvidence(t.Context(), incident, node, w, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	of := func(src store.Source) *series.Builder {
		return builtFrom(t, w, func(to ingest.IntervalSink) error { return d.Feed(t.Context(), src, w, to) })
	}
	wantSameSeries(t, "evidence", of(store.Source{Node: node}), of(store.Source{Node: node, Collection: evidence}))
	if n, live := d.count("kept_waits"), d.count("waits"); n == 0 || n >= live {
		t.Errorf("%d waits of %d were kept, want those of the window", n, live)
	}
}
