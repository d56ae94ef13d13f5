package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/store"
)

func TestTheReviewOfAnHourReplacesWhatAnEarlierOneFound(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	at := utc(t, "2026-11-30 12:00:00")
	first := store.Tally{
		Node: node, Instance: "ORDP1", Watch: "lgwr", At: at, Length: time.Hour, ObservedS: 3600, Stalls: 7, StallsExposed: 5, ExposedS: 900,
		WaitsLow: 40, WaitsHigh: 45, Max: 640 * time.Millisecond,
	}
	gone := first // an earlier review did not know the instance's name yet
	gone.Instance = ""
	unknown := store.Tally{
		Node: node, Instance: "ORDP1", Watch: "lgwr", At: at.Add(time.Hour), Length: 30 * time.Minute, ObservedS: 0, Stalls: -1, StallsExposed: -1,
		ExposedS: -1, WaitsLow: -1, WaitsHigh: -1, Max: -1,
	}
	stall := store.Stall{Instance: "ORDP1", At: at.Add(59 * time.Minute), Longest: 640 * time.Millisecond, Waiters: 12, Exposure: "heavy"}
	d.saveHour(node, "lgwr", at, []store.Tally{gone}, []store.Stall{{At: at.Add(time.Minute), Longest: time.Second, Waiters: 1, Exposure: "light"}})
	d.saveHour(node, "lgwr", at, []store.Tally{first}, []store.Stall{stall})
	d.saveHour(node, "lgwr", at.Add(time.Hour), []store.Tally{unknown}, nil)
	for _, neighbour := range []struct {
		node  store.NodeID
		watch string
		at    time.Time
	}{{other, "lgwr", at}, {node, "lms", at}, {node, "lgwr", at.Add(2 * time.Hour)}} {
		tally := first
		tally.Node, tally.Watch, tally.At = neighbour.node, neighbour.watch, neighbour.at
		d.saveHour(neighbour.node, neighbour.watch, neighbour.at, []store.Tally{tally}, []store.Stall{{At: neighbour.at, Exposure: "heavy"}})
	}
	d.wantLines([]string{"0 - - - - - -"}, `SELECT observed_s || format(' %s %s %s %s %s %s', coalesce(stalls::text, '-'), coalesce(stalls_exposed::text, '-'),
		coalesce(exposed_s::text, '-'), coalesce(waits_low::text, '-'), coalesce(waits_high::text, '-'), coalesce(max_us::text, '-'))
		FROM tallies WHERE at = $1`, unknown.At)
	got, err := d.Tallies(t.Context(), node, "ORDP1", "lgwr", window(at, 2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	unknown.Max = -time.Microsecond // negative: unknown
	if diff := cmp.Diff([]store.Tally{first, unknown}, got); diff != "" {
		t.Errorf("tallies: want -, got +:\n%s", diff)
	}
	stalls, err := d.Stalls(t.Context(), node, "lgwr", window(at, 2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]store.Stall{stall}, stalls); diff != "" {
		t.Errorf("stalls: want -, got +:\n%s", diff)
	}
}

func TestTalliesOfUnboundedOrBrokenHoursAreRefused(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	at := utc(t, "2026-11-30 12:00:00")
	if _, err := d.Tallies(t.Context(), node, "ORDP1", "lgwr", window(at, 401*24*time.Hour)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("tallies of 401 days: %v", err)
	}
	if _, err := d.Stalls(t.Context(), node, "lgwr", window(at, 9*24*time.Hour)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("stalls of 9 days: %v", err)
	}
	whole := store.Tally{Node: node, Watch: "lgwr", At: at, Length: time.Hour}
	another := whole
	another.At = at.Add(time.Hour)
	for name, tallies := range map[string][]store.Tally{"of another hour": {whole, another}, "of another watch": {{Node: node, Watch: "lms", At: at}}} {
		if err := d.SaveHour(t.Context(), node, "lgwr", at, tallies, nil); err == nil {
			t.Errorf("a tally %s was taken", name)
		}
	}
	if err := d.SaveHour(t.Context(), node, "lgwr", at.Add(time.Minute), nil, nil); err == nil {
		t.Error("an hour from 12:01 was taken")
	}
	if n := d.count("tallies"); n != 0 {
		t.Errorf("%d tallies were written, want none of those", n)
	}
}

func (d *database) saveHour(node store.NodeID, watch string, at time.Time, tallies []store.Tally, stalls []store.Stall) {
	d.t.Helper()
	if err := d.SaveHour(d.t.Context(), node, watch, at, tallies, stalls); err != nil {
		d.t.Fatal(err)
	}
}
