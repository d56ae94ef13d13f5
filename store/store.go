// Package store owns what is kept in Postgres, and all SQL to it but the
// migrations: samples as agents push them, collections that were imported,
// findings, jobs, and their retention. It must not know files, the engine or
// pages: it takes and gives the records of domain through ingest.IntervalSink.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// NodeID numbers nodes.
type NodeID int32

// CollectionID numbers collections.
type CollectionID int32

// NameID numbers names: events, counters, commands, devices.
type NameID int32

// Options of a Store. URL alone is enough.
type Options struct {
	URL      string // postgres://..., or keywords and values as libpq takes them
	MaxConns int    // 0: 16
	// CopyRows is how many rows one COPY holds at most; 0: no bound. Small for
	// servers that cannot take large ones.
	CopyRows int
	// ImportRows is how many rows an import gathers before it writes them; 0: 20,000.
	ImportRows int
	Deadline   time.Duration // of one round trip; 0: 30 s
	// RawRetention is how long samples are kept: pushed rows older than that
	// are refused. 0: 14 days.
	RawRetention    time.Duration
	ApplicationName string // empty: "corewait"
	// Pooler says that the address is that of a pooler in transaction mode, as
	// pgbouncer's: what a session is told or has prepared is not there in the next
	// transaction. Unqualified names must then resolve to the schema public by the
	// role's or the database's own search_path. Migrations need the server itself.
	//
	// What is given up closes its connection, and with it the pooler's. No request to
	// cancel it is sent that nobody waits for: pgbouncer 1.18 ends with a fatal error
	// then (its issue 801). So the server may notice only at its next answer, or sooner
	// with client_connection_check_interval set for the role.
	Pooler bool
}

func (o Options) withDefaults() Options {
	orInt := func(v *int, usual int) {
		if *v <= 0 {
			*v = usual
		}
	}
	orInt(&o.MaxConns, 16)
	orInt(&o.ImportRows, 20_000)
	if o.Deadline <= 0 {
		o.Deadline = 30 * time.Second
	}
	if o.RawRetention <= 0 {
		o.RawRetention = 14 * 24 * time.Hour
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "corewait"
	}
	return o
}

// Store is a database of corewait. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	options Options
	mode    string // modePlain or modeTimescale

	names names
	lines lines
	days  days

	groups  groups
	buffers sync.Pool // of *[]byte: what pushes are encoded into
}

// Open connects to a database whose schema is this program's: else the error
// is a *SchemaError.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	config, err := parsePoolAddress(o.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(min(o.MaxConns, 10_000)) //nolint:gosec // bounded in this line
	config.ConnConfig.RuntimeParams["application_name"] = o.ApplicationName
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = o.Deadline
	}
	if o.Pooler {
		// The usual handler closes the connection: see Options. One round trip with what is prepared in it, once the types are known.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8" // which poolers hold to
	} else {
		config.AfterConnect = prepareConnection
		// What is given up here must not go on in the server, with its locks.
		config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelPatience}
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, &OperationError{Operation: "connect to the database", Err: err}
	}
	s := &Store{pool: pool, options: o}
	if err := s.readSettings(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// prepareConnection sets what statements and rows rely on, whatever the role, the
// database or PGOPTIONS has as its default: another schema may have tables of the
// same names, and a name in another encoding would be another name.
func prepareConnection(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET search_path = public; SET client_encoding = 'UTF8'`)
	return err
}

// ErrSearchPath says that unqualified names may not be those of our tables.
var ErrSearchPath = errors.New("unqualified names do not resolve to the schema public")

// checkSearchPath holds a pooler's sessions, which nothing can be set in, to what
// prepareConnection sets.
func (s *Store) checkSearchPath(ctx context.Context) error {
	return s.step(ctx, "read search_path", func(ctx context.Context) error {
		var role, database, first string
		err := s.pool.QueryRow(ctx, `SELECT current_user, current_database(), coalesce(current_schema(), '')`).Scan(&role, &database, &first)
		if err == nil && first != "public" {
			return fmt.Errorf("%w but to %q: run ALTER ROLE %s IN DATABASE %s SET search_path = public, and reconnect the pooler", ErrSearchPath, first,
				pgx.Identifier{role}.Sanitize(), pgx.Identifier{database}.Sanitize())
		}
		return err
	})
}

// cancelPatience is for how long the server is waited for, after it was asked to
// cancel what took too long, before its connection is closed.
const cancelPatience = time.Second

// CheckAddress says what is wrong with the address of a database, without asking it.
func CheckAddress(address string) error {
	_, err := parsePoolAddress(address)
	return err
}

// parsePoolAddress reads the address of a pool, which may set the pool's own
// parameters (pool_max_conns) beside those of a connection. Its errors quote the
// address only where there is no password in it.
func parsePoolAddress(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err == nil {
		return config, nil
	}
	if _, plain := parseAddress(address); plain != nil {
		return nil, plain
	}
	return nil, errors.New("address of the database: a parameter of the pool (pool_...) cannot be read")
}

// Close ends all connections. It waits for operations under way.
func (s *Store) Close() {
	s.groups.writers.Wait()
	s.pool.Close()
}

// Mode says what partitions the hot tables: "plain" Postgres or "timescaledb",
// decided when the database was first migrated.
func (s *Store) Mode() string { return s.mode }

// readSettings holds the database's schema to the program's, and reads its mode.
func (s *Store) readSettings(ctx context.Context) error {
	if s.options.Pooler {
		if err := s.checkSearchPath(ctx); err != nil {
			return err
		}
	}
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	return s.step(ctx, "read corewait_settings", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT value FROM corewait_settings WHERE name = 'mode'`).Scan(&s.mode)
	})
}

// OperationError is the failure of one round trip to the database.
type OperationError struct {
	Operation string // "copy interrupt_samples"
	Err       error
}

// Error is one line: the driver tells of each address that it tried on its own.
func (e *OperationError) Error() string {
	return e.Operation + ": " + strings.Join(strings.FieldsFunc(e.Err.Error(), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
}

// Unwrap gives the error of the driver or the context.
func (e *OperationError) Unwrap() error { return e.Err }

// step runs one round trip, or a few that belong together, under the store's
// deadline; its error names the operation.
func (s *Store) step(ctx context.Context, operation string, do func(context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, s.options.Deadline, errDeadline)
	defer cancel()
	return s.operationError(limited, operation, do(limited))
}

// errDeadline tells the store's own deadline from the caller's.
var errDeadline = errors.New("the store's deadline")

// operationError names the operation in an error, unless the error names a
// closer one, and says whether the store's deadline was the reason.
func (s *Store) operationError(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if of := new(OperationError); errors.As(err, &of) {
		if ctx.Err() == nil {
			return err
		}
		operation, err = of.Operation, of.Err
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // the server's word is that a user cancelled it
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if errors.Is(context.Cause(ctx), errDeadline) {
		err = fmt.Errorf("deadline of %v exceeded: %w", s.options.Deadline, err)
	}
	return &OperationError{Operation: operation, Err: err}
}

// inTx runs do in one transaction under the store's deadline. An error of do
// rolls it back.
func (s *Store) inTx(ctx context.Context, operation string, do func(context.Context, pgx.Tx) error) error {
	return s.step(ctx, operation, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}
