package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// Where the plots of bars and intervals lie in their figures.
const (
	plotLeft  = 190.0
	plotRight = 760.0
)

// interval95 is one line of the forest plot.
type interval95 struct {
	name             string
	value, low, high *float64 // nil value or high with a known low: unbounded
}

// ratioFigure draws the ratios with their intervals on a logarithmic axis,
// against 1 (no difference) and the least ratio that a verdict needs.
func ratioFigure(f *domain.Finding) (template.HTML, string) {
	c := f.Coincidence
	if c == nil {
		return "", ""
	}
	var lines []interval95
	for _, l := range []interval95{
		{"by time alone", c.RelativeRisk, c.RelativeRiskCI[0], c.RelativeRiskCI[1]},
		{"at the same load and time", c.StratifiedRR, c.StratifiedRRCI[0], c.StratifiedRRCI[1]},
	} {
		if l.value != nil || l.low != nil {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return "", ""
	}
	bottom := 22 + 34*float64(len(lines))
	g := newSVG(bottom+40, "Ratio of stalls on heavy CPUs to stalls elsewhere, with 95 % intervals")
	axis := newLogAxis(lines)
	axis.draw(g, bottom)
	note := "How many times as many stalls per second there were on heavy CPUs as elsewhere, with 95 % intervals, on a logarithmic axis. At 1 there is no difference."
	g.line(axis.x(1), 12, axis.x(1), bottom, "reference")
	g.text(axis.x(1), 9, "small middle", "no difference")
	if p, ok := f.Params.(correlate.Params); ok && p.SupportedRatio > 1 {
		g.line(axis.x(p.SupportedRatio), 18, axis.x(p.SupportedRatio), bottom, "threshold")
		note += fmt.Sprintf(" The dashed line is %s: the whole interval at the same load must lie beyond it for a supported verdict.", shortNumber(p.SupportedRatio))
	}
	for i, l := range lines {
		l.draw(g, axis, 36+34*float64(i))
	}
	return g.done(), note
}

// logAxis maps ratios onto the plot.
type logAxis struct{ low, high float64 }

func newLogAxis(lines []interval95) logAxis {
	a := logAxis{0.5, 10}
	for _, l := range lines {
		for _, v := range []*float64{l.value, l.low, l.high} {
			if v != nil && *v > 0 {
				a.low, a.high = math.Min(a.low, *v/1.3), math.Max(a.high, *v*1.3)
			}
		}
	}
	a.low, a.high = math.Max(a.low, 1e-3), math.Min(a.high, 1e4)
	return a
}

func (a logAxis) x(v float64) float64 {
	v = math.Min(math.Max(v, a.low), a.high)
	return plotLeft + (plotRight-plotLeft)*math.Log(v/a.low)/math.Log(a.high/a.low)
}

func (a logAxis) draw(g *svg, y float64) {
	g.line(plotLeft, y, plotRight, y, "axis")
	last := math.Inf(-1)
	for decade := 1e-3; decade <= 1e4; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			v := decade * m
			if v < a.low*0.999 || v > a.high*1.001 {
				continue
			}
			g.line(a.x(v), y, a.x(v), y+5, "axis")
			label := shortNumber(v)
			if half := smallGlyph * float64(len(label)) / 2; a.x(v)-half > last {
				last = a.x(v) + half + 6
				g.text(a.x(v), y+18, "small middle", label)
			}
		}
	}
}

// shortNumber writes a round number without digits that say nothing.
func shortNumber(v float64) string {
	if math.Abs(v) >= 1000 {
		return number(&v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}

func (l interval95) draw(g *svg, a logAxis, y float64) {
	g.text(plotLeft-12, y+4, "end", l.name)
	if l.low != nil {
		low, high := a.x(*l.low), plotRight
		if l.high != nil {
			high = a.x(*l.high)
			g.line(high, y-5, high, y+5, "interval")
		} else {
			g.leaf("path", "d", "M"+px(high)+" "+px(y)+"l-8-5v10z", "class", "interval-fill")
		}
		g.line(low, y, high, y, "interval")
		g.line(low, y-5, low, y+5, "interval")
	}
	if l.value != nil {
		x := a.x(*l.value)
		g.rect(x-5, y-5, 10, 10, "interval-fill")
	}
	ci := [2]*float64{l.low, l.high}
	g.text(plotRight+14, y+4, "small", ratio(l.value, ci)+" ("+interval(ci)+")")
}

// doseFigure draws stalls per hour by step of dose, with the counts beside them.
func doseFigure(f *domain.Finding) (template.HTML, string) {
	c := f.Coincidence
	if c == nil || len(c.DoseResponse) < 2 {
		return "", ""
	}
	top := 0.0
	for _, d := range c.DoseResponse {
		if d.StallsPerHour != nil {
			top = math.Max(top, *d.StallsPerHour)
		}
	}
	if top == 0 {
		return "", ""
	}
	measure := ""
	if f.Interrupts != nil {
		measure = f.Interrupts.DoseMeasure
	}
	names := scale{top: 1, share: measure == doseTimeShare}
	g := newSVG(30+30*float64(len(c.DoseResponse)), "Stalls per hour by dose of the CPU that "+watched(f)+" was on")
	g.text(plotLeft-12, 12, "small end muted", "dose of "+watched(f)+"'s CPU")
	g.text(plotLeft, 12, "small muted", "stalls per hour of "+watched(f)+"'s time there")
	for i, d := range c.DoseResponse {
		y := 24 + 30*float64(i)
		name := names.name(d.From)
		if d.To != d.From {
			name += " to " + names.name(d.To)
		}
		g.text(plotLeft-12, y+14, "end", name)
		width := 0.0
		if d.StallsPerHour != nil {
			width = (plotRight - plotLeft - 60) * *d.StallsPerHour / top
		}
		g.rect(plotLeft, y, width, 20, "bar")
		g.text(plotLeft+width+8, y+14, "small", fmt.Sprintf("%s (%s in %s h)", significant(d.StallsPerHour), plural(d.Stalls, "stall"), number(&d.Hours, 2)))
	}
	return g.done(), fmt.Sprintf("Dose is what interrupts take of a CPU: %s. If they are the cause, stalls rise with it: p = %s over all CPUs, %s within single sockets (how often chance alone shows such a trend). A bar over little time rests on few stalls.",
		doseText(measure), significant(c.DoseTrendP), significant(c.DoseTrendSocketP))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}
