package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/corewait/corewait/correlate/series"
)

// database is DuckDB in memory, on one thread, with the same series as tables.
type database struct {
	db   *sql.DB
	conn *sql.Conn // one, since temporary tables are its own
}

func open(ctx context.Context) (*database, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, fmt.Errorf("open DuckDB: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to DuckDB: %w", err), db.Close())
	}
	d := &database{db, conn}
	if err := d.exec(ctx, "SET threads = 1"); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *database) close() error { return errors.Join(d.conn.Close(), d.db.Close()) }

func (d *database) exec(ctx context.Context, statement string) error {
	if _, err := d.conn.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("DuckDB: %.60q: %w", strings.TrimSpace(statement), err)
	}
	return nil
}

// load fills the tables. Interrupts have a column for each CPU, the layout that
// suits a columnar database best.
func (d *database) load(ctx context.Context, s *series.Series) error {
	columns := make([]string, len(s.Interrupts.CPUs))
	for i, id := range s.Interrupts.CPUs {
		columns[i] = fmt.Sprintf("cpu%d FLOAT", id)
	}
	for _, t := range []struct {
		name, columns string
		rows          int
		fill          func(row []driver.Value, k int)
	}{
		{"interrupts", "from_us BIGINT, " + strings.Join(columns, ", "), len(s.Interrupts.Spans), func(row []driver.Value, k int) {
			row[0] = s.Interrupts.Spans[k].From
			for c, v := range s.Interrupts.Row(k) {
				row[c+1] = v
			}
		}},
		{"placement", "at_us BIGINT, cpu INTEGER", len(s.Threads[0].At), func(row []driver.Value, k int) {
			row[0], row[1] = s.Threads[0].At[k], s.Threads[0].CPU[k]
		}},
		{"demand", "from_us BIGINT, per_s DOUBLE", len(s.Counters["user commits"]), func(row []driver.Value, k int) {
			r := s.Counters["user commits"][k]
			row[0], row[1] = r.From, r.PerS
		}},
		{"waits", "at_us BIGINT, waited_us BIGINT", len(s.Waits), func(row []driver.Value, k int) {
			row[0], row[1] = s.Waits[k].At, s.Waits[k].TimeWaited
		}},
		{"topology", "cpu INTEGER, socket INTEGER", len(s.Topology.CPUs), func(row []driver.Value, k int) {
			row[0], row[1] = int32(s.Topology.CPUs[k].ID), int32(s.Topology.CPUs[k].Socket) //nolint:gosec // under 64
		}},
	} {
		if err := d.exec(ctx, "CREATE TABLE "+t.name+" ("+t.columns+")"); err != nil {
			return err
		}
		if err := d.append(t.name, 1+strings.Count(t.columns, ","), t.rows, t.fill); err != nil {
			return err
		}
	}
	return nil
}

// append fills a table row by row.
func (d *database) append(table string, width, rows int, fill func(row []driver.Value, k int)) error {
	err := d.conn.Raw(func(c any) error {
		conn, ok := c.(driver.Conn)
		if !ok {
			return errors.New("not a connection of DuckDB's driver")
		}
		a, err := duckdb.NewAppenderFromConn(conn, "", table)
		if err != nil {
			return err
		}
		row := make([]driver.Value, width)
		for k := range rows {
			fill(row, k)
			if err := a.AppendRow(row...); err != nil {
				return errors.Join(err, a.Close())
			}
		}
		return a.Close()
	})
	if err != nil {
		return fmt.Errorf("DuckDB: fill %s: %w", table, err)
	}
	return nil
}
