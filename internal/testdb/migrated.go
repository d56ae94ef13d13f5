package testdb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

// migrationPatience bounds all migrations of one empty database.
const migrationPatience = 2 * time.Minute

// New gives the address of a fresh database with all migrations applied, which
// is dropped when the test ends. On the private server it is a copy of one that
// is migrated once, which takes a fraction of a second; a server of somebody
// else's keeps no such template, and some kinds of server cannot copy at all.
func New(t testing.TB) string {
	t.Helper()
	template, err := shared.migratedTemplate(t.Context())
	skipOrFail(t, err)
	address := shared.newDatabase(t, template)
	if template == "" {
		if err := migrate(t.Context(), address, store.TimescaleAuto); err != nil {
			t.Fatalf("testdb: %v", err)
		}
	}
	return address
}

// migratedTemplate gives the name of the database to copy, making it for the
// first test that asks; empty where the server is not ours.
func (h *host) migratedTemplate(ctx context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	address, err := h.ready(ctx)
	if err != nil || h.server == nil {
		return "", err
	}
	if h.template == "" && h.templateErr == nil {
		h.template, h.templateErr = makeTemplate(ctx, address)
	}
	return h.template, h.templateErr
}

func makeTemplate(ctx context.Context, address string) (string, error) {
	name, err := createDatabase(ctx, address, "")
	if err != nil {
		return "", err
	}
	return name, migrate(ctx, onDatabase(address, name), store.TimescaleOff)
}

func migrate(ctx context.Context, address string, timescale store.Timescale) error {
	ctx, cancel := context.WithTimeoutCause(ctx, migrationPatience, fmt.Errorf("migrations: not done within %s", migrationPatience))
	defer cancel()
	return store.MigrateUp(ctx, address, store.MigrateOptions{Timescale: timescale})
}
