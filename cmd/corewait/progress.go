package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"golang.org/x/term"

	"github.com/corewait/corewait/report"
)

// progress writes one line to a terminal while long inputs are read; elsewhere
// it is silent.
type progress struct {
	w     io.Writer
	shown bool
	next  time.Time
}

// quiet is how long work may take before it shows progress.
const quiet = 500 * time.Millisecond

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{w: w, next: time.Now().Add(quiet)}
}

func (p *progress) update(done, total int64, name string) {
	if p.w == nil || time.Now().Before(p.next) || total <= 0 {
		return
	}
	p.next, p.shown = time.Now().Add(100*time.Millisecond), true
	fmt.Fprintf(p.w, "\r\x1b[Kreading %3d %%  %s", min(100, done*100/total), report.Clean(path.Base(name)))
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
