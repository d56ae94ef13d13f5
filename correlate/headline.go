package correlate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

func newRand(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // repeatable draws, not secrets
}

func ownLow(own ownWrites, n int) float64 {
	low, _ := stats.BinomialInterval(int(math.Round(own.share()*float64(n))), n, 0.95)
	return low
}

// headline says the finding in a sentence or two.
func headline(f *domain.Finding, missing string) string {
	switch f.Verdict {
	case domain.CauseInterrupts:
		return interruptHeadline(f)
	case domain.InsufficientData:
		return "Not enough data for a verdict: " + missing + "."
	case domain.Undetermined:
		return undeterminedHeadline(f)
	}
	for _, c := range f.Causes {
		if c.Cause == f.Verdict {
			return fmt.Sprintf("%d %s over %.0f ms: the cause that the data supports is %s: %s.",
				f.Waits.Stalls, stallsOf(f), f.Waits.ThresholdMS, f.Verdict, strings.Join(c.Evidence[:1], ""))
		}
	}
	return f.Verdict
}

// stallsOf names the stalls of the watched waits.
func stallsOf(f *domain.Finding) string {
	if f.Waits.Event == domain.EventLogFileSync {
		return "commit stalls"
	}
	return "stalls"
}

func interruptHeadline(f *domain.Finding) string {
	c := f.Coincidence
	expected := ""
	if c.ExpectedExposed != nil {
		expected = fmt.Sprintf("; %.0f expected at that load", *c.ExpectedExposed)
	}
	return fmt.Sprintf("%d of %d %s over %.0f ms happened while %s ran on CPUs %s, which serve %s%s.",
		c.StallsExposed, c.StallsExposed+c.StallsUnexposed, stallsOf(f), f.Waits.ThresholdMS, strings.ToUpper(f.Watch), CPUList(f.Interrupts.HeavyCPUs), servedDevices(f), expected)
}

// servedDevices names the devices that make the heavy CPUs heavy.
func servedDevices(f *domain.Finding) string {
	var names []string
	for _, d := range HeavyDevices(f) {
		name := d.Device
		if d.Bond != nil {
			name += " (" + *d.Bond + ")"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "most of the device interrupts"
	}
	return joinAnd(names)
}

// HeavyDevices gives the devices that make the heavy CPUs heavy, in the order of
// the finding (by falling rate): those that bring a tenth or more of the
// interrupts there and have at least half of their CPUs among them. Storage is
// left out, as in the test.
func HeavyDevices(f *domain.Finding) []domain.DeviceRate {
	if f.Interrupts == nil {
		return nil
	}
	heavy := map[int]bool{}
	var rate float64
	for _, h := range f.Interrupts.Heavy {
		heavy[h.CPU] = true
		if h.PerS != nil {
			rate += *h.PerS
		}
	}
	var out []domain.DeviceRate
	for _, d := range f.Interrupts.ByDevice {
		n := 0
		for _, cpu := range d.CPUs {
			if heavy[cpu] {
				n++
			}
		}
		if d.Class != domain.ClassStorage.String() && n > 0 && 2*n >= len(d.CPUs) && d.PerS >= rate/10 {
			out = append(out, d)
		}
	}
	return out
}

func undeterminedHeadline(f *domain.Finding) string {
	if len(f.Mixed) == 1 {
		return fmt.Sprintf("The data supports %s for a part of the %d %s over %.0f ms, and no cause for the rest.", f.Mixed[0], f.Waits.Stalls, stallsOf(f), f.Waits.ThresholdMS)
	}
	if len(f.Mixed) > 0 {
		return fmt.Sprintf("%d %s over %.0f ms have no single cause; the data supports %s, each for a part.", f.Waits.Stalls, stallsOf(f), f.Waits.ThresholdMS, joinAnd(f.Mixed))
	}
	text := fmt.Sprintf("The data supports no cause for the %d %s over %.0f ms", f.Waits.Stalls, stallsOf(f), f.Waits.ThresholdMS)
	if c := f.Coincidence; c != nil && c.ExpectedExposed != nil {
		text += fmt.Sprintf(": %d of %d fell on heavy CPUs, %.0f expected at that load", c.StallsExposed, c.StallsExposed+c.StallsUnexposed, *c.ExpectedExposed)
	}
	if c := f.Coincidence; c != nil && c.PValue != nil && *c.PValue <= 0.05 {
		text += "; more than chance, yet too little to compare with for a verdict"
	}
	return text + "."
}

// CPUList writes ids as Linux writes CPU lists: "0-3,8,10-11".
func CPUList(ids []int) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if j > i {
			fmt.Fprintf(&b, "%d-%d", ids[i], ids[j])
		} else {
			fmt.Fprintf(&b, "%d", ids[i])
		}
		i = j + 1
	}
	return b.String()
}

// nextSteps says what to do first.
func nextSteps(f *domain.Finding) []string {
	var steps []string
	switch f.Verdict {
	case domain.CauseInterrupts:
		steps = append(steps,
			"Read the affinity of the device's IRQs on the heavy CPUs (/proc/irq/N/effective_affinity_list) and whether the driver lets them move; try it on one node first: no change window, undone by writing the old list back.",
			"Spread the receive queues over more CPUs and sockets (ethtool -X / -L, or irqbalance with a policy): a short blip on the port, undone by the old setting.",
			"For a lasting cure put the interconnect ports into slots of different sockets and bond them active-active: needs a change window and the switch's agreement; undone by the old cabling.",
			"Keep this analysis as the evidence before the change and gather the same files after it.")
	case domain.CauseStorage:
		steps = append(steps, "Take the device await, queue and path counters of the redo devices to the storage team for the seconds listed.")
	case domain.CauseCPUSaturation:
		steps = append(steps, "Look for the connection or process burst before the stalls (logons, listener log); bound the pools or the processes that start together.")
	case domain.CauseCPUSteal:
		steps = append(steps, "Take the steal times to whoever runs the hypervisor: reserve the CPUs of the database host.")
	case domain.CauseSwapping:
		steps = append(steps, "Find what pushes memory out (huge pages unused, an oversized PGA, a backup); the SGA belongs in huge pages.")
	}
	for _, c := range f.Causes {
		if c.Verdict == domain.NotObservable && f.Verdict != domain.CauseInterrupts && len(c.Evidence) > 0 && strings.HasPrefix(c.Evidence[0], "needs ") {
			steps = append(steps, "To judge "+c.Cause+": "+strings.TrimPrefix(c.Evidence[0], "needs ")+".")
		}
	}
	if f.Verdict == domain.InsufficientData || f.Verdict == domain.Undetermined {
		steps = slices.Insert(steps, 0, "Gather a longer or finer window: corewait collect script gathers every host file that analyze reads, corewait collect sql the waits.")
	}
	return steps
}
