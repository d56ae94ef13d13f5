package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/store/embedded"
)

// server is a private Postgres, as a small site runs it: fsync and
// synchronous_commit are on.
type server struct {
	*embedded.Server

	dir string
}

// startServer starts a server in a temporary folder, with an empty schema.
func startServer(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-load-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	o := embedded.Options{Dir: filepath.Join(dir, "postgres")}
	if os.Geteuid() == 0 {
		o.RunAs, o.AnyRole = "nobody", true
		err = os.Chmod(dir, 0o711) //nolint:gosec // the server's user passes through
	}
	s := &server{dir: dir}
	if err == nil {
		s.Server, err = embedded.Start(ctx, o)
	}
	if err == nil {
		err = store.MigrateUp(ctx, s.URL(), store.MigrateOptions{Timescale: store.TimescaleOff})
	}
	if err != nil {
		return nil, errors.Join(err, s.remove(ctx))
	}
	return s, nil
}

// remove ends the server and removes its folder, after an interrupt as well.
func (s *server) remove(ctx context.Context) error {
	var err error
	if s.Server != nil {
		err = s.Stop(context.WithoutCancel(ctx))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// cpu gives the CPU time that the server's processes have used, those that have
// ended included.
func (s *server) cpu() (time.Duration, error) {
	postmaster := s.PID()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("read the server's CPU time: %w", err)
	}
	var ticks int64
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		p, err := parseStat(stat)
		switch {
		case err != nil:
			return 0, fmt.Errorf("read the server's CPU time: process %d: %w", pid, err)
		case pid == postmaster:
			ticks += p.own + p.children
		case p.parent == postmaster:
			ticks += p.own
		}
	}
	return time.Duration(ticks) * time.Second / userHz, nil
}

// userHz is the unit of times in /proc/PID/stat on every architecture that Go
// runs on.
const userHz = 100

// processTimes are fields of /proc/PID/stat (proc(5)); times in ticks.
type processTimes struct {
	parent        int
	own, children int64
}

func parseStat(stat []byte) (processTimes, error) {
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return processTimes{}, errors.New("too few fields")
	}
	var values [5]int64
	for i, field := range []int{1, 11, 12, 13, 14} { // ppid utime stime cutime cstime, counted from the state
		v, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil {
			return processTimes{}, err
		}
		values[i] = v
	}
	return processTimes{int(values[0]), values[1] + values[2], values[3] + values[4]}, nil
}

// connect gives connections that are not the store's: of the bare COPY and of
// questions about sizes.
func connect(ctx context.Context, url string, conns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	config.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}

// sampleTables gives the tables that have rows of pushes.
func sampleTables(ctx context.Context, db *pgxpool.Pool) ([]string, error) {
	rows, err := db.Query(ctx, "SELECT table_name FROM corewait_hot_tables WHERE slice = 'day' ORDER BY 1")
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return tables, nil
}

// empty empties the tables and the receipts, and lets the server begin with a
// clean cache.
func empty(ctx context.Context, db *pgxpool.Pool, tables []string) error {
	for _, statement := range []string{"TRUNCATE receipts, " + strings.Join(tables, ", "), "CHECKPOINT"} {
		if _, err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
