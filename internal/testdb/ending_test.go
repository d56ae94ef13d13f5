//go:build linux

package testdb_test

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewait/corewait/internal/testdb"
)

// endingVariable says how a test of another process ends.
const endingVariable = "COREWAIT_TEST_ENDING"

// TestEnding is the other process: it has a server and ends as it is told.
func TestEnding(t *testing.T) {
	ending := os.Getenv(endingVariable)
	if ending == "" {
		t.Skip("is run by TestNothingIsLeftHoweverTheTestsEnd")
	}
	address, err := url.Parse(testdb.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nsocket=%s\n", address.Query().Get("host"))
	switch ending {
	case "panic":
		panic("as a test that is wrong does")
	case "failure":
		t.Fatal("as a test that finds something does")
	case "exit":
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

func TestNothingIsLeftHoweverTheTestsEnd(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"panic", "failure", "exit", "timeout", "kill"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			cmd := again(t, "^TestEnding$", endingVariable+"="+ending, addressVariable+"=")
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
			folder := readFolder(t, stdout)
			if signal, ok := map[string]syscall.Signal{"timeout": syscall.SIGQUIT, "kill": syscall.SIGKILL}[ending]; ok {
				if folder == "" || len(processesIn(folder)) == 0 {
					t.Error("no server is seen, so this shows nothing")
				}
				_ = cmd.Process.Signal(signal) // SIGQUIT is what go test sends when the time is over
			}
			_, _ = io.Copy(io.Discard, stdout)
			if err := cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				left, err := os.Lstat(folder)
				if os.IsNotExist(err) && len(processesIn(folder)) == 0 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("left after a minute: %v, processes %v", left, processesIn(folder))
				}
			}
		})
	}
}

// readFolder gives the temporary folder of the other process's server, the one
// that holds all of it.
func readFolder(t *testing.T, output io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "SKIPPED") {
			t.Skip(strings.TrimSpace(lines.Text()))
		}
		if socket, ok := strings.CutPrefix(lines.Text(), "socket="); ok {
			return filepath.Dir(filepath.Dir(socket))
		}
	}
	t.Error("the other process had no server")
	return ""
}

// processesIn are the processes that have the folder in their command line.
func processesIn(folder string) []int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []int
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), folder) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
