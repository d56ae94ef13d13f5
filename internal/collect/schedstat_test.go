package collect

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gather lets the script follow the processes that match until it has placed
// them so many times, however busy the machine is, and gives the folder of its
// archive and what placement.txt in it holds.
func gather(t *testing.T, script, pattern string, readings int) (outdir, placement string) {
	t.Helper()
	outdir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", script, "-d", "600", "-i", "1", "-o", outdir, "-p", pattern)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil && readingsIn(outdir) < readings {
		<-time.After(20 * time.Millisecond)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if got := c.ProcessState.ExitCode(); got != 143 {
		t.Fatalf("status %d, want 143", got)
	}
	wantNoneLeft(t, c.Process.Pid)
	archives, err := filepath.Glob(filepath.Join(outdir, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives %v: %v", archives, err)
	}
	return outdir, member(t, unpack(t, archives[0]), "placement.txt")
}

// readingsIn counts the readings in the file that a script is writing.
func readingsIn(outdir string) int {
	found, err := filepath.Glob(filepath.Join(outdir, ".corewait-*", "*", "placement.txt"))
	if err != nil || len(found) == 0 {
		return 0
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "PSR")
}

// threadTimes gives the columns EXEC_NS and WAIT_NS of the rows of a process, by
// thread, in the order of the file.
func threadTimes(t *testing.T, text string, pid int) map[string][][2]uint64 {
	t.Helper()
	times := map[string][][2]uint64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 8 || f[0] != strconv.Itoa(pid) || f[5] == "-" { // "-": a thread that has not run yet
			continue
		}
		ran, err := strconv.ParseUint(f[5], 10, 64)
		if err != nil {
			t.Fatalf("row %q: %v", line, err)
		}
		queued, err := strconv.ParseUint(f[6], 10, 64)
		if err != nil {
			t.Fatalf("row %q: %v", line, err)
		}
		times[f[1]] = append(times[f[1]], [2]uint64{ran, queued})
	}
	return times
}

// The values are the kernel's own; what is read must add up to what is printed,
// taken from the text without the reader.
func TestTheScriptTellsWhatThreadsRanAndQueued(t *testing.T) {
	t.Parallel()
	if text, err := os.ReadFile("/proc/self/schedstat"); err != nil || string(text) == "0 0 0\n" {
		t.Skipf("SKIPPED: this kernel keeps no /proc/PID/schedstat: %q, %v", text, err)
	}
	pid := startStandIn(t, "ora_lgwr_BUSY", busy)
	outdir, text := gather(t, writeScript(t), "ora_lgwr_BUSY", 8)
	if !strings.Contains(text, "\nPID TID PSR S CLS EXEC_NS WAIT_NS COMMAND\n") {
		t.Fatalf("no such heading in:\n%s", text)
	}
	var grown uint64
	for tid, rows := range threadTimes(t, text, pid) {
		for i := 1; i < len(rows); i++ {
			if rows[i][0] < rows[i-1][0] || rows[i][1] < rows[i-1][1] {
				t.Errorf("times of thread %s fell: %v", tid, rows)
			}
		}
		grown += rows[len(rows)-1][0] - rows[0][0]
	}
	if grown == 0 {
		t.Errorf("a busy process did not run:\n%s", text)
	}
	g, _, report := read(t, outdir)
	if len(report.Problems) > 0 {
		t.Errorf("problems: %q", report.Problems)
	}
	var ran time.Duration
	for _, p := range g.placements {
		if p.Exec > 0 {
			ran += p.Exec
		}
		if p.Exec > 0 && (p.Interval <= 0 || p.RunDelay < 0) {
			t.Errorf("placement %+v", p)
		}
	}
	// Every row counts from the one before: the parts make up the whole.
	if uint64(ran.Nanoseconds()) != grown {
		t.Errorf("ran %v as read, %d ns as printed", ran, grown)
	}
}

func TestTheScriptPrintsDashesWhereTheKernelCountsNothing(t *testing.T) {
	t.Parallel()
	pid := standIn(t, "ora_lgwr_NOSTAT")
	file := writeScript(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	zeros := filepath.Join(t.TempDir(), "schedstat")
	if err := os.WriteFile(zeros, []byte("0 0 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, file string }{
		{"no such file", "/no/such/schedstat"},
		{"three zeros", zeros},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const schedstat = `"/proc/$pid/task/$tid/schedstat"`
			if strings.Count(string(text), schedstat) != 1 {
				t.Fatalf("%s is not in the script once", schedstat)
			}
			changed := filepath.Join(t.TempDir(), "collect.sh")
			if err := os.WriteFile(changed, []byte(strings.Replace(string(text), schedstat, "'"+test.file+"'", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			outdir, placement := gather(t, changed, "ora_lgwr_NOSTAT", 1)
			if !strings.Contains(placement, fmt.Sprintf("\n%d %d ", pid, pid)) || !strings.Contains(placement, " - - ora_lgwr_NOSTAT\n") {
				t.Errorf("no dashes in:\n%s", placement)
			}
			g, _, _ := read(t, outdir)
			if len(g.placements) == 0 {
				t.Fatal("no placement was read")
			}
			for _, p := range g.placements {
				if p.Exec >= 0 || p.RunDelay >= 0 || p.Interval != 0 {
					t.Errorf("placement %+v", p)
				}
			}
		})
	}
}
