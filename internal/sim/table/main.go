// Command table runs the simulation of the method's size and power and prints
// it as a Markdown table, one row a kind of scenario.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/sim"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func run() error {
	n := flag.Int("n", 760, "scenarios")
	seed := flag.Uint64("seed", 1, "seed")
	verbose := flag.Bool("wrong", false, "list the scenarios whose verdict is wrong")
	only := flag.String("kind", "", "only this kind of scenario")
	prm := correlate.DefaultParams()
	flag.Float64Var(&prm.MainLow, "main-low", prm.MainLow, "lower end of the attributable share that the overall verdict asks for")
	flag.IntVar(&prm.BurstStrata, "burst-strata", prm.BurstStrata, "levels of the load just before a visit; 1 does without")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	list := sim.Scenarios(*n, *seed)
	if *only != "" {
		list = slices.DeleteFunc(list, func(s sim.Named) bool { return s.Kind != *only })
	}
	var t sim.Table
	err := sim.JudgeAll(ctx, list, prm, runtime.GOMAXPROCS(0), func(o *sim.Outcome) {
		t.Add(o)
		if *verbose && !o.Right() {
			fmt.Fprintln(os.Stderr, describe(o))
		}
	})
	if err != nil {
		return err
	}
	fmt.Print(t.Markdown())
	return nil
}

func describe(o *sim.Outcome) string {
	f := o.Finding
	s := fmt.Sprintf("%s seed %d: %s, accepted %v; stalls %d (true %d)", o.Name, o.Scenario.Seed, f.Verdict, o.Truth.Accept, f.Waits.Stalls, o.Truth.Stalls)
	if f.Coverage.Kappa != nil {
		s += fmt.Sprintf(", kappa %.2f", *f.Coverage.Kappa)
	}
	for _, c := range f.Causes {
		if c.Verdict == domain.Supported || c.Cause == domain.CauseInterrupts || slices.Contains(o.Truth.Accept, c.Cause) {
			s += fmt.Sprintf("\n    %s %s %v", c.Cause, c.Verdict, c.Evidence)
		}
	}
	return s
}
