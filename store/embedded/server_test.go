//go:build linux

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestRowsAreThereAfterStopAndStart(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	first := mustStart(t, o)
	query(t, first.URL(), "CREATE TABLE waits (n int)", "INSERT INTO waits VALUES (42)")
	mustStop(t, first)
	if left := processesIn(t, o.Dir); len(left) > 0 {
		t.Fatalf("processes %v run after Stop", left)
	}
	second := mustStart(t, o)
	if got := query(t, second.URL(), "SELECT n FROM waits"); got != "42" {
		t.Fatalf("read %q, inserted 42", got)
	}
	if log := mustRead(t, filepath.Join(o.Dir, logName)); !strings.Contains(log, "database system is shut down") || strings.Contains(log, "automatic recovery") {
		t.Fatalf("the first shutdown was not clean:\n%s", log)
	}
}

func TestTheServerIsSafeByDefault(t *testing.T) {
	t.Parallel()
	o := testOptions(filepath.Join(parentFolder(t), "server"))
	o.NoFsync = false
	o.Settings = map[string]string{"work_mem": "3MB"}
	s := mustStart(t, o)
	for setting, want := range map[string]string{
		"listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"server_encoding": "UTF8", "timezone": "UTC", "log_timezone": "UTC", "unix_socket_permissions": "0700", "work_mem": "3MB",
	} {
		if got := query(t, s.URL(), "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if got := query(t, s.URL(), "SELECT datcollate FROM pg_database WHERE datname = 'corewait'"); got != "C.UTF-8" {
		t.Errorf("collation is %q, want C.UTF-8", got)
	}
	// A superuser cannot open it to the network: the command line counts more.
	query(t, s.URL(), "ALTER SYSTEM SET listen_addresses = '*'", "ALTER SYSTEM SET fsync = off")
	mustStop(t, s)
	s = mustStart(t, o)
	if got := query(t, s.URL(), "SHOW listen_addresses") + query(t, s.URL(), "SHOW fsync"); got != "on" {
		t.Errorf("ALTER SYSTEM changed listen_addresses or fsync: %q", got)
	}
}

func TestCommittedRowsAreThereAfterTheServerIsKilled(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	query(t, s.URL(), "CREATE TABLE waits (n int)")
	committed := 0
	for ; ; committed++ {
		if committed == 200 {
			if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO waits VALUES ($1)", committed); err != nil {
			break // its session ends once it sees that the postmaster has
		}
	}
	<-s.Done()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Fatalf("a killed server says %v", err)
	}
	mustStop(t, s) // what has ended by itself is no error
	s = mustStart(t, o)
	// The insert that failed may have been committed without the word of it
	// having arrived: it is one more at most.
	got, err := strconv.Atoi(query(t, s.URL(), "SELECT count(*) FROM waits"))
	if err != nil || got < committed || got > committed+1 {
		t.Fatalf("%d rows (%v), acknowledged %d", got, err, committed)
	}
	if log := mustRead(t, filepath.Join(o.Dir, logName)); !strings.Contains(log, "automatic recovery in progress") {
		t.Fatalf("no recovery, so no crash:\n%s", log)
	}
}

func TestTheServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	dir := serverFolder(t)
	h := startHolder(t, dir)
	if got := query(t, h.url, "CREATE TABLE waits (n int)", "INSERT INTO waits VALUES (7)", "SELECT n FROM waits"); got != "7" {
		t.Fatalf("read %q", got)
	}
	h.kill()
	eventually(t, "the server has ended", func() bool { return len(processesIn(t, dir)) == 0 })
	s := mustStart(t, testOptions(dir))
	if got := query(t, s.URL(), "SELECT n FROM waits"); got != "7" {
		t.Fatalf("read %q, inserted 7", got)
	}
	if log := mustRead(t, filepath.Join(dir, logName)); strings.Contains(log, "automatic recovery") {
		t.Fatalf("the server did not shut down in order:\n%s", log)
	}
}

func TestTheServerOutlivesTheThreadThatStartedIt(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	started := make(chan *Server)
	thread := make(chan int, 1)
	go onThreadThatEnds(func() {
		thread <- syscall.Gettid()
		s, err := Start(context.Background(), o)
		if err != nil {
			t.Error(err)
		}
		started <- s
	})
	s := <-started
	if s == nil {
		return
	}
	defer mustStop(t, s)
	task := filepath.Join("/proc/self/task", strconv.Itoa(<-thread))
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(task)
		return errors.Is(err, os.ErrNotExist)
	})
	// A server that is told to shut down takes no further connection.
	for range 20 {
		query(t, s.URL(), "SELECT 1")
	}
}

// onThreadThatEnds runs work on a thread that ends with it: that of a goroutine
// which locked it and did not unlock it, unless it is the process's first, which
// Go keeps.
func onThreadThatEnds(work func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != os.Getpid() {
		work()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // another, since the first is taken
		work()
	}()
	<-done
}

func TestASecondStartIsRefusedAndNamesTheHolder(t *testing.T) {
	t.Parallel()
	own, other := serverFolder(t), serverFolder(t)
	s := mustStart(t, testOptions(own))
	h := startHolder(t, other)
	for dir, holder := range map[string]int{own: os.Getpid(), other: h.cmd.Process.Pid} {
		_, err := Start(t.Context(), testOptions(dir))
		var inUse *InUseError
		if !errors.As(err, &inUse) || inUse.PID != holder {
			t.Errorf("%s: %v, want in use by process %d", dir, err, holder)
		}
	}
	if got := query(t, s.URL(), "SELECT 1") + query(t, h.url, "SELECT 1"); got != "11" {
		t.Errorf("the servers were disturbed: %q", got)
	}
}

func TestStopMayBeCalledAgainAndByMany(t *testing.T) {
	t.Parallel()
	s := mustStart(t, testOptions(serverFolder(t)))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	<-s.Done()
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	mustStop(t, s)
}

func TestStopEndsTheServerEvenWhenThereIsNoTime(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	query(t, s.URL(), "CREATE TABLE waits (n int)", "INSERT INTO waits VALUES (1)")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ended); err == nil || !strings.Contains(err.Error(), "the next start recovers") {
		t.Fatalf("Stop without time: %v", err)
	}
	if left := processesIn(t, o.Dir); len(left) > 0 {
		t.Fatalf("processes %v run after Stop", left)
	}
	s = mustStart(t, o)
	if got := query(t, s.URL(), "SELECT n FROM waits"); got != "1" {
		t.Fatalf("read %q, inserted 1", got)
	}
}

func TestACancelledStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for what, appears := range map[string]string{
		"while the cluster is made":   newName + "/PG_VERSION",
		"while the server comes up":   dataName + "/postmaster.pid",
		"before anything was touched": "",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			parent := parentFolder(t)
			dir := filepath.Join(parent, "server")
			s, err := startAndCancel(t, testOptions(dir), filepath.Join(dir, appears))
			for tries := 0; err == nil && tries < 10; tries++ { // it was quicker than its end
				mustStop(t, s)
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				s, err = startAndCancel(t, testOptions(dir), filepath.Join(dir, appears))
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("a cancelled start gives %v", err)
			}
			if left := processesIn(t, parent); len(left) > 0 {
				t.Errorf("processes %v were left", left)
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
				t.Errorf("left in the folder: %v (%v)", left, err)
			}
		})
	}
}

func TestACancelledStartKeepsACluster(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	query(t, s.URL(), "CREATE TABLE waits (n int)", "INSERT INTO waits VALUES (5)")
	mustStop(t, s)
	s, err := startAndCancel(t, o, filepath.Join(o.Dir, dataName, "postmaster.pid"))
	if err == nil { // it was quicker than its end; the next lines hold all the same
		mustStop(t, s)
	}
	s = mustStart(t, o)
	if got := query(t, s.URL(), "SELECT n FROM waits"); got != "5" {
		t.Fatalf("read %q, inserted 5", got)
	}
}

// startAndCancel cancels a start as soon as the path exists.
func startAndCancel(t *testing.T, o Options, path string) (*Server, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	if filepath.Clean(path) == o.Dir {
		cancel()
	}
	watching.Go(func() {
		poll(ctx, patience, func() bool {
			_, err := os.Lstat(path)
			return err == nil
		})
		cancel()
	})
	s, err := Start(ctx, o)
	cancel()
	return s, err
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
