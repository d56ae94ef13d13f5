// Package migrations owns the schema of the store: numbered SQL, up and down,
// embedded into the program. It holds no code; store runs it.
//
// A migration that has been released is never changed: a later one changes what
// it made. Every file has an Up and a Down section for goose, and works on plain
// Postgres and on TimescaleDB: which of the two a database is, its first
// migration writes down (corewait_settings) and the rest asks corewait_timescale().
package migrations

import "embed"

// Files are the migrations by name: NNNNN_what.sql.
//
//go:embed *.sql
var Files embed.FS
