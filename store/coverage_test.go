package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// What each source covers, added up by hand.
func TestCoverageCountsTimeThatRowsCoverOnce(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		node, other, from := d.node("db1"), d.node("db2"), today()
		sec := func(n float64) time.Time { return from.Add(time.Duration(n * float64(time.Second))) }
		fill := func(b *store.Batch) error {
			var failed []error
			note := func(err error) { failed = append(failed, err) }
			interrupts := func(a, z float64) {
				note(b.InterruptSample(&domain.InterruptSample{From: sec(a), To: sec(z), CPUs: []int{0}, Counts: []int64{1}}))
			}
			interrupts(-30, -20) // before the window
			interrupts(-5, 5)    // of which 5 s are in it
			interrupts(5, 15)
			interrupts(60, 70)
			interrupts(3590, 3610) // of which 10 s are
			// 0 to 10 as a whole and by second: 10 s; and 20 to 25.
			cpu := func(a, z float64) {
				note(b.CPU(domain.CPUSample{At: sec(z), Interval: sec(z).Sub(sec(a)), CPU: 0, Idle: 1}))
			}
			cpu(0, 10)
			for i := range 5 {
				cpu(float64(i), float64(i+1))
			}
			cpu(20, 25)
			// Two threads of one command at the same time, and one of another.
			for i := range 40 {
				at := sec(100 + float64(i)*0.05)
				note(b.Placement(domain.Placement{At: at, TID: 7, Command: "ora_lgwr_A1"}))
				note(b.Placement(domain.Placement{At: at.Add(time.Second), TID: 8, Command: "ora_lgwr_A1"}))
				note(b.Placement(domain.Placement{At: at, TID: 9, Command: "ora_lg00_A1"}))
			}
			for i := range 3 {
				note(b.Wait(domain.Wait{At: sec(200 + 10*float64(i)), InstID: 1, SessionID: i, Event: domain.EventLogFileSync, TimeWaited: 1}))
			}
			// 100 readings a second apart, then a pause of 10 minutes, then one.
			for i := range 101 {
				at := sec(300 + float64(i))
				if i == 100 {
					at = sec(1000)
				}
				note(b.Histogram(&domain.HistogramSnapshot{At: at, InstID: 2, Event: domain.EventLogFileSync, Buckets: []domain.HistogramBucket{{Below: 2, Count: uint64(i)}}}))
			}
			for i := range 5 {
				note(b.Counter(domain.Counter{At: sec(400 + 30*float64(i)), InstID: 2, Name: "user commits", Value: int64(i)}))
			}
			return errors.Join(failed...)
		}
		d.push(node, receipt(1), gather(t, fill))
		d.push(other, receipt(1), gather(t, interrupts(from, 100)))
		got, err := d.Coverage(t.Context(), store.Source{Node: node}, window(from, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range got {
			lines = append(lines, fmt.Sprintf("%s %d %s: %v to %v, %v", c.Source, c.Instance, c.Detail, c.First.Sub(from), c.Last.Sub(from), c.Observed))
		}
		want := []string{
			"interrupts -1 : 0s to 1h0m0s, 35s",
			"cpu -1 : 0s to 25s, 15s",
			"placement -1 ora_lg00_A1: 1m40s to 1m42s, 2s",
			"placement -1 ora_lgwr_A1: 1m40s to 1m43s, 3s",
			"waits 1 log file sync: 3m20s to 3m40s, -1ns",
			"histograms 2 log file sync: 5m0s to 16m40s, 1m39s",
			"counters 2 : 6m40s to 8m40s, 2m0s",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
		for name, w := range map[string]domain.Window{
			"open":            {From: from},
			"of no length":    {From: from, To: from},
			"of over 8 days":  window(from, 8*24*time.Hour+1),
			"without a begin": {To: from},
		} {
			if _, err := d.Coverage(t.Context(), store.Source{Node: node}, w); err == nil {
				t.Errorf("a window %s was measured", name)
			}
		}
	})
}

func TestCoverageOfACollectionIsThatOfItsRows(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	i := d.importAll("june", feedImport)
	from := time.Time{}
	for _, line := range d.lines(`SELECT to_char(min(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM kept_cpu_samples`) {
		from = utc(t, line)
	}
	got, err := d.Coverage(t.Context(), store.Source{Node: i.Node(), Collection: i.Collection()}, window(from, 24*time.Hour))
	if err != nil || len(got) == 0 || got[0].First.Before(from) {
		t.Errorf("%+v: %v", got, err)
	}
	if live, err := d.Coverage(t.Context(), store.Source{Node: i.Node()}, window(from, 24*time.Hour)); err != nil || len(live) > 0 {
		t.Errorf("of the live tables: %+v, %v", live, err)
	}
}

func TestSizeTellsDaysAndWhatIsKept(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		node, day := d.node("db1"), today().Truncate(24*time.Hour)
		empty, err := d.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.push(node, receipt(1), gather(t, interrupts(day, 300)))
		d.push(node, receipt(2), gather(t, interrupts(day.Add(-48*time.Hour), 3_000)))
		d.importAll("june", feedImport)
		size, err := d.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byDay := map[string]int64{}
		var sum int64
		for i, s := range size.LiveByDay {
			byDay[s.Day.Format(time.DateOnly)] = s.Bytes
			sum += s.Bytes
			if i > 0 && !size.LiveByDay[i-1].Day.Before(s.Day) {
				t.Errorf("days are not in order: %v", size.LiveByDay)
			}
		}
		now, before := byDay[day.Format(time.DateOnly)], byDay[day.Add(-48*time.Hour).Format(time.DateOnly)]
		// Ten times as many rows: more bytes, beside what empty tables and pages take.
		if now <= 0 || before <= now || byDay[day.Add(-24*time.Hour).Format(time.DateOnly)] > now {
			t.Errorf("by day %v", byDay)
		}
		if size.Live < sum || size.Total < size.Live+size.Kept || size.Kept <= empty.Kept || empty.Live > size.Live {
			t.Errorf("%+v; of an empty database %+v", size, empty)
		}
	})
}

func TestPingSaysWhetherTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	if err := d.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	d.Close()
	if err := d.Ping(t.Context()); err == nil {
		t.Error("a store that was closed answers")
	}
}
