package correlate

import (
	"math"
	"slices"
	"testing"

	"github.com/corewait/corewait/correlate/series"
)

// demand gives a counter's rate in intervals of a second.
func demand(seconds int, perS func(second int) float64) []series.Rate {
	out := make([]series.Rate, 0, seconds)
	for k := range seconds {
		out = append(out, series.Rate{Span: span(float64(k), float64(k+1)), PerS: perS(k)})
	}
	return out
}

func TestLoadIsTheMeanFromThirtyToTwoSecondsBefore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		rates []series.Rate
		want  float64
	}{
		// [70, 98): seconds 70 to 97, whose mean is 83.5.
		{"over intervals of a second", demand(120, func(k int) float64 { return float64(k) }), 83.5},
		// 14 s at 10 and 14 s at 20.
		{"over parts of two long intervals", []series.Rate{{Span: span(0, 84), PerS: 10}, {Span: span(84, 120), PerS: 20}}, 15},
		{"within one interval", []series.Rate{{Span: span(0, 120), PerS: 7}}, 7},
		{
			"never over the same second or the one before", demand(120, func(k int) float64 {
				if k >= 98 {
					return 1e6
				}
				return 3
			}), 3,
		},
		{
			"nor over what lies further back", demand(120, func(k int) float64 {
				if k < 70 {
					return 1e6
				}
				return 3
			}), 3,
		},
		// 20 of 28 s are known: 10 s at 1 and 10 s at 4.
		{"over the known part where that is half", []series.Rate{{Span: span(0, 80), PerS: 1}, {Span: span(88, 200), PerS: 4}}, 2.5},
		{"unknown where less is known", []series.Rate{{Span: span(0, 83), PerS: 1}, {Span: span(200, 4000), PerS: 1}}, math.NaN()},
		{"unknown where nothing is", []series.Rate{{Span: span(500, 4000), PerS: 1}}, math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(200)
			s.Window.To = at(120)
			s.Counters["user commits"] = tt.rates
			near(t, "load", newLoad(s, DefaultParams()).at(at(100)), tt.want, 1e-9)
		})
	}
}

func TestTheLoadSeriesIsTheFirstThatCoversHalfTheWindow(t *testing.T) {
	t.Parallel()
	part := func(seconds int) []series.Rate { return demand(seconds, func(int) float64 { return 5 }) }
	tests := []struct {
		name                 string
		commits, calls, redo int
		switches             bool
		want                 string
	}{
		{"commits", 100, 100, 100, true, "commits_per_s"},
		{"half is enough", 50, 100, 100, true, "commits_per_s"},
		{"user calls where commits cover less", 49, 100, 100, true, "user_calls_per_s"},
		{"redo where both cover less", 49, 49, 100, true, "redo_bytes_per_s"},
		{"else context switches, lagged", 49, 49, 49, true, "lagged_context_switches_per_s"},
		{"else none", 49, 49, 49, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(100)
			s.Counters["user commits"], s.Counters["user calls"], s.Counters["redo size"] = part(tt.commits), part(tt.calls), part(tt.redo)
			if tt.switches {
				systemEachSecond(s, func(int) series.SystemPoint { p := idleHost(); p.ContextSwitchesPerS = 1000; return p })
			} else {
				systemEachSecond(s, func(int) series.SystemPoint { return idleHost() }) // context switches unknown
			}
			if l := newLoad(s, DefaultParams()); l.name != tt.want {
				t.Errorf("load series = %q, want %q", l.name, tt.want)
			}
		})
	}
}

func TestContextSwitchesAreLaggedToo(t *testing.T) {
	t.Parallel()
	s := host(120)
	systemEachSecond(s, func(k int) series.SystemPoint {
		p := idleHost()
		p.ContextSwitchesPerS = float64(k)
		return p
	})
	l := newLoad(s, DefaultParams())
	near(t, "load", l.at(at(100)), 83.5, 1e-9) // seconds 70 to 97
	// A point after a long silence speaks for its last second only.
	s.System = []series.SystemPoint{{At: at(10), ContextSwitchesPerS: 5}, {At: at(100), ContextSwitchesPerS: 9}}
	near(t, "load in the silence", newLoad(s, DefaultParams()).at(at(80)), math.NaN(), 0)
}

func TestStrataDivideTheTimeByLoad(t *testing.T) {
	t.Parallel()
	s := host(3000)
	s.Counters["user commits"] = demand(3000, func(k int) float64 { return float64(10 * (1 + k/1000)) })
	l := newLoad(s, DefaultParams())
	for _, tt := range []struct {
		second float64
		want   int
	}{{500, 0}, {1500, 1}, {2500, 2}, {5, 3}} { // at 5 s the load before is unknown: a stratum of its own
		if got := l.stratum(at(tt.second)); got != tt.want {
			t.Errorf("stratum at %v s = %d, want %d", tt.second, got, tt.want)
		}
	}
}

func TestConstantLoadIsOneStratum(t *testing.T) {
	t.Parallel()
	s := host(600)
	s.Counters["user commits"] = demand(600, func(int) float64 { return 50 })
	l := newLoad(s, DefaultParams())
	for _, second := range []float64{100, 300, 599} {
		if got := l.stratum(at(second)); got != 0 {
			t.Errorf("stratum at %v s = %d, want 0", second, got)
		}
	}
}

func TestADrawIsInProportionToTime(t *testing.T) {
	t.Parallel()
	// Stays of 10, 30 and 60 s in one stratum.
	cpus := append(append(repeat(1, 10), repeat(2, 30)...), repeat(3, 60)...)
	p := newPath([]series.Thread{lgwr(cpus...)}, span(0, 1000))
	st := newStrata(p, noLoad(), span(0, 1000), DefaultParams())
	if len(st.list) != 1 {
		t.Fatalf("%d strata, want 1", len(st.list))
	}
	near(t, "seconds", st.list[0].seconds, 100, 1e-9)
	const draws = 10_000
	var n [3]int
	newExchange(p, st, []int32{0}).eachDraw(newLabelSource(2026, 1), draws, func(onPlace []int32) {
		n[slices.Index(onPlace, 1)]++ // the only stall, on one of the three
	})
	for i, want := range []float64{0.1, 0.3, 0.6} {
		// Five standard deviations of a binomial share: one false alarm in a million.
		near(t, "share of draws", float64(n[i])/draws, want, 5*math.Sqrt(want*(1-want)/draws))
	}
	mean := st.mean(p, []float64{5, 0, 10})
	near(t, "mean score over time", mean[0], 6.5, 1e-9) // (10*5 + 60*10)/100
}

func TestBlocksHoldSomethingToExchange(t *testing.T) {
	t.Parallel()
	prm := DefaultParams()
	stays := func(seconds int) *path {
		var cpus []int32
		for k := range 4000 {
			cpus = append(cpus, int32(k/seconds%2))
		}
		return newPath([]series.Thread{lgwr(cpus...)}, span(0, 4000))
	}
	tests := []struct {
		name  string
		stay  int
		cuts  []float64
		width float64 // seconds
	}{
		{"five minutes for a process that moves often", 10, nil, 300},
		{"eight stays for one that seldom moves", 100, nil, 800},
		{"in each of the load's strata", 50, []float64{1, 2}, 1200},
		{"but never over half of the window", 1000, nil, 2000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := noLoad()
			l.cuts = tt.cuts
			st := newStrata(stays(tt.stay), l, span(0, 4000), prm)
			near(t, "block in seconds", float64(st.block)/1e6, tt.width, 1e-6)
			if want := int(math.Ceil(4000 / tt.width)); st.blocks() != want {
				t.Errorf("%d blocks, want %d", st.blocks(), want)
			}
		})
	}
}

func TestASubsetOfStrataLeavesOutVisitsWithoutAGroup(t *testing.T) {
	t.Parallel()
	p := newPath([]series.Thread{lgwr(1, 1, 2, 3, 3, 3, 1)}, span(0, 1000))
	st := newStrata(p, noLoad(), span(0, 1000), DefaultParams())
	group := []int{0, 1, -1, 0} // of the visits on CPUs 1, 2, 3, 1
	sub := st.subset(p, func(v int32) int { return group[v] })
	if sub.of[2] != -1 || sub.of[0] != sub.of[3] || sub.of[0] == sub.of[1] || len(sub.list) != 2 {
		t.Fatalf("strata of the visits = %v", sub.of)
	}
	near(t, "seconds of group 0", sub.list[sub.of[0]].seconds, 3, 1e-9)
	near(t, "seconds of group 1", sub.list[sub.of[1]].seconds, 1, 1e-9)
}

func TestTheLoadJustBeforeIsTakenFromContextSwitchesOfEachSecond(t *testing.T) {
	t.Parallel()
	// Bursts of ten seconds in every minute, which half a minute averages out.
	burst := func(k int) float64 {
		if k%60 < 10 {
			return 90_000
		}
		return 1000 + float64(k%60)
	}
	build := func(step int) *series.Series {
		s := host(600)
		s.Counters["user commits"] = demand(600, func(int) float64 { return 50 })
		for k := 0; k < 600; k += step {
			p := idleHost()
			p.At, p.ContextSwitchesPerS = at(float64(k+step)), burst(k)
			s.System = append(s.System, p)
		}
		return s
	}
	l := newLoad(build(1), DefaultParams())
	if l.name != "commits_per_s" || l.short == nil || l.levels() != (len(l.cuts)+1)*(len(l.short.cuts)+1) {
		t.Fatalf("load %q beside %v", l.name, l.short)
	}
	// In the midst of a burst and long after it the commits are the same.
	in, after := l.key(at(308)), l.key(at(350))
	if in[0] != after[0] || in[1] <= after[1] {
		t.Errorf("strata %v in a burst, %v after it", in, after)
	}
	for name, s := range map[string]*series.Series{"points every three seconds": build(3), "no points": host(600)} {
		if l := newLoad(s, DefaultParams()); l.short != nil || l.key(at(308))[1] != 0 || l.levels() != len(l.cuts)+1 {
			t.Errorf("%s give a load just before", name)
		}
	}
	few := build(1)
	few.System = few.System[:59]
	if newLoad(few, DefaultParams()).short != nil {
		t.Error("under a minute of points gives a load just before")
	}
}
