package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/store"
)

func TestTheStateOfAnAgentIsThatOfItsLatestPush(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other, at := d.node("db1"), d.node("db2"), utc(t, "2026-11-30 12:00:00")
	offset, bound, synchronized := -1500*time.Microsecond, 20*time.Millisecond, true
	agent := store.AgentState{
		Node: node, Spool: [16]byte{1, 15: 7}, Sequence: 12, BootID: "6fbc", Version: "0.3.0", Hostname: "db1.example", SeenAt: at,
		ClockOffset: &offset, Synchronized: &synchronized, ClockError: &bound,
	}
	note := func(a store.AgentState) {
		t.Helper()
		if err := d.NoteAgent(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	note(agent)
	second := store.AgentState{Node: node, Spool: [16]byte{1, 15: 8}, Sequence: 1, SeenAt: at.Add(time.Second), Retimed: true}
	note(second)
	elsewhere := store.AgentState{Node: other, Spool: agent.Spool, Sequence: 3, BootID: "a\x00b", SeenAt: at}
	note(elsewhere)
	elsewhere.BootID = "a\uFFFDb"

	late := agent // of a push that waited
	late.Sequence, late.SeenAt, late.Version = 99, at.Add(-time.Second), "0.2.0"
	note(late)
	agents := func(p store.Page) (all []store.AgentState) {
		t.Helper()
		for {
			list, next, err := d.Agents(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, list...)
			if p.After = next; next == "" {
				return all
			}
		}
	}
	if diff := cmp.Diff([]store.AgentState{agent, second, elsewhere}, agents(store.Page{Limit: 1})); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}

	// A batch of an earlier number may be sent again later.
	again := agent
	again.Sequence, again.SeenAt, again.ClockOffset, again.Synchronized, again.ClockError, again.Retimed = 5, at.Add(time.Minute), nil, nil, nil, true
	note(again)
	again.Sequence = 12
	if diff := cmp.Diff([]store.AgentState{again, second, elsewhere}, agents(store.Page{})); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if _, _, err := d.Agents(t.Context(), store.Page{After: "nonsense"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor of no list: %v", err)
	}
}
