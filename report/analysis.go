package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// Analysis makes the document of one finding.
func Analysis(f *domain.Finding) *Document {
	d := &Document{Title: title(f), Headline: f.Headline, Verdict: f.Verdict}
	d.add("Coincidence", coincidence(f)...)
	d.add("CPUs", cpus(f)...)
	d.add("Devices", devices(f)...)
	d.add("Waits", waits(f)...)
	d.add("Dose and response", doses(f)...)
	d.add("Causes", causes(f)...)
	d.add("What to do next", items(f.NextSteps)...)
	d.add("Coverage", coverage(f)...)
	d.add("Warnings", items(f.Warnings)...)
	d.add("Inputs", inputs(f)...)
	return d
}

func (d *Document) add(title string, blocks ...Block) {
	if len(blocks) > 0 {
		d.Sections = append(d.Sections, Section{title, blocks})
	}
}

func items(s []string) []Block {
	if len(s) == 0 {
		return nil
	}
	return []Block{{Items: s}}
}

func title(f *domain.Finding) string {
	who := f.Instance
	if who == "" {
		who = "unnamed instance"
	}
	if f.Node != "" {
		who += " on " + f.Node
	}
	if f.Window == (domain.Window{}) { // nothing could be placed in time
		return who
	}
	return fmt.Sprintf("%s, %s to %s", who, clock(f, f.Window.From), clock(f, f.Window.To))
}

// clock writes an instant in the host's zone where it is known, else in UTC.
func clock(f *domain.Finding, t time.Time) string {
	zone, _ := zoneOf(f)
	if zone == time.UTC {
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return t.In(zone).Format("2006-01-02 15:04:05 -07:00")
}

func coincidence(f *domain.Finding) []Block {
	c := f.Coincidence
	if c == nil {
		return nil
	}
	perHour := func(stalls int, seconds float64) string {
		if seconds <= 0 {
			return unknown
		}
		v := float64(stalls) / seconds * 3600
		return significant(&v)
	}
	t := &Table{
		Columns: []Column{{watched(f) + " was on", Left}, {"stalls", Right}, {"expected", Right}, {"seconds", Right}, {"stalls/h", Right}},
		Rows: [][]string{
			{"a heavy CPU", count(c.StallsExposed), number(c.ExpectedExposed, 1), number(&c.SecondsExposed, 0), perHour(c.StallsExposed, c.SecondsExposed)},
			{"another CPU", count(c.StallsUnexposed), number(rest(c), 1), number(&c.SecondsUnexposed, 0), perHour(c.StallsUnexposed, c.SecondsUnexposed)},
		},
		Note: "expected: by the time spent there at the same load and time of day",
	}
	return []Block{{Table: t}, {Items: testItems(f)}}
}

// testItems says the ratios, what chance would do, and how good the evidence is.
func testItems(f *domain.Finding) []string {
	c, who := f.Coincidence, watched(f)
	var out []string
	known := func(v *float64, ci [2]*float64) bool { return v != nil || ci[0] != nil || ci[1] != nil }
	if known(c.RelativeRisk, c.RelativeRiskCI) {
		text := fmt.Sprintf("stalls per second on heavy CPUs over those elsewhere: ratio %s (95 %% interval %s)", ratio(c.RelativeRisk, c.RelativeRiskCI), interval(c.RelativeRiskCI))
		if known(c.StratifiedRR, c.StratifiedRRCI) {
			text += fmt.Sprintf("; at the same load and time of day %s (%s)", ratio(c.StratifiedRR, c.StratifiedRRCI), interval(c.StratifiedRRCI))
		}
		out = append(out, text)
	}
	text := chanceText(f, "random draws of "+who+"'s stays")
	if c.VisitsExposed > 0 {
		text += "; the stalls on heavy CPUs lie in " + plural(c.VisitsExposed, "stay")
	}
	out = append(out, text)
	if c.PlaceboP != nil {
		out = append(out, "placebo, the same test with the stalls shifted in time: p = "+significant(c.PlaceboP))
	}
	return append(out, "evidence of grade "+f.Grade+": "+gradeText(f))
}

// watched names the watched process for people.
func watched(f *domain.Finding) string { return strings.ToUpper(f.Watch) }

func gradeText(f *domain.Finding) string {
	if f.Grade == "A" {
		return "at least half of the stalls' time was seen to be taken from " + watched(f) + " on a heavy CPU"
	}
	return "stalls and heavy CPUs coincide in time; what " + watched(f) + " did meanwhile was not recorded"
}

func rest(c *domain.Coincidence) *float64 {
	if c.ExpectedExposed == nil {
		return nil
	}
	v := float64(c.StallsExposed+c.StallsUnexposed) - *c.ExpectedExposed
	return &v
}

func devices(f *domain.Finding) []Block {
	if f.Interrupts == nil || len(f.Interrupts.ByDevice) == 0 {
		return nil
	}
	p := map[string]domain.DevExcess{}
	if f.Coincidence != nil {
		for _, d := range f.Coincidence.ByDevice {
			p[d.Device] = d
		}
	}
	t := &Table{Columns: []Column{{"device", Left}, {"class", Left}, {"bond", Left}, {"interrupts/s", Right}, {"stalls there", Right}, {"expected", Right}, {"p", Right}, {"CPUs", Left}}}
	for _, d := range f.Interrupts.ByDevice {
		if len(t.Rows) == 12 {
			t.Note = fmt.Sprintf("%d quieter devices are in --json", len(f.Interrupts.ByDevice)-len(t.Rows))
			break
		}
		row := []string{d.Device, d.Class, "", number(&d.PerS, 0), unknown, unknown, unknown, correlate.CPUList(d.CPUs)}
		if d.Bond != nil {
			row[2] = *d.Bond
		}
		if e, ok := p[d.Device]; ok {
			row[4], row[5], row[6] = count(e.Stalls), number(&e.Expected, 1), significant(e.P)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(p) > 0 {
		t.Note = strings.TrimPrefix(t.Note+"; p: by chance as many stalls on its CPUs, over all devices together", "; ")
	}
	return []Block{{Table: t}}
}

func waits(f *domain.Finding) []Block {
	w := f.Waits
	if w == nil {
		return nil
	}
	over := unknown
	switch {
	case w.OverThreshold != nil:
		over = count(*w.OverThreshold)
	case w.OverThresholdLow != nil && w.OverThresholdHigh != nil:
		over = count(*w.OverThresholdLow) + " to " + count(*w.OverThresholdHigh)
	}
	text := fmt.Sprintf("%s: %s waits over %.0f ms in %s", w.Event, over, w.ThresholdMS, plural(w.Stalls, "stall"))
	if w.SessionOnly > 0 {
		text += "; " + plural(w.SessionOnly, "wait") + " of a single session among others that did not wait, counted apart"
	}
	out := []string{text}
	var lengths []string
	for _, q := range []struct {
		name string
		ms   *float64
	}{{"p50", w.P50MS}, {"p95", w.P95MS}, {"p99", w.P99MS}, {"longest", w.MaxMS}} {
		if q.ms != nil {
			lengths = append(lengths, q.name+" "+significant(q.ms)+" ms")
		}
	}
	if len(lengths) > 0 {
		out = append(out, strings.Join(lengths, ", "))
	}
	return []Block{{Items: out}}
}

func doses(f *domain.Finding) []Block {
	c := f.Coincidence
	if c == nil || len(c.DoseResponse) < 2 {
		return nil
	}
	t := &Table{
		Columns: []Column{{"dose from", Right}, {"to", Right}, {"hours there", Right}, {"stalls", Right}, {"stalls/h", Right}},
		Note:    fmt.Sprintf("dose: %s; trend p = %s, within sockets p = %s", f.Interrupts.DoseMeasure, significant(c.DoseTrendP), significant(c.DoseTrendSocketP)),
	}
	for _, d := range c.DoseResponse {
		t.Rows = append(t.Rows, []string{significant(&d.From), significant(&d.To), number(&d.Hours, 2), count(d.Stalls), significant(d.StallsPerHour)})
	}
	return []Block{{Table: t}}
}

func causes(f *domain.Finding) []Block {
	t := &Table{Columns: []Column{{"cause", Left}, {"verdict", Left}, {"share of stalls", Right}, {"evidence", Left}}, Marks: map[int]Mark{}}
	for _, c := range f.Causes {
		switch c.Verdict {
		case domain.Supported:
			t.Marks[len(t.Rows)] = Bad
		case domain.Rejected:
			t.Marks[len(t.Rows)] = Good
		case domain.NotObservable:
			t.Marks[len(t.Rows)] = Dim
		}
		evidence := ""
		for i, e := range c.Evidence {
			if i > 0 {
				evidence += "; "
			}
			evidence += e
		}
		t.Rows = append(t.Rows, []string{c.Cause, c.Verdict, percent(c.AttributableShare), evidence})
	}
	return []Block{{Table: t}}
}
