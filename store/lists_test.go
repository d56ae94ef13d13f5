package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/store"
)

// walk gives what a list holds, page by page, and calls between after each page.
func walk[T any](t *testing.T, limit int, list func(store.Page) ([]T, store.Cursor, error), between func()) []T {
	t.Helper()
	var all []T
	p := store.Page{Limit: limit}
	for {
		page, next, err := list(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > limit {
			t.Fatalf("a page of %d rows, at most %d were asked for", len(page), limit)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		if len(page) < limit {
			t.Fatalf("a page of %d rows, and another one follows", len(page))
		}
		p.After = next
		between()
	}
}

func TestNodesAreListedOnce(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	var want []string
	for _, name := range []string{"", "db1", "db2", "db3", "db4", "db5"} { // files may name no host
		d.node(name)
		want = append(want, name)
	}
	inserted := 0
	nodes := walk(t, 2, func(p store.Page) ([]store.Node, store.Cursor, error) { return d.Nodes(t.Context(), p) }, func() {
		inserted++
		d.node(fmt.Sprintf("dba%d", inserted)) // sorts before some that were not listed yet, or after all
	})
	var got []string
	for _, n := range nodes {
		if slices.Contains(want, n.Name) {
			got = append(got, n.Name)
		}
		if d.node(n.Name) != n.ID || time.Since(n.CreatedAt) > time.Hour {
			t.Errorf("node %v", n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInstancesAreListed(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.exec(`INSERT INTO instances (node_id, collection_id, inst_id, name, host, database, first_seen, last_seen)
		VALUES ($1, 0, -1, '', '', NULL, '2026-01-01Z', '2026-01-02Z'), ($1, 0, 1, 'A', 'db1', 'PROD', '2026-01-01Z', '2026-01-02Z'),
		($1, 0, 1, 'B', 'db1', NULL, '2026-01-03Z', '2026-01-04Z'), ($1, 0, 2, 'A', 'db2', NULL, '2026-01-01Z', '2026-01-02Z'),
		($1, 7, 3, 'C', 'db3', NULL, '2026-01-01Z', '2026-01-02Z')`, node) // the last of a collection
	got := walk(t, 1, func(p store.Page) ([]store.NodeInstance, store.Cursor, error) {
		return d.Instances(t.Context(), store.Source{Node: node}, p)
	}, func() {})
	first, second := utc(t, "2026-01-01 00:00:00"), utc(t, "2026-01-02 00:00:00")
	want := []store.NodeInstance{
		{Instance: domain.Instance{InstID: -1}, FirstSeen: first, LastSeen: second},
		{Instance: domain.Instance{InstID: 1, Name: "A", Host: "db1"}, Database: "PROD", FirstSeen: first, LastSeen: second},
		{Instance: domain.Instance{InstID: 1, Name: "B", Host: "db1"}, FirstSeen: utc(t, "2026-01-03 00:00:00"), LastSeen: utc(t, "2026-01-04 00:00:00")},
		{Instance: domain.Instance{InstID: 2, Name: "A", Host: "db2"}, FirstSeen: first, LastSeen: second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCollectionsAreListedWithWhatTheyWereImportedFrom(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	zone, why := "Asia/Seoul", "mpstat.txt:7: no time"
	about := store.CollectionNode{
		Timezone: domain.Timezone{DB: &zone}, Warnings: []string{"a", "b"}, Notes: []string{"c"},
		Inputs: []domain.Input{{Path: "mpstat.txt", Kind: "mpstat", Records: 10, Unread: 1, FirstBad: &why}, {Path: "ps.txt", Kind: "ps", Records: 3, Note: "n"}},
	}
	for _, of := range []struct{ collection, node string }{{"october", "db1"}, {"november", "db1"}, {"october", "db2"}, {"october", "db3"}} {
		i, err := d.Import(t.Context(), of.collection, of.node)
		if err != nil {
			t.Fatal(err)
		}
		if of.node == "db3" {
			break // an import that broke off
		}
		if err := i.Close(t.Context(), about); err != nil {
			t.Fatal(err)
		}
	}
	d.exec(`UPDATE collections SET incident_id = gen_random_uuid() WHERE name = 'november'`)
	var got []string
	for _, c := range walk(t, 1, func(p store.Page) ([]store.Collection, store.Cursor, error) { return d.Collections(t.Context(), p) }, func() {}) {
		got = append(got, fmt.Sprintf("%s, evidence %t", c.Name, c.Evidence))
	}
	if diff := cmp.Diff([]string{"november, evidence true", "october, evidence false"}, got); diff != "" {
		t.Error(diff)
	}
	october, err := d.CollectionByName(t.Context(), "october")
	if err != nil {
		t.Fatal(err)
	}
	nodes := walk(t, 1, func(p store.Page) ([]store.CollectedNode, store.Cursor, error) {
		return d.CollectionNodes(t.Context(), october.ID, p)
	}, func() {})
	want := []store.CollectedNode{{Node: d.node("db1"), Name: "db1", CollectionNode: about}, {Node: d.node("db2"), Name: "db2", CollectionNode: about}}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Error(diff)
	}
	if _, err := d.CollectionByName(t.Context(), "december"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestGapsAreListed(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.exec(`INSERT INTO coverage_gaps VALUES ($1, 'interrupts', '-infinity', '-infinity', 'untimed', 9), ($1, 'interrupts', '2026-03-02 10:00Z', '2026-03-02 10:05Z', 'missing', NULL),
		($1, 'interrupts', '2026-03-02 10:00Z', '2026-03-02 10:05Z', 'reset', NULL), ($1, 'interrupts', '2026-03-02 12:00Z', '2026-03-02 13:00Z', 'missing', 3600),
		($1, 'waits', '2026-03-02 10:04Z', '2026-03-02 10:30Z', 'missing', 1)`, node)
	list := func(w domain.Window) []string {
		var lines []string
		for _, g := range walk(t, 1, func(p store.Page) ([]store.CoverageGap, store.Cursor, error) {
			return d.Gaps(t.Context(), store.Source{Node: node}, w, p)
		}, func() {}) {
			lines = append(lines, fmt.Sprintf("%s %s-%s %s %d", g.Source, hm(g.From), hm(g.To), g.Reason, g.Events))
		}
		return lines
	}
	morning := []string{
		"interrupts unknown-unknown untimed 9", "interrupts 10:00:00-10:05:00 missing 1", "interrupts 10:00:00-10:05:00 reset 1", "waits 10:04:00-10:30:00 missing 1",
	}
	if diff := cmp.Diff(morning, list(window(utc(t, "2026-03-02 10:01:00"), time.Hour))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(slices.Insert(slices.Clone(morning), 3, "interrupts 12:00:00-13:00:00 missing 3600"), list(domain.Window{})); diff != "" {
		t.Error(diff)
	}
}

func TestWaitsAreListed(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := utc(t, "2026-03-02 10:00:00")
	wait := func(sec, session int, event string, waited time.Duration) domain.Wait {
		return domain.Wait{At: at.Add(time.Duration(sec) * time.Second), SampleID: int64(sec), InstID: 1 + session%2, SessionID: session, Serial: 7, Waiting: true, Event: event, TimeWaited: waited}
	}
	waits := []domain.Wait{
		wait(1, 10, "log file sync", 120*time.Millisecond), wait(1, 12, "log file sync", 0), wait(1, 11, "log file sync", 90*time.Millisecond),
		wait(2, 10, "db file sequential read", time.Second), wait(2, 11, "log file sync", 300*time.Millisecond), wait(3, 11, "log file sync", -1),
	}
	importInto(t, d, "october", func(to ingest.IntervalSink) error {
		for _, w := range waits {
			if err := to.Wait(w); err != nil {
				return err
			}
		}
		return nil
	})
	src := source(t, d)
	two := 2
	for _, c := range []struct {
		name   string
		filter store.WaitFilter
		want   []int
	}{
		{"all, by time, instance and session", store.WaitFilter{}, []int{0, 1, 2, 3, 4, 5}},
		{"of an event", store.WaitFilter{Event: "log file sync"}, []int{0, 1, 2, 4, 5}},
		{"of an event that no row has", store.WaitFilter{Event: "log file switch"}, nil},
		{"of an instance", store.WaitFilter{InstID: &two}, []int{2, 4, 5}},
		{"of 0.12 s and more", store.WaitFilter{Event: "log file sync", AtLeast: 120 * time.Millisecond}, []int{0, 4}},
		{"of a window", store.WaitFilter{Window: window(at.Add(2*time.Second), time.Second)}, []int{3, 4}},
	} {
		got := walk(t, 2, func(p store.Page) ([]domain.Wait, store.Cursor, error) { return d.Waits(t.Context(), src, c.filter, p) }, func() {})
		var want []domain.Wait
		for _, i := range c.want {
			want = append(want, waits[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if _, _, err := d.Waits(t.Context(), store.Source{Node: src.Node}, store.WaitFilter{}, store.Page{}); !errors.Is(err, store.ErrOpenWindow) {
		t.Errorf("live tables without a window: got %v, want ErrOpenWindow", err)
	}
}

func TestListsRefuseCursorsOfOthers(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.node("db1")
	d.node("db2")
	_, next, err := d.Nodes(t.Context(), store.Page{Limit: 1})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	for name, list := range map[string]func(store.Page) error{
		"collections": func(p store.Page) error { _, _, err := d.Collections(t.Context(), p); return err },
		"nodes of it": func(p store.Page) error { _, _, err := d.CollectionNodes(t.Context(), 1, p); return err },
		"instances":   func(p store.Page) error { _, _, err := d.Instances(t.Context(), store.Source{Node: 1}, p); return err },
		"gaps": func(p store.Page) error {
			_, _, err := d.Gaps(t.Context(), store.Source{Node: 1}, domain.Window{}, p)
			return err
		},
		"waits": func(p store.Page) error {
			_, _, err := d.Waits(t.Context(), store.Source{Node: 1, Collection: 1}, store.WaitFilter{}, p)
			return err
		},
	} {
		for _, c := range []store.Cursor{next, "!", "bm8"} {
			if err := list(store.Page{After: c}); !errors.Is(err, store.ErrCursor) {
				t.Errorf("%s after %q: got %v, want ErrCursor", name, c, err)
			}
		}
	}
}
