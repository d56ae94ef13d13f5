package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corewait/corewait/store"
)

// pagedList is a list as the paging test sees it: it inserts a row somewhere and
// gives its key, and reads a page of keys.
type pagedList struct {
	insert func(t *testing.T, i int) string
	page   func(t *testing.T, p store.Page) ([]string, store.Cursor)
}

// TestPagesShowEveryRowOnceWhileRowsAreInserted reads each list in pages of 7,
// with 3 rows put in at random places after each.
func TestPagesShowEveryRowOnceWhileRowsAreInserted(t *testing.T) {
	t.Parallel()
	for name, open := range pagedLists() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDatabase(t)
			list := open(t, d)
			missing := map[string]bool{}
			for i := range 60 {
				missing[list.insert(t, i)] = true
			}
			seen := map[string]bool{}
			inserted, pages := 60, 0
			for next := store.Cursor(""); ; {
				var keys []string
				keys, next = list.page(t, store.Page{After: next, Limit: 7})
				if pages++; len(keys) > 7 || pages > 100 {
					t.Fatalf("page %d has %d rows", pages, len(keys))
				}
				for _, key := range keys {
					if seen[key] {
						t.Errorf("%s was shown twice", key)
					}
					seen[key] = true
					delete(missing, key)
				}
				if next == "" {
					break
				}
				for range 3 {
					list.insert(t, inserted)
					inserted++
				}
			}
			if len(missing) > 0 || pages < 9 {
				t.Errorf("%d pages; not shown: %v", pages, missing)
			}
		})
	}
}

// pagedLists are the lists of operations. Times repeat, so that the key's other
// columns must tell rows apart.
func pagedLists() map[string]func(t *testing.T, d *database) pagedList {
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	someTime := func() time.Time { return begin.Add(time.Duration(rand.IntN(20)) * time.Minute) }
	return map[string]func(t *testing.T, d *database) pagedList{
		"changes": func(_ *testing.T, d *database) pagedList {
			return pagedList{
				insert: func(t *testing.T, i int) string {
					id, err := d.AddChange(t.Context(), store.Change{At: someTime(), Title: fmt.Sprint(i)})
					return must(t, id.String(), err)
				},
				page: func(t *testing.T, p store.Page) ([]string, store.Cursor) {
					rows, next, err := d.Changes(t.Context(), store.ChangeFilter{}, p)
					return keysOf(t, rows, err, func(c store.Change) string { return c.ID.String() }), next
				},
			}
		},
		"incidents": func(_ *testing.T, d *database) pagedList {
			nodes := []store.NodeID{d.node("db1"), d.node("db2")}
			ids := map[int]store.UUID{}
			return pagedList{
				insert: func(t *testing.T, i int) string { // both nodes share each incident
					if ids[i/2].IsZero() {
						ids[i/2] = store.NewUUID()
					}
					n := nodes[i%2]
					_, err := d.CreateIncident(t.Context(), store.Incident{ID: ids[i/2], Node: n, Window: window(begin, time.Minute)})
					return must(t, fmt.Sprint(ids[i/2], n), err)
				},
				page: func(t *testing.T, p store.Page) ([]string, store.Cursor) {
					rows, next, err := d.Incidents(t.Context(), store.IncidentFilter{}, p)
					return keysOf(t, rows, err, func(i store.Incident) string { return fmt.Sprint(i.ID, i.Node) }), next
				},
			}
		},
		"findings": func(_ *testing.T, d *database) pagedList {
			node := d.node("db1")
			return pagedList{
				insert: func(t *testing.T, i int) string {
					f := someFinding(window(someTime(), time.Duration(i+1)*time.Second))
					id, _, err := d.SaveFinding(t.Context(), node, store.ScopeDay, f.Window, f)
					return must(t, id.String(), err)
				},
				page: func(t *testing.T, p store.Page) ([]string, store.Cursor) {
					rows, next, err := d.Findings(t.Context(), store.FindingFilter{Node: node}, p)
					return keysOf(t, rows, err, func(f store.FindingHead) string { return f.ID.String() }), next
				},
			}
		},
		"tokens": func(_ *testing.T, d *database) pagedList {
			node := d.node("db1")
			return pagedList{
				insert: func(t *testing.T, _ int) string {
					id := store.NewUUID().String()
					return must(t, id, d.CreateToken(t.Context(), id, node, sha256.Sum256([]byte(id))))
				},
				page: func(t *testing.T, p store.Page) ([]string, store.Cursor) {
					rows, next, err := d.Tokens(t.Context(), p)
					return keysOf(t, rows, err, func(k store.Token) string {
						if k.Hash != [sha256.Size]byte{} {
							t.Error("the list shows a hash")
						}
						return k.ID
					}), next
				},
			}
		},
	}
}

func must(t *testing.T, key string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keysOf[T any](t *testing.T, rows []T, err error, key func(T) string) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = key(rows[i])
	}
	return keys
}

func TestCursorsOfOtherListsAreRefused(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	for i := range 2 {
		if _, err := d.AddChange(t.Context(), store.Change{At: utc(t, "2026-11-30 12:00:00"), Title: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	_, ofChanges, err := d.Changes(t.Context(), store.ChangeFilter{}, store.Page{Limit: 1})
	if err != nil || ofChanges == "" {
		t.Fatalf("%q: %v", ofChanges, err)
	}
	if _, _, err := d.Incidents(t.Context(), store.IncidentFilter{}, store.Page{After: ofChanges}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("incidents after a change: %v", err)
	}
	if _, _, err := d.Findings(t.Context(), store.FindingFilter{}, store.Page{After: ofChanges}); !errors.Is(err, store.ErrCursor) { // whose keys have the same types
		t.Errorf("findings after a change: %v", err)
	}
	for _, broken := range []store.Cursor{"x", "!", ofChanges + "A", ofChanges[:len(ofChanges)/2], "bnVsbA", "W10"} { // also null and []
		if _, _, err := d.Changes(t.Context(), store.ChangeFilter{}, store.Page{After: broken}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: %v", broken, err)
		}
	}
	const zero = "WyJub2RlcyIsIlx1MDAwMCJd" // ["nodes","\u0000"], which Postgres would refuse
	if _, _, err := d.Nodes(t.Context(), store.Page{After: zero}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a name of a zero byte: %v", err)
	}
}

// TestPagesAreBounded: 1,000 rows at most, 100 where nothing is asked.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.exec(`INSERT INTO changes (change_id, at, title) SELECT gen_random_uuid(), now(), 'x' FROM generate_series(1, 1001)`)
	for limit, want := range map[int]int{0: 100, -5: 100, 3: 3, 1_000_000: 1_000} {
		rows, next, err := d.Changes(t.Context(), store.ChangeFilter{}, store.Page{Limit: limit})
		if err != nil || len(rows) != want || next == "" {
			t.Errorf("limit %d gives %d rows and cursor %q: %v; want %d", limit, len(rows), next, err, want)
		}
	}
}
