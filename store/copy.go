package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of what a copier holds and leaves unanswered.
const (
	messageBytes = 64 << 10  // of one CopyData
	writeBytes   = 256 << 10 // gathered before they are written to the connection
	// unanswered is how many statements are sent ahead. Their answers, 100 bytes
	// each, must fit in the socket's buffers, or both ends would wait to write.
	unanswered = 64
)

// copyHeader begins a binary COPY: signature, flags, length of extensions.
const copyHeader = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copier sends rows by COPY, table after table, in the connection's open
// transaction. It does not wait for one statement's answer before it sends the
// next: a push of six tables and its COMMIT are one round trip. After a
// statement that fails the server refuses what follows, the COMMIT included.
//
// The connection must be idle, and is the copier's alone until finish.
type copier struct {
	rowBuffer

	ctx     context.Context //nolint:containedctx // of one exchange, which bounds it by the connection's deadline
	conn    *pgconn.PgConn
	out     io.Writer // to the server
	maxRows int       // of one COPY; 0: no bound
	ahead   int       // how many statements may be unanswered

	operation string // "copy interrupt_samples"
	statement string // COPY ... of the table
	fields    int16
	message   int // where the open CopyData begins in b; -1 none
	open      bool
	rows      int      // in the open COPY
	sent      []string // operations that were not answered yet
	copied    int64    // rows that the server told it took

	err error // the first
}

// newCopier makes a copier. A server that cannot take COPYs of more than maxRows
// rows gets one statement at a time, too.
func newCopier(ctx context.Context, conn *pgconn.PgConn, maxRows int, buffer []byte) *copier {
	c := &copier{ctx: context.WithoutCancel(ctx), rowBuffer: rowBuffer{b: buffer[:0]}, conn: conn, out: conn.Conn(), maxRows: maxRows, ahead: unanswered, message: -1}
	if maxRows > 0 {
		c.ahead = 1
	}
	return c
}

// table begins the rows of a table.
func (c *copier) table(name, columns string, fields int) {
	c.endCopy()
	c.operation = "copy " + name
	c.statement = "COPY " + name + " (" + columns + ") FROM STDIN (FORMAT binary)"
	c.fields = int16(fields) //nolint:gosec // a table has at most 1,600 columns
}

// beginRow begins a row, whose columns are written next.
func (c *copier) beginRow() {
	if c.open && c.maxRows > 0 && c.rows >= c.maxRows {
		c.endCopy()
	}
	if !c.open {
		c.query(c.statement, c.operation)
		c.open, c.rows = true, 0
		c.beginMessage()
		c.b = append(c.b, copyHeader...)
	} else if c.message < 0 {
		c.beginMessage()
	}
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(c.fields)) //nolint:gosec // see table
}

// endRow ends the row.
func (c *copier) endRow() {
	c.rows++
	if len(c.b)-c.message >= messageBytes {
		c.endMessage()
	}
	if c.message < 0 && len(c.b) >= writeBytes {
		c.write()
	}
}

func (c *copier) beginMessage() {
	c.message = len(c.b)
	c.b = append(c.b, 'd', 0, 0, 0, 0)
}

func (c *copier) endMessage() {
	if c.message >= 0 {
		binary.BigEndian.PutUint32(c.b[c.message+1:], uint32(len(c.b)-c.message-1)) //nolint:gosec // far under 2^31
		c.message = -1
	}
}

// endCopy ends the open COPY, if there is one.
func (c *copier) endCopy() {
	if !c.open {
		return
	}
	if c.message < 0 {
		c.beginMessage()
	}
	c.b = append(c.b, 0xff, 0xff) // the trailer: a row of -1 columns
	c.endMessage()
	c.b = append(c.b, 'c', 0, 0, 0, 4) // CopyDone
	c.open = false
	c.wait()
}

// wait waits for answers if enough statements are unanswered.
func (c *copier) wait() {
	if len(c.sent) >= c.ahead {
		c.write()
		c.receive()
	}
}

// query sends a statement without parameters.
func (c *copier) query(statement, operation string) {
	c.b = append(c.b, 'Q')
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(statement)+5)) //nolint:gosec // our own statements
	c.b = append(c.b, statement...)
	c.b = append(c.b, 0)
	c.sent = append(c.sent, operation)
}

// exec sends a statement between the COPYs.
func (c *copier) exec(statement, operation string) {
	c.endCopy()
	c.query(statement, operation)
	c.wait()
}

// finish sends what is left and waits for all answers. Its error names the
// first operation that failed.
func (c *copier) finish() error {
	c.endCopy()
	c.write()
	c.receive()
	return c.err
}

// write sends what was gathered. After a failure it sends nothing more: what
// was sent is answered by then, and the transaction is to be rolled back.
func (c *copier) write() {
	if c.err != nil {
		c.sent = c.sent[:0]
	} else if _, err := c.out.Write(c.b); err != nil && len(c.sent) > 0 {
		c.fail(c.sent[len(c.sent)-1], err)
		c.sent = c.sent[:0]
		_ = c.conn.Conn().Close()
	}
	c.b = c.b[:0]
}

// receive reads the answers to all statements that were sent.
func (c *copier) receive() {
	for len(c.sent) > 0 {
		message, err := c.conn.ReceiveMessage(c.ctx)
		if err != nil {
			c.fail(c.sent[0], err)
			c.sent = c.sent[:0]
			return
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			c.fail(c.sent[0], pgconn.ErrorResponseToPgError(m))
		case *pgproto3.CommandComplete:
			c.copied += pgconn.NewCommandTag(string(m.CommandTag)).RowsAffected()
		case *pgproto3.ReadyForQuery:
			c.sent = c.sent[1:]
		}
	}
}

func (c *copier) fail(operation string, err error) {
	if c.err == nil {
		c.err = &OperationError{Operation: operation, Err: err}
	}
}

// exchange runs do, which reads from and writes to the connection itself, within
// the context. A connection whose exchange was cut is closed: nobody knows what
// its next answer would belong to. cancel: the server is asked to stop.
func exchange(ctx context.Context, conn *pgx.Conn, cancel bool, do func() error) error {
	if err := conn.PgConn().SyncConn(ctx); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.PgConn().Conn().SetDeadline(longAgo) })
	err := do()
	if stop() {
		return err
	}
	if err != nil && cancel {
		// It must not go on in the server, with its locks.
		soon, done := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
		_ = conn.PgConn().CancelRequest(soon) // the server may be what does not answer
		done()
	}
	_ = conn.Close(ctx)
	if of := new(OperationError); errors.As(err, &of) {
		return &OperationError{Operation: of.Operation, Err: fmt.Errorf("%w: %w", ctx.Err(), of.Err)}
	}
	return err
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)
