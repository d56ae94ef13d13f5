package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// remedy is one thing that can be done, and what it costs.
type remedy struct {
	name     string
	done     string // the deed in a few words, and after a colon how
	window   string // whether it needs a change window
	risk     string
	rollback string
}

// remedies is what can be done about interrupts on the watched process's CPUs,
// the cheapest first; nil unless interrupts are the verdict. Sources: the
// kernel's IRQ-affinity documentation, ethtool(8), cpuset(7), bonding.
func remedies(f *domain.Finding) []remedy {
	if f.Verdict != domain.CauseInterrupts || f.Interrupts == nil {
		return nil
	}
	ports := correlate.HeavyDevices(f)
	irqs, name := "the port's IRQs", "PORT"
	if len(ports) > 0 {
		name = ports[0].Device
		if len(ports[0].IRQs) > 0 {
			irqs = fmt.Sprintf("the IRQs of %s (%s)", name, shortList(ports[0].IRQs))
		}
	}
	who, heavy := watched(f), correlate.CPUList(f.Interrupts.HeavyCPUs)
	return []remedy{
		{
			name:     "IRQ affinity",
			done:     "Spread " + irqs + " over CPUs of several sockets: write /proc/irq/N/smp_affinity_list, then read effective_affinity_list; tell irqbalance to keep off them",
			window:   "no; one node at a time",
			risk:     "drivers with managed IRQs refuse it (I/O error or not permitted); lost at reboot unless made permanent; packets cross sockets",
			rollback: "write the old lists back, which were noted before",
		},
		{
			name:     "receive queues",
			done:     "Spread flows over more queues: ethtool -X " + name + " (indirection), ethtool -L " + name + " (number of queues)",
			window:   "-X no; -L yes, as it resets the port",
			risk:     "-L takes the link down for a moment: on an interconnect a long one can evict the node; a single flow stays on one queue",
			rollback: "the old table (ethtool -x) or number (ethtool -l)",
		},
		{
			name:     "cpuset for " + who,
			done:     "Keep " + who + " and its workers off CPUs " + heavy + ": cpuset or taskset -p on the running processes",
			window:   "no; to be repeated after each restart of the instance",
			risk:     "fewer CPUs for " + who + ": it may queue at peaks; the stalls of others on the heavy CPUs stay; ask Oracle support whether they agree",
			rollback: "set the old CPU list again",
		},
		{
			name:     "moving ports",
			done:     "Put the interconnect ports into slots of different sockets, so that their interrupts land on both",
			window:   "yes: the node is down",
			risk:     "hardware work; port names and IRQ numbers may change; the slot's width must do",
			rollback: "move the port back, in another window",
		},
		{
			name:     "active-active bond",
			done:     "Let both ports carry traffic (802.3ad or balance-xor with layer3+4 hashing), so that the load is halved on each",
			window:   "yes, with the switch's owner",
			risk:     "a wrong switch setting cuts the interconnect; a single flow still uses one port",
			rollback: "the old bonding mode and switch setting",
		},
	}
}

// remedyTable sets the remedies beside each other.
func remedyTable(all []remedy) *Table {
	t := &Table{
		Columns: []Column{{"remedy", Left}, {"what is done", Left}, {"change window", Left}, {"risk", Left}, {"rollback", Left}},
		Note:    "The first three can be tried on one node under load and undone within minutes; the last two are the lasting cure. Keep this page as the evidence before the change, and gather the same files after it.",
	}
	for _, r := range all {
		t.Rows = append(t.Rows, []string{r.name, r.done, r.window, r.risk, r.rollback})
	}
	return t
}

// shortList writes numbers as ranges, the first few of many.
func shortList(ids []int) string {
	const most = 6
	parts := strings.Split(correlate.CPUList(slices.Sorted(slices.Values(ids))), ",")
	if len(parts) > most {
		return strings.Join(parts[:most], ",") + " and " + strconv.Itoa(len(parts)-most) + " more ranges"
	}
	return strings.Join(parts, ",")
}
