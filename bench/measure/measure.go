// Package measure owns how the benchmarks under bench/ time two sides against
// each other: by turns, in one process on one CPU at a time. It knows nothing
// of what is measured.
package measure

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Cost is what one run took.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration // user and system time of the whole process, collector included
}

// Once runs f on a heap that was just collected, so that no side pays for what
// the other left behind.
func Once(f func() error) (Cost, error) {
	runtime.GC()
	before, err := processCPU()
	if err != nil {
		return Cost{}, err
	}
	start := time.Now()
	if err := f(); err != nil {
		return Cost{}, err
	}
	wall := time.Since(start)
	after, err := processCPU()
	return Cost{wall, after - before}, err
}

// processCPU gives the CPU time that this process has used.
func processCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the process' CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// Rounds runs the sides by turns (A B C A B C ...), as many rounds as asked,
// after one round that warms up and is not counted. The costs come by side.
func Rounds(rounds int, sides ...func() error) ([][]Cost, error) {
	if rounds < 1 {
		return nil, errors.New("at least one round is needed")
	}
	costs := make([][]Cost, len(sides))
	for round := range rounds + 1 {
		for i, side := range sides {
			c, err := Once(side)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				costs[i] = append(costs[i], c)
			}
		}
	}
	return costs, nil
}

// Spread is the least, the median and the greatest of some values.
type Spread struct{ Min, Median, Max float64 }

// SpreadOf gives the spread of at least one value.
func SpreadOf(values []float64) Spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}

func (s Spread) String() string {
	return fmt.Sprintf("%.3g (%.3g to %.3g)", s.Median, s.Min, s.Max)
}

// Ratios divides the CPU time of one side by that of the other, round by round.
// CPU time, since both sides use one thread and other processes may run: they
// lengthen wall time by what they take.
func Ratios(slow, quick []Cost) Spread {
	v := make([]float64, len(slow))
	for i := range slow {
		v[i] = float64(slow[i].CPU) / float64(quick[i].CPU)
	}
	return SpreadOf(v)
}

// WallRatios is Ratios of wall time.
func WallRatios(slow, quick []Cost) Spread {
	v := make([]float64, len(slow))
	for i := range slow {
		v[i] = float64(slow[i].Wall) / float64(quick[i].Wall)
	}
	return SpreadOf(v)
}

// CPUMillis gives the spread of CPU time in ms.
func CPUMillis(costs []Cost) Spread {
	v := make([]float64, len(costs))
	for i := range costs {
		v[i] = costs[i].CPU.Seconds() * 1000
	}
	return SpreadOf(v)
}

// WallMillis gives the spread of wall time in ms.
func WallMillis(costs []Cost) Spread {
	v := make([]float64, len(costs))
	for i := range costs {
		v[i] = costs[i].Wall.Seconds() * 1000
	}
	return SpreadOf(v)
}
