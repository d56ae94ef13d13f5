package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

func TestEventsOfANodeAreListedInOrderOfTime(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other, at := d.node("db1"), d.node("db2"), today()
	event := func(after time.Duration, kind, subject string) domain.NodeEvent {
		return domain.NodeEvent{At: at.Add(after), Kind: kind, Subject: subject, Detail: "since " + subject}
	}
	all := []domain.NodeEvent{
		event(0, domain.EventBondFailover, "bond0"), event(0, domain.EventBondFailover, "bond1"), event(0, domain.EventClockStep, ""),
		event(time.Second, domain.EventWatchEnded, "ora_lgwr_A1"), event(2*time.Second, domain.EventWatchStarted, "ora_lgwr_A1"),
	}
	give := func(events ...domain.NodeEvent) *store.Batch {
		return gather(t, func(b *store.Batch) error {
			for _, e := range events {
				if err := b.NodeEvent(e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	d.push(node, receipt(1), give(all[3], all[0], all[2]))
	d.push(other, receipt(1), give(event(0, domain.EventSpools, "")))
	told := all[0]
	told.Detail = "told again, later"
	d.push(node, receipt(2), give(told, all[1]))
	d.upsert(node, give(all[4], all[3]))
	list := func(w domain.Window, limit int) (got []domain.NodeEvent) {
		t.Helper()
		p := store.Page{Limit: limit}
		for {
			page, next, err := d.NodeEvents(t.Context(), store.Source{Node: node}, w, p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if p.After = next; next == "" {
				return got
			}
		}
	}
	for name, c := range map[string]struct {
		w    domain.Window
		want []domain.NodeEvent
	}{
		"all":               {domain.Window{}, all},
		"half-open in time": {window(at, 2*time.Second), all[:4]},
		"from an instant":   {domain.Window{From: at.Add(time.Microsecond)}, all[3:]},
	} {
		for _, limit := range []int{1, 2, 100} {
			if diff := cmp.Diff(c.want, list(c.w, limit)); diff != "" {
				t.Errorf("%s, %d a page: want -, got +:\n%s", name, limit, diff)
			}
		}
	}
	if _, _, err := d.NodeEvents(t.Context(), store.Source{Node: node}, domain.Window{}, store.Page{After: "nonsense"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor of no list: %v", err)
	}

	// The evidence of an incident has them too, and keeps them.
	incident := d.incident(node, window(at, time.Second))
	evidence, err := d.KeepEvidence(t.Context(), incident, node, window(at, time.Second), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := d.NodeEvents(t.Context(), store.Source{Node: node, Collection: evidence}, domain.Window{}, store.Page{})
	if diff := cmp.Diff(all[:3], kept); err != nil || diff != "" {
		t.Errorf("%v: want -, got +:\n%s", err, diff)
	}
	if err := d.Dismiss(t.Context(), incident); err != nil || d.count("kept_node_events") != 0 {
		t.Errorf("dismissed: %v, %d events are left", err, d.count("kept_node_events"))
	}
}
