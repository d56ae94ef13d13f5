package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// The tables of the store as they were agreed on before the SQL was written:
// columns in their order, with their types. A column behind the bar is in the
// key. Hot tables:
var hotTables = map[string]string{
	"interrupt_samples": "node_id int4, at timestamptz, length_us int8, interval_us bytea, intervals int2, cpus int2[], counts bytea, wrapped int4, implausible int4 | node_id, at",
	"device_samples":    "node_id int4, at timestamptz, length_us int8, observed_us int8, line_ids bytea, cpus bytea, counts bytea, untracked int4 | node_id, at",
	"softirq_samples":   "node_id int4, name text, at timestamptz, length_us int8, cpus int2[], counts bytea, max_per_s bytea | node_id, name, at",
	"cpu_samples": "node_id int4, at timestamptz, length_us int8, cpus int2[], user_bp bytea, system_bp bytea, irq_bp bytea, softirq_bp bytea, " +
		"steal_bp bytea, iowait_bp bytea, rest_bp bytea, irq_softirq_max_bp bytea, steal_max_bp bytea, busy_max_bp bytea, " +
		"host_user_ppm int4, host_system_ppm int4, host_irq_ppm int4, host_softirq_ppm int4, host_steal_ppm int4, host_iowait_ppm int4, host_idle_ppm int4 " +
		"| node_id, at, length_us",
	"system_samples": "node_id int4, at timestamptz, length_us int8, run_queue_x100 int4, run_queue_max int4, blocked_x100 int4, swap_in_kib_per_s int4, " +
		"swap_out_kib_per_s int4, interrupts_per_s int8, context_switches_per_s int8, user_ppm int4, system_ppm int4, idle_ppm int4, iowait_ppm int4, " +
		"steal_ppm int4, time_squeeze int8, psi_cpu_us int8, psi_io_us int8, psi_memory_us int8 | node_id, at, length_us",
	"disk_samples": "node_id int4, at timestamptz, length_us int8, device_ids bytea, reads_per_ks bytea, writes_per_ks bytea, read_await_us bytea, " +
		"write_await_us bytea, queue_x1000 bytea, utilisation_bp bytea | node_id, at, length_us",
	"placement_samples": "node_id int4, command_id int4, tid int4, at timestamptz, until timestamptz, uncertainty_us int4, period_us int4, jitter_us bytea, " +
		"run_samples bytea, run_cpu bytea, states bytea, policy int2, interval_us bytea, first_interval_us int8, cpu_share_bp bytea, " +
		"wait_share_bp bytea, exec_us bytea, run_delay_us bytea, voluntary bytea, involuntary bytea | node_id, command_id, tid, at",
	"waits": "node_id int4, at timestamptz, inst_id int2, sample_id int8, session_id int4, serial int4, event_id int4, background bool, waiting bool, " +
		"time_waited_us int8, period_us int8, sql_id text, program text, module text, machine text, service text, p1 int8, p2 int8, p3 int8 " +
		"| node_id, at, inst_id, sample_id, session_id, serial, event_id",
	"histograms": "node_id int4, inst_id int2, event_id int4, milli bool, at timestamptz, until timestamptz, below_us int8[], counts int8[], " +
		"last_update_us int8[], reading_us int4[], change_reading int2[], change_bucket int2[], change_counts int8[], change_last_update_us int8[] " +
		"| node_id, inst_id, event_id, milli, at",
	"counters": "node_id int4, inst_id int2, at timestamptz, set_hash int4, until timestamptz, name_ids int4[], reading_us int4[], values int8[] " +
		"| node_id, inst_id, at, set_hash",
	"sql_timings": "node_id int4, at timestamptz, length_us int8, inst_id int2, dbid int8, sql_id text, plan_hash int8, executions int8, elapsed_us int8, " +
		"cpu_us int8, buffer_gets int8, disk_reads int8, rows_processed int8, module text | node_id, at, length_us, inst_id, sql_id, plan_hash",
	"coverage_gaps": "node_id int4, source text, at timestamptz, until timestamptz, reason text, events int4 | node_id, source, at, until, reason",
	"node_events":   "node_id int4, at timestamptz, kind text, subject text, detail text | node_id, at, kind, subject",
}

// rollupTables are hot too, and have no twin.
var rollupTables = map[string]string{
	"interrupt_rollups": "node_id int4, at timestamptz, observed_us int8, cpus int2[], counts int8[], max_per_s int4[] | node_id, at",
	"cpu_rollups": "node_id int4, at timestamptz, observed_us int8, cpus int2[], busy_bp int2[], irq_softirq_bp int2[], steal_bp int2[], busy_max_bp int2[], " +
		"irq_softirq_max_bp int2[], steal_max_bp int2[], host_system_ppm int4, host_busy_ppm int4 | node_id, at",
	"placement_rollups": "node_id int4, command_id int4, at timestamptz, cpus int2[], samples int4[] | node_id, command_id, at",
	"wait_rollups":      "node_id int4, inst_id int2, event_id int4, at timestamptz, rows int8, over_100ms int8, max_us int8, sum_us int8 | node_id, inst_id, event_id, at",
}

var smallTables = map[string]string{
	"names":              "name_id int4, name text | name_id",
	"nodes":              "node_id int4, name text, created_at timestamptz | node_id",
	"instances":          "node_id int4, inst_id int2, name text, host text, database text, first_seen timestamptz, last_seen timestamptz, collection_id int4 | node_id, collection_id, inst_id, name",
	"interrupt_lines":    "node_id int4, line_id int4, irq text, device text, class int2 | node_id, line_id",
	"collections":        "collection_id int4, name text, created_at timestamptz, note text, incident_id uuid | collection_id",
	"collection_imports": "node_id int4, collection_id int4, import_id uuid, began_at timestamptz | node_id, collection_id",
	"collection_nodes":   "node_id int4, collection_id int4, timezone_db text, timezone_host text, timezone_source text, warnings text[], notes text[] | node_id, collection_id",
	"collection_inputs":  "node_id int4, collection_id int4, path text, kind text, records int8, unread int8, note text, first_unread text | node_id, collection_id, path",
	"changes":            "change_id uuid, at timestamptz, node_id int4, title text, detail text, recorded_at timestamptz, recorded_by text | change_id",
	"incidents": "node_id int4, incident_id uuid, instance text, watch text, from_at timestamptz, to_at timestamptz, stalls int4, state text, created_at timestamptz, " +
		"dismissed_at timestamptz, collection_id int4 | node_id, incident_id",
	"findings": "node_id int4, finding_id uuid, instance text, watch text, scope text, from_at timestamptz, to_at timestamptz, verdict text, grade text, " +
		"document jsonb, params jsonb, created_at timestamptz, revision int4, incident_id uuid, fleet_p float8, fleet_q float8, fleet_tests int4, " +
		"fleet_accepted bool | node_id, finding_id",
	"tallies": "node_id int4, instance text, watch text, at timestamptz, length_us int8, observed_s int4, stalls int4, stalls_exposed int4, exposed_s int4, " +
		"waits_low int8, waits_high int8, max_us int8 | node_id, watch, at, instance",
	"stalls":        "node_id int4, instance text, watch text, at timestamptz, longest_us int8, waiters int4, exposure text | node_id, watch, at, instance",
	"receipts":      "node_id int4, spool_id uuid, seq int8, received_at timestamptz, rows int4 | node_id, spool_id, seq",
	"dirty_windows": "node_id int4, scope text, at timestamptz, marks int8, since timestamptz, marked_at timestamptz | node_id, scope, at",
	"agents": "node_id int4, spool_id uuid, sequence int8, boot_id text, version text, hostname text, seen_at timestamptz, clock_offset_us int8, " +
		"synchronized bool, clock_error_us int8, retimed bool | node_id, spool_id",
	"watermarks":     "node_id int4, inst_id int2, source text, at timestamptz, updated_at timestamptz | node_id, inst_id, source",
	"leases":         "name text, holder text, expires_at timestamptz | name",
	"job_runs":       "job text, tick timestamptz, holder text, started_at timestamptz, finished_at timestamptz, result text, detail text | job, tick",
	"tokens":         "token_id text, node_id int4, hash bytea, created_at timestamptz, last_used_at timestamptz, revoked_at timestamptz | token_id",
	"sql_texts":      "node_id int4, sql_id text, sql_text text, first_seen timestamptz | node_id, sql_id",
	"topology":       "node_id int4, at timestamptz, cores_inferred bool, interconnects text[], collection_id int4, kernel text, interrupt_time_accounted bool | node_id, collection_id, at",
	"topology_cpus":  "node_id int4, at timestamptz, cpu int2, socket int2, core int4, numa_node int2, online bool, collection_id int4 | node_id, collection_id, at, cpu",
	"topology_ports": "node_id int4, at timestamptz, port text, driver text, pci_address text, numa_node int2, irqs int4[], collection_id int4 | node_id, collection_id, at, port",
	"topology_bonds": "node_id int4, at timestamptz, bond text, mode text, active_slave text, slaves text[], collection_id int4 | node_id, collection_id, at, bond",
	"topology_irqs":  "node_id int4, at timestamptz, irq int4, cpus int2[], collection_id int4, fixed bool | node_id, collection_id, at, irq",
	// The migrations' own.
	"corewait_settings":   "name text, value text | name",
	"corewait_hot_tables": "table_name text, slice text | table_name",
	"corewait_migrations": "id int4, version_id int8, is_applied bool, tstamp timestamp | id",
}

// twin gives what a kept_ table must be: collection_id behind node_id, in the row
// and in the key.
func twin(contract string) string {
	contract = strings.Replace(contract, "node_id int4, ", "node_id int4, collection_id int4, ", 1)
	return strings.Replace(contract, "| node_id, ", "| node_id, collection_id, ", 1)
}

func contract() map[string]string {
	all := map[string]string{}
	for name, c := range hotTables {
		all[name] = c
		all["kept_"+name] = twin(c)
	}
	for name, c := range rollupTables {
		all[name] = c
	}
	for name, c := range smallTables {
		all[name] = c
	}
	return all
}

// ours picks the tables of the schema, without partitions: t is pg_class.
const ours = `t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition`

// readTables gives the tables of the database in the form of the contract.
func readTables(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT t.relname::text || '', string_agg(a.attname || ' ' || CASE WHEN y.typelem <> 0 AND y.typlen = -1 THEN substr(y.typname, 2) || '[]' ELSE y.typname END,
		           ', ' ORDER BY a.attnum)
		       || ' | ' || (SELECT string_agg(k.attname, ', ' ORDER BY array_position(c.conkey, k.attnum))
		                    FROM pg_constraint c JOIN pg_attribute k ON k.attrelid = c.conrelid AND k.attnum = ANY (c.conkey)
		                    WHERE c.conrelid = t.oid AND c.contype = 'p')
		FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type y ON y.oid = a.atttypid
		WHERE `+ours+` GROUP BY t.oid, t.relname`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var name, columns string
	if _, err := pgx.ForEachRow(rows, []any{&name, &columns}, func() error { got[name] = columns; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// A rule that keeps the schema distributable, as a query of what breaks it. $1
// are the hot tables, their twins and the rollups.
type rule struct{ name, broken string }

var rules = []rule{
	{"a key that has node_id begins with it", `
		SELECT t.relname || ': ' || i.indexrelid::regclass FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
		JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'node_id' AND a.attnum = ANY (i.indkey)
		WHERE ` + ours + ` AND i.indisunique AND i.indkey[0] <> a.attnum`},
	{"a table that many nodes write to has node_id in every key", `
		SELECT t.relname || ': ' || i.indexrelid::regclass FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
		JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'node_id'
		WHERE ` + ours + ` AND i.indisunique AND a.attnum <> ALL (i.indkey) AND t.relname <> ALL ('{nodes,changes,tokens}')`},
	{"node_id is NOT NULL", `
		SELECT t.relname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'node_id'
		WHERE ` + ours + ` AND NOT a.attnotnull AND t.relname <> 'changes'`},
	{"every table has a primary key", `
		SELECT t.relname FROM pg_class t WHERE ` + ours + ` AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = t.oid AND c.contype = 'p')`},
	{"constraints have a name of ours", `
		SELECT t.relname || ': ' || c.conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
		WHERE ` + ours + ` AND t.relname <> 'corewait_migrations' AND c.contype IN ('p', 'u', 'f', 'c')
		  AND c.conname NOT LIKE CASE c.contype WHEN 'p' THEN 'pk' WHEN 'u' THEN 'uq' WHEN 'f' THEN 'fk' ELSE 'ck' END || '\_' || t.relname || '%'`},
	{"indexes have a name of ours", `
		SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
		WHERE ` + ours + ` AND x.relname !~ '^(pk|uq|ix)_' AND t.relname <> 'corewait_migrations'`},
	{"foreign keys lead to nodes, names and collections only", `
		SELECT t.relname || ': ' || c.conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
		WHERE ` + ours + ` AND c.contype = 'f' AND c.confrelid::regclass::text <> ALL ('{nodes,names,collections}')`},
	{"hot tables have no foreign key", `
		SELECT t.relname || ': ' || c.conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
		WHERE ` + ours + ` AND c.contype = 'f' AND t.relname = ANY ($1)`},
	{"hot tables have no default, sequence or identity", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
		WHERE ` + ours + ` AND (a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> '') AND t.relname = ANY ($1)`},
	{"identity is for reference tables", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
		WHERE ` + ours + ` AND a.attidentity <> '' AND t.relname <> ALL ('{nodes,names,collections,corewait_migrations}')`},
	{"no table has a trigger", `
		SELECT t.relname || ': ' || g.tgname FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid
		WHERE ` + ours + ` AND NOT g.tgisinternal AND g.tgname <> 'ts_insert_blocker'`}, // TimescaleDB's own
	{"hot tables have no JSON", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
		WHERE ` + ours + ` AND a.atttypid IN ('json'::regtype, 'jsonb'::regtype) AND t.relname = ANY ($1)`},
	{"hot tables have no floats", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
		WHERE ` + ours + ` AND a.atttypid = ANY ('{float4,float8,_float4,_float8,numeric}'::regtype[]) AND t.relname = ANY ($1)`},
	{"times have a zone", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
		WHERE ` + ours + ` AND a.atttypid = 'timestamp'::regtype AND t.relname <> 'corewait_migrations'`},
	{"intervals have a length", `
		SELECT t.relname || ': ' || a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
		WHERE ` + ours + ` AND a.attname = 'length_us' AND NOT a.attnotnull`},
	{"functions that run with the owner's rights pin their search_path and are not for everybody", `
		SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND p.proname LIKE 'corewait%'
		AND (NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
		     OR EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) WHERE grantee = 0))`},
}

func hotAndKept() []string {
	var names []string
	for name := range hotTables {
		names = append(names, name, "kept_"+name)
	}
	for name := range rollupTables {
		names = append(names, name)
	}
	return names
}

// brokenBy lists what breaks a rule.
func brokenBy(ctx context.Context, conn *pgx.Conn, r rule) ([]string, error) {
	var args []any
	if strings.Contains(r.broken, "$1") {
		args = append(args, hotAndKept())
	}
	rows, err := conn.Query(ctx, r.broken, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// checkSchema holds a migrated database to the contract and the rules.
func checkSchema(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if diff := cmp.Diff(contract(), readTables(t, conn)); diff != "" {
		t.Errorf("tables of the contract (-) and of the database (+):\n%s", diff)
	}
	for _, r := range rules {
		broken, err := brokenBy(t.Context(), conn, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range broken {
			t.Errorf("%s: broken by %s", r.name, b)
		}
	}
}

// onlyConnection takes out of an address what is meant for a pool.
func onlyConnection(url string) string { return strings.ReplaceAll(url, "&pool_max_conns=1", "") }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), onlyConnection(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		s = withPacked(s)
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// plain migrates a new database of plain Postgres and gives its address.
func plain(t *testing.T) string {
	t.Helper()
	url := testdb.URL(t)
	if err := store.MigrateUp(t.Context(), url, store.MigrateOptions{Timescale: store.TimescaleOff}); err != nil {
		t.Fatal(err)
	}
	return url
}

func TestSchemaHoldsItsContractAndRules(t *testing.T) {
	t.Parallel()
	checkSchema(t, connect(t, plain(t)))
}

func TestSchemaHotTablesAreSlicedByTheUTCDayAndRollupsByTheMonth(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	want := map[string]string{}
	for name := range hotTables {
		want[name] = "day"
	}
	want["coverage_gaps"], want["node_events"] = "none", "none"
	for name := range rollupTables {
		want[name] = "month"
	}
	rows, err := conn.Query(t.Context(), `SELECT table_name, slice FROM corewait_hot_tables`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var name, slice string
	if _, err := pgx.ForEachRow(rows, []any{&name, &slice}, func() error { got[name] = slice; return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Partitioned by range of at, where sliced; kept_ twins never.
	var partitioned []string
	if err := conn.QueryRow(t.Context(), `SELECT array_agg(c.relname::text) FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
		WHERE p.partstrat = 'r' AND p.partnatts = 1 AND a.attname = 'at'`).Scan(&partitioned); err != nil {
		t.Fatal(err)
	}
	for name, slice := range want {
		if slices.Contains(partitioned, name) != (slice != "none") {
			t.Errorf("%s has slice %s; partitioned by at are: %v", name, slice, partitioned)
		}
	}
	if len(partitioned) != 15 { // 11 sample tables and 4 rollups
		t.Errorf("%d partitioned tables, want 15: %v", len(partitioned), partitioned)
	}
}

// Each rule must be able to fail: a table that breaks it is found.
func TestSchemaRulesFindWhatBreaksThem(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	for _, test := range []struct{ rule, statement, found string }{
		{"a key that has node_id begins with it", "CREATE TABLE bad (node_id int4 NOT NULL, x int4, CONSTRAINT pk_bad PRIMARY KEY (x, node_id))", "bad: pk_bad"},
		{"a table that many nodes write to has node_id in every key", "CREATE TABLE bad (node_id int4 NOT NULL, x int4, CONSTRAINT pk_bad PRIMARY KEY (x))", "bad: pk_bad"},
		{"node_id is NOT NULL", "CREATE TABLE bad (node_id int4)", "bad"},
		{"every table has a primary key", "CREATE TABLE bad (x int4)", "bad"},
		{"constraints have a name of ours", "CREATE TABLE bad (x int4 PRIMARY KEY)", "bad: bad_pkey"},
		{"indexes have a name of ours", "CREATE INDEX bad ON tallies (at)", "bad"},
		{"foreign keys lead to nodes, names and collections only", "ALTER TABLE tallies ADD CONSTRAINT fk_tallies_x FOREIGN KEY (watch) REFERENCES leases (name)", "tallies: fk_tallies_x"},
		{"hot tables have no foreign key", "ALTER TABLE kept_waits ADD CONSTRAINT fk_kept_waits_x FOREIGN KEY (node_id) REFERENCES nodes (node_id)", "kept_waits: fk_kept_waits_x"},
		{"hot tables have no default, sequence or identity", "ALTER TABLE waits ADD COLUMN number serial", "waits: number"},
		{"identity is for reference tables", "ALTER TABLE receipts ADD COLUMN number int8 GENERATED ALWAYS AS IDENTITY", "receipts: number"},
		{"no table has a trigger", "CREATE TRIGGER bad BEFORE UPDATE ON tallies FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()", "tallies: bad"},
		{"hot tables have no JSON", "ALTER TABLE cpu_samples ADD COLUMN more jsonb", "cpu_samples: more"},
		{"hot tables have no floats", "ALTER TABLE cpu_samples ADD COLUMN more float8[]", "cpu_samples: more"},
		{"times have a zone", "ALTER TABLE leases ADD COLUMN more timestamp", "leases: more"},
		{"intervals have a length", "ALTER TABLE leases ADD COLUMN length_us int8", "leases: length_us"},
		{"functions that run with the owner's rights pin their search_path and are not for everybody",
			"CREATE FUNCTION corewait_bad() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 1'", "corewait_bad"},
	} {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == test.rule })
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run(t, conn, test.statement)
		broken, err := brokenBy(t.Context(), conn, rules[i])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(broken, test.found) {
			t.Errorf("%s: %s: found %v, want %s", test.rule, test.statement, broken, test.found)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
