package store

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
)

// referenceTables tell which instances a node has and how it is built, for the
// live tables (collection_id 0) and for each collection. columns are those beside
// node_id and collection_id.
var referenceTables = []struct{ name, columns string }{
	{"instances", "inst_id, name, host, database, first_seen, last_seen"},
	{"topology", "at, cores_inferred, interconnects, kernel, interrupt_time_accounted"},
	{"topology_cpus", "at, cpu, socket, core, numa_node, online"},
	{"topology_ports", "at, port, driver, pci_address, numa_node, irqs"},
	{"topology_bonds", "at, bond, mode, active_slave, slaves"},
	{"topology_irqs", "at, irq, cpus, fixed"},
}

func (b *Batch) hasReferences() bool { return len(b.instances) > 0 || len(b.topologies) > 0 }

// writeReferences stores what is not a sample, in the connection's open
// transaction: instances, and how the node is built.
func (s *Store) writeReferences(ctx context.Context, conn *pgx.Conn, to *target, b *Batch) error {
	var batch pgx.Batch
	for _, i := range b.instances {
		queueInstance(&batch, to, i)
	}
	for i := range b.topologies {
		queueTopology(&batch, to, &b.topologies[i])
	}
	return s.step(ctx, "write instances and topology", func(ctx context.Context) error {
		return conn.SendBatch(ctx, &batch).Close()
	})
}

// queueInstance keeps an instance. The time it was seen last, by which of two
// names of one INST_ID the later one counts, moves once an hour, so that pushes do
// not write the same row over and over; in a collection it does not move.
func queueInstance(batch *pgx.Batch, to *target, i domain.Instance) {
	batch.Queue(`INSERT INTO instances AS t (node_id, collection_id, inst_id, name, host, first_seen, last_seen) VALUES ($1, $2, $3, $4, $5, now(), clock_timestamp())
		ON CONFLICT (node_id, collection_id, inst_id, name) DO UPDATE SET host = coalesce(nullif(excluded.host, ''), t.host), last_seen = excluded.last_seen
		WHERE excluded.host NOT IN ('', t.host) OR t.collection_id = 0 AND t.last_seen < excluded.last_seen - interval '1 hour'`,
		to.node, to.collection, i.InstID, i.Name, i.Host)
}

// queueTopology replaces how the node is built from an instant on. The head comes
// first: two writers of one topology wait for each other there.
func queueTopology(batch *pgx.Batch, to *target, t *topologyAt) {
	at := sinceTime(t.at)
	batch.Queue(`INSERT INTO topology (node_id, collection_id, at, cores_inferred, interconnects, kernel, interrupt_time_accounted) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (node_id, collection_id, at) DO UPDATE SET cores_inferred = excluded.cores_inferred, interconnects = excluded.interconnects,
			kernel = excluded.kernel, interrupt_time_accounted = excluded.interrupt_time_accounted`,
		to.node, to.collection, at, t.CoresInferred, storableTexts(t.Interconnects), storable(t.Kernel, longestName), t.InterruptTimeAccounted)
	for _, part := range []string{"topology_cpus", "topology_ports", "topology_bonds", "topology_irqs"} {
		batch.Queue("DELETE FROM "+part+" WHERE node_id = $1 AND collection_id = $2 AND at = $3", to.node, to.collection, at)
	}
	queueCPUs(batch, to, at, t.CPUs)
	for _, p := range t.Ports {
		batch.Queue(`INSERT INTO topology_ports (node_id, collection_id, at, port, driver, pci_address, numa_node, irqs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT DO NOTHING`,
			to.node, to.collection, at, storable(p.Name, longestName), storable(p.Driver, longestName), storable(p.PCIAddress, longestName), knownID(p.Node), int4List(p.IRQs))
	}
	for _, b := range t.Bonds {
		batch.Queue(`INSERT INTO topology_bonds (node_id, collection_id, at, bond, mode, active_slave, slaves) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT DO NOTHING`,
			to.node, to.collection, at, storable(b.Name, longestName), storable(b.Mode, longestName), storable(b.ActiveSlave, longestName), storableTexts(b.Slaves))
	}
	irqs := slices.Concat(slices.Collect(maps.Keys(t.Affinity)), t.Fixed)
	slices.Sort(irqs)
	for _, irq := range slices.Compact(irqs) {
		var cpus []int16 // NULL: unknown
		if of, ok := t.Affinity[irq]; ok {
			cpus = int2List(of)
		}
		batch.Queue(`INSERT INTO topology_irqs (node_id, collection_id, at, irq, cpus, fixed) VALUES ($1, $2, $3, $4, $5, $6)`,
			to.node, to.collection, at, irq, cpus, slices.Contains(t.Fixed, irq))
	}
}

func queueCPUs(batch *pgx.Batch, to *target, at any, cpus []domain.CPU) {
	var id, socket, core, numa []*int32
	var online []bool
	for _, c := range cpus {
		id, socket, core, numa = append(id, knownID(c.ID)), append(socket, knownID(c.Socket)), append(core, knownID(c.Core)), append(numa, knownID(c.Node))
		online = append(online, c.Online)
	}
	batch.Queue(`INSERT INTO topology_cpus (node_id, collection_id, at, cpu, socket, core, numa_node, online)
		SELECT $1, $2, $3, * FROM unnest($4::int2[], $5::int2[], $6::int4[], $7::int2[], $8::bool[])`, to.node, to.collection, at, id, socket, core, numa, online)
}

// knownID gives an id; nil where it is unknown.
func knownID(id int) *int32 {
	if id < 0 {
		return nil
	}
	k := int32(id) //nolint:gosec // held to its column by keptTopology
	return &k
}

func int4List(ids []int) []int32 {
	list := make([]int32, len(ids))
	for i, id := range ids {
		list[i] = int32(id) //nolint:gosec // held to its column by keptTopology
	}
	return list
}

func int2List(ids []int) []int16 {
	list := make([]int16, len(ids))
	for i, id := range ids {
		list[i] = int16(id) //nolint:gosec // held to its column by keptTopology
	}
	return list
}

func storableTexts(texts []string) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = storable(t, longestName)
	}
	return list
}
