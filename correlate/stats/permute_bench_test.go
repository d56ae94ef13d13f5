package stats

import (
	"testing"
)

// week is seven days of 145,000 visits in 2,016 five-minute blocks, 10,000 of
// them with a stall, on 64 CPUs.
func week() (strata, labels []int32, withStall []bool) {
	const visits = 145_000
	rng := seeded(7, 7)
	strata, labels, withStall = make([]int32, visits), make([]int32, visits), make([]bool, visits)
	for i := range visits {
		strata[i] = int32(i * 2016 / visits)
		labels[i] = rng.Int32N(64)
	}
	for range 10_000 {
		withStall[rng.IntN(visits)] = true
	}
	return strata, labels, withStall
}

// stallsByCPU is a statistic of 64 columns over the visits with a stall.
func stallsByCPU(withStall []bool) func([]int32, []float64) {
	var visits []int32
	for i, is := range withStall {
		if is {
			visits = append(visits, int32(i))
		}
	}
	return func(labels []int32, out []float64) {
		for _, v := range visits {
			out[labels[v]]++
		}
	}
}

func BenchmarkShuffleOfAWeek(b *testing.B) {
	strata, labels, withStall := week()
	for name, read := range map[string][]bool{"read=stalls": withStall, "read=all": nil} {
		b.Run(name, func(b *testing.B) {
			p, rng := prepared(b, strata, read), seeded(1, 1)
			b.ReportAllocs()
			for b.Loop() {
				p.Shuffle(rng, labels)
			}
		})
	}
}

func BenchmarkPermutationOfAWeekBy2000Rounds(b *testing.B) {
	strata, labels, withStall := week()
	p, rng, statistic := prepared(b, strata, withStall), seeded(1, 1), stallsByCPU(withStall)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Test(rng, 2000, labels, 64, statistic); err != nil {
			b.Fatal(err)
		}
	}
}

// Not parallel: allocations are counted for the whole process.
//
//nolint:paralleltest // see above
func TestShufflingDoesNotAllocate(t *testing.T) {
	strata, labels, withStall := week()
	p, rng := prepared(t, strata, withStall), seeded(1, 1)
	if n := testing.AllocsPerRun(5, func() { p.Shuffle(rng, labels) }); n != 0 {
		t.Errorf("got %v allocations a round, want none", n)
	}
}
