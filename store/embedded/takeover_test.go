//go:build linux

package embedded

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// sleeper starts a program that waits, as the user of the server, and gives its
// process id.
func sleeper(t *testing.T, a account) int {
	t.Helper()
	cmd := a.command("/", "/bin/sleep", syscall.SIGKILL, io.Discard, "3600")
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.killGroup()
		<-p.done
	})
	return cmd.Process.Pid
}

func TestAServerLeftRunningIsStoppedBeforeAnotherStarts(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	query(t, s.URL(), "CREATE TABLE waits (n int)")
	mustStop(t, s)

	// The same server again, but without parent or lock, as when its parent
	// crashed and the kernel's signal did not arrive.
	cmd := s.process.cmd
	orphan := exec.Command(cmd.Path, cmd.Args[1:]...)
	orphan.Dir, orphan.Env = cmd.Dir, cmd.Env
	orphan.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.folder.account.credential}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	defer func() {
		_ = orphan.Process.Kill()
		<-ended
	}()
	eventually(t, "the orphan takes connections", func() bool {
		return s.do(t.Context(), func(context.Context, *pgx.Conn) error { return nil }) == nil
	})
	query(t, s.URL(), "INSERT INTO waits VALUES (3)")

	s = mustStart(t, o)
	if err := <-ended; err != nil {
		t.Errorf("the orphan was not shut down in order: %v", err)
	}
	ended <- nil
	if s.PID() == orphan.Process.Pid {
		t.Error("the orphan is the server")
	}
	if got := query(t, s.URL(), "SELECT n FROM waits"); got != "3" {
		t.Errorf("read %q, inserted 3", got)
	}
}

func TestAProcessIDThatIsAnotherProgramsByNowHindersNothing(t *testing.T) {
	t.Parallel()
	o := testOptions(serverFolder(t))
	s := mustStart(t, o)
	pidFile := filepath.Join(o.Dir, dataName, "postmaster.pid")
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	mustStop(t, s)
	other := sleeper(t, s.folder.account)
	for _, path := range []string{pidFile, filepath.Join(o.Dir, socketName, socketFile+".lock")} {
		_, rest, _ := strings.Cut(mustRead(t, path), "\n")
		if err := os.WriteFile(path, []byte(strconv.Itoa(other)+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = mustStart(t, o)
	if got := query(t, s.URL(), "SELECT 1"); got != "1" {
		t.Errorf("read %q", got)
	}
	if err := syscall.Kill(other, 0); err != nil {
		t.Errorf("the other program was ended: %v", err)
	}
}

func TestPostmasterIDs(t *testing.T) {
	t.Parallel()
	// The lines of postmaster.pid are in PostgreSQL's src/include/utils/pidfile.h.
	for name, c := range map[string]struct {
		text   string
		want   int
		status string
	}{
		"a server's":                {"4711\n/var/lib/data\n1700000000\n5432\n/run\n\n 12 34\nready   \n", 4711, "ready"},
		"that comes up":             {"4711\n/var/lib/data\n1700000000\n5432\n/run\n\n 12 34\nstarting\n", 4711, "starting"},
		"of a single session":       {"-4711\n/var/lib/data\n", 4711, ""},
		"being written":             {"", 0, ""},
		"damaged":                   {"\x00\x00\x00\x00", 0, ""},
		"not a number":              {"postgres\n", 0, ""},
		"more than an id can be":    {"99999999999999999999\n", 0, ""},
		"that would mean a session": {"--1\n", -1, ""}, // not above 0: taken for none
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, status := readPostmaster(data); got != c.want || status != c.status {
				t.Errorf("read %d %q, want %d %q", got, status, c.want, c.status)
			}
			if _, err := takeOver(t.Context(), data); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALinkIsNotReadAsPostmastersFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(elsewhere, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(data, "postmaster.pid")); err != nil {
		t.Fatal(err)
	}
	if got, _ := readPostmaster(data); got != 0 {
		t.Errorf("read %d through a link", got)
	}
}

func TestOnlyAServerOfTheClusterIsItsPostmaster(t *testing.T) {
	t.Parallel()
	dir := serverFolder(t)
	s := mustStart(t, testOptions(dir))
	data := s.folder.path(dataName)
	for name, c := range map[string]struct {
		pid  int
		data string
		want bool
	}{
		"the server itself":        {s.PID(), data, true},
		"by another path":          {s.PID(), filepath.Join(dir, "..", "server", dataName), true},
		"of another cluster":       {s.PID(), dir, false},
		"another program":          {sleeper(t, s.folder.account), data, false},
		"this test":                {os.Getpid(), data, false},
		"an id that cannot be one": {1 << 30, data, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isPostmaster(c.pid, c.data); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
