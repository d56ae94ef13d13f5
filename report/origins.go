package report

import (
	"fmt"
	"strings"

	"github.com/corewait/corewait/domain"
)

func coverage(f *domain.Finding) []Block {
	c := f.Coverage
	source := unknown
	if c.WaitSource != nil {
		source = *c.WaitSource
	}
	whole := f.Window.Duration().Seconds()
	known := func(seconds float64) string { // a reading speaks for a little time before the window as well
		v := min(seconds, whole)
		return number(&v, 0)
	}
	out := []string{
		fmt.Sprintf("the test takes %s's CPU as known in %s of %s s (a reading bridges a short gap), interrupts in %s s", watched(f), known(c.PlacementSeconds), number(&whole, 0), known(c.InterruptSeconds)),
		fmt.Sprintf("%s from %s; at %s %s's CPU is not known", plural(c.Waits, "wait"), sourceText(source), plural(c.UnplacedStalls, "stall"), watched(f)),
	}
	if c.Kappa != nil {
		out = append(out, fmt.Sprintf("a reading of %s's CPU agrees with the instants around it (kappa; 1: always, 0: by chance): %s", watched(f), number(c.Kappa, 2)))
	}
	if f.LoadSeries != nil {
		out = append(out, "stalls are compared at the same load, measured in "+loadText(*f.LoadSeries))
	}
	out = append(out, zoneText(f.Timezone))
	return []Block{{Items: append(out, c.Notes...)}}
}

// sourceText says in words where waits come from.
func sourceText(source string) string {
	switch source {
	case "ash":
		return "ASH"
	case "ash-history":
		return "ASH history (one sample in ten)"
	case "histogram":
		return "histograms"
	}
	return source
}

// loadText says in words what load is measured in.
func loadText(series string) string {
	switch series {
	case "commits_per_s":
		return "commits/s"
	case "user_calls_per_s":
		return "user calls/s"
	case "redo_bytes_per_s":
		return "bytes of redo/s"
	case "lagged_context_switches_per_s":
		return "context switches/s shortly before"
	}
	return series
}

func zoneText(z domain.Timezone) string {
	name := func(s *string) string {
		if s == nil {
			return "unknown"
		}
		return *s
	}
	s := "times without zone: database " + name(z.DB) + ", host " + name(z.Host)
	if z.Source != nil {
		s += ", from " + *z.Source
	}
	return s
}

func inputs(f *domain.Finding) []Block {
	if len(f.Inputs) == 0 {
		return nil
	}
	folder := commonFolder(f.Inputs)
	t := &Table{Columns: []Column{{"file", Left}, {"kind", Left}, {"records", Right}, {"unread lines", Right}, {"note", Left}}}
	if folder != "" {
		t.Note = "in " + folder
	}
	for _, i := range f.Inputs {
		note := i.Note
		if i.FirstBad != nil {
			note = *i.FirstBad
		}
		t.Rows = append(t.Rows, []string{strings.TrimPrefix(i.Path, folder), i.Kind, count(int(i.Records)), count(int(i.Unread)), note})
	}
	return []Block{{Table: t}}
}

// commonFolder gives the folder that all files lie in, with its slash; "" where
// there is none or it is too short to be worth setting apart.
func commonFolder(files []domain.Input) string {
	folder := files[0].Path[:strings.LastIndexByte(files[0].Path, '/')+1]
	for _, f := range files[1:] {
		for !strings.HasPrefix(f.Path, folder) {
			folder = folder[:strings.LastIndexByte(strings.TrimSuffix(folder, "/"), '/')+1]
		}
	}
	const short = 8
	if len(folder) < short || len(files) < 2 {
		return ""
	}
	return folder
}
