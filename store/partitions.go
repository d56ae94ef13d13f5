package store

import (
	"context"
	"time"
)

// CreatePartitions makes the partitions that are missing for the days of [from,
// to], in UTC, in every table that has partitions; for TimescaleDB there are none
// to make. At most 400 days at a time.
func (s *Store) CreatePartitions(ctx context.Context, from, to time.Time) error {
	return s.step(ctx, "create partitions", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `SELECT count(*) FROM public.corewait_create_partitions($1::date, $2::date)`, utcDay(from), utcDay(to))
		return err
	})
}

// utcDay gives the midnight, in UTC, that the day of t begins with.
func utcDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
