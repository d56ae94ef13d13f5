package store_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// One server for all of it, since each takes seconds to start. It serves one
// connection at a time, so that every step closes its own.
func TestMigrateOnTimescaleDB(t *testing.T) {
	t.Parallel()
	url := testdb.Timescale(t)
	with := func(do func(conn *pgx.Conn)) {
		t.Helper()
		conn := connect(t, url)
		do(conn)
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	// The server has the extension, this database does not: it is made.
	upDownUp(t, url, store.MigrateOptions{})
	status, err := store.ReadMigrationStatus(t.Context(), url)
	if err != nil || status.Mode != "timescaledb" || status.Timescale == "" || status.Database != status.Binary {
		t.Fatalf("status %+v, %v, want the newest version in mode timescaledb", status, err)
	}
	var mode *store.ModeError
	if err := store.MigrateUp(t.Context(), url, store.MigrateOptions{Timescale: store.TimescaleOff}); !errors.As(err, &mode) {
		t.Errorf("error %v, want that the database has TimescaleDB", err)
	}

	with(func(conn *pgx.Conn) { checkSchema(t, conn) })
	with(func(conn *pgx.Conn) {
		run(t, conn, fillEveryTable...) // chunks make themselves
		checkHypertables(t, conn)
		checkChunks(t, conn)
	})
	with(func(conn *pgx.Conn) { checkRoles(t, conn, true) })
}

// checkHypertables holds the slices and the settings of compression.
func checkHypertables(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for table, slice := range map[string]string{"day": "11", "month": "4"} {
		got := names(t, conn, `SELECT count(*)::text FROM corewait_hot_tables h JOIN timescaledb_information.dimensions d
			ON d.hypertable_schema = 'public' AND d.hypertable_name = h.table_name AND d.column_name = 'at'
			WHERE h.slice = $1 AND d.time_interval = CASE h.slice WHEN 'day' THEN interval '1 day' ELSE interval '30 days' END`, table)
		if got[0] != slice {
			t.Errorf("%s hypertables sliced by the %s, want %s", got[0], table, slice)
		}
	}
	// What a query names is apart; what remains of the key orders, time first.
	for table, want := range map[string]string{
		"cpu_samples":       "node_id | at, length_us",
		"placement_samples": "node_id, command_id, tid | at",
		"waits":             "node_id, inst_id | at, sample_id, session_id, serial, event_id",
		"softirq_samples":   "node_id, name | at",
	} {
		got := names(t, conn, `SELECT string_agg(attname::text, ', ' ORDER BY segmentby_column_index) FILTER (WHERE segmentby_column_index > 0) || ' | '
			|| string_agg(attname::text, ', ' ORDER BY orderby_column_index) FILTER (WHERE orderby_column_index > 0)
			FROM timescaledb_information.compression_settings WHERE hypertable_name = $1`, table)
		if got[0] != want {
			t.Errorf("%s is compressed by %s, want %s", table, got[0], want)
		}
	}
}

// checkChunks compresses and drops the chunks of 16 June among others, and
// leaves somebody else's hypertable alone.
func checkChunks(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	run(t, conn, `CREATE TABLE orders (at timestamptz NOT NULL)`, `SELECT create_hypertable('orders', 'at')`, `INSERT INTO orders VALUES ('2020-01-01Z')`,
		`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us)
			SELECT 7, '2026-06-15Z'::timestamptz + i * interval '1 minute', 1, i, i, 1, 40, false, true, 1000 FROM generate_series(0, 2879) i`,
		`INSERT INTO coverage_gaps VALUES (7, 'agent', '-infinity', '-infinity', 'unknown time', 1)`)
	if got := names(t, conn, `SELECT corewait_create_partitions('2026-06-16', '2026-06-17')`); len(got) != 0 {
		t.Errorf("partitions made beside chunks: %v", got)
	}
	// 15 June is over at the begin of the 16th, which is not; twice does nothing.
	for _, want := range []int{1, 0} {
		if got := names(t, conn, `SELECT corewait_compress_chunks('2026-06-16', 'waits')`); len(got) != want {
			t.Errorf("compressed %v, want %d chunks", got, want)
		}
	}
	// A late row still finds its place, and the sum is that of all rows.
	run(t, conn, `INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting, time_waited_us)
		VALUES (7, '2026-06-15Z', 1, 0, 0, 1, 40, false, true, 9000) ON CONFLICT ON CONSTRAINT pk_waits DO UPDATE SET time_waited_us = 9000`)
	if got := names(t, conn, `SELECT sum(time_waited_us)::text FROM waits WHERE at < '2026-06-16Z'`); got[0] != "1448000" { // 1,439 * 1,000 + 9,000
		t.Errorf("sum of waits in the compressed chunk %s, want 1448000", got[0])
	}
	if got := names(t, conn, `SELECT corewait_drop_partitions('2026-06-16')`); len(got) != 1 {
		t.Errorf("dropped %v, want the one chunk of 15 June", got)
	}
	if got := names(t, conn, `SELECT min(at AT TIME ZONE 'UTC')::text FROM waits`); got[0] != "2026-06-16 00:00:00" {
		t.Errorf("first wait left at %s, want the begin of 16 June", got[0])
	}
	if n := count(t, conn, "orders"); n != 1 {
		t.Errorf("%d rows in somebody else's hypertable, want 1", n)
	}
	if n := count(t, conn, "coverage_gaps"); n != 2 {
		t.Errorf("%d gaps, want 2: one of 16 June and one without a time", n)
	}
	// For the rows that the roles look at.
	run(t, conn, `DELETE FROM waits WHERE sample_id >= 0`, `DELETE FROM coverage_gaps WHERE at = '-infinity'`, `DROP TABLE orders`)
}
