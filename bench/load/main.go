// Command load plays the agents of many nodes. It pushes what they would send
// through store.Push into a private Postgres, by turns with the bare COPY of the
// same rows into the same tables, and measures what a day of one node takes
// there. The benchmark beside it does the latter on TimescaleDB.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/corewait/corewait/store/embedded"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	agents := flag.Int("agents", 32, "agents that push at the same time")
	pushes := flag.Int("pushes", 512, "pushes of a round, of all agents")
	rounds := flag.Int("rounds", 5, "rounds that count")
	day := flag.Int("day", pushesOfDay, "pushes of one node to measure storage by; 0: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := startServer(ctx)
	if errors.Is(err, embedded.ErrNoBinaries) || errors.Is(err, embedded.ErrUnsupported) {
		fmt.Println("load SKIPPED:", err)
		fmt.Println("ratio copy SKIPPED: no PostgreSQL")
		fmt.Println("storage plain SKIPPED: no PostgreSQL")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.remove(ctx)) }()
	lines := make([]string, 0, 2)
	if *rounds > 0 {
		line, err := against(ctx, server, *agents, *pushes, *rounds)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if *day > 0 {
		perDay, err := storage(ctx, server, os.Stdout, *day)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("storage plain %.0f MB/day", perDay))
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}
