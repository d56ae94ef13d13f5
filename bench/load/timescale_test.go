package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// timescaleSizes reads what the sample tables and the receipts take, chunks and
// what they are compressed to included.
const timescaleSizes = `
	SELECT t.table_name, coalesce(s.table_bytes, pg_relation_size(t.table_name::regclass)), coalesce(s.index_bytes, pg_indexes_size(t.table_name::regclass)),
	       coalesce(s.toast_bytes, 0)
	FROM (SELECT table_name FROM corewait_hot_tables WHERE slice = 'day' UNION ALL SELECT 'receipts') AS t
	LEFT JOIN LATERAL (SELECT table_bytes, index_bytes, toast_bytes FROM hypertable_detailed_size(t.table_name::regclass)) AS s ON t.table_name <> 'receipts'
	ORDER BY 1`

// hoursVariable says how many hours of a node BenchmarkCompressed writes.
const hoursVariable = "COREWAIT_BENCH_HOURS"

// BenchmarkCompressed measures what a day of one node takes on TimescaleDB once
// its chunk is compressed, as the retention job does it after four days. Some hours
// of it are too much by the pages that each table takes however little it holds.
func BenchmarkCompressed(b *testing.B) {
	hours := 24
	if text := os.Getenv(hoursVariable); text != "" {
		var err error
		if hours, err = strconv.Atoi(text); err != nil || hours < 1 || hours > 24 {
			b.Fatalf("%s=%s: not 1 to 24", hoursVariable, text)
		}
	}
	for b.Loop() {
		ctx := b.Context()
		address := testdb.Timescale(b)
		if err := store.MigrateUp(ctx, address, store.MigrateOptions{Timescale: store.TimescaleRequire}); err != nil {
			b.Fatal(err)
		}
		s, err := store.Open(ctx, store.Options{URL: address, MaxConns: 1, CopyRows: 10, Deadline: 10 * time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		now := time.Now()
		policy := store.DefaultRetention()
		from := now.UTC().Truncate(24 * time.Hour).Add(-policy.Uncompressed - 2*24*time.Hour)
		start := time.Now()
		if err := fill(ctx, s, from.Add(time.Duration(24-hours)*time.Hour/2), pushesOfDay*hours/24); err != nil {
			b.Fatal(err)
		}
		fmt.Printf("%d h of one node written in %.0f s; multiplied to a day below\n", hours, time.Since(start).Seconds())
		measured := func(title string) float64 {
			db, err := connect(ctx, address, 1)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			all, err := sizes(ctx, db, timescaleSizes)
			if err != nil {
				b.Fatal(err)
			}
			perDay, err := show(os.Stdout, title, all, 24/float64(hours))
			if err != nil {
				b.Fatal(err)
			}
			return perDay
		}
		s.Close()
		measured("as written")
		if s, err = store.Open(ctx, store.Options{URL: address, MaxConns: 1, CopyRows: 10}); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Retain(ctx, policy, now); err != nil {
			b.Fatal(err)
		}
		s.Close()
		perDay := measured("compressed")
		b.ReportMetric(perDay, "MB/day")
		fmt.Printf("storage compressed %.0f MB/day\n", perDay)
	}
}
