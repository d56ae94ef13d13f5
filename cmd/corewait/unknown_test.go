package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// One readable file beside 23 of no known kind: 20 are named and 3 counted.
func TestAtMostTwentyUnknownFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ash := "SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,SESSION_TYPE,EVENT,SESSION_STATE,TIME_WAITED,PROGRAM\n" +
		"1,2026-06-16 09:00:01.500,1,50,1,FOREGROUND,log file sync,WAITING,250000,app\n"
	texts := map[string]string{"ash.csv": ash}
	for i := range 23 {
		texts["notes"+strconv.Itoa(i)+".txt"] = "notes " + strconv.Itoa(i) + "\n"
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"analyze", dir}, &stdout, &stderr); status != exitDone {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	if n := strings.Count(stderr.String(), ": not read: "); n != 20 || !strings.HasSuffix(stderr.String(), "corewait: ... and 3 more files not read\n") {
		t.Errorf("%d files named in:\n%s", n, stderr.String())
	}
}
