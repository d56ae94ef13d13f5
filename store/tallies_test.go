package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/store"
)

func TestTalliesAreReplacedAndReadByTheirHours(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	at := utc(t, "2026-11-30 12:00:00")
	first := store.Tally{
		Node: node, InstID: 1, Watch: "lgwr", At: at, Length: time.Hour, ObservedS: 3600, Stalls: 7, StallsExposed: 5, ExposedS: 900,
		WaitsLow: 40, WaitsHigh: 45, Max: 640 * time.Millisecond,
	}
	unknown := store.Tally{
		Node: node, InstID: 1, Watch: "lgwr", At: at.Add(time.Hour), Length: 30 * time.Minute, ObservedS: 0, Stalls: -1, StallsExposed: -1,
		ExposedS: -1, WaitsLow: -1, WaitsHigh: -1, Max: -1,
	}
	outside, another, ofOther := first, first, first
	outside.At, another.Watch, ofOther.Node = at.Add(2*time.Hour), "lms", other
	if err := d.SaveTallies(t.Context(), []store.Tally{first, unknown, outside, another, ofOther}); err != nil {
		t.Fatal(err)
	}
	d.wantLines([]string{"0 - - - - - -"}, `SELECT observed_s || format(' %s %s %s %s %s %s', coalesce(stalls::text, '-'), coalesce(stalls_exposed::text, '-'),
		coalesce(exposed_s::text, '-'), coalesce(waits_low::text, '-'), coalesce(waits_high::text, '-'), coalesce(max_us::text, '-'))
		FROM tallies WHERE at = $1`, unknown.At)
	first.Stalls, first.Max = 8, 700*time.Millisecond
	if err := d.SaveTallies(t.Context(), []store.Tally{first}); err != nil {
		t.Fatal(err)
	}
	got, err := d.Tallies(t.Context(), node, 1, "lgwr", window(at, 2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	unknown.Max = -time.Microsecond // negative: unknown
	if diff := cmp.Diff([]store.Tally{first, unknown}, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestTalliesOfUnboundedOrBrokenHoursAreRefused(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	at := utc(t, "2026-11-30 12:00:00")
	if _, err := d.Tallies(t.Context(), node, 1, "lgwr", window(at, 401*24*time.Hour)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("401 days: %v", err)
	}
	whole := store.Tally{Node: node, Watch: "lgwr", At: at, Length: time.Hour}
	broken := whole
	broken.At = at.Add(time.Minute)
	if err := d.SaveTallies(t.Context(), []store.Tally{whole, broken}); err == nil {
		t.Error("a tally from 12:01 was taken")
	}
	if n := d.count("tallies"); n != 0 {
		t.Errorf("%d tallies were written, want none of those", n)
	}
}
