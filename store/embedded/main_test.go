//go:build linux

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// holderVariable makes this test binary a process that starts the server of the
// folder that it names, and does nothing more until it is ended.
const holderVariable = "COREWAIT_TEST_HOLDER"

// patience bounds what a test waits for; it is reached only where it fails.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderVariable); dir != "" {
		os.Exit(hold(dir))
	}
	folder, err := os.MkdirTemp("/tmp", "corewait-embedded-")
	if err == nil {
		err = os.Chmod(folder, 0o711)
	}
	if err == nil {
		err = removeAtTheEnd(folder)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	all = folder
	goleak.VerifyTestMain(m)
}

// all holds the folders of all tests. It is short, since paths of sockets are,
// and root's unprivileged server can pass through it, unlike t.TempDir's.
var all string

// removeAtTheEnd has a folder removed when this process has ended, however it
// ends: by then the servers in it have no parent any more and end too.
func removeAtTheEnd(folder string) error {
	cmd := exec.Command("/bin/sh", "-c", `read -r _; n=100
		while [ $n -gt 0 ] && { rm -rf -- "$1" 2>/dev/null; [ -e "$1" ]; }; do sleep 0.1; n=$((n - 1)); done`, "sh", folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var err error
	if untilTheEnd, err = cmd.StdinPipe(); err != nil {
		return err
	}
	return cmd.Start()
}

// untilTheEnd is a pipe that this process keeps open.
var untilTheEnd io.Closer

// hold starts a server, prints its process id and address, and waits.
func hold(dir string) int {
	s, err := Start(context.Background(), testOptions(dir))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(s.PID())
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0 // without Stop
}

// holder is another process with a server.
type holder struct {
	cmd        *exec.Cmd
	postmaster int
	url        string
}

func startHolder(t *testing.T, dir string) *holder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{cmd: exec.Command(self)}
	h.cmd.Env = append(os.Environ(), holderVariable+"="+dir)
	h.cmd.Stderr = os.Stderr
	stdin, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); h.kill() })
	lines := bufio.NewScanner(stdout)
	for _, take := range []func(string){
		func(line string) { h.postmaster, err = strconv.Atoi(line) },
		func(line string) { h.url = line },
	} {
		if !lines.Scan() {
			t.Fatal("the other process started no server")
		}
		if take(lines.Text()); err != nil {
			t.Fatalf("the other process: %s", lines.Text())
		}
	}
	return h
}

// kill ends the other process as a crash would.
func (h *holder) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// testOptions are those of a quick server; root has it run by nobody.
func testOptions(dir string) Options {
	o := Options{Dir: dir, NoFsync: true}
	if os.Geteuid() == 0 {
		o.RunAs = "nobody"
	}
	return o
}

// installed says whether there is a PostgreSQL; asked for once, since it takes
// running it.
var installed = sync.OnceValue(func() error {
	_, err := findBinaries(context.Background(), Options{}, "", 0)
	return err
})

// requirePostgres skips a test where no PostgreSQL is installed.
func requirePostgres(t *testing.T) {
	t.Helper()
	err := installed()
	if errors.Is(err, ErrNoBinaries) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// parentFolder gives an empty folder that the server can pass through, and
// requires PostgreSQL.
func parentFolder(t *testing.T) string {
	t.Helper()
	requirePostgres(t)
	parent, err := os.MkdirTemp(all, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Servers whose parent was killed end by themselves, soon. Whatever else a
		// test leaves running must not stay when it fails.
		poll(context.Background(), 20*time.Second, func() bool { return len(processesIn(t, parent)) == 0 })
		for _, pid := range processesIn(t, parent) {
			t.Errorf("process %d was left running", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	return parent
}

// made is a folder with a cluster, made once.
var made = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := filepath.Join(all, "made")
	s, err := Start(ctx, testOptions(dir))
	if err != nil {
		return "", err
	}
	return dir, s.Stop(ctx)
})

// serverFolder gives a folder with a cluster, copied: making one takes longer
// than most tests.
func serverFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(parentFolder(t), "server")
	copyCluster(t, dir)
	return dir
}

func copyCluster(t *testing.T, dir string) {
	t.Helper()
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

// processesIn are the processes that have the folder in their command line.
func processesIn(t *testing.T, folder string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), folder+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// mustStart starts a server that ends with the test.
func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func mustStop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// query runs statements and gives the only value of the last one's row, as text.
func query(t *testing.T, url string, statements ...string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value string
	for _, statement := range statements {
		rows, err := conn.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		for rows.Next() {
			value = string(rows.RawValues()[0])
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return value
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !poll(t.Context(), patience, holds) {
		t.Fatalf("not within %s: %s", patience, what)
	}
}
