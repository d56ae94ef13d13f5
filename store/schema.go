package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/corewait/corewait/migrations"
)

// SQLSTATEs that the store decides on (PostgreSQL documentation, appendix A).
const (
	stateUniqueViolation = "23505"
	stateCheckViolation  = "23514" // also: no partition for the row
	stateUndefinedTable  = "42P01"
	stateInternalError   = "XX000" // what Citus makes of any failure of a COPY
)

var (
	// ErrSchemaOld says that the database lacks migrations of this program.
	ErrSchemaOld = errors.New("the database's schema is older than this program")
	// ErrSchemaNew says that the database was migrated by a newer program.
	ErrSchemaNew = errors.New("the database's schema is newer than this program")
)

// SchemaError says that the database's schema is not the program's. It is
// ErrSchemaOld or ErrSchemaNew.
type SchemaError struct {
	Database, Program int64 // versions: numbers of the last migration
}

func (e *SchemaError) Error() string {
	if e.Database < e.Program {
		return fmt.Sprintf("%v (version %d, needs %d): run `corewait migrate up`", ErrSchemaOld, e.Database, e.Program)
	}
	return fmt.Sprintf("%v (version %d, knows %d): install the newer corewait that migrated it", ErrSchemaNew, e.Database, e.Program)
}

// Is tells which of ErrSchemaOld and ErrSchemaNew it is.
func (e *SchemaError) Is(target error) bool {
	return target == ErrSchemaOld && e.Database < e.Program || target == ErrSchemaNew && e.Database > e.Program
}

// checkSchema compares the last migration of the database with the program's.
func (s *Store) checkSchema(ctx context.Context) error {
	program, err := programVersion()
	if err != nil {
		return err
	}
	var database int64
	err = s.step(ctx, "read the schema's version", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+migrationsTable+` WHERE is_applied`).Scan(&database)
	})
	if err != nil && !hasState(err, stateUndefinedTable) {
		return err
	}
	if database != program {
		return &SchemaError{Database: database, Program: program}
	}
	return nil
}

// programVersion is the number of the last embedded migration.
func programVersion() (int64, error) {
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("embedded migrations: %w", err)
	}
	if len(files) == 0 {
		return 0, errors.New("embedded migrations: none found")
	}
	last := files[len(files)-1] // Glob sorts; the numbers have leading zeros
	number, _, _ := strings.Cut(last, "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("embedded migration %s: %w", last, err)
	}
	return version, nil
}

// hasState says whether the server failed with one of the SQLSTATEs.
func hasState(err error, states ...string) bool {
	var of *pgconn.PgError
	if !errors.As(err, &of) {
		return false
	}
	for _, s := range states {
		if of.Code == s {
			return true
		}
	}
	return false
}
