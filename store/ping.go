package store

import "context"

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.step(ctx, "ping the database", s.pool.Ping)
}
