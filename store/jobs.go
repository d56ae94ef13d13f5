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
	JobDone    JobResult = "done"
	JobFailed  JobResult = "failed"
	JobSkipped JobResult = "skipped" // the job was still running when the tick came
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
	Detail     string // while under way: from whom the tick was taken over, empty where it was not
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
		runs, err = pgx.CollectRows(rows, scanJobRun)
		return err
	})
	return runs, err
}

func scanJobRun(row pgx.CollectableRow) (JobRun, error) {
	var r JobRun
	var finished *time.Time
	err := row.Scan(&r.Job, &r.Tick, &r.Holder, &r.StartedAt, &finished, &r.Result, &r.Detail)
	r.Tick, r.StartedAt, r.FinishedAt = r.Tick.UTC(), r.StartedAt.UTC(), utcOrZero(finished)
	return r, err
}

// JobState is how far a job has come, whichever process ran it.
type JobState struct {
	Job  string
	Last *JobRun // of the newest tick that was claimed; nil: none was
	Done *JobRun // of the newest tick that went well; nil: none did
}

// JobStates gives how far each of the jobs has come, in their order.
func (s *Store) JobStates(ctx context.Context, jobs []string) (states []JobState, err error) {
	names := storableTexts(jobs)
	states = make([]JobState, len(jobs))
	err = s.step(ctx, "read the state of jobs", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT j.ordinal, r.newest, r.job, r.tick, r.holder, r.started_at, r.finished_at, coalesce(r.result, ''), coalesce(r.detail, '')
			FROM unnest($1::text[]) WITH ORDINALITY AS j (job, ordinal)
			CROSS JOIN LATERAL (
				(SELECT true AS newest, l.job, l.tick, l.holder, l.started_at, l.finished_at, l.result, l.detail
					FROM job_runs l WHERE l.job = j.job ORDER BY l.tick DESC LIMIT 1)
				UNION ALL
				(SELECT false, d.job, d.tick, d.holder, d.started_at, d.finished_at, d.result, d.detail
					FROM job_runs d WHERE d.job = j.job AND d.result = 'done' ORDER BY d.tick DESC LIMIT 1)
			) r`, names)
		if err != nil {
			return err
		}
		for i, job := range jobs {
			states[i] = JobState{Job: job}
		}
		var ordinal int
		var newest bool
		var r JobRun
		var finished *time.Time
		_, err = pgx.ForEachRow(rows, []any{&ordinal, &newest, &r.Job, &r.Tick, &r.Holder, &r.StartedAt, &finished, &r.Result, &r.Detail}, func() error {
			run := r
			run.Tick, run.StartedAt, run.FinishedAt = r.Tick.UTC(), r.StartedAt.UTC(), utcOrZero(finished)
			if newest {
				states[ordinal-1].Last = &run
			} else {
				states[ordinal-1].Done = &run
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// alive is the condition under which the process that holds a run lives: it has
// its lease.
const alive = `EXISTS (
	SELECT FROM leases l WHERE l.holder = r.holder AND starts_with(l.name, '` + processLease + `') AND l.expires_at > clock_timestamp())`

// AbandonedTicks gives the ticks that were claimed since then and never finished,
// by processes that live no more: that do not hold their ProcessLease. The oldest
// ticks come first, 1,000 at most.
func (s *Store) AbandonedTicks(ctx context.Context, since time.Time) (runs []JobRun, err error) {
	err = s.step(ctx, "list abandoned ticks", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT job, tick, holder, started_at, finished_at, coalesce(result, ''), coalesce(detail, '')
			FROM job_runs r WHERE finished_at IS NULL AND started_at >= $1 AND NOT `+alive+`
			ORDER BY tick, job LIMIT $2`, since, longestRunList)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, scanJobRun)
		return err
	})
	return runs, err
}

// TakeOverTick gives the holder a tick that AbandonedTicks found, or one of its
// own of which it does not know that it claimed it. Of all that would take it
// over one does, and none if the process that has it lives. The run's Detail
// says then from whom it was taken.
func (s *Store) TakeOverTick(ctx context.Context, run JobRun, holder string) (taken bool, err error) {
	err = s.step(ctx, "take over a tick of "+run.Job, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, `
			UPDATE job_runs r SET holder = $4, started_at = clock_timestamp(),
				detail = CASE WHEN r.holder = $4 THEN r.detail ELSE 'taken over from ' || r.holder END
			WHERE job = $1 AND tick = $2 AND holder = $3 AND finished_at IS NULL AND (holder = $4 OR NOT `+alive+`)`,
			storable(run.Job, longestName), run.Tick, storable(run.Holder, longestName), storable(holder, longestName))
		taken = tag.RowsAffected() == 1
		return err
	})
	return taken, err
}
