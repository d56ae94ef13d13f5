package procfmt

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/domain"
)

// What a line of a sysfs listing may begin with.
const (
	sysClassNet = "/sys/class/net/"
	procIRQ     = "/proc/irq/"
)

// IsSysfs says whether a line is one of a listing "path: value" of network
// ports (numa_node, msi_irqs) or of IRQ affinity.
func IsSysfs(line []byte) bool {
	path, _, found := bytes.Cut(line, []byte(":"))
	if !found {
		return false
	}
	p := string(path)
	return strings.HasPrefix(p, sysClassNet) && (strings.HasSuffix(p, "/device/numa_node") || strings.HasSuffix(p, "/device/msi_irqs")) ||
		strings.HasPrefix(p, procIRQ) && strings.HasSuffix(p, "/effective_affinity_list")
}

// ParseSysfs reads a listing of lines "path: value" as `corewait collect
// script` writes it: the NUMA node and the IRQs of network ports, and where IRQs
// really go. msi_irqs is authoritative for which IRQ belongs to which port
// (Documentation/ABI/testing/sysfs-bus-pci). A numa_node of -1 is unknown.
func ParseSysfs(data []byte) (domain.Topology, error) {
	ports := map[string]*domain.Port{}
	affinity := map[int][]int{}
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data = cutLine(data)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !IsSysfs(line) {
			return domain.Topology{}, fmt.Errorf("line %d is not of a listing of ports or IRQ affinity", n)
		}
		path, value, _ := strings.Cut(string(line), ":")
		var err error
		if strings.HasPrefix(path, procIRQ) {
			err = sysfsAffinity(affinity, path, strings.TrimSpace(value))
		} else {
			err = sysfsPort(ports, path, strings.Fields(value))
		}
		if err != nil {
			return domain.Topology{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	t := domain.Topology{Affinity: affinity}
	for _, p := range ports {
		slices.Sort(p.IRQs)
		t.Ports = append(t.Ports, *p)
	}
	slices.SortFunc(t.Ports, func(a, b domain.Port) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

func sysfsAffinity(affinity map[int][]int, path, value string) error {
	irq, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, procIRQ), "/effective_affinity_list"))
	if err != nil || irq < 0 {
		return fmt.Errorf("%.40q names no IRQ", path)
	}
	if value == "" {
		return nil
	}
	cpus, err := ParseCPUList(value)
	if err != nil {
		return fmt.Errorf("IRQ %d: %w", irq, err)
	}
	affinity[irq] = cpus
	return nil
}

func sysfsPort(ports map[string]*domain.Port, path string, values []string) error {
	name, attribute, _ := strings.Cut(strings.TrimPrefix(path, sysClassNet), "/")
	if name == "" {
		return fmt.Errorf("%.40q names no port", path)
	}
	p := ports[name]
	if p == nil {
		if len(ports) >= maxCPUs {
			return fmt.Errorf("more than %d ports", maxCPUs)
		}
		p = &domain.Port{Name: name, Node: -1}
		ports[name] = p
	}
	for _, v := range values {
		number, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("%s: %.20q is not a number", name, v)
		}
		if attribute == "device/numa_node" {
			p.Node = max(-1, number)
		} else if !slices.Contains(p.IRQs, number) {
			p.IRQs = append(p.IRQs, number)
		}
	}
	return nil
}
