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

// Scope says what a finding was computed for.
type Scope string

// Scopes of findings.
const (
	ScopeIncident Scope = "incident"
	ScopeDay      Scope = "day"
	ScopeWeek     Scope = "week"
	ScopeAdHoc    Scope = "adhoc"
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
	CreatedAt time.Time // of this revision
	Revision  int       // from 1; a finding whose data changed later is saved again
}

// StoredFinding is a finding as it was saved. Params of its document are raw
// JSON: the store does not know the engine's.
type StoredFinding struct {
	FindingHead

	Document *domain.Finding
}

// findingID names a finding by what it is about, so that it meets its former
// revision whoever saves it.
func findingID(node NodeID, scope Scope, f *domain.Finding) UUID {
	about := fmt.Sprintf("%d %q %q %q %d %d", node, scope, f.Instance, f.Watch, f.Window.From.UnixMicro(), f.Window.To.UnixMicro())
	hash := sha256.Sum256([]byte(about))
	return UUID(hash[:16]).marked(8)
}

// SaveFinding saves the finding of a node, instance, watch, scope and window. In
// place of one that says something else it is the next revision; saved again
// without a change it stays the revision that it is.
func (s *Store) SaveFinding(ctx context.Context, node NodeID, scope Scope, f *domain.Finding) (id UUID, revision int, err error) {
	document, params, err := encodeFinding(f)
	if err != nil {
		return UUID{}, 0, fmt.Errorf("save finding: %w", err)
	}
	id = findingID(node, scope, f)
	err = s.inTx(ctx, "save finding", func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO findings AS f (node_id, finding_id, instance, watch, scope, from_at, to_at, verdict, grade, document, params)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (node_id, finding_id) DO UPDATE
			SET verdict = excluded.verdict, grade = excluded.grade, document = excluded.document, params = excluded.params,
			    created_at = now(), revision = f.revision + 1
			WHERE f.document <> excluded.document OR f.params <> excluded.params
			RETURNING revision`,
			node, id, storable(f.Instance, longestName), storable(f.Watch, longestName), scope, f.Window.From, f.Window.To,
			storable(f.Verdict, longestName), storable(f.Grade, longestName), document, params).Scan(&revision)
		if errors.Is(err, pgx.ErrNoRows) {
			return tx.QueryRow(ctx, `SELECT revision FROM findings WHERE node_id = $1 AND finding_id = $2`, node, id).Scan(&revision)
		}
		return err
	})
	return id, revision, err
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

const findingColumns = `node_id, finding_id, instance, watch, scope, from_at, to_at, verdict, grade, coalesce(document->>'headline', ''), created_at, revision`

// targets are where a row of findingColumns is scanned to.
func (h *FindingHead) targets() []any {
	return []any{
		&h.Node, &h.ID, &h.Instance, &h.Watch, &h.Scope, &h.Window.From, &h.Window.To, &h.Verdict, &h.Grade,
		&h.Headline, &h.CreatedAt, &h.Revision,
	}
}

func (h *FindingHead) toUTC() {
	h.Window = domain.Window{From: h.Window.From.UTC(), To: h.Window.To.UTC()}
	h.CreatedAt = h.CreatedAt.UTC()
}

// Finding gives a finding of a node in its last revision. ErrNotFound where there
// is none.
func (s *Store) Finding(ctx context.Context, node NodeID, id UUID) (f StoredFinding, err error) {
	err = s.step(ctx, "read finding", func(ctx context.Context) error {
		var document, params []byte
		err := s.pool.QueryRow(ctx, `SELECT `+findingColumns+`, document, params FROM findings WHERE node_id = $1 AND finding_id = $2`, node, id).
			Scan(append(f.targets(), &document, &params)...)
		if err != nil {
			return notFound(err)
		}
		f.toUTC()
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
			err := row.Scan(h.targets()...)
			h.toUTC()
			return h, err
		}, func(h *FindingHead) Cursor { return newCursor(list, h.Window.From, h.ID) })
		return err
	})
	return heads, next, err
}
