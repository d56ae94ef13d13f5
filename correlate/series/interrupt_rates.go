package series

import (
	"fmt"

	"github.com/corewait/corewait/domain"
)

// interruptRates gathers the rates of interrupts by interval and CPU.
type interruptRates struct {
	window Span
	out    Matrix
	lines  lineSums

	widenings int // how often CPUs were added to out

	wrapped, implausible, manyCPUs int
	gaps                           map[string]int // by reason
}

// InterruptSample takes what devices' interrupts did in an interval. One that
// overlaps what came before is left out.
func (b *Builder) InterruptSample(s *domain.InterruptSample) error {
	r := &b.interrupts
	span := Span{FromTime(s.From), FromTime(s.To)}
	if r.isOutside(span) {
		return nil
	}
	if span.From < r.out.end() {
		r.addGap(domain.GapOverlap)
		return nil
	}
	r.wrapped += s.Wrapped
	r.implausible += s.Implausible
	if !r.out.addCounts(span, s.CPUs, s.Counts, &r.widenings) {
		r.manyCPUs++
	}
	return nil
}

// DeviceSample takes which lines interrupted which CPUs.
func (b *Builder) DeviceSample(s *domain.DeviceSample) error {
	span := Span{FromTime(s.From), FromTime(s.To)}
	if !b.interrupts.isOutside(span) {
		b.interrupts.lines.take(s, span)
	}
	return nil
}

// Gap takes what was not observed.
func (b *Builder) Gap(g domain.Gap) error {
	untimed := g.From.IsZero() && g.To.IsZero()
	if g.Source == domain.GapInterrupts && (untimed || !b.interrupts.isOutside(Span{FromTime(g.From), FromTime(g.To)})) {
		b.interrupts.addGap(g.Reason)
	}
	return nil
}

func (r *interruptRates) isOutside(s Span) bool {
	return r.window != (Span{}) && (s.From < r.window.From || s.To > r.window.To)
}

func (r *interruptRates) addGap(reason string) {
	if r.gaps == nil {
		r.gaps = map[string]int{}
	}
	r.gaps[reason]++
}

func (b *Builder) interruptNotes() []string {
	var n []string
	r := &b.interrupts
	add := func(count int, format string) {
		if count > 0 {
			n = append(n, fmt.Sprintf(format, count))
		}
	}
	add(r.gaps[domain.GapUntimed], "%d readings of /proc/interrupts carry no time and give no rates")
	add(r.gaps[domain.GapOverlap], "%d readings of /proc/interrupts overlap earlier ones and were left out")
	add(r.gaps[domain.GapIncomplete], "%d readings of /proc/interrupts lack lines that their neighbours have and were left out")
	add(r.gaps[domain.GapReset], "interrupt counters started anew %d times; those intervals are unknown")
	add(r.wrapped, "interrupt counters wrapped at 32 bits %d times and were carried on")
	add(r.implausible, "interrupt counters moved %d times by what is neither a plausible gain nor one wrap; those values are unknown")
	add(r.manyCPUs, "%d readings of /proc/interrupts bring new CPUs once more and were left out")
	add(b.netRX.manyCPUs, "%d readings of /proc/softirqs bring new CPUs once more and were left out")
	add(r.lines.untracked, "%d readings of interrupt lines beyond the 65536 kept are in no device's rate")
	add(r.gaps[domain.GapMissing], "/proc/interrupts has %d gaps")
	return n
}
