package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrIsEvidence says that a collection belongs to an incident, and goes with it.
var ErrIsEvidence = errors.New("is the evidence of an incident: dismiss that")

// DropCollection removes an imported collection with all its rows. ErrNotFound:
// there is none of that name; ErrIsEvidence: it was not imported.
func (s *Store) DropCollection(ctx context.Context, name string) error {
	return s.inSteps(ctx, "drop collection", func(tx pgx.Tx) error {
		var id CollectionID
		err := s.step(ctx, "drop collection", func(ctx context.Context) error {
			var isEvidence bool
			err := tx.QueryRow(ctx, `SELECT collection_id, incident_id IS NOT NULL FROM collections WHERE name = $1 FOR NO KEY UPDATE`,
				storable(name, longestName)).Scan(&id, &isEvidence)
			if isEvidence {
				err = ErrIsEvidence
			}
			if err != nil {
				return fmt.Errorf("%q: %w", name, notFound(err))
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.removeCollection(ctx, tx, id)
	})
}

// removeCollection deletes the rows of a collection and what is said about it.
// The keys of the kept tables begin with the node: all nodes are named, since one
// whose import broke off may be noted nowhere.
func (s *Store) removeCollection(ctx context.Context, tx pgx.Tx, id CollectionID) error {
	if err := s.empty(ctx, tx, id, `node_id = ANY (ARRAY(SELECT node_id FROM nodes))`); err != nil {
		return err
	}
	return s.step(ctx, "delete from collections", func(ctx context.Context) error {
		_, err := tx.Exec(ctx, `DELETE FROM collections WHERE collection_id = $1`, id)
		return err
	})
}

// empty deletes the rows of a collection, of the nodes that the condition names,
// and what is said about them. An import that is under way finds itself overtaken.
func (s *Store) empty(ctx context.Context, tx pgx.Tx, id CollectionID, ofNodes string, args ...any) error {
	tables := []string{"collection_imports", "collection_nodes", "collection_inputs"}
	for _, t := range referenceTables {
		tables = append(tables, t.name)
	}
	for _, t := range sampleTables {
		tables = append(tables, t.in(true))
	}
	for _, t := range tables {
		err := bounded(ctx, "delete from "+t, maintenanceLimit, func(ctx context.Context) error {
			_, err := tx.Exec(ctx, `DELETE FROM `+t+` WHERE collection_id = $1 AND `+ofNodes, append([]any{id}, args...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inSteps runs do in one transaction. Its statements are steps of their own: it
// may take longer than one of them does.
func (s *Store) inSteps(ctx context.Context, operation string, do func(pgx.Tx) error) error {
	var tx pgx.Tx
	err := s.step(ctx, operation+": begin", func(ctx context.Context) (err error) {
		tx, err = s.pool.Begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		// Its own error is no news: the connection is then closed.
		_ = s.step(context.WithoutCancel(ctx), operation+": roll back", tx.Rollback)
		return err
	}
	return s.step(ctx, operation+": commit", tx.Commit)
}
