package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The README shows what the demo prints, shortened by whole sections: each of
// its blocks must stand in the real output.
func TestTheREADMEShowsWhatTheDemoPrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"demo", "--files"}, &stdout, &stderr); status != exitDone {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	shown := 0
	for _, begin := range []string{"ORDP1 on db1", "CAUSES\n"} {
		_, rest, found := strings.Cut(string(readme), "```\n"+begin)
		if !found {
			t.Errorf("the README has no block that begins with %q", begin)
			continue
		}
		block, _, _ := strings.Cut(begin+rest, "\n```")
		shown++
		if !strings.Contains(stdout.String(), block) {
			t.Errorf("the demo does not print the README's block that begins with %q: copy it from `corewait demo --files`", begin)
		}
	}
	if shown == 0 {
		t.Error("nothing was compared")
	}
}
