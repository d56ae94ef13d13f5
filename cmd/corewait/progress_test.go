package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/ingest/files"
)

// clock is a time that tests move on.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func wide() int { return 80 }

// Expected lines are worked out by hand: a quarter in 5 s leaves 15 s.
func TestProgressShowsPercentEstimateAndFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after       time.Duration
		done, total int64
		file        string
		width       int
		want        string
	}{
		"short work shows nothing":             {499 * time.Millisecond, 1, 4, "a.log", 80, ""},
		"the first seconds estimate nothing":   {time.Second, 1, 4, "in/a.log", 80, "reading  25 %  a.log"},
		"then the rest goes at the same pace":  {5 * time.Second, 1, 4, "in/a.log", 80, "reading  25 %  about 15s left  a.log"},
		"hours are told as such":               {10 * time.Second, 1, 1001, "a", 80, "reading   0 %  about 2h46m40s left  a"},
		"what would take days is not guessed":  {10 * time.Second, 1, 1e9, "a", 80, "reading   0 %  a"},
		"nothing read yet is no division by 0": {10 * time.Second, 0, 4, "a", 80, "reading   0 %  a"},
		"more than all is all":                 {10 * time.Second, 5, 4, "a", 80, "reading 100 %  about 0s left  a"},
		"a narrow terminal does not wrap":      {5 * time.Second, 1, 4, "in/averylongname.log", 20, "reading  25 %  abou"},
		"escape sequences in names are harmless": {
			time.Second, 1, 4, "in/\x1b[31mred.log", 80, "reading  25 %  ?[31mred.log",
		},
		"an unknown size shows nothing": {5 * time.Second, 1, 0, "a", 80, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := &clock{time.Unix(0, 0)}
			p := showProgress(&out, c.now, func() int { return tt.width })
			p.update(files.StageRead, 0, 1, "begin")
			c.at = c.at.Add(tt.after)
			p.update(files.StageRead, tt.done, tt.total, tt.file)
			want := tt.want
			if want != "" {
				want = "\r\x1b[K" + want
			}
			if out.String() != want {
				t.Errorf("wrote %q, want %q", out.String(), want)
			}
		})
	}
}

// What the first looks come to is told, and the estimate is of reading alone:
// it begins anew with reading, and with the files of the next node. Half in 4 s
// leaves 4 s.
func TestProgressTellsWhatIsDoneWithTheFiles(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := showProgress(&out, c.now, wide)
	for _, tt := range []struct {
		after time.Duration
		stage files.Stage
		done  int64
		want  string
	}{
		{0, files.StageScan, 1, ""},
		{4 * time.Second, files.StageScan, 50, "looking through  50 %  a.tar"},
		{4 * time.Second, files.StageCompare, 10, "comparing  10 %  a.tar"},
		{4 * time.Second, files.StageRead, 0, "reading   0 %  a.tar"},
		{4 * time.Second, files.StageRead, 50, "reading  50 %  about 4s left  a.tar"},
		{4 * time.Second, files.StageRead, 1, "reading   1 %  a.tar"},
		{4 * time.Second, files.StageRead, 50, "reading  50 %  about 4s left  a.tar"},
	} {
		c.at = c.at.Add(tt.after)
		out.Reset()
		p.update(tt.stage, tt.done, 100, "in/a.tar")
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != tt.want {
			t.Errorf("wrote %q, want %q", got, tt.want)
		}
	}
}

func TestProgressWritesAtMostTenTimesASecondAndClearsItsLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := showProgress(&out, c.now, wide)
	for range 3000 { // 3 s in steps of a millisecond
		c.at = c.at.Add(time.Millisecond)
		p.update(files.StageRead, 1, 100, "a")
	}
	// Half a second of silence, then one every 100 ms: at 0.5, 0.6, ... 3.0 s.
	if n := strings.Count(out.String(), "reading"); n != 26 {
		t.Errorf("%d lines, want 26", n)
	}
	if strings.Contains(out.String(), "\n") {
		t.Error("more than one line")
	}
	p.clear()
	if !strings.HasSuffix(out.String(), "a\r\x1b[K") {
		t.Errorf("ends in %q", out.String()[out.Len()-20:])
	}
	n := out.Len()
	p.clear()
	if out.Len() != n {
		t.Error("cleared twice")
	}
}

func TestProgressIsSilentWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range []*progress{newProgress(f), newProgress(&bytes.Buffer{})} {
		p.update(files.StageRead, 1, 2, "a")
		p.clear()
		if p.w != nil {
			t.Error("writes to what is no terminal")
		}
	}
}
