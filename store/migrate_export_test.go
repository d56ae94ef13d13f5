package store

import "github.com/corewait/corewait/migrations"

// DroppedTables is what tests hold against the catalogue.
var DroppedTables = droppedTables

// MigrationLockID is the advisory lock that tests hold.
const MigrationLockID = migrationLockID

// MigrationNames gives the names of the migrations in their order.
func MigrationNames() ([]string, error) {
	entries, err := migrations.Files.ReadDir(".")
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
