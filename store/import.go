package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

var _ ingest.IntervalSink = (*Import)(nil)

// Bounds of the readings that an import holds until it makes runs of them: they
// are held for longer than rows, since sources that overlap come one after
// another and of two readings of one instant the first given counts.
const (
	heldReadings = 200_000
	heldBuckets  = 1_000_000 // of histograms
	heldGaps     = 100_000
)

// Import stores records of one node into a collection. It implements
// ingest.IntervalSink; series.Intervals feeds it. The same records again, in the
// same order, change nothing.
//
// It writes whenever it has gathered enough, in several transactions: until Close
// or CloseImports has succeeded, the collection has no entry for the node in
// collection_nodes, by which an import that broke off is known. Importing again
// repairs it.
//
// After an error it takes nothing more. It is not safe for concurrent use.
type Import struct {
	store *Store
	ctx   context.Context //nolint:containedctx // of the import: the methods of a sink take none
	to    target

	rows    *Batch
	lastEnd time.Time // of the interval that the last row belongs to

	interrupts *Batch
	slot       int64 // that the last of their intervals begins in

	runs *Batch // readings that become runs
	gaps *Batch
	told map[threadKey][]int64 // instants of placements that were written, ascending

	unstorable int
	firstWhy   string
	err        error
}

// CollectionNode is what a collection says of one node: how its files were read.
type CollectionNode struct {
	Timezone        domain.Timezone
	Warnings, Notes []string
	Inputs          []domain.Input
}

// ErrOvertaken says that another import of the node into the collection began, or
// that the collection was dropped.
var ErrOvertaken = errors.New("another import of this node into the collection has begun, or the collection was dropped")

// Import begins to store records of a node into a collection. It makes both where
// they are new, and removes what the collection has of the node. ErrIsEvidence: the
// collection is the evidence of an incident.
func (s *Store) Import(ctx context.Context, collection, node string) (*Import, error) {
	id, err := s.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	importing := NewUUID()
	i := &Import{
		store: s, ctx: ctx, to: target{node: id, importing: &importing},
		rows: NewBatch(), interrupts: NewBatch(), runs: NewBatch(), gaps: NewBatch(), told: map[threadKey][]int64{},
	}
	err = s.step(ctx, "number the collection", func(ctx context.Context) error {
		return s.findOrMake(ctx, &i.to.collection, storable(collection, longestName),
			`SELECT collection_id FROM collections WHERE name = $1`,
			`INSERT INTO collections (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`)
	})
	if err != nil {
		return nil, err
	}
	return i, s.inSteps(ctx, "begin the import", func(tx pgx.Tx) error { return i.begin(ctx, tx, collection) })
}

// ImportLive begins to store records of a node, which is made where it is new,
// beside what agents push and pulls bring. It is an Import that ends with Flush:
// what is there stays, as with Upsert. It fails with ErrOutsideRetention.
func (s *Store) ImportLive(ctx context.Context, node string) (*Import, error) {
	id, err := s.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	return &Import{
		store: s, ctx: ctx, to: target{node: id},
		rows: NewBatch(), interrupts: NewBatch(), runs: NewBatch(), gaps: NewBatch(), told: map[threadKey][]int64{},
	}, nil
}

// Unstorable says how many records were left out since they cannot be rows, and
// why the first one.
func (i *Import) Unstorable() (n int, why string) { return i.unstorable, i.firstWhy }

// begin makes this the import that writes the node's rows, and removes those that
// are there. Of two that begin at once the second waits for the first and
// overtakes it.
func (i *Import) begin(ctx context.Context, tx pgx.Tx, collection string) error {
	err := i.store.step(ctx, "begin the import", func(ctx context.Context) error {
		var isEvidence bool
		err := tx.QueryRow(ctx, `SELECT incident_id IS NOT NULL FROM collections WHERE collection_id = $1 FOR NO KEY UPDATE`, i.to.collection).Scan(&isEvidence)
		if errors.Is(err, pgx.ErrNoRows) {
			err = ErrOvertaken
		}
		if isEvidence {
			err = ErrIsEvidence
		}
		if err != nil {
			return fmt.Errorf("collection %q: %w", collection, err)
		}
		return nil
	})
	if err == nil {
		err = i.store.empty(ctx, tx, i.to.collection, `node_id = $2`, i.to.node)
	}
	if err != nil {
		return err
	}
	return i.store.step(ctx, "begin the import", func(ctx context.Context) error {
		_, err := tx.Exec(ctx, `INSERT INTO collection_imports (node_id, collection_id, import_id) VALUES ($1, $2, $3)`,
			i.to.node, i.to.collection, *i.to.importing)
		return err
	})
}

// holdImport makes sure, until the end of the transaction, that no other import of
// the node into the collection begins.
func (s *Store) holdImport(ctx context.Context, conn interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, to *target) error {
	return s.step(ctx, "hold the import", func(ctx context.Context) error {
		var one int
		err := conn.QueryRow(ctx, `SELECT 1 FROM collection_imports WHERE node_id = $1 AND collection_id = $2 AND import_id = $3 FOR SHARE`,
			to.node, to.collection, *to.importing).Scan(&one)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrOvertaken
		}
		return err
	})
}

// Node and Collection tell where the records go.
func (i *Import) Node() NodeID { return i.to.node }

// Collection gives the number of the collection.
func (i *Import) Collection() CollectionID { return i.to.collection }

// Close writes what is left and notes that the collection has the node.
func (i *Import) Close(ctx context.Context, about CollectionNode) error {
	if err := i.Flush(ctx); err != nil {
		return err
	}
	return i.store.CloseImports(ctx, []FlushedImport{{i, about}})
}

// Flush writes what is left: only CloseImports is to follow.
func (i *Import) Flush(ctx context.Context) error {
	if i.err != nil {
		return i.err
	}
	i.ctx = ctx
	for _, b := range []*Batch{i.rows, i.interrupts, i.runs, i.gaps} {
		if err := i.write(b); err != nil {
			return err
		}
	}
	i.told, i.rows.sessions = map[threadKey][]int64{}, nil
	return nil
}

// FlushedImport is an import that has written all there is, and what the
// collection is to say of its node.
type FlushedImport struct {
	*Import
	About CollectionNode
}

// CloseImports notes that collections have the nodes: all of them or, after an
// error, none.
func (s *Store) CloseImports(ctx context.Context, imports []FlushedImport) error {
	return s.inTx(ctx, "note the imported nodes", func(ctx context.Context, tx pgx.Tx) error {
		var batch pgx.Batch
		for _, i := range imports {
			if err := s.holdImport(ctx, tx, &i.to); err != nil {
				return err
			}
			if i.unstorable > 0 {
				i.About.Notes = append(slices.Clone(i.About.Notes), fmt.Sprintf("%d records could not be stored, the first one because of: %s", i.unstorable, i.firstWhy))
			}
			queueCollectionNode(&batch, &i.to, i.About)
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
}

func queueCollectionNode(batch *pgx.Batch, to *target, about CollectionNode) {
	batch.Queue(`INSERT INTO collection_nodes (node_id, collection_id, timezone_db, timezone_host, timezone_source, warnings, notes)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		to.node, to.collection, orEmpty(about.Timezone.DB), orEmpty(about.Timezone.Host), orEmpty(about.Timezone.Source),
		storableLines(about.Warnings), storableLines(about.Notes))
	for _, in := range about.Inputs {
		var first *string
		if in.FirstBad != nil {
			s := storable(*in.FirstBad, longestText)
			first = &s
		}
		batch.Queue(`INSERT INTO collection_inputs (node_id, collection_id, path, kind, records, unread, note, first_unread)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (node_id, collection_id, path) DO UPDATE SET kind = excluded.kind,
			records = excluded.records, unread = excluded.unread, note = excluded.note, first_unread = excluded.first_unread`,
			to.node, to.collection, storable(in.Path, longestText), storable(in.Kind, longestName), in.Records, in.Unread, storable(in.Note, longestText), first)
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return storable(*s, longestName)
}

func storableLines(lines []string) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = storable(l, longestText)
	}
	return list
}

// write stores a batch and empties it.
func (i *Import) write(b *Batch) error {
	if b.Rows() == 0 {
		return nil
	}
	if b == i.runs {
		i.dropTold()
	}
	if i.to.collection == 0 {
		if err := i.store.makeRoom(i.ctx, b); err != nil {
			i.err = err
			return err
		}
	}
	if err := i.store.upsert(i.ctx, i.to, b); err != nil {
		i.err = err
		return err
	}
	if b == i.runs {
		i.tell()
	}
	b.clear()
	return nil
}

// dropTold leaves out placements of instants that were written before: of two
// readings of one instant the first given counts.
func (i *Import) dropTold() {
	for k, at := range i.runs.threads {
		told := i.told[k]
		i.runs.placements[at] = slices.DeleteFunc(i.runs.placements[at], func(p domain.Placement) bool {
			_, found := slices.BinarySearch(told, micros(p.At))
			return found
		})
	}
}

// tell notes the instants that were written.
func (i *Import) tell() {
	for k, at := range i.runs.threads {
		told := i.told[k]
		for j := range i.runs.placements[at] {
			told = append(told, micros(i.runs.placements[at][j].At))
		}
		slices.Sort(told)
		i.told[k] = slices.Compact(told)
	}
}

// take gives a record to a batch, and writes the batch before if it is full. A
// record that cannot be stored is counted.
func (i *Import) take(b *Batch, full bool, give func() error) error {
	if i.err != nil {
		return i.err
	}
	if full {
		if err := i.write(b); err != nil {
			return err
		}
	}
	err := give()
	if errors.Is(err, ErrUnstorable) {
		if i.unstorable++; i.unstorable == 1 {
			i.firstWhy = err.Error()
		}
		return nil
	}
	return err
}

// full says whether the rows gathered are enough to be written.
func (i *Import) full() bool { return i.rows.Rows() >= i.store.options.ImportRows }

// fullAt says so too, but not while the rows of the interval that ends then are
// incomplete.
func (i *Import) fullAt(end time.Time) bool {
	same := end.Equal(i.lastEnd)
	i.lastEnd = end
	return i.full() && !same
}

// fullOfRuns says whether the readings gathered are enough to make runs of them.
func (i *Import) fullOfRuns() bool {
	return i.runs.Rows() >= heldReadings || i.runs.buckets >= heldBuckets
}

// Interrupts refuses a reading: see Batch.
func (i *Import) Interrupts(*domain.InterruptSnapshot) error { return errReading }

// Softirqs refuses a reading: see Batch.
func (i *Import) Softirqs(*domain.SoftirqSnapshot) error { return errReading }

// CPUTimes refuses a reading: see Batch.
func (i *Import) CPUTimes(*domain.CPUTimesSnapshot) error { return errReading }

// Disks refuses a reading: see Batch.
func (i *Import) Disks(*domain.DiskSnapshot) error { return errReading }

// InterruptSample takes what devices' interrupts did in an interval. Rows are not
// cut within a slot, so that the same intervals are the same rows whenever the
// import writes.
func (i *Import) InterruptSample(s *domain.InterruptSample) error {
	slot := slotOf(micros(s.From))
	full := i.interrupts.Rows() >= i.store.options.ImportRows && slot != i.slot
	i.slot = slot
	return i.take(i.interrupts, full, func() error { return i.interrupts.InterruptSample(s) })
}

// DeviceSample takes which lines interrupted which CPUs.
func (i *Import) DeviceSample(s *domain.DeviceSample) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.DeviceSample(s) })
}

// SoftirqSample takes how often a softirq ran in an interval.
func (i *Import) SoftirqSample(s *domain.SoftirqSample) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.SoftirqSample(s) })
}

// Gap takes what was not observed.
func (i *Import) Gap(g domain.Gap) error {
	return i.take(i.gaps, i.gaps.Rows() >= heldGaps, func() error { return i.gaps.Gap(g) })
}

// CPU takes one CPU's use over an interval. Those of one interval come one after
// another.
func (i *Import) CPU(s domain.CPUSample) error {
	return i.take(i.rows, i.fullAt(s.At), func() error { return i.rows.CPU(s) })
}

// System takes the host's state over an interval.
func (i *Import) System(s domain.SystemSample) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.System(s) })
}

// Disk takes one device over an interval. Those of one interval come one after
// another.
func (i *Import) Disk(d domain.DiskSample) error {
	return i.take(i.rows, i.fullAt(d.At), func() error { return i.rows.Disk(d) })
}

// Topology takes how the node is built.
func (i *Import) Topology(t domain.Topology) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.Topology(t) })
}

// Placement takes a reading of a thread.
func (i *Import) Placement(p domain.Placement) error {
	return i.take(i.runs, i.fullOfRuns(), func() error { return i.runs.Placement(p) })
}

// Wait takes one ASH row.
func (i *Import) Wait(w domain.Wait) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.Wait(w) })
}

// Histogram takes a reading of V$EVENT_HISTOGRAM[_MICRO].
func (i *Import) Histogram(s *domain.HistogramSnapshot) error {
	return i.take(i.runs, i.fullOfRuns(), func() error { return i.runs.Histogram(s) })
}

// SystemEvent takes a row of V$SYSTEM_EVENT.
func (i *Import) SystemEvent(e domain.SystemEvent) error {
	return i.take(i.runs, i.fullOfRuns(), func() error { return i.runs.SystemEvent(e) })
}

// Counter takes a row of V$SYSSTAT.
func (i *Import) Counter(c domain.Counter) error {
	return i.take(i.runs, i.fullOfRuns(), func() error { return i.runs.Counter(c) })
}

// Instance takes a row that maps INST_ID to an instance and its host.
func (i *Import) Instance(in domain.Instance) error {
	return i.take(i.rows, i.full(), func() error { return i.rows.Instance(in) })
}
