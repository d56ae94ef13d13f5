package report

import (
	"cmp"
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
	h := &htmlFinding{ID: id, Title: title(f), Headline: f.Headline, Verdict: overall(f), Cards: cards(f, s)}
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
	figure, caption := topologyFigure(f, s, h.ID)
	h.add("map", "Where interrupts land", drawn(figure, caption)...)
	figure, caption, err := heatFigure(f, s, h.ID)
	if err != nil {
		return err
	}
	h.add("picture", "Interrupts, "+watched(f)+" and stalls", append(drawn(figure, caption), stallsNotListed(f)...)...)
	return nil
}

// evidence is the test, its rivals, and what follows from it.
func (h *htmlFinding) evidence(f *domain.Finding, s *series.Series) {
	h.add("coincidence", "Coincidence", append(blocks(coincidence(f)), drawn(ratioFigure(f))...)...)
	h.add("dose", "Dose and response", drawn(doseFigure(f))...)
	h.add("causes", "Causes", htmlBlock{Causes: judgedCauses(f)})
	next := items(f.NextSteps)
	if r := remedies(f); len(r) > 0 { // say the same steps with what each costs
		next = []Block{{Table: remedyTable(r)}}
	}
	h.add("next", "What to do, and what it costs", blocks(next)...)
	var figure []htmlBlock
	if s != nil {
		figure = drawn(waitFigure(f, s, h.ID))
	}
	h.add("waits", "Waits", append(figure, blocks(waits(f))...)...)
	h.add("longest", "Longest stalls", blocks(longestStalls(f))...)
	h.add("words", "Words", htmlBlock{Words: words(f)})
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
func causeName(f *domain.Finding, cause string) string {
	switch cause {
	case domain.CauseInterrupts:
		return "interrupts on " + watched(f) + "'s CPU"
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

// judgedCauses gives the causes, those first that are shown or still open.
func judgedCauses(f *domain.Finding) []htmlCause {
	sorted := slices.Clone(f.Causes)
	order := []string{domain.Supported, domain.Inconclusive, domain.Rejected, domain.NotObservable}
	slices.SortStableFunc(sorted, func(a, b domain.Cause) int {
		return cmp.Compare(slices.Index(order, a.Verdict), slices.Index(order, b.Verdict))
	})
	out := make([]htmlCause, 0, len(sorted))
	for _, c := range sorted {
		h := htmlCause{Name: causeName(f, c.Cause), Verdict: plainVerdict(c.Verdict), Evidence: c.Evidence}
		h.Class, h.Symbol = verdictLook(c.Verdict)
		if c.Verdict == domain.Supported {
			h.Share = shareText(c)
		}
		out = append(out, h)
	}
	return out
}

// plainVerdict writes a verdict without its hyphen.
func plainVerdict(verdict string) string { return strings.ReplaceAll(verdict, "-", " ") }

// shareText says which share of the stalls a cause explains; "" where unknown.
func shareText(c domain.Cause) string {
	if c.AttributableShare == nil {
		return ""
	}
	text := "explains " + percent(c.AttributableShare) + " of the stalls"
	if ci := c.AttributableCI; ci[0] != nil || ci[1] != nil {
		text += " (95 % interval " + shareInterval(ci) + ")"
	}
	return text
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
	switch {
	case f.Verdict == domain.InsufficientData:
		v.Name = "not enough data for a verdict"
	case f.Verdict == domain.Undetermined && len(f.Mixed) > 0:
		v.Name = "no single one: " + strings.Join(causeNames(f, f.Mixed), " and ") + ", for a part"
	case f.Verdict == domain.Undetermined:
		v.Name = "none is shown"
	default:
		v.Class, v.Symbol = verdictLook(domain.Supported)
		v.Name = causeName(f, f.Verdict)
	}
	return v
}

func causeNames(f *domain.Finding, causes []string) []string {
	out := make([]string, 0, len(causes))
	for _, c := range causes {
		out = append(out, causeName(f, c))
	}
	return out
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
	length := "longest, ms"
	if w := f.Coverage.WaitSource; w != nil && *w == "histogram" { // a bucket's lower end
		length = "longest, ms or more"
	}
	t := &Table{Columns: []Column{{"at (" + name + ")", Right}, {length, Right}, {"sessions", Right}, {watched(f) + " on CPU", Left}}}
	for i := range chosen {
		st := &chosen[i]
		where := unknown
		if len(st.CPUs) > 0 {
			where = correlate.CPUList(st.CPUs) + stallKinds[kindOf(st)].note
		}
		t.Rows = append(t.Rows, []string{st.At.In(zone).Format(layout), number(&st.LongestMS, 0), count(st.Waiters), where})
	}
	if n := len(f.StallList) - len(chosen); n > 0 {
		t.Note = fmt.Sprintf("%s shorter ones are in --json", count(n))
	}
	return []Block{{Table: t}}
}

// longest gives the n longest stalls, the longest first.
func longest(all []domain.StallMark, n int) []domain.StallMark {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b domain.StallMark) int { return cmp.Compare(b.LongestMS, a.LongestMS) })
	return sorted[:min(n, len(sorted))]
}
