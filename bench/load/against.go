package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/bench/measure"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// connections is how many the store and the bare COPY may use.
const connections = 16

// aloneOneIn is which of an agent's pushes are written when one client is alone:
// the first of so many.
const aloneOneIn = 8

// play is what agents push in a round, as batches and as the rows that these
// become.
type play struct {
	server *server
	store  *store.Store
	db     *pgxpool.Pool
	tables []string

	nodes    []store.NodeID
	batches  [][]*store.Batch // by agent and push
	endpoint *endpoint
	players  []*player     // by agent
	bodies   [][][]byte    // likewise, and by push
	copies   [][]tableRows // likewise
	bulk     tableRows     // of all pushes together
	rows     int64         // of all pushes together
	sequence atomic.Int64  // receipts given so far
}

// tableRows are rows in the binary format of COPY, by table; nil: none.
type tableRows [][]byte

// cost is what one side of a round took.
type cost struct {
	measure.Cost               // of this process
	postgres     time.Duration // CPU time of the server's processes
}

// cpu is the CPU time of both.
func (c cost) cpu() time.Duration { return c.CPU + c.postgres }

// side is one way to write the rows.
type side struct {
	name   string
	pushes int
	do     func(context.Context) error
	costs  []cost
}

// against measures pushes and bare COPYs by turns, and gives the line that says
// how they compare.
func against(ctx context.Context, s *server, agents, pushes, rounds int) (string, error) {
	each := max(1, pushes/agents)
	pushes = each * agents
	alone := (each + aloneOneIn - 1) / aloneOneIn * agents
	p, err := newPlay(ctx, s, agents, pushes)
	if err != nil {
		return "", err
	}
	defer p.close(ctx)
	sides := []*side{
		{name: "push, agents at once", pushes: pushes, do: func(ctx context.Context) error { return p.each(ctx, agents, 1, p.push) }},
		{name: "push over HTTPS, at once", pushes: pushes, do: func(ctx context.Context) error { return p.each(ctx, agents, 1, p.pushOverHTTPS) }},
		{name: "bare COPY, clients at once", pushes: pushes, do: func(ctx context.Context) error { return p.each(ctx, connections, 1, p.copyBare) }},
		{name: "push, one at a time", pushes: alone, do: func(ctx context.Context) error { return p.each(ctx, 1, aloneOneIn, p.push) }},
		{name: "bare COPY, one at a time", pushes: alone, do: func(ctx context.Context) error { return p.each(ctx, 1, aloneOneIn, p.copyBare) }},
		{name: "one COPY for each table", pushes: pushes, do: func(ctx context.Context) error { return p.copyRows(ctx, p.bulk) }},
	}
	for round := range rounds + 1 { // the first warms up and is not counted
		for _, side := range sides {
			c, err := p.measure(ctx, side.do)
			if err != nil {
				return "", fmt.Errorf("%s: %w", side.name, err)
			}
			if round > 0 {
				side.costs = append(side.costs, c)
			}
		}
	}
	return p.report(agents, sides), nil
}

// newPlay makes up what agents send, stores it once, and reads back the rows.
func newPlay(ctx context.Context, s *server, agents, pushes int) (*play, error) {
	p := &play{server: s}
	var err error
	if p.store, err = store.Open(ctx, store.Options{URL: s.URL(), MaxConns: connections}); err != nil {
		return nil, err
	}
	if p.db, err = connect(ctx, s.URL(), connections); err != nil {
		p.store.Close()
		return nil, err
	}
	if p.tables, err = sampleTables(ctx, p.db); err == nil {
		err = p.makeUp(ctx, agents, pushes/agents)
	}
	if err == nil {
		err = p.each(ctx, agents, 1, p.push) // makes the partitions, and numbers names and lines
	}
	if err == nil {
		err = p.readBack(ctx)
	}
	if err != nil {
		p.close(ctx)
		return nil, err
	}
	return p, nil
}

func (p *play) close(ctx context.Context) {
	for _, player := range p.players {
		player.close()
	}
	if p.endpoint != nil {
		if err := p.endpoint.close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "load:", err)
		}
	}
	p.store.Close()
	p.db.Close()
}

// makeUp makes up what each agent sends: as batches, and as the bytes of the same.
func (p *play) makeUp(ctx context.Context, agents, each int) error {
	var err error
	// Agents here push one after the other without a pause.
	if p.endpoint, err = startEndpoint(ctx, p.store, receive.Options{MaxInFlight: agents, PushesPerSecond: 1e6}); err != nil {
		return err
	}
	boot := pushTime(0).Add(-time.Hour)
	for i := range agents {
		id, err := p.store.Node(ctx, fmt.Sprint("agent", i))
		if err != nil {
			return err
		}
		n := newNode(uint64(i))
		batches := make([]*store.Batch, each)
		for k := range batches {
			batches[k] = store.NewBatch()
			if err := n.push(batches[k], pushTime(k)); err != nil {
				return err
			}
		}
		same, bodies := newNode(uint64(i)), make([][]byte, each)
		for k := range bodies {
			if bodies[k], _, err = same.wire(boot, pushTime(k), uint64(k+1)); err != nil {
				return err
			}
		}
		player, err := p.endpoint.newPlayer(ctx, p.store, id)
		if err != nil {
			return err
		}
		p.nodes, p.batches = append(p.nodes, id), append(p.batches, batches)
		p.players, p.bodies = append(p.players, player), append(p.bodies, bodies)
	}
	return nil
}

// pushTime is when a push's samples begin: at noon, in one partition.
func pushTime(k int) time.Time {
	return yesterday().Add(12*time.Hour + time.Duration(k)*pushEvery)
}

// readBack reads the rows of each push, and of all, as COPY takes them.
func (p *play) readBack(ctx context.Context) error {
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("read the rows back: %w", err)
	}
	defer conn.Release()
	for i, node := range p.nodes {
		p.copies = append(p.copies, nil)
		for k := range p.batches[i] {
			const oneOf = "node_id = %d AND at >= '%s' AND at < '%s'"
			rows, _, err := p.readRows(ctx, conn.Conn(), fmt.Sprintf(oneOf, node, pushTime(k).Format(time.RFC3339), pushTime(k+1).Format(time.RFC3339)))
			if err != nil {
				return err
			}
			p.copies[i] = append(p.copies[i], rows)
		}
	}
	p.bulk, p.rows, err = p.readRows(ctx, conn.Conn(), "true")
	return err
}

func (p *play) readRows(ctx context.Context, conn *pgx.Conn, where string) (tableRows, int64, error) {
	rows, total := make(tableRows, len(p.tables)), int64(0)
	for i, table := range p.tables {
		var buffer bytes.Buffer
		tag, err := conn.PgConn().CopyTo(ctx, &buffer, fmt.Sprintf("COPY (SELECT * FROM %s WHERE %s) TO STDOUT (FORMAT binary)", table, where)) //nolint:unqueryvet // all, to be copied back
		if err != nil {
			return nil, 0, fmt.Errorf("read the rows back: %s: %w", table, err)
		}
		if tag.RowsAffected() > 0 {
			rows[i] = buffer.Bytes()
			total += tag.RowsAffected()
		}
	}
	return rows, total, nil
}

// measure runs one side on empty tables.
func (p *play) measure(ctx context.Context, do func(context.Context) error) (cost, error) {
	if err := empty(ctx, p.db, p.tables); err != nil {
		return cost{}, err
	}
	before, err := p.server.cpu()
	if err != nil {
		return cost{}, err
	}
	var c cost
	if c.Cost, err = measure.Once(func() error { return do(ctx) }); err != nil {
		return cost{}, err
	}
	after, err := p.server.cpu()
	c.postgres = after - before
	return c, err
}

// each runs do for the pushes of every agent in their order, one out of so many,
// with so many agents at the same time.
func (p *play) each(ctx context.Context, atOnce, oneIn int, do func(ctx context.Context, agent, push int) error) error {
	failed := make([]error, atOnce)
	var all sync.WaitGroup
	for w := range atOnce {
		all.Go(func() {
			for agent := w; agent < len(p.batches); agent += atOnce {
				for k := 0; k < len(p.batches[agent]) && failed[w] == nil; k += oneIn {
					failed[w] = do(ctx, agent, k)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (p *play) push(ctx context.Context, agent, k int) error {
	stored, err := p.store.Push(ctx, p.nodes[agent], store.Receipt{Sequence: p.sequence.Add(1)}, p.batches[agent][k])
	if err == nil && !stored {
		err = fmt.Errorf("push %d of agent %d was stored before", k, agent)
	}
	return err
}

// pushOverHTTPS pushes the same by the wire: encrypted, compressed, decoded and
// checked. The clock is right when it is sent: what it was told of is a day old.
func (p *play) pushOverHTTPS(ctx context.Context, agent, k int) error {
	now := time.Now()
	clock := api.SentClock{BootID: bootID, BoottimeUS: now.Sub(pushTime(0).Add(-time.Hour)).Microseconds(), UTCUS: now.UnixMicro()}
	ack, refused, err := p.players[agent].push(ctx, p.bodies[agent][k], clock)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return fmt.Errorf("push %d of agent %d: %w", k, agent, refused)
	case ack.GetDuplicate():
		return fmt.Errorf("push %d of agent %d was stored before", k, agent)
	}
	return nil
}

func (p *play) copyBare(ctx context.Context, agent, k int) error {
	return p.copyRows(ctx, p.copies[agent][k])
}

// copyRows copies rows in one transaction.
func (p *play) copyRows(ctx context.Context, rows tableRows) error {
	err := pgx.BeginFunc(ctx, p.db, func(tx pgx.Tx) error {
		for i, table := range p.tables {
			if rows[i] == nil {
				continue
			}
			if _, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(rows[i]), "COPY "+table+" FROM STDIN (FORMAT binary)"); err != nil {
				return fmt.Errorf("copy %s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bare copy: %w", err)
	}
	return nil
}

// report prints what the sides took and gives the line that compares them.
func (p *play) report(agents int, sides []*side) string {
	pushes := sides[0].pushes
	perPush := float64(p.rows) / float64(pushes)
	var size int
	for _, rows := range p.bulk {
		size += len(rows)
	}
	fmt.Printf("%d pushes of %d agents, %.1f rows and %.1f kB each, fsync and synchronous_commit on, %d rounds; median (least to most)\n",
		pushes, agents, perPush, float64(size)/float64(pushes)/1e3, len(sides[0].costs))
	for _, side := range sides {
		spread := func(of func(cost) float64) measure.Spread {
			values := make([]float64, len(side.costs))
			for i, c := range side.costs {
				values[i] = of(c)
			}
			return measure.SpreadOf(values)
		}
		n := float64(side.pushes)
		fmt.Printf("  %-28s %s rows/s, %s pushes/s; CPU ms a push: this process %s, Postgres %s\n", side.name,
			spread(func(c cost) float64 { return n * perPush / c.Wall.Seconds() }),
			spread(func(c cost) float64 { return n / c.Wall.Seconds() }),
			spread(func(c cost) float64 { return c.CPU.Seconds() * 1e3 / n }),
			spread(func(c cost) float64 { return c.postgres.Seconds() * 1e3 / n }))
	}
	wall := func(c cost) float64 { return c.Wall.Seconds() }
	cpu := func(c cost) float64 { return c.cpu().Seconds() }
	push, https, bare, pushOne, bareOne, bulk := sides[0], sides[1], sides[2], sides[3], sides[4], sides[5]
	ratio := ratios(bare, https, wall)
	fmt.Printf("  rows/s of pushes over HTTPS to bare COPY's: agents at once %s, by CPU time of both processes %s\n", ratio, ratios(bare, https, cpu))
	fmt.Printf("    of store.Push: agents at once %s, by CPU time %s; one at a time %s, by CPU time %s; at once to one COPY for each table %s, by CPU time %s\n",
		ratios(bare, push, wall), ratios(bare, push, cpu), ratios(bareOne, pushOne, wall), ratios(bareOne, pushOne, cpu), ratios(bulk, push, wall), ratios(bulk, push, cpu))
	perS := float64(runtime.NumCPU()*pushes) / median(https, cpu)
	fmt.Printf("  sustained over HTTPS: %.0f pushes/s as it went, so %.0f agents; %d CPUs without other processes: %.0f pushes/s by CPU time, so %.0f agents\n",
		float64(pushes)/median(https, wall), float64(pushes)/median(https, wall)*pushEvery.Seconds(), runtime.NumCPU(), perS, perS*pushEvery.Seconds())
	return fmt.Sprintf("ratio copy %.2f", ratio.Median)
}

// ratios divides what one side took by what the other did, round by round.
func ratios(slow, quick *side, of func(cost) float64) measure.Spread {
	values := make([]float64, len(slow.costs))
	for i := range values {
		values[i] = of(slow.costs[i]) / of(quick.costs[i])
	}
	return measure.SpreadOf(values)
}

func median(s *side, of func(cost) float64) float64 {
	values := make([]float64, len(s.costs))
	for i, c := range s.costs {
		values[i] = of(c)
	}
	return measure.SpreadOf(values).Median
}
