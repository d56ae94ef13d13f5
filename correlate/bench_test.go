package correlate

import (
	"testing"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// BenchmarkAnalyzeWeek is the budget's case: 7 days at 1 Hz, 64 CPUs, 10,000
// stalls, 2,000 permutations; about half a second, under 200 MiB.
func BenchmarkAnalyzeWeek(b *testing.B) {
	s := week()
	prm := DefaultParams()
	if n := len(findStalls(s, prm).stalls); n != 10_000 {
		b.Fatalf("%d stalls, want 10000", n)
	}
	b.ReportAllocs()
	for b.Loop() {
		if f := Analyze(s, prm); f.Verdict != domain.CauseInterrupts {
			b.Fatalf("verdict %s: %s", f.Verdict, f.Headline)
		}
	}
}

// BenchmarkAnalyzeWeekWithRivals is the same week with vmstat and iostat of each
// second, in one of a hundred of which everything a rival needs is raised: each
// is then compared with 2,000 shifts.
func BenchmarkAnalyzeWeekWithRivals(b *testing.B) {
	s := week()
	raiseNowAndThen(s)
	b.ReportAllocs()
	for b.Loop() {
		if f := Analyze(s, DefaultParams()); f.Verdict != domain.CauseInterrupts {
			b.Fatalf("verdict %s: %s", f.Verdict, f.Headline)
		}
	}
}

func raiseNowAndThen(s *series.Series) {
	rng := unseeded(62)
	for k := range s.System {
		p, awaitMS := &s.System[k], 0.5+rng.Float64()
		p.RunQueue, p.SwapPerS = 1+5*rng.Float64(), rng.Float64()
		p.System, p.Steal = 0.05+0.02*rng.Float64(), 0.001*rng.Float64()
		if rng.Float64() < 0.01 {
			p.RunQueue, p.SwapPerS, p.System, p.Steal, awaitMS = 200, 5000, 0.6, 0.2, 60
		}
		s.Disks = append(s.Disks, series.DiskPoint{At: p.At, Device: "sda", AwaitMS: awaitMS, PerS: 100})
	}
}

// week gives seven days of a host of 64 CPUs on 4 sockets. Interrupts load CPUs
// 24 to 31; LGWR moves every 4 s as a rule.
func week() *series.Series {
	const seconds, cpus, stalls = 7 * 86_400, 64, 10_000
	rng := unseeded(61)
	s := &series.Series{
		Node: "db1", Instance: "ORDP1", Watch: domain.WatchLGWR(), Window: span(0, seconds), Counters: map[string][]series.Rate{},
	}
	for id := range cpus {
		s.Topology.CPUs = append(s.Topology.CPUs, domain.CPU{ID: id, Socket: id % 32 / 8, Core: id % 32, Node: id % 32 / 8, Online: true})
		s.Online = append(s.Online, id)
	}
	s.Interrupts = series.Matrix{CPUs: s.Online, Spans: make([]series.Span, 0, seconds), V: make([]float32, seconds*cpus)}
	for k := range seconds {
		s.Interrupts.Spans = append(s.Interrupts.Spans, span(float64(k), float64(k+1)))
		for id, row := 24, s.Interrupts.Row(k); id < 32; id++ {
			row[id] = float32(500 * (id - 21))
		}
	}
	s.Devices = []series.Device{{Name: "ens3f0", Class: domain.ClassNetwork, PerS: map[int]float64{24: 1500, 28: 3500}, Total: 5000}}
	on := wander(rng, seconds, 4, func(int) int32 { return rng.Int32N(cpus) })
	s.Threads = []series.Thread{lgwr(on...)}
	s.Counters["user commits"] = demand(seconds, func(k int) float64 { return 300 + 200*rng.Float64() + float64(k%86_400)/400 })
	systemEachSecond(s, func(int) series.SystemPoint { return idleHost() })
	// Three quarters of the stalls on heavy CPUs: every free second there or
	// elsewhere with a chance that gives a little more than are needed.
	left := [2]int{stalls / 4, stalls * 3 / 4}
	chance := [2]float64{0.0055, 0.12}
	for k, cpu := range on {
		g := 0
		if cpu >= 24 && cpu < 32 {
			g = 1
		}
		if left[g] > 0 && rng.Float64() < chance[g] {
			left[g]--
			slowCommit(s, float64(k)+0.2, 0.15)
		}
	}
	return s
}
