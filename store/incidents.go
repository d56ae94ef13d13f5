package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/corewait/corewait/domain"
)

// IncidentState says whether an incident still matters.
type IncidentState string

// States of incidents. A dismissed one has no evidence any more.
const (
	IncidentOpen      IncidentState = "open"
	IncidentDismissed IncidentState = "dismissed"
)

// Incident is a window of one instance in which commits stalled. Nodes of a
// cluster that share an incident share its ID.
type Incident struct {
	ID          UUID
	Node        NodeID
	Instance    string
	Watch       string
	Window      domain.Window
	Stalls      int
	State       IncidentState
	CreatedAt   time.Time
	DismissedAt time.Time    // zero: open
	Evidence    CollectionID // 0: none
}

// CreateIncident opens an incident, and says whether it is new: one of the same
// node and ID stays as it is.
func (s *Store) CreateIncident(ctx context.Context, i Incident) (created bool, err error) {
	if i.ID.IsZero() || !i.Window.From.Before(i.Window.To) {
		return false, errors.New("incident: an ID and a window are needed")
	}
	err = s.step(ctx, "create incident", func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, `
			INSERT INTO incidents (node_id, incident_id, instance, watch, from_at, to_at, stalls, state)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 'open') ON CONFLICT (node_id, incident_id) DO NOTHING`,
			i.Node, i.ID, storable(i.Instance, longestName), storable(i.Watch, longestName), i.Window.From, i.Window.To, i.Stalls)
		created = tag.RowsAffected() == 1
		return err
	})
	return created, err
}

// ChangeIncident gives an open incident another window and number of stalls, as
// more of it becomes known. ErrNotFound: there is no such open incident.
func (s *Store) ChangeIncident(ctx context.Context, node NodeID, id UUID, w domain.Window, stalls int) error {
	if !w.From.Before(w.To) {
		return errors.New("incident: a window is needed")
	}
	return s.step(ctx, "change incident", func(ctx context.Context) error {
		return oneRow(s.pool.Exec(ctx, `
			UPDATE incidents SET from_at = $3, to_at = $4, stalls = $5 WHERE node_id = $1 AND incident_id = $2 AND state = 'open'`,
			node, id, w.From, w.To, stalls))
	})
}

const incidentColumns = `incident_id, node_id, instance, watch, from_at, to_at, stalls, state, created_at, dismissed_at, coalesce(collection_id, 0)`

func scanIncident(row pgx.CollectableRow) (Incident, error) {
	var i Incident
	var dismissed *time.Time
	err := row.Scan(&i.ID, &i.Node, &i.Instance, &i.Watch, &i.Window.From, &i.Window.To, &i.Stalls, &i.State, &i.CreatedAt, &dismissed, &i.Evidence)
	i.Window = domain.Window{From: i.Window.From.UTC(), To: i.Window.To.UTC()}
	i.CreatedAt, i.DismissedAt = i.CreatedAt.UTC(), utcOrZero(dismissed)
	return i, err
}

// Incident gives what is known of an incident on each of its nodes, in the order
// of nodes. ErrNotFound where there is none of that ID.
func (s *Store) Incident(ctx context.Context, id UUID) (nodes []Incident, err error) {
	err = s.step(ctx, "read incident", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT `+incidentColumns+` FROM incidents WHERE incident_id = $1 ORDER BY node_id`, id)
		if err != nil {
			return err
		}
		nodes, err = pgx.CollectRows(rows, scanIncident)
		if err == nil && len(nodes) == 0 {
			return fmt.Errorf("%v: %w", id, ErrNotFound)
		}
		return err
	})
	return nodes, err
}

// IncidentFilter says which incidents are wanted; zero fields ask for all.
type IncidentFilter struct {
	Node     NodeID
	Instance string
	Watch    string
	State    IncidentState
	Window   domain.Window // those that begin in it
	Touching domain.Window // those whose window overlaps it
}

// Incidents lists incidents, the latest first.
func (s *Store) Incidents(ctx context.Context, f IncidentFilter, p Page) (incidents []Incident, next Cursor, err error) {
	const list = "incidents"
	var q query
	q.add(`SELECT `+incidentColumns+` FROM incidents WHERE from_at >= ? AND from_at < ?`,
		openSide(f.Window.From, pgtype.NegativeInfinity), openSide(f.Window.To, pgtype.Infinity))
	if f.Node != 0 {
		q.add(`AND node_id = ?`, f.Node)
	}
	if f.State != "" {
		q.add(`AND state = ?`, f.State)
	}
	if f.Instance != "" {
		q.add(`AND instance = ?`, storable(f.Instance, longestName))
	}
	if f.Watch != "" {
		q.add(`AND watch = ?`, storable(f.Watch, longestName))
	}
	if !f.Touching.From.IsZero() {
		q.add(`AND to_at > ?`, f.Touching.From)
	}
	if !f.Touching.To.IsZero() {
		q.add(`AND from_at < ?`, f.Touching.To)
	}
	var after Incident
	if ok, err := p.After.read(list, &after.Window.From, &after.ID, &after.Node); err != nil {
		return nil, "", err
	} else if ok {
		q.add(`AND (from_at, incident_id, node_id) < (?, ?, ?)`, after.Window.From, after.ID, after.Node)
	}
	q.add(`ORDER BY from_at DESC, incident_id DESC, node_id DESC LIMIT ?`, p.limit()+1)
	err = s.step(ctx, "list incidents", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, q.sql.String(), q.args...)
		if err != nil {
			return err
		}
		incidents, next, err = collectPage(rows, p.limit(), scanIncident, func(i *Incident) Cursor {
			return newCursor(list, i.Window.From, i.ID, i.Node)
		})
		return err
	})
	return incidents, next, err
}
