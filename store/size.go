package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// DatabaseSize is what the database takes, in bytes with indexes.
type DatabaseSize struct {
	Total     int64     // of the whole database
	Live      int64     // what agents push and pulls bring, and its rollups
	Kept      int64     // imports and the evidence of incidents
	LiveByDay []DaySize // of samples, by the UTC day that they are of, ascending
}

// DaySize is what the samples of a day take.
type DaySize struct {
	Day   time.Time // its begin, UTC
	Bytes int64
}

// Size measures the database.
func (s *Store) Size(ctx context.Context) (size DatabaseSize, err error) {
	err = s.step(ctx, "measure the database", func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, `
			SELECT pg_database_size(current_database()), coalesce(sum(pg_total_relation_size(c.oid)) FILTER (WHERE c.relname LIKE 'kept\_%'), 0)::int8,
			       coalesce(sum(pg_total_relation_size(c.oid)) FILTER (WHERE h.slice = 'none' AND c.relname = h.table_name), 0)::int8
			FROM corewait_hot_tables h JOIN pg_class c ON c.relname IN (h.table_name, 'kept_' || h.table_name)
			WHERE c.relnamespace = 'public'::regnamespace`).Scan(&size.Total, &size.Kept, &size.Live)
		if err != nil {
			return err
		}
		statement, err := s.slicesStatement(ctx)
		if err != nil {
			return err
		}
		rows, err := s.pool.Query(ctx, statement)
		if err != nil {
			return err
		}
		var day *time.Time // nil: a slice of rollups
		var bytes int64
		_, err = pgx.ForEachRow(rows, []any{&day, &bytes}, func() error {
			size.Live += bytes
			if day != nil {
				size.LiveByDay = append(size.LiveByDay, DaySize{day.UTC(), bytes})
			}
			return nil
		})
		slices.SortFunc(size.LiveByDay, func(a, b DaySize) int { return cmp.Compare(a.Day.Unix(), b.Day.Unix()) })
		return err
	})
	return size, err
}

// slicesStatement gives the size of the days' partitions or chunks, and that of the
// rollups' without a day.
func (s *Store) slicesStatement(ctx context.Context) (string, error) {
	if s.mode == modeTimescale {
		var schema string
		err := s.pool.QueryRow(ctx, `SELECT corewait_timescale_schema()::text`).Scan(&schema)
		return `
			SELECT CASE WHEN h.slice = 'day' THEN c.range_start END AS day, sum(d.total_bytes)::int8
			FROM corewait_hot_tables h
			CROSS JOIN LATERAL ` + pgx.Identifier{schema}.Sanitize() + `.chunks_detailed_size(format('public.%I', h.table_name)::regclass) AS d
			JOIN timescaledb_information.chunks c ON c.chunk_schema = d.chunk_schema AND c.chunk_name = d.chunk_name
			WHERE h.slice IN ('day', 'month') GROUP BY 1`, err
	}
	return `
		SELECT CASE WHEN h.slice = 'day' THEN to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC' END AS day,
		       sum(pg_total_relation_size(c.oid))::int8
		FROM corewait_hot_tables h
		JOIN pg_inherits i ON i.inhparent = format('public.%I', h.table_name)::regclass
		JOIN pg_class c ON c.oid = i.inhrelid
		WHERE h.slice = 'month' OR h.slice = 'day' AND c.relname ~ '_p\d{8}$' GROUP BY 1`, nil
}
