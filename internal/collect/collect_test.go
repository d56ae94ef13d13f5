package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// standInVariable makes this test binary stand in for LGWR until its standard
// input ends: it sleeps, or, where the value is busy, keeps a CPU busy.
const (
	standInVariable = "COREWAIT_TEST_STAND_IN"
	idle            = "idle"
	busy            = "busy"
)

func TestMain(m *testing.M) {
	switch os.Getenv(standInVariable) {
	case idle:
		_, _ = io.Copy(io.Discard, os.Stdin)
	case busy:
		var ended atomic.Bool
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			ended.Store(true)
		}()
		for !ended.Load() {
			continue
		}
	default:
		os.Exit(m.Run())
	}
}

// standIn starts a process of that name that sleeps and gives its id.
func standIn(t *testing.T, name string) int {
	t.Helper()
	return startStandIn(t, name, idle)
}

func startStandIn(t *testing.T, name, doing string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(link)
	c.Env = append(os.Environ(), standInVariable+"="+doing)
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = c.Wait()
	})
	return c.Process.Pid
}

// writeScript writes the script, as it is by default, to a folder and gives its path.
func writeScript(t *testing.T) string {
	t.Helper()
	text, err := Script(ScriptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "collect.sh")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// shells gives the shells that are installed here.
func shells(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, shell := range []string{"sh", "dash", "bash"} {
		if _, err := exec.LookPath(shell); err == nil {
			found = append(found, shell)
		}
	}
	if len(found) == 0 {
		t.Skip("SKIPPED: no POSIX shell is installed")
	}
	return found
}

// run runs the script in a process group of its own and gives its archive's
// members by path, what it said, and its exit status.
func run(t *testing.T, c *exec.Cmd, outdir string) (members map[string][]byte, said string, status int) {
	t.Helper()
	var messages bytes.Buffer
	c.Stderr = &messages
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if archive := strings.TrimSpace(string(out)); archive != "" {
		members = unpack(t, filepath.Join(outdir, filepath.Base(archive)))
	}
	wantNoneLeft(t, c.Process.Pid)
	return members, messages.String(), c.ProcessState.ExitCode()
}

func unpack(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		if members[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// wantNoneLeft waits until no process of the group runs. Those that have ended
// but that nobody has waited for (state Z) do not count.
func wantNoneLeft(t *testing.T, group int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		left := running(t, group)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still running: %q", left)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// running gives the stat lines of a group's processes that have not ended.
func running(t *testing.T, group int) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// proc_pid_stat(5): behind the name in parentheses state, parent, group.
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			left = append(left, string(line))
		}
	}
	return left
}

// kinds gives the names of the members without their folder.
func kinds(members map[string][]byte) []string {
	var names []string
	for name := range members {
		if !strings.HasSuffix(name, "/") {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

// member gives the content of a member by its name in the host's folder.
func member(t *testing.T, members map[string][]byte, name string) string {
	t.Helper()
	for full, content := range members {
		if path.Base(full) == name {
			return string(content)
		}
	}
	t.Fatalf("no %s in the archive, which holds %q", name, kinds(members))
	return ""
}

func TestTheScriptGathersWhatAnalyzeReads(t *testing.T) {
	t.Parallel()
	for _, shell := range shells(t) {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			pid := standIn(t, "ora_lgwr_"+strings.ToUpper(shell))
			outdir := t.TempDir()
			c := exec.Command(shell, writeScript(t),
				"-d", "3", "-i", "1", "-o", outdir, "-p", "ora_lgwr_"+strings.ToUpper(shell))
			members, said, status := run(t, c, outdir)
			if status != 0 {
				t.Fatalf("status %d: %s", status, said)
			}
			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			host, _, _ = strings.Cut(host, ".")
			for name := range members {
				if !strings.HasPrefix(name, host+"/") {
					t.Errorf("member %q is not in the host's folder %q", name, host)
				}
			}
			for _, name := range []string{"interrupts.log", "softirqs.log", "stat.log", "placement.txt"} {
				member(t, members, name)
			}
			if errs := members[host+"/errors.txt"]; len(errs) > 0 {
				t.Errorf("errors: %s", errs)
			}
			if !strings.Contains(member(t, members, "placement.txt"), fmt.Sprintf("\n%d %d ", pid, pid)) {
				t.Errorf("process %d is not in:\n%s", pid, member(t, members, "placement.txt"))
			}
			wantOnly(t, outdir, ".tar.gz")
		})
	}
}

// wantOnly checks that the script leaves one file, its archive, that no one
// else can read.
func wantOnly(t *testing.T, outdir, suffix string) {
	t.Helper()
	entries, err := os.ReadDir(outdir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), suffix) || !strings.HasPrefix(entries[0].Name(), "corewait-") {
		t.Fatalf("left behind: %v", entries)
	}
	info, err := entries[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("archive has mode %v", info.Mode())
	}
}

func TestTimesOfPlacementsAreThoseOfTheClock(t *testing.T) {
	t.Parallel()
	standIn(t, "ora_lgwr_CLOCK")
	first := ""
	var before, after time.Time
	// Readings that were held up are left out: on a busy machine it takes longer.
	for seconds := 2; first == "" && seconds <= 32; seconds *= 2 {
		outdir := t.TempDir()
		before = time.Now()
		c := exec.Command("sh", writeScript(t), "-d", strconv.Itoa(seconds), "-i", "1", "-o", outdir, "-p", "ora_lgwr_CLOCK")
		members, said, status := run(t, c, outdir)
		after = time.Now()
		if status != 0 {
			t.Fatalf("status %d: %s", status, said)
		}
		first, _, _ = strings.Cut(member(t, members, "placement.txt"), "\n")
	}
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		t.Fatalf("first line: %v", err)
	}
	at := time.UnixMicro(int64(seconds * 1e6))
	if at.Before(before) || at.After(after) {
		t.Errorf("first reading at %v, the script ran from %v to %v", at, before, after)
	}
}

func TestTheScriptDoesWithoutLGWR(t *testing.T) {
	t.Parallel()
	outdir := t.TempDir()
	c := exec.Command("sh", writeScript(t), "-d", "1", "-i", "1", "-o", outdir, "-p", "^no_such_process_at_all$")
	members, said, status := run(t, c, outdir)
	if status != 0 || !strings.Contains(said, "there is no LGWR here") {
		t.Errorf("status %d: %s", status, said)
	}
	member(t, members, "interrupts.log")
	if names := kinds(members); slices.Contains(names, "placement.txt") {
		t.Errorf("placements of nothing in %q", names)
	}
}

func TestTheScriptRunsFromAPipe(t *testing.T) {
	t.Parallel()
	text, err := Script(ScriptOptions{Duration: time.Second, Interval: time.Second, Pattern: "^no_such_process_at_all$"})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh")
	c.Dir = t.TempDir()
	c.Stdin = strings.NewReader(text)
	members, said, status := run(t, c, c.Dir)
	if status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	member(t, members, "interrupts.log")
}

func TestAnInterruptedScriptPacksWhatItHas(t *testing.T) {
	t.Parallel()
	standIn(t, "ora_lgwr_STOP")
	outdir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", writeScript(t), "-d", "600", "-i", "1", "-o", outdir, "-p", "ora_lgwr_STOP")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	messages, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// It speaks once its traps are set.
	if _, err := bufio.NewReader(messages).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, filepath.Join(outdir, ".corewait-*", "*", "placement.txt"))
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if got := c.ProcessState.ExitCode(); got != 143 {
		t.Errorf("status %d, want 143", got)
	}
	wantNoneLeft(t, c.Process.Pid)
	wantOnly(t, outdir, ".tar.gz")
	found, _ := filepath.Glob(filepath.Join(outdir, "*"))
	member(t, unpack(t, found[0]), "interrupts.log")
}

// waitForFile waits until a file that matches holds something.
func waitForFile(t *testing.T, pattern string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		found, _ := filepath.Glob(pattern)
		if len(found) > 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() > 0 {
				return
			}
		}
	}
	t.Fatalf("nothing matches %s", pattern)
}

// stub puts a command in front of the real one and gives the PATH to use.
func stub(t *testing.T, name, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

func TestWithoutAFineClockPlacementsComeFromPs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pidstat"); err == nil {
		t.Skip("SKIPPED: pidstat is installed and is taken before ps")
	}
	date, err := exec.LookPath("date")
	if err != nil {
		t.Skip("SKIPPED: no date")
	}
	pid := standIn(t, "ora_lgwr_COARSE")
	outdir := t.TempDir()
	c := exec.Command("sh", writeScript(t), "-d", "2", "-i", "1", "-o", outdir, "-p", "ora_lgwr_COARSE")
	c.Env = append(os.Environ(), stub(t, "date", `case $1 in *%N*) echo N ;; *) exec `+date+` "$@" ;; esac`))
	members, said, status := run(t, c, outdir)
	if status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	if text := member(t, members, "placement.txt"); !strings.Contains(text, strconv.Itoa(pid)) || !strings.Contains(text, "PSR") {
		t.Errorf("process %d is not in:\n%s", pid, text)
	}
}

func TestTheScriptRefusesToBegin(t *testing.T) {
	t.Parallel()
	file := writeScript(t)
	full := stub(t, "df", "printf 'Filesystem 1024-blocks Used Available Capacity Mounted\\n/dev/x 1000000 0 204799 1%% /\\n'\n")
	tests := []struct {
		name   string
		args   []string
		env    string
		status int
		said   string
	}{
		{"with less than 200 MiB free", []string{"-d", "1", "-i", "1"}, full, 1, "MiB free"},
		{"in a folder that is not there", []string{"-o", "/no/such/folder"}, "", 1, "not a folder"},
		{"for no time", []string{"-d", "0"}, "", 2, "between 1 and 604800"},
		{"for a time that is no number", []string{"-d", "10m"}, "", 2, "not a whole number"},
		{"with an interval over its time", []string{"-d", "1", "-i", "2"}, "", 2, "usage"},
		{"with a pattern that is no regular expression", []string{"-p", "["}, "", 2, "-p: not a regular expression: ["},
		{"with an unknown option", []string{"-x"}, "", 2, "usage"},
		{"with a word too many", []string{"-d", "1", "more"}, "", 2, "usage"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			outdir := t.TempDir()
			c := exec.Command("sh", append([]string{file}, test.args...)...)
			c.Dir = outdir
			if test.env != "" {
				c.Env = append(os.Environ(), test.env)
			}
			_, said, status := run(t, c, outdir)
			if status != test.status || !strings.Contains(said, test.said) {
				t.Errorf("status %d, said %q; want %d, %q", status, said, test.status, test.said)
			}
			if entries, err := os.ReadDir(outdir); err != nil || len(entries) > 0 {
				t.Errorf("left behind: %v %v", entries, err)
			}
		})
	}
}

func TestScriptOptions(t *testing.T) {
	t.Parallel()
	text, err := Script(ScriptOptions{Duration: time.Minute, Interval: 2 * time.Second, Pattern: "^ora_lgwr_A$"})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\nduration=60\n", "\ninterval=2\n", "\npattern='^ora_lgwr_A$'\n"} {
		if strings.Count(text, line) != 1 {
			t.Errorf("%q is not in the script once", line)
		}
	}
	plain, err := Script(ScriptOptions{})
	if err != nil || plain != script {
		t.Errorf("the defaults are not the script as it is: %v", err)
	}
	for _, o := range []ScriptOptions{
		{Duration: -time.Second}, {Duration: 1500 * time.Millisecond}, {Duration: 8 * 24 * time.Hour},
		{Duration: time.Second}, {Interval: 2 * time.Hour}, {Pattern: "a'; rm -rf /; '"}, {Pattern: "a\nb"},
	} {
		if _, err := Script(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestTheScriptPassesShellcheck(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("SKIPPED: shellcheck is not installed")
	}
	if out, err := exec.Command("shellcheck", "-s", "sh", writeScript(t)).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
