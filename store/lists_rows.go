package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
)

// CoverageGap is a gap and how many readings or events it misses.
type CoverageGap struct {
	domain.Gap

	Events int // at least 1
}

// Gaps lists the gaps that touch a window, or whose time is unknown, by source
// and time. An open side of the window is all that there is.
func (s *Store) Gaps(ctx context.Context, src Source, w domain.Window, p Page) ([]CoverageGap, Cursor, error) {
	var source, reason string
	var at, until int64
	resumed, err := p.After.read("coverage_gaps", &source, &at, &until, &reason)
	if err != nil {
		return nil, "", err
	}
	q := src.of(coverageGaps, gapColumns)
	touching(q, w)
	if resumed {
		q.add("AND (source, at, until, reason) > (?, ?, ?, ?)", source, sinceTime(at), sinceTime(until), reason)
	}
	q.add("ORDER BY " + gapOrder)
	var t repeatedTexts
	read := func(r *rowReader) (CoverageGap, error) {
		g, events := readGap(r, &t)
		return CoverageGap{Gap: g, Events: events}, r.err
	}
	return readPage(ctx, s, "list coverage_gaps", q, p, read, func(g *CoverageGap) Cursor {
		return newCursor("coverage_gaps", g.Source, keyInstant(g.From), keyInstant(g.To), g.Reason)
	})
}

// WaitFilter says which waits are wanted. Its window has both ends where the
// source is the live tables.
type WaitFilter struct {
	Window  domain.Window
	InstID  *int          // nil: of all instances; -1: of an unknown one
	Event   string        // "": of all, and what sessions on CPU show
	AtLeast time.Duration // 0: of any length, the unknown one too
}

// waitKey is the key of a row of waits within its node.
type waitKey struct {
	at                     int64
	inst                   int16
	sample                 int64
	session, serial, event int32
}

// Waits lists waits in order of time.
func (s *Store) Waits(ctx context.Context, src Source, f WaitFilter, p Page) ([]domain.Wait, Cursor, error) {
	if src.isOpen(f.Window) {
		return nil, "", fmt.Errorf("list waits of node %d: %w", src.Node, ErrOpenWindow)
	}
	var k waitKey
	resumed, err := p.After.read("waits", &k.at, &k.inst, &k.sample, &k.session, &k.serial, &k.event)
	if err != nil {
		return nil, "", err
	}
	q := src.of(waitSamples, waitColumns+", (SELECT name FROM names WHERE name_id = event_id)")
	within(q, f.Window)
	if f.InstID != nil {
		q.add("AND inst_id = ?", max(min(*f.InstID, math.MaxInt16), -1))
	}
	if f.Event != "" {
		q.add("AND event_id = (SELECT name_id FROM names WHERE name = ?)", storable(f.Event, longestName))
	}
	if f.AtLeast > 0 {
		q.add("AND time_waited_us >= ?", f.AtLeast.Microseconds())
	}
	if resumed {
		q.add("AND ("+waitOrder+") > (?, ?, ?, ?, ?, ?)", sinceTime(k.at), k.inst, k.sample, k.session, k.serial, k.event)
	}
	q.add("ORDER BY " + waitOrder)
	type row struct {
		domain.Wait

		key waitKey
	}
	var t repeatedTexts
	read := func(r *rowReader) (row, error) {
		w, k := readWait(r, &t)
		w.Event = r.text()
		return row{w, k}, r.err
	}
	rows, next, err := readPage(ctx, s, "list waits", q, p, read, func(r *row) Cursor {
		return newCursor("waits", r.key.at, r.key.inst, r.key.sample, r.key.session, r.key.serial, r.key.event)
	})
	list := make([]domain.Wait, len(rows))
	for i := range rows {
		list[i] = rows[i].Wait
	}
	return list, next, err
}
