package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Modes of a database, as corewait_settings has them.
const (
	modePlain     = "plain"
	modeTimescale = "timescaledb"
)

// usable says whether this program may migrate the database as asked.
func (s *MigrationStatus) usable(asked Timescale) error {
	if s.Database > s.Binary {
		return &SchemaError{Database: s.Database, Program: s.Binary}
	}
	return agree(s.Mode, asked)
}

// agree holds what is asked for against what was decided; mode is empty where
// nothing is decided yet.
func agree(mode string, asked Timescale) error {
	switch {
	case mode == modePlain && asked == TimescaleRequire:
		return &ModeError{Asked: asked, Reason: "the database was migrated as plain Postgres, which stays so: migrate a new database and import into it"}
	case mode == modeTimescale && asked == TimescaleOff:
		return &ModeError{Asked: asked, Reason: "the database was migrated with TimescaleDB, which stays so: migrate a new database and import into it"}
	}
	return nil
}

// readMode gives the mode that was decided, or "", and the version of
// TimescaleDB that is installed, or "".
func readMode(ctx context.Context, q querier) (mode, timescale string, err error) {
	err = bounded(ctx, "read the mode of the schema", migrationRoundTrip, func(ctx context.Context) error {
		err := q.QueryRowContext(ctx, "SELECT coalesce(max(extversion), '') FROM pg_extension WHERE extname = 'timescaledb'").Scan(&timescale)
		if err != nil {
			return err
		}
		var decided bool
		if err := q.QueryRowContext(ctx, "SELECT to_regclass('public.corewait_settings') IS NOT NULL").Scan(&decided); err != nil || !decided {
			return err
		}
		return q.QueryRowContext(ctx, "SELECT coalesce(max(value), '') FROM public.corewait_settings WHERE name = 'mode'").Scan(&mode)
	})
	return mode, timescale, err
}

// chooseMode tells the session whether the first migration makes hypertables. A
// mode that was decided before is kept.
func chooseMode(ctx context.Context, conn *sql.Conn, asked Timescale) error {
	mode, version, err := readMode(ctx, conn)
	if err != nil {
		return err
	}
	if err := agree(mode, asked); err != nil {
		return err
	}
	on, err := onTimescale(ctx, conn, mode, version, asked)
	if err != nil {
		return err
	}
	setting := "off"
	if on {
		setting = "on"
	}
	return bounded(ctx, "set the mode of the session", migrationRoundTrip, func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, "SELECT set_config('corewait.timescale', $1, false)", setting)
		return err
	})
}

// onTimescale says whether the database uses TimescaleDB, and installs the
// extension where nothing is decided yet and nothing speaks against it.
func onTimescale(ctx context.Context, conn *sql.Conn, mode, version string, asked Timescale) (bool, error) {
	switch {
	case mode == modeTimescale && version == "":
		return false, &ModeError{Asked: TimescaleAuto, Reason: "the database was migrated with TimescaleDB, and the extension is not installed in it any more"}
	case mode == modePlain, asked == TimescaleOff:
		return false, nil
	case version != "":
		return true, nil
	}
	err := createTimescale(ctx, conn)
	var unavailable *unavailableError
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &unavailable):
		return false, err
	case asked == TimescaleRequire:
		return false, &ModeError{Asked: asked, Reason: unavailable.reason}
	}
	return false, nil
}

// unavailableError says why a database cannot have TimescaleDB.
type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return e.reason }

// createTimescale installs the extension, or fails with an unavailableError. It
// first asks whether the server loads TimescaleDB at its start: CREATE EXTENSION
// would end the session otherwise. The parameters that the library brings show
// it, to every role; shared_preload_libraries is for superusers to read. The
// parameter allow_install_without_preload is TimescaleDB's own way around that.
func createTimescale(ctx context.Context, conn *sql.Conn) error {
	var available, loaded bool
	err := bounded(ctx, "look for TimescaleDB", migrationRoundTrip, func(ctx context.Context) error {
		return conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb'),
			EXISTS (SELECT FROM pg_settings WHERE name LIKE 'timescaledb.%')
			OR coalesce(current_setting('timescaledb.allow_install_without_preload', true) = 'on', false)`).Scan(&available, &loaded)
	})
	switch {
	case err != nil:
		return err
	case !available:
		return &unavailableError{"TimescaleDB is not installed on this server"}
	case !loaded:
		return &unavailableError{"TimescaleDB is installed on this server and not in its shared_preload_libraries"}
	}
	err = bounded(ctx, "create extension timescaledb", extensionLimit, func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS timescaledb SCHEMA public")
		return err
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return &unavailableError{fmt.Sprintf("create extension timescaledb: %s (SQLSTATE %s)", refused.Message, refused.Code)}
	}
	return err
}
