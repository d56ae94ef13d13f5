package procfmt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

// Expected values are read off the lines by eye.
func TestAListingOfPortsTellsTheirNodeAndIRQs(t *testing.T) {
	t.Parallel()
	got, err := ParseSysfs([]byte(`/sys/class/net/ens3f0/device/numa_node: 3
/sys/class/net/ens3f0/device/msi_irqs: 122 120 121
/sys/class/net/eth1/device/numa_node: -1
/proc/irq/120/effective_affinity_list: 24
/proc/irq/121/effective_affinity_list: 25-26,30
/proc/irq/9/effective_affinity_list:
`))
	if err != nil {
		t.Fatal(err)
	}
	want := domain.Topology{
		Ports:    []domain.Port{{Name: "ens3f0", Node: 3, IRQs: []int{120, 121, 122}}, {Name: "eth1", Node: -1}},
		Affinity: map[int][]int{120: {24}, 121: {25, 26, 30}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListingThatCannotBeReadIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, says string }{
		"another file":              {"CPU(s): 4\n", "line 1"},
		"a NUMA node in words":      {"/sys/class/net/eth0/device/numa_node: two\n", "line 1: eth0"},
		"an IRQ that is none":       {"/proc/irq/x/effective_affinity_list: 1\n", "line 1"},
		"a CPU list that is broken": {"\n/proc/irq/5/effective_affinity_list: 3-\n", "line 2: IRQ 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ParseSysfs([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func FuzzSysfs(f *testing.F) {
	f.Add([]byte("/sys/class/net/ens3f0/device/msi_irqs: 120 121\n/proc/irq/120/effective_affinity_list: 0-3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseSysfs(data)
		if err == nil && len(got.Ports) > maxCPUs {
			t.Errorf("%d ports", len(got.Ports))
		}
	})
}
