package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// processVariable gives the other process of a test its database.
const processVariable = "COREWAIT_TEST_JOBS_DATABASE"

// TestProcess is the other process: it runs a job that does not end.
func TestProcess(t *testing.T) {
	address := os.Getenv(processVariable)
	if address == "" {
		t.Skip("is run by TestAKilledProcessIsReplaced")
	}
	b := newBlocked()
	start(t, openStore(t, address), "killed", quick(), b.job("weekly", yearly))
	fmt.Printf("\nbegan %s\n", stamp(<-b.begun))
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// checkWait holds the time from an event to the takeover of a tick, by the
// database's clock, to a lease, a poll and a quarter of a lease for what a busy
// machine takes: 30 s at the lengths of the service.
func checkWait(t *testing.T, address, job string, from time.Time) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var taken time.Time
	if err := conn.QueryRow(t.Context(), `SELECT started_at FROM job_runs WHERE job = $1`, job).Scan(&taken); err != nil {
		t.Fatal(err)
	}
	bound := func(o Options) time.Duration { return o.Lease + o.Poll + o.Lease/4 }
	wait := taken.Sub(from)
	t.Logf("replaced after %v, bound %v", wait, bound(quick()))
	if wait > bound(quick()) {
		t.Errorf("replaced after %v, want %v", wait, bound(quick()))
	}
	if usual := bound(Options{}.withDefaults()); usual > 30*time.Second {
		t.Errorf("at the usual lengths: %v, want 30 s", usual)
	}
}

func databaseClock(t *testing.T, address string) (now time.Time) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

func TestAKilledProcessIsReplaced(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "weekly", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	execute(t, address, `DELETE FROM job_runs WHERE tick < '2020-01-01'`)

	cmd := exec.Command(os.Args[0], "-test.run", "^TestProcess$", "-test.v")
	cmd.Env = append(os.Environ(), processVariable+"="+address)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "began") {
	}
	if !strings.HasPrefix(lines.Text(), "began") {
		t.Fatalf("the other process began nothing: %v", lines.Err())
	}

	b := newBlocked()
	close(b.letGo)
	start(t, s, "second", quick(), b.job("weekly", yearly))
	time.Sleep(quick().Lease + 2*quick().Poll)
	if len(b.begun) != 0 {
		t.Error("a tick was taken from a process that lives")
	}
	killed := databaseClock(t, address)
	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	soon(t, "the tick is taken over", b.begun)
	until(t, "the run is recorded", func() bool { return strings.HasSuffix(recorded(t, s, "weekly")[1], "second done let go") })
	execute(t, address, `DELETE FROM job_runs WHERE holder = 'gone'`)
	checkWait(t, address, "weekly", killed)
}

// TestAProcessThatIsCutOffEndsItsRunBeforeAnotherTakesIt: the run's context ends
// by the process's own clock, since nobody can tell it.
func TestAProcessThatIsCutOffEndsItsRunBeforeAnotherTakesIt(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "weekly", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	line := &network{Store: s}
	first, second := newBlocked(), newBlocked()
	start(t, line, "first", quick(), first.job("weekly", yearly))
	soon(t, "the first begins", first.begun)
	start(t, openStore(t, address), "second", quick(), second.job("weekly", yearly))

	cut := databaseClock(t, address)
	line.cut()
	if cause := soon(t, "the first ends", first.cause); !errors.Is(cause, store.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
	if len(second.begun) != 0 {
		t.Error("the second began before the first had to end")
	}
	soon(t, "the second begins", second.begun)
	line.mend() // what the first says now of its tick does not count
	close(second.letGo)
	until(t, "the run is recorded", func() bool { return strings.HasSuffix(recorded(t, s, "weekly")[1], "second done let go") })
	execute(t, address, `DELETE FROM job_runs WHERE holder = 'gone'`)
	checkWait(t, address, "weekly", cut)
}

// TestALeaseThatIsGoneEndsItsRun: somebody else has it, by the database's word.
func TestALeaseThatIsGoneEndsItsRun(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	did(t, s, "weekly", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	b := newBlocked()
	start(t, s, "one", quick(), b.job("weekly", yearly))
	soon(t, "it begins", b.begun)
	execute(t, address, `UPDATE leases SET holder = 'other', expires_at = now() + interval '1 hour' WHERE name = 'job/weekly'`)
	if cause := soon(t, "it ends", b.cause); !errors.Is(cause, store.ErrLeaseLost) {
		t.Errorf("the cause is %v", cause)
	}
	until(t, "it is recorded", func() bool {
		return strings.Contains(recorded(t, s, "weekly")[1], "one failed its lease: ")
	})
}

// TestATickDuringWhichTwoProcessesDiedIsNotRunAgain: the run may be what kills
// them.
func TestATickDuringWhichTwoProcessesDiedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	tick := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := s.ClaimTick(t.Context(), "poison", tick, "first"); err != nil {
		t.Fatal(err)
	}
	if taken, err := s.TakeOverTick(t.Context(), store.JobRun{Job: "poison", Tick: tick, Holder: "first"}, "second"); err != nil || !taken {
		t.Fatalf("taken %v: %v", taken, err)
	}
	var d diary
	start(t, s, "third", quick(), d.job("poison", yearly))
	want := stamp(tick) + " third failed the process second ended while it ran; before, it was taken over from first"
	until(t, "it is recorded", func() bool { return recorded(t, s, "poison")[0] == want })
	if got := d.of("poison"); got != nil {
		t.Errorf("it was run: %v", got)
	}
}

// TestATickThatWasLeftLongAgoIsRunIfItIsTheLast: not where later ones have come.
func TestATickThatWasLeftLongAgoIsRunIfItIsTheLast(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	s := openStore(t, address)
	lastYear := time.Date(time.Now().UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	for job, tick := range map[string]time.Time{"yearly": lastYear, "daily": time.Now().UTC().Add(-72 * time.Hour).Truncate(24 * time.Hour)} {
		if _, err := s.ClaimTick(t.Context(), job, tick, "gone"); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, address, `UPDATE job_runs SET started_at = CASE job WHEN 'yearly' THEN tick ELSE now() - interval '25 hours' END`)
	o := quick()
	o.Now = func() time.Time { return lastYear.Add(40 * 24 * time.Hour) } // ticks are younger than 90 days
	var d diary
	start(t, s, "one", o, d.job("yearly", yearly))
	until(t, "the yearly is recorded", func() bool { return strings.HasSuffix(recorded(t, s, "yearly")[0], "one done noted") })

	start(t, s, "two", quick(), d.job("daily", "0 0 * * *"))
	until(t, "the daily is recorded", func() bool {
		return strings.HasSuffix(recorded(t, s, "daily")[0], "two failed the process gone ended while it ran, over 24h0m0s ago")
	})
	for _, tick := range d.of("daily") {
		if tick == recorded(t, s, "daily")[0][:len(tick)] {
			t.Errorf("the tick %s was run", tick)
		}
	}
}
