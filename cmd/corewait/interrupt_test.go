package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// endlessLog writes a file that takes long to read and little to make: one
// compressed stretch of a log many times over, some 8 GB in all.
func endlessLog(t *testing.T) string {
	t.Helper()
	var stretch bytes.Buffer
	for second := range 2000 {
		stretch.WriteString(strconv.Itoa(1_796_006_412+second) + "\n           CPU0       CPU1\n")
		for irq := range 60 {
			stretch.WriteString(" " + strconv.Itoa(100+irq) + ":         10         20   PCI-MSI 1-edge      eth" + strconv.Itoa(irq) + "\n")
		}
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := z.EncodeAll(stretch.Bytes(), nil)
	path := filepath.Join(t.TempDir(), "interrupts.log.zst")
	if err := os.WriteFile(path, bytes.Repeat(frame, 8_000_000_000/stretch.Len()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCtrlCEndsALongAnalysisAtOnceWithOneLine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: sees by /proc/PID/stat that the program is at work, which is Linux's")
	}
	var stdout, stderr bytes.Buffer
	c := exec.Command("corewait", "analyze", endlessLog(t))
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(60 * time.Second)
	for cpuTicks(t, c.Process.Pid) < 30 { // 0.3 s of work
		select {
		case err := <-ended:
			t.Fatalf("ended before it was interrupted: %v, %s", err, stderr.String())
		case <-deadline:
			_ = c.Process.Kill()
			t.Fatal("does not get to work")
		case <-look.C:
		}
	}
	asked := time.Now()
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if got := exitStatus(err); got != "1" || time.Since(asked) > 2*time.Second {
			t.Errorf("exit status %s after %v", got, time.Since(asked))
		}
	case <-time.After(10 * time.Second):
		t.Error("still running 10 s after Ctrl-C")
		_ = c.Process.Kill()
		<-ended
	}
	if stdout.Len() > 0 || stderr.String() != "corewait: stopped before it was done\n" {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

// cpuTicks gives the CPU time that a process has used, in hundredths of a
// second (proc_pid_stat(5): fields 14 and 15, counted behind the last bracket).
func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0 // gone: ended is told
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return ticks
}
