package store

import (
	"context"
	"fmt"

	"github.com/corewait/corewait/domain"
)

// eventKey is the key of a row of node_events within its node.
type eventKey struct {
	at            int64
	kind, subject string
}

// eventRow is a row of node_events.
type eventRow struct {
	eventKey

	detail string
}

// NodeEvent takes what happened to the node. Of two of one kind that happened to
// the same at the same instant the first counts.
func (b *Batch) NodeEvent(e domain.NodeEvent) error {
	at, ok, err := instantOf(e.At)
	if err != nil {
		return fmt.Errorf("event %.40s: %w", e.Kind, err)
	}
	key := eventKey{at, b.word(e.Kind, longestName), b.word(e.Subject, longestName)}
	if !ok || b.eventKeys[key] {
		return nil
	}
	b.eventKeys[key] = true
	b.events = append(b.events, eventRow{key, b.word(e.Detail, longestText)})
	b.rows++ // node_events has no partitions: an event may be of any time
	return nil
}

func (b *Batch) writeEvents(e encoder) {
	for i := range b.events {
		r := &b.events[i]
		e.begin()
		e.time(r.at)
		e.text(r.kind)
		e.text(r.subject)
		e.text(r.detail)
		e.endRow()
	}
}

// NodeEvents lists what happened to a node in a window, in order of time. An open
// side of the window is all that there is.
func (s *Store) NodeEvents(ctx context.Context, src Source, w domain.Window, p Page) ([]domain.NodeEvent, Cursor, error) {
	const list = "node_events"
	var k eventKey
	resumed, err := p.After.read(list, &k.at, &k.kind, &k.subject)
	if err != nil {
		return nil, "", err
	}
	q := src.of(nodeEvents, "at, kind, subject, detail")
	within(q, w)
	if resumed {
		q.add("AND (at, kind, subject) > (?, ?, ?)", instant(k.at), k.kind, k.subject)
	}
	q.add("ORDER BY at, kind, subject")
	var t repeatedTexts
	read := func(r *rowReader) (domain.NodeEvent, error) {
		e := domain.NodeEvent{At: instant(r.time()), Kind: t.of(r.field()), Subject: t.of(r.field()), Detail: r.text()}
		return e, r.err
	}
	return readPage(ctx, s, "list node_events", q, p, read, func(e *domain.NodeEvent) Cursor {
		return newCursor(list, micros(e.At), e.Kind, e.Subject)
	})
}
