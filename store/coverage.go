package store

import (
	"context"
	"fmt"
	"time"

	"github.com/corewait/corewait/domain"
)

// Sources of a SourceCoverage.
const (
	CoverageInterrupts = "interrupts"
	CoverageCPU        = "cpu"
	CoveragePlacement  = "placement"
	CoverageWaits      = "waits"
	CoverageHistograms = "histograms"
	CoverageCounters   = "counters"
)

// SourceCoverage is how much of a window one source observed.
type SourceCoverage struct {
	Source   string
	Instance int    // INST_ID, -1 unknown; -1 for what the host tells
	Detail   string // the command of placement, the event of waits ("" on CPU) and histograms
	// First and Last are the begin of what is known within the window and its end.
	First, Last time.Time
	// Observed is the time that is covered, what two rows cover counted once. Between
	// two readings a minute apart or less, time counts as covered. Negative for waits:
	// where nobody waits there are no rows.
	Observed time.Duration
}

// longestCoverage bounds the window of Coverage.
const longestCoverage = 8 * day

// Columns of rows that no instance tells: instance, number of the detail's name, and
// what the row covers. The last sample of a run stands for a period.
const (
	hostRows      = "-1::int4 AS inst, 0 AS detail_id, at AS first, at + length_us * interval '1 microsecond' AS last"
	placementRows = "-1::int4 AS inst, command_id AS detail_id, at AS first, until + period_us * interval '1 microsecond' AS last"
)

// coverageRows are the sources, each with its table and such columns of it.
var coverageRows = []struct {
	source  string
	table   *table
	columns string
	reaches time.Duration // the longest part of a row before the window; 0: an instant
	between bool          // time between two rows of a key counts, where they are near
}{
	{CoverageInterrupts, interruptSamples, hostRows, longestLive, false},
	{CoverageCPU, cpuSamples, hostRows, longestLive, false},
	{CoveragePlacement, placementSamples, placementRows, longestRun * time.Microsecond, false},
	{CoverageWaits, waitSamples, "inst_id::int4 AS inst, event_id AS detail_id, at AS first, at AS last", 0, false},
	{CoverageHistograms, histogramSamples, "inst_id::int4 AS inst, event_id AS detail_id, at AS first, until AS last", longestRun * time.Microsecond, true},
	{CoverageCounters, counterSamples, "inst_id::int4 AS inst, 0 AS detail_id, at AS first, until AS last", longestRun * time.Microsecond, true},
}

// Coverage tells how much of a window of at most 8 days each source of a node
// observed, by source, instance and detail. A source without rows is not there.
func (s *Store) Coverage(ctx context.Context, src Source, w domain.Window) ([]SourceCoverage, error) {
	if w.From.IsZero() || !w.From.Before(w.To) || w.Duration() > longestCoverage {
		return nil, fmt.Errorf("coverage of node %d: a window of at most %v is needed", src.Node, longestCoverage)
	}
	var all []SourceCoverage
	for _, c := range coverageRows {
		q := coverageQuery(src, w, c.table, c.columns, c.reaches, c.between)
		list, err := readAll(ctx, s, "measure coverage of "+c.table.name, q, func(r *rowReader) (SourceCoverage, error) {
			v := SourceCoverage{Source: c.source, Instance: int(r.int4()), Detail: r.text(), First: instant(r.time()), Last: instant(r.time())}
			v.Observed = time.Duration(r.int8()) * time.Microsecond
			if c.source == CoverageWaits {
				v.Observed = -1
			}
			return v, r.err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// coverageQuery unites the spans of each instance and detail: of each row that part
// counts which lies beyond all before it. A row that begins a while after the last
// one ended begins there, where the time between counts.
func coverageQuery(src Source, w domain.Window, t *table, columns string, reaches time.Duration, between bool) *query {
	rows := src.of(t, columns)
	rows.add("AND at >= ? AND at < ?", w.From.Add(-reaches), w.To)
	near := 0
	if between {
		near = longestRun
	}
	q := &query{args: rows.args}
	q.sql.WriteString(`WITH spans AS (SELECT inst, detail_id, greatest(first, `)
	q.add(`?::timestamptz) AS first, least(last, ?::timestamptz) AS last FROM (`+rows.sql.String()+`) AS r WHERE last >= ?),`, w.From, w.To, w.From)
	q.add(`reached AS (SELECT inst, detail_id, first, last,
			max(last) OVER (PARTITION BY inst, detail_id ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM spans)
		SELECT inst, coalesce((SELECT name FROM names WHERE name_id = detail_id), ''), min(first), max(last),
			(sum(extract(epoch FROM greatest(last, before) - CASE WHEN first <= before THEN before WHEN first - before <= ? * interval '1 microsecond' THEN before ELSE first END)) * 1000000)::int8
		FROM reached GROUP BY inst, detail_id ORDER BY 1, 2`, near)
	return q
}
