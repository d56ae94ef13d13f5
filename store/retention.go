package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const day = 24 * time.Hour

// longestSpool is for how long an agent keeps what it could not push. Rows as
// late as that still come in.
const longestSpool = 72 * time.Hour

// maintenanceLimit bounds the compression of one table's chunks, which takes
// longer than a round trip does: minutes for a day of a thousand nodes.
const maintenanceLimit = time.Hour

// RetentionPolicy says how long rows are kept. Imports and the evidence of
// incidents are in tables of their own, which it does not concern.
type RetentionPolicy struct {
	Raw          time.Duration // samples, waits, gaps
	Uncompressed time.Duration // TimescaleDB compresses chunks older than that
	RollupMonths int
	Receipts     time.Duration // of pushes
	JobRuns      time.Duration
}

// DefaultRetention is the policy of the design.
func DefaultRetention() RetentionPolicy {
	return RetentionPolicy{Raw: 14 * day, Uncompressed: 4 * day, RollupMonths: 13, Receipts: 14 * day, JobRuns: 90 * day}
}

// Validate holds the policy to the order in which rows age: a spool's rows may
// come late, but not into compressed chunks, nor after their receipts are gone.
func (p RetentionPolicy) Validate() error {
	switch {
	case p.Uncompressed <= longestSpool:
		return fmt.Errorf("retention: compression after %v is not longer than a spool, %v", p.Uncompressed, longestSpool)
	case p.Raw <= p.Uncompressed:
		return fmt.Errorf("retention: raw samples for %v is not longer than compression after %v", p.Raw, p.Uncompressed)
	case p.Receipts <= longestSpool:
		return fmt.Errorf("retention: receipts for %v is not longer than a spool, %v", p.Receipts, longestSpool)
	case p.RollupMonths < 1:
		return fmt.Errorf("retention: rollups for %d months: at least 1", p.RollupMonths)
	case p.JobRuns <= 0:
		return fmt.Errorf("retention: job runs for %v: must be positive", p.JobRuns)
	}
	return nil
}

// agentSilence is after how long the state of an agent that is not heard of any
// more is forgotten.
const agentSilence = 30 * day

// rollupTables are the hot tables of rollups.
var rollupTables = []string{"interrupt_rollups", "cpu_rollups", "placement_rollups", "wait_rollups"}

// Retain drops what the policy does not keep at now, and says what: names of
// partitions or chunks, and "table: n rows" where rows were deleted. On
// TimescaleDB it then compresses old chunks. It goes on after a failure: a table
// that a reader locks must not keep the others from being cleaned.
//
// It names its tables, and what is dropped of them hangs on them in the
// catalogue: a table that only looks like ours is never touched.
func (s *Store) Retain(ctx context.Context, p RetentionPolicy, now time.Time) (dropped []string, err error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var failed []error
	note := func(names []string, err error) {
		dropped = append(dropped, names...)
		if err != nil {
			failed = append(failed, err)
		}
	}
	for _, t := range sampleTables {
		note(s.dropPartitions(ctx, t.name, now.Add(-p.Raw)))
	}
	for _, t := range rollupTables {
		note(s.dropPartitions(ctx, t, now.UTC().AddDate(0, -p.RollupMonths, 0)))
	}
	note(s.deleteReceipts(ctx, now.Add(-p.Receipts)))
	note(s.deleteRows(ctx, "job_runs", `DELETE FROM public.job_runs WHERE tick < $1`, now.Add(-p.JobRuns)))
	note(s.deleteRows(ctx, "agents", `DELETE FROM public.agents WHERE seen_at < $1`, now.Add(-agentSilence)))
	months := now.UTC().AddDate(0, -p.RollupMonths, 0)
	note(s.deleteRows(ctx, "tallies", `DELETE FROM public.tallies WHERE at < $1`, months))
	note(s.deleteRows(ctx, "stalls", `DELETE FROM public.stalls WHERE at < $1`, months))
	note(s.deleteRows(ctx, "dirty_windows", `DELETE FROM public.dirty_windows WHERE at < $1`, now.Add(-p.Raw)))
	if s.mode == modeTimescale {
		failed = append(failed, s.compress(ctx, now.Add(-p.Uncompressed)))
	}
	return dropped, errors.Join(failed...)
}

// dropPartitions drops the partitions or chunks of a hot table that lie wholly
// before the day of before.
func (s *Store) dropPartitions(ctx context.Context, table string, before time.Time) (dropped []string, err error) {
	err = s.step(ctx, "drop partitions of "+table, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT public.corewait_drop_partitions($1::date, $2)`, utcDay(before), table)
		if err != nil {
			return err
		}
		dropped, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return dropped, err
}

// receiptSlice is how much is deleted at a time: an hour of a thousand agents is
// 360,000 receipts.
const receiptSlice = time.Hour

// deleteReceipts deletes the receipts of pushes received before. It goes back
// slice by slice, each of which the block range index finds, as long as there is
// anything older, and jumps over times without any.
func (s *Store) deleteReceipts(ctx context.Context, before time.Time) (dropped []string, err error) {
	var total int64
	for older := true; older && err == nil; before = before.Add(-receiptSlice) {
		err = s.step(ctx, "delete receipts", func(ctx context.Context) error {
			var deleted int64
			err := s.pool.QueryRow(ctx, `
				WITH gone AS (DELETE FROM public.receipts WHERE received_at >= $1 AND received_at < $2 RETURNING 1)
				SELECT (SELECT count(*) FROM gone), EXISTS (SELECT FROM public.receipts WHERE received_at < $1)`,
				before.Add(-receiptSlice), before).Scan(&deleted, &older)
			total += deleted
			if err != nil || !older || deleted > 0 {
				return err
			}
			return s.pool.QueryRow(ctx, `SELECT max(received_at) + $2::interval + interval '1 microsecond' FROM public.receipts WHERE received_at < $1`,
				before.Add(-receiptSlice), receiptSlice).Scan(&before)
		})
	}
	return deletedRows("receipts", total), err
}

// deleteRows deletes the rows of a small table that are from before an instant.
func (s *Store) deleteRows(ctx context.Context, table, statement string, before time.Time) (dropped []string, err error) {
	err = s.step(ctx, "delete from "+table, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, statement, before)
		dropped = deletedRows(table, tag.RowsAffected())
		return err
	})
	return dropped, err
}

func deletedRows(table string, n int64) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d rows", table, n)}
}

// compress compresses the chunks that lie wholly before the day of before, table
// by table, so that what is done stays done.
func (s *Store) compress(ctx context.Context, before time.Time) error {
	var failed []error
	one := func(table string) {
		err := bounded(ctx, "compress chunks of "+table, maintenanceLimit, func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, `SELECT count(*) FROM public.corewait_compress_chunks($1::date, $2)`, utcDay(before), table)
			return err
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	for _, t := range sampleTables {
		one(t.name)
	}
	for _, t := range rollupTables {
		one(t)
	}
	return errors.Join(failed...)
}
