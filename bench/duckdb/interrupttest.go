package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/corewait/corewait/correlate/series"
)

//go:embed prepare.sql
var prepareSQL string

//go:embed permute.sql
var permuteSQL string

//go:embed result.sql
var resultSQL string

//go:embed shift.sql
var shiftSQL string

// result is what the interrupt test comes to.
type result struct {
	exposed, unexposed int64
	expected           float64
	p                  float64 // of the stalls exposed
	trendP             float64 // of the trend with dose
	socketP            float64 // of the trend within sockets
	placeboP           float64
	cpus               int64 // single CPUs with p <= 0.005 over their family
}

// draw runs the tests of a prepared series by drawing labels.
func (d *database) draw(ctx context.Context, s *series.Series, rounds int) (result, error) {
	var r result
	text := textFor(s, rounds)
	if err := d.exec(ctx, text.Replace(permuteSQL)); err != nil {
		return r, err
	}
	row := d.conn.QueryRowContext(ctx, text.Replace(resultSQL))
	if err := row.Scan(&r.exposed, &r.unexposed, &r.expected, &r.p, &r.trendP, &r.socketP, &r.placeboP, &r.cpus); err != nil {
		return r, fmt.Errorf("DuckDB: read the result: %w", err)
	}
	return r, nil
}

// prepare does all that comes before the permutations.
func (d *database) prepare(ctx context.Context, s *series.Series) error {
	return d.exec(ctx, textFor(s, 0).Replace(prepareSQL))
}

// shift runs the test of the stalls exposed by shifting stalls, and gives its
// p-value.
func (d *database) shift(ctx context.Context, s *series.Series, rounds int) (float64, error) {
	var p float64
	if err := d.conn.QueryRowContext(ctx, textFor(s, rounds).Replace(shiftSQL)).Scan(&p); err != nil {
		return 0, fmt.Errorf("DuckDB: shift stalls: %w", err)
	}
	return p, nil
}

// textFor fills in what SQL cannot compute: an expression for each column, and
// the window.
func textFor(s *series.Series, rounds int) *strings.Replacer {
	means, cases := make([]string, len(s.Interrupts.CPUs)), make([]string, len(s.Interrupts.CPUs))
	for i, id := range s.Interrupts.CPUs {
		means[i] = fmt.Sprintf(`avg(cpu%d) AS "%d"`, id, id)
		cases[i] = fmt.Sprintf("WHEN %d THEN i.cpu%d", id, id)
	}
	return strings.NewReplacer(
		"{means}", strings.Join(means, ", "), "{cases}", strings.Join(cases, " "),
		"{from}", fmt.Sprint(s.Window.From), "{to}", fmt.Sprint(s.Window.To),
		"{seconds}", fmt.Sprint(int(s.Window.Seconds())), "{rounds}", fmt.Sprint(rounds),
	)
}
