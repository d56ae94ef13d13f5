package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/lock"
)

const (
	// migrationsTable is where goose notes what was applied.
	migrationsTable = "public.corewait_migrations"

	// migrationLockID is the advisory lock of migrations: "corewait" in ASCII.
	migrationLockID int64 = 0x636f726577616974

	// migrationRoundTrip bounds single questions to the database; extensions
	// take longer to be made.
	migrationRoundTrip = 30 * time.Second
	extensionLimit     = 2 * time.Minute
)

// openForMigration opens one connection to the database at address and prepares
// its session. Everything runs on it, since the lock of migrations belongs to
// the session, and a WebAssembly Postgres has no second one.
func openForMigration(ctx context.Context, address string) (*sql.DB, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	// Extended protocol without prepared statements, which a change of the schema
	// would make stale.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	// A statement that waits for a lock must not go on waiting in the server,
	// with everybody behind it, after its deadline here.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(prepareSession))
	db.SetMaxOpenConns(1)
	if err := bounded(ctx, "connect to the database", migrationRoundTrip, db.PingContext); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// prepareSession sets what migrations rely on, whatever the role or the database
// has as its default. Citus must run the parts of a migration one after another
// on its workers; other servers take the parameter for a name without meaning.
func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	for _, setting := range [][2]string{
		{"search_path", "public"},
		{"timezone", "UTC"},
		{"client_min_messages", "warning"},
		{"citus.multi_shard_modify_mode", "sequential"},
	} {
		if _, err := conn.Exec(ctx, "SELECT set_config($1, $2, false)", setting[0], setting[1]); err != nil {
			return fmt.Errorf("set %s: %w", setting[0], err)
		}
	}
	return nil
}

// parseAddress reads a URL or a string of key=value pairs. What pgx says about one that
// it cannot read may quote it, and with it a password: that is left out where
// there may be one.
func parseAddress(address string) (*pgx.ConnConfig, error) {
	config, err := pgxpool.ParseConfig(address) // takes what is meant for the service's pool out
	if err == nil {
		return config.ConnConfig, nil
	}
	const form = "write postgres://user@host:port/database, or key=value pairs"
	var parse *pgconn.ParseConfigError
	if reason := errors.Unwrap(err); errors.As(err, &parse) && reason != nil && !MayHoldPassword(address) {
		return nil, fmt.Errorf("address of the database: cannot be read: %w: %s", reason, form)
	}
	return nil, errors.New("address of the database: cannot be read: " + form)
}

// passwordKey finds a password in a query or among key=value pairs.
var passwordKey = regexp.MustCompile(`(?i)password\s*=`)

// MayHoldPassword says whether the address of a database has a password in it,
// or is so malformed that it could have one.
func MayHoldPassword(address string) bool {
	scheme, rest, isURL := strings.Cut(address, "://")
	plain, err := url.QueryUnescape(address)
	if err != nil || passwordKey.MatchString(plain) || passwordKey.MatchString(address) {
		return true
	}
	if !isURL || strings.ContainsAny(scheme, " =") {
		return false
	}
	at := strings.LastIndexByte(rest, '@')
	return at >= 0 && strings.Contains(rest[:at], ":")
}

// bounded runs one operation within a limit. The error of one that took longer
// names it.
func bounded(ctx context.Context, what string, limit time.Duration, do func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(inner)
	if err == nil {
		return nil
	}
	cause := inner.Err()
	if cause != nil && ctx.Err() == nil {
		what = fmt.Sprintf("%s: not done within %s", what, limit)
	}
	if cause == nil || errors.Is(err, cause) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, cause, err)
}

// migrationLocker is goose's lock of a session, and what has to be done under
// it before goose works on that session.
type migrationLocker struct {
	inner     lock.SessionLocker
	timescale Timescale
	check     func(ctx context.Context, conn *sql.Conn) error // nil: nothing
	refusal   error                                           // why SessionLock failed
}

// SessionLock waits for the lock, then decides the mode and checks what is to be
// checked: another process may have migrated in the meantime.
func (l *migrationLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.inner.SessionLock(ctx, conn); err != nil {
		l.refusal = fmt.Errorf("wait for another migration of this database to end: %w", err)
		return l.refusal
	}
	err := chooseMode(ctx, conn, l.timescale)
	if err == nil && l.check != nil {
		err = l.check(ctx, conn)
	}
	if err != nil {
		l.refusal = errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn))
		return l.refusal
	}
	return nil
}

// SessionUnlock gives the lock back. A connection that broke has given it back
// by that.
func (l *migrationLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	err := bounded(ctx, "release the lock of migrations", migrationRoundTrip, func(ctx context.Context) error {
		return l.inner.SessionUnlock(ctx, conn)
	})
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// querier is what a connection and a pool of them share.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// status reads how far the database is migrated, without writing anything.
func (m *migrator) status(ctx context.Context) (MigrationStatus, error) {
	var s MigrationStatus
	applied, err := appliedVersions(ctx, m.db)
	if err != nil {
		return s, err
	}
	for v := range applied {
		s.Database = max(s.Database, v)
	}
	for _, source := range m.sources {
		s.Binary = max(s.Binary, source.Version)
		if !applied[source.Version] {
			s.Pending = append(s.Pending, path.Base(source.Path))
		}
	}
	s.Mode, s.Timescale, err = readMode(ctx, m.db)
	return s, err
}

// appliedVersions gives the migrations that the database notes as applied.
func appliedVersions(ctx context.Context, q querier) (map[int64]bool, error) {
	applied := map[int64]bool{}
	err := bounded(ctx, "read the version of the schema", migrationRoundTrip, func(ctx context.Context) error {
		var exists bool
		if err := q.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", migrationsTable).Scan(&exists); err != nil || !exists {
			return err
		}
		rows, err := q.QueryContext(ctx, "SELECT version_id FROM "+migrationsTable+" WHERE is_applied AND version_id > 0")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var v int64
			if err := rows.Scan(&v); err != nil {
				return err
			}
			applied[v] = true
		}
		return rows.Err()
	})
	return applied, err
}
