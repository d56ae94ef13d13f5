package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/domain"
)

// Stall is one stall of an instance, as the review of its hour found it.
type Stall struct {
	Instance string
	At       time.Time // an instant within it
	Longest  time.Duration
	Waiters  int
	Exposure string // as in domain.StallMark
}

// longestStalls bounds the window of Stalls: ASH sees one a second at most.
const longestStalls = 8 * day

// SaveHour writes what the review of an hour of a node found, in place of what an
// earlier one found: the tallies of its instances and their stalls. Tallies are of
// that node, watch and hour.
func (s *Store) SaveHour(ctx context.Context, node NodeID, watch string, hour time.Time, tallies []Tally, stalls []Stall) error {
	if !hour.Equal(hour.Truncate(time.Hour)) {
		return fmt.Errorf("save hour: %s is not the begin of an hour", hour.UTC().Format(time.RFC3339Nano))
	}
	watch = storable(watch, longestName)
	var b pgx.Batch
	b.Queue(`DELETE FROM tallies WHERE node_id = $1 AND watch = $2 AND at = $3`, node, watch, hour)
	b.Queue(`DELETE FROM stalls WHERE node_id = $1 AND watch = $2 AND at >= $3 AND at < $4`, node, watch, hour, hour.Add(time.Hour))
	for i := range tallies {
		if t := &tallies[i]; t.Node != node || !t.At.Equal(hour) || storable(t.Watch, longestName) != watch {
			return fmt.Errorf("save hour %s: a tally of node %d, %s, %s", hour.UTC().Format(time.RFC3339), t.Node, t.Watch, t.At.UTC().Format(time.RFC3339))
		}
		queueTally(&b, &tallies[i])
	}
	for _, st := range stalls {
		b.Queue(`INSERT INTO stalls (node_id, instance, watch, at, longest_us, waiters, exposure) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (node_id, watch, at, instance) DO UPDATE
			SET longest_us = greatest(stalls.longest_us, excluded.longest_us), waiters = greatest(stalls.waiters, excluded.waiters)`,
			node, storable(st.Instance, longestName), watch, st.At, st.Longest.Microseconds(), st.Waiters, storable(st.Exposure, longestName))
	}
	return s.inTx(ctx, "save hour", func(ctx context.Context, tx pgx.Tx) error {
		return tx.SendBatch(ctx, &b).Close()
	})
}

// Stalls gives the stalls of a node's instances under a watch in a window of at
// most 8 days, in order of time.
func (s *Store) Stalls(ctx context.Context, node NodeID, watch string, w domain.Window) (stalls []Stall, err error) {
	if w.Duration() > longestStalls {
		return nil, fmt.Errorf("stalls of %s: a window of %v: at most %v", watch, w.Duration(), longestStalls)
	}
	err = s.step(ctx, "read stalls", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `
			SELECT instance, at, longest_us, waiters, exposure FROM stalls
			WHERE node_id = $1 AND watch = $2 AND at >= $3 AND at < $4 ORDER BY at, instance`,
			node, storable(watch, longestName), w.From, w.To)
		if err != nil {
			return err
		}
		stalls, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Stall, error) {
			var st Stall
			var longest int64
			err := row.Scan(&st.Instance, &st.At, &longest, &st.Waiters, &st.Exposure)
			st.At, st.Longest = st.At.UTC(), time.Duration(longest)*time.Microsecond
			return st, err
		})
		return err
	})
	return stalls, err
}
