package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// newHTMLFinding lays out one finding: what it says and how sure it is first,
// then the pictures, then the evidence, then what it was made from.
func newHTMLFinding(f *domain.Finding, s *series.Series, id string) (*htmlFinding, error) {
	h := &htmlFinding{ID: id, Title: title(f), Headline: f.Headline, Verdict: overall(f), Cards: cards(f)}
	if err := h.pictures(f, s); err != nil {
		return nil, err
	}
	h.evidence(f, s)
	h.origins(f, s)
	return h, nil
}

// pictures are the figures that need the series.
func (h *htmlFinding) pictures(f *domain.Finding, s *series.Series) error {
	if s == nil {
		return nil
	}
	figure, caption, err := heatFigure(f, s, h.ID)
	if err != nil {
		return err
	}
	h.add("picture", "Interrupts, LGWR and stalls", append(drawn(figure, caption), stallsNotListed(f)...)...)
	figure, caption = topologyFigure(f, s, h.ID)
	h.add("map", "Where interrupts land", drawn(figure, caption)...)
	return nil
}

// evidence is the test, its rivals, and what follows from it.
func (h *htmlFinding) evidence(f *domain.Finding, s *series.Series) {
	h.add("coincidence", "Coincidence", append(blocks(coincidence(f)), drawn(ratioFigure(f))...)...)
	h.add("dose", "Dose and response", drawn(doseFigure(f))...)
	h.add("causes", "Causes", htmlBlock{Causes: judgedCauses(f)})
	next := items(f.NextSteps)
	if t := remedies(f); t != nil { // says the same steps with what each costs
		next = []Block{{Table: t}}
	}
	h.add("next", "What to do first", blocks(next)...)
	var figure []htmlBlock
	if s != nil {
		figure = drawn(waitFigure(f, s, h.ID))
	}
	h.add("waits", "Waits", append(figure, blocks(waits(f))...)...)
	h.add("longest", "Longest stalls", blocks(longestStalls(f))...)
}

// origins says what the finding was made from.
func (h *htmlFinding) origins(f *domain.Finding, s *series.Series) {
	h.add("cpus", "CPUs", blocks(cpus(f))...)
	h.add("devices", "Devices", blocks(devices(f))...)
	var covered []htmlBlock
	if s != nil {
		figure, notes := coverageFigure(f, s, h.ID)
		covered = append(drawn(figure, ""), blocks(items(notes))...)
	}
	h.add("coverage", "Coverage and gaps", append(covered, blocks(coverage(f))...)...)
	h.add("warnings", "Warnings", blocks(items(f.Warnings))...)
	h.add("inputs", "Inputs", blocks(inputs(f))...)
	h.add("parameters", "Parameters", blocks(parameters(f))...)
}

func (h *htmlFinding) add(id, title string, b ...htmlBlock) {
	if len(b) > 0 {
		h.Sections = append(h.Sections, htmlSection{h.ID + "-" + id, title, b})
	}
}

// blocks takes blocks of the document model as they are.
func blocks(b []Block) []htmlBlock {
	out := make([]htmlBlock, 0, len(b))
	for _, x := range b {
		out = append(out, htmlBlock{Block: x})
	}
	return out
}

// drawn gives a figure with its caption, nothing where there is none.
func drawn(figure template.HTML, caption string) []htmlBlock {
	if figure == "" {
		return nil
	}
	return []htmlBlock{{Figure: figure, Caption: caption}}
}

// stallsNotListed says how many stalls the picture lacks.
func stallsNotListed(f *domain.Finding) []htmlBlock {
	if f.Waits == nil || f.Waits.Stalls <= len(f.StallList) {
		return nil
	}
	return []htmlBlock{{Block: Block{Text: fmt.Sprintf("The first %s of %s stalls are marked.", count(len(f.StallList)), count(f.Waits.Stalls))}}}
}

// causeName says causes in words.
func causeName(cause string) string {
	switch cause {
	case domain.CauseInterrupts:
		return "interrupts on LGWR's CPU"
	case domain.CauseCPUSaturation:
		return "CPU saturation"
	case domain.CauseCPUSteal:
		return "CPU steal"
	case domain.CauseRTPreemption:
		return "real-time preemption"
	case domain.CauseCPULocation:
		return "the socket itself (CPU location)"
	case domain.CauseRACAck:
		return "RAC acknowledgement"
	case domain.CauseDataGuard:
		return "Data Guard sync"
	case domain.CausePostPollSwitch:
		return "post/poll switch"
	}
	return strings.ReplaceAll(cause, "-", " ")
}

// verdictLook gives a verdict's class and symbol: never colour alone.
func verdictLook(verdict string) (class, symbol string) {
	switch verdict {
	case domain.Supported:
		return "supported", "✓"
	case domain.Rejected:
		return "rejected", "✗"
	case domain.NotObservable:
		return "unseen", "–"
	}
	return "open", "?"
}

func judgedCauses(f *domain.Finding) []htmlCause {
	out := make([]htmlCause, 0, len(f.Causes))
	for _, c := range f.Causes {
		h := htmlCause{Name: causeName(c.Cause), Verdict: strings.ReplaceAll(c.Verdict, "-", " "), Evidence: c.Evidence}
		h.Class, h.Symbol = verdictLook(c.Verdict)
		if c.AttributableShare != nil && c.Verdict == domain.Supported {
			h.Share = percent(c.AttributableShare) + " of the stalls"
			if ci := c.AttributableCI; ci[0] != nil || ci[1] != nil {
				h.Share += " (95 % interval " + shareInterval(ci) + ")"
			}
		}
		out = append(out, h)
	}
	return out
}

func shareInterval(ci [2]*float64) string {
	if ci[0] != nil && ci[1] == nil {
		return percent(ci[0]) + " or more"
	}
	return percent(ci[0]) + " to " + percent(ci[1])
}

// overall is the verdict as the top of the page shows it.
func overall(f *domain.Finding) htmlCause {
	v := htmlCause{Class: "open", Symbol: "?", Name: f.Verdict}
	switch f.Verdict {
	case domain.InsufficientData:
		v.Name = "not enough data for a verdict"
	case domain.Undetermined:
		v.Name = "no single cause is supported"
	default:
		v.Class, v.Symbol = verdictLook(domain.Supported)
		v.Name = causeName(f.Verdict)
	}
	return v
}

// cards answer what a reader wants to know within a minute.
func cards(f *domain.Finding) []htmlCard {
	return []htmlCard{cpuCard(f), portCard(f), sureCard(f)}
}

func cpuCard(f *domain.Finding) htmlCard {
	c := htmlCard{Question: "Which CPUs are heavy with interrupts", Answer: "not known"}
	in := f.Interrupts
	if in == nil {
		return c
	}
	c.Answer = "none"
	if len(in.HeavyCPUs) > 0 {
		c.Answer = correlate.CPUList(in.HeavyCPUs)
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%d of %d CPUs", len(in.HeavyCPUs), in.OnlineCPUs))
	if busiest := busiestCPU(in.ByCPU); busiest != nil {
		text := fmt.Sprintf("busiest: CPU %d with %s device interrupts/s", busiest.CPU, number(busiest.PerS, 0))
		if busiest.TimeShare != nil {
			text += ", " + percent(busiest.TimeShare) + " of its time"
		}
		c.Notes = append(c.Notes, text)
	}
	if p := f.Placement; p != nil && p.HeavyShare != nil {
		c.Notes = append(c.Notes, "LGWR was on heavy CPUs "+percent(p.HeavyShare)+" of the time")
	}
	return c
}

func busiestCPU(all []domain.CPURate) *domain.CPURate {
	var top *domain.CPURate
	for i := range all {
		if all[i].PerS != nil && (top == nil || *all[i].PerS > *top.PerS) {
			top = &all[i]
		}
	}
	return top
}

func portCard(f *domain.Finding) htmlCard {
	c := htmlCard{Question: "Which port interrupts them", Answer: "none stands out"}
	ports := correlate.HeavyDevices(f)
	if f.Interrupts == nil {
		c.Answer = "not known"
	}
	if len(ports) == 0 {
		return c
	}
	var names []string
	for _, p := range ports {
		name := p.Device
		if p.Bond != nil {
			name += " (" + *p.Bond + ")"
		}
		names = append(names, name)
		c.Notes = append(c.Notes, fmt.Sprintf("%s: %s interrupts/s on CPUs %s", p.Device, number(&p.PerS, 0), correlate.CPUList(p.CPUs)))
	}
	c.Answer = strings.Join(names, ", ")
	return c
}

func sureCard(f *domain.Finding) htmlCard {
	c := htmlCard{Question: "How sure is the interrupt test", Answer: "not tested"}
	t := f.Coincidence
	if t == nil {
		return c
	}
	for _, cause := range f.Causes {
		if cause.Cause == domain.CauseInterrupts {
			_, symbol := verdictLook(cause.Verdict)
			c.Answer = symbol + " " + strings.ReplaceAll(cause.Verdict, "-", " ")
		}
	}
	c.Notes = append(c.Notes,
		fmt.Sprintf("%d of %d stalls on heavy CPUs, %s expected at the same load and time", t.StallsExposed, t.StallsExposed+t.StallsUnexposed, number(t.ExpectedExposed, 1)),
		fmt.Sprintf("ratio %s (95 %% interval %s), p = %s", ratio(t.StratifiedRR, t.StratifiedRRCI), interval(t.StratifiedRRCI), significant(t.PValue)),
		"evidence of grade "+f.Grade+": "+gradeText(f.Grade))
	return c
}

// longestListed is how many stalls the page lists.
const longestListed = 15

// longestStalls lists the longest stalls, to be looked up in other records.
func longestStalls(f *domain.Finding) []Block {
	if len(f.StallList) == 0 {
		return nil
	}
	chosen := longest(f.StallList, longestListed)
	zone, name := zoneOf(f)
	layout := "15:04:05"
	if f.Window.Duration() > 12*time.Hour {
		layout = "2 Jan 15:04:05"
	}
	t := &Table{Columns: []Column{{"at (" + name + ")", Right}, {"longest, ms", Right}, {"sessions", Right}, {"LGWR on CPU", Left}, {"which is", Left}}}
	for i := range chosen {
		st := &chosen[i]
		where := unknown
		if len(st.CPUs) > 0 {
			where = correlate.CPUList(st.CPUs)
		}
		t.Rows = append(t.Rows, []string{st.At.In(zone).Format(layout), number(&st.LongestMS, 0), count(st.Waiters), where, stallKinds[kindOf(st)].text})
	}
	if n := len(f.StallList) - len(chosen); n > 0 {
		t.Note = fmt.Sprintf("%s shorter ones are in --json", count(n))
	}
	return []Block{{Table: t}}
}

// parameters lists the thresholds that the finding rests on.
func parameters(f *domain.Finding) []Block {
	raw, err := json.Marshal(f.Params)
	if err != nil || f.Params == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	t := &Table{Columns: []Column{{"parameter", Left}, {"value", Right}}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		t.Rows = append(t.Rows, parameterRow(fmt.Sprint(key), string(value)))
	}
	return []Block{{Table: t}}
}

// parameterRow writes nanoseconds as a duration.
func parameterRow(name, value string) []string {
	if short, ok := strings.CutSuffix(name, "_ns"); ok {
		if d, err := time.ParseDuration(value + "ns"); err == nil {
			name, value = short, d.String()
		}
	}
	return []string{strings.ReplaceAll(name, "_", " "), value}
}

// longest gives the n longest stalls, the longest first.
func longest(all []domain.StallMark, n int) []domain.StallMark {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b domain.StallMark) int { return cmp.Compare(b.LongestMS, a.LongestMS) })
	return sorted[:min(n, len(sorted))]
}
