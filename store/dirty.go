package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DirtyWindow is a window of a node whose data changed since it was judged last.
type DirtyWindow struct {
	Node     NodeID
	Scope    Scope     // ScopeHour, ScopeDay or ScopeWeek
	At       time.Time // its begin
	Marks    int64     // how often it was marked
	MarkedAt time.Time // last
	// Waiting is how long ago it was marked first, Quiet last, when it was listed,
	// by the database's clock.
	Waiting, Quiet time.Duration
}

// dirtyScopes are the scopes that windows are marked for.
var dirtyScopes = []Scope{ScopeHour, ScopeDay, ScopeWeek}

// DirtyWindows lists the windows of a scope that are marked and begin before an
// instant, by node and time. What is under way when they are read marks them
// later.
func (s *Store) DirtyWindows(ctx context.Context, scope Scope, before time.Time, p Page) ([]DirtyWindow, Cursor, error) {
	list := "dirty_windows of " + string(scope)
	var node NodeID
	var at int64
	resumed, err := p.After.read(list, &node, &at)
	if err != nil {
		return nil, "", err
	}
	var q query
	q.add(`SELECT node_id, at, marks, marked_at, (extract(epoch FROM now() - since) * 1000000)::int8, (extract(epoch FROM now() - marked_at) * 1000000)::int8
		FROM dirty_windows WHERE scope = ? AND at < ?`, string(scope), before)
	if resumed {
		q.add("AND (node_id, at) > (?::int4, ?)", node, instant(at))
	}
	q.add("ORDER BY node_id, at")
	read := func(r *rowReader) (DirtyWindow, error) {
		w := DirtyWindow{Scope: scope, Node: NodeID(r.int4()), At: instant(r.time()), Marks: r.int8(), MarkedAt: instant(r.time()), Waiting: time.Duration(r.int8()) * time.Microsecond, Quiet: time.Duration(r.int8()) * time.Microsecond}
		return w, r.err
	}
	return readPage(ctx, s, "list dirty_windows", &q, p, read, func(w *DirtyWindow) Cursor { return newCursor(list, w.Node, micros(w.At)) })
}

// onDirty counts a mark of a window that is marked already.
const onDirty = ` ON CONFLICT (node_id, scope, at) DO UPDATE SET marks = d.marks + 1, marked_at = excluded.marked_at`

// MarkDirty marks the windows of a node that begin at the given instants.
func (s *Store) MarkDirty(ctx context.Context, scope Scope, node NodeID, at ...time.Time) error {
	if !slices.Contains(dirtyScopes, scope) {
		return fmt.Errorf("mark windows: scope %q has none", scope)
	}
	if len(at) == 0 {
		return nil
	}
	// In order, as pushes mark theirs.
	begins := slices.Clone(at)
	slices.SortFunc(begins, time.Time.Compare)
	begins = slices.CompactFunc(begins, time.Time.Equal)
	return s.step(ctx, "mark dirty_windows", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `INSERT INTO dirty_windows AS d (node_id, scope, at, marks, since, marked_at)
			SELECT $1, $2, a, 1, now(), now() FROM unnest($3::timestamptz[]) WITH ORDINALITY AS u (a, i) ORDER BY i`+onDirty, node, scope, begins)
		return err
	})
}

// CleanWindow takes the mark off a window that was judged, unless it was marked
// again since it was listed: clean is false then, and the mark stays. It waits for
// pushes that have marked the window and are not committed yet: what they bring was
// not seen.
func (s *Store) CleanWindow(ctx context.Context, w DirtyWindow) (clean bool, err error) {
	err = s.step(ctx, "clean dirty_windows", func(ctx context.Context) error {
		// The time, too: another process may have cleaned the window, and a push have
		// marked it anew, for the first time.
		tag, err := s.pool.Exec(ctx, `DELETE FROM dirty_windows WHERE node_id = $1 AND scope = $2 AND at = $3 AND marks = $4 AND marked_at = $5`,
			w.Node, w.Scope, w.At, w.Marks, w.MarkedAt)
		clean = tag.RowsAffected() == 1
		return err
	})
	return clean, err
}

// markHours is the operation, and the statement up to the values, by which rows
// mark the hours that they touch.
const (
	markHours         = "mark dirty_windows"
	insertIntoWindows = "INSERT INTO dirty_windows AS d (node_id, scope, at, marks, since, marked_at) VALUES "
)

// hourMark is an hour of a node that rows touch: hours since 1970.
type hourMark struct {
	node NodeID
	hour int64
}

// hourMarks gathers the hours that a transaction's batches touch.
type hourMarks struct {
	from, to int64 // hours that are kept, both included: gaps may be of any time
	marks    []hourMark
}

func (s *Store) newHourMarks(now time.Time) *hourMarks {
	return &hourMarks{from: hourOf(micros(now.Add(-s.options.RawRetention))), to: hourOf(micros(now.Add(aheadOfNow)))}
}

// add notes the hours of one batch, of a node that has no other in the
// transaction.
func (h *hourMarks) add(node NodeID, b *Batch) {
	touched := map[int64]bool{}
	first, last := int64(1), int64(0) // of the span before: mostly the same hour
	b.eachSpan(func(from, to int64) {
		lo, hi := max(hourOf(from), h.from), min(hourOf(max(from, to-1)), h.to)
		if lo >= first && hi <= last {
			return
		}
		for hour := lo; hour <= hi; hour++ {
			touched[hour] = true
		}
		first, last = lo, hi
	})
	for hour := range touched {
		h.marks = append(h.marks, hourMark{node, hour})
	}
}

// eachSpan gives the begin and the end of all that the batch tells of the node: of
// a reading both are its instant. How the node is built counts from when on.
func (b *Batch) eachSpan(give func(from, to int64)) {
	b.eachDated(give)
	for _, g := range b.gapOrder {
		if !g.From.IsZero() {
			give(micros(g.From), max(micros(g.From), keyInstant(g.To)))
		}
	}
	for i := range b.events {
		give(b.events[i].at, b.events[i].at)
	}
	for i := range b.topologies {
		if at := b.topologies[i].at; at != timeUnknown {
			give(at, at)
		}
	}
}

// statement marks the hours in order of their key, so that two transactions that
// mark the same ones never wait for each other in a circle; empty where there are
// none.
func (h *hourMarks) statement() string {
	if len(h.marks) == 0 {
		return ""
	}
	slices.SortFunc(h.marks, func(a, b hourMark) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.hour, b.hour))
	})
	var sql strings.Builder
	sql.WriteString(insertIntoWindows)
	for i, m := range h.marks {
		if i > 0 {
			sql.WriteString(", ")
		}
		sql.WriteString("(" + strconv.Itoa(int(m.node)) + ", 'hour', '" + instant(m.hour*hourMicros).Format("2006-01-02 15:04:05+00") + "', 1, now(), now())")
	}
	sql.WriteString(onDirty)
	return sql.String()
}

// mark sends the statement that marks hours. It comes last, so that transactions
// of one node wait for each other only while they commit.
func (c *copier) mark(hours *hourMarks) {
	if statement := hours.statement(); statement != "" {
		c.exec(statement, markHours)
	}
}

const hourMicros = 3600 * 1_000_000

// hourOf gives the UTC hour of an instant, counted since 1970.
func hourOf(us int64) int64 {
	h := us / hourMicros
	if us%hourMicros < 0 {
		h--
	}
	return h
}
