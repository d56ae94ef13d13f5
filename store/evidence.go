package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
)

// gapSizeCap is the reason of a gap in evidence: what lies in it was left out,
// since the evidence had its size.
const gapSizeCap = "size-cap"

// evidenceOrder is what evidence keeps while there is room, the most telling
// first: where the process was and who waited, then the interrupts, then rivals.
var evidenceOrder = []*table{
	placementSamples, waitSamples, histogramSamples, interruptSamples, coverageGaps, nodeEvents, deviceSamples, cpuSamples, counterSamples,
	systemSamples, softirqSamples, diskSamples, sqlTimings,
}

// EvidenceName is the name of the collection that holds an incident's evidence.
func EvidenceName(incident UUID) string { return "incident " + incident.String() }

// KeepEvidence copies what is known of a node in the window from the live tables
// into the collection of an open incident, which retention leaves alone, and
// gives the collection. Nodes that share the incident share it.
//
// It keeps at most maxBytes of rows for the node. A kind of rows that does not
// fit is kept from the middle of the window outwards; what is left out becomes a
// gap with the reason "size-cap" and a note of the collection. Called again, it
// adds what it lacks. ErrNotFound: there is no such open incident.
func (s *Store) KeepEvidence(ctx context.Context, incident UUID, node NodeID, w domain.Window, maxBytes int64) (CollectionID, error) {
	if !w.From.Before(w.To) || maxBytes <= 0 {
		return 0, errors.New("keep evidence: a window and a size are needed")
	}
	k := evidenceKeeper{s: s, node: node, window: w}
	err := s.inSteps(ctx, "keep evidence", func(tx pgx.Tx) error {
		k.tx = tx
		if err := k.begin(ctx, incident); err != nil {
			return err
		}
		if err := k.measure(ctx, maxBytes); err != nil {
			return err
		}
		for _, t := range evidenceOrder {
			if err := k.keep(ctx, t); err != nil {
				return err
			}
		}
		if err := k.keepReferences(ctx); err != nil {
			return err
		}
		return k.end(ctx, incident)
	})
	if err != nil {
		return 0, err
	}
	return k.collection, nil
}

// evidenceKeeper copies the evidence of one incident and node in one transaction.
type evidenceKeeper struct {
	s          *Store
	tx         pgx.Tx
	collection CollectionID
	node       NodeID
	window     domain.Window
	room       int64 // bytes
}

// begin locks the incident and finds or makes its collection.
func (k *evidenceKeeper) begin(ctx context.Context, incident UUID) error {
	return k.s.step(ctx, "keep evidence: find the incident", func(ctx context.Context) error {
		tag, err := k.tx.Exec(ctx, `SELECT FROM incidents WHERE node_id = $1 AND incident_id = $2 AND state = 'open' FOR UPDATE`, k.node, incident)
		if err := oneRow(tag, err); err != nil {
			return fmt.Errorf("incident %v: %w", incident, err)
		}
		find := func() error {
			return k.tx.QueryRow(ctx, `SELECT collection_id FROM collections WHERE incident_id = $1`, incident).Scan(&k.collection)
		}
		if err = find(); errors.Is(err, pgx.ErrNoRows) {
			// Another node of the incident may make it at this moment.
			_, err = k.tx.Exec(ctx, `INSERT INTO collections (name, incident_id) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
				EvidenceName(incident), incident)
			if err == nil {
				err = find()
			}
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("a collection that is not its evidence is named %q", EvidenceName(incident))
		}
		if err != nil {
			return err
		}
		_, err = k.tx.Exec(ctx, `INSERT INTO collection_nodes (node_id, collection_id) VALUES ($1, $2) ON CONFLICT (node_id, collection_id) DO NOTHING`,
			k.node, k.collection)
		return err
	})
}

// measure finds what room is left beside what was kept before.
func (k *evidenceKeeper) measure(ctx context.Context, maxBytes int64) error {
	k.room = maxBytes
	for _, t := range evidenceOrder {
		err := k.s.step(ctx, "measure "+t.in(true), func(ctx context.Context) error {
			var kept int64
			err := k.tx.QueryRow(ctx, `SELECT coalesce(sum(pg_column_size(t)), 0) FROM `+t.in(true)+` t WHERE node_id = $1 AND collection_id = $2`,
				k.node, k.collection).Scan(&kept)
			k.room -= kept
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keepReferences copies all instances of the node, since when one was first heard
// of says nothing of when it ran; and how the node was built when the window
// began, with each change within it. They take no room: they are few.
func (k *evidenceKeeper) keepReferences(ctx context.Context) error {
	return k.s.step(ctx, "keep evidence of instances and topology", func(ctx context.Context) error {
		for _, t := range referenceTables {
			var q query
			q.add(`INSERT INTO `+t.name+` (node_id, collection_id, `+t.columns+`) SELECT node_id, ?, `+t.columns+` FROM `+t.name+`
				WHERE node_id = ? AND collection_id = 0`, k.collection, k.node)
			if t.name != "instances" {
				q.add(`AND at < ? AND at >= coalesce((SELECT max(b.at) FROM topology b WHERE b.node_id = ? AND b.collection_id = 0 AND b.at <= ?), '-infinity')`,
					k.window.To, k.node, k.window.From)
			}
			q.add(`ON CONFLICT DO NOTHING`)
			if _, err := k.tx.Exec(ctx, q.sql.String(), q.args...); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	})
}

// keptRows is what was done with the rows of one table.
type keptRows struct {
	found, kept, bytes int64
	beforeLeft         int64      // left out before the middle of the window
	first, last        *time.Time // begin and end of what was kept; nil: nothing
}

// keep copies the rows of one table that there is room for.
func (k *evidenceKeeper) keep(ctx context.Context, t *table) error {
	return k.s.step(ctx, "keep evidence of "+t.name, func(ctx context.Context) error {
		var r keptRows
		middle := k.window.From.Add(k.window.Duration() / 2)
		err := k.tx.QueryRow(ctx, keepStatement(t), k.node, k.collection, k.window.From, k.window.To, middle, max(k.room, 0)).
			Scan(&r.found, &r.kept, &r.bytes, &r.beforeLeft, &r.first, &r.last)
		if err != nil || r.found == 0 {
			return err
		}
		k.room -= r.bytes
		return k.noteGaps(ctx, t, r)
	})
}

// keepStatement copies the rows of a table that a feed of the window would read,
// from its middle outwards as far as there is room. Rows of one instant are kept
// together. What was kept before takes no room again.
// $1 node, $2 collection, $3 and $4 the window, $5 its middle, $6 the room.
func keepStatement(t *table) string {
	end, inWindow := windowOf(t)
	same := ""
	for _, key := range t.keys {
		same += " AND k." + key + " = s." + key
	}
	_, onConflict := t.onConflict()
	columns := t.columnList(false)
	return `
		WITH found AS (
			SELECT s.` + strings.ReplaceAll(columns, ", ", ", s.") + `, ` + end + ` AS ends, abs(extract(epoch FROM s.at) - extract(epoch FROM $5::timestamptz)) AS away,
			       CASE WHEN k.node_id IS NULL THEN pg_column_size(s) ELSE 0 END AS bytes
			FROM ` + t.name + ` s
			LEFT JOIN ` + t.in(true) + ` k ON k.collection_id = $2` + same + `
			WHERE s.node_id = $1 AND ` + inWindow + `
		), ranked AS (
			SELECT ` + columns + `, ends, bytes, sum(bytes) OVER (ORDER BY away) AS so_far FROM found
		), copied AS (
			INSERT INTO ` + t.in(true) + ` AS t (` + t.columnList(true) + `)
			SELECT node_id, $2, ` + list(t.columns[1:], false) + ` FROM ranked WHERE so_far <= $6
			ON CONFLICT (` + t.keyList(true) + `) DO ` + onConflict + `
		)
		SELECT count(*), count(*) FILTER (WHERE so_far <= $6), coalesce(sum(bytes) FILTER (WHERE so_far <= $6), 0)::int8,
		       count(*) FILTER (WHERE so_far > $6 AND at < $5), min(at) FILTER (WHERE so_far <= $6 AND at > '-infinity'),
		       max(ends) FILTER (WHERE so_far <= $6 AND ends > '-infinity')
		FROM ranked`
}

// windowOf says when a row s of a table ends, and whether a feed of the window
// [$3, $4) reads it: intervals and gaps that overlap or touch it, runs that hold
// readings of it, waits in it. Of an interval at most longestLive lies before it.
func windowOf(t *table) (end, inWindow string) {
	const reaching = "s.at >= $3::timestamptz - interval '1 hour' AND "
	switch {
	case t == coverageGaps: // of any length, and those whose time is unknown
		return "s.until", "s.at <= $4 AND (s.until >= $3 OR s.at = '-infinity')"
	case slices.Contains(t.columns, "until"):
		return "s.until", reaching + "s.at < $4 AND s.until >= $3"
	case slices.Contains(t.columns, "length_us"):
		end = "s.at + s.length_us * interval '1 microsecond'"
		return end, reaching + "s.at <= $4 AND " + end + " >= $3"
	}
	return "s.at", "s.at >= $3 AND s.at < $4"
}

// noteGaps writes down what was left out of the window, in place of what an
// earlier call said about it.
func (k *evidenceKeeper) noteGaps(ctx context.Context, t *table, r keptRows) error {
	source := t.name
	if t == interruptSamples {
		source = domain.GapInterrupts
	}
	_, err := k.tx.Exec(ctx, `DELETE FROM kept_coverage_gaps
		WHERE node_id = $1 AND collection_id = $2 AND source = $3 AND reason = $4 AND at >= $5 AND until <= $6`,
		k.node, k.collection, source, gapSizeCap, k.window.From, k.window.To)
	if err != nil || r.kept == r.found {
		return err
	}
	gap := func(from, to time.Time, rows int64) error {
		if rows == 0 {
			return nil
		}
		_, err := k.tx.Exec(ctx, `INSERT INTO kept_coverage_gaps (node_id, collection_id, source, at, until, reason, events)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
			k.node, k.collection, source, from, to, gapSizeCap, min(rows, 1<<31-1))
		return err
	}
	left := r.found - r.kept
	if r.first == nil {
		return gap(k.window.From, k.window.To, left)
	}
	return errors.Join(gap(k.window.From, *r.first, r.beforeLeft), gap(*r.last, k.window.To, left-r.beforeLeft))
}

// end writes what the collection says about itself.
func (k *evidenceKeeper) end(ctx context.Context, incident UUID) error {
	return k.s.step(ctx, "keep evidence: note what was left out", func(ctx context.Context) error {
		_, err := k.tx.Exec(ctx, `
			UPDATE collection_nodes SET notes = ARRAY(
				SELECT format('size cap: %s rows of %s between %s and %s were left out', events, source,
				              to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MSZ'), to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MSZ'))
				FROM kept_coverage_gaps WHERE node_id = $1 AND collection_id = $2 AND reason = $3 ORDER BY source, at)
			WHERE node_id = $1 AND collection_id = $2`, k.node, k.collection, gapSizeCap)
		if err != nil {
			return err
		}
		return oneRow(k.tx.Exec(ctx, `UPDATE incidents SET collection_id = $3 WHERE node_id = $1 AND incident_id = $2`, k.node, incident, k.collection))
	})
}

// Dismiss ends an incident on all its nodes and removes its evidence. One that
// was dismissed stays so. ErrNotFound: there is no such incident.
func (s *Store) Dismiss(ctx context.Context, incident UUID) error {
	return s.inSteps(ctx, "dismiss incident", func(tx pgx.Tx) error {
		var evidence CollectionID
		err := s.step(ctx, "dismiss incident", func(ctx context.Context) error {
			err := oneRow(tx.Exec(ctx, `
				UPDATE incidents SET state = 'dismissed', dismissed_at = coalesce(dismissed_at, now()), collection_id = NULL WHERE incident_id = $1`, incident))
			if err != nil {
				return fmt.Errorf("%v: %w", incident, err)
			}
			err = tx.QueryRow(ctx, `SELECT collection_id FROM collections WHERE incident_id = $1`, incident).Scan(&evidence)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		if err != nil || evidence == 0 {
			return err
		}
		return s.removeCollection(ctx, tx, evidence)
	})
}
