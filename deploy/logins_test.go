package deploy_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// The script runs in a new database as the container runs it, before the schema
// is there.
func TestGrafanasLoginReadsSamplesAndNothingElse(t *testing.T) {
	t.Parallel()
	if os.Getenv("COREWAIT_TEST_DATABASE_URL") != "" {
		t.Skip("SKIPPED: makes roles, for which it needs a server of its own")
	}
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("SKIPPED: psql is not installed (package postgresql-client)")
	}
	address := testdb.URL(t)
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	secrets := t.TempDir()
	const password = `it's "quoted"; \ DROP TABLE waits`
	if err := os.WriteFile(filepath.Join(secrets, "grafana_password"), []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("./postgres/logins.sh")
	script.Env = append(os.Environ(), "SECRETS="+secrets, "POSTGRES_DB="+config.Database, "POSTGRES_USER="+config.User,
		"PGHOST="+config.Host, "PGPORT="+strconv.Itoa(int(config.Port)), "PGPASSWORD="+config.Password)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := store.MigrateUp(t.Context(), address, store.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	config.User, config.Password = "corewait_grafana", password
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for query, allowed := range map[string]bool{
		"SELECT count(*) FROM corewait_reader.waits": true,
		"SELECT count(*) FROM interrupt_samples":     true,
		"SELECT count(*) FROM sql_texts":             false,
		"SELECT count(*) FROM tokens":                false,
		"SELECT count(*) FROM receipts":              false,
	} {
		var n int
		err := conn.QueryRow(t.Context(), query).Scan(&n)
		denied := new(pgconn.PgError)
		if (err == nil) != allowed || err != nil && (!errors.As(err, &denied) || denied.Code != "42501") { // insufficient_privilege
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO names (name) VALUES ('x')"); err == nil {
		t.Error("Grafana's login writes")
	}
}
