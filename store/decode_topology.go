package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/corewait/corewait/domain"
)

// topologies passes on how the node was built when the window began, and each
// change within it.
func (f *feed) topologies(ctx context.Context) error {
	var heads []int64
	found := map[int64]*domain.Topology{}
	q := &query{}
	q.add("SELECT at, cores_inferred, interconnects, kernel, interrupt_time_accounted FROM topology WHERE node_id = ? AND collection_id = ?", f.src.Node, f.src.Collection)
	if !f.window.To.IsZero() {
		q.add("AND at < ?", f.window.To)
	}
	if !f.window.From.IsZero() {
		q.add("AND at >= coalesce((SELECT max(b.at) FROM topology AS b WHERE b.node_id = topology.node_id AND b.collection_id = topology.collection_id AND b.at <= ?), '-infinity')", f.window.From)
	}
	q.add("ORDER BY at")
	err := f.read(ctx, "topology", q, func(r *rowReader) error {
		at := r.time()
		heads = append(heads, at)
		found[at] = &domain.Topology{CoresInferred: r.bool(), Interconnects: r.texts(), Kernel: r.text(), InterruptTimeAccounted: r.boolOrNil()}
		return r.err
	})
	if err != nil || len(heads) == 0 {
		return err
	}
	for _, part := range []struct {
		table, columns, order string
		read                  func(*rowReader, *domain.Topology) error
	}{
		{"topology_cpus", "cpu, socket, core, numa_node, online", "cpu", readTopologyCPU},
		{"topology_bonds", "bond, mode, active_slave, slaves", "bond", readTopologyBond},
		{"topology_ports", "port, driver, pci_address, numa_node, irqs", "port", readTopologyPort},
		{"topology_irqs", "irq, cpus, fixed", "irq", readTopologyIRQ},
	} {
		q := &query{}
		q.add("SELECT at, "+part.columns+" FROM "+part.table+" WHERE node_id = ? AND collection_id = ?", f.src.Node, f.src.Collection)
		q.add("AND at >= ? AND at <= ? ORDER BY at, "+part.order, sinceTime(heads[0]), sinceTime(heads[len(heads)-1]))
		err := f.read(ctx, part.table, q, func(r *rowReader) error {
			t, ok := found[r.time()]
			if !ok {
				return r.err
			}
			return part.read(r, t)
		})
		if err != nil {
			return err
		}
	}
	for _, at := range heads {
		if err := f.to.Topology(*found[at]); err != nil {
			return err
		}
	}
	return nil
}

func readTopologyCPU(r *rowReader, t *domain.Topology) error {
	t.CPUs = append(t.CPUs, domain.CPU{
		ID: int(r.int2()), Socket: orUnknown(r.int2(), null16), Core: orUnknown(r.int4(), null32), Node: orUnknown(r.int2(), null16), Online: r.bool(),
	})
	return r.err
}

func readTopologyBond(r *rowReader, t *domain.Topology) error {
	t.Bonds = append(t.Bonds, domain.Bond{Name: r.text(), Mode: r.text(), ActiveSlave: r.text(), Slaves: r.texts()})
	return r.err
}

func readTopologyPort(r *rowReader, t *domain.Topology) error {
	p := domain.Port{Name: r.text(), Driver: r.text(), PCIAddress: r.text(), Node: orUnknown(r.int2(), null16)}
	for _, irq := range r.int4s(nil) {
		p.IRQs = append(p.IRQs, int(irq))
	}
	t.Ports = append(t.Ports, p)
	return r.err
}

func readTopologyIRQ(r *rowReader, t *domain.Topology) error {
	irq := int(r.int4())
	ids := r.int2s(nil)
	if r.bool() {
		t.Fixed = append(t.Fixed, irq)
	}
	if ids == nil {
		return r.err
	}
	var cpus []int
	for _, cpu := range ids {
		cpus = append(cpus, int(cpu))
	}
	if t.Affinity == nil {
		t.Affinity = map[int][]int{}
	}
	t.Affinity[irq] = cpus
	return r.err
}

// sinceTime gives an instant that rowReader.time read: -infinity where it is
// unknown.
func sinceTime(at int64) pgtype.Timestamptz {
	if at == timeUnknown {
		return openSide(time.Time{}, pgtype.NegativeInfinity)
	}
	return openSide(instant(at), pgtype.Finite)
}

// orUnknown gives an id; -1 where it is unknown.
func orUnknown[T int16 | int32](v, unknown T) int {
	if v == unknown {
		return -1
	}
	return int(v)
}
