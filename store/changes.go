package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/corewait/corewait/domain"
)

// longestDetail bounds what people write about a change, in bytes.
const longestDetail = 65_536

// Change is a remediation, or anything else that was changed and that a
// comparison should know of.
type Change struct {
	ID         UUID
	At         time.Time
	Node       NodeID // 0: all nodes
	Title      string
	Detail     string
	RecordedAt time.Time
	RecordedBy string
}

// AddChange records a change under its ID, or under a new one where that is
// zero. Recording the same ID again changes nothing.
func (s *Store) AddChange(ctx context.Context, c Change) (UUID, error) {
	if c.Title == "" || c.At.IsZero() {
		return UUID{}, errors.New("change: a title and a time are needed")
	}
	if c.ID.IsZero() {
		c.ID = NewUUID()
	}
	err := s.step(ctx, "add change", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `
			INSERT INTO changes (change_id, at, node_id, title, detail, recorded_by) VALUES ($1, $2, nullif($3::int4, 0), $4, $5, $6)
			ON CONFLICT (change_id) DO NOTHING`,
			c.ID, c.At, c.Node, storable(c.Title, longestText), storable(c.Detail, longestDetail), storable(c.RecordedBy, longestText))
		return err
	})
	return c.ID, err
}

// ChangeFilter says which changes are wanted; zero fields ask for all.
type ChangeFilter struct {
	Node   NodeID // this node's, and those of all nodes
	Window domain.Window
}

// Changes lists changes in order of time.
func (s *Store) Changes(ctx context.Context, f ChangeFilter, p Page) (changes []Change, next Cursor, err error) {
	const list = "changes"
	var q query
	q.add(`SELECT change_id, at, coalesce(node_id, 0), title, detail, recorded_at, recorded_by FROM changes
		WHERE at >= ? AND at < ?`, openSide(f.Window.From, pgtype.NegativeInfinity), openSide(f.Window.To, pgtype.Infinity))
	if f.Node != 0 {
		q.add(`AND (node_id = ? OR node_id IS NULL)`, f.Node)
	}
	var after Change
	if ok, err := p.After.read(list, &after.At, &after.ID); err != nil {
		return nil, "", err
	} else if ok {
		q.add(`AND (at, change_id) > (?, ?)`, after.At, after.ID)
	}
	q.add(`ORDER BY at, change_id LIMIT ?`, p.limit()+1)
	err = s.step(ctx, "list changes", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, q.sql.String(), q.args...)
		if err != nil {
			return err
		}
		changes, next, err = collectPage(rows, p.limit(), scanChange, func(c *Change) Cursor { return newCursor(list, c.At, c.ID) })
		return err
	})
	return changes, next, err
}

func scanChange(row pgx.CollectableRow) (Change, error) {
	var c Change
	err := row.Scan(&c.ID, &c.At, &c.Node, &c.Title, &c.Detail, &c.RecordedAt, &c.RecordedBy)
	c.At, c.RecordedAt = c.At.UTC(), c.RecordedAt.UTC()
	return c, err
}
