package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

func (d *database) upsert(node store.NodeID, b *store.Batch) {
	d.t.Helper()
	if err := d.Upsert(d.t.Context(), node, b); err != nil {
		d.t.Fatal(err)
	}
}

// Rows of one wait, from the least to the most telling, by DESIGN.md (fix-up) and
// the rule of series: not fixed up, not readable, known lengths, who it was.
var waitRowsByRank = []domain.Wait{
	{TimeWaited: 0, Service: "z"},
	{TimeWaited: 0, Service: "zz"},
	{TimeWaited: -1},
	{TimeWaited: -1, Module: "a"},
	{TimeWaited: 5 * time.Millisecond},
	{TimeWaited: 120 * time.Millisecond, Machine: "Z"}, // in bytes before a
	{TimeWaited: 120 * time.Millisecond, Program: "a"},
	{TimeWaited: 120 * time.Millisecond, Module: "b", Program: "a"},
	{TimeWaited: 120 * time.Millisecond, Service: "c", Module: "a"},
	{TimeWaited: 121 * time.Millisecond},
}

// Each pair of rows, in one batch and in two, in both orders. Each case has its
// own session, so that all share three batches; P1 tells which row it is.
func TestTheMoreTellingRowOfAWaitIsKept(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	var want []string
	var batches [3][]func(*store.Batch) error
	give := func(step int, rows ...int) {
		for _, i := range rows {
			w := waitRowsByRank[i]
			w.At, w.SampleID, w.InstID, w.SessionID, w.Event, w.Waiting, w.P1 = at, 1, 1, len(want), domain.EventLogFileSync, true, int64(i)
			batches[step] = append(batches[step], func(b *store.Batch) error { return b.Wait(w) })
		}
	}
	for i := range waitRowsByRank {
		for k := range i {
			for _, steps := range [][3][]int{
				{{k, i}}, {{i, k}}, {{k}, {i}}, {{i}, {k}}, {{k}, {i}, {k, i, k}}, {{k, k}, {i}, {k}}, {{i, i}, {k}},
			} {
				for step, rows := range steps {
					give(step, rows...)
				}
				want = append(want, fmt.Sprintf("%d %d", len(want), i))
			}
		}
	}
	for _, rows := range batches {
		d.upsert(node, gather(t, rows...))
	}
	d.wantLines(want, `SELECT session_id || ' ' || p1 FROM waits ORDER BY session_id`)
}

func TestAWaitStandsForTheShorterOfItsPeriods(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := today()
	row := func(period, waited time.Duration) func(b *store.Batch) error {
		return func(b *store.Batch) error {
			return b.Wait(domain.Wait{At: at, SampleID: 1, SessionID: 12, Event: "e", Period: period, TimeWaited: waited})
		}
	}
	for i, tc := range []struct {
		batches [][]func(*store.Batch) error
		want    string // period and length, us
	}{
		{[][]func(*store.Batch) error{{row(10*time.Second, 2), row(time.Second, 0)}}, "1000000 0"},
		{[][]func(*store.Batch) error{{row(10*time.Second, time.Millisecond)}, {row(time.Second, 0)}}, "1000000 1000"},
		{[][]func(*store.Batch) error{{row(time.Second, 0)}, {row(10*time.Second, time.Millisecond)}}, "1000000 1000"},
		{[][]func(*store.Batch) error{{row(0, time.Millisecond)}, {row(time.Second, 0)}}, "1000000 1000"},
		{[][]func(*store.Batch) error{{row(time.Second, 0)}, {row(0, time.Millisecond)}}, "1000000 1000"},
		{[][]func(*store.Batch) error{{row(0, 0)}, {row(0, time.Millisecond)}}, "? 1000"},
	} {
		node := d.node(fmt.Sprint("node", i))
		for _, fill := range tc.batches {
			d.upsert(node, gather(t, fill...))
		}
		d.wantLines([]string{tc.want}, `SELECT coalesce(period_us::text, '?') || ' ' || time_waited_us FROM waits WHERE node_id = $1`, node)
	}
}

// Readings that were polled twice, the second time further.
func TestARunThatReachesFurtherReplacesTheShorterOne(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	readings := func(n int) func(b *store.Batch) error {
		return func(b *store.Batch) error {
			for i := range n {
				reading := at.Add(time.Duration(i) * time.Second)
				h := domain.HistogramSnapshot{At: reading, InstID: 1, Event: "e", Buckets: []domain.HistogramBucket{{Below: 2 * time.Microsecond, Count: uint64(i)}}}
				if err := b.Histogram(&h); err != nil {
					return err
				}
				if err := b.Counter(domain.Counter{At: reading, InstID: 1, Name: "user commits", Value: int64(i)}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, n := range []int{2, 3, 1} {
		d.upsert(node, gather(t, readings(n)))
	}
	d.wantLines([]string{"00:00:02 {1,2}"}, `SELECT (until - at) || ' ' || change_counts::text FROM histograms`)
	d.wantLines([]string{"00:00:02 {0,1,1}"}, `SELECT (until - at) || ' ' || values::text FROM counters`)
}

func TestTopologyIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other, at := d.node("db1"), d.node("db2"), today()
	topology := func(from time.Time, slaves ...string) func(b *store.Batch) error {
		return func(b *store.Batch) error {
			return b.TopologyFrom(from, domain.Topology{Bonds: []domain.Bond{{Name: "bond" + slaves[0], Slaves: slaves}}, Interconnects: slaves})
		}
	}
	d.upsert(other, gather(t, topology(time.Time{}, "eth0")))
	d.upsert(node, gather(t, topology(time.Time{}, "eth1", "eth2")))
	d.upsert(node, gather(t, topology(at, "eth4")))
	d.upsert(node, gather(t, topology(time.Time{}, "eth3")))
	d.wantLines([]string{"db1 bondeth3 {eth3} {eth3} -infinity", "db1 bondeth4 {eth4} {eth4} " + at.Format("2006-01-02 15:04:05+00"), "db2 bondeth0 {eth0} {eth0} -infinity"},
		`SELECT concat_ws(' ', name, bond, slaves, interconnects, at AT TIME ZONE 'UTC' || CASE WHEN at > '-infinity' THEN '+00' ELSE '' END)
			FROM topology_bonds JOIN topology USING (node_id, at) JOIN nodes USING (node_id) ORDER BY 1`)
}

// Two pollers that store the same rows in other orders at the same time.
func TestConcurrentUpsertsOfTheSameRowsDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	const writers, rows = 8, 200
	failed := make(chan error, writers)
	for w := range writers {
		go func() {
			order := rand.New(rand.NewPCG(uint64(w), 1)).Perm(rows)
			b := store.NewBatch()
			for _, i := range order {
				if err := b.Wait(domain.Wait{At: at, SampleID: 1, SessionID: i, Event: "e", TimeWaited: time.Duration(w) * time.Millisecond}); err != nil {
					failed <- err
					return
				}
			}
			failed <- d.Upsert(t.Context(), node, b)
		}()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	d.wantLines([]string{"200 7000 7000"}, `SELECT count(*) || ' ' || min(time_waited_us) || ' ' || max(time_waited_us) FROM waits`)
}

func TestSmallCopiesStoreTheSame(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	small := openStore(t, store.Options{URL: d.Pool().Config().ConnString(), CopyRows: 10})
	at := today()
	var sums []string
	for i, s := range []*store.Store{d.Store, small.Store} {
		node := d.node(fmt.Sprint("db", i))
		b := gather(t, interrupts(at, 1234), everyKind(at.Add(2*time.Hour)))
		if stored, err := s.Push(t.Context(), node, receipt(int64(i)), b); err != nil || !stored {
			t.Fatal(stored, err)
		}
		if err := s.Upsert(t.Context(), node, b); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, d.lines(`SELECT count(*) || ' ' || sum(length_us / 1000000) || ' ' || sum((SELECT sum(c) FROM unnest(corewait_numbers(counts)) WITH ORDINALITY AS u (c, i) WHERE i <= intervals))
			FROM interrupt_samples WHERE node_id = $1`, node)...)
	}
	// By hand: 1,234 s are 124 runs, and one of 1 s; 0 to 1233 add up to 1233 * 1234 / 2, and 5.
	if want := []string{"125 1235 760766", "125 1235 760766"}; !slices.Equal(sums, want) {
		t.Errorf("rows and sums are %q, want %q", sums, want)
	}
}
