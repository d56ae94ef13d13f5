package testdb_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewait/corewait/internal/testdb"
)

func TestTimescaleMakesHypertables(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), testdb.Timescale(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var chunks int
	for _, statement := range []string{
		"CREATE EXTENSION timescaledb",
		"CREATE TABLE samples (at timestamptz NOT NULL)",
		"SELECT create_hypertable('samples', 'at', chunk_time_interval => interval '1 day')",
		"INSERT INTO samples VALUES ('2026-06-16 23:59:59Z'), ('2026-06-17 00:00:00Z')",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM show_chunks('samples')").Scan(&chunks); err != nil {
		t.Fatal(err)
	}
	if chunks != 2 { // one row on either side of a midnight of UTC
		t.Errorf("%d chunks, want 2", chunks)
	}
}
