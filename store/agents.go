package store

import (
	"context"
	"time"
)

// AgentState is what an agent last told about itself and its node's clock. An
// agent that begins a new spool has another state: two of one node that are both
// seen are two agents.
type AgentState struct {
	Node                      NodeID
	Spool                     [16]byte // a UUID
	Sequence                  int64    // the highest that was pushed
	BootID, Version, Hostname string
	SeenAt                    time.Time
	ClockOffset               *time.Duration // the node's clock minus the service's; nil unknown
	Synchronized              *bool          // the kernel's word that its clock is; nil unknown
	ClockError                *time.Duration // the kernel's bound on its clock's error; nil unknown
	Retimed                   bool           // its samples were timed by the service's clock
}

// NoteAgent notes the state of an agent, unless a later one is known: pushes may
// come in any order.
func (s *Store) NoteAgent(ctx context.Context, a AgentState) error {
	return s.step(ctx, "note agent", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `
			INSERT INTO agents AS a (node_id, spool_id, sequence, boot_id, version, hostname, seen_at, clock_offset_us, synchronized, clock_error_us, retimed)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (node_id, spool_id) DO UPDATE
			SET sequence = greatest(a.sequence, excluded.sequence), boot_id = excluded.boot_id, version = excluded.version,
			    hostname = excluded.hostname, seen_at = excluded.seen_at, clock_offset_us = excluded.clock_offset_us,
			    synchronized = excluded.synchronized, clock_error_us = excluded.clock_error_us, retimed = excluded.retimed
			WHERE a.seen_at <= excluded.seen_at`,
			a.Node, UUID(a.Spool), a.Sequence, storable(a.BootID, longestName), storable(a.Version, longestName), storable(a.Hostname, longestName),
			a.SeenAt, microsOrNull(a.ClockOffset), a.Synchronized, microsOrNull(a.ClockError), a.Retimed)
		return err
	})
}

// microsOrNull gives whole microseconds; nil for nil.
func microsOrNull(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	us := d.Microseconds()
	return &us
}

// Agents lists the states of all agents, by node and spool.
func (s *Store) Agents(ctx context.Context, p Page) ([]AgentState, Cursor, error) {
	const list = "agents"
	var node NodeID
	var spool UUID
	resumed, err := p.After.read(list, &node, &spool)
	if err != nil {
		return nil, "", err
	}
	var q query
	q.add(`SELECT node_id, spool_id, sequence, boot_id, version, hostname, seen_at, clock_offset_us, synchronized, clock_error_us, retimed FROM agents`)
	if resumed {
		q.add(`WHERE (node_id, spool_id) > (?::int4, ?)`, node, spool)
	}
	q.add(`ORDER BY node_id, spool_id`)
	return readPage(ctx, s, "list agents", &q, p, readAgent, func(a *AgentState) Cursor { return newCursor(list, a.Node, UUID(a.Spool)) })
}

func readAgent(r *rowReader) (AgentState, error) {
	a := AgentState{Node: NodeID(r.int4())}
	copy(a.Spool[:], r.fixed(len(a.Spool)))
	a.Sequence = r.int8()
	a.BootID, a.Version, a.Hostname, a.SeenAt = r.text(), r.text(), r.text(), instant(r.time())
	duration := func() *time.Duration {
		us := r.int8()
		if us == null64 {
			return nil
		}
		d := time.Duration(us) * time.Microsecond
		return &d
	}
	a.ClockOffset = duration()
	a.Synchronized = r.boolOrNil()
	a.ClockError = duration()
	a.Retimed = r.bool()
	return a, r.err
}
