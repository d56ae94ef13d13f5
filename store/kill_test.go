package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// Variables of the campaign: how many kills, and the seed of a run to repeat. When
// the kills fall is random by the machine's own timing too.
const (
	killsVariable = "COREWAIT_KILLS"
	seedVariable  = "COREWAIT_SEED"
)

// What the campaign plays, and its bounds.
const (
	killPushers    = 8
	killInterrupts = 10               // intervals of a push, all in one row
	killReadings   = 20               // of a thread in a push
	killNewNames   = 4                // so many pushes share names and lines
	killEvery      = time.Minute      // between pushes, so that they pass midnight as well
	killLatest     = 1000             // ms from when pushes go through again to the next kill
	killFailures   = 60               // in a row: more are no consequence of a kill
	killEnd        = 10 * time.Minute // of one kill with the restart: far beyond any that ends
)

// gate keeps writers waiting while the server is down.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the server is up
}

func (g *gate) up() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// killRun is a server that is killed while pushers and an importer write.
type killRun struct {
	*database

	server *testdb.Dedicated
	gate   gate
	done   chan struct{} // closed when writers begin nothing new
	begin  time.Time     // of the first push's samples
	down   time.Duration // how long the server was not up

	// acknowledged gets something for a push, unless nobody has taken what it got before.
	acknowledged chan struct{}
}

// TestServerKilledUnderLoadLosesAndDoublesNothing kills the server at random while
// pushers and an importer write. Pushers send again what was not acknowledged,
// under the same receipt; at the end rows and receipts are counted.
func TestServerKilledUnderLoadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	kills, seed := numberFrom(t, killsVariable, 3), numberFrom(t, seedVariable, rand.Uint64())
	server := testdb.Server(t, testdb.Options{Migrated: true, Fsync: true})
	start := time.Now()
	r := &killRun{
		database: openStore(t, store.Options{URL: server.URL(), ImportRows: 50}), server: server,
		done: make(chan struct{}), acknowledged: make(chan struct{}, 1), begin: today().Add(-10 * 24 * time.Hour),
	}
	r.gate.shut()
	r.gate.reopen()
	pushers := make([]*pusher, killPushers)
	for i := range pushers {
		pushers[i] = newPusher(r, i, seed)
	}
	imports := &importer{killRun: r}
	if err := imports.one(t.Context(), 0); err != nil { // before any kill: what the others are held to
		t.Fatal(err)
	}

	var writers sync.WaitGroup
	for _, p := range pushers {
		writers.Go(func() { p.run(t.Context()) })
	}
	writers.Go(func() { imports.run(t.Context()) })
	r.killAtRandom(kills, rand.New(rand.NewPCG(seed, 9)))
	close(r.done)
	writers.Wait()
	r.Pool().Reset() // what is left of the last kill

	var total tally
	for _, p := range pushers {
		p.check(&total)
	}
	collections := imports.check()
	r.wantNumbersThatExist()
	t.Logf("kill -9: %d kills, %d pushes acknowledged (%d of them after they were sent again, %d stored by an attempt that failed), %d given up (%d of them stored), %d rows, %d imports in %d attempts; down for %.1f of %.1f s; seed %d",
		kills, total.acknowledged, total.repeated, total.storedBefore, total.abandoned, total.abandonedStored, total.rows, collections, imports.attempts,
		r.down.Seconds(), time.Since(start).Seconds(), seed)
	if total.acknowledged == 0 || total.repeated == 0 && kills > 0 {
		t.Error("no push was under way when the server was killed: nothing was tried")
	}
}

// killAtRandom kills and restarts the server again and again.
func (r *killRun) killAtRandom(kills uint64, draw *rand.Rand) {
	r.t.Helper()
	for range kills {
		stuck := time.AfterFunc(killEnd, func() { panic("the server was not up again in time, or took no pushes") })
		if draw.IntN(4) > 0 { // else it may fall into what a start begins with
			for range killPushers {
				<-r.acknowledged
			}
		}
		wait := time.NewTimer(time.Duration(draw.IntN(killLatest)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-r.t.Context().Done():
			return
		}
		start := time.Now()
		r.gate.shut()
		r.server.Kill9()
		r.server.Restart()
		r.gate.reopen()
		stuck.Stop()
		r.down += time.Since(start)
	}
}

// numberFrom reads a number from the environment.
func numberFrom(t *testing.T, variable string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// sent is what became of one push.
type sent struct {
	attempts     int
	acknowledged bool
	storedNow    bool // else it was stored before, said the acknowledgement
}

// pusher is an agent with its spool.
type pusher struct {
	*killRun

	number  int
	node    store.NodeID
	spool   [16]byte
	draw    *rand.Rand
	history []sent // by sequence
}

func newPusher(r *killRun, number int, seed uint64) *pusher {
	return &pusher{
		killRun: r, number: number, node: r.node(fmt.Sprint("node", number)), spool: [16]byte{0: 1, 15: byte(number)},
		draw: rand.New(rand.NewPCG(seed, uint64(number))),
	}
}

// run pushes until it is told to stop. The last push is acknowledged as well.
func (p *pusher) run(ctx context.Context) {
	for failures := 0; ; {
		select {
		case <-p.done:
			return
		default:
		}
		var s sent
		for !s.acknowledged && failures < killFailures {
			<-p.gate.up()
			s.attempts++
			stored, err := p.Push(ctx, p.node, store.Receipt{Spool: p.spool, Sequence: int64(len(p.history))}, p.batch(len(p.history), s.attempts))
			if err == nil {
				s.acknowledged, s.storedNow, failures = true, stored, 0
				select {
				case p.acknowledged <- struct{}{}:
				default:
				}
				break
			}
			if failures++; failures == killFailures {
				p.t.Errorf("pusher %d: %d failures in a row, the last one: %v", p.number, failures, err)
			}
			if p.draw.IntN(8) == 0 { // as a spool that is full drops it
				break
			}
		}
		p.history = append(p.history, s)
		if failures >= killFailures {
			return
		}
	}
}

// at is when the samples of a push begin.
func (p *pusher) at(sequence int) time.Time {
	return p.begin.Add(time.Duration(sequence) * killEvery)
}

// batch makes a push. Every attempt has the same rows but for one, which tells the
// attempts apart: rows of two of them can then not hide behind one key.
func (p *pusher) batch(sequence, attempt int) *store.Batch {
	b, at := store.NewBatch(), p.at(sequence)
	var failed []error
	for i := range killInterrupts {
		from := at.Add(time.Duration(i) * time.Second)
		failed = append(failed, b.InterruptSample(&domain.InterruptSample{From: from, To: from.Add(time.Second), CPUs: []int{0, 1}, Counts: []int64{int64(sequence), int64(i)}}))
	}
	failed = append(failed, b.System(domain.SystemSample{At: at.Add(time.Second + time.Duration(attempt)*time.Microsecond), Interval: time.Second, RunQueue: 1}))
	// New lines and names again and again: a number that was remembered must exist.
	names := sequence / killNewNames
	line := domain.Line{IRQ: strconv.Itoa(names), Device: "ens3f0", Class: domain.ClassNetwork}
	failed = append(failed, b.DeviceSample(&domain.DeviceSample{From: at, To: at.Add(time.Second), Observed: time.Second, Gains: []domain.LineGain{{Line: line, Count: 1}}}))
	for i := range killReadings {
		failed = append(failed, b.Placement(domain.Placement{At: at.Add(time.Duration(i) * 50 * time.Millisecond), TID: 1, Command: fmt.Sprint("thread", p.number, "_", names)}))
	}
	if sequence%8 == 7 { // goes another way: not in a group
		failed = append(failed, b.Instance(domain.Instance{InstID: 1, Name: fmt.Sprint("X", sequence), Host: "db1"}))
	}
	if err := errors.Join(failed...); err != nil {
		p.t.Error(err)
	}
	return b
}

// tally counts what was checked.
type tally struct{ acknowledged, repeated, storedBefore, abandoned, abandonedStored, rows int }

// found is what the database holds of one push.
type found struct {
	receipts, receiptRows, interrupts, intervals, devices, placements int
	attempts                                                          []int // that have a row
}

// check holds what is stored to what was acknowledged.
func (p *pusher) check(total *tally) {
	p.t.Helper()
	got := make([]found, len(p.history))
	p.countPushes(got)
	for sequence, s := range p.history {
		f := got[sequence]
		stored := len(f.attempts) > 0
		total.rows += f.interrupts + f.devices + f.placements + len(f.attempts)
		switch {
		case s.acknowledged:
			total.acknowledged++
			if s.attempts > 1 {
				total.repeated++
			}
			if !s.storedNow {
				total.storedBefore++
			}
		default:
			total.abandoned++
			if stored {
				total.abandonedStored++
			}
		}
		want := found{}
		if s.acknowledged || stored {
			want = found{1, p.batch(sequence, 1).Rows(), 1, killInterrupts, 1, 1, f.attempts}
		}
		if fmt.Sprint(f) != fmt.Sprint(want) || len(f.attempts) > 1 || s.acknowledged && !stored {
			p.t.Errorf("pusher %d, push %d: acknowledged %t after %d attempts; stored are %+v, want %+v with a row of one attempt", p.number, sequence, s.acknowledged, s.attempts, f, want)
		}
		if s.storedNow && (len(f.attempts) != 1 || f.attempts[0] != s.attempts) {
			p.t.Errorf("pusher %d, push %d: attempt %d was acknowledged as stored, rows are of %v", p.number, sequence, s.attempts, f.attempts)
		}
	}
}

// countPushes reads what is stored of each push.
func (p *pusher) countPushes(got []found) {
	p.t.Helper()
	rows, err := p.Pool().Query(p.t.Context(), `
		SELECT 'receipt', seq, rows FROM receipts WHERE node_id = $1 AND spool_id = $2
		UNION ALL SELECT 'interrupt', floor(extract(epoch FROM at - $3) / $4)::int8, intervals FROM interrupt_samples WHERE node_id = $1
		UNION ALL SELECT 'device', floor(extract(epoch FROM at - $3) / $4)::int8, 0 FROM device_samples WHERE node_id = $1
		UNION ALL SELECT 'placement', floor(extract(epoch FROM at - $3) / $4)::int8, 0 FROM placement_samples WHERE node_id = $1
		UNION ALL SELECT 'system', floor(extract(epoch FROM at - $3) / $4)::int8, extract(microseconds FROM at)::int8 % 1000000 FROM system_samples WHERE node_id = $1`,
		p.node, p.spool, p.begin, killEvery.Seconds())
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind string
		var sequence, value int64
		if err := rows.Scan(&kind, &sequence, &value); err != nil {
			p.t.Fatal(err)
		}
		if sequence < 0 || sequence >= int64(len(got)) {
			p.t.Errorf("pusher %d: a %s row of push %d, which was never sent", p.number, kind, sequence)
			continue
		}
		f := &got[sequence]
		switch kind {
		case "receipt":
			f.receipts++
			f.receiptRows = int(value)
		case "interrupt":
			f.interrupts++
			f.intervals += int(value)
		case "device":
			f.devices++
		case "placement":
			f.placements++
		case "system":
			f.attempts = append(f.attempts, int(value))
		}
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
}

// wantNumbersThatExist looks for rows whose names or lines were rolled back.
func (r *killRun) wantNumbersThatExist() {
	r.t.Helper()
	r.wantLines(nil, `SELECT 'name ' || command_id FROM placement_samples WHERE command_id NOT IN (SELECT name_id FROM names)`)
	r.wantLines(nil, `SELECT 'line ' || (corewait_numbers(d.line_ids))[1] FROM device_samples d WHERE NOT EXISTS
		(SELECT FROM interrupt_lines l WHERE l.node_id = d.node_id AND l.line_id = (corewait_numbers(d.line_ids))[1] AND l.irq::int8 = floor(extract(epoch FROM d.at - $1) / $2))`,
		r.begin, killNewNames*killEvery.Seconds())
}

// importer imports the same records into one collection after the other.
type importer struct {
	*killRun

	complete, attempts int
}

func (i *importer) run(ctx context.Context) {
	for number, failures := 1, 0; failures < killFailures; {
		select {
		case <-i.done:
			return
		default:
		}
		<-i.gate.up()
		if err := i.one(ctx, number); err != nil {
			if failures++; failures == killFailures {
				i.t.Errorf("import %d: %d failures in a row, the last one: %v", number, failures, err)
			}
			continue // all of it again
		}
		failures = 0
		number++
	}
}

// one imports into the collection of that number.
func (i *importer) one(ctx context.Context, number int) error {
	i.attempts++
	in, err := i.Import(ctx, fmt.Sprint("import ", number), "imported")
	if err == nil {
		err = feedImport(in)
	}
	if err == nil {
		err = in.Close(ctx, about())
	}
	if err == nil {
		i.complete++
	}
	return err
}

// check holds the rows of every complete collection to those of the first one,
// which was imported before any kill, and says how many there are.
func (i *importer) check() int {
	i.t.Helper()
	for _, table := range liveTables {
		// A collection that broke off is not complete, and its rows are not counted.
		i.wantLines([]string{"true"}, `SELECT (count(DISTINCT all_rows) <= 1)::text FROM (
			SELECT cn.collection_id, string_agg((to_jsonb(k) - 'collection_id')::text, ';' ORDER BY (to_jsonb(k) - 'collection_id')::text) AS all_rows
			FROM collection_nodes cn LEFT JOIN kept_`+table+` k USING (node_id, collection_id) GROUP BY 1) AS c`)
	}
	if n := i.count("collection_nodes"); n < i.complete {
		i.t.Errorf("%d collections are complete, %d imports were acknowledged", n, i.complete)
	}
	i.wantLines([]string{"50 150 50"}, `SELECT concat_ws(' ', (SELECT count(*) FROM kept_interrupt_samples k WHERE k.collection_id = c.collection_id),
		(SELECT count(*) FROM kept_waits k WHERE k.collection_id = c.collection_id), (SELECT count(*) FROM kept_cpu_samples k WHERE k.collection_id = c.collection_id))
		FROM collections c WHERE name = 'import 0'`)
	return i.complete
}
