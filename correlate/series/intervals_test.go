package series

import (
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// troubled feeds a log of 20 minutes with what logs have: readings that are
// missing, cut short, doubled or of an earlier clock, counters that start anew
// or wrap, CPUs that come and go, rows of several tools for one instant.
func troubled(t *testing.T, to ingest.Sink, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	counts := [3][4]uint64{{1 << 31}, {1<<32 - 500}, {7, 7, 7, 7}}
	sec := 0.0
	for range 400 {
		step := random.IntN(200)
		sec += 1
		if rare := []float64{2, 3, 0, -1, 200, -1}; step < len(rare) {
			sec += rare[step] - 1
		}
		cpus := []int{0, 1, 2, 3}[:4-random.IntN(40)/39]
		lines := []domain.InterruptLine{network("40", "eth0"), storage("50", "nvme0"), network("60", "eth9")}
		for l := range lines {
			for cpu := range cpus {
				counts[l][cpu] += random.Uint64N(300)
				lines[l].Counts = append(lines[l].Counts, counts[l][cpu]&(1<<32-1))
			}
		}
		must(t, to.Interrupts(reading(sec, cpus, lines[:3-random.IntN(30)/29]...)))
		must(t, to.Softirqs(softirqs(sec, counts[0][0]&(1<<32-1), counts[0][1]&(1<<32-1))))
		if random.IntN(80) == 0 {
			counts = [3][4]uint64{}
		}
		must(t, feedRows(to, sec, random))
	}
}

// feedRows gives what tools print for a second, each now and then.
func feedRows(to ingest.Sink, sec float64, random *rand.Rand) error {
	row := mpstatRow(sec, random.IntN(3), random.Float64())
	if random.IntN(2) == 0 {
		row.Interval = 0
	}
	for _, give := range []func() error{
		func() error { return to.CPU(row) },
		func() error { return to.System(vmstatRow(sec, random.Float64(), nan, 3.4)) },
		func() error { return to.System(vmstatRow(sec, nan, random.Float64(), 1000.26)) },
		func() error {
			return to.Disk(domain.DiskSample{At: clock(sec), Device: "sda", WritesPerS: random.Float64() * 10, WriteAwaitMS: random.Float64(), ReadsPerS: 2, ReadAwaitMS: nan})
		},
		func() error { return feedSecond(to, sec) },
	} {
		if random.IntN(3) == 0 {
			continue
		}
		if err := give(); err != nil {
			return err
		}
	}
	return nil
}

func TestSeriesOfIntervalsAreThoseOfReadings(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		for _, window := range []domain.Window{{}, {From: clock(100), To: clock(1000)}} {
			direct := NewBuilder(domain.WatchLGWR(), window)
			troubled(t, direct, seed)
			kept := NewBuilder(domain.WatchLGWR(), window)
			intervals := NewIntervals(kept)
			troubled(t, intervals, seed)
			must(t, intervals.Flush())
			got, want := kept.Build(anyInstance), direct.Build(anyInstance)
			if len(want.Interrupts.Spans) < 50 || len(want.CPU.Busy.Spans) < 50 || len(want.Disks) < 50 {
				t.Fatalf("seed %d: nothing to compare: %d intervals", seed, len(want.Interrupts.Spans))
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() })); diff != "" {
				t.Fatalf("seed %d, window %v: series of intervals (+) are not those of readings (-):\n%s", seed, window, diff)
			}
		}
	}
}

// By hand: a row of mpstat at 10 s that says nothing of its interval, after one
// at 8 s, where rows usually lie 1 s apart.
func TestIntervalsHaveLengths(t *testing.T) {
	t.Parallel()
	ends := []float64{5, 6, 7, 8, 10}
	said := []time.Duration{0, 0, 500 * time.Millisecond, 0, 0}
	got := intervalLengths(len(ends), func(k int) (time.Time, time.Duration) { return clock(ends[k]), said[k] })
	want := []time.Duration{time.Second, time.Second, 500 * time.Millisecond, time.Second, time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
