package procfmt

import (
	"bytes"
	"errors"
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
	ports := sysfsPorts{byName: map[string]*domain.Port{}, irqs: map[portIRQ]bool{}}
	affinity := irqAffinity{cpus: map[int][]int{}}
	met := false
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data = cutLine(data)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !IsSysfs(line) {
			return domain.Topology{}, fmt.Errorf("line %d is not of a listing of ports or IRQ affinity", n)
		}
		met = true
		path, value, _ := strings.Cut(string(line), ":")
		var err error
		if strings.HasPrefix(path, procIRQ) {
			err = affinity.add(path, strings.TrimSpace(value))
		} else {
			err = ports.add(path, strings.Fields(value))
		}
		if err != nil {
			return domain.Topology{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if !met {
		return domain.Topology{}, errors.New("no line names a port or an IRQ")
	}
	t := domain.Topology{Affinity: affinity.cpus}
	for _, p := range ports.byName {
		slices.Sort(p.IRQs)
		t.Ports = append(t.Ports, *p)
	}
	slices.SortFunc(t.Ports, func(a, b domain.Port) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

// maxAffinity bounds the CPUs that all IRQs together go to: 4,096 IRQs that
// may each go to any of 256 CPUs. A line of 60 bytes can name 8,192.
const maxAffinity = 1 << 20

// irqAffinity gathers where IRQs go.
type irqAffinity struct {
	cpus  map[int][]int // by IRQ
	total int           // CPUs in all lists
}

func (a *irqAffinity) add(path, value string) error {
	irq, err := irqNumber(strings.TrimSuffix(strings.TrimPrefix(path, procIRQ), "/effective_affinity_list"))
	if err != nil {
		return fmt.Errorf("%.40q names no IRQ", path)
	}
	if value == "" {
		return nil
	}
	cpus, err := ParseCPUList(value)
	if err != nil {
		return fmt.Errorf("IRQ %d: %w", irq, err)
	}
	if a.total += len(cpus); a.total > maxAffinity {
		return fmt.Errorf("IRQs go to more than %d CPUs in all", maxAffinity)
	}
	a.cpus[irq] = cpus
	return nil
}

// sysfsPorts gathers ports.
type sysfsPorts struct {
	byName map[string]*domain.Port
	irqs   map[portIRQ]bool // met so far
}

type portIRQ struct {
	port string
	irq  int
}

func (s *sysfsPorts) add(path string, values []string) error {
	name, attribute, _ := strings.Cut(strings.TrimPrefix(path, sysClassNet), "/")
	if name == "" {
		return fmt.Errorf("%.40q names no port", path)
	}
	p := s.byName[name]
	if p == nil {
		if len(s.byName) >= maxCPUs {
			return fmt.Errorf("more than %d ports", maxCPUs)
		}
		p = &domain.Port{Name: name, Node: -1}
		s.byName[name] = p
	}
	for _, v := range values {
		if attribute == "device/numa_node" {
			node, err := strconv.Atoi(v)
			if err != nil || node >= maxCPUs {
				return fmt.Errorf("%s: %.20q is not a NUMA node", name, v)
			}
			p.Node = max(-1, node)
			continue
		}
		irq, err := irqNumber(v)
		if err != nil {
			return fmt.Errorf("%s: %.20q is not an IRQ", name, v)
		}
		if !s.irqs[portIRQ{name, irq}] {
			s.irqs[portIRQ{name, irq}] = true
			p.IRQs = append(p.IRQs, irq)
		}
	}
	return nil
}

// irqNumber reads the number of an IRQ.
func irqNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}
