package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// ServerVersion gives what the server calls its version: "15.18 (Debian ...)".
func (s *Store) ServerVersion(ctx context.Context) (version string, err error) {
	err = s.step(ctx, "read server_version", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&version)
	})
	return version, err
}

// MissingPartitions names the partitions that CreatePartitions would make for the
// days of [from, to], in UTC. TimescaleDB makes its chunks itself: none are missing.
func (s *Store) MissingPartitions(ctx context.Context, from, to time.Time) (names []string, err error) {
	err = s.step(ctx, "look for partitions", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT name FROM (
				SELECT h.table_name || '_p' || to_char(p.day, CASE h.slice WHEN 'day' THEN 'YYYYMMDD' ELSE 'YYYYMM' END) AS name
				FROM public.corewait_hot_tables h
				CROSS JOIN LATERAL generate_series(date_trunc(h.slice, $1::date::timestamp), $2::date::timestamp,
					CASE h.slice WHEN 'day' THEN interval '1 day' ELSE interval '1 month' END) AS p (day)
				WHERE h.slice IN ('day', 'month') AND NOT public.corewait_timescale()) AS wanted
			WHERE to_regclass('public.' || quote_ident(name)) IS NULL
			ORDER BY name`, utcDay(from), utcDay(to))
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return names, err
}

// NodeNames gives the names of all nodes by their numbers.
func (s *Store) NodeNames(ctx context.Context) (map[NodeID]string, error) {
	nodes, err := All(func(p Page) ([]Node, Cursor, error) { return s.Nodes(ctx, p) })
	if err != nil {
		return nil, err
	}
	names := make(map[NodeID]string, len(nodes))
	for _, n := range nodes {
		names[n.ID] = n.Name
	}
	return names, nil
}
