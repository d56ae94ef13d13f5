package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pushes that come while others are written are written together, in one
// transaction with one COPY for each table: what a COPY and a COMMIT cost does not
// depend on their rows. Nobody waits for company: a push that comes alone is
// written at once. Where a group fails each of its pushes is written by itself.

// Bounds of one group.
const (
	groupPushes = 64
	groupRows   = 20_000
)

// groupWriters is how many groups are written at the same time: while one waits
// for the disk, the next one is copied.
const groupWriters = 2

// groups are the pushes that wait to be written.
type groups struct {
	mu      sync.Mutex
	queue   []*queuedPush
	writing int
	writers sync.WaitGroup
	// alone are nodes whose last push could not be written in a group, as when two
	// spools of a node tell the same: theirs are written by themselves, so as not
	// to fail other nodes' groups, until one goes straight in.
	alone map[NodeID]bool
}

// queuedPush is a push that waits to be written, or is written just now.
type queuedPush struct {
	to       *target
	receipt  Receipt
	batch    *Batch
	sections []section

	sent chan struct{} // closed once the batch is no longer in use

	// What became of it, once done is closed: it was stored, or failed with err;
	// or else the server refused the group, and it is to be written by itself.
	done   chan struct{}
	stored bool
	err    error
}

// rememberedAlone bounds the nodes that are remembered as to be written alone.
const rememberedAlone = 10_000

func (g *groups) setAlone(node NodeID, alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !alone:
		delete(g.alone, node)
	case g.alone == nil || len(g.alone) >= rememberedAlone:
		g.alone = map[NodeID]bool{node: true}
	default:
		g.alone[node] = true
	}
}

// add queues a push; false where it is to be written alone.
func (g *groups) add(p *queuedPush, write func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone[p.to.node] {
		return false
	}
	g.queue = append(g.queue, p)
	if g.writing < groupWriters {
		g.writing++
		g.writers.Go(write)
	}
	return true
}

// remove takes a push back; false where it is being written.
func (g *groups) remove(p *queuedPush) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, p)
	if i < 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

// next takes the pushes of the next group; nil where there are none, and the
// writer ends. Two pushes of one node are never in one group: their rows may be
// the same.
func (g *groups) next() []*queuedPush {
	g.mu.Lock()
	defer g.mu.Unlock()
	var group []*queuedPush
	rows, nodes := 0, map[NodeID]bool{}
	g.queue = slices.DeleteFunc(g.queue, func(p *queuedPush) bool {
		if len(group) >= groupPushes || rows > 0 && rows+p.batch.Rows() > groupRows || nodes[p.to.node] {
			return false
		}
		group = append(group, p)
		rows += p.batch.Rows()
		nodes[p.to.node] = true
		return true
	})
	if group == nil {
		g.writing--
	}
	return group
}

// pushInGroup writes a push together with others that wait. It is to be written by
// itself where it is neither stored nor failed.
func (s *Store) pushInGroup(ctx context.Context, p *queuedPush) (stored bool, err error) {
	if s.options.CopyRows > 0 || p.batch.hasReferences() {
		return false, nil
	}
	p.sent, p.done = make(chan struct{}), make(chan struct{})
	if !s.groups.add(p, func() { s.writeGroups(context.WithoutCancel(ctx)) }) {
		return false, nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		given := &OperationError{Operation: "wait for the rows to be written", Err: ctx.Err()}
		if s.groups.remove(p) {
			return false, given
		}
		select { // the store's deadline bounds both
		case <-p.done:
		case <-p.sent:
			return false, given
		}
	}
	return p.stored, p.err
}

// writeGroups writes what is queued until nothing is.
func (s *Store) writeGroups(ctx context.Context) {
	for group := s.groups.next(); group != nil; group = s.groups.next() {
		err := s.writeGroup(ctx, group)
		stored := err == nil
		if of := new(pgconn.PgError); errors.As(err, &of) {
			err = nil
		}
		for _, p := range group {
			p.stored, p.err = stored, err
			close(p.done)
		}
	}
}

// writeGroup writes pushes in one transaction.
func (s *Store) writeGroup(ctx context.Context, group []*queuedPush) error {
	var receipts strings.Builder
	receipts.WriteString("BEGIN; " + insertIntoReceipts)
	for i, p := range group {
		if i > 0 {
			receipts.WriteString(", ")
		}
		receipts.WriteString(receiptValues(p.to.node, p.receipt, p.batch.Rows()))
	}
	return s.withConn(ctx, func(conn *pgx.Conn) error {
		return s.send(ctx, conn, func(c *copier) {
			c.exec(receipts.String(), insertReceipt)
			for _, t := range sampleTables {
				begun := false
				for _, p := range group {
					i := slices.IndexFunc(p.sections, func(s section) bool { return s.table == t })
					if i < 0 {
						continue
					}
					if !begun {
						c.table(t.name, t.columnList(false), len(t.columns))
						begun = true
					}
					p.sections[i].write(encoder{c, p.to})
				}
			}
			hours := s.newHourMarks(time.Now())
			for _, p := range group {
				hours.add(p.to.node, p.batch)
				close(p.sent)
			}
			c.mark(hours)
			c.exec("COMMIT", "commit")
		})
	})
}
