package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// Source is where records are read from: the live tables, or a collection.
type Source struct {
	Node       NodeID
	Collection CollectionID // 0: the live tables
}

// ErrOpenWindow says that a window lacks an end that it needs.
var ErrOpenWindow = errors.New("the window lacks a begin or an end")

// longestLive is the longest interval that is looked for in the live tables: of
// one that reaches into a window, at most so much lies before it.
const longestLive = time.Hour

// Feed gives the records of a node that series of the window need: intervals that
// overlap or touch it, readings and waits in it, the topology that was valid
// then, gaps that touch it or whose time is unknown, and all instances. They come
// kind by kind (Instance, Topology, InterruptSample, DeviceSample, SoftirqSample,
// Gap, CPU, System, Disk, Placement, Histogram, SystemEvent and Counter, Wait);
// those of one kind by source (a softirq, a thread, an event, an instance), each
// in order of time. All are of one instant of the database, and are passed on as
// they are read. Feed stops at the first error of the sink and gives it as it is.
//
// Values are those that were stored: shares of a CPU in hundredths of a percent,
// of a host in millionths, durations in microseconds; NICE is in USER, and a
// placement's PID is 0. An open side of the window is all that a collection has;
// for the live tables it is ErrOpenWindow.
func (s *Store) Feed(ctx context.Context, src Source, w domain.Window, to ingest.IntervalSink) error {
	if src.isOpen(w) {
		return fmt.Errorf("read samples of node %d: %w", src.Node, ErrOpenWindow)
	}
	f := &feed{store: s, src: src, window: w, to: to}
	err := s.step(ctx, "begin to read samples", func(ctx context.Context) (err error) {
		f.tx, err = s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		return err
	})
	if err != nil {
		return err
	}
	err = f.all(ctx)
	// The transaction changed nothing: what its end comes to does not matter.
	_ = s.step(context.WithoutCancel(ctx), "end to read samples", f.tx.Rollback)
	return err
}

// feed is one Feed.
type feed struct {
	store  *Store
	tx     pgx.Tx
	src    Source
	window domain.Window
	to     ingest.IntervalSink

	names map[NameID]string
	texts repeatedTexts
}

func (f *feed) all(ctx context.Context) error {
	for _, kind := range []func(context.Context) error{
		f.instances, f.topologies,
		f.interruptSamples, f.deviceSamples, f.softirqSamples, f.gaps,
		f.cpuSamples, f.systemSamples, f.readNames, f.diskSamples, f.placements,
		f.histograms, f.counters, f.waits,
	} {
		if err := kind(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isOpen says whether a window lacks an end that the source needs.
func (src Source) isOpen(w domain.Window) bool {
	return src.Collection == 0 && (w.From.IsZero() || w.To.IsZero())
}

// of begins a query of the node's rows in a sample table or its twin.
func (src Source) of(t *table, columns string) *query {
	kept := src.Collection != 0
	q := &query{}
	q.add("SELECT "+columns+" FROM "+t.in(kept)+" WHERE node_id = ?", src.Node)
	if kept {
		q.add("AND collection_id = ?", src.Collection)
	}
	return q
}

// within limits a query to the rows in a window.
func within(q *query, w domain.Window) {
	if !w.From.IsZero() {
		q.add("AND at >= ?", w.From)
	}
	if !w.To.IsZero() {
		q.add("AND at < ?", w.To)
	}
}

// touching limits a query to the rows from at to until that touch a window, and
// to those whose time is unknown.
func touching(q *query, w domain.Window) {
	if !w.From.IsZero() {
		q.add("AND (until >= ? OR at = '-infinity')", w.From)
	}
	if !w.To.IsZero() {
		q.add("AND at <= ?", w.To)
	}
}

// intervals limits a query to the intervals that overlap or touch the window.
func (f *feed) intervals(q *query) *query {
	if !f.window.To.IsZero() {
		q.add("AND at <= ?", f.window.To)
	}
	if !f.window.From.IsZero() {
		q.add("AND at + length_us * interval '1 microsecond' >= ?", f.window.From)
		if f.src.Collection == 0 {
			q.add("AND at >= ?", f.window.From.Add(-longestLive))
		}
	}
	return q
}

// runs limits a query to the runs that hold readings of the window.
func (f *feed) runs(q *query) *query {
	if !f.window.To.IsZero() {
		q.add("AND at < ?", f.window.To)
	}
	if !f.window.From.IsZero() {
		q.add("AND until >= ?", f.window.From)
		q.add("AND at >= ?", f.window.From.Add(-longestRun*time.Microsecond))
	}
	return q
}

// instants gives the window in us since 1970.
func (f *feed) instants() (from, to int64) {
	from, to = null64, -(null64 + 1)
	if !f.window.From.IsZero() {
		from = micros(f.window.From)
	}
	if !f.window.To.IsZero() {
		to = micros(f.window.To)
	}
	return from, to
}

// read passes on the rows of a table. One that cannot be read ends it.
func (f *feed) read(ctx context.Context, table string, q *query, each func(*rowReader) error) error {
	return f.store.stream(ctx, f.tx, "read "+table, q.sql.String(), q.args, each)
}

// readNames reads the names that rows refer to by number. There are some
// thousands: what Oracle and Linux name.
func (f *feed) readNames(ctx context.Context) error {
	f.names = map[NameID]string{}
	q := &query{}
	q.add("SELECT name_id, name FROM names")
	return f.read(ctx, "names", q, func(r *rowReader) error {
		id := NameID(r.int4())
		f.names[id] = r.text()
		return r.err
	})
}

// name gives the name of a number.
func (f *feed) name(id NameID) (string, error) {
	n, ok := f.names[id]
	if !ok {
		return "", fmt.Errorf("there is no name %d", id)
	}
	return n, nil
}

// mostTexts bounds the texts that are remembered.
const mostTexts = 65_536

// repeatedTexts holds texts that rows repeat, so that each is in memory once.
type repeatedTexts map[string]string

func (t *repeatedTexts) of(b []byte) string {
	if s, ok := (*t)[string(b)]; ok {
		return s
	}
	if *t == nil || len(*t) >= mostTexts {
		*t = repeatedTexts{}
	}
	s := string(b)
	(*t)[s] = s
	return s
}
