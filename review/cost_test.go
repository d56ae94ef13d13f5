package review_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// mostGrowth is how many times the pages of a first week's day the review of the same
// day may look at weeks later.
const mostGrowth = 1.5

// TestAReviewCostsTheSameHoweverMuchWasBefore lets the same seven days come week after
// week: what their reviews look at more in the last week than in the first is history.
// Pages do not depend on what else the machine does. Days are compared one by one and
// the median counts, since the server's own upkeep falls on some of them.
func TestAReviewCostsTheSameHoweverMuchWasBefore(t *testing.T) {
	n := max(weeks(t), 2)
	c := newCluster(t, n)
	day := innocentDay(c.from, 1)
	o := review.DefaultOptions()
	o.Quiet, o.Raw = 0, time.Duration(n+3)*aWeek
	measured := map[int]map[string]int64{}
	for number := range 7 * n {
		for node := range c.nodes {
			s := day(number%7, node)
			s.Start = c.from.Add(time.Duration(number)*aDay + 7*time.Hour)
			s.Hours, s.Stalls.Count = 3, 150
			c.arrive(&s)
		}
		now := c.from.Add(time.Duration(number+1)*aDay + 10*time.Minute)
		if week := number / 7; number%7 == 6 || week > 0 && week < n-1 {
			c.review(now)
			continue
		}
		measured[number] = c.looksAt(o, now)
	}
	var growth []float64
	early, late := map[string]int64{}, map[string]int64{}
	for weekday := range 6 {
		var first, last int64
		for table, pages := range measured[weekday] {
			first, early[table] = first+pages, early[table]+pages
		}
		for table, pages := range measured[7*(n-1)+weekday] {
			last, late[table] = last+pages, late[table]+pages
		}
		growth = append(growth, float64(last)/float64(first))
	}
	slices.Sort(growth)
	t.Logf("cost of new data: the review of a day looks at %.2f times the pages after %d weeks (median; %.2f to %.2f)", growth[3], n-1, growth[0], growth[5])
	for table, pages := range late {
		if grew := pages - early[table]; grew > 500 {
			t.Logf("%s: %d pages in the first week, %d in the last one", table, early[table], pages)
		}
	}
	if growth[3] > mostGrowth {
		t.Errorf("over %v times", mostGrowth)
	}
}

// looksAt reviews by connections of its own and gives the pages that they looked at, by
// table. Connections tell late what they did, and all of it when they end: else what
// the day's import looked at, several times as much, would be counted here.
func (c *cluster) looksAt(o review.Options, now time.Time) map[string]int64 {
	c.t.Helper()
	c.Close() // what it did is told now, and not counted later
	c.alone()
	before := c.pagesByTable()
	st, err := store.Open(c.t.Context(), store.Options{URL: c.url, RawRetention: o.Raw})
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := review.New(st, o)
	if err == nil {
		_, err = r.Run(c.t.Context(), now)
	}
	st.Close()
	if err != nil {
		c.t.Fatal(err)
	}
	c.alone()
	after := c.pagesByTable()
	for table := range after {
		after[table] -= before[table]
	}
	if st, err = store.Open(c.t.Context(), store.Options{URL: c.url, RawRetention: o.Raw}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(st.Close)
	if c.Review, err = review.New(st, o); err != nil {
		c.t.Fatal(err)
	}
	c.Store = st
	return after
}

// alone waits until no other connection is left.
func (c *cluster) alone() {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if c.lines(`SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`)[0] == "1" {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("connections do not end")
		}
	}
}

// pagesByTable gives the pages looked at of each table and its indexes, partitions
// together with their table.
func (c *cluster) pagesByTable() map[string]int64 {
	c.t.Helper()
	rows, err := c.sql.Query(c.t.Context(), `SELECT coalesce(p.relname, s.relname)::text, sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
			+ coalesce(idx_blks_read, 0) + coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0))::int8
		FROM pg_statio_all_tables s LEFT JOIN pg_inherits i ON i.inhrelid = s.relid LEFT JOIN pg_class p ON p.oid = i.inhparent
		WHERE s.schemaname <> 'pg_toast' GROUP BY 1`)
	if err != nil {
		c.t.Fatal(err)
	}
	pages := map[string]int64{}
	var table string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &n}, func() error { pages[table] = n; return nil }); err != nil {
		c.t.Fatal(err)
	}
	return pages
}
