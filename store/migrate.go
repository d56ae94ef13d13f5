package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/corewait/corewait/migrations"
)

// Timescale says what a migration does about TimescaleDB. It decides when the
// first migration runs; later it can only agree with what was decided.
type Timescale string

// TimescaleAuto, which "" means too, uses TimescaleDB where the database has it
// or can have it.
const (
	TimescaleAuto    Timescale = "auto"
	TimescaleRequire Timescale = "require"
	TimescaleOff     Timescale = "off"
)

// Deadlines of migrations where MigrateOptions names none.
const (
	defaultMigrationLimit    = 30 * time.Minute
	defaultMigrationLockWait = 5 * time.Minute
)

// MigrateOptions are the choices of MigrateUp and MigrateDown.
type MigrateOptions struct {
	Timescale Timescale
	To        *int64        // the version to go to; nil: up to the newest, down by one
	DropRows  bool          // down: drop tables although they hold rows
	Limit     time.Duration // for all of it; 0: 30 minutes
	LockWait  time.Duration // for another migration to end, in whole seconds; 0: 5 minutes
	// Done is called for each migration that was applied or taken back.
	Done func(name string, took time.Duration)
}

// MigrationStatus is how far a database is migrated.
type MigrationStatus struct {
	Database, Binary int64    // versions; 0 where no migration was applied
	Mode             string   // "plain" or "timescaledb"; empty where no migration was applied
	Timescale        string   // version of the extension; empty where it is not installed
	Pending          []string // names of the migrations that are missing
}

// ModeError says that a database cannot be used in the mode asked for.
type ModeError struct {
	Asked  Timescale
	Reason string
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("timescale %s: %s", e.Asked, e.Reason)
}

var (
	// ErrNothingToTakeBack says that the database is at the version asked for, or
	// below it.
	ErrNothingToTakeBack = errors.New("nothing to take back")
	// ErrUnknownVersion says that no migration of the program has the version.
	ErrUnknownVersion = errors.New("no migration has this version")
)

// MigrateUp applies the migrations that are missing in the database at url. Only
// one process migrates a database at a time; others wait and find the work done.
// It fails with a SchemaError on a database that a newer program migrated, and
// with a ModeError where TimescaleDB is not as asked.
func MigrateUp(ctx context.Context, url string, o MigrateOptions) error {
	return migrate(ctx, "migrate up", url, o, func(ctx context.Context, m *migrator) error {
		if o.To != nil && !m.knows(*o.To) {
			return fmt.Errorf("version %d: %w", *o.To, ErrUnknownVersion)
		}
		return m.run(ctx, func(ctx context.Context) ([]*goose.MigrationResult, error) {
			if o.To != nil {
				return m.provider.UpTo(ctx, *o.To)
			}
			return m.provider.Up(ctx)
		})
	})
}

// MigrateDown takes back the newest migration, or all that are newer than o.To.
// It fails with a RowsError if that drops tables that hold rows, unless
// o.DropRows says that they may go; with ErrNothingToTakeBack; and as MigrateUp.
func MigrateDown(ctx context.Context, url string, o MigrateOptions) error {
	return migrate(ctx, "migrate down", url, o, func(ctx context.Context, m *migrator) error {
		switch {
		case o.To != nil && *o.To != 0 && !m.knows(*o.To):
			return fmt.Errorf("version %d: %w", *o.To, ErrUnknownVersion)
		case m.found.Database == 0, o.To != nil && *o.To >= m.found.Database:
			return fmt.Errorf("%w: the database is at version %d", ErrNothingToTakeBack, m.found.Database)
		}
		if !o.DropRows {
			m.locker.check = m.refuseToDropRows
		}
		return m.run(ctx, func(ctx context.Context) ([]*goose.MigrationResult, error) {
			if o.To != nil {
				return m.provider.DownTo(ctx, *o.To)
			}
			result, err := m.provider.Down(ctx)
			if err != nil {
				return nil, err
			}
			return []*goose.MigrationResult{result}, nil
		})
	})
}

// migrate does one operation on a database that this program may migrate, within
// the options' limit.
func migrate(ctx context.Context, what, url string, o MigrateOptions, do func(context.Context, *migrator) error) error {
	if o.Limit <= 0 {
		o.Limit = defaultMigrationLimit
	}
	return bounded(ctx, what, o.Limit, func(ctx context.Context) error {
		m, err := openMigrator(ctx, url, o)
		if err != nil {
			return err
		}
		defer m.close()
		if m.found, err = m.status(ctx); err != nil {
			return err
		}
		if err := m.found.usable(o.Timescale); err != nil {
			return err
		}
		return do(ctx, m)
	})
}

// ReadMigrationStatus says how far the database at url is migrated. It changes
// nothing, and works on databases that a newer program migrated.
func ReadMigrationStatus(ctx context.Context, url string) (MigrationStatus, error) {
	m, err := openMigrator(ctx, url, MigrateOptions{})
	if err != nil {
		return MigrationStatus{}, fmt.Errorf("migrate status: %w", err)
	}
	defer m.close()
	status, err := m.status(ctx)
	if err != nil {
		return MigrationStatus{}, fmt.Errorf("migrate status: %w", err)
	}
	return status, nil
}

// migrator holds what one migration of one database needs.
type migrator struct {
	options  MigrateOptions
	db       *sql.DB
	provider *goose.Provider
	locker   *migrationLocker
	sources  []*goose.Source
	found    MigrationStatus // before anything was done
}

func openMigrator(ctx context.Context, url string, o MigrateOptions) (*migrator, error) {
	switch o.Timescale {
	case "", TimescaleAuto, TimescaleRequire, TimescaleOff:
	default:
		return nil, &ModeError{Asked: o.Timescale, Reason: "is none of auto, require, off"}
	}
	if o.LockWait <= 0 {
		o.LockWait = defaultMigrationLockWait
	}
	db, err := openForMigration(ctx, url)
	if err != nil {
		return nil, err
	}
	m := &migrator{options: o, db: db}
	if err := m.prepare(); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// prepare makes the goose provider and its lock. A locker counts its attempts,
// so that each migrator has its own.
func (m *migrator) prepare() error {
	wait := uint64(max(m.options.LockWait/time.Second, 1))
	inner, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLockID), lock.WithLockTimeout(1, wait), lock.WithUnlockTimeout(1, 1))
	if err != nil {
		return fmt.Errorf("lock of migrations: %w", err)
	}
	m.locker = &migrationLocker{inner: inner, timescale: m.options.Timescale}
	m.provider, err = goose.NewProvider(goose.DialectPostgres, m.db, migrations.Files,
		goose.WithTableName(migrationsTable), goose.WithSessionLocker(m.locker),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("embedded migrations: %w", err)
	}
	m.sources = m.provider.ListSources()
	return nil
}

// close ends the connection, and with it the session's locks. An error of it
// changes nothing for the caller.
func (m *migrator) close() { _ = m.db.Close() }

// knows says whether the program has a migration of that version.
func (m *migrator) knows(version int64) bool {
	for _, s := range m.sources {
		if s.Version == version {
			return true
		}
	}
	return false
}

// run runs goose and reports what it did, also before an error.
func (m *migrator) run(ctx context.Context, do func(context.Context) ([]*goose.MigrationResult, error)) error {
	results, err := do(ctx)
	var partial *goose.PartialError
	switch {
	case m.locker.refusal != nil:
		err = m.locker.refusal
	case errors.As(err, &partial):
		results = partial.Applied
		err = fmt.Errorf("%s: %w", path.Base(partial.Failed.Source.Path), partial.Err)
	}
	if m.options.Done != nil {
		for _, r := range results {
			m.options.Done(path.Base(r.Source.Path), r.Duration)
		}
	}
	return err
}
