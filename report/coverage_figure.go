package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// observed is when one kind of record was there.
type observed struct {
	name  string
	spans []series.Span // ascending, merged
	// events: rows without rows between them are no gap, for the source writes
	// only when something happens.
	events bool
}

// newObserved gives the kinds of records that the interrupt test rests on.
func newObserved(s *series.Series, who string) []observed {
	out := []observed{
		{name: "interrupts", spans: mergeSpans(s.Interrupts.Spans, s.Window)},
		{name: "CPU time", spans: mergeSpans(s.CPU.IRQSoftIRQ.Spans, s.Window)},
	}
	var stays []series.Span
	for i := range s.Threads {
		if !s.Threads[i].Worker {
			stays = append(stays, sampleSpans(&s.Threads[i])...)
		}
	}
	out = append(out, observed{name: who + "'s CPU", spans: mergeSpans(stays, s.Window)})
	var steps []series.Span
	for i := range s.Histograms {
		if slices.Contains(s.Watch.Events, s.Histograms[i].Event) {
			steps = append(steps, s.Histograms[i].Span)
		}
	}
	if len(steps) > 0 {
		out = append(out, observed{name: "wait histogram", spans: mergeSpans(steps, s.Window)})
	}
	if len(s.Ticks) > 0 || len(steps) == 0 {
		out = append(out, observed{name: "ASH samples", spans: mergeSpans(tickSpans(s), s.Window), events: true})
	}
	return out
}

// tickSpans gives each ASH sample the second (of history, ten) that it stands for.
func tickSpans(s *series.Series) []series.Span {
	period := series.Second
	if s.History {
		period = 10 * series.Second
	}
	spans := make([]series.Span, len(s.Ticks))
	for i, t := range s.Ticks {
		spans[i] = series.Span{From: t.At, To: t.At + period}
	}
	return spans
}

// joinWithin: spans this close to each other leave no gap worth showing, for
// clocks print whole seconds.
const joinWithin = series.Second / 2

// mergeSpans sorts spans, joins those that touch and cuts them to the window.
func mergeSpans(spans []series.Span, w series.Span) []series.Span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b series.Span) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	var out []series.Span
	for _, sp := range sorted {
		sp = series.Span{From: max(sp.From, w.From), To: min(sp.To, w.To)}
		if sp.To <= sp.From {
			continue
		}
		if n := len(out); n > 0 && sp.From <= out[n-1].To+joinWithin {
			out[n-1].To = max(out[n-1].To, sp.To)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// gaps gives the stretches of the window between spans.
func gaps(spans []series.Span, w series.Span) []series.Span {
	var out []series.Span
	from := w.From
	for _, sp := range spans {
		if sp.From > from+joinWithin {
			out = append(out, series.Span{From: from, To: sp.From})
		}
		from = max(from, sp.To)
	}
	if w.To > from+joinWithin {
		out = append(out, series.Span{From: from, To: w.To})
	}
	return out
}

// coverageFigure draws when each kind of record was there; gaps are hatched.
func coverageFigure(f *domain.Finding, s *series.Series, id string) (template.HTML, []string) {
	if s.Window.To <= s.Window.From {
		return "", nil
	}
	kinds := newObserved(s, watched(f))
	zone, zoneName := zoneOf(f)
	axis := timeAxis{s.Window, zone, 120, figureWidth - 16}
	bottom := 8 + 26*float64(len(kinds))
	g := newSVG(bottom+48, "When each kind of record was there")
	g.begin("defs")
	g.hatch(id + "-missing")
	g.end()
	var notes []string
	for i, k := range kinds {
		y := 8 + 26*float64(i)
		g.text(108, y+13, "small end", k.name)
		g.hatched(axis.x0, y, axis.x1-axis.x0, 18, id+"-missing")
		if d := coveredPath(axis, k.spans, y); d != "" {
			g.leaf("path", "d", d, "class", "observed")
		}
		notes = append(notes, k.text(s, zone))
	}
	axis.draw(g, bottom)
	g.text(axis.x0, bottom+36, "small muted", "local time ("+zoneName+"); hatched: no record")
	return g.done(), notes
}

// coveredPath draws spans as bars of 18 units; those that share a unit of width
// are drawn once, so that many short ones stay few.
func coveredPath(axis timeAxis, spans []series.Span, y float64) string {
	var b strings.Builder
	draw := func(x0, x1 float64) {
		b.WriteString("M" + px(x0) + " " + px(y) + "H" + px(x1) + "V" + px(y+18) + "H" + px(x0) + "z")
	}
	x0, x1 := 0.0, -1.0
	for _, sp := range spans {
		a, z := axis.x(sp.From), axis.x(sp.To)
		if x1 >= 0 && a-x1 < 0.2 {
			x1 = max(x1, z)
			continue
		}
		if x1 >= 0 {
			draw(x0, x1)
		}
		x0, x1 = a, max(z, a+0.4)
	}
	if x1 >= 0 {
		draw(x0, x1)
	}
	return b.String()
}

// text says how much of the window was observed, and the longest gap.
func (k observed) text(s *series.Series, zone *time.Location) string {
	if len(k.spans) == 0 {
		return k.name + ": no records"
	}
	var seconds float64
	for _, sp := range k.spans {
		seconds += sp.Seconds()
	}
	text := fmt.Sprintf("%s: %s of %s s", k.name, number(&seconds, 0), count(int(s.Window.Seconds())))
	missing := gaps(k.spans, s.Window)
	if k.events {
		if s.Filtered {
			return text + "; the spool holds long waits only, so quiet time and gaps cannot be told apart"
		}
		return text + "; a second in which no session was active leaves no sample, so what is hatched may be quiet time"
	}
	if len(missing) == 0 {
		return text + ", without a gap"
	}
	longest := slices.MaxFunc(missing, func(a, b series.Span) int {
		return int(min(max(a.To-a.From-(b.To-b.From), -1), 1))
	})
	return fmt.Sprintf("%s; %s, the longest of %s s from %s", text, plural(len(missing), "gap"), shortSeconds(longest),
		series.ToTime(longest.From).In(zone).Format("15:04:05"))
}

func shortSeconds(sp series.Span) string {
	v := sp.Seconds()
	return significant(&v)
}
