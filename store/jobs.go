package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// JobResult is how a run of a job ended.
type JobResult string

// Results of runs.
const (
	JobDone   JobResult = "done"
	JobFailed JobResult = "failed"
)

// JobRun is one tick of a job, claimed by one of the processes that share the
// database.
type JobRun struct {
	Job        string
	Tick       time.Time
	Holder     string
	StartedAt  time.Time
	FinishedAt time.Time // zero: under way, or the holder died
	Result     JobResult
	Detail     string
}

// ClaimTick says whether the holder has this tick of the job to itself: of all
// that claim it, one has.
func (s *Store) ClaimTick(ctx context.Context, job string, tick time.Time, holder string) (claimed bool, err error) {
	err = s.step(ctx, "claim a tick of "+job, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, `INSERT INTO job_runs (job, tick, holder) VALUES ($1, $2, $3) ON CONFLICT (job, tick) DO NOTHING`,
			storable(job, longestName), tick, storable(holder, longestName))
		claimed = tag.RowsAffected() == 1
		return err
	})
	return claimed, err
}

// FinishTick notes how a tick that the holder claimed went. ErrNotFound: the
// holder has no such tick under way.
func (s *Store) FinishTick(ctx context.Context, job string, tick time.Time, holder string, result JobResult, detail string) error {
	return s.step(ctx, "finish a tick of "+job, func(ctx context.Context) error {
		return oneRow(s.pool.Exec(ctx, `
			UPDATE job_runs SET finished_at = now(), result = $4, detail = nullif($5, '')
			WHERE job = $1 AND tick = $2 AND holder = $3 AND finished_at IS NULL`,
			storable(job, longestName), tick, storable(holder, longestName), result, storable(detail, longestText)))
	})
}

// longestRunList bounds how many runs LastRuns gives.
const longestRunList = 1_000

// LastRuns gives the newest runs of a job, the newest first: at most limit.
func (s *Store) LastRuns(ctx context.Context, job string, limit int) (runs []JobRun, err error) {
	err = s.step(ctx, "list runs of "+job, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT job, tick, holder, started_at, finished_at, coalesce(result, ''), coalesce(detail, '')
			FROM job_runs WHERE job = $1 ORDER BY tick DESC LIMIT $2`, storable(job, longestName), min(max(limit, 0), longestRunList))
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (JobRun, error) {
			var r JobRun
			var finished *time.Time
			err := row.Scan(&r.Job, &r.Tick, &r.Holder, &r.StartedAt, &finished, &r.Result, &r.Detail)
			r.Tick, r.StartedAt, r.FinishedAt = r.Tick.UTC(), r.StartedAt.UTC(), utcOrZero(finished)
			return r, err
		})
		return err
	})
	return runs, err
}
