package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// remedies is what can be done about interrupts on LGWR's CPUs, the cheapest
// first, and what each costs; nil unless interrupts are the verdict. Sources:
// the kernel's IRQ-affinity documentation, ethtool(8), cpuset(7), bonding.
func remedies(f *domain.Finding) *Table {
	if f.Verdict != domain.CauseInterrupts {
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
	heavy := correlate.CPUList(f.Interrupts.HeavyCPUs)
	return &Table{
		Columns: []Column{{"remedy", Left}, {"what is done", Left}, {"change window", Left}, {"risk", Left}, {"rollback", Left}},
		Rows: [][]string{
			{
				"IRQ affinity",
				"Spread " + irqs + " over CPUs of several sockets: write /proc/irq/N/smp_affinity_list, then read effective_affinity_list; tell irqbalance to keep off them",
				"no; one node at a time",
				"drivers with managed IRQs refuse it (I/O error or not permitted); lost at reboot unless made permanent; packets cross sockets",
				"write the old lists back, which were noted before",
			},
			{
				"receive queues",
				"Spread flows over more queues: ethtool -X " + name + " (indirection), ethtool -L " + name + " (number of queues)",
				"-X no; -L yes, as it resets the port",
				"-L takes the link down for a moment: on an interconnect a long one can evict the node; a single flow stays on one queue",
				"the old table (ethtool -x) or number (ethtool -l)",
			},
			{
				"cpuset for LGWR",
				"Keep LGWR and its workers off CPUs " + heavy + ": cpuset or taskset -p on the running processes",
				"no; to be repeated after each restart of the instance",
				"fewer CPUs for LGWR: it may queue at peaks; the stalls of others on the heavy CPUs stay; ask Oracle support whether they agree",
				"set the old CPU list again",
			},
			{
				"moving ports",
				"Put the interconnect ports into slots of different sockets, so that their interrupts land on both",
				"yes: the node is down",
				"hardware work; port names and IRQ numbers may change; the slot's width must do",
				"move the port back, in another window",
			},
			{
				"active-active bond",
				"Let both ports carry traffic (802.3ad or balance-xor with layer3+4 hashing), so that the load is halved on each",
				"yes, with the switch's owner",
				"a wrong switch setting cuts the interconnect; a single flow still uses one port",
				"the old bonding mode and switch setting",
			},
		},
		Note: "The first three can be tried on one node under load and undone within minutes; the last two are the lasting cure. Keep this page as the evidence before the change, and gather the same files after it.",
	}
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
