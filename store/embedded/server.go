//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running private PostgreSQL.
type Server struct {
	folder  *folder
	log     *serverLog
	process *process
	socket  string // folder of the socket
	outside bool   // the socket is not within Dir

	stopping sync.Once
	stopErr  error
}

// Start starts the private server of a folder, making folder and cluster where
// there are none, and returns when it takes connections. It takes over from a
// process that crashed: a server that still runs is stopped first, and the
// cluster recovers.
//
// The context bounds the start alone. Errors that a caller may decide on:
// ErrRoot, ErrNoBinaries, ErrForeign, ErrUnsupported, InUseError, VersionError.
func Start(ctx context.Context, o Options) (*Server, error) {
	a, err := accountOf(ctx, o.RunAs)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(o.Dir, a)
	if err != nil {
		return nil, err
	}
	s := &Server{folder: f}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.abandon(context.WithoutCancel(ctx)))
	}
	f.fresh = false
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options) error {
	f := s.folder
	version, err := f.clusterVersion()
	if err != nil {
		return err
	}
	b, err := findBinaries(ctx, o, f.dir, version)
	if err != nil {
		return err
	}
	stale, err := takeOver(ctx, f.path(dataName))
	if err != nil {
		return err
	}
	if err := removeShort(f.leftover, f.account.uid); err != nil {
		return fmt.Errorf("embedded postgres: socket left by an earlier process: %w", err)
	}
	if err := f.writeLock(""); err != nil {
		return err
	}
	if s.socket, s.outside, err = f.makeSocketFolder(); err != nil {
		return err
	}
	args, err := f.serverArgs(o, s.socket)
	if err != nil {
		return err
	}
	if err := f.writeAccess(o.AnyRole); err != nil {
		return err
	}
	if f.fresh {
		if err := f.initCluster(ctx, b, o.NoFsync); err != nil {
			return err
		}
	}
	if s.log, err = openLog(f.path(logName)); err != nil {
		return err
	}
	if err := s.launchUntilFree(ctx, filepath.Join(b.dir, "postgres"), stale, args); err != nil {
		return err
	}
	return s.createDatabase(ctx)
}

// orphanPatience is how long sessions of a server that was killed may take to
// see that it is gone; until then PostgreSQL does not start.
const orphanPatience = 30 * time.Second

// launchUntilFree launches the server, again and again while sessions of the
// one before are still ending.
func (s *Server) launchUntilFree(ctx context.Context, program string, stale int, args []string) error {
	var err error
	poll(ctx, orphanPatience, func() bool {
		err = s.launch(ctx, program, stale, args)
		return err == nil || !strings.Contains(s.log.Tail(), "is still in use")
	})
	return err
}

// launch starts the server and waits until it takes connections.
//
// stale is an id in postmaster.pid that now belongs to a program which is not
// this cluster's server. PostgreSQL would refuse to start as long as that
// program runs; PG_GRANDPARENT_PID names an id that it need not be afraid of
// (CreateLockFile in miscinit.c), and leaves all its other checks in place.
func (s *Server) launch(ctx context.Context, program string, stale int, args []string) error {
	s.log.forget()
	// SIGINT is the fast shutdown: what an ended caller leaves is a clean cluster.
	cmd := s.folder.account.command(s.folder.dir, program, syscall.SIGINT, s.log, args...)
	if stale != 0 {
		cmd.Env = append(cmd.Env, "PG_GRANDPARENT_PID="+strconv.Itoa(stale))
	}
	p, err := start(cmd)
	if err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	s.process = p
	return s.waitReady(ctx)
}

// workPatience bounds what is done on the database that every cluster has.
const workPatience = 30 * time.Second

// waitReady waits until the server says that it takes connections, and sees that
// it takes ours. It does not just try: the server would log each attempt.
func (s *Server) waitReady(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if pid, status := readPostmaster(s.folder.path(dataName)); pid == s.PID() && status == "ready" {
			return s.do(ctx, func(context.Context, *pgx.Conn) error { return nil })
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("embedded postgres: %s: does not start: %w: %s", s.folder.dir, s.process.err, s.log.Tail())
		case <-ctx.Done():
			return fmt.Errorf("embedded postgres: %s: not ready: %w: %s", s.folder.dir, context.Cause(ctx), s.log.Tail())
		case <-tick.C:
		}
	}
}

// do works on the database that every cluster has.
func (s *Server) do(ctx context.Context, work func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, workPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.address("postgres"))
	if err != nil {
		return fmt.Errorf("embedded postgres: %s: %w", s.folder.dir, err)
	}
	return errors.Join(work(ctx, conn), conn.Close(ctx))
}

// createDatabase makes the database that the store is for, once.
func (s *Server) createDatabase(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1)", Database).Scan(&there)
		if err != nil || there {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE DATABASE "+Database)
		return err
	})
}

// URL is the address of the database, for whoever may log in. It holds no secret.
func (s *Server) URL() string { return s.address(Database) }

func (s *Server) address(database string) string {
	query := url.Values{"host": {s.socket}, "port": {"5432"}, "sslmode": {"disable"}}
	address := url.URL{Scheme: "postgres", User: url.User(Owner), Path: "/" + database, RawQuery: query.Encode()}
	return address.String()
}

// PID is the process id of the postmaster.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Err says, once Done is closed, how the server ended; nil: it was shut down, or
// runs.
func (s *Server) Err() error {
	select {
	case <-s.process.done:
	default:
		return nil
	}
	if s.process.err == nil {
		return nil
	}
	return fmt.Errorf("embedded postgres: %s: ended: %w: %s", s.folder.dir, s.process.err, s.log.Tail())
}

// Stop shuts the server down, ending its sessions, and lets the folder go. When
// the context ends first, or after a minute, the server is ended without a
// checkpoint, and the next start recovers; the error says so. A server that has
// ended already is no error. Further calls wait for the first and give what it gave.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Do(func() {
		err := s.end(ctx, fastPatience)
		s.stopErr = errors.Join(err, s.log.Close(), s.removeSocket(), s.folder.release())
	})
	return s.stopErr
}

// end ends the process: politely, then firmly.
func (s *Server) end(ctx context.Context, patience time.Duration) error {
	select {
	case <-s.process.done:
		return nil
	default:
	}
	began := time.Now()
	_ = s.process.cmd.Process.Signal(syscall.SIGINT)
	if s.process.ended(ctx, patience) {
		return s.Err()
	}
	_ = s.process.cmd.Process.Signal(syscall.SIGQUIT)
	if !s.process.ended(context.WithoutCancel(ctx), immediatePatience) {
		s.process.killGroup()
		<-s.process.done
	}
	return fmt.Errorf("embedded postgres: %s: no clean shutdown within %s: the next start recovers", s.folder.dir, time.Since(began).Round(time.Millisecond))
}

func (s *Server) removeSocket() error {
	if !s.outside {
		return nil
	}
	return removeShort(s.socket, s.folder.account.uid)
}

// abandonPatience is how long a server that did not come up may take to end.
const abandonPatience = 10 * time.Second

// abandon undoes a start that failed.
func (s *Server) abandon(ctx context.Context) error {
	var errs []error
	if s.process != nil {
		_ = s.end(ctx, abandonPatience)
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	return errors.Join(append(errs, s.removeSocket(), s.folder.discard())...)
}
