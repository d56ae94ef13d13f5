package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/corewait/corewait/domain"
)

// Scope says what a finding was computed for, or what is to be computed anew.
type Scope string

// Scopes of findings.
const (
	ScopeIncident Scope = "incident"
	ScopeDay      Scope = "day"
	ScopeWeek     Scope = "week"
	ScopeAdHoc    Scope = "adhoc"
	// ScopeHour is of dirty windows and tallies: an hour holds too few stalls for a
	// finding.
	ScopeHour Scope = "hour"
)

// longestDocument bounds a finding's JSON, in bytes. One with all the stalls that
// are listed has about a million.
const longestDocument = 32 << 20

// FindingHead is a finding without its document.
type FindingHead struct {
	ID        UUID
	Node      NodeID
	Instance  string
	Watch     string
	Scope     Scope
	Window    domain.Window
	Verdict   string
	Grade     string
	Headline  string
	CreatedAt time.Time  // of this revision
	Revision  int        // from 1; a finding whose data changed later is saved again
	Incident  UUID       // that it judges; zero: none
	Fleet     *FleetTest // of this revision; nil: not computed yet
}

// FleetTest is what false-discovery control over all nodes made of a finding.
type FleetTest struct {
	P, Q     float64 // the test's own p-value, and as a rate over all tests
	Tests    int     // over how many
	Accepted bool
}

// StoredFinding is a finding as it was saved. Params of its document are raw
// JSON: the store does not know the engine's.
type StoredFinding struct {
	FindingHead

	Document *domain.Finding
}

// findingID names a finding by what it is about, so that it meets its former
// revision whoever saves it.
func findingID(node NodeID, scope Scope, w domain.Window, f *domain.Finding) UUID {
	return namedUUID(fmt.Sprintf("%d %q %q %q %d %d", node, scope, f.Instance, f.Watch, w.From.UnixMicro(), w.To.UnixMicro()))
}

// incidentFindingID does so for the finding of an incident, whose window may change.
func incidentFindingID(node NodeID, incident UUID, f *domain.Finding) UUID {
	return namedUUID(fmt.Sprintf("%d %q %v %q %q", node, ScopeIncident, incident, f.Instance, f.Watch))
}

// namedUUID gives the same UUID for the same text.
func namedUUID(text string) UUID {
	hash := sha256.Sum256([]byte(text))
	return UUID(hash[:16]).marked(8)
}

// SaveFinding saves the finding of a node, instance, watch, scope and window. In
// place of one that says something else it is the next revision; saved again
// without a change it stays the revision that it is. The window is the one that was
// asked for; the finding's own is what of it holds data.
//
// A new revision has no fleet test yet.
func (s *Store) SaveFinding(ctx context.Context, node NodeID, scope Scope, w domain.Window, f *domain.Finding) (id UUID, revision int, err error) {
	id = findingID(node, scope, w, f)
	revision, err = s.saveFinding(ctx, node, scope, id, nil, w, f)
	return id, revision, err
}

// SaveIncidentFinding saves the finding that judges an incident on a node. It is
// identified by incident, node, instance and watch: when the incident's window
// changes, it is another revision of the same finding.
func (s *Store) SaveIncidentFinding(ctx context.Context, node NodeID, incident UUID, w domain.Window, f *domain.Finding) (id UUID, revision int, err error) {
	if incident.IsZero() {
		return UUID{}, 0, errors.New("save finding: an incident is needed")
	}
	id = incidentFindingID(node, incident, f)
	revision, err = s.saveFinding(ctx, node, ScopeIncident, id, &incident, w, f)
	return id, revision, err
}

func (s *Store) saveFinding(ctx context.Context, node NodeID, scope Scope, id UUID, incident *UUID, w domain.Window, f *domain.Finding) (revision int, err error) {
	document, params, err := encodeFinding(f)
	if err != nil {
		return 0, fmt.Errorf("save finding: %w", err)
	}
	err = s.inTx(ctx, "save finding", func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO findings AS f (node_id, finding_id, instance, watch, scope, from_at, to_at, verdict, grade, document, params, incident_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (node_id, finding_id) DO UPDATE
			SET from_at = excluded.from_at, to_at = excluded.to_at, verdict = excluded.verdict, grade = excluded.grade,
			    document = excluded.document, params = excluded.params, created_at = now(), revision = f.revision + 1,
			    fleet_p = NULL, fleet_q = NULL, fleet_tests = NULL, fleet_accepted = NULL
			WHERE f.document <> excluded.document OR f.params <> excluded.params OR (f.from_at, f.to_at) <> (excluded.from_at, excluded.to_at)
			RETURNING revision`,
			node, id, storable(f.Instance, longestName), storable(f.Watch, longestName), scope, w.From, w.To,
			storable(f.Verdict, longestName), storable(f.Grade, longestName), document, params, incident).Scan(&revision)
		if errors.Is(err, pgx.ErrNoRows) {
			return tx.QueryRow(ctx, `SELECT revision FROM findings WHERE node_id = $1 AND finding_id = $2`, node, id).Scan(&revision)
		}
		return err
	})
	return revision, err
}

// SaveFleetTest notes what false-discovery control made of a revision of a
// finding. ErrNotFound: the finding is gone, or its revision is another one.
func (s *Store) SaveFleetTest(ctx context.Context, node NodeID, finding UUID, revision int, t FleetTest) error {
	return s.step(ctx, "save fleet test", func(ctx context.Context) error {
		return oneRow(s.pool.Exec(ctx, `
			UPDATE findings SET fleet_p = $4, fleet_q = $5, fleet_tests = $6, fleet_accepted = $7
			WHERE node_id = $1 AND finding_id = $2 AND revision = $3`, node, finding, revision, t.P, t.Q, t.Tests, t.Accepted))
	})
}

// encodeFinding gives the JSON of a finding without its parameters, and theirs.
func encodeFinding(f *domain.Finding) (document, params json.RawMessage, err error) {
	bare := *f
	bare.Params = nil
	if document, err = encodeJSON(bare); err != nil {
		return nil, nil, err
	}
	params, err = encodeJSON(f.Params)
	return document, params, err
}

// encodeJSON gives JSON that jsonb takes: it has no NUL.
func encodeJSON(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > longestDocument {
		return nil, fmt.Errorf("a document of %d bytes: at most %d", len(text), longestDocument)
	}
	const escaped = `\u0000`
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(escaped))
		if i < 0 {
			return text, nil
		}
		i += from
		before := 0
		for i-before > 0 && text[i-before-1] == '\\' {
			before++
		}
		if before%2 == 0 { // else the backslash is itself escaped
			copy(text[i:], `\ufffd`)
		}
		from = i + len(escaped)
	}
}

const findingColumns = `node_id, finding_id, instance, watch, scope, from_at, to_at, verdict, grade, coalesce(document->>'headline', ''), created_at, revision,
	coalesce(incident_id, '00000000-0000-0000-0000-000000000000'), fleet_p, fleet_q, fleet_tests, fleet_accepted`

// scan reads a row of findingColumns, and what follows them.
func (h *FindingHead) scan(row pgx.Row, more ...any) error {
	var fleet struct {
		p, q     *float64
		tests    *int
		accepted *bool
	}
	err := row.Scan(append([]any{
		&h.Node, &h.ID, &h.Instance, &h.Watch, &h.Scope, &h.Window.From, &h.Window.To, &h.Verdict, &h.Grade,
		&h.Headline, &h.CreatedAt, &h.Revision, &h.Incident, &fleet.p, &fleet.q, &fleet.tests, &fleet.accepted,
	}, more...)...)
	h.Window = domain.Window{From: h.Window.From.UTC(), To: h.Window.To.UTC()}
	h.CreatedAt = h.CreatedAt.UTC()
	if fleet.p != nil && fleet.q != nil && fleet.tests != nil && fleet.accepted != nil {
		h.Fleet = &FleetTest{P: *fleet.p, Q: *fleet.q, Tests: *fleet.tests, Accepted: *fleet.accepted}
	}
	return err
}

// Finding gives a finding of a node in its last revision. ErrNotFound where there
// is none.
func (s *Store) Finding(ctx context.Context, node NodeID, id UUID) (f StoredFinding, err error) {
	err = s.step(ctx, "read finding", func(ctx context.Context) error {
		var document, params []byte
		row := s.pool.QueryRow(ctx, `SELECT `+findingColumns+`, document, params FROM findings WHERE node_id = $1 AND finding_id = $2`, node, id)
		if err := f.scan(row, &document, &params); err != nil {
			return notFound(err)
		}
		f.Document = new(domain.Finding)
		if err := json.Unmarshal(document, f.Document); err != nil {
			return fmt.Errorf("document of %v: %w", id, err)
		}
		if string(params) != "null" {
			f.Document.Params = json.RawMessage(params)
		}
		return nil
	})
	return f, err
}

// FindingFilter says which findings are wanted; zero fields ask for all.
type FindingFilter struct {
	Node     NodeID
	Instance string
	Watch    string
	Scope    Scope
	Incident UUID
	Window   domain.Window // those whose window begins in it
}

// Findings lists findings, those of the latest windows first.
func (s *Store) Findings(ctx context.Context, f FindingFilter, p Page) (heads []FindingHead, next Cursor, err error) {
	const list = "findings"
	var q query
	q.add(`SELECT `+findingColumns+` FROM findings WHERE from_at >= ? AND from_at < ?`,
		openSide(f.Window.From, pgtype.NegativeInfinity), openSide(f.Window.To, pgtype.Infinity))
	if f.Node != 0 {
		q.add(`AND node_id = ?`, f.Node)
	}
	for _, text := range []struct{ column, value string }{{"instance", f.Instance}, {"watch", f.Watch}, {"scope", string(f.Scope)}} {
		if text.value != "" {
			q.add(`AND `+text.column+` = ?`, storable(text.value, longestName))
		}
	}
	if !f.Incident.IsZero() {
		q.add(`AND incident_id = ?`, f.Incident)
	}
	var after FindingHead
	if ok, err := p.After.read(list, &after.Window.From, &after.ID); err != nil {
		return nil, "", err
	} else if ok {
		q.add(`AND (from_at, finding_id) < (?, ?)`, after.Window.From, after.ID)
	}
	q.add(`ORDER BY from_at DESC, finding_id DESC LIMIT ?`, p.limit()+1)
	err = s.step(ctx, "list findings", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, q.sql.String(), q.args...)
		if err != nil {
			return err
		}
		heads, next, err = collectPage(rows, p.limit(), func(row pgx.CollectableRow) (FindingHead, error) {
			var h FindingHead
			err := h.scan(row)
			return h, err
		}, func(h *FindingHead) Cursor { return newCursor(list, h.Window.From, h.ID) })
		return err
	})
	return heads, next, err
}
