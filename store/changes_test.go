package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

func TestChangesOfANodeAreItsOwnAndThoseOfAllNodes(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	at := utc(t, "2026-11-30 12:00:00")
	changes := []store.Change{
		{At: at, Node: node, Title: "bond1: 802.3ad", Detail: "both ports\x00active", RecordedBy: "dba"},
		{At: at.Add(time.Minute), Title: "kernel parameter"},
		{At: at.Add(2 * time.Minute), Node: other, Title: "moved a NIC"},
		{At: at.Add(time.Hour), Node: node, Title: "later"},
	}
	for i := range changes {
		id, err := d.AddChange(t.Context(), changes[i])
		if err != nil || id.IsZero() {
			t.Fatalf("%v: %v", id, err)
		}
		changes[i].ID = id
	}
	again := changes[0]
	again.Title = "another title"
	if id, err := d.AddChange(t.Context(), again); err != nil || id != changes[0].ID {
		t.Errorf("recorded again as %v: %v", id, err)
	}
	changes[0].Detail = "both ports\uFFFDactive" // Postgres has no NUL
	for name, c := range map[string]struct {
		filter store.ChangeFilter
		want   []store.Change
	}{
		"of a node":   {store.ChangeFilter{Node: node}, []store.Change{changes[0], changes[1], changes[3]}},
		"of all":      {store.ChangeFilter{}, changes},
		"of a window": {store.ChangeFilter{Window: window(at.Add(time.Minute), 59*time.Minute)}, changes[1:3]},
		"from a time": {store.ChangeFilter{Window: domain.Window{From: at.Add(time.Hour)}}, changes[3:]},
	} {
		got, next, err := d.Changes(t.Context(), c.filter, store.Page{})
		if err != nil || next != "" {
			t.Fatalf("next %q: %v", next, err)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(store.Change{}, "RecordedAt")); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
	for name, c := range map[string]store.Change{"no title": {At: at}, "no time": {Title: "x"}} {
		if _, err := d.AddChange(t.Context(), c); err == nil {
			t.Errorf("%s: recorded", name)
		}
	}
}
