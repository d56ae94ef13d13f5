package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/api"
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
	killAgents  = 8
	killPace    = 60 * time.Millisecond  // between an agent's batches: under what a credential may send
	killRetry   = 40 * time.Millisecond  // and from an attempt that failed to the next
	killLatest  = 1000                   // ms from when pushes go through again to the next kill
	killPause   = 400 * time.Millisecond // from the end of a process to its next start, as of an init system
	killPatient = 5 * time.Minute        // until pushes go through again: far beyond any time it takes
)

// victims are what a kill ends.
type victims int

const (
	killService victims = 1 << iota
	killServer
	killBoth = killService | killServer
)

// killRun is a service and its server, which are killed while agents push.
type killRun struct {
	t       *testing.T
	server  *testdb.Dedicated
	service *supervised
	done    chan struct{} // closed when agents begin nothing new

	// acknowledged gets something for a push, unless nobody has taken what it got before.
	acknowledged chan struct{}
	// Attempts that failed, by how.
	refused, broken atomic.Int64
}

// TestServiceAndServerKilledUnderLoadLoseAndDoubleNothing kills corewait serve,
// PostgreSQL, or both, at random, while agents push over HTTP. They send again what
// was not acknowledged, under the same number; at the end rows and receipts are
// counted.
func TestServiceAndServerKilledUnderLoadLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	corewait := program(t)
	kills, seed := numberFrom(t, killsVariable, 3), numberFrom(t, seedVariable, rand.Uint64())
	server := testdb.Server(t, testdb.Options{Migrated: true, Fsync: true})
	start := time.Now()
	r := &killRun{t: t, server: server, done: make(chan struct{}), acknowledged: make(chan struct{}, 1)}
	agents, tokens := r.newAgents()
	r.service = supervise(t, corewait, configuration(t, ""), server.URL())

	histories := make([][]sent, killAgents)
	var pushing sync.WaitGroup
	for i, a := range agents {
		pushing.Go(func() { histories[i] = r.push(a) })
	}
	count := r.killAtRandom(int(min(kills, 1e6)), rand.New(rand.NewPCG(seed, 9)))
	close(r.done)
	pushing.Wait()
	starts, early := r.service.terminate()

	conn := connect(t, server.URL())
	var total tally
	for i, a := range agents {
		total.check(a, conn, histories[i])
	}
	wantNumbersThatExist(t, conn, agents[0].begin)
	t.Logf("kill -9: %d kills (%d of the service, %d of PostgreSQL, %d of both), %d pushes acknowledged (%d of them after they were sent again, %d stored by an attempt that failed), %d rows; attempts that failed: %d answered by 429 or 503, %d broken off; %d starts of the service, %d of them without a database; %.1f s; seed %d",
		kills, count[killService], count[killServer], count[killBoth], total.acknowledged, total.repeated, total.storedBefore, total.rows,
		r.refused.Load(), r.broken.Load(), starts, early, time.Since(start).Seconds(), seed)
	if total.acknowledged == 0 || total.repeated == 0 && kills > 0 {
		t.Error("no push was under way when something was killed: nothing was tried")
	}
	log := r.service.log()
	for _, secret := range tokens {
		if strings.Contains(log, secret) {
			t.Error("the log holds a token's secret")
		}
	}
	if strings.Contains(log, "panic") {
		t.Errorf("the service panicked:\n%s", log)
	}
}

// newAgents makes the agents before the service runs.
func (r *killRun) newAgents() (agents []*agent, secrets []string) {
	r.t.Helper()
	st, err := store.Open(r.t.Context(), store.Options{URL: r.server.URL(), MaxConns: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	defer st.Close()
	for i := range killAgents {
		a := newAgent(r.t, st, fmt.Sprint("db", i+1))
		agents, secrets = append(agents, a), append(secrets, strings.TrimPrefix(a.token.Text, a.token.ID+"."))
	}
	return agents, secrets
}

// killAtRandom kills again and again, and counts what. What is killed is
// restarted, and the next kill comes when pushes have gone through again, or
// already while it starts.
func (r *killRun) killAtRandom(kills int, draw *rand.Rand) map[victims]int {
	r.t.Helper()
	count := map[victims]int{}
	order := []victims{killService, killServer, killBoth}
	for i := range kills {
		if i%len(order) == 0 {
			draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		r.awaitPushes(1)
		if draw.IntN(4) > 0 { // else few have begun again
			r.awaitPushes(2 * killAgents)
		}
		wait := time.NewTimer(time.Duration(draw.IntN(killLatest)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-r.t.Context().Done():
			return count
		}
		what := order[i%len(order)]
		count[what]++
		r.kill(what, draw)
	}
	r.awaitPushes(killAgents)
	return count
}

// kill kills, both in either order, and restarts the server; the service is
// restarted by who supervises it.
func (r *killRun) kill(what victims, draw *rand.Rand) {
	r.t.Helper()
	serviceFirst := draw.IntN(2) == 0
	if what&killService != 0 && serviceFirst {
		r.service.kill9()
	}
	if what&killServer != 0 {
		r.server.Kill9()
	}
	if what&killService != 0 && !serviceFirst {
		r.service.kill9()
	}
	if what&killServer != 0 {
		r.server.Restart()
	}
	if what&killServer == 0 && draw.IntN(4) == 0 { // and once more, while it starts
		r.service.kill9()
	}
}

// awaitPushes waits for acknowledgements.
func (r *killRun) awaitPushes(n int) {
	r.t.Helper()
	late := time.NewTimer(killPatient)
	defer late.Stop()
	for range n {
		select {
		case <-r.acknowledged:
		case <-late.C:
			r.t.Fatalf("no push goes through:\n%s", r.service.log())
		}
	}
}

// push pushes until it is told to stop. The last batch is acknowledged as well.
func (r *killRun) push(a *agent) (history []sent) {
	pace := time.NewTicker(killPace)
	defer pace.Stop()
	for sequence := 1; ; sequence++ {
		select {
		case <-r.done:
			return history
		case <-pace.C:
		}
		s, ok := r.pushOne(a, sequence)
		history = append(history, s)
		if !ok {
			return history
		}
	}
}

// pushOne pushes a batch until it is acknowledged.
func (r *killRun) pushOne(a *agent, sequence int) (s sent, ok bool) {
	for begin := time.Now(); ; {
		var err error
		to, up := r.service.address()
		if up {
			s.attempts++
			ack, failed := a.push(r.t.Context(), to, sequence, s.attempts)
			if err = failed; err == nil {
				s.acknowledged, s.duplicate = true, ack.GetDuplicate()
				select {
				case r.acknowledged <- struct{}{}:
				default:
				}
				return s, true
			}
			if !r.mayFail(err) {
				r.t.Errorf("%s, batch %d: %v: an agent would not send it again", a.name, sequence, err)
				return s, false
			}
		}
		if time.Since(begin) > killPatient {
			r.t.Errorf("%s, batch %d is not taken: %v", a.name, sequence, err)
			return s, false
		}
		time.Sleep(killRetry)
	}
}

// mayFail says whether an attempt may fail so: the service says that it cannot
// store now, or is not there. Any other word of its would be wrong: an agent puts
// a batch aside that can never be taken, and alarms where its token is none.
func (r *killRun) mayFail(err error) bool {
	var refused *api.Error
	if !errors.As(err, &refused) {
		r.broken.Add(1)
		return true
	}
	r.refused.Add(1)
	return slices.Contains([]api.Code{api.CodeBusy, api.CodeUnavailable}, refused.Code)
}

// tally counts what was checked.
type tally struct{ acknowledged, repeated, storedBefore, rows int }

// check holds what is stored of an agent to what was acknowledged.
func (total *tally) check(a *agent, conn *pgx.Conn, history []sent) {
	a.t.Helper()
	for i, f := range a.find(conn, len(history))[1:] {
		s := history[i]
		total.rows += f.rows()
		if !s.acknowledged { // an error of its own
			continue
		}
		total.acknowledged++
		if s.attempts > 1 {
			total.repeated++
		}
		by := s.attempts
		if s.duplicate {
			total.storedBefore++
			by = 0
			if len(f.attempts) == 1 {
				by = f.attempts[0]
			}
		}
		if want := stored(by); !f.equal(want) || s.duplicate && (by < 1 || by >= s.attempts) {
			a.t.Errorf("%s, batch %d: %+v; stored are %+v, want %+v", a.name, i+1, s, f, want)
		}
	}
}

// wantNumbersThatExist looks for rows whose names or lines were rolled back.
func wantNumbersThatExist(t *testing.T, conn *pgx.Conn, begin time.Time) {
	t.Helper()
	var names, lines int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM placement_samples WHERE command_id NOT IN (SELECT name_id FROM names)`).Scan(&names); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM device_samples d WHERE NOT EXISTS (SELECT FROM interrupt_lines l
		WHERE l.node_id = d.node_id AND l.line_id = (corewait_numbers(d.line_ids))[1] AND l.irq::int8 = (1 + floor(extract(epoch FROM d.at - $1) / $2))::int8 / $3)`,
		begin, batchEvery.Seconds(), batchNewNames).Scan(&lines); err != nil {
		t.Fatal(err)
	}
	if names != 0 || lines != 0 {
		t.Errorf("%d rows have a name that is not there, %d an interrupt line that is not the one sent", names, lines)
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

// supervised is corewait serve under something that starts it again whenever it
// ends, as an init system does.
type supervised struct {
	t     *testing.T
	start func() (*process, error)

	mu           sync.Mutex
	current      *process
	ending       bool
	starts       int
	early        int // of them, those that ended by themselves since there was no database
	logs         []*logged
	through      chan struct{}
	stopStarting context.CancelFunc
}

func supervise(t *testing.T, program, file, database string) *supervised {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &supervised{
		t: t, start: func() (*process, error) { return serve(program, file, database) }, through: make(chan struct{}), stopStarting: cancel,
	}
	go s.run(ctx)
	t.Cleanup(func() {
		cancel()
		s.kill9()
		<-s.through
	})
	return s
}

func (s *supervised) run(ctx context.Context) {
	defer close(s.through)
	for ctx.Err() == nil {
		p, err := s.begin(ctx)
		if err != nil {
			s.t.Errorf("corewait serve: %v", err)
			return
		}
		if p == nil {
			return
		}
		<-p.ended
		s.end(p)
		select {
		case <-ctx.Done():
		case <-time.After(killPause):
		}
	}
}

// begin starts a process; nil where none is to be started any more.
func (s *supervised) begin(ctx context.Context) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil // as said
	}
	p, err := s.start()
	if err != nil {
		return nil, err
	}
	s.current = p
	s.starts++
	s.logs = append(s.logs, p.log)
	return p, nil
}

// end looks at how a process ended: by a kill, as it was told to, or since the
// database was away when it began.
func (s *supervised) end(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	state := p.cmd.ProcessState
	switch listened := isClosed(p.listening); {
	case !state.Exited(): // killed
	case state.ExitCode() == 1 && !listened:
		s.early++
	case state.ExitCode() != 0 || !s.ending:
		s.t.Errorf("corewait serve ended by itself: %v\n%s", state, p.log.last(20))
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// address gives where agents push to; false while nothing listens.
func (s *supervised) address() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || !isClosed(s.current.listening) {
		return "", false
	}
	return s.current.agents, true
}

// kill9 kills the process that runs, if one does.
func (s *supervised) kill9() {
	s.mu.Lock()
	p := s.current
	s.mu.Unlock()
	if p != nil {
		p.kill9()
	}
}

// terminate ends the service in order, and gives how often it was started.
func (s *supervised) terminate() (starts, early int) {
	s.t.Helper()
	s.mu.Lock()
	s.ending = true
	s.stopStarting()
	p := s.current
	s.mu.Unlock()
	if p != nil {
		p.terminate(s.t)
	}
	<-s.through
	return s.starts, s.early
}

// log gives the ends of the last logs.
func (s *supervised) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, l := range s.logs[max(0, len(s.logs)-4):] {
		all = append(all, l.last(100))
	}
	return strings.Join(all, "\n--- the next process\n")
}
