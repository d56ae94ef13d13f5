package testdb_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
)

//nolint:tparallel // the subtest must have ended before what it leaves is looked at
func TestAPoolerGivesTransactionsOtherConnections(t *testing.T) {
	t.Parallel()
	var folder string
	t.Run("through it", func(t *testing.T) {
		url := testdb.Pooler(t, testdb.URL(t))
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		folder = config.Host
		backend := func(conn *pgx.Conn, statement string) (pid int) {
			t.Helper()
			if err := conn.QueryRow(t.Context(), statement, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			return pid
		}
		clients := make([]*pgx.Conn, 2)
		for i := range clients {
			if clients[i], err = pgx.Connect(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			defer clients[i].Close(t.Context())
		}
		const pid = "SELECT pg_backend_pid()"
		first := backend(clients[0], pid)
		if _, err := clients[1].Exec(t.Context(), "BEGIN", pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		if other := backend(clients[1], pid); other != first {
			t.Errorf("two clients, one after the other, have backends %d and %d", first, other)
		}
		if other := backend(clients[0], pid); other == first {
			t.Errorf("two transactions at a time have backend %d", other)
		}
		// Parameters that pgbouncer does not hold to are refused.
		if _, err := pgx.Connect(t.Context(), url+"&search_path=public"); err == nil || !strings.Contains(err.Error(), "unsupported startup parameter") {
			t.Errorf("a setting of the session: %v", err)
		}
	})
	if _, err := os.Lstat(folder); folder != "" && !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", folder, err)
	}
}
