// Command duckdb times the whole of corewait's correlate.Analyze against
// DuckDB doing the interrupt test in SQL over the same series, by turns, both
// on one thread, and prints the ratio. docs/BENCHMARKS.md says what each side
// computes.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/corewait/corewait/bench/measure"
	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "duckdb:", err)
		os.Exit(1)
	}
}

// Rounds of the measurement. Of the permutations by shifts a part is run and
// scaled up; half as many beside it show that their time is linear.
const (
	rounds    = 7
	partDone  = 400
	halfOfIt  = partDone / 2
	mebi      = 1 << 20
	tolerance = 0.01 // of what is expected: quantiles of load are taken differently
)

func run(ctx context.Context) (err error) {
	runtime.GOMAXPROCS(1)
	prm := correlate.DefaultParams()
	s := week()
	fmt.Printf("%d s of %d CPUs at 1 Hz, %d stalls, %d permutations; %d rounds, one thread a side\n", seconds, cpus, stalls, prm.Permutations, rounds)
	if err := memory(s, prm); err != nil {
		return err
	}
	d, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.load(ctx, s); err != nil {
		return err
	}
	var theirs result
	var ours *domain.Finding
	sides := []struct {
		name string
		run  func() error
	}{
		{"corewait: correlate.Analyze, the whole of it", func() error { ours = correlate.Analyze(s, prm); return nil }},
		{"DuckDB: up to the permutations", func() error { return d.prepare(ctx, s) }},
		{fmt.Sprintf("DuckDB: %d shifts", partDone), func() error { _, err := d.shift(ctx, s, partDone); return err }},
		{fmt.Sprintf("DuckDB: %d shifts", halfOfIt), func() error { _, err := d.shift(ctx, s, halfOfIt); return err }},
		{fmt.Sprintf("DuckDB: %d draws without a join by time", prm.Permutations), func() (err error) { theirs, err = d.draw(ctx, s, prm.Permutations); return err }},
	}
	runs := make([]func() error, len(sides))
	for i := range sides {
		runs[i] = sides[i].run
	}
	costs, err := measure.Rounds(rounds, runs...)
	if err != nil {
		return err
	}
	if err := agree(theirs, ours); err != nil {
		return err
	}
	for i := range sides {
		fmt.Printf("  %-46s %s ms CPU, %s ms wall\n", sides[i].name, measure.CPUMillis(costs[i]), measure.WallMillis(costs[i]))
	}
	analyze, prepare, shift := costs[0], costs[1], scaled(costs[2], float64(prm.Permutations)/partDone)
	fmt.Printf("  twice the shifts take %s times as long\n", measure.Ratios(costs[2], costs[3]))
	fmt.Printf("  ratio with draws, CPU time       %s\n", measure.Ratios(sums(prepare, costs[4]), analyze))
	fmt.Printf("  ratio with shifts, wall time     %s\n", measure.WallRatios(sums(prepare, shift), analyze))
	ratio := measure.Ratios(sums(prepare, shift), analyze)
	fmt.Printf("  ratio with shifts, CPU time      %s\n", ratio)
	fmt.Printf("ratio duckdb %.1f\n", ratio.Median)
	return nil
}

// sums adds the costs of two parts of one side, round by round.
func sums(a, b []measure.Cost) []measure.Cost {
	out := make([]measure.Cost, len(a))
	for i := range a {
		out[i] = measure.Cost{Wall: a[i].Wall + b[i].Wall, CPU: a[i].CPU + b[i].CPU}
	}
	return out
}

func scaled(costs []measure.Cost, by float64) []measure.Cost {
	out := make([]measure.Cost, len(costs))
	for i, c := range costs {
		out[i] = measure.Cost{Wall: time.Duration(float64(c.Wall) * by), CPU: time.Duration(float64(c.CPU) * by)}
	}
	return out
}

// memory prints what the series hold and what Analyze takes on top.
func memory(s *series.Series, prm correlate.Params) error {
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	if err := measure.ForgetPeak(); err != nil {
		return err
	}
	before, err := measure.ReadResident()
	if err != nil {
		return err
	}
	correlate.Analyze(s, prm)
	after, err := measure.ReadResident()
	if err != nil {
		return err
	}
	fmt.Printf("  the series hold %.0f MiB; Analyze's peak is %.0f MiB resident over the %.0f MiB before it\n",
		float64(heap.HeapAlloc)/mebi, float64(after.Peak-before.Now)/mebi, float64(before.Now)/mebi)
	return nil
}

// agree checks that both sides did the same test: the same stalls exposed and,
// about as many expected.
func agree(theirs result, ours *domain.Finding) error {
	c := ours.Coincidence
	if c == nil || c.ExpectedExposed == nil || c.PValue == nil {
		return errors.New("corewait made no interrupt test")
	}
	if theirs.exposed != int64(c.StallsExposed) || theirs.unexposed != int64(c.StallsUnexposed) {
		return fmt.Errorf("DuckDB finds %d stalls exposed and %d not, corewait %d and %d", theirs.exposed, theirs.unexposed, c.StallsExposed, c.StallsUnexposed)
	}
	if math.Abs(theirs.expected-*c.ExpectedExposed) > tolerance*theirs.expected {
		return fmt.Errorf("DuckDB expects %.1f stalls exposed, corewait %.1f", theirs.expected, *c.ExpectedExposed)
	}
	fmt.Printf("  both find %d of %d stalls exposed; %.1f expected by DuckDB, %.1f by corewait; p = %.2g and %.2g\n",
		theirs.exposed, theirs.exposed+theirs.unexposed, theirs.expected, *c.ExpectedExposed, theirs.p, *c.PValue)
	return nil
}
