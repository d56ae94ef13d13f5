package series

import (
	"cmp"
	"maps"
	"slices"

	"github.com/corewait/corewait/domain"
)

// topologyParts merges fragments: each file tells a part.
type topologyParts struct {
	cpus          map[int]domain.CPU
	bonds         map[string]domain.Bond
	ports         map[string]domain.Port
	interconnects []string
	affinity      map[int][]int
	fixed         map[int]bool // IRQs that fragments tell of
	kernel        string
	accounted     *bool
	inferred      bool // cores come from a fragment that inferred them only
}

func (p *topologyParts) add(t domain.Topology) {
	t.CPUs = slices.Clone(t.CPUs)
	if p.cpus == nil {
		p.cpus, p.bonds, p.ports = map[int]domain.CPU{}, map[string]domain.Bond{}, map[string]domain.Port{}
	}
	p.mergeCores(&t)
	for _, c := range t.CPUs {
		old, ok := p.cpus[c.ID]
		if !ok {
			p.cpus[c.ID] = c
			continue
		}
		p.cpus[c.ID] = domain.CPU{
			ID: c.ID, Socket: either(old.Socket, c.Socket), Core: either(old.Core, c.Core), Node: either(old.Node, c.Node),
			Online: old.Online || c.Online,
		}
	}
	for _, b := range t.Bonds {
		p.bonds[b.Name] = b
	}
	for _, o := range t.Ports {
		p.ports[o.Name] = o
	}
	if p.affinity == nil && len(t.Affinity) > 0 {
		p.affinity = map[int][]int{}
	}
	maps.Copy(p.affinity, t.Affinity)
	p.mergeFixed(&t)
	if t.Kernel != "" {
		p.kernel = t.Kernel
	}
	if t.InterruptTimeAccounted != nil {
		p.accounted = t.InterruptTimeAccounted
	}
	for _, i := range t.Interconnects {
		if !slices.Contains(p.interconnects, i) {
			p.interconnects = append(p.interconnects, i)
		}
	}
}

// mergeFixed takes which IRQs cannot be moved: of those whose affinity a fragment
// tells, it tells this too.
func (p *topologyParts) mergeFixed(t *domain.Topology) {
	if p.fixed == nil {
		p.fixed = map[int]bool{}
	}
	for irq := range t.Affinity {
		delete(p.fixed, irq)
	}
	for _, irq := range t.Fixed {
		p.fixed[irq] = true
	}
}

// mergeCores lets cores that were read replace those that were inferred: two
// files may name the same cores differently, so they are never mixed.
func (p *topologyParts) mergeCores(t *domain.Topology) {
	has := slices.ContainsFunc(t.CPUs, func(c domain.CPU) bool { return c.Core >= 0 })
	if !has {
		return
	}
	known := false
	for _, c := range p.cpus {
		known = known || c.Core >= 0
	}
	switch {
	case known && (t.CoresInferred || !p.inferred):
		for i := range t.CPUs {
			t.CPUs[i].Core = -1
		}
	case known:
		for id, c := range p.cpus {
			c.Core = -1
			p.cpus[id] = c
		}
		p.inferred = false
	default:
		p.inferred = t.CoresInferred
	}
}

// either prefers what was known first; negative is unknown.
func either(a, b int) int {
	if a >= 0 {
		return a
	}
	return b
}

func (p *topologyParts) build() domain.Topology {
	var t domain.Topology
	for _, c := range p.cpus {
		t.CPUs = append(t.CPUs, c)
	}
	slices.SortFunc(t.CPUs, func(a, b domain.CPU) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range p.bonds {
		t.Bonds = append(t.Bonds, b)
	}
	slices.SortFunc(t.Bonds, func(a, b domain.Bond) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range p.ports {
		t.Ports = append(t.Ports, o)
	}
	slices.SortFunc(t.Ports, func(a, b domain.Port) int { return cmp.Compare(a.Name, b.Name) })
	t.Interconnects = slices.Clone(p.interconnects)
	t.CoresInferred = p.inferred
	t.Affinity = maps.Clone(p.affinity)
	t.Fixed = slices.Sorted(maps.Keys(p.fixed))
	t.Kernel, t.InterruptTimeAccounted = p.kernel, p.accounted
	return t
}
