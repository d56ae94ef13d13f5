package testdb_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// addressVariable is the one of the package's documentation.
const addressVariable = "COREWAIT_TEST_DATABASE_URL"

// query runs statements and gives the only value of the last one's row, as text.
func query(t *testing.T, url string, statements ...string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value string
	for _, statement := range statements {
		rows, err := conn.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		for rows.Next() {
			value = string(rows.RawValues()[0])
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return value
}

func TestEveryTestHasAnEmptyDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			url := testdb.URL(t)
			if got := query(t, url, "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'public'"); got != "0" {
				t.Errorf("%s tables in an empty database", got)
			}
			// Fails in a database that another of these tests used before.
			query(t, url, "CREATE TABLE mine (n int)")
		})
	}
}

func TestEveryTestHasAMigratedDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			url := testdb.New(t)
			status, err := store.ReadMigrationStatus(t.Context(), url)
			if err != nil || len(status.Pending) > 0 || status.Database == 0 {
				t.Fatalf("migrated to %d, pending %v (%v)", status.Database, status.Pending, err)
			}
			query(t, url, "INSERT INTO nodes (name) VALUES ('db1')") // names are unique
		})
	}
}

//nolint:tparallel // the subtest must have ended before its end is looked at
func TestADatabaseIsDroppedWithItsTestWhoeverIsConnected(t *testing.T) {
	t.Parallel()
	watching := testdb.URL(t)
	var name string
	var left *pgx.Conn
	t.Run("uses it", func(t *testing.T) {
		url := testdb.URL(t)
		name = query(t, url, "SELECT current_database()")
		var err error
		if left, err = pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	})
	defer left.Close(context.Background())
	if got := query(t, watching, "SELECT count(*) FROM pg_catalog.pg_database WHERE datname = '"+name+"'"); got != "0" {
		t.Errorf("%s is there after its test", name)
	}
}

func TestADedicatedServerKeepsWhatWasCommittedWhenItIsKilled(t *testing.T) {
	t.Parallel()
	d := testdb.Server(t, testdb.Options{Migrated: true, Settings: map[string]string{"work_mem": "3MB"}})
	url := d.URL()
	if got := query(t, url, "INSERT INTO nodes (name) VALUES ('db1')", "SHOW work_mem"); got != "3MB" {
		t.Errorf("work_mem is %s, asked for 3MB", got)
	}
	d.Kill9()
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a killed server takes a connection")
	}
	d.Restart()
	d.Restart() // in order, this time
	if got := query(t, url, "SELECT name FROM nodes"); got != "db1" {
		t.Errorf("read %q, inserted db1", got)
	}
}

// again runs some tests of this binary in another process.
func again(t *testing.T, tests string, environment ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", tests, "-test.v")
	cmd.Env = append(os.Environ(), environment...)
	cmd.WaitDelay = time.Minute
	return cmd
}

func TestAnotherServerCanBeUsed(t *testing.T) {
	t.Parallel()
	d := testdb.Server(t, testdb.Options{})
	url := strings.Replace(d.URL(), "corewait@", "maker@", 1)
	query(t, d.URL(), "CREATE ROLE maker LOGIN CREATEDB CREATEROLE")
	out, err := again(t, "^TestEveryTestHas", addressVariable+"="+url).CombinedOutput()
	if err != nil {
		t.Fatalf("on another server: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "SKIP") || strings.Count(string(out), "--- PASS") != 8 { // 2 tests, each with 3 below it
		t.Fatalf("not all ran:\n%s", out)
	}
	if got := query(t, d.URL(), "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_catalog.pg_database"); got != "corewait postgres template0 template1" {
		t.Errorf("databases left: %s", got)
	}
	if got := query(t, d.URL(), "SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = 'corewait_writer'"); got != "1" {
		t.Error("nothing was migrated on this server")
	}
}

func TestAServerThatMakesNoDatabasesIsAClearFailure(t *testing.T) {
	t.Parallel()
	d := testdb.Server(t, testdb.Options{})
	query(t, d.URL(), "CREATE ROLE guest LOGIN PASSWORD 'hidden'")
	url := strings.Replace(d.URL(), "corewait@", "guest:hidden@", 1)
	out, err := again(t, "^TestEveryTestHasAnEmpty", addressVariable+"="+url).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no new database: ERROR: permission denied to create database") {
		t.Errorf("without the right to create databases: %v\n%s", err, out)
	}
	out, err = again(t, "^TestEveryTestHasAnEmpty", addressVariable+"=postgres://guest:hidden@127.0.0.1:1/none").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "connection refused") || strings.Contains(string(out), "hidden") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
}
