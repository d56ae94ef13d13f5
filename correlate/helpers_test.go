package correlate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// origin is second 0 of every series built here: 2026-01-05 00:00 UTC.
const origin = 1_767_571_200 * series.Second

// at gives the instant some seconds after the origin.
func at(seconds float64) series.Micros {
	return origin + series.Micros(math.Round(seconds*float64(series.Second)))
}

func span(from, to float64) series.Span { return series.Span{From: at(from), To: at(to)} }

func unseeded(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(2026, stream)) }

// quickParams are the defaults with fewer draws, for tests that need no small p-value.
func quickParams() Params {
	prm := DefaultParams()
	prm.Permutations, prm.Bootstraps = 199, 100
	return prm
}

// host starts a series of the given length: 8 CPUs without siblings, 0 to 3 on
// socket 0 and 4 to 7 on socket 1.
func host(seconds float64) *series.Series {
	s := &series.Series{Node: "db1", Instance: "ORDP1", Watch: domain.WatchLGWR(), Window: span(0, seconds), Counters: map[string][]series.Rate{}}
	for id := range 8 {
		s.Topology.CPUs = append(s.Topology.CPUs, domain.CPU{ID: id, Socket: id / 4, Core: id, Node: id / 4, Online: true})
		s.Online = append(s.Online, id)
	}
	return s
}

// matrix gives constant values per CPU in intervals of one length that fill the
// window; CPUs that are not named read zero.
func matrix(s *series.Series, step float64, values map[int]float64) series.Matrix {
	m := series.Matrix{CPUs: s.Online}
	for from := s.Window.From; from < s.Window.To; from += series.Micros(step * float64(series.Second)) {
		m.Spans = append(m.Spans, series.Span{From: from, To: min(s.Window.To, from+series.Micros(step*float64(series.Second)))})
		for _, id := range s.Online {
			m.V = append(m.V, float32(values[id]))
		}
	}
	return m
}

// interrupts sets constant rates of device interrupts in 10 s intervals.
func interrupts(s *series.Series, perS map[int]float64) { s.Interrupts = matrix(s, 10, perS) }

// lgwr gives a thread that was read once a second at exact times, on the given
// CPUs in turn, and ran throughout.
func lgwr(cpus ...int32) series.Thread {
	t := series.Thread{TID: 100, Command: "ora_lgwr_ORDP1"}
	for i, c := range cpus {
		sample(&t, float64(i), c)
	}
	return t
}

// sample adds a reading without deltas of its own.
func sample(t *series.Thread, seconds float64, cpu int32) {
	t.At, t.CPU, t.State = append(t.At, at(seconds)), append(t.CPU, cpu), append(t.State, 0)
	t.CPUShare, t.WaitShare = append(t.CPUShare, float32(math.NaN())), append(t.WaitShare, float32(math.NaN()))
	t.Exec, t.RunDelay = append(t.Exec, -1), append(t.RunDelay, -1)
}

// repeat gives a CPU n times, for lgwr.
func repeat(cpu int32, n int) []int32 { return slices.Repeat([]int32{cpu}, n) }

// wander gives a CPU for each second: stays of random length (geometric, mean
// stay seconds) on CPUs drawn from choose.
func wander(rng *rand.Rand, seconds int, stay float64, choose func(second int) int32) []int32 {
	out := make([]int32, 0, seconds)
	cpu := choose(0)
	for k := range seconds {
		if rng.Float64() < 1/stay {
			cpu = choose(k)
		}
		out = append(out, cpu)
	}
	return out
}

// slowCommit adds a wait of log file sync as a 1 s ASH row shows it.
func slowCommit(s *series.Series, seconds, waited float64) {
	s.Waits = append(s.Waits, series.Wait{
		At: at(seconds), SampleID: -1, TimeWaited: series.Micros(waited * float64(series.Second)), Period: series.Second,
		Event: domain.EventLogFileSync, Session: len(s.Waits) + 1,
	})
}

// stallsAt gives a set of stalls of 0.2 s at instants, as ASH would.
func stallsAt(instants ...float64) *stallSet {
	set := &stallSet{source: sourceASH}
	for _, t := range instants {
		set.stalls = append(set.stalls, stall{at: at(t), onset: at(t - 0.2), longest: 200_000, waiters: 3, period: series.Second})
	}
	return set
}

// systemEachSecond gives a host point at the end of each second.
func systemEachSecond(s *series.Series, point func(second int) series.SystemPoint) {
	for k := range int(s.Window.Seconds()) {
		p := point(k)
		p.At = at(float64(k + 1))
		s.System = append(s.System, p)
	}
}

// idleHost is a host point at which nothing is known but a calm system.
func idleHost() series.SystemPoint {
	nan := math.NaN()
	return series.SystemPoint{RunQueue: 2, Blocked: nan, SwapPerS: 0, ContextSwitchesPerS: nan, User: 0.15, System: 0.05, Steal: 0, Idle: 0.8}
}

// near fails where two values differ by more than a tolerance; NaN equals NaN.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) && math.IsNaN(want) || got == want {
		return
	}
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// known gives the value of a pointer, NaN for nil.
func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// causeOf finds a cause of a finding.
func causeOf(t *testing.T, f *domain.Finding, name string) domain.Cause {
	t.Helper()
	for _, c := range f.Causes {
		if c.Cause == name {
			return c
		}
	}
	t.Fatalf("the finding judges no cause %q", name)
	return domain.Cause{}
}

// noLoad is a load of which nothing is known: one stratum per block of time.
func noLoad() *load { return &load{from: micros(30 * time.Second), to: micros(2 * time.Second)} }

// testOf runs the interrupt test over a series.
func testOf(s *series.Series, set *stallSet, prm Params) *coincidence {
	p := newPath(s.Threads, s.Window)
	return newCoincidence(s, p, newPicture(s, p, prm), set, newLoad(s, prm), prm)
}
