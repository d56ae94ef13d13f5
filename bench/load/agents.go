package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/bench/measure"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// storedReadings counts what is in the tables, one by one: intervals of interrupts,
// samples of threads, devices of disk rows.
const storedReadings = `
	SELECT (SELECT coalesce(sum(intervals), 0) FROM interrupt_samples) + (SELECT count(*) FROM device_samples)
	     + (SELECT count(*) FROM softirq_samples) + (SELECT count(*) FROM cpu_samples) + (SELECT count(*) FROM system_samples)
	     + (SELECT coalesce(sum(cardinality(corewait_numbers(device_ids))), 0) FROM disk_samples)
	     + (SELECT coalesce(sum(n), 0) FROM placement_samples, unnest(corewait_numbers(run_samples)) AS n)`

// fleet is many agents that push every ten seconds, spread over them.
type fleet struct {
	players []*player
	boot    time.Time

	pushes, sent, retries, duplicates atomic.Int64
	bytes                             atomic.Int64

	mu    sync.Mutex
	acks  []time.Duration // of pushes, from when they were sent to their acknowledgement
	late  []time.Duration // by how much they were sent later than they were due
	whole []time.Duration // from when they were due: with what was refused and sent again
}

// playAgents lets agents push for a time over HTTPS, and counts what is stored.
func playAgents(ctx context.Context, s *server, out io.Writer, agents, inFlight int, length time.Duration) (line string, err error) {
	kept, err := store.Open(ctx, store.Options{URL: s.URL(), MaxConns: connections})
	if err != nil {
		return "", err
	}
	defer kept.Close()
	e, err := startEndpoint(ctx, kept, receive.Options{MaxInFlight: inFlight})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, e.close(ctx)) }()
	f := &fleet{boot: time.Now().Add(-100 * time.Hour)}
	defer func() {
		for _, p := range f.players {
			if p != nil {
				p.close()
			}
		}
	}()
	if err := f.enrol(ctx, e, kept, agents); err != nil {
		return "", err
	}
	before, err := s.cpu()
	if err != nil {
		return "", err
	}
	cost, err := measure.Once(func() error { return f.play(ctx, length) })
	if err != nil {
		return "", err
	}
	after, err := s.cpu()
	if err != nil {
		return "", err
	}
	return f.report(ctx, s, out, cost, after-before)
}

// enrol makes the agents, with a node and a token each.
func (f *fleet) enrol(ctx context.Context, e *endpoint, kept *store.Store, agents int) error {
	f.players = make([]*player, agents)
	return together(ctx, connections, func(ctx context.Context, w int) error {
		for i := w; i < agents; i += connections {
			node, err := kept.Node(ctx, fmt.Sprint("agent", i))
			if err != nil {
				return err
			}
			if f.players[i], err = e.newPlayer(ctx, kept, node); err != nil {
				return err
			}
		}
		return nil
	})
}

// together runs so many at the same time. The first error ends the others, and is
// what is given.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// play runs all agents until the time is over.
func (f *fleet) play(ctx context.Context, length time.Duration) error {
	start := time.Now()
	return together(ctx, len(f.players), func(ctx context.Context, i int) error {
		// The first push of the first agent is due at once, that of the last one
		// almost ten seconds later.
		return f.agent(ctx, i, start.Add(pushEvery*time.Duration(i)/time.Duration(len(f.players))), start.Add(length))
	})
}

// agent pushes what its node saw in the last ten seconds, every ten seconds.
func (f *fleet) agent(ctx context.Context, i int, due, end time.Time) error {
	n := newNode(uint64(i)) //nolint:gosec // not negative
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for sequence := uint64(1); due.Before(end); sequence++ {
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		body, readings, err := n.wire(f.boot, due.Add(-pushEvery), sequence)
		if err != nil {
			return err
		}
		if err := f.pushUntilTaken(ctx, f.players[i], body, due); err != nil {
			return fmt.Errorf("agent %d, push %d: %w", i, sequence, err)
		}
		f.pushes.Add(1)
		f.sent.Add(readings)
		f.bytes.Add(int64(len(body)))
		due = due.Add(pushEvery)
	}
	return nil
}

// pushUntilTaken sends a push, again where the service asks for it.
func (f *fleet) pushUntilTaken(ctx context.Context, p *player, body []byte, due time.Time) error {
	for {
		begin := time.Now()
		ack, refused, err := p.push(ctx, body, api.SentClock{BootID: bootID, BoottimeUS: begin.Sub(f.boot).Microseconds(), UTCUS: begin.UnixMicro()})
		if err != nil {
			return err
		}
		if refused == nil {
			if ack.GetDuplicate() {
				f.duplicates.Add(1)
			}
			f.note(time.Since(begin), begin.Sub(due), time.Since(due))
			return nil
		}
		if refused.Code != api.CodeBusy && refused.Code != api.CodeUnavailable {
			return refused
		}
		f.retries.Add(1)
		wait := time.NewTimer(refused.RetryAfter + rand.N(time.Second)) //nolint:gosec // spreads load
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

func (f *fleet) note(ack, late, whole time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acks, f.late, f.whole = append(f.acks, ack), append(f.late, late), append(f.whole, whole)
}

// report counts what is stored, prints what was measured, and gives the line.
func (f *fleet) report(ctx context.Context, s *server, out io.Writer, cost measure.Cost, postgres time.Duration) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return "", fmt.Errorf("count what is stored: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var stored, receipts int64
	if err := conn.QueryRow(ctx, storedReadings).Scan(&stored); err != nil {
		return "", fmt.Errorf("count what is stored: %w", err)
	}
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM receipts").Scan(&receipts); err != nil {
		return "", fmt.Errorf("count receipts: %w", err)
	}
	pushes, sent := f.pushes.Load(), f.sent.Load()
	fmt.Fprintf(out, "%d agents for %.0f s over HTTPS: %d pushes of %.1f kB and %.0f readings each, %.0f a second; %d were put off and sent again\n",
		len(f.players), cost.Wall.Seconds(), pushes, float64(f.bytes.Load())/float64(pushes)/1e3, float64(sent)/float64(pushes), float64(pushes)/cost.Wall.Seconds(), f.retries.Load())
	fmt.Fprintf(out, "  readings sent %d, stored %d; pushes acknowledged %d, receipts %d, duplicates %d\n", sent, stored, pushes, receipts, f.duplicates.Load())
	for _, l := range []struct {
		name string
		all  []time.Duration
	}{{"acknowledged after", f.acks}, {"sent after it was due", f.late}, {"acknowledged after it was due", f.whole}} {
		slices.Sort(l.all)
		at := func(p int) float64 { return l.all[(len(l.all)*p-1)/100].Seconds() * 1e3 }
		fmt.Fprintf(out, "  %-30s p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, most %.1f ms\n", l.name, at(50), at(95), at(99), at(100))
	}
	fmt.Fprintf(out, "  CPU ms a push: agents and service %.2f, Postgres %.2f; %.0f %% of %d CPUs\n", cost.CPU.Seconds()*1e3/float64(pushes), postgres.Seconds()*1e3/float64(pushes),
		100*(cost.CPU+postgres).Seconds()/cost.Wall.Seconds()/float64(runtime.NumCPU()), runtime.NumCPU())
	if sent != stored || pushes != receipts {
		return "", fmt.Errorf("%d readings sent and %d stored, %d pushes acknowledged and %d receipts", sent, stored, pushes, receipts)
	}
	return fmt.Sprintf("acknowledgement p99 %.0f ms", f.acks[(len(f.acks)*99-1)/100].Seconds()*1e3), nil
}
