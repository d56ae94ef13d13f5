package collect

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startGathering starts the script for ten minutes in a process group of its
// own, and waits until it gathers. What is left of the group is killed at last.
func startGathering(t *testing.T, outdir string) *exec.Cmd {
	t.Helper()
	pattern := "ora_lgwr_" + strings.ToUpper(filepath.Base(t.Name()))[:8]
	standIn(t, pattern)
	c := exec.Command("sh", writeScript(t), "-d", "600", "-i", "1", "-o", outdir, "-p", pattern)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	for _, name := range []string{"placement.txt", "interrupts.log", "stat.log"} {
		waitForFile(t, filepath.Join(outdir, ".corewait-*", "*", name))
	}
	return c
}

// loopsOf gives the shells of the group beside the script itself: its loops.
func loopsOf(t *testing.T, c *exec.Cmd) []int {
	t.Helper()
	var loops []int
	for _, line := range running(t, c.Process.Pid) {
		pid, rest, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(pid); err == nil && n != c.Process.Pid && strings.HasPrefix(rest, "(sh)") {
			loops = append(loops, n)
		}
	}
	return loops
}

// wantLoopsEnd waits until the script has no loops any more.
func wantLoopsEnd(t *testing.T, c *exec.Cmd) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(loopsOf(t, c)) > 0; <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("loops still running: %v", loopsOf(t, c))
		}
	}
}

func TestLoopsEndWhenTheScriptIsKilled(t *testing.T) {
	t.Parallel()
	c := startGathering(t, t.TempDir())
	if len(loopsOf(t, c)) < 3 {
		t.Fatalf("loops %v, want at least three", loopsOf(t, c))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // told by the kill
	wantLoopsEnd(t, c)
}

func TestLoopsEndWhenTheirFolderIsGone(t *testing.T) {
	t.Parallel()
	outdir := t.TempDir()
	c := startGathering(t, outdir)
	found, err := filepath.Glob(filepath.Join(outdir, ".corewait-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folders %v, %v", found, err)
	}
	if err := os.Rename(found[0], filepath.Join(outdir, "moved")); err != nil {
		t.Fatal(err)
	}
	wantLoopsEnd(t, c)
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	_ = c.Wait() // told by the kill
}

func TestASignalEndsALoop(t *testing.T) {
	t.Parallel()
	c := startGathering(t, t.TempDir())
	for _, pid := range loopsOf(t, c) {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended meanwhile
	}
	wantLoopsEnd(t, c)
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	_ = c.Wait() // told by the kill
}

// The clock of the loops is a stand-in: their deadline is 660 s after the start.
func TestLoopsEndAtTheirOwnDeadline(t *testing.T) {
	t.Parallel()
	text, err := Script(ScriptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(text, "\n# Read whole before anything runs")
	if !found {
		t.Fatal("the script does not end as it did")
	}
	dir := t.TempDir()
	for name, want := range map[string]struct{ cs, status int }{"just before": {66_099, 0}, "at it": {66_100, 1}} {
		ask := before + "\nended=''\nparent=" + dir + "\nwork=" + dir + "\nduration=600\ndeadline=$((100 + (duration + grace) * 100))\n" +
			"uptime_cs() { cs=" + strconv.Itoa(want.cs) + "; }\ngoing\n"
		c := exec.Command("sh", "-c", ask)
		out, _ := c.CombinedOutput() // the status tells
		if got := c.ProcessState.ExitCode(); got != want.status {
			t.Errorf("%s: status %d, want %d: %s", name, got, want.status, out)
		}
	}
}

func TestTheArchiveIsNamedAfterTheProcessAndReplacesNone(t *testing.T) {
	t.Parallel()
	outdir := t.TempDir()
	date, err := exec.LookPath("date")
	if err != nil {
		t.Fatal(err)
	}
	clock := stub(t, "date", "case $1 in -u) echo 20260616T000000Z ;; *) exec "+date+" \"$@\" ;; esac\n")
	// The shell becomes the script: both are the same process.
	const block = `: >"$OUT/corewait-$(uname -n | cut -d. -f1 | tr -c 'A-Za-z0-9_\n-' _)-20260616T000000Z-$$.tar.gz"; exec sh "$0" -d 1 -i 1 -o "$OUT" -p nothing`
	c := exec.Command("sh", "-c", block, writeScript(t))
	c.Env = append(os.Environ(), "OUT="+outdir, clock)
	var said bytes.Buffer
	c.Stderr = &said
	_ = c.Run() // the status tells
	if got := c.ProcessState.ExitCode(); got != 1 || !regexp.MustCompile(`-[0-9]+\.tar\.gz exists`).MatchString(said.String()) {
		t.Errorf("status %d, said %q", got, said.String())
	}
}
