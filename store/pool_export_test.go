package store

import "github.com/jackc/pgx/v5/pgxpool"

// Pool gives tests the store's own connections: a WebAssembly Postgres serves no
// others beside them.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }
