package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// database is a store on a fresh database, and what tests write and read there
// by hand.
type database struct {
	*store.Store

	t testing.TB
}

// openDatabase gives a store on a fresh plain Postgres, or on what
// COREWAIT_TEST_DATABASE_URL names.
func openDatabase(t testing.TB) *database {
	t.Helper()
	return openStore(t, store.Options{URL: testdb.New(t)})
}

func openStore(t testing.TB, o store.Options) *database {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &database{Store: s, t: t}
}

// needsPartitions skips a test of what only plain Postgres has, where
// COREWAIT_TEST_DATABASE_URL names another kind of server.
func (d *database) needsPartitions() {
	d.t.Helper()
	if d.Mode() != "plain" {
		d.t.Skipf("SKIPPED: needs partitions of plain Postgres, this is %s", d.Mode())
	}
}

// onBothKinds runs a test on plain Postgres and on TimescaleDB.
func onBothKinds(t *testing.T, test func(t *testing.T, d *database)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		test(t, openDatabase(t))
	})
	t.Run("timescaledb", func(t *testing.T) {
		t.Parallel()
		test(t, openTimescale(t))
	})
}

// openTimescale gives a store on a fresh TimescaleDB, which takes one connection
// and small COPYs.
func openTimescale(t *testing.T) *database {
	t.Helper()
	address := testdb.Timescale(t)
	if err := store.MigrateUp(t.Context(), address, store.MigrateOptions{Timescale: store.TimescaleRequire}); err != nil {
		t.Fatal(err)
	}
	return openStore(t, store.Options{URL: address, MaxConns: 1, CopyRows: 10})
}

// exec runs statements, in which '[1,NULL]' are packed numbers.
func (d *database) exec(statement string, args ...any) {
	d.t.Helper()
	statement = withPacked(statement)
	if _, err := d.Pool().Exec(d.t.Context(), statement, args...); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

var packedList = regexp.MustCompile(`'\[[-0-9NUL,]*\]'`)

// withPacked puts packed numbers where '[1,NULL]' stands in a statement.
func withPacked(statement string) string {
	return packedList.ReplaceAllStringFunc(statement, func(list string) string {
		var values []int64
		for _, text := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("'[,]", r) }) {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				v = store.Unknown
			}
			values = append(values, v)
		}
		return fmt.Sprintf(`'\x%x'`, store.Packed(values))
	})
}

// lines gives the rows of a query of one text column.
func (d *database) lines(query string, args ...any) []string {
	d.t.Helper()
	rows, err := d.Pool().Query(d.t.Context(), query, args...)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	return lines
}

// wantLines holds the rows of a query of one text column to the given ones.
func (d *database) wantLines(want []string, query string, args ...any) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.lines(query, args...), cmpopts.EquateEmpty()); diff != "" {
		d.t.Errorf("%s: want -, got +:\n%s", query, diff)
	}
}

// count gives the number of rows of a table.
func (d *database) count(table string) int {
	d.t.Helper()
	var n int
	if err := d.Pool().QueryRow(d.t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

func (d *database) node(name string) store.NodeID {
	d.t.Helper()
	id, err := d.Node(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// partitions makes the partitions of the days [from, to].
func (d *database) partitions(from, to time.Time) {
	d.t.Helper()
	if err := d.CreatePartitions(d.t.Context(), from, to); err != nil {
		d.t.Fatal(err)
	}
}

// utc reads "2026-11-30 12:00:00".
func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateTime, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func window(from time.Time, length time.Duration) domain.Window {
	return domain.Window{From: from, To: from.Add(length)}
}

// oneOfEach writes one row of a second into each live table.
func (d *database) oneOfEach(node store.NodeID, at time.Time) {
	d.t.Helper()
	d.exec(`INSERT INTO names (name_id, name) VALUES (1, 'ora_lgwr_X'), (2, 'log file sync'), (3, 'user commits'), (4, 'sda') ON CONFLICT DO NOTHING`)
	for table, rest := range map[string]string{
		"interrupt_samples (node_id, at, length_us, intervals, counts)":                                              "1000000, 1, '[10,20]'",
		"device_samples (node_id, at, length_us, observed_us, line_ids, cpus, counts)":                               "1000000, 1000000, '[1]', '[0]', '[10]'",
		"softirq_samples (node_id, at, length_us, name, counts)":                                                     "1000000, 'NET_RX', '[1,2]'",
		"cpu_samples (node_id, at, length_us, rest_bp, host_idle_ppm)":                                               "1000000, '[1000,2000]', 850000",
		"system_samples (node_id, at, length_us, run_queue_x100)":                                                    "1000000, 150",
		"disk_samples (node_id, at, length_us, device_ids, utilisation_bp)":                                          "1000000, '[4]', '[500]'",
		"placement_samples (node_id, at, until, command_id, tid, uncertainty_us, period_us, run_samples, run_cpu)":   "$2::timestamptz + interval '0.5 s', 1, 77, 0, 50000, '[11]', '[1]'",
		"waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us)": "1, 5, 6, 7, 2, false, true, 120000",
		"histograms (node_id, at, until, inst_id, event_id, milli, below_us, counts)":                                "$2::timestamptz, 1, 2, false, '{1,2}', '{3,4}'",
		"counters (node_id, at, until, inst_id, set_hash, name_ids, values)":                                         "$2::timestamptz, 1, 99, '{3}', '{1000}'",
		"sql_timings (node_id, at, length_us, inst_id, sql_id, plan_hash)":                                           "1000000, 1, 'abc', 1",
		"coverage_gaps (node_id, at, until, source, reason)":                                                         "$2::timestamptz + interval '1 s', 'interrupts', 'missing'",
		"node_events (node_id, at, kind, subject, detail)":                                                           "'bond-failover', 'bond1', 'ens3f0 -> ens6f0'",
	} {
		d.exec(fmt.Sprintf("INSERT INTO %s VALUES ($1, $2, %s)", table, rest), node, at)
	}
}

// liveTables are the tables of samples.
var liveTables = []string{
	"interrupt_samples", "device_samples", "softirq_samples", "cpu_samples", "system_samples", "disk_samples", "placement_samples",
	"waits", "histograms", "counters", "sql_timings", "coverage_gaps", "node_events",
}
