package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Receipt names a push: the spool that it comes from and its number there.
type Receipt struct {
	Spool    [16]byte // a UUID
	Sequence int64
}

// how says in which way rows are written.
type how int

const (
	direct how = iota // into the tables: the rows are new
	staged            // through staging tables: some may exist
)

// Push stores a batch of a node together with its receipt, in one transaction.
// stored is false where the push was stored before: then nothing is written.
// Rows older than the retention or far in the future make it fail with
// ErrOutsideRetention, and nothing is stored.
//
// After an error nobody knows whether it was stored, and it is to be pushed again.
//
// Rows go straight into the tables. Where one exists already the whole is stored
// once more through staging, which keeps the row that is there: a batch is never
// refused for what another one holds.
func (s *Store) Push(ctx context.Context, node NodeID, r Receipt, b *Batch) (stored bool, err error) {
	sections := b.sections()
	to, err := s.number(ctx, target{node: node}, b)
	if err != nil {
		return false, err
	}
	if err := s.makeRoom(ctx, b); err != nil {
		return false, err
	}
	if stored, err = s.pushInGroup(ctx, &queuedPush{to: &to, receipt: r, batch: b, sections: sections}); stored || err != nil {
		return stored, err
	}
	return s.pushAlone(ctx, &to, r, b, sections)
}

// pushAlone writes a push by itself.
func (s *Store) pushAlone(ctx context.Context, to *target, r Receipt, b *Batch, sections []section) (stored bool, err error) {
	stored, err = s.push(ctx, to, r, b, sections, direct)
	if hasState(err, stateCheckViolation) { // a partition is gone that was there
		s.days.forget()
		if err := s.makeRoom(ctx, b); err != nil {
			return false, err
		}
		stored, err = s.push(ctx, to, r, b, sections, direct)
	}
	exist := hasState(err, stateUniqueViolation, stateInternalError)
	s.groups.setAlone(to.node, exist)
	if exist {
		return s.push(ctx, to, r, b, sections, staged)
	}
	return stored, err
}

// push makes one attempt. A receipt that exists makes its INSERT fail, and with
// it all that was sent behind it: so the whole push is one round trip.
func (s *Store) push(ctx context.Context, to *target, r Receipt, b *Batch, sections []section, h how) (stored bool, err error) {
	err = s.transact(ctx, beginWithReceipt(to.node, r, b.Rows()), insertReceipt, to, b, sections, h)
	var of *OperationError
	if errors.As(err, &of) && of.Operation == insertReceipt && hasState(err, stateUniqueViolation) {
		return false, nil
	}
	return err == nil, err
}

// insertReceipt is the operation, insertIntoReceipts its statement up to the values.
const (
	insertReceipt      = "insert receipt"
	insertIntoReceipts = "INSERT INTO receipts (node_id, spool_id, seq, rows) VALUES "
)

func receiptValues(node NodeID, r Receipt, rows int) string {
	return fmt.Sprintf("(%d, '%s', %d, %d)", node, hex.EncodeToString(r.Spool[:]), r.Sequence, rows)
}

// beginWithReceipt gives the statements that begin a push's transaction.
func beginWithReceipt(node NodeID, r Receipt, rows int) string {
	return "BEGIN; " + insertIntoReceipts + receiptValues(node, r, rows)
}

// Upsert stores a batch whose rows may exist already. Of two rows of one wait
// that of the greater TIME_WAITED is kept (the fix-up); of a run of readings the
// one that reaches further; of all else the one that is there. Topology is
// replaced.
func (s *Store) Upsert(ctx context.Context, node NodeID, b *Batch) error {
	if err := s.makeRoom(ctx, b); err != nil {
		return err
	}
	return s.upsert(ctx, target{node: node}, b)
}

// upsert stores a batch in the hot tables or in a collection.
func (s *Store) upsert(ctx context.Context, where target, b *Batch) error {
	sections := b.sections()
	to, err := s.number(ctx, where, b)
	if err != nil {
		return err
	}
	return s.transact(ctx, "BEGIN", "begin", &to, b, sections, staged)
}

// number gives the batch's names and interrupt lines their numbers.
func (s *Store) number(ctx context.Context, to target, b *Batch) (target, error) {
	var err error
	if to.names, err = s.nameIDs(ctx, b.texts.list); err != nil {
		return to, err
	}
	to.lines, err = s.lineIDs(ctx, to.node, b.lines.list)
	return to, err
}

// withConn runs do on a connection of the pool. A transaction that do leaves open
// is rolled back.
func (s *Store) withConn(ctx context.Context, do func(*pgx.Conn) error) error {
	var conn *pgxpool.Conn
	err := s.step(ctx, "get a connection", func(ctx context.Context) (err error) {
		conn, err = s.pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Release()
	err = do(conn.Conn())
	if pg := conn.Conn().PgConn(); !pg.IsClosed() && pg.TxStatus() != 'I' {
		// What failed is told; a connection that cannot roll back is closed by Release.
		_ = s.step(context.WithoutCancel(ctx), "roll back", func(ctx context.Context) error {
			_, err := conn.Exec(ctx, "ROLLBACK")
			return err
		})
	}
	return err
}

// transact writes a batch in one transaction: one round trip, or more where there
// are instances or a topology, or an import writes.
func (s *Store) transact(ctx context.Context, begin, operation string, to *target, b *Batch, sections []section, h how) error {
	return s.withConn(ctx, func(conn *pgx.Conn) error {
		if b.hasReferences() || to.importing != nil {
			err := s.send(ctx, conn, func(c *copier) { c.exec(begin, operation) })
			if err == nil && to.importing != nil {
				err = s.holdImport(ctx, conn, to)
			}
			if err == nil && b.hasReferences() {
				err = s.writeReferences(ctx, conn, to, b)
			}
			if err != nil {
				return err
			}
			begin = ""
		}
		return s.send(ctx, conn, func(c *copier) {
			if begin != "" {
				c.exec(begin, operation)
			}
			switch h {
			case direct:
				copySections(c, to, sections)
			case staged:
				stageSections(c, to, sections)
			}
			if !to.kept() {
				hours := s.newHourMarks(time.Now())
				hours.add(to.node, b)
				c.mark(hours)
			}
			c.exec("COMMIT", "commit")
		})
	})
}

// send runs do, which sends statements and rows, and waits for all answers.
func (s *Store) send(ctx context.Context, conn *pgx.Conn, do func(*copier)) error {
	buffer, _ := s.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	return s.step(ctx, "copy rows", func(ctx context.Context) error {
		c := newCopier(ctx, conn.PgConn(), s.options.CopyRows, *buffer)
		err := exchange(ctx, conn, !s.options.Pooler, func() error {
			do(c)
			return c.finish()
		})
		*buffer = c.b
		s.buffers.Put(buffer)
		return err
	})
}
