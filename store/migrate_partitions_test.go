package store_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// names runs a query that gives names.
func names(t *testing.T, conn *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	slices.Sort(got)
	return got
}

// partitions gives the partitions of a table with their bounds, in UTC.
func partitions(t *testing.T, conn *pgx.Conn, table string) []string {
	t.Helper()
	return names(t, conn, `SELECT c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = $1::regclass`, table)
}

func TestPartitionsAreMadeForDaysAndMonthsOnce(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	// Bounds are days of UTC whatever the caller's session has.
	run(t, conn, "SET timezone = 'Asia/Seoul'", "SET datestyle = 'German'")
	made := names(t, conn, `SELECT corewait_create_partitions('2026-06-30', '2026-07-01')`)
	if len(made) != 11*2+4*2 { // 11 sample tables by 2 days, 4 rollups by 2 months
		t.Errorf("%d partitions made, want 30: %v", len(made), made)
	}
	if again := names(t, conn, `SELECT corewait_create_partitions('2026-06-30', '2026-07-01')`); len(again) != 0 {
		t.Errorf("made a second time: %v", again)
	}
	run(t, conn, "RESET timezone", "RESET datestyle", "SET timezone = 'UTC'")
	for table, want := range map[string][]string{
		"waits": {
			"waits_p20260630 FOR VALUES FROM ('2026-06-30 00:00:00+00') TO ('2026-07-01 00:00:00+00')",
			"waits_p20260701 FOR VALUES FROM ('2026-07-01 00:00:00+00') TO ('2026-07-02 00:00:00+00')",
		},
		"wait_rollups": {
			"wait_rollups_p202606 FOR VALUES FROM ('2026-06-01 00:00:00+00') TO ('2026-07-01 00:00:00+00')",
			"wait_rollups_p202607 FOR VALUES FROM ('2026-07-01 00:00:00+00') TO ('2026-08-01 00:00:00+00')",
		},
	} {
		if diff := cmp.Diff(want, partitions(t, conn, table)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", table, diff)
		}
	}
	run(t, conn, `INSERT INTO cpu_samples (node_id, at, length_us) VALUES (1, '2026-07-01 23:59:59.999999Z', 1), (1, '2026-06-30Z', 1)`)
	if n := count(t, conn, "cpu_samples_p20260701"); n != 1 {
		t.Errorf("%d rows in the partition of the second day, want 1", n)
	}
}

func TestPartitionsRefuseRangesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	for _, call := range []string{
		"corewait_create_partitions('2026-06-17', '2026-06-16')", "corewait_create_partitions('2026-01-01', '2028-01-01')",
		"corewait_create_partitions('-infinity', '2026-01-01')", "corewait_create_partitions(NULL, '2026-01-01')",
		"corewait_drop_partitions(NULL)", "corewait_drop_partitions('2026-01-01', 'nodes')", "corewait_drop_partitions('2026-01-01', 'pg_class')",
		"corewait_compress_chunks(NULL)", "corewait_compress_chunks('2026-01-01', 'nodes')",
	} {
		if _, err := conn.Exec(t.Context(), "SELECT "+call); err == nil {
			t.Errorf("%s: no error", call)
		}
	}
}

func TestPartitionsAreMadeByManySessionsAtOnce(t *testing.T) {
	t.Parallel()
	url := plain(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	made := map[string]int{}
	for range 6 {
		conn := connect(t, url)
		group.Go(func() {
			rows, err := conn.Query(t.Context(), `SELECT corewait_create_partitions('2026-06-16', '2026-06-18')`)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range got {
				made[name]++
			}
		})
	}
	group.Wait()
	if len(made) != 11*3+4 {
		t.Errorf("%d partitions made, want 37", len(made))
	}
	for name, n := range made {
		if n != 1 {
			t.Errorf("%s was made %d times", name, n)
		}
	}
}

// A writer in the midst of its transaction must not hold the next day up, nor
// be held up.
func TestPartitionsAreMadeBesideWriters(t *testing.T) {
	t.Parallel()
	url := plain(t)
	writer, maker := connect(t, url), connect(t, url)
	const insert = `INSERT INTO cpu_samples (node_id, at, length_us) VALUES (1, '2026-06-16 09:00Z', 1)`
	run(t, maker, "SET lock_timeout = '10s'", `SELECT corewait_create_partitions('2026-06-16', '2026-06-16')`)
	run(t, writer, "SET lock_timeout = '10s'", "BEGIN", insert)
	run(t, maker, "BEGIN", `SELECT corewait_create_partitions('2026-06-16', '2026-06-18')`)
	run(t, writer, "COMMIT", "BEGIN", `INSERT INTO cpu_samples (node_id, at, length_us) VALUES (1, '2026-06-16 09:00:01Z', 1)`)
	run(t, maker, "COMMIT")
	run(t, writer, "COMMIT")
	if n := len(partitions(t, maker, "cpu_samples")); n != 3 {
		t.Errorf("%d partitions, want 3", n)
	}
}

func TestPartitionsDroppedAreOursAndWhollyBefore(t *testing.T) {
	t.Parallel()
	conn := connect(t, plain(t))
	run(t, conn, `SELECT corewait_create_partitions('2026-06-14', '2026-06-17')`,
		`SELECT corewait_create_partitions('2025-01-01', '2025-01-01')`,
		// Somebody else's tables, named as ours are, and tables that only hang on ours by name.
		`CREATE TABLE orders (at timestamptz NOT NULL) PARTITION BY RANGE (at)`,
		`CREATE TABLE orders_p20200101 PARTITION OF orders FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')`,
		`CREATE TABLE waits_p20200101 (LIKE waits)`,
		// Partitions of ours without an upper or a lower bound.
		`CREATE TABLE waits_rest PARTITION OF waits DEFAULT`,
		`CREATE TABLE counters_old PARTITION OF counters FOR VALUES FROM (MINVALUE) TO ('2000-01-01Z')`,
		`INSERT INTO coverage_gaps VALUES (1, 'a', '-infinity', '-infinity', 'unknown time', 1), (1, 'a', '2026-06-01Z', '2026-06-15 23:59Z', 'restart', 1),
			(1, 'a', '2026-06-15 23:00Z', '2026-06-16Z', 'restart', 1)`,
		"SET timezone = 'Asia/Seoul'", "SET datestyle = 'German'")

	one := names(t, conn, `SELECT corewait_drop_partitions('2026-06-16', 'histograms')`)
	if diff := cmp.Diff([]string{"histograms_p20250101", "histograms_p20260614", "histograms_p20260615"}, one); diff != "" {
		t.Error(diff)
	}
	dropped := names(t, conn, `SELECT corewait_drop_partitions('2026-06-16')`)
	if len(dropped) != 10*3+1 { // ten more sample tables by three days, and the rows of gaps
		t.Errorf("dropped: %v", dropped)
	}
	if !slices.Contains(dropped, "coverage_gaps: 1 rows") {
		t.Errorf("dropped: %v, want one row of coverage_gaps, that of a time before the day", dropped)
	}
	for _, name := range dropped {
		if strings.Contains(name, "rollups") || strings.HasSuffix(name, "16") || strings.HasSuffix(name, "17") {
			t.Errorf("%s was dropped", name)
		}
	}
	for _, name := range []string{"orders_p20200101", "waits_p20200101", "waits_rest", "counters_old", "waits_p20260616", "wait_rollups_p202501"} {
		if count(t, conn, name) != 0 { // fails where the table is gone
			t.Errorf("%s holds rows", name)
		}
	}
	// Rollups go when they are named.
	if got := names(t, conn, `SELECT corewait_drop_partitions('2025-02-01', 'wait_rollups')`); !slices.Equal(got, []string{"wait_rollups_p202501"}) {
		t.Errorf("dropped of wait_rollups: %v", got)
	}
	if got := names(t, conn, `SELECT corewait_compress_chunks('2026-06-16')`); len(got) != 0 {
		t.Errorf("plain Postgres compressed %v", got)
	}
}
