package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
)

// Tally is what an hour of one instance and watch held, as the engine counts it.
// Counts are negative where they are unknown.
type Tally struct {
	Node     NodeID
	Instance string // "" unknown
	Watch    string
	At       time.Time // begin of the hour, UTC
	Length   time.Duration

	ObservedS     int // seconds with data
	Stalls        int
	StallsExposed int
	ExposedS      int // seconds of them in which the watched process ran on a heavy CPU
	// WaitsLow and WaitsHigh bound the number of waits over the threshold.
	WaitsLow, WaitsHigh int64
	Max                 time.Duration // the longest wait
}

func queueTally(b *pgx.Batch, t *Tally) {
	b.Queue(`
		INSERT INTO tallies (node_id, instance, watch, at, length_us, observed_s, stalls, stalls_exposed, exposed_s, waits_low, waits_high, max_us)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		t.Node, storable(t.Instance, longestName), storable(t.Watch, longestName), t.At, t.Length.Microseconds(), known(t.ObservedS), known(t.Stalls),
		known(t.StallsExposed), known(t.ExposedS), known(t.WaitsLow), known(t.WaitsHigh), knownMicros(t.Max))
}

// longestTallies bounds the window of Tallies: a row an hour for as long as
// rollups are kept, and some more.
const longestTallies = 400 * day

// Tallies gives the hours of one instance and watch that begin in the window, in
// order. The window is at most 400 days.
func (s *Store) Tallies(ctx context.Context, node NodeID, instance, watch string, w domain.Window) (tallies []Tally, err error) {
	if w.Duration() > longestTallies {
		return nil, fmt.Errorf("tallies of %s: a window of %v: at most %v", watch, w.Duration(), longestTallies)
	}
	err = s.step(ctx, "read tallies", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT at, length_us, coalesce(observed_s, -1), coalesce(stalls, -1), coalesce(stalls_exposed, -1), coalesce(exposed_s, -1),
			       coalesce(waits_low, -1), coalesce(waits_high, -1), coalesce(max_us, -1)
			FROM tallies WHERE node_id = $1 AND instance = $2 AND watch = $3 AND at >= $4 AND at < $5 ORDER BY at`,
			node, storable(instance, longestName), storable(watch, longestName), w.From, w.To)
		if err != nil {
			return err
		}
		tallies, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Tally, error) {
			t := Tally{Node: node, Instance: instance, Watch: watch}
			var length, longest int64
			err := row.Scan(&t.At, &length, &t.ObservedS, &t.Stalls, &t.StallsExposed, &t.ExposedS, &t.WaitsLow, &t.WaitsHigh, &longest)
			t.At, t.Length, t.Max = t.At.UTC(), time.Duration(length)*time.Microsecond, time.Duration(longest)*time.Microsecond
			return t, err
		})
		return err
	})
	return tallies, err
}

// known gives NULL for what is negative.
func known[T int | int64](v T) *T {
	if v < 0 {
		return nil
	}
	return &v
}

// knownMicros gives NULL for what is negative, else microseconds.
func knownMicros(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	return known(d.Microseconds())
}
