package review_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// hostile is a fixture whose database can be looked into, and be made to forget what
// a review found.
type hostile struct {
	*fixture

	url string
	sql *pgx.Conn
}

func newHostile(t *testing.T, change func(*review.Options)) *hostile {
	t.Helper()
	o := review.DefaultOptions()
	o.Quiet = 0
	o.Params.Permutations, o.Params.Bootstraps = 200, 100 // what is tried here is not the statistics
	if change != nil {
		change(&o)
	}
	return openHostile(t, o)
}

// openHostile makes one that keeps samples for as long as the review takes them to be
// kept.
func openHostile(t *testing.T, o review.Options) *hostile {
	t.Helper()
	url := testdb.New(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, RawRetention: o.Raw})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	r, err := review.New(st, o)
	if err != nil {
		t.Fatal(err)
	}
	return &hostile{fixture: &fixture{t: t, Store: st, Review: r}, url: url, sql: conn}
}

// monday gives the begin of the week before this one, in UTC: all of it is over, and
// within the two weeks that samples are kept.
func monday() time.Time {
	today := time.Now().UTC().Truncate(aDay)
	return today.Add(-aDay * time.Duration((int(today.Weekday())+6)%7)).Add(-aWeek)
}

// small is some minutes of a small node on which interrupts make about 200 stalls an hour.
func small(node, instance string, start time.Time, minutes float64) refcase.Scenario {
	s := refcase.Reference()
	s.Node, s.Instance, s.Start, s.Hours = node, instance, start, minutes/60
	s.Machine = refcase.Machine{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 2}
	s.Interconnect = refcase.Interconnect{Socket: 1, QueuesPerS: []float64{4200, 1900, 2600, 350, 1500, 300, 3100, 250}}
	s.Stalls.Count = 200 * s.Hours
	s.Records.ASH, s.Records.Histogram = refcase.ASHFiltered, 0
	return s
}

// store puts what a scenario tells beside what agents push.
func (h *hostile) store(s refcase.Scenario) {
	h.t.Helper()
	h.feed(s.Node, func(to *series.Intervals) error {
		_, err := s.Generate(to)
		return err
	})
}

// feed stores what is given of a node.
func (h *hostile) feed(node string, give func(*series.Intervals) error) {
	h.t.Helper()
	to, err := h.ImportLive(h.t.Context(), node)
	if err != nil {
		h.t.Fatal(err)
	}
	intervals := series.NewIntervals(to)
	err = give(intervals)
	if err == nil {
		err = intervals.Flush()
	}
	if err == nil {
		err = to.Flush(h.t.Context())
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// reports is the review's own tables, without names and times that are drawn anew
// each time; evidence is counted by what it belongs to.
var reports = []string{
	`SELECT 'tally ' || to_jsonb(t)::text FROM tallies t`,
	`SELECT 'stall ' || to_jsonb(s)::text FROM stalls s`,
	`SELECT 'incident ' || (to_jsonb(i) - 'incident_id' - 'created_at' - 'dismissed_at' - 'collection_id')::text || (collection_id IS NOT NULL)::text FROM incidents i`,
	`SELECT 'finding ' || (to_jsonb(f) - 'created_at' - 'incident_id' - 'finding_id')::text FROM findings f`,
	`SELECT 'dirty ' || scope || at::text FROM dirty_windows`,
	`SELECT 'rollup ' || count(*) FROM wait_rollups`,
	`SELECT format('evidence from %s: %s rows', i.from_at, count(*)) FROM incidents i
		JOIN (SELECT collection_id FROM kept_waits UNION ALL SELECT collection_id FROM kept_interrupt_samples UNION ALL SELECT collection_id FROM kept_placement_samples) AS k
		USING (collection_id) GROUP BY i.incident_id, i.from_at`,
}

// state gives all that reviews left, one line each, in order.
func (h *hostile) state() []string {
	h.t.Helper()
	var lines []string
	for _, q := range reports {
		lines = append(lines, h.lines(q)...)
	}
	slices.Sort(lines)
	return lines
}

// lines gives what a query of one text column gives.
func (h *hostile) lines(query string, args ...any) []string {
	h.t.Helper()
	rows, err := h.sql.Query(h.t.Context(), query, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.t.Fatal(err)
	}
	return lines
}

func (h *hostile) execute(statements ...string) {
	h.t.Helper()
	for _, s := range statements {
		if _, err := h.sql.Exec(h.t.Context(), s); err != nil {
			h.t.Fatal(err)
		}
	}
}

// forget takes back all reviews: the hours that were dirty are so again.
func (h *hostile) forget() {
	h.t.Helper()
	h.execute(`UPDATE incidents SET collection_id = NULL`,
		`DELETE FROM kept_waits`, `DELETE FROM kept_interrupt_samples`, `DELETE FROM kept_placement_samples`, `DELETE FROM kept_device_samples`,
		`DELETE FROM kept_softirq_samples`, `DELETE FROM kept_cpu_samples`, `DELETE FROM kept_system_samples`, `DELETE FROM kept_disk_samples`,
		`DELETE FROM kept_histograms`, `DELETE FROM kept_counters`, `DELETE FROM kept_coverage_gaps`, `DELETE FROM kept_node_events`,
		`DELETE FROM wait_rollups`, `DELETE FROM tallies`, `DELETE FROM stalls`, `DELETE FROM findings`, `DELETE FROM incidents`, `DELETE FROM dirty_windows`,
		`DELETE FROM collection_nodes`, `DELETE FROM collections WHERE collection_id <> 0`,
		`INSERT INTO dirty_windows SELECT DISTINCT node_id, 'hour', date_trunc('hour', at, 'UTC'), 1, now(), now() FROM (
			SELECT node_id, at FROM waits UNION ALL SELECT node_id, at FROM system_samples) AS s`)
}

// wantState compares what reviews left with what they should have.
func (h *hostile) wantState(want []string, what string) {
	h.t.Helper()
	got := h.state()
	shorten := func(s string) string { return s[:min(len(s), 300)] }
	var differ []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			differ = append(differ, "- "+shorten(line))
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			differ = append(differ, "+ "+shorten(line))
		}
	}
	if len(differ) > 0 || len(got) != len(want) {
		h.t.Errorf("%s: %d lines of state, want %d; wanted -, there +:\n%s", what, len(got), len(want), strings.Join(differ[:min(len(differ), 12)], "\n"))
	}
}

// fuse is a context that ends with one of the steps of the store: each bounds its
// own time, and asks for the time that is left.
type fuse struct {
	context.Context

	blow  context.CancelFunc
	after int64
	steps *atomic.Int64
}

func newFuse(parent context.Context, after int64) fuse {
	ctx, cancel := context.WithCancel(parent)
	return fuse{ctx, cancel, after, new(atomic.Int64)}
}

// Deadline is asked for by every step.
func (f fuse) Deadline() (time.Time, bool) {
	if f.steps.Add(1) == f.after {
		f.blow()
	}
	return f.Context.Deadline()
}

// TestAReviewBrokenOffAnywhereEndsAsAnUninterruptedOne lets a review of two nodes,
// with incidents, a day, a week and tests of the fleet that need more permutations,
// end at one step of the store after the other, and another one finish the work. In
// the campaign it is every step, else every eleventh, from a random one on.
func TestAReviewBrokenOffAnywhereEndsAsAnUninterruptedOne(t *testing.T) {
	t.Parallel()
	h := newHostile(t, func(o *review.Options) { o.Params.Permutations, o.Params.Bootstraps = 100, 50 })
	begin := monday().Add(30 * time.Hour).Add(-12 * time.Minute)
	h.store(small("db1", "ORDP1", begin, 24))
	other := small("db2", "ORDP2", begin, 24)
	other.Stalls.Cause, other.Seed = refcase.CauseNone, 7
	h.store(other)
	now := time.Now()

	whole := newFuse(t.Context(), 0)
	if done, err := h.Run(whole, now); err != nil || done.Hours != 4 || done.Days != 2 || done.Weeks != 2 || done.Incidents < 2 || done.Fleet != 2 {
		t.Fatalf("the uninterrupted review: %v, error %v", done, err)
	}
	steps := whole.steps.Load()
	want := h.state()
	h.forget()
	h.review(now)
	h.wantState(want, "the same once more") // else the comparison below says nothing

	stride := int64(11)
	if os.Getenv(weeksVariable) != "" {
		stride = 1
	}
	broken := 0
	for after := 1 + time.Now().UnixNano()%stride; after <= steps; after += stride {
		h.forget()
		f := newFuse(t.Context(), after)
		if _, err := h.Run(f, now); err == nil {
			t.Errorf("broken off at step %d of %d: no error", after, steps)
		}
		h.review(now)
		h.wantState(want, fmt.Sprintf("broken off at step %d of %d", after, steps))
		broken++
		if t.Failed() {
			return
		}
	}
	t.Logf("broken off at %d of %d steps", broken, steps)
}
