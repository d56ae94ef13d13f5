package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// TestRetentionDropsByWholeDaysAndMonths: at noon of 30 November, 14 days reach
// back to the 16th, whose partition is partly wanted; 13 months to 30 October of
// the year before. By the calendar.
func TestRetentionDropsByWholeDaysAndMonths(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.needsPartitions()
	now := utc(t, "2026-11-30 12:00:00")
	d.partitions(utc(t, "2025-09-30 00:00:00"), utc(t, "2025-10-02 00:00:00"))
	d.partitions(utc(t, "2026-11-14 00:00:00"), utc(t, "2026-11-17 00:00:00"))

	dropped, err := d.Retain(t.Context(), store.DefaultRetention(), now)
	if err != nil {
		t.Fatal(err)
	}
	d.wantLines([]string{"waits_p20261116", "waits_p20261117"}, partitionsOf, "waits")
	d.wantLines([]string{"wait_rollups_p202510", "wait_rollups_p202611"}, partitionsOf, "wait_rollups")
	// 11 tables of days lose 30 September to 2 October 2025 and 14, 15 November;
	// 4 rollups lose September 2025.
	if len(dropped) != 11*5+4 {
		t.Errorf("dropped %d partitions, want 59: %v", len(dropped), dropped)
	}
	if !slices.Contains(dropped, "waits_p20261115") || !slices.Contains(dropped, "cpu_rollups_p202509") {
		t.Errorf("dropped %v", dropped)
	}
}

const partitionsOf = `SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = ('public.' || $1)::regclass ORDER BY 1`

// TestRetentionNeverTouchesOtherTables puts beside our tables what is named or
// partitioned like them, and has a search path that finds those first.
func TestRetentionNeverTouchesOtherTables(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	d := openStore(t, store.Options{URL: address})
	d.needsPartitions()
	d.exec(`CREATE SCHEMA archive`)
	for _, table := range []string{"archive.interrupt_samples", "archive.readings", "public.readings"} {
		schema, name, _ := strings.Cut(table, ".")
		d.exec(`CREATE TABLE ` + table + ` (at timestamptz NOT NULL) PARTITION BY RANGE (at)`)
		d.exec(`CREATE TABLE ` + schema + `.` + strings.Replace(name, "interrupt_samples", "their_samples", 1) + `_p20200101
			PARTITION OF ` + table + ` FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00')`)
		d.exec(`INSERT INTO ` + table + ` VALUES ('2020-01-01 12:00+00')`)
	}
	d.exec(`CREATE TABLE archive.waits (at timestamptz)`)
	d.exec(`CREATE TABLE archive.coverage_gaps (LIKE public.coverage_gaps)`)
	d.exec(`CREATE TABLE archive.receipts (LIKE public.receipts INCLUDING DEFAULTS)`)
	d.exec(`CREATE TABLE archive.job_runs (LIKE public.job_runs)`)
	d.exec(`INSERT INTO archive.waits VALUES ('2020-01-01 12:00+00')`)
	d.exec(`INSERT INTO archive.coverage_gaps VALUES (1, 'x', '2020-01-01', '2020-01-02', 'missing')`)
	d.exec(`INSERT INTO archive.receipts VALUES (1, gen_random_uuid(), 1, '2020-01-01', 1)`)
	d.exec(`INSERT INTO archive.job_runs VALUES ('x', '2020-01-01', 'x', '2020-01-01')`)
	d.exec(`INSERT INTO public.receipts TABLE archive.receipts`)
	d.exec(`INSERT INTO public.job_runs TABLE archive.job_runs`)
	d.exec(`INSERT INTO public.coverage_gaps TABLE archive.coverage_gaps`)
	// A partition of ours that somebody took out to keep it.
	d.partitions(utc(t, "2020-01-01 00:00:00"), utc(t, "2020-01-01 00:00:00"))
	d.exec(`INSERT INTO public.waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting)
		VALUES (1, '2020-01-01 12:00+00', 1, 1, 1, 1, 0, false, false)`)
	d.exec(`ALTER TABLE public.waits DETACH PARTITION public.waits_p20200101`)

	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	astray := openStore(t, store.Options{URL: address + separator + "search_path=archive,public"})
	dropped, err := astray.Retain(t.Context(), store.DefaultRetention(), utc(t, "2026-11-30 12:00:00"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ours := range []string{"interrupt_samples_p20200101", "receipts: 1 rows", "job_runs: 1 rows", "coverage_gaps: 1 rows"} {
		if !slices.Contains(dropped, ours) {
			t.Errorf("our own %s was not dropped: %v", ours, dropped)
		}
	}
	for _, table := range []string{
		"archive.interrupt_samples", "archive.their_samples_p20200101", "archive.readings", "public.readings", "archive.waits",
		"archive.coverage_gaps", "archive.receipts", "archive.job_runs", "public.waits_p20200101",
	} {
		if n := d.count(table); n != 1 {
			t.Errorf("%s has %d rows, had 1", table, n)
		}
	}
}

// TestRetentionNeverTouchesOtherHypertables is the same for chunks.
func TestRetentionNeverTouchesOtherHypertables(t *testing.T) {
	t.Parallel()
	d := openTimescale(t)
	now := utc(t, "2026-11-30 12:00:00")
	d.exec(`CREATE TABLE theirs (at timestamptz NOT NULL, v int)`)
	d.exec(`SELECT create_hypertable('theirs', 'at', chunk_time_interval => interval '1 day')`)
	d.exec(`INSERT INTO theirs VALUES ('2020-01-01 12:00+00', 1)`)
	node := d.node("db1")
	for _, age := range []int{20, 6, 1} {
		d.exec(`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting)
			VALUES ($1, $2, 1, 1, 1, 1, 0, false, false)`, node, now.AddDate(0, 0, -age))
	}
	dropped, err := d.Retain(t.Context(), store.DefaultRetention(), now)
	if err != nil {
		t.Fatal(err)
	}
	if len(dropped) != 1 {
		t.Errorf("dropped %v, want the one chunk that is 20 days old", dropped)
	}
	if n := d.count("theirs"); n != 1 {
		t.Errorf("the other hypertable has %d rows, had 1", n)
	}
	d.wantLines([]string{"2026-11-24 true", "2026-11-29 false"}, `
		SELECT (range_start AT TIME ZONE 'UTC')::date || ' ' || is_compressed FROM timescaledb_information.chunks
		WHERE hypertable_name = 'waits' ORDER BY range_start`)
	d.wantLines([]string{"false"}, `SELECT is_compressed::text FROM timescaledb_information.chunks WHERE hypertable_name = 'theirs'`)
	if n := d.count("waits"); n != 2 {
		t.Errorf("%d waits are left, want 2", n)
	}
}

func TestEvidenceAndCollectionsSurviveRetention(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		at := utc(t, "2026-11-01 06:00:00")
		d.partitions(at, at)
		node := d.node("db1")
		d.oneOfEach(node, at)
		incident := d.incident(node, window(at, time.Hour))
		evidence, err := d.KeepEvidence(t.Context(), incident, node, window(at, time.Hour), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		imported := d.importedCopy("before the change", node)

		if _, err := d.Retain(t.Context(), store.DefaultRetention(), utc(t, "2028-01-01 00:00:00")); err != nil {
			t.Fatal(err)
		}
		for _, table := range liveTables {
			if n := d.count(table); n != 0 {
				t.Errorf("%s has %d rows after retention, want 0", table, n)
			}
			for _, collection := range []store.CollectionID{evidence, imported} {
				d.wantLines([]string{"1"}, `SELECT count(*)::text FROM kept_`+table+` WHERE collection_id = $1`, collection)
			}
		}
	})
}

// importedCopy makes a collection that holds a copy of all live rows of a node.
func (d *database) importedCopy(name string, node store.NodeID) store.CollectionID {
	d.t.Helper()
	var id store.CollectionID
	err := d.Pool().QueryRow(d.t.Context(), `INSERT INTO collections (name) VALUES ($1) RETURNING collection_id`, name).Scan(&id)
	if err != nil {
		d.t.Fatal(err)
	}
	d.exec(`INSERT INTO collection_nodes (node_id, collection_id) VALUES ($1, $2)`, node, id)
	d.exec(`INSERT INTO collection_inputs (node_id, collection_id, path, kind, records, unread) VALUES ($1, $2, 'a', 'ash', 1, 0)`, node, id)
	for _, table := range liveTables {
		columns := d.lines(`SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND attname <> 'node_id' ORDER BY attnum`, table)
		list := strings.Join(columns, ", ")
		d.exec(`INSERT INTO kept_`+table+` (node_id, collection_id, `+list+`) SELECT node_id, $2, `+list+` FROM `+table+` WHERE node_id = $1`, node, id)
	}
	return id
}

// incident opens an incident of a node.
func (d *database) incident(node store.NodeID, w domain.Window) store.UUID {
	d.t.Helper()
	id := store.NewUUID()
	created, err := d.CreateIncident(d.t.Context(), store.Incident{ID: id, Node: node, Instance: "ORDP1", Window: w, Stalls: 3})
	if err != nil || !created {
		d.t.Fatalf("created %v: %v", created, err)
	}
	return id
}

func TestReceiptsAndRunsEndWithTheirAge(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	now := utc(t, "2026-11-30 12:00:00")
	node := d.node("db1")
	// Dense, with a gap of a year, and at the very edge of 14 days.
	for i, received := range []string{
		"2025-01-01 00:00:00", "2025-01-01 00:59:59", "2026-11-10 00:00:00", "2026-11-16 11:00:00", "2026-11-16 11:59:59",
		"2026-11-16 12:00:00", "2026-11-30 11:00:00",
	} {
		d.exec(`INSERT INTO receipts VALUES ($1, gen_random_uuid(), $2, $3, 1)`, node, i, utc(t, received))
	}
	for _, tick := range []string{"2026-08-31 00:00:00", "2026-09-02 00:00:00"} { // 91 and 89 days
		d.exec(`INSERT INTO job_runs VALUES ('weekly', $1, 'a', $1)`, utc(t, tick))
	}
	d.exec(`INSERT INTO coverage_gaps VALUES ($1, 'interrupts', '-infinity', '-infinity', 'untimed'),
		($1, 'interrupts', '2026-11-01', '2026-11-02', 'missing'), ($1, 'interrupts', '2026-11-01', '2026-11-20', 'missing')`, node)
	d.exec(`INSERT INTO node_events VALUES ($1, '2026-11-15 23:59:59', 'clock-step', '', ''), ($1, '2026-11-16', 'clock-step', '', '')`, node)
	for i, seen := range []string{"2026-10-31 11:59:59", "2026-10-31 12:00:00"} { // 30 days and a second; 30 days
		a := store.AgentState{Node: node, Spool: [16]byte{byte(i)}, Sequence: 1, SeenAt: utc(t, seen)}
		if err := d.NoteAgent(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.MarkDirty(t.Context(), store.ScopeHour, node, utc(t, "2026-11-16 11:00:00"), utc(t, "2026-11-16 12:00:00")); err != nil {
		t.Fatal(err)
	}
	dropped, err := d.Retain(t.Context(), store.DefaultRetention(), now)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"coverage_gaps: 1 rows", "node_events: 1 rows", "receipts: 5 rows", "job_runs: 1 rows", "agents: 1 rows", "dirty_windows: 1 rows"}
	if diff := cmp.Diff(want, dropped); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	d.wantLines([]string{"5", "6"}, `SELECT seq::text FROM receipts ORDER BY seq`)
	d.wantLines([]string{"2026-09-02"}, `SELECT (tick AT TIME ZONE 'UTC')::date::text FROM job_runs`)
	d.wantLines([]string{"2026-11-16"}, `SELECT (at AT TIME ZONE 'UTC')::date::text FROM node_events`)
	d.wantLines([]string{"2026-10-31"}, `SELECT (seen_at AT TIME ZONE 'UTC')::date::text FROM agents`)
	d.wantLines([]string{"12:00:00"}, `SELECT (at AT TIME ZONE 'UTC')::time::text FROM dirty_windows`)
	if n := d.count("coverage_gaps"); n != 2 {
		t.Errorf("%d gaps are left, want the long one and the one without a time", n)
	}
}

// TestRetentionGoesOnAfterATableThatIsLocked: the other tables are cleaned, and
// the error names what was not.
func TestRetentionGoesOnAfterATableThatIsLocked(t *testing.T) {
	t.Parallel()
	d := openStore(t, store.Options{URL: testdb.New(t), Deadline: time.Second})
	d.needsPartitions()
	d.partitions(utc(t, "2026-11-01 00:00:00"), utc(t, "2026-11-01 00:00:00"))
	tx, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `LOCK TABLE device_samples IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	_, err = d.Retain(t.Context(), store.DefaultRetention(), utc(t, "2026-11-30 12:00:00"))
	if err == nil || !strings.Contains(err.Error(), "drop partitions of device_samples: deadline of 1s exceeded") {
		t.Errorf("error: %v", err)
	}
	d.wantLines([]string{"device_samples_p20261101"}, partitionsOf, "device_samples")
	for _, table := range []string{"interrupt_samples", "waits"} {
		d.wantLines(nil, partitionsOf, table)
	}
}

func TestPolicyThatForgetsTooEarlyIsRefused(t *testing.T) {
	t.Parallel()
	if err := store.DefaultRetention().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	for name, change := range map[string]func(*store.RetentionPolicy){
		"compressed before the longest spool ends": func(p *store.RetentionPolicy) { p.Uncompressed = 72 * time.Hour },
		"dropped before compressed":                func(p *store.RetentionPolicy) { p.Raw = p.Uncompressed },
		"receipts gone before the spool":           func(p *store.RetentionPolicy) { p.Receipts = 72 * time.Hour },
		"no rollups":                               func(p *store.RetentionPolicy) { p.RollupMonths = 0 },
		"no runs":                                  func(p *store.RetentionPolicy) { p.JobRuns = 0 },
	} {
		p := store.DefaultRetention()
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
