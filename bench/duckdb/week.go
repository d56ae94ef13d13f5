package main

import (
	"math"
	"math/rand/v2"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// Size of the case that the budget names.
const (
	seconds = 7 * 86_400
	cpus    = 64
	stalls  = 10_000
)

// midnight is second 0: 2026-01-05 00:00 UTC.
const midnight = 1_767_571_200 * series.Second

// Interrupts load CPUs 24 to 31, a whole socket of the four.
const firstHeavy, endHeavy = 24, 32

func isHeavy(cpu int32) bool { return cpu >= firstHeavy && cpu < endHeavy }

// week gives seven days at 1 Hz of a host of 64 CPUs on 4 sockets. LGWR moves
// every 4 s as a rule; three quarters of its stalls fall on heavy CPUs.
func week() *series.Series {
	rng := rand.New(rand.NewPCG(2026, 61)) //nolint:gosec // a benchmark's data, the same in every run
	s := &series.Series{
		Node: "db1", Instance: "ORDP1", Watch: domain.WatchLGWR(),
		Window:   series.Span{From: midnight, To: midnight + seconds*series.Second},
		Counters: map[string][]series.Rate{"user commits": commits(rng)},
	}
	for id := range cpus {
		s.Topology.CPUs = append(s.Topology.CPUs, domain.CPU{ID: id, Socket: socketOf(id), Core: id % 32, Node: socketOf(id), Online: true})
		s.Online = append(s.Online, id)
	}
	s.Interrupts = interrupts(rng, s.Online)
	perS := map[int]float64{}
	for id := firstHeavy; id < endHeavy; id++ {
		perS[id] = usualRate(id)
	}
	s.Devices = []series.Device{{Name: "ens3f0", Class: domain.ClassNetwork, PerS: perS, Total: 22_000}}
	s.Threads = []series.Thread{lgwr(rng)}
	s.Waits = waits(rng, s.Threads[0].CPU)
	return s
}

// socketOf gives the socket of a CPU: 32 cores, eight a socket, two threads a core.
func socketOf(cpu int) int { return cpu % 32 / 8 }

func usualRate(cpu int) float64 {
	if isHeavy(int32(cpu)) { //nolint:gosec // under 64
		return float64(500 * (cpu - 21))
	}
	return 20
}

// interrupts gives rates that vary by a fifth around each CPU's usual one.
func interrupts(rng *rand.Rand, online []int) series.Matrix {
	m := series.Matrix{CPUs: online, Spans: make([]series.Span, seconds), V: make([]float32, seconds*cpus)}
	for k := range seconds {
		m.Spans[k] = second(k)
		row := m.Row(k)
		for id := range row {
			row[id] = float32(usualRate(id) * (0.8 + 0.4*rng.Float64()))
		}
	}
	return m
}

func second(k int) series.Span {
	from := midnight + series.Micros(k)*series.Second
	return series.Span{From: from, To: from + series.Second}
}

// commits gives demand that rises over each day.
func commits(rng *rand.Rand) []series.Rate {
	out := make([]series.Rate, seconds)
	for k := range out {
		out[k] = series.Rate{Span: second(k), PerS: 300 + 200*rng.Float64() + float64(k%86_400)/400}
	}
	return out
}

// lgwr is read once a second and runs throughout.
func lgwr(rng *rand.Rand) series.Thread {
	t := series.Thread{
		TID: 100, Command: "ora_lgwr_ORDP1", At: make([]series.Micros, seconds), CPU: make([]int32, seconds), State: make([]byte, seconds),
		CPUShare: make([]float32, seconds), WaitShare: make([]float32, seconds), Exec: make([]int64, seconds), RunDelay: make([]int64, seconds),
	}
	cpu := rng.Int32N(cpus)
	for k := range seconds {
		if rng.Float64() < 0.25 {
			cpu = rng.Int32N(cpus)
		}
		t.At[k], t.CPU[k] = second(k).From, cpu
		t.CPUShare[k], t.WaitShare[k] = float32(math.NaN()), float32(math.NaN())
		t.Exec[k], t.RunDelay[k] = -1, -1
	}
	return t
}

// waits gives one slow commit a stall, as rows of ASH show them, 0.2 s after a
// placement reading. Every free second has a chance that gives a few more than
// are needed.
func waits(rng *rand.Rand, on []int32) []series.Wait {
	out := make([]series.Wait, 0, stalls)
	left := map[bool]int{false: stalls / 4, true: stalls * 3 / 4}
	chance := map[bool]float64{false: 0.0055, true: 0.12}
	for k, cpu := range on {
		heavy := isHeavy(cpu)
		if left[heavy] > 0 && rng.Float64() < chance[heavy] {
			left[heavy]--
			out = append(out, series.Wait{
				At: second(k).From + series.Second/5, SampleID: -1, TimeWaited: 150_000, Period: series.Second,
				Event: domain.EventLogFileSync, Session: len(out) + 1,
			})
		}
	}
	return out
}
