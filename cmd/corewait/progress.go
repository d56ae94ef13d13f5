package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/report"
)

// progress writes one line to a terminal while long inputs are looked through
// and read; elsewhere it is silent.
type progress struct {
	w     io.Writer // nil: silent
	width func() int
	now   func() time.Time

	next  time.Time // before which nothing is written
	shown bool

	stage files.Stage
	begun time.Time // the stage
	done  int64     // of the stage, last told
}

const (
	// quiet is how long work may take before it shows progress.
	quiet = 500 * time.Millisecond
	// refresh is how long a line stays: people read no more than ten a second.
	refresh = 100 * time.Millisecond
	// guessAfter is how long reading must have gone on before its end is
	// estimated: the first files say little of the rest.
	guessAfter = 2 * time.Second
)

// newProgress shows progress on a terminal that understands escape sequences.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return showProgress(w, time.Now, func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	})
}

func showProgress(w io.Writer, now func() time.Time, width func() int) *progress {
	return &progress{w: w, now: now, width: width, next: now().Add(quiet)}
}

// update replaces the line, at most ten times a second.
func (p *progress) update(stage files.Stage, done, total int64, name string) {
	if p.w == nil || total <= 0 {
		return
	}
	now := p.now()
	if stage != p.stage || done < p.done { // a new stage, or the next node's files
		p.stage, p.begun = stage, now
	}
	p.done = done
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(refresh), true
	done = min(max(done, 0), total)
	left := ""
	if stage == files.StageRead { // what comes after the other stages takes longer than they
		left = remaining(now.Sub(p.begun), done, total)
	}
	line := fmt.Sprintf("%s %3.0f %%%s  %s", stage, 100*float64(done)/float64(total), left, report.Clean(path.Base(name)))
	fmt.Fprint(p.w, "\r\x1b[K"+cutTo(line, p.width()-1)) // a full line would wrap
}

// remaining estimates how long the rest takes at the pace so far.
func remaining(taken time.Duration, done, total int64) string {
	if taken < guessAfter || done <= 0 {
		return ""
	}
	left := taken.Seconds() * (float64(total)/float64(done) - 1)
	if left > (100 * time.Hour).Seconds() {
		return ""
	}
	return fmt.Sprintf("  about %s left", time.Duration(left*float64(time.Second)).Round(time.Second))
}

// cutTo cuts a line to so many characters.
func cutTo(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(0, width)])
}

// clear removes the line, so that what is printed next stands alone.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
