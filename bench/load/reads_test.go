package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/store/embedded"
)

// BenchmarkReads measures what reading 6 hours of one node takes on plain Postgres:
// rollups, Feed into series, and the views that Grafana reads.
func BenchmarkReads(b *testing.B) {
	ctx := b.Context()
	server, err := startServer(ctx)
	if errors.Is(err, embedded.ErrNoBinaries) || errors.Is(err, embedded.ErrUnsupported) {
		b.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := server.remove(ctx); err != nil {
			b.Error(err)
		}
	}()
	s, err := store.Open(ctx, store.Options{URL: server.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	db, err := connect(ctx, server.URL(), 1)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := fill(ctx, s, yesterday(), pushesOfDay/4); err != nil {
		b.Fatal(err)
	}
	node, err := s.Node(ctx, "storage")
	if err != nil {
		b.Fatal(err)
	}
	window := domain.Window{From: yesterday(), To: yesterday().Add(6 * time.Hour)}
	measured := func(what string, do func() error) {
		before, err := server.cpu()
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := do(); err != nil {
			b.Fatalf("%s: %v", what, err)
		}
		took := time.Since(start)
		after, err := server.cpu()
		if err != nil {
			b.Fatal(err)
		}
		fmt.Printf("  %-28s %8.0f ms, Postgres %.0f ms of CPU\n", what, took.Seconds()*1e3, (after-before).Seconds()*1e3)
	}
	for b.Loop() {
		measured("rollups", func() error { return s.RollUp(ctx, node, window.From, window.To) })
		measured("Feed into series", func() error {
			return s.Feed(ctx, store.Source{Node: node}, window, series.NewBuilder(domain.WatchLGWR(), window))
		})
		for _, view := range []string{"interrupts", "device_interrupts", "softirqs", "cpus", "disks", "placements"} {
			measured("view "+view, func() error {
				var rows int64
				return db.QueryRow(ctx, "SELECT count(*) FROM corewait_reader."+view+" WHERE time >= $1 AND time < $2", window.From, window.To).Scan(&rows)
			})
		}
	}
}
