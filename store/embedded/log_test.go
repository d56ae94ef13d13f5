package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLogNeverGrowsBeyondTwiceItsLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 { // each opened anew, as a start does
		l, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		for range logLimit / len(line) { // as much as the limit, each time
			if n, err := l.Write(line); n != len(line) || err != nil {
				t.Fatalf("wrote %d: %v", n, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v (%v), want log and log.1", entries, err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Size() > logLimit {
			t.Errorf("%s holds %d bytes (%v), at most %d", entry.Name(), info.Size(), err, logLimit)
		}
	}
}

func TestTheTailIsTheLastLinesAsOne(t *testing.T) {
	t.Parallel()
	l, err := openLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, text := range []string{strings.Repeat("earlier\n", 1000), "first\n", "\n second", " half\nthird\n"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.Tail(); got != "first; second half; third" {
		t.Errorf("tail is %q", got)
	}
	l.forget()
	if got := l.Tail(); got != "" {
		t.Errorf("tail is %q after forgetting", got)
	}
}

func TestAFullDiskDoesNotStopTheServer(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("SKIPPED: needs /dev/full: %v", err)
	}
	l := &serverLog{path: filepath.Join(t.TempDir(), "log"), file: full}
	defer l.Close()
	if n, err := l.Write([]byte("line\n")); n != 5 || err != nil {
		t.Errorf("wrote %d: %v", n, err)
	}
	if got := l.Tail(); got != "line" {
		t.Errorf("tail is %q", got)
	}
}
