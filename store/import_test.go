package store_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/store"
)

// imported is when the imported files were written: long before any retention.
var imported = time.Date(2019, 3, 4, 5, 6, 7, 0, time.UTC)

// feedImport gives records of several kinds, more than a flush of the tests'
// options takes.
func feedImport(to ingest.IntervalSink) error {
	var failed []error
	note := func(err error) { failed = append(failed, err) }
	for i := range 50 {
		at := imported.Add(time.Duration(i) * time.Second)
		note(to.InterruptSample(&domain.InterruptSample{From: at, To: at.Add(time.Hour), CPUs: []int{0}, Counts: []int64{1 << 40}}))
		note(to.Gap(domain.Gap{Source: "interrupts", Reason: domain.GapUntimed}))
		note(to.Placement(domain.Placement{At: at, TID: 7, Command: "ora_lgwr_X", CPU: i % 4}))
		note(to.Wait(domain.Wait{At: at, SampleID: int64(i), SessionID: -1, Event: "log file sync"}))
		note(to.Wait(domain.Wait{At: at, SampleID: int64(i), SessionID: -1, Event: "log file sync", TimeWaited: time.Second}))
		note(to.Wait(domain.Wait{At: at, SampleID: int64(i), SessionID: 5, Event: "log file sync", TimeWaited: time.Second}))
		note(to.Counter(domain.Counter{At: at, InstID: 1, Name: "user commits", Value: int64(i)}))
		for cpu := range 3 {
			note(to.CPU(domain.CPUSample{At: at, Interval: time.Second, CPU: cpu, Idle: 1}))
			note(to.Disk(domain.DiskSample{At: at, Interval: time.Second, Device: fmt.Sprint("sd", cpu), WritesPerS: 1}))
		}
	}
	note(to.Topology(domain.Topology{CPUs: []domain.CPU{{ID: 0}}}))
	note(to.Instance(domain.Instance{InstID: 1, Name: "X", Host: "db1"}))
	return errors.Join(failed...)
}

// about is what a test notes of an imported node.
func about() store.CollectionNode {
	zone, first := "Asia/Seoul", "line 3: what"
	return store.CollectionNode{
		Timezone: domain.Timezone{DB: &zone}, Warnings: []string{"w"}, Notes: []string{"n"},
		Inputs: []domain.Input{{Path: "a.txt", Kind: "ash", Records: 5}, {Path: "b.txt", Kind: "pidstat", Records: 6, Unread: 1, Note: "cut", FirstBad: &first}},
	}
}

func (d *database) importAll(collection string, feed func(ingest.IntervalSink) error) *store.Import {
	d.t.Helper()
	i, err := d.Import(d.t.Context(), collection, "db1")
	if err == nil {
		err = feed(i)
	}
	if err == nil {
		err = i.Close(d.t.Context(), about())
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return i
}

// contents gives all rows of the kept tables and of what is said of collections,
// as text.
func (d *database) contents() map[string][]string {
	d.t.Helper()
	all := map[string][]string{}
	for _, table := range append([]string{"collections", "collection_nodes", "collection_inputs", "instances", "topology", "topology_cpus"}, liveTables...) {
		if n := len(all); n >= 6 {
			table = "kept_" + table
		}
		row := "t::text"
		if table == "instances" {
			row = "(to_jsonb(t) - 'first_seen' - 'last_seen')::text" // when it was written
		}
		all[table] = d.lines("SELECT " + row + " FROM " + table + " AS t ORDER BY 1")
	}
	return all
}

func TestAnImportIsStoredOutsideOfRetention(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.importAll("march", feedImport)
	for table, want := range map[string]int{
		"interrupt_samples": 50, "waits": 150, "cpu_samples": 50, "disk_samples": 50, "placement_samples": 1, "counters": 1, "coverage_gaps": 1,
	} {
		if n := d.count("kept_" + table); n != want {
			t.Errorf("kept_%s: %d rows, want %d", table, n, want)
		}
		if n := d.count(table); n != 0 {
			t.Errorf("%s: %d rows of an import", table, n)
		}
	}
	d.wantLines([]string{"{1099511627776}"}, `SELECT DISTINCT corewait_numbers(counts)::text FROM kept_interrupt_samples`)
	d.wantLines([]string{"3"}, `SELECT DISTINCT cardinality(cpus)::text FROM kept_cpu_samples`)
	d.wantLines([]string{"-2", "-1", "5"}, `SELECT session_id::text FROM kept_waits GROUP BY session_id ORDER BY kept_waits.session_id`)
	d.wantLines([]string{"50"}, `SELECT events::text FROM kept_coverage_gaps`)
	d.wantLines([]string{"march db1 Asia/Seoul||{w}{n}"}, `SELECT c.name || ' ' || n.name || ' ' || timezone_db || '|' || timezone_host || '|' || warnings::text || notes::text
		FROM collection_nodes JOIN collections c USING (collection_id) JOIN nodes n USING (node_id)`)
	d.wantLines([]string{"a.txt ash 5 0 -", "b.txt pidstat 6 1 cut line 3: what"}, `SELECT concat_ws(' ', path, kind, records, unread, coalesce(nullif(note, ''), '-'), first_unread)
		FROM collection_inputs ORDER BY path`)
}

func TestTheSameImportAgainChangesNothing(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.importAll("march", feedImport)
	want := d.contents()
	for name, o := range map[string]store.Options{"as before": {}, "in small flushes": {ImportRows: 7}, "in small copies": {CopyRows: 3}} {
		o.URL = d.Pool().Config().ConnString()
		again := openStore(t, o)
		again.importAll("march", feedImport)
		if diff := cmp.Diff(want, d.contents()); diff != "" {
			t.Errorf("%s: before -, after +:\n%s", name, diff)
		}
	}
	// Another collection, in small flushes, holds the same but for its number.
	small := openStore(t, store.Options{URL: d.Pool().Config().ConnString(), ImportRows: 7})
	small.importAll("march again", feedImport)
	for _, table := range liveTables {
		const rows = `SELECT (to_jsonb(t) - 'collection_id')::text FROM kept_%s AS t JOIN collections USING (collection_id) WHERE name = $1 ORDER BY 1`
		query := fmt.Sprintf(rows, table)
		if table == "softirq_samples" {
			continue // has a column of that name, and no rows here
		}
		if diff := cmp.Diff(d.lines(strings.Replace(query, "WHERE name", "WHERE collections.name", 1), "march"), d.lines(strings.Replace(query, "WHERE name", "WHERE collections.name", 1), "march again")); diff != "" {
			t.Errorf("%s: in one flush -, in many +:\n%s", table, diff)
		}
	}
}

// 95 s from 05:06:07 on are 3 s, nine times 10 s, and 2 s: so in flushes of any size.
func TestAnImportCutsNoRunOfInterrupts(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	for _, rows := range []int{0, 7, 25} {
		name := fmt.Sprint("flushes of ", rows)
		s := openStore(t, store.Options{URL: d.Pool().Config().ConnString(), ImportRows: rows})
		s.importAll(name, func(to ingest.IntervalSink) error {
			var failed []error
			for i := range 95 {
				at := imported.Add(time.Duration(i) * time.Second)
				failed = append(failed, to.InterruptSample(&domain.InterruptSample{From: at, To: at.Add(time.Second), CPUs: []int{0}, Counts: []int64{1}}),
					to.Wait(domain.Wait{At: at, SampleID: int64(i), SessionID: -1, Event: "log file sync"}))
			}
			return errors.Join(failed...)
		})
		d.wantLines([]string{"3 10 10 10 10 10 10 10 10 10 2"}, `SELECT string_agg(cardinality(corewait_numbers(counts))::text, ' ' ORDER BY at) FROM kept_interrupt_samples
			JOIN collections USING (collection_id) WHERE name = $1`, name)
	}
}

func TestAnImportThatBrokeOffIsKnownAndRepaired(t *testing.T) {
	t.Parallel()
	d := openStore(t, store.Options{URL: openDatabase(t).Pool().Config().ConnString(), ImportRows: 7})
	i, err := d.Import(t.Context(), "march", "db1")
	if err == nil {
		err = feedImport(i)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := d.count("kept_waits"); n == 0 {
		t.Error("nothing was written before the import broke off")
	}
	if n := d.count("collection_nodes"); n != 0 {
		t.Error("an import that broke off is noted as complete")
	}
	d.importAll("march", feedImport)
	d.wantLines([]string{"150 50 1"}, `SELECT (SELECT count(*) FROM kept_waits) || ' ' || (SELECT count(*) FROM kept_cpu_samples) || ' ' || (SELECT count(*) FROM collection_nodes)`)
	// Importing anew, until it is closed, is incomplete too.
	if _, err := d.Import(t.Context(), "march", "db1"); err != nil {
		t.Fatal(err)
	}
	if n := d.count("collection_nodes"); n != 0 {
		t.Error("an import under way is noted as complete")
	}
}

func TestRecordsThatCannotBeStoredAreCounted(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.importAll("march", func(to ingest.IntervalSink) error {
		return errors.Join(
			to.Placement(domain.Placement{At: imported, TID: 7, Command: "c", CPU: 40_000}),
			to.InterruptSample(&domain.InterruptSample{From: imported, To: imported.Add(1), CPUs: []int{1}}),
			to.Wait(domain.Wait{At: time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)}),
			to.Wait(domain.Wait{At: imported, Program: "a\x00b\xff", Event: strings.Repeat("é", 400)}),
			to.Wait(domain.Wait{}), // without a time: left out as series leave it out
		)
	})
	d.wantLines([]string{"n", "3 records could not be stored, the first one because of: placement of thread 7 on CPU 40000: cannot be stored"}, `SELECT unnest(notes) FROM collection_nodes`)
	d.wantLines([]string{"a\uFFFDb\uFFFD 256 512"}, `SELECT program || ' ' || length(name) || ' ' || octet_length(name) FROM kept_waits JOIN names ON name_id = event_id`)
}

func TestAnImportTakesNoReadings(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	i, err := d.Import(t.Context(), "march", "db1")
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []ingest.Sink{i, store.NewBatch()} {
		for _, err := range []error{to.Interrupts(nil), to.Softirqs(nil), to.CPUTimes(nil), to.Disks(nil)} {
			if err == nil || !strings.Contains(err.Error(), "series.Intervals") {
				t.Errorf("%T: a reading gives %v", to, err)
			}
		}
	}
}

// What one import told of a node and the next does not tell is gone: a collection
// holds what one import read.
func TestAnotherImportReplacesWhatTheCollectionHasOfTheNode(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.importAll("march", feedImport)
	d.importAll("april", feedImport)
	d.importAll("march", func(to ingest.IntervalSink) error {
		return to.Wait(domain.Wait{At: imported, InstID: 1, SessionID: 7, SampleID: 1, Waiting: true, Event: "log file sync"})
	})
	d.wantLines([]string{"april 150", "march 1"}, `SELECT name || ' ' || count(*) FROM kept_waits JOIN collections USING (collection_id) GROUP BY name ORDER BY 1`)
	d.wantLines([]string{"april 50"}, `SELECT name || ' ' || count(*) FROM kept_cpu_samples JOIN collections USING (collection_id) GROUP BY name`)
}

// Of several imports of a node into one collection the last to begin is what the
// collection holds; the others are told.
func TestAnImportThatIsOvertakenStops(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	first, err := d.Import(t.Context(), "march", "db1")
	if err != nil {
		t.Fatal(err)
	}
	d.importAll("march", feedImport)
	err = errors.Join(feedImport(first), first.Close(t.Context(), about()))
	if !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("the first import: %v", err)
	}
	d.wantLines([]string{"150 1"}, `SELECT (SELECT count(*) FROM kept_waits) || ' ' || (SELECT count(*) FROM collection_nodes)`)
	dropped, err := d.Import(t.Context(), "april", "db1")
	if err == nil {
		err = d.DropCollection(t.Context(), "april")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(feedImport(dropped), dropped.Close(t.Context(), about())); !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("an import into a collection that was dropped: %v", err)
	}
	d.wantLines([]string{"150"}, `SELECT count(*)::text FROM kept_waits`)
}

func TestImportsOfOneNodeAtOneTimeLeaveOneOfThem(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	var told domain.Topology
	for id := range 64 {
		told.CPUs = append(told.CPUs, domain.CPU{ID: id, Online: true})
	}
	failed := make(chan error)
	const writers = 8
	for range writers {
		go func() {
			for range 5 {
				i, err := d.Import(t.Context(), "march", "db1")
				if err == nil {
					err = errors.Join(i.Topology(told), i.Close(t.Context(), about()))
				}
				if err != nil && !errors.Is(err, store.ErrOvertaken) {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range writers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	d.importAll("march", func(to ingest.IntervalSink) error { return to.Topology(told) })
	if n := d.count("topology_cpus"); n != 64 {
		t.Errorf("%d CPUs, want 64", n)
	}
}

// instancesOf keeps the instances that a Feed gives.
type instancesOf struct {
	*store.Batch
	got []domain.Instance
}

func (i *instancesOf) Instance(in domain.Instance) error { i.got = append(i.got, in); return nil }

// Series take the name that came last, however often it came before.
func TestOfTwoNamesOfAnInstanceTheLaterOneComesLast(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	x, y := domain.Instance{InstID: 1, Name: "X", Host: "db1"}, domain.Instance{InstID: 1, Name: "Y", Host: "db1"}
	i := d.importAll("march", func(to ingest.IntervalSink) error {
		return errors.Join(to.Instance(x), to.Instance(y), to.Instance(x))
	})
	got := instancesOf{Batch: store.NewBatch()}
	if err := d.Feed(t.Context(), store.Source{Node: i.Node(), Collection: i.Collection()}, domain.Window{}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.Instance{y, x}, got.got); diff != "" {
		t.Error(diff)
	}
}

// gapsOf keeps the gaps that a Feed gives.
type gapsOf struct {
	*store.Batch
	got []domain.Gap
}

func (g *gapsOf) Gap(gap domain.Gap) error { g.got = append(g.got, gap); return nil }

// 1970 is the number 0 and yet a time: that of a machine whose clock was not set.
func TestAGapOf1970HasATime(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	want := []domain.Gap{
		{Source: "interrupts", Reason: domain.GapUntimed},
		{Source: "interrupts", From: time.Unix(0, 0).UTC(), To: time.Unix(60, 0).UTC(), Reason: domain.GapMissing},
	}
	i := d.importAll("march", func(to ingest.IntervalSink) error { return errors.Join(to.Gap(want[0]), to.Gap(want[1])) })
	got := gapsOf{Batch: store.NewBatch()}
	if err := d.Feed(t.Context(), store.Source{Node: i.Node(), Collection: i.Collection()}, domain.Window{}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.got); diff != "" {
		t.Error(diff)
	}
}

// A number that stands for an unknown one elsewhere is a number in a key.
func TestAWaitOfTheLeastSerialIsStored(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.importAll("march", func(to ingest.IntervalSink) error {
		return to.Wait(domain.Wait{At: imported, SessionID: 1, Serial: math.MinInt32, Event: "log file sync"})
	})
	d.wantLines([]string{"1 -2147483648"}, `SELECT session_id || ' ' || serial FROM kept_waits`)
}
