package store_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// catalogue lists everything that migrations could leave behind: relations with
// their columns, constraints and rights, functions, schemas, registered tables.
func catalogue(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', 'corewait_reader'))
		SELECT 'schema ' || nspname FROM ours
		UNION ALL SELECT 'relation ' || c.oid::regclass || ' ' || c.relkind::text || ' ' || coalesce(c.relacl::text, '') FROM pg_class c JOIN ours ON ours.oid = c.relnamespace
		UNION ALL SELECT 'column ' || c.oid::regclass || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || a.attidentity::text
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN ours ON ours.oid = c.relnamespace WHERE a.attnum > 0
		UNION ALL SELECT 'constraint ' || c.conrelid::regclass || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid)
			FROM pg_constraint c JOIN ours ON ours.oid = c.connamespace
		UNION ALL SELECT 'view ' || c.oid::regclass || md5(pg_get_viewdef(c.oid)) FROM pg_class c JOIN ours ON ours.oid = c.relnamespace WHERE c.relkind = 'v'
		UNION ALL SELECT 'function ' || p.oid::regprocedure || ' ' || md5(p.prosrc) || coalesce(p.proacl::text, '') FROM pg_proc p JOIN ours ON ours.oid = p.pronamespace
			WHERE p.proname LIKE 'corewait%'
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// upDownUp takes a database up, down step by step, and up again: down leaves
// nothing but goose's table, up again makes the same.
func upDownUp(t *testing.T, url string, o store.MigrateOptions) {
	t.Helper()
	names, err := store.MigrationNames()
	if err != nil {
		t.Fatal(err)
	}
	look := func() []string {
		conn, err := pgx.Connect(t.Context(), onlyConnection(url))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		return catalogue(t, conn)
	}
	up := func() {
		var done []string
		o.Done = func(name string, _ time.Duration) { done = append(done, name) }
		if err := store.MigrateUp(t.Context(), url, o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names, done); diff != "" {
			t.Fatalf("migrations (-), and those applied (+):\n%s", diff)
		}
	}
	up()
	first := look()
	for i := len(names) - 1; i >= 0; i-- {
		before := tablesOf(look())
		if err := store.MigrateDown(t.Context(), url, store.MigrateOptions{}); err != nil {
			t.Fatalf("down from %s: %v", names[i], err)
		}
		checkDropped(t, names[i], before, tablesOf(look()))
	}
	for _, line := range look() {
		_, name, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(name, "corewait_migrations") && line != "schema public" {
			t.Errorf("left behind by down: %s", line)
		}
	}
	up()
	if diff := cmp.Diff(first, look()); diff != "" {
		t.Errorf("up, down and up again is not up:\n%s", diff)
	}
}

// tablesOf picks the names of tables from a catalogue.
func tablesOf(lines []string) []string {
	var tables []string
	for _, line := range lines {
		f := strings.Fields(line)
		if f[0] == "relation" && (f[2] == "r" || f[2] == "p") {
			tables = append(tables, f[1])
		}
	}
	return tables
}

// checkDropped holds what a step down is said to drop, which guards people's
// rows, against what is gone.
func checkDropped(t *testing.T, migration string, before, after []string) {
	t.Helper()
	var gone []string
	for _, table := range before {
		if !slices.Contains(after, table) && !strings.HasPrefix(table, "corewait_") {
			gone = append(gone, table)
		}
	}
	said, err := store.DroppedTables(migration)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(said)
	slices.Sort(gone)
	if !slices.Equal(said, gone) {
		t.Errorf("%s down drops %v; its rows would be looked for in %v", migration, gone, said)
	}
}

func TestMigrateUpDownAndUpAgainOnPlainPostgres(t *testing.T) {
	t.Parallel()
	upDownUp(t, testdb.URL(t), store.MigrateOptions{Timescale: store.TimescaleOff})
}

func TestMigrateGoesToAVersion(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	ctx := t.Context()
	at := func(want int64, pending int) {
		t.Helper()
		s, err := store.ReadMigrationStatus(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		if s.Database != want || len(s.Pending) != pending || s.Binary != want+int64(pending) {
			t.Errorf("status %+v, want version %d and %d pending", s, want, pending)
		}
	}
	names, err := store.MigrationNames()
	if err != nil {
		t.Fatal(err)
	}
	all := len(names)
	at(0, all)
	two, four, none, unknown := int64(2), int64(4), int64(0), int64(4711)
	for _, step := range []struct {
		do   func(context.Context, string, store.MigrateOptions) error
		to   *int64
		want error
		at   int
	}{
		{store.MigrateDown, nil, store.ErrNothingToTakeBack, 0},
		{store.MigrateUp, &four, nil, 4},
		{store.MigrateUp, &two, nil, 4}, // up never goes down
		{store.MigrateDown, &four, store.ErrNothingToTakeBack, 4},
		{store.MigrateUp, &unknown, store.ErrUnknownVersion, 4},
		{store.MigrateDown, &unknown, store.ErrUnknownVersion, 4},
		{store.MigrateDown, &two, nil, 2},
		{store.MigrateDown, nil, nil, 1},
		{store.MigrateUp, nil, nil, all},
		{store.MigrateDown, &none, nil, 0},
	} {
		if err := step.do(ctx, url, store.MigrateOptions{To: step.to}); !errors.Is(err, step.want) {
			t.Fatalf("error %v, want %v", err, step.want)
		}
		at(int64(step.at), all-step.at)
	}
}

func TestMigrateStatusWritesNothing(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	s, err := store.ReadMigrationStatus(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if s.Database != 0 || s.Mode != "" {
		t.Errorf("an empty database has status %+v", s)
	}
	if tables := tablesOf(catalogue(t, connect(t, url))); len(tables) != 0 {
		t.Errorf("status made tables: %v", tables)
	}
}

func TestMigrateRefusesADatabaseThatANewerProgramMigrated(t *testing.T) {
	t.Parallel()
	url := plain(t)
	run(t, connect(t, url), `INSERT INTO corewait_migrations (version_id, is_applied) VALUES (70000, true)`)
	for name, do := range map[string]func(context.Context, string, store.MigrateOptions) error{"up": store.MigrateUp, "down": store.MigrateDown} {
		err := do(t.Context(), url, store.MigrateOptions{})
		var newer *store.SchemaError
		if !errors.As(err, &newer) || newer.Database != 70000 || !errors.Is(err, store.ErrSchemaNew) {
			t.Errorf("%s: error %v, want that the database is at version 70000", name, err)
		}
	}
	s, err := store.ReadMigrationStatus(t.Context(), url)
	if err != nil || s.Database != 70000 {
		t.Errorf("status %+v, %v, want version 70000", s, err)
	}
}

func TestMigrateDownKeepsTablesThatHoldRowsUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	url := plain(t)
	conn := connect(t, url)
	run(t, conn, `INSERT INTO nodes (name) VALUES ('db1')`,
		`SELECT corewait_create_partitions('2026-06-16', '2026-06-16')`,
		`INSERT INTO cpu_samples (node_id, at, length_us) VALUES (1, '2026-06-16 09:00Z', 1000000)`)
	none, five := int64(0), int64(5)
	err := store.MigrateDown(t.Context(), url, store.MigrateOptions{To: &none})
	var rows *store.RowsError
	if !errors.As(err, &rows) || !slices.Equal(rows.Tables, []string{"cpu_samples", "nodes"}) {
		t.Fatalf("error %v, want the tables cpu_samples and nodes", err)
	}
	if n := count(t, conn, "cpu_samples"); n != 1 {
		t.Errorf("%d rows after the refusal, want 1", n)
	}
	// What is not dropped may hold rows; names has a row of its own.
	if err := store.MigrateDown(t.Context(), url, store.MigrateOptions{To: &five}); err != nil {
		t.Errorf("down to the samples: %v", err)
	}
	if err := store.MigrateDown(t.Context(), url, store.MigrateOptions{To: &none, DropRows: true}); err != nil {
		t.Errorf("down with rows: %v", err)
	}
}

func count(t *testing.T, conn *pgx.Conn, table string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMigrateByManyAtOnceMigratesOnce(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	applied := map[string]int{}
	for range 6 {
		group.Go(func() {
			o := store.MigrateOptions{Done: func(name string, _ time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				applied[name]++
			}}
			if err := store.MigrateUp(t.Context(), url, o); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	names, err := store.MigrationNames()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, name := range names {
		want[name] = 1
	}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("how often each was applied:\n%s", diff)
	}
}

func TestMigrateGivesUpWhenAnotherMigrationGoesOn(t *testing.T) {
	t.Parallel()
	url := plain(t)
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", store.MigrationLockID); err != nil {
		t.Fatal(err)
	}
	err := store.MigrateDown(t.Context(), url, store.MigrateOptions{LockWait: time.Second})
	if err == nil || !strings.Contains(err.Error(), "wait for another migration of this database to end") {
		t.Errorf("error %v, want that another migration goes on", err)
	}
}

func TestMigrateLimitsNameWhatWasSlow(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	locked := plain(t)
	holder := connect(t, locked)
	run(t, holder, "BEGIN", "LOCK TABLE corewait_migrations IN ACCESS EXCLUSIVE MODE")

	busy := plain(t)
	reader := connect(t, busy)
	run(t, reader, "BEGIN", "SELECT count(*) FROM corewait_reader.incidents")
	for name, test := range map[string]struct {
		url   string
		limit time.Duration
		want  string
	}{
		"connect":   {"postgres://someone@" + silent.Addr().String() + "/db?sslmode=disable", 300 * time.Millisecond, "connect to the database"},
		"read":      {locked, 3 * time.Second, "read the version of the schema"},
		"migration": {busy, 5 * time.Second, "00011_reader_views.sql"},
	} {
		err := store.MigrateDown(t.Context(), test.url, store.MigrateOptions{Limit: test.limit})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "migrate down: not done within "+test.limit.String()) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want a deadline's that names %q", name, err, test.want)
		}
	}
	// The migration that gave up does not go on waiting in the server, with
	// everybody else behind it.
	run(t, connect(t, busy), "SET lock_timeout = '10s'", "SELECT count(*) FROM corewait_reader.incidents")
}

func TestMigrateStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.MigrateUp(ctx, testdb.URL(t), store.MigrateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestMigrateErrorsNeverShowAPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://corewait:geheim/nis@db:5432/corewait",
		"postgres://corewait:geheim@db:port/corewait",
		"postgres://corewait:geheim@[db/corewait",
		"postgres://corewait@db/corewait?password=geheim&sslmode=never",
		"postgres://corewait@db/corewait?pass%77ord=geheim&sslmode=never",
		"host=db password=geheim sslmode=never",
		"host=db password = 'geheim sslmode=never",
		"postgres://corewait:geheim@127.0.0.1:1/corewait?sslmode=disable", // nobody listens
	} {
		if !store.MayHoldPassword(address) {
			t.Errorf("%s: taken for an address without a password", address)
		}
		_, err := store.ReadMigrationStatus(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: error %v", address, err)
		}
	}
}

func TestAddressesWithoutAPasswordAreTakenAsSuch(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://corewait@db:5432/corewait", "postgres://db:5432/corewait?sslmode=disable", "postgres:///corewait?host=/run/postgresql",
		"host=db user=corewait", "service=corewait", "host=db passfile=/etc/corewait/pgpass", "postgresql://[::1]:5432/corewait", "",
	} {
		if store.MayHoldPassword(address) {
			t.Errorf("%s: taken for an address with a password", address)
		}
	}
}

func TestMigrateKeepsTheModeThatTheFirstMigrationChose(t *testing.T) {
	t.Parallel()
	url := plain(t)
	var mode *store.ModeError
	if err := store.MigrateUp(t.Context(), url, store.MigrateOptions{Timescale: store.TimescaleRequire}); !errors.As(err, &mode) {
		t.Errorf("error %v, want that the database is plain Postgres", err)
	}
	if err := store.MigrateUp(t.Context(), url, store.MigrateOptions{Timescale: "maybe"}); !errors.As(err, &mode) {
		t.Errorf("error %v, want that there is no such choice", err)
	}
	s, err := store.ReadMigrationStatus(t.Context(), url)
	if err != nil || s.Mode != "plain" {
		t.Errorf("status %+v, %v, want plain", s, err)
	}
}
