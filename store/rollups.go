package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// rollupBucket is the stretch of time that one row of a rollup stands for. It
// divides the day; buckets begin at whole multiples of it in UTC.
const rollupBucket = 10 * time.Minute

// rollupStep is how much is rolled up in one transaction.
const rollupStep = time.Hour

// RollUp computes the 10-minute rollups of a node from its raw samples, for the
// whole buckets within [from, to). It may be repeated when more samples have come
// in: it replaces what it computes, and leaves buckets alone whose samples are
// gone.
func (s *Store) RollUp(ctx context.Context, node NodeID, from, to time.Time) error {
	from, to = wholeBuckets(from, to)
	for ; from.Before(to); from = from.Add(rollupStep) {
		until := from.Add(rollupStep)
		if until.After(to) {
			until = to
		}
		err := s.rollUp(ctx, node, from, until)
		if hasState(err, stateCheckViolation) { // no partition for this month yet
			if err = s.CreatePartitions(ctx, from, until); err == nil {
				err = s.rollUp(ctx, node, from, until)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeBuckets narrows [from, to) to the edges of buckets.
func wholeBuckets(from, to time.Time) (first, end time.Time) {
	first = from.UTC().Truncate(rollupBucket)
	if first.Before(from) {
		first = first.Add(rollupBucket)
	}
	return first, to.UTC().Truncate(rollupBucket)
}

// rollUp does one step, all tables in one transaction.
func (s *Store) rollUp(ctx context.Context, node NodeID, from, to time.Time) error {
	return s.inTx(ctx, "roll up", func(ctx context.Context, tx pgx.Tx) error {
		for _, statement := range []struct{ table, sql string }{
			{"interrupt_rollups", rollUpInterrupts},
			{"cpu_rollups", rollUpCPUTime},
			{"placement_rollups", rollUpPlacement},
			{"wait_rollups", rollUpWaits},
		} {
			if _, err := tx.Exec(ctx, statement.sql, node, from, to); err != nil {
				return &OperationError{Operation: "roll up into " + statement.table, Err: err}
			}
		}
		return nil
	})
}
