package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewait/corewait/store"
)

// fill pushes what one node sees from an instant on, a receipt for each 10 s.
func fill(ctx context.Context, s *store.Store, from time.Time, pushes int) error {
	id, err := s.Node(ctx, "storage")
	if err != nil {
		return err
	}
	n := newNode(0)
	for i := range pushes {
		b := store.NewBatch()
		if err := n.push(b, from.Add(time.Duration(i)*pushEvery)); err != nil {
			return err
		}
		stored, err := s.Push(ctx, id, store.Receipt{Sequence: int64(i)}, b)
		if err != nil {
			return err
		}
		if !stored {
			return fmt.Errorf("push %d was stored before", i)
		}
	}
	return nil
}

// size is what a table takes with all its partitions, in bytes.
type size struct {
	table              string
	rows               int64
	heap, index, toast int64
}

func (s *size) total() int64 { return s.heap + s.index + s.toast }

// plainSizes reads what the sample tables and the receipts take on plain Postgres.
const plainSizes = `
	SELECT t.table_name, sum(pg_relation_size(p.relid, 'main') + pg_relation_size(p.relid, 'fsm') + pg_relation_size(p.relid, 'vm'))::int8,
	       sum(pg_indexes_size(p.relid))::int8,
	       sum(pg_total_relation_size(p.relid) - pg_indexes_size(p.relid) - pg_relation_size(p.relid, 'main')
	           - pg_relation_size(p.relid, 'fsm') - pg_relation_size(p.relid, 'vm'))::int8
	FROM (SELECT table_name FROM corewait_hot_tables WHERE slice = 'day' UNION ALL SELECT 'receipts') AS t
	CROSS JOIN LATERAL (SELECT relid FROM pg_partition_tree(t.table_name::regclass) WHERE isleaf
	                    UNION SELECT oid FROM pg_class WHERE oid = t.table_name::regclass AND relkind = 'r') AS p
	GROUP BY 1 ORDER BY 1`

// sizes runs a query of sizes, and counts rows.
func sizes(ctx context.Context, db *pgxpool.Pool, query string) ([]size, error) {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("read sizes: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s size, err error) {
		err = row.Scan(&s.table, &s.heap, &s.index, &s.toast)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("read sizes: %w", err)
	}
	for i := range all {
		if err := db.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{all[i].table}.Sanitize()).Scan(&all[i].rows); err != nil {
			return nil, fmt.Errorf("count %s: %w", all[i].table, err)
		}
	}
	return all, nil
}

// show prints sizes in MB, multiplied to those of a day, and gives their sum.
// Tables without rows are left out of the list, and counted.
func show(out io.Writer, title string, all []size, times float64) (float64, error) {
	const mb = 1e6
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\trows\theap MB\tindex MB\tTOAST MB\tMB\tbytes/row\t\n", title)
	var sum size
	for i := range all {
		s := &all[i]
		sum.rows, sum.heap, sum.index, sum.toast = sum.rows+s.rows, sum.heap+s.heap, sum.index+s.index, sum.toast+s.toast
		if s.rows > 0 {
			showRow(w, s, times, mb)
		}
	}
	sum.table = "all"
	showRow(w, &sum, times, mb)
	return times * float64(sum.total()) / mb, w.Flush()
}

func showRow(w io.Writer, s *size, times, mb float64) {
	fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t\n", s.table, times*float64(s.rows), times*float64(s.heap)/mb, times*float64(s.index)/mb,
		times*float64(s.toast)/mb, times*float64(s.total())/mb, float64(s.total())/float64(max(s.rows, 1)))
}

// storage measures what a day of one node takes in plain Postgres.
func storage(ctx context.Context, server *server, out io.Writer, pushes int) (float64, error) {
	db, err := connect(ctx, server.URL(), 1)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	// Nothing is waited for: what is measured is sizes.
	s, err := store.Open(ctx, store.Options{URL: server.URL() + "&options=-c%20synchronous_commit%3Doff"})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	tables, err := sampleTables(ctx, db)
	if err != nil {
		return 0, err
	}
	if err := empty(ctx, db, tables); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := fill(ctx, s, yesterday(), pushes); err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%d pushes of one node written in %.0f s\n", pushes, time.Since(start).Seconds())
	times := float64(pushesOfDay) / float64(pushes)
	var perDay float64
	for _, when := range []string{"as written", "after VACUUM"} {
		if when != "as written" {
			if _, err := db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
				return 0, fmt.Errorf("vacuum: %w", err)
			}
		}
		all, err := sizes(ctx, db, plainSizes)
		if err != nil {
			return 0, err
		}
		if perDay, err = show(out, when, all, times); err != nil {
			return 0, err
		}
	}
	return perDay, nil
}

// yesterday is the last whole day: within retention, and of one partition.
func yesterday() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour) }
