package service_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/internal/testdb"
)

func TestPushesThroughTheEndpointAreStoredOnce(t *testing.T) {
	t.Parallel()
	r, address := runNew(t)
	const agents, batches = 4, 12
	var pushing sync.WaitGroup
	all := make([]*agent, agents)
	for i := range all {
		all[i] = newAgent(t, r.Store, fmt.Sprint("db", i+1))
	}
	for _, a := range all {
		pushing.Go(func() {
			for sequence := 1; sequence <= batches; sequence++ {
				if _, err := a.push(t.Context(), r.Agents, sequence, 1); err != nil {
					t.Errorf("%s: %v", a.name, err)
				}
			}
		})
	}
	pushing.Wait()
	again, err := all[0].push(t.Context(), r.Agents, batches, 2)
	if err != nil || !again.GetDuplicate() {
		t.Errorf("a batch that comes again is answered by %v, %v", again, err)
	}
	conn := connect(t, address)
	for _, a := range all {
		for sequence, f := range a.find(conn, batches)[1:] {
			if want := stored(1); !f.equal(want) {
				t.Errorf("%s, batch %d: stored are %+v, want %+v", a.name, sequence+1, f, want)
			}
		}
	}

	for _, page := range []struct{ url, want string }{
		{r.Agents + "/livez", "ok"},
		{r.Agents + "/readyz", "ok"},
		{r.People + "/livez", "alive"},
		{r.People + "/readyz", "ready"},
		{r.People + "/api/v1/nodes", `"name": "db4"`},
		{r.People + "/metrics", `corewait_build_info{version="test"} 1`},
	} {
		if code, body := get(t, page.url); code != http.StatusOK || !strings.Contains(body, page.want) {
			t.Errorf("%s is answered by %d %.300s", page.url, code, body)
		}
	}
	if code, _ := get(t, r.Agents+"/api/v1/nodes"); code != http.StatusNotFound {
		t.Errorf("the listener for agents answers %d to what is for people", code)
	}
	if s := r.status(); s.Version != "test" || s.Database != "ready" || len(s.Jobs) != 3 {
		t.Errorf("the status is %+v", s)
	}
}

// blockPushes makes what is pushed from now on wait in the database. It gives the
// connection whose transaction must end.
func blockPushes(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn := connect(t, address)
	for _, statement := range []string{"BEGIN", "LOCK TABLE receipts IN SHARE MODE"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// waiting counts the sessions that wait for a lock on a table.
func waiting(t *testing.T, conn *pgx.Conn, table string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE relation = $1::regclass AND NOT granted`, table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAPushUnderWayIsWaitedForWhenTheServiceStops(t *testing.T) {
	t.Parallel()
	r, address := runNew(t)
	a := newAgent(t, r.Store, "db1")
	a.mustPush(r.Agents, 1)
	blocking := blockPushes(t, address)
	answered := make(chan error, 1)
	go func() {
		_, err := a.push(t.Context(), r.Agents, 2, 1)
		answered <- err
	}()
	until(t, "the push waits in the database", func() bool { return waiting(t, blocking, "receipts") > 0 })

	r.stop()
	until(t, "it is not ready any more", func() bool {
		code, body := get(t, r.People+"/readyz")
		return code == http.StatusServiceUnavailable && body == "not ready\n"
	})
	if s := r.status(); s.Database != "stopping" {
		t.Errorf("why it is not ready: %q", s.Database)
	}
	if code, body := get(t, r.People+"/livez"); code != http.StatusOK {
		t.Errorf("it is alive, and /livez is answered by %d %s", code, body)
	}
	until(t, "no more agents are let in", func() bool {
		code, body := get(t, r.Agents+"/livez")
		return code == 0 && strings.Contains(body, "connection refused")
	})
	select {
	case err := <-answered:
		t.Fatalf("the push was answered before it was stored: %v", err)
	case err := <-r.ended:
		t.Fatalf("the service ended before the push: %v", err)
	default:
	}
	if _, err := blocking.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the push was answered by %v", err)
	}
	if err := r.wait(); err != nil {
		t.Errorf("the service ended with: %v", err)
	}
	for sequence, f := range a.find(connect(t, address), 2)[1:] {
		if want := stored(1); !f.equal(want) {
			t.Errorf("batch %d: stored are %+v, want %+v", sequence+1, f, want)
		}
	}
}

func TestAStopUnderLoadLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	r := run(t, onDatabase(address), nil)
	const agents, before = 6, 5 // batches of each agent before the stop
	own := openStore(t, address)
	all := make([]*agent, agents)
	history := make([][]sent, agents)
	var pushing, begun sync.WaitGroup
	for i := range all {
		all[i] = newAgent(t, own, fmt.Sprint("db", i+1))
		begun.Add(1)
		pushing.Go(func() { history[i] = all[i].untilRefused(r.Agents, before, begun.Done) })
	}
	begun.Wait()
	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("the service ended with: %v", err)
	}
	pushing.Wait()

	// What was not acknowledged is sent again to the next service, as agents do.
	next := run(t, onDatabase(address), nil)
	conn := connect(t, address)
	acknowledged := 0
	for i, a := range all {
		last := len(history[i])
		if !history[i][last-1].acknowledged {
			if _, err := a.push(t.Context(), next.Agents, last, 2); err != nil {
				t.Errorf("%s, batch %d: %v", a.name, last, err)
			}
		}
		for sequence, f := range a.find(conn, last)[1:] {
			s := history[i][sequence]
			if s.acknowledged {
				acknowledged++
			}
			if !f.equal(stored(1)) && (s.acknowledged || !f.equal(stored(2))) {
				t.Errorf("%s, batch %d: %+v, stored are %+v", a.name, sequence+1, s, f)
			}
		}
	}
	t.Logf("%d batches acknowledged by a service that stops", acknowledged)
}

// untilRefused pushes batches until one is not acknowledged, which is the last.
// begun is called after so many.
func (a *agent) untilRefused(to string, before int, begun func()) (history []sent) {
	for sequence := 1; ; sequence++ {
		_, err := a.push(a.t.Context(), to, sequence, 1)
		history = append(history, sent{attempts: 1, acknowledged: err == nil})
		if sequence == before {
			begun()
		}
		if err != nil && sequence < before {
			a.t.Errorf("%s, batch %d, before the stop: %v", a.name, sequence, err)
			begun()
		}
		if err != nil {
			return history
		}
	}
}

func TestAJobIsRunAtOnceWhenAsked(t *testing.T) {
	t.Parallel()
	r, _ := runNew(t)
	for _, job := range []string{service.JobReview, service.JobRetain, service.JobPartitions} {
		if err := r.RunNow(t.Context(), job); err != nil {
			t.Errorf("%s: %v", job, err)
		}
	}
}

// TestARunThatTakesLongIsLeftToTheNextService: a stop breaks it off in the end, and
// that is no failure.
func TestARunThatTakesLongIsLeftToTheNextService(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: -short: waits until a stop loses patience")
	}
	address := testdb.New(t)
	s := &sharing{t: t, conn: connect(t, address)}
	s.missed()
	blocking := s.block(connect(t, address))
	r := run(t, onDatabase(address), nil)
	until(t, "the review waits in the database", func() bool { return waiting(t, s.conn, "dirty_windows") > 0 })
	begun := time.Now()
	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("the service ended with: %v", err)
	}
	t.Logf("a run that does not end held up the stop for %.1f s", time.Since(begun).Seconds())
	s.exec(blocking, "ROLLBACK")
	underWay := func(one jobRun) bool { return one.Job == service.JobReview && !one.Finished }
	i := slices.IndexFunc(s.runs(), underWay)
	if i < 0 {
		t.Fatalf("the run that was broken off is recorded as %v", s.runs())
	}
	left := s.runs()[i]
	run(t, onDatabase(address), nil)
	until(t, "the next service has done it", func() bool {
		return slices.ContainsFunc(s.runs(), func(one jobRun) bool {
			return one.Job == left.Job && one.Tick.Equal(left.Tick) && one.Holder != left.Holder && one.Result == "done"
		})
	})
}

func TestAPrivateServerThatEndsEndsTheService(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: -short: starts a server")
	}
	c := onDatabase("")
	c.Embedded.Dir = filepath.Join(privateFolder(t), "postgres")
	r := run(t, c, nil)
	newAgent(t, r.Store, "db1").mustPush(r.Agents, 1)
	text, err := os.ReadFile(filepath.Join(c.Embedded.Dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "the private PostgreSQL has ended") {
		t.Errorf("the service ended with: %v", err)
	}
}
