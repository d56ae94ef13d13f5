// Command load plays the agents of many nodes. It pushes what they would send
// into a private Postgres, through store.Push and through the endpoint that agents
// push to, by turns with the bare COPY of the same rows into the same tables, and
// measures what a day of one node takes there. The benchmark beside it does the
// latter on TimescaleDB. With -http it plays agents over HTTPS as they come, one
// push in ten seconds each, and counts that what was sent is what is stored.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

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
	overHTTP := flag.Bool("http", false, "play agents over HTTPS in real time instead, and count what is stored")
	inFlight := flag.Int("in-flight", 0, "pushes that the service works on at the same time, with -http; 0: its usual bound")
	duration := flag.Duration("duration", 5*time.Minute, "for how long, with -http")
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
	if *overHTTP {
		line, err := playAgents(ctx, server, os.Stdout, *agents, *inFlight, *duration)
		if err == nil {
			fmt.Println(line)
		}
		return err
	}
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
