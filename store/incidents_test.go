package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

func TestIncidentsGrowUntilTheyAreDismissed(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	w := window(utc(t, "2026-11-30 12:00:00"), 15*time.Minute)
	id := d.incident(node, w)
	if created, err := d.CreateIncident(t.Context(), store.Incident{ID: id, Node: node, Instance: "ORDP1", Window: w, Stalls: 99}); err != nil || created {
		t.Errorf("created again: %v: %v", created, err)
	}
	longer := window(w.From, time.Hour)
	if err := d.ChangeIncident(t.Context(), node, id, longer, 12); err != nil {
		t.Fatal(err)
	}
	got, err := d.Incident(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Incident{{ID: id, Node: node, Instance: "ORDP1", Window: longer, Stalls: 12, State: store.IncidentOpen}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Incident{}, "CreatedAt")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if err := d.Dismiss(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := d.ChangeIncident(t.Context(), node, id, w, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("changed a dismissed incident: %v", err)
	}
	if _, err := d.Incident(t.Context(), store.NewUUID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown incident: %v", err)
	}
	for name, broken := range map[string]store.Incident{
		"no id":     {Node: node, Window: w},
		"no window": {ID: store.NewUUID(), Node: node, Window: domain.Window{From: w.To, To: w.From}},
	} {
		if _, err := d.CreateIncident(t.Context(), broken); err == nil {
			t.Errorf("%s: created", name)
		}
	}
}

func TestIncidentsAreListedByNodeStateAndTime(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	at := utc(t, "2026-11-30 12:00:00")
	early := d.incident(node, window(at, time.Minute))
	late := d.incident(node, window(at.Add(time.Hour), time.Minute))
	ofOther := d.incident(other, window(at.Add(30*time.Minute), time.Minute))
	if err := d.Dismiss(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		filter store.IncidentFilter
		want   []store.UUID
	}{
		"all, the latest first": {store.IncidentFilter{}, []store.UUID{late, ofOther, early}},
		"of a node":             {store.IncidentFilter{Node: node}, []store.UUID{late, early}},
		"open":                  {store.IncidentFilter{State: store.IncidentOpen}, []store.UUID{late, ofOther}},
		"of no such instance":   {store.IncidentFilter{Instance: "ORDP2"}, nil},
		"touching":              {store.IncidentFilter{Touching: window(at.Add(time.Minute), 59*time.Minute)}, []store.UUID{ofOther}},
		"touching at its ends":  {store.IncidentFilter{Touching: window(at.Add(59*time.Second), 59*time.Minute+2*time.Second)}, []store.UUID{late, ofOther, early}},
		"touching what is open": {store.IncidentFilter{Touching: domain.Window{To: at.Add(time.Hour)}}, []store.UUID{ofOther, early}},
		"half-open in time":     {store.IncidentFilter{Window: window(at, time.Hour)}, []store.UUID{ofOther, early}},
	} {
		got, _, err := d.Incidents(t.Context(), c.filter, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []store.UUID
		for _, i := range got {
			ids = append(ids, i.ID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
}
