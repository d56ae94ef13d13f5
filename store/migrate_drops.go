package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/migrations"
)

// RowsError says that a migration down would drop tables that hold rows.
type RowsError struct {
	Tables []string
}

func (e *RowsError) Error() string {
	return "tables that hold rows would be dropped: " + strings.Join(e.Tables, ", ")
}

// dropTable finds what the Down section of a migration drops. A test holds it
// against what disappears from the catalogue.
var dropTable = regexp.MustCompile(`(?m)^DROP TABLE ([^;]+);`)

// droppedTables lists the tables that a migration drops when it is taken back.
// The migrations' own books are left out: they hold rows always.
func droppedTables(name string) ([]string, error) {
	text, err := fs.ReadFile(migrations.Files, name)
	if err != nil {
		return nil, fmt.Errorf("embedded migration: %w", err)
	}
	_, down, _ := strings.Cut(string(text), "-- +goose Down")
	var tables []string
	for _, statement := range dropTable.FindAllStringSubmatch(down, -1) {
		for table := range strings.SplitSeq(statement[1], ",") {
			if table = strings.TrimSpace(table); !strings.HasPrefix(table, "corewait_") {
				tables = append(tables, table)
			}
		}
	}
	return tables, nil
}

// refuseToDropRows fails with a RowsError if taking back what the options ask
// for drops a table that holds rows.
func (m *migrator) refuseToDropRows(ctx context.Context, conn *sql.Conn) error {
	applied, err := appliedVersions(ctx, conn)
	if err != nil {
		return err
	}
	var tables []string
	for i := len(m.sources) - 1; i >= 0; i-- {
		source := m.sources[i]
		if !applied[source.Version] {
			continue
		}
		if m.options.To != nil && source.Version <= *m.options.To {
			break
		}
		dropped, err := droppedTables(source.Path)
		if err != nil {
			return err
		}
		tables = append(tables, dropped...)
		if m.options.To == nil {
			break
		}
	}
	full, err := tablesWithRows(ctx, conn, tables)
	if err != nil {
		return err
	}
	if len(full) > 0 {
		return &RowsError{Tables: full}
	}
	return nil
}

// tablesWithRows gives those of the tables that hold rows of somebody's: names
// has one row from its migration.
func tablesWithRows(ctx context.Context, conn *sql.Conn, tables []string) ([]string, error) {
	var full []string
	for _, table := range tables {
		own := 0
		if table == "names" {
			own = 1
		}
		var holds bool
		err := bounded(ctx, "look for rows in "+table, migrationRoundTrip, func(ctx context.Context) error {
			query := fmt.Sprintf("SELECT EXISTS (SELECT FROM %s OFFSET %d)", pgx.Identifier{"public", table}.Sanitize(), own)
			return conn.QueryRowContext(ctx, query).Scan(&holds)
		})
		if err != nil {
			return nil, err
		}
		if holds {
			full = append(full, table)
		}
	}
	return full, nil
}
