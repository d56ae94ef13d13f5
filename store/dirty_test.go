package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// dirty gives the marked hours as "node at marks".
func (d *database) dirty() []string {
	d.t.Helper()
	var lines []string
	for _, w := range d.dirtyHours() {
		lines = append(lines, fmt.Sprintf("%d %s %d", w.Node, w.At.Format("02 15:04"), w.Marks))
	}
	return lines
}

func (d *database) dirtyHours() []store.DirtyWindow {
	d.t.Helper()
	list, next, err := d.DirtyWindows(d.t.Context(), store.ScopeHour, time.Now().Add(100*24*time.Hour), store.Page{Limit: 1_000})
	if err != nil || next != "" {
		d.t.Fatal(next, err)
	}
	return list
}

func (d *database) wantDirty(what string, want ...string) {
	d.t.Helper()
	if got := d.dirty(); !slices.Equal(got, want) {
		d.t.Errorf("%s: marked are %q, want %q", what, got, want)
	}
}

func TestRowsMarkTheHoursThatTheyTouch(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		ten := today().Add(-14 * time.Hour) // 10:00 of yesterday
		hour := func(n int) string { return ten.Add(time.Duration(n) * time.Hour).Format("02 15:04") }
		for i, tc := range []struct {
			what string
			give func(b *store.Batch) error
			want []string // hours, from 10:00 on
		}{
			{"an interval that ends with the hour", func(b *store.Batch) error {
				return b.System(domain.SystemSample{At: ten.Add(time.Hour), Interval: time.Second})
			}, []string{hour(0)}},
			{"an interval over its end", func(b *store.Batch) error {
				return b.System(domain.SystemSample{At: ten.Add(time.Hour + time.Millisecond), Interval: time.Second})
			}, []string{hour(0), hour(1)}},
			{"an interval of hours", func(b *store.Batch) error {
				return b.CPU(domain.CPUSample{At: ten.Add(3*time.Hour + time.Minute), Interval: 2 * time.Hour, Idle: 1})
			}, []string{hour(1), hour(2), hour(3)}},
			{"a wait at the begin of an hour", func(b *store.Batch) error {
				return b.Wait(domain.Wait{At: ten.Add(time.Hour), Event: "e", TimeWaited: time.Hour})
			}, []string{hour(1)}},
			{"readings of a thread before and after", func(b *store.Batch) error {
				return errors.Join(
					b.Placement(domain.Placement{At: ten.Add(2*time.Hour - time.Microsecond), TID: 1, Command: "c"}),
					b.Placement(domain.Placement{At: ten.Add(2 * time.Hour), TID: 1, Command: "c"}))
			}, []string{hour(1), hour(2)}},
			{"readings of counters and histograms", func(b *store.Batch) error {
				return errors.Join(
					b.Counter(domain.Counter{At: ten, InstID: 1, Name: "user commits"}),
					b.Histogram(&domain.HistogramSnapshot{At: ten.Add(5 * time.Hour), InstID: 1, Event: "e", Buckets: []domain.HistogramBucket{{Below: 1, Count: 1}}}))
			}, []string{hour(0), hour(5)}},
			{"interrupts, devices, softirqs and disks", func(b *store.Batch) error {
				to := ten.Add(time.Second)
				return errors.Join(
					b.InterruptSample(&domain.InterruptSample{From: ten, To: to, CPUs: []int{0}, Counts: []int64{1}}),
					b.DeviceSample(&domain.DeviceSample{From: ten.Add(time.Hour), To: to.Add(time.Hour)}),
					b.SoftirqSample(&domain.SoftirqSample{From: ten.Add(2 * time.Hour), To: to.Add(2 * time.Hour), Name: "NET_RX", CPUs: []int{0}, Counts: []int64{1}}),
					b.Disk(domain.DiskSample{At: to.Add(3 * time.Hour), Interval: time.Second, Device: "sda"}))
			}, []string{hour(0), hour(1), hour(2), hour(3)}},
			{"a gap over two hours, and one of an unknown time", func(b *store.Batch) error {
				return errors.Join(
					b.Gap(domain.Gap{Source: "agent", Reason: "restart", From: ten.Add(90 * time.Minute), To: ten.Add(150 * time.Minute)}),
					b.Gap(domain.Gap{Source: "interrupts", Reason: domain.GapUntimed}))
			}, []string{hour(1), hour(2)}},
			{"an event and a topology", func(b *store.Batch) error {
				return errors.Join(
					b.NodeEvent(domain.NodeEvent{At: ten, Kind: domain.EventClockStep}),
					b.TopologyFrom(ten.Add(time.Hour), domain.Topology{}), b.Topology(domain.Topology{}))
			}, []string{hour(0), hour(1)}},
			{"an instance", func(b *store.Batch) error { return b.Instance(domain.Instance{InstID: 1, Name: "A1"}) }, nil},
		} {
			node := d.node(fmt.Sprint("pushed ", i))
			d.push(node, receipt(1), gather(t, tc.give))
			upserted := d.node(fmt.Sprint("upserted ", i))
			d.upsert(upserted, gather(t, tc.give))
			var got []string
			for _, w := range d.dirtyHours() {
				if w.Node == node || w.Node == upserted {
					got = append(got, w.At.Format("02 15:04"))
				}
			}
			if want := append(slices.Clone(tc.want), tc.want...); !slices.Equal(got, want) {
				t.Errorf("%s: pushed and upserted, marked are %q, want %q", tc.what, got, want)
			}
		}
	})
}

// A gap may be of any time: of those that no sample can be of, no hour is marked.
func TestAGapOfAllTimeMarksOnlyHoursThatAreKept(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	d.push(node, receipt(1), gather(t, func(b *store.Batch) error {
		return b.Gap(domain.Gap{Source: "agent", Reason: "restart", From: utc(t, "1999-01-01 00:00:00"), To: utc(t, "9999-01-01 00:00:00")})
	}))
	list := d.dirtyHours()
	// 14 days back and 48 hours ahead, with the hours that they begin and end in.
	if n := len(list); n != 14*24+48+1 {
		t.Errorf("%d hours are marked", n)
	}
}

func TestImportsMarkNothing(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	i, err := d.Import(t.Context(), "june", "db1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(i.System(domain.SystemSample{At: today(), Interval: time.Second}), i.Close(t.Context(), store.CollectionNode{})); err != nil {
		t.Fatal(err)
	}
	d.wantDirty("after an import")
}

func TestMarksAreCountedAndACleanedWindowIsOneThatNobodyMarkedSince(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other, at := d.node("db1"), d.node("db2"), today()
	day := at.Format("02 15:04")
	first := gather(t, interrupts(at, 10))
	d.push(node, receipt(1), first)
	d.push(node, receipt(1), first) // a duplicate: nothing was written
	d.wantDirty("pushed once", fmt.Sprintf("%d %s 1", node, day))
	d.push(node, receipt(2), first) // the same rows, through staging
	d.push(other, receipt(1), gather(t, interrupts(at, 10)))
	d.wantDirty("pushed three times", fmt.Sprintf("%d %s 2", node, day), fmt.Sprintf("%d %s 1", other, day))

	listed := d.dirtyHours()
	d.push(node, receipt(3), gather(t, interrupts(at.Add(time.Minute), 10)))
	if clean, err := d.CleanWindow(t.Context(), listed[0]); clean || err != nil {
		t.Errorf("a window that was marked again: %v, %v", clean, err)
	}
	if clean, err := d.CleanWindow(t.Context(), listed[1]); !clean || err != nil {
		t.Errorf("a window that was not: %v, %v", clean, err)
	}
	if clean, err := d.CleanWindow(t.Context(), listed[1]); clean || err != nil {
		t.Errorf("a window that is clean: %v, %v", clean, err)
	}
	d.wantDirty("one cleaned", fmt.Sprintf("%d %s 3", node, day))

	// Marked for the first time once more, after another process cleaned it: what was
	// listed before is not that.
	again := gather(t, interrupts(at.Add(2*time.Minute), 10))
	d.push(other, receipt(2), again)
	if clean, err := d.CleanWindow(t.Context(), listed[1]); clean || err != nil {
		t.Errorf("a window that was marked after it was cleaned: %v, %v", clean, err)
	}
	d.wantDirty("marked anew", fmt.Sprintf("%d %s 3", node, day), fmt.Sprintf("%d %s 1", other, day))
}

func TestWindowsOfAScopeAreListedByPageUpToAnInstant(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other, at := d.node("db1"), d.node("db2"), today()
	if err := errors.Join(
		d.MarkDirty(t.Context(), store.ScopeDay, other, at, at.Add(-24*time.Hour), at),
		d.MarkDirty(t.Context(), store.ScopeDay, node, at.Add(-24*time.Hour)),
		d.MarkDirty(t.Context(), store.ScopeDay, node, at.Add(-24*time.Hour)),
		d.MarkDirty(t.Context(), store.ScopeWeek, node, at),
		d.MarkDirty(t.Context(), store.ScopeWeek, node),
	); err != nil {
		t.Fatal(err)
	}
	var got []string
	var p store.Page
	for p.Limit = 1; ; {
		list, next, err := d.DirtyWindows(t.Context(), store.ScopeDay, at.Add(time.Microsecond), p)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		w := list[0]
		got = append(got, fmt.Sprintf("%v %v %d %s", w.Node == node, at.Sub(w.At), w.Marks, w.Scope))
		if time.Since(w.MarkedAt).Abs() > time.Hour {
			t.Errorf("marked at %s", w.MarkedAt)
		}
		if p.After = next; next == "" {
			break
		}
	}
	if want := []string{"true 24h0m0s 2 day", "false 24h0m0s 1 day", "false 0s 1 day"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if list, _, err := d.DirtyWindows(t.Context(), store.ScopeDay, at, store.Page{}); err != nil || len(list) != 2 {
		t.Errorf("before today: %v, %v", list, err)
	}
	if _, _, err := d.DirtyWindows(t.Context(), store.ScopeWeek, at, store.Page{After: p.After + "x"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor of no list: %v", err)
	}
	if err := d.MarkDirty(t.Context(), store.ScopeIncident, node, at); err == nil {
		t.Error("an incident was marked")
	}
	if _, _, err := d.SaveFinding(t.Context(), node, store.ScopeHour, window(at, time.Hour), &domain.Finding{}); err == nil {
		t.Error("an hour has a finding")
	}
}

// waitsForLock waits until a backend waits for a lock that a transaction holds.
func (d *database) waitsForLock(tx pgx.Tx) {
	d.t.Helper()
	var holder int
	if err := tx.QueryRow(d.t.Context(), `SELECT pg_backend_pid()`).Scan(&holder); err != nil {
		d.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var waits bool
		if err := d.Pool().QueryRow(d.t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1::int4 = ANY (pg_blocking_pids(pid)))`, holder).Scan(&waits); err != nil {
			d.t.Fatal(err)
		}
		if waits {
			return
		}
		if time.Now().After(end) {
			d.t.Fatal("nobody waits")
		}
	}
}

// The review lists a window, reads its samples and cleans it, while a push of that
// window is under way: its rows were not seen, so its mark must be there at the end,
// in whichever order both reach the mark.
func TestAPushThatIsUnderWayWhileItsWindowIsCleanedLeavesItMarked(t *testing.T) {
	t.Parallel()
	// marksOfPush is what a push does last, before its commit.
	const marksOfPush = `INSERT INTO dirty_windows AS d (node_id, scope, at, marks, since, marked_at) VALUES ($1, 'hour', $2, 1, now(), now())
		ON CONFLICT (node_id, scope, at) DO UPDATE SET marks = d.marks + 1, marked_at = excluded.marked_at`
	begin := func(t *testing.T) (d *database, node store.NodeID, at time.Time, listed store.DirtyWindow, push pgx.Tx) {
		t.Helper()
		d = openDatabase(t)
		node, at = d.node("db1"), today()
		d.push(node, receipt(1), gather(t, interrupts(at, 10)))
		push, err := d.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = push.Rollback(t.Context()) })
		// Its rows are there, but nobody else sees them.
		if _, err := push.Exec(t.Context(), `INSERT INTO node_events VALUES ($1, $2, 'clock-step', '', '')`, node, at); err != nil {
			t.Fatal(err)
		}
		listed = d.dirtyHours()[0]
		if n := d.count("node_events"); n != 0 {
			t.Fatalf("the review sees %d rows of the push", n)
		}
		return d, node, at, listed, push
	}
	mark := func(t *testing.T, push pgx.Tx, node store.NodeID, at time.Time) {
		t.Helper()
		if _, err := push.Exec(t.Context(), marksOfPush, node, at); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the push marks first, and the review waits for it", func(t *testing.T) {
		t.Parallel()
		d, node, at, listed, push := begin(t)
		mark(t, push, node, at)
		cleaned := make(chan bool, 1)
		go func() {
			clean, err := d.CleanWindow(t.Context(), listed)
			if err != nil {
				t.Error(err)
			}
			cleaned <- clean
		}()
		d.waitsForLock(push)
		if err := push.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if <-cleaned {
			t.Error("the window counts as clean")
		}
		d.wantDirty("afterwards", fmt.Sprintf("%d %s 2", node, at.Format("02 15:04")))
	})
	t.Run("the push marks first, and is rolled back", func(t *testing.T) {
		t.Parallel()
		d, node, at, listed, push := begin(t)
		mark(t, push, node, at)
		cleaned := make(chan bool, 1)
		go func() {
			clean, err := d.CleanWindow(t.Context(), listed)
			if err != nil {
				t.Error(err)
			}
			cleaned <- clean
		}()
		d.waitsForLock(push)
		if err := push.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !<-cleaned {
			t.Error("the window counts as marked")
		}
		d.wantDirty("afterwards")
	})
	t.Run("the review cleans first, and the push marks anew", func(t *testing.T) {
		t.Parallel()
		d, node, at, listed, push := begin(t)
		if clean, err := d.CleanWindow(t.Context(), listed); !clean || err != nil {
			t.Fatal(clean, err)
		}
		mark(t, push, node, at)
		if err := push.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.wantDirty("afterwards", fmt.Sprintf("%d %s 1", node, at.Format("02 15:04")))
	})
	t.Run("the review has not yet committed, and the push waits for it", func(t *testing.T) {
		t.Parallel()
		d, node, at, listed, push := begin(t)
		review, err := d.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := review.Exec(t.Context(), `DELETE FROM dirty_windows WHERE node_id = $1 AND at = $2 AND marks = $3`, node, at, listed.Marks); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := push.Exec(t.Context(), marksOfPush, node, at)
			done <- errors.Join(err, push.Commit(t.Context()))
		}()
		d.waitsForLock(review)
		if err := errors.Join(review.Commit(t.Context()), <-done); err != nil {
			t.Fatal(err)
		}
		d.wantDirty("afterwards", fmt.Sprintf("%d %s 1", node, at.Format("02 15:04")))
	})
}

// The statement that the tests above repeat is the one of the store: a push that
// is held up just before its commit.
func TestARealPushIsNeverLostToTheReview(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	at := today()
	const nodes, pushes = 4, 30
	var pushing sync.WaitGroup
	for n := range nodes {
		node := d.node(fmt.Sprint("db", n))
		pushing.Go(func() {
			for i := range pushes {
				if _, err := d.Push(t.Context(), node, receipt(int64(i+1)), gather(t, interrupts(at.Add(time.Duration(i)*10*time.Second), 10))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { pushing.Wait(); close(ended) }()

	// seen is how many rows of each node the review saw when it last cleaned.
	seen := map[store.NodeID]int{}
	review := func() {
		for _, w := range d.dirtyHours() {
			var rows int
			if err := d.Pool().QueryRow(t.Context(), `SELECT count(*) FROM interrupt_samples WHERE node_id = $1 AND at >= $2 AND at < $2 + interval '1 hour'`, w.Node, w.At).Scan(&rows); err != nil {
				t.Error(err)
			}
			if clean, err := d.CleanWindow(t.Context(), w); err != nil {
				t.Error(err)
			} else if clean {
				seen[w.Node] = rows
			}
		}
	}
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		review()
	}
	for node, rows := range seen {
		if rows != pushes {
			t.Errorf("node %d: the review saw %d of %d rows when the window was clean", node, rows, pushes)
		}
	}
	if left := d.dirty(); len(seen) != nodes || len(left) > 0 {
		t.Errorf("%d nodes were reviewed; marked are %s", len(seen), strings.Join(left, ", "))
	}
}

// Marks are counted up in place: hundreds of marks leave a table of few pages, and
// hardly ever touch an index.
func TestMarksAreUpdatedInPlace(t *testing.T) {
	t.Parallel()
	d := openStore(t, store.Options{URL: testdb.New(t), MaxConns: 1}) // whose statistics are read
	node, at := d.node("db1"), today()
	for range 200 {
		if err := d.MarkDirty(t.Context(), store.ScopeHour, node, at, at.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	d.exec(`SELECT pg_stat_force_next_flush()`)
	d.wantLines([]string{"398 true true"}, `SELECT concat_ws(' ', n_tup_upd, (n_tup_hot_upd >= 0.95 * n_tup_upd)::text, (pg_relation_size(relid) <= 4 * 8192)::text)
		FROM pg_stat_user_tables WHERE relname = 'dirty_windows'`)
}
