package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// rowSource runs a query: a pool, a connection or a transaction.
type rowSource interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// sinkError carries an error of who takes the rows past the database's.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }

func (e *sinkError) Unwrap() error { return e.err }

// stream runs a query and passes its rows on as they come. The store's deadline
// bounds the wait for each row; how long a row's taker needs does not count. An
// error of the taker that is a *sinkError comes back as the error that it holds;
// any other is of the row and becomes one of the operation.
func (s *Store) stream(ctx context.Context, q rowSource, operation, sql string, args []any, each func(*rowReader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := startWatch(s.options.Deadline, cancel)
	var ofRow error
	err := streamRows(ctx, q, sql, args, func(r *rowReader) error {
		watch.pause()
		if ofRow = each(r); ofRow != nil {
			cancel(ofRow) // or the rows that are left would be waited for
			return ofRow
		}
		watch.wait()
		return nil
	})
	watch.end()
	var of *sinkError
	switch {
	case errors.As(ofRow, &of):
		return of.err
	case ofRow != nil:
		return &OperationError{Operation: operation, Err: err}
	}
	return s.operationError(ctx, operation, err)
}

func streamRows(ctx context.Context, q rowSource, sql string, args []any, each func(*rowReader) error) error {
	binary := pgx.QueryResultFormats{pgx.BinaryFormatCode}
	rows, err := q.Query(ctx, sql, append([]any{binary}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	r := &rowReader{}
	count := 0
	for rows.Next() {
		count++
		r.values, r.next, r.err = rows.RawValues(), 0, nil
		if err := each(r); err != nil {
			return fmt.Errorf("row %d: %w", count, err)
		}
	}
	return rows.Err()
}

// watch cancels an operation that has waited for the server for longer than its
// deadline, give or take a quarter.
type watch struct {
	turns atomic.Uint64 // odd while the server is waited for; else its rows are taken
	ended chan struct{}
	gone  chan struct{}
}

// startWatch begins to watch an operation that waits for the server.
func startWatch(deadline time.Duration, cancel context.CancelCauseFunc) *watch {
	w := &watch{ended: make(chan struct{}), gone: make(chan struct{})}
	w.turns.Store(1)
	go w.run(deadline, cancel)
	return w
}

func (w *watch) run(deadline time.Duration, cancel context.CancelCauseFunc) {
	defer close(w.gone)
	const parts = 4
	tick := time.NewTicker(max(deadline/parts, time.Nanosecond))
	defer tick.Stop()
	seen, same := uint64(0), 0
	for {
		select {
		case <-w.ended:
			return
		case <-tick.C:
		}
		turn := w.turns.Load()
		if turn%2 == 0 || turn != seen {
			seen, same = turn, 0
			continue
		}
		if same++; same == parts {
			cancel(errDeadline)
			return
		}
	}
}

func (w *watch) pause() { w.turns.Add(1) }

func (w *watch) wait() { w.turns.Add(1) }

// end ends the watch and waits until it has.
func (w *watch) end() {
	close(w.ended)
	<-w.gone
}
