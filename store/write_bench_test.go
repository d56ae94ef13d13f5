package store_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// pushedTables are the tables that a push of FillPush has rows in.
var pushedTables = []string{"interrupt_samples", "device_samples", "softirq_samples", "cpu_samples", "system_samples", "placement_samples"}

// BenchmarkPush compares pushes, one by one and of many nodes at once, with bare
// COPYs of the same rows into the same tables: in transactions of one push, and of
// all rows of a table at once. It reports rows per second and the ratios: with the
// disk waited for, and without, where nothing hides what a push costs.
func BenchmarkPush(b *testing.B) {
	b.Run("fsync", func(b *testing.B) {
		server := testdb.Server(b, testdb.Options{Migrated: true, Fsync: true})
		benchmarkPush(b, openStore(b, store.Options{URL: server.URL()}))
	})
	b.Run("no fsync", func(b *testing.B) { benchmarkPush(b, openDatabase(b)) })
}

func benchmarkPush(b *testing.B, d *database) {
	b.Helper()
	const pushes = 200
	node, begin := d.node("db1"), today().Add(-24*time.Hour)
	batches := make([]*store.Batch, pushes)
	for i := range batches {
		batches[i] = store.NewBatch()
		if err := store.FillPush(batches[i], begin.Add(time.Duration(i)*10*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
	sequence := int64(0)
	push := func() {
		for _, batch := range batches {
			sequence++
			d.push(node, store.Receipt{Sequence: sequence}, batch)
		}
	}
	const agents = 32
	nodes := make([]store.NodeID, agents)
	for i := range nodes {
		nodes[i] = d.node(fmt.Sprint("agent", i))
	}
	pushAtOnce := func() {
		var all sync.WaitGroup
		for i, node := range nodes {
			all.Go(func() {
				for k := i; k < pushes; k += agents {
					if stored, err := d.Push(context.Background(), node, store.Receipt{Sequence: sequence + int64(k)}, batches[k]); err != nil || !stored {
						b.Error(stored, err)
					}
				}
			})
		}
		all.Wait()
		sequence += pushes
	}
	push() // makes partitions, names, lines; and the rows that are copied below
	conn, err := d.Pool().Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	rows := 0
	for _, table := range pushedTables {
		rows += d.count(table)
	}
	one := copiesOf(b, conn.Conn(), begin, 10*time.Second, pushes)
	all := copiesOf(b, conn.Conn(), begin, pushes*10*time.Second, 1)

	pushAtOnce() // numbers the lines of its nodes
	var took [4]time.Duration
	for b.Loop() {
		for i, do := range []func(){push, func() { copyBare(b, conn.Conn(), one) }, func() { copyBare(b, conn.Conn(), all) }, pushAtOnce} {
			for _, table := range pushedTables {
				d.exec("TRUNCATE " + table)
			}
			start := time.Now()
			do()
			took[i] += time.Since(start)
		}
	}
	perS := func(i int) float64 { return float64(rows*b.N) / took[i].Seconds() }
	b.ReportMetric(perS(0), "push-rows/s")
	b.ReportMetric(perS(1), "copy-rows/s")
	b.ReportMetric(perS(2), "bulk-rows/s")
	b.ReportMetric(perS(0)/perS(1), "push/copy")
	b.ReportMetric(perS(3), "many-rows/s")
	b.ReportMetric(perS(3)/perS(1), "many/copy")
	b.ReportMetric(perS(3)/perS(2), "many/bulk")
}

// copiesOf reads the rows of n stretches of time, by stretch and table.
func copiesOf(b *testing.B, conn *pgx.Conn, begin time.Time, length time.Duration, n int) [][][]byte {
	b.Helper()
	copies := make([][][]byte, n)
	for i := range copies {
		from := begin.Add(time.Duration(i) * length)
		for _, table := range pushedTables {
			var rows bytes.Buffer
			_, err := conn.PgConn().CopyTo(context.Background(), &rows, fmt.Sprintf("COPY (SELECT * FROM %s WHERE at >= '%s' AND at < '%s') TO STDOUT (FORMAT binary)", //nolint:unqueryvet // all, to be copied back
				table, from.Format(time.RFC3339), from.Add(length).Format(time.RFC3339)))
			if err != nil {
				b.Fatal(err)
			}
			copies[i] = append(copies[i], rows.Bytes())
		}
	}
	return copies
}

func copyBare(b *testing.B, conn *pgx.Conn, copies [][][]byte) {
	b.Helper()
	for _, tables := range copies {
		err := pgx.BeginFunc(context.Background(), conn, func(pgx.Tx) error {
			for i, rows := range tables {
				if _, err := conn.PgConn().CopyFrom(context.Background(), bytes.NewReader(rows), "COPY "+pushedTables[i]+" FROM STDIN (FORMAT binary)"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
