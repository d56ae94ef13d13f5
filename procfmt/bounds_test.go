package procfmt

import (
	"fmt"
	"strings"
	"testing"
)

// A short line may name all CPUs: many such lines must not add up to gigabytes.
func TestShortLinesThatNameManyCPUsAreBounded(t *testing.T) {
	t.Parallel()
	lscpu := "CPU(s): 1\nOn-line CPU(s) list: 0\n"
	var nodes, irqs strings.Builder
	for i := range 200 { // 200 times 8,192 is over 2^20
		fmt.Fprintf(&nodes, "NUMA node%d CPU(s): 0-8191\n", i)
		fmt.Fprintf(&irqs, "/proc/irq/%d/effective_affinity_list: 0-8191\n", i)
	}
	if _, err := ParseLscpu([]byte(lscpu + nodes.String())); err == nil || !strings.Contains(err.Error(), "more than 8192 CPUs") {
		t.Errorf("lscpu: error %v", err)
	}
	if _, err := ParseSysfs([]byte(irqs.String())); err == nil || !strings.Contains(err.Error(), "line 129: IRQs go to more than 1048576 CPUs") {
		t.Errorf("sysfs: error %v", err)
	}
}

func TestAnIRQOrNUMANodeThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"/sys/class/net/eth0/device/msi_irqs: -5", "/sys/class/net/eth0/device/msi_irqs: 9999999999",
		"/sys/class/net/eth0/device/numa_node: 8192", "/proc/irq/+5/effective_affinity_list: 1",
	} {
		if got, err := ParseSysfs([]byte(line)); err == nil {
			t.Errorf("%s: read as %+v", line, got)
		}
	}
}
