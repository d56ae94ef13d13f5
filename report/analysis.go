package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// shownCPUs is how many CPUs the per-CPU table shows at the most: the heaviest
// and those where stalls were.
const shownCPUs = 24

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
	return []Block{{Table: t}, {Items: []string{
		fmt.Sprintf("ratio %s (95 %% interval %s); stratified by load and time %s (%s)",
			ratio(c.RelativeRisk, c.RelativeRiskCI), interval(c.RelativeRiskCI), ratio(c.StratifiedRR, c.StratifiedRRCI), interval(c.StratifiedRRCI)),
		fmt.Sprintf("p = %s by drawing the stays of %s anew; exposed stalls lie in %d stays; placebo p = %s", significant(c.PValue), watched(f), c.VisitsExposed, significant(c.PlaceboP)),
		fmt.Sprintf("evidence of grade %s: %s", f.Grade, gradeText(f.Grade)),
	}}}
}

// watched names the watched process for people.
func watched(f *domain.Finding) string { return strings.ToUpper(f.Watch) }

func gradeText(g string) string {
	if g == "A" {
		return "at least half of the stalls' time was seen to be taken from the process on a heavy CPU"
	}
	return "association in time: the placement gathered does not tell what the process did meanwhile"
}

func rest(c *domain.Coincidence) *float64 {
	if c.ExpectedExposed == nil {
		return nil
	}
	v := float64(c.StallsExposed+c.StallsUnexposed) - *c.ExpectedExposed
	return &v
}

func cpus(f *domain.Finding) []Block {
	in := f.Interrupts
	if in == nil {
		return nil
	}
	heavy := map[int]bool{}
	for _, c := range in.HeavyCPUs {
		heavy[c] = true
	}
	residence, stalls, expected := map[int]float64{}, map[int]int{}, map[int]float64{}
	if f.Placement != nil {
		for _, r := range f.Placement.Residence {
			residence[r.CPU] = r.Share
		}
	}
	if f.Coincidence != nil {
		for _, c := range f.Coincidence.ByCPU {
			stalls[c.CPU], expected[c.CPU] = c.Stalls, c.Expected
		}
	}
	shown := chooseCPUs(in.ByCPU, heavy, stalls)
	t := &Table{
		Columns: []Column{
			{"CPU", Right}, {"node", Right}, {"core", Right}, {"interrupts/s", Right}, {"irq time", Right}, {"heavy", Left},
			{watched(f) + " there", Right}, {"stalls", Right}, {"expected", Right},
		},
		Marks: map[int]Mark{},
	}
	for _, c := range shown {
		row := []string{
			strconv.Itoa(c.CPU), id(c.NUMANode), id(c.Core), number(c.PerS, 0), percent(c.TimeShare), "",
			share(residence, c.CPU), "", "",
		}
		if heavy[c.CPU] {
			row[5] = "heavy"
			t.Marks[len(t.Rows)] = Bad
		}
		if n, ok := stalls[c.CPU]; ok {
			e := expected[c.CPU]
			row[7], row[8] = count(n), number(&e, 1)
		}
		t.Rows = append(t.Rows, row)
	}
	if n := len(in.ByCPU) - len(shown); n > 0 {
		t.Note = fmt.Sprintf("%d more CPUs with fewer interrupts and no stalls are in --json", n)
	}
	return []Block{{Text: pictureText(f)}, {Table: t}}
}

func pictureText(f *domain.Finding) string {
	in := f.Interrupts
	s := fmt.Sprintf("%d of %d CPUs are heavy", len(in.HeavyCPUs), in.OnlineCPUs)
	if len(in.HeavyCPUs) > 0 {
		s += ": " + correlate.CPUList(in.HeavyCPUs)
	}
	if in.HeavyCores != nil {
		s += fmt.Sprintf(" (%d cores by their first thread, %d by any)", *in.HeavyCores, *in.HeavyCoresAnyThread)
	}
	s += fmt.Sprintf(". Gini of device interrupts %s over CPUs, %s over cores.", number(in.Gini, 2), number(in.GiniCores, 2))
	if p := f.Placement; p != nil {
		s += fmt.Sprintf(" %s spent %s of the time on heavy CPUs", watched(f), percent(p.HeavyShare))
		if p.SiblingShare != nil && *p.SiblingShare > 0 {
			s += fmt.Sprintf(" and %s beside a heavy sibling", percent(p.SiblingShare))
		}
		s += fmt.Sprintf(", in %s stays, %s moves/s.", count(p.Visits), significant(p.MigrationsPerS))
	}
	return s
}

// chooseCPUs gives the CPUs to show, by id: those with stalls, then the
// heaviest.
func chooseCPUs(all []domain.CPURate, heavy map[int]bool, stalls map[int]int) []domain.CPURate {
	order := slices.Clone(all)
	weight := func(c domain.CPURate) float64 {
		w := 0.0
		if c.PerS != nil {
			w = *c.PerS
		}
		if heavy[c.CPU] {
			w += 1e9
		}
		return w + float64(stalls[c.CPU])*1e6
	}
	slices.SortStableFunc(order, func(a, b domain.CPURate) int {
		switch wa, wb := weight(a), weight(b); {
		case wa > wb:
			return -1
		case wa < wb:
			return 1
		}
		return 0
	})
	order = order[:min(len(order), shownCPUs)]
	slices.SortFunc(order, func(a, b domain.CPURate) int { return a.CPU - b.CPU })
	return order
}

func id(v *int) string {
	if v == nil {
		return unknown
	}
	return strconv.Itoa(*v)
}

func share(m map[int]float64, cpu int) string {
	v, ok := m[cpu]
	if !ok {
		return ""
	}
	return percent(&v)
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
		row := []string{d.Device, d.Class, "", number(&d.PerS, 0), "", "", "", correlate.CPUList(d.CPUs)}
		if d.Bond != nil {
			row[2] = *d.Bond
		}
		if e, ok := p[d.Device]; ok {
			row[4], row[5], row[6] = count(e.Stalls), number(&e.Expected, 1), significant(e.P)
		}
		t.Rows = append(t.Rows, row)
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
	return []Block{{Items: []string{
		fmt.Sprintf("%s: %s waits over %.0f ms in %s stalls; %s waits of a single session among others that did not wait", w.Event, over, w.ThresholdMS, count(w.Stalls), count(w.SessionOnly)),
		fmt.Sprintf("p50 %s ms, p95 %s ms, p99 %s ms, longest %s ms", significant(w.P50MS), significant(w.P95MS), significant(w.P99MS), significant(w.MaxMS)),
	}}}
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

func coverage(f *domain.Finding) []Block {
	c := f.Coverage
	source := unknown
	if c.WaitSource != nil {
		source = *c.WaitSource
	}
	out := []string{
		fmt.Sprintf("placement known for %s s, interrupts for %s s, of %.0f s", number(&c.PlacementSeconds, 0), number(&c.InterruptSeconds, 0), f.Window.Duration().Seconds()),
		fmt.Sprintf("waits from %s (%s); stalls without placement: %s; agreement of placement at the sampling distance (kappa) %s", source, count(c.Waits), count(c.UnplacedStalls), number(c.Kappa, 2)),
	}
	if f.LoadSeries != nil {
		out = append(out, "load: "+*f.LoadSeries)
	}
	out = append(out, zoneText(f.Timezone))
	return []Block{{Items: append(out, c.Notes...)}}
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
	t := &Table{Columns: []Column{{"file", Left}, {"kind", Left}, {"records", Right}, {"unread lines", Right}, {"note", Left}}}
	for _, i := range f.Inputs {
		note := i.Note
		if i.FirstBad != nil {
			note = *i.FirstBad
		}
		t.Rows = append(t.Rows, []string{i.Path, i.Kind, count(int(i.Records)), count(int(i.Unread)), note})
	}
	return []Block{{Table: t}}
}
