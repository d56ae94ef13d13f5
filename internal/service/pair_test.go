package service_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/internal/testdb"
)

// minutesVariable is for how many minutes processes share the ticks, in a campaign.
const minutesVariable = "COREWAIT_MINUTES"

// replacedWithin is what a process that is killed may be missed for.
const replacedWithin = 30 * time.Second

// sharers is how many processes share a database: when one is killed, two are left.
const sharers = 3

// everyMinute are schedules that come while a test runs.
const everyMinute = "jobs: {review: '* * * * *', retain: '* * * * *', partitions: '* * * * *'}\n"

// allJobs are the jobs of a process.
var allJobs = []string{service.JobPartitions, service.JobRetain, service.JobReview}

// TestProcessesRunEachTickOnceAndReplaceOneThatIsKilled: once directly and once
// through a pooler in transaction mode.
func TestProcessesRunEachTickOnceAndReplaceOneThatIsKilled(t *testing.T) {
	t.Parallel()
	corewait := program(t)
	minutes := numberFrom(t, minutesVariable, 1)
	for name, through := range map[string]func(t *testing.T, address string) (string, string){
		"directly": func(_ *testing.T, address string) (string, string) { return address, "" },
		"through a pooler": func(t *testing.T, address string) (string, string) {
			t.Helper()
			return testdb.Pooler(t, address), "database: {pooler: true}\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := testdb.New(t)
			to, more := through(t, address)
			s := &sharing{t: t, conn: connect(t, address)}
			s.missed()
			blocking := s.block(connect(t, address))
			for range sharers {
				p, err := serve(corewait, configuration(t, everyMinute+more), to)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(p.kill9)
				s.processes = append(s.processes, p)
			}
			s.awaitListening()
			together := s.now()
			s.killTheHolder(blocking)
			s.awaitTicks(together, int(min(minutes, 60)))
			s.wantEachOnce()
			for _, p := range s.processes {
				p.terminate(t)
			}
			s.wantNothingLeft()
		})
	}
}

// sharing is what processes share, seen past them.
type sharing struct {
	t         *testing.T
	conn      *pgx.Conn
	processes []*process // that live
	killed    string     // the holder that was killed
	replaced  time.Time  // when others had done what it had
}

func (s *sharing) exec(conn *pgx.Conn, statement string, args ...any) {
	s.t.Helper()
	if _, err := conn.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// now is by the database's clock.
func (s *sharing) now() (now time.Time) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
		s.t.Fatal(err)
	}
	return now
}

// missed makes the jobs ones that ran an hour ago: the last tick since then is
// made good as soon as processes start, all of which want it.
func (s *sharing) missed() {
	for _, job := range allJobs {
		s.exec(s.conn, `INSERT INTO job_runs (job, tick, holder, started_at, finished_at, result)
			SELECT $1, m, 'gone', m, m, 'done' FROM (SELECT date_trunc('minute', now()) - interval '1 hour') AS hour (m)`, job)
	}
}

// block makes runs of the review wait in the database, as they would over much
// data, until the connection's transaction ends.
func (s *sharing) block(conn *pgx.Conn) *pgx.Conn {
	s.exec(conn, "BEGIN")
	s.exec(conn, "LOCK TABLE dirty_windows IN ACCESS EXCLUSIVE MODE")
	return conn
}

// awaitListening waits until all processes listen.
func (s *sharing) awaitListening() {
	s.t.Helper()
	late := time.After(patience)
	for _, p := range s.processes {
		select {
		case <-p.listening:
		case <-p.ended:
			s.t.Fatalf("corewait serve ended: %v\n%s", p.err, p.log)
		case <-late:
			s.t.Fatalf("corewait serve does not listen:\n%s", p.log)
		}
	}
}

// jobRun is a row of job_runs.
type jobRun struct {
	Job, Holder, Result, Detail string
	Tick, StartedAt             time.Time
	Finished                    bool
}

// runs lists the runs but for that of an hour ago.
func (s *sharing) runs() []jobRun {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), `SELECT job, holder, coalesce(result, ''), coalesce(detail, ''), tick, started_at, finished_at IS NOT NULL
		FROM job_runs WHERE holder <> 'gone' ORDER BY tick, job`)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[jobRun])
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// killTheHolder kills the process that has the review, whose work is held up, and
// waits until another has taken it over.
func (s *sharing) killTheHolder(blocking *pgx.Conn) {
	s.t.Helper()
	var held jobRun
	until(s.t, "a process has the review", func() bool {
		i := slices.IndexFunc(s.runs(), func(r jobRun) bool { return r.Job == service.JobReview && !r.Finished })
		if i >= 0 {
			held = s.runs()[i]
		}
		return i >= 0
	})
	s.killed = held.Holder
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.holds(held.Holder) })
	if i < 0 {
		s.t.Fatalf("none of the processes is %s", held.Holder)
	}
	victim := s.processes[i]
	s.processes = slices.Delete(s.processes, i, i+1)
	var left []jobRun // all that it has
	for _, r := range s.runs() {
		if r.Holder == held.Holder && !r.Finished {
			left = append(left, r)
		}
	}
	killed := s.now()
	victim.kill9()
	s.exec(blocking, "ROLLBACK")

	for _, r := range left {
		var taken jobRun
		until(s.t, "another process has taken over", func() bool {
			for _, now := range s.runs() {
				if now.Job == r.Job && now.Tick.Equal(r.Tick) {
					taken = now
				}
			}
			return taken.Holder != r.Holder && taken.Finished
		})
		wait := taken.StartedAt.Sub(killed)
		s.t.Logf("kill -9: the process that had the job %s was replaced after %.1f s", r.Job, wait.Seconds())
		if wait < 0 || wait > replacedWithin {
			s.t.Errorf("the tick of %s was taken over after %v, want %v", r.Job, wait, replacedWithin)
		}
		if taken.Result != "done" {
			s.t.Errorf("the run that was taken over is %s: %s", taken.Result, taken.Detail)
		}
	}
	s.replaced = s.now()
}

// holds says whether a holder is this process: its name has the number of it.
func (p *process) holds(holder string) bool {
	return strings.Contains(holder, "/"+strconv.Itoa(p.cmd.Process.Pid)+"/")
}

// awaitTicks waits until the jobs are through with the ticks of so many minutes
// since an instant.
func (s *sharing) awaitTicks(since time.Time, minutes int) {
	s.t.Helper()
	first := since.Truncate(time.Minute).Add(time.Minute)
	last := first.Add(time.Duration(minutes-1) * time.Minute)
	for s.now().Before(last) {
		select {
		case <-s.t.Context().Done():
			return
		case <-time.After(min(time.Second, last.Sub(s.now()))):
		}
	}
	until(s.t, fmt.Sprintf("ticks up to %v are done", last.UTC()), func() bool {
		finished := 0
		for _, r := range s.runs() {
			if r.Finished && !r.Tick.Before(first) && !r.Tick.After(last) {
				finished++
			}
		}
		return finished == minutes*len(allJobs)
	})
}

// wantEachOnce holds what each process counts of its runs to the ticks that the
// database says it had: a tick that two processes ran is one row, and two runs.
func (s *sharing) wantEachOnce() {
	s.t.Helper()
	for _, r := range s.runs() {
		// Until the killed process was replaced, its jobs were under way for all others know.
		if r.Finished && r.Result != "done" && (r.Result != "skipped" || r.Tick.After(s.replaced)) {
			s.t.Errorf("%s at %v by %s is %s: %s", r.Job, r.Tick.UTC(), r.Holder, r.Result, r.Detail)
		}
	}
	var counted, recorded map[string]int
	end := time.Now().Add(patience / 8)
	for {
		counted, recorded = map[string]int{}, map[string]int{}
		for _, p := range s.processes {
			s.count(p, counted)
		}
		for _, r := range s.runs() {
			for _, p := range s.processes {
				if r.Finished && p.holds(r.Holder) {
					recorded[fmt.Sprintf("%s %s by %d", r.Job, r.Result, p.cmd.Process.Pid)]++
				}
			}
		}
		if maps.Equal(counted, recorded) {
			break
		}
		if time.Now().After(end) {
			s.t.Errorf("processes ran %v; recorded are %v", counted, recorded)
			break
		}
		time.Sleep(50 * time.Millisecond) // a run is counted a moment before it is recorded
	}
	total := 0
	for _, n := range recorded {
		total += n
	}
	s.t.Logf("%d runs by %d processes: each counted once, %v", total, len(s.processes), recorded)
}

// count reads what a process counts of its runs.
func (s *sharing) count(p *process, into map[string]int) {
	s.t.Helper()
	code, body := get(s.t, p.people+"/metrics")
	if code != http.StatusOK {
		s.t.Fatalf("metrics are answered by %d %s", code, body)
	}
	for line := range strings.Lines(body) {
		var job, result string
		labels, value, found := strings.Cut(strings.TrimPrefix(line, "corewait_job_runs_total"), "} ")
		if !found || !strings.HasPrefix(line, "corewait_job_runs_total{") {
			continue
		}
		if _, err := fmt.Sscanf(labels, "{job=%q,result=%q", &job, &result); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if n > 0 {
			into[fmt.Sprintf("%s %s by %d", job, result, p.cmd.Process.Pid)] = n
		}
	}
}

// wantNothingLeft looks for what processes that ended in order have left: no run
// that is under way, and no lease but what the killed one had.
func (s *sharing) wantNothingLeft() {
	s.t.Helper()
	for _, r := range s.runs() {
		if !r.Finished {
			s.t.Errorf("%s at %v by %s is under way", r.Job, r.Tick.UTC(), r.Holder)
		}
	}
	rows, err := s.conn.Query(s.t.Context(), "SELECT name FROM leases WHERE holder <> $1", s.killed)
	if err != nil {
		s.t.Fatal(err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(left) > 0 {
		s.t.Errorf("leases left: %q (%v)", left, err)
	}
}
