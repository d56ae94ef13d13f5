package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// cards answer what a reader wants to know within a minute.
func cards(f *domain.Finding, s *series.Series) []htmlCard {
	place, verdict := []htmlCard{cpuCard(f), portCard(f, s)}, []htmlCard{sureCard(f), firstCard(f)}
	if f.Verdict == domain.CauseInterrupts {
		return append(place, verdict...)
	}
	return append(verdict, place...)
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
	count := fmt.Sprintf("%d of %d CPUs", len(in.HeavyCPUs), in.OnlineCPUs)
	if p, ok := f.Params.(correlate.Params); ok {
		count += ": over " + number(&p.HeavyPerSecond, 0) + " device interrupts/s, or over " + shortNumber(100*p.HeavyTimeShare) + " % of their time"
	}
	c.Notes = append(c.Notes, count)
	if busiest := busiestCPU(in.ByCPU); busiest != nil {
		text := fmt.Sprintf("busiest: CPU %d with %s device interrupts/s", busiest.CPU, number(busiest.PerS, 0))
		if busiest.TimeShare != nil {
			text += ", " + percent(busiest.TimeShare) + " of its time"
		}
		c.Notes = append(c.Notes, text)
	}
	if p := f.Placement; p != nil && p.HeavyShare != nil {
		c.Notes = append(c.Notes, watched(f)+" was on heavy CPUs "+percent(p.HeavyShare)+" of the time")
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

// portCard names the ports; the series tell how their bonds work.
func portCard(f *domain.Finding, s *series.Series) htmlCard {
	c := htmlCard{Question: "Which port interrupts them", Answer: "none stands out"}
	ports := correlate.HeavyDevices(f)
	if f.Interrupts == nil {
		c.Answer = "not known"
	}
	if len(ports) == 0 {
		return c
	}
	var names, bonds []string
	for _, p := range ports {
		name := p.Device
		if p.Bond != nil {
			name += " (" + *p.Bond + ")"
			bonds = append(bonds, *p.Bond)
		}
		names = append(names, name)
		text := fmt.Sprintf("%s: %s interrupts/s on CPUs %s", p.Device, number(&p.PerS, 0), correlate.CPUList(p.CPUs))
		if len(p.IRQs) > 0 {
			text += ", IRQs " + shortList(p.IRQs)
		}
		c.Notes = append(c.Notes, text)
	}
	c.Answer = strings.Join(names, ", ")
	c.Notes = append(c.Notes, bondNotes(s, bonds)...)
	return c
}

// bondNotes says how bonds work and which of their ports carries the traffic.
func bondNotes(s *series.Series, names []string) []string {
	if s == nil {
		return nil
	}
	var out []string
	told := map[string]bool{}
	for _, name := range names {
		for _, b := range s.Topology.Bonds {
			if b.Name != name || b.Mode == "" || told[name] {
				continue
			}
			told[name] = true
			text := name + " is bonded as " + b.Mode
			if b.ActiveSlave != "" && len(b.Slaves) > 1 {
				text += ": of " + strings.Join(b.Slaves, " and ") + " only " + b.ActiveSlave + " is active"
			}
			out = append(out, text)
		}
	}
	return out
}

// sureCard says how far the verdict can be trusted, in words.
func sureCard(f *domain.Finding) htmlCard {
	c := htmlCard{Question: "How sure is it", Answer: "? not tested"}
	interrupts := judged(f, domain.CauseInterrupts)
	if f.Verdict != domain.CauseInterrupts {
		if own := judged(f, f.Verdict); own != nil {
			_, symbol := verdictLook(own.Verdict)
			c.Answer = symbol + " " + causeName(f, own.Cause) + ": " + plainVerdict(own.Verdict)
			if share := shareText(*own); share != "" {
				c.Notes = append(c.Notes, share)
			}
			c.Notes = append(c.Notes, own.Evidence[:min(1, len(own.Evidence))]...)
		}
	}
	if interrupts == nil {
		return c
	}
	_, symbol := verdictLook(interrupts.Verdict)
	word := symbol + " " + plainVerdict(interrupts.Verdict)
	switch {
	case len(c.Notes) > 0:
		c.Notes = append(c.Notes, causeName(f, domain.CauseInterrupts)+": "+word)
	case f.Verdict == domain.CauseInterrupts:
		c.Answer = word
	case f.Verdict == domain.InsufficientData:
		c.Answer = "? not enough data"
	default:
		c.Answer = word + " for interrupts"
	}
	if f.Coincidence == nil {
		c.Notes = append(c.Notes, interrupts.Evidence...)
		return c
	}
	c.Notes = append(c.Notes, testTexts(f)...)
	for _, e := range interrupts.Evidence {
		if strings.Contains(e, "not distinguished") {
			c.Notes = append(c.Notes, "caveat: "+e)
		}
	}
	if f.Verdict == domain.CauseInterrupts {
		c.Notes = append(c.Notes, "grade "+f.Grade+": "+gradeText(f))
	}
	return c
}

// judged gives the judgement of a cause; nil where there is none.
func judged(f *domain.Finding, cause string) *domain.Cause {
	for i := range f.Causes {
		if f.Causes[i].Cause == cause {
			return &f.Causes[i]
		}
	}
	return nil
}

// testTexts says the interrupt test in words.
func testTexts(f *domain.Finding) []string {
	t := f.Coincidence
	out := []string{fmt.Sprintf("%d of %d stalls on heavy CPUs, %s expected at the same load and time", t.StallsExposed, t.StallsExposed+t.StallsUnexposed, number(t.ExpectedExposed, 1))}
	switch ci := t.StratifiedRRCI; {
	case t.StratifiedRR != nil:
		out = append(out, fmt.Sprintf("%s times as many stalls per second there as elsewhere (95 %% interval %s)", significant(t.StratifiedRR), interval(ci)))
	case ci[0] != nil:
		out = append(out, "at least "+significant(ci[0])+" times as many stalls per second there as elsewhere (95 %)")
	}
	return append(out, chanceText(f, "random draws"))
}

// chanceText says what a p-value means: it is (1 + as extreme)/(1 + draws).
func chanceText(f *domain.Finding, draws string) string {
	p := f.Coincidence.PValue
	text := "p = " + significant(p)
	prm, ok := f.Params.(correlate.Params)
	if !ok || p == nil || prm.Permutations <= 0 {
		return text
	}
	alike := count(int(math.Round(*p*float64(prm.Permutations+1))) - 1)
	if alike == "0" {
		alike = "none"
	}
	return fmt.Sprintf("%s: of %s %s %s put as many there", text, count(prm.Permutations), draws, alike)
}

// firstCard says what to do first and what it costs.
func firstCard(f *domain.Finding) htmlCard {
	c := htmlCard{Question: "What to do first, and what it costs"}
	if r := remedies(f); len(r) > 0 {
		c.Answer, _, _ = strings.Cut(r[0].done, ": ")
		c.Notes = []string{
			"change window: " + r[0].window,
			"risk: " + r[0].risk,
			"rollback: " + r[0].rollback,
			"then: " + r[1].name + ", " + r[2].name + ", " + r[3].name + ", " + r[4].name,
		}
		return c
	}
	more := f.Verdict == domain.InsufficientData || f.Verdict == domain.Undetermined || f.Verdict == ""
	step, rest := "Look up the longest stalls, listed below, in the records of "+causeName(f, f.Verdict), "then: "
	if more {
		step, rest = "Gather a longer or finer window", "how: "
	}
	for _, s := range f.NextSteps {
		if !strings.HasPrefix(s, "To judge ") {
			step = s
			break
		}
	}
	c.Answer = strings.TrimSuffix(step, ".")
	c.Notes = []string{"costs no change on the node and no change window"}
	if cut := strings.IndexAny(step, ":;"); cut > 0 {
		c.Answer = step[:cut]
		c.Notes = append(c.Notes, rest+strings.TrimSpace(step[cut+1:]))
	}
	return c
}
