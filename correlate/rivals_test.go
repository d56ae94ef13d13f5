package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// raisedAt gives an indicator of one state per second: calm but for the
// seconds given.
func raisedAt(seconds int, raise ...int) *indicator {
	d := newIndicator("some-cause", "something", span(0, float64(seconds)))
	d.set(span(0, float64(seconds)), false)
	for _, k := range raise {
		d.set(span(float64(k), float64(k+1)), true)
	}
	return d
}

func TestAnIndicatorMarksTheSecondsThatASpanTouches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		span series.Span
		want string
	}{
		{"a whole second", span(3, 4), "...^......"},
		{"parts of two", span(3.9, 4.1), "...^^....."},
		{"up to and without the end", span(3, 5), "...^^....."},
		{"clipped at the begin", span(-5, 1.5), "^^........"},
		{"clipped at the end", span(8.5, 20), "........^^"},
		{"before the window", span(-5, -1), ".........."},
		{"after the window", span(30, 40), ".........."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newIndicator("", "", span(0, 10))
			d.set(span(0, 10), false)
			d.set(tt.span, true)
			d.set(tt.span, false) // raised wins over calm
			got := ""
			for _, v := range d.seconds {
				got += map[uint8]string{unseen: "?", calm: ".", raised: "^"}[v]
			}
			if got != tt.want {
				t.Errorf("seconds %s, want %s", got, tt.want)
			}
		})
	}
}

// A stall seen at 100.5 s whose longest wait took 1.2 s may have begun at 99.3.
func TestARivalIsLookedForAroundAStall(t *testing.T) {
	t.Parallel()
	k := stall{at: at(100.5), onset: at(99.3), longest: 1_200_000}
	tests := []struct {
		name          string
		before, after int
		strictly      bool
		first, last   int // the seconds that count
	}{
		{"from its onset to the instant seen", 0, 0, false, 99, 100},
		{"a second before and after", 1, 1, false, 98, 101},
		{"strictly before the onset, by rows surely read before it", 4, 1, true, 95, 97},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for second := 90; second < 110; second++ {
				d := raisedAt(200, second)
				d.before, d.after = tt.before, tt.after
				want := calm
				if second >= tt.first && second <= tt.last {
					want = raised
				}
				if got := d.around(&k, 0, tt.strictly); got != want {
					t.Errorf("raised in second %d: state %d, want %d", second, got, want)
				}
				// Shifted by 150 s in a window of 200 s, the same seconds come round.
				if got := raisedAtShifted(second, 150, 200, tt.before, tt.after).around(&k, 150, tt.strictly); got != want {
					t.Errorf("shifted, raised in second %d: state %d, want %d", second, got, want)
				}
			}
		})
	}
	if got := newIndicator("", "", span(0, 200)).around(&k, 0, false); got != unseen {
		t.Errorf("state where nothing was observed = %d, want unseen", got)
	}
}

func TestStallsAtTheWindowsEndsAreSeenWhereTheyAre(t *testing.T) {
	t.Parallel()
	last := stall{at: at(199.5), onset: at(199.3)}
	first := stall{at: at(0.5), onset: at(0.3)}
	tests := []struct {
		name   string
		k      stall
		shift  int64
		second int
		want   uint8
	}{
		{"in the last second", last, 0, 199, raised},
		{"before the last second", last, 0, 198, raised},
		{"the first second is not beside the last", last, 0, 0, calm},
		{"nor the last beside the first", first, 0, 199, calm},
		{"shifted to the last second", first, 199, 199, raised},
		{"shifted, the window is a circle", first, 199, 0, raised},
		{"shifted past the end", first, 201, 1, raised},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := raisedAt(200, tt.second)
			d.before, d.after = 1, 1
			if got := d.around(&tt.k, tt.shift, false); got != tt.want {
				t.Errorf("state %d, want %d", got, tt.want)
			}
		})
	}
}

func raisedAtShifted(second, shift, window, before, after int) *indicator {
	d := raisedAt(window, (second+shift)%window)
	d.before, d.after = before, after
	return d
}

func TestAnIndicatorIsJudgedAgainstChance(t *testing.T) {
	t.Parallel()
	seconds := func(instants []float64) []int {
		var out []int
		for _, x := range instants {
			out = append(out, int(x))
		}
		return out
	}
	// Irregular instants: a shift by a multiple of their distance would find
	// regular ones again.
	rng := unseeded(8)
	var irregular []float64
	for k := range 40 {
		irregular = append(irregular, float64(90*k)+10+70*rng.Float64())
	}
	half := newIndicator("some-cause", "something", span(0, 3600))
	half.set(span(0, 1500), false)
	tests := []struct {
		name  string
		d     *indicator
		at    []float64
		want  string
		share float64
	}{
		{"raised at every stall and hardly else", raisedAt(3600, seconds(irregular)...), irregular, domain.Supported, 1},
		{"raised at none of forty", raisedAt(3600), irregular, domain.Rejected, 0},                              // upper end 1 - 0.025^(1/40) = 0.088
		{"raised at none of five is too little to tell", raisedAt(3600), irregular[:5], domain.Inconclusive, 0}, // upper end 0.522
		{"seen around under half of the stalls", half, irregular, domain.NotObservable, math.NaN()},
		{"no stalls", raisedAt(3600), nil, domain.NotObservable, math.NaN()},
		{"raised all the time", func() *indicator { d := raisedAt(3600); d.set(span(0, 3600), true); return d }(), irregular, domain.Rejected, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.d.judge(stallsAt(tt.at...), DefaultParams(), unseeded(9))
			if r.cause.Verdict != tt.want || len(r.cause.Evidence) != 1 {
				t.Errorf("verdict %s (%v), want %s", r.cause.Verdict, r.cause.Evidence, tt.want)
			}
			// What chance covers is left out of the share: under a twentieth here.
			near(t, "share", r.share, tt.share, 0.05)
			if (r.cause.AttributableShare == nil) != math.IsNaN(tt.share) {
				t.Errorf("share in the finding = %v", r.cause.AttributableShare)
			}
		})
	}
}

// By hand: (0.6 - 0.2)/(1 - 0.2) = 0.5.
func TestExcessShareLeavesOutChance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ p, base, want float64 }{{0.6, 0.2, 0.5}, {0.1, 0.2, 0}, {1, 0.2, 1}, {0.7, 1, 0}} {
		near(t, "excess share", excessShare(tt.p, tt.base), tt.want, 1e-12)
	}
}

// Twenty stalls within five minutes of a half hour in which the indicator is
// raised: seconds drawn one by one would never cover them all (2^-20), but
// shifting the whole does so in about four of ten cases.
func TestCircularShiftsKeepAutocorrelation(t *testing.T) {
	t.Parallel()
	d := raisedAt(3600)
	d.set(span(900, 2700), true)
	var instants []float64
	for k := range 20 {
		instants = append(instants, 1650+float64(15*k))
	}
	set := stallsAt(instants...)
	prm := DefaultParams()
	_, covered := d.coverage(set, 0, false, nil)
	if covered != 20 {
		t.Fatalf("%d stalls covered, want 20", covered)
	}
	_, p := d.shifted(set, covered, false, unseeded(10), prm.Permutations)
	// All 285 s stay within the 1800 s for shifts of -750 to 765 s, without the
	// minute around 0 that is left out: 1395 of 3480 s.
	near(t, "share of shifts that cover all", p, 1395.0/3480, 0.05)
	if r := d.judge(set, prm, unseeded(10)); r.supported {
		t.Errorf("one long stretch accuses: %v", r.cause.Evidence)
	}
}

func TestShortWindowsCarryNoShifts(t *testing.T) {
	t.Parallel()
	d := raisedAt(239, 100)
	if expected, p := d.shifted(stallsAt(100.5), 1, false, unseeded(1), 100); expected != 1 || p != 1 {
		t.Errorf("expected %v, p %v; want what was seen and 1", expected, p)
	}
}

// pressure gives an hour of system points and stalls at irregular instants.
// change sees each second's distance in whole seconds from the nearest stall's
// onset, negative before it.
func pressure(change func(p *series.SystemPoint, fromOnset int)) (*series.Series, *stallSet) {
	s := host(3600)
	rng := unseeded(11)
	var instants []float64
	for k := range 30 {
		instants = append(instants, float64(120*k)+20+80*rng.Float64())
	}
	set := stallsAt(instants...)
	systemEachSecond(s, func(k int) series.SystemPoint {
		p := idleHost()
		nearest := 3600
		for i := range set.stalls {
			if d := k - int((set.stalls[i].onset-origin)/series.Second); abs(int64(d)) < abs(int64(nearest)) {
				nearest = d
			}
		}
		change(&p, nearest)
		return p
	})
	return s, set
}

func judgeIndicator(t *testing.T, build func(*series.Series, Params) *indicator, s *series.Series, set *stallSet) rival {
	t.Helper()
	prm := DefaultParams()
	d := build(s, prm)
	if d == nil {
		t.Fatal("no indicator")
	}
	return d.judge(set, prm, unseeded(12))
}

func TestOnlyABurstBeforeTheOnsetAccusesSaturation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		accused  bool
		rejected bool
		change   func(p *series.SystemPoint, fromOnset int)
	}{
		{"a burst of system time two seconds before", true, false, func(p *series.SystemPoint, d int) {
			if d == -2 {
				p.System, p.RunQueue = 0.6, 40
			}
		}},
		{"a full run queue before, with raised system time", true, false, func(p *series.SystemPoint, d int) {
			if d == -2 || d == -1 {
				p.System, p.RunQueue = 0.12, 30
			}
		}},
		{"the herd of sessions that a stall wakes", false, true, func(p *series.SystemPoint, d int) {
			if d == 0 || d == 1 {
				p.RunQueue = 60 // and system time as ever
			}
		}},
		{"a herd that raises system time too", false, false, func(p *series.SystemPoint, d int) {
			if d == 0 || d == 1 {
				p.System, p.RunQueue = 0.6, 60
			}
		}},
		{"a burst that came too early", false, true, func(p *series.SystemPoint, d int) {
			if d == -8 {
				p.System, p.RunQueue = 0.6, 40
			}
		}},
		{"a calm host", false, true, func(*series.SystemPoint, int) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, set := pressure(tt.change)
			r := judgeIndicator(t, saturationIndicator, s, set)
			if r.supported != tt.accused || (r.cause.Verdict == domain.Rejected) != tt.rejected {
				t.Errorf("verdict %s: %v", r.cause.Verdict, r.cause.Evidence)
			}
		})
	}
}

func TestStealAndSwappingAroundStallsAccuse(t *testing.T) {
	t.Parallel()
	near0 := func(d int) bool { return d >= -1 && d <= 1 }
	s, set := pressure(func(p *series.SystemPoint, d int) {
		if near0(d) {
			p.Steal, p.SwapPerS = 0.2, 5000
		}
	})
	calmly, _ := pressure(func(p *series.SystemPoint, _ int) { p.Steal, p.SwapPerS = 0.01, 20 })
	for _, tt := range []struct {
		name  string
		build func(*series.Series, Params) *indicator
		s     *series.Series
		want  string
	}{
		{"steal at stalls", stealIndicator, s, domain.Supported},
		{"swapping at stalls", swapIndicator, s, domain.Supported},
		{"little steal throughout", stealIndicator, calmly, domain.Rejected},
		{"little swapping throughout", swapIndicator, calmly, domain.Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := judgeIndicator(t, tt.build, tt.s, set); r.cause.Verdict != tt.want {
				t.Errorf("verdict %s (%v), want %s", r.cause.Verdict, r.cause.Evidence, tt.want)
			}
		})
	}
}

func TestStealIsTakenFromTheHostsRowWhereVmstatIsMissing(t *testing.T) {
	t.Parallel()
	s := host(600)
	for k := range 600 {
		h := series.HostTime{Span: span(float64(k), float64(k+1)), Steal: 0}
		if k == 300 {
			h.Steal = 0.3
		}
		s.CPU.Host = append(s.CPU.Host, h)
	}
	d := stealIndicator(s, DefaultParams())
	if d == nil || d.seconds[300] != raised || d.seconds[299] != calm || !strings.Contains(d.what, "steal over 5 %") {
		t.Errorf("indicator = %+v", d)
	}
}

func TestAnIndicatorNeedsDataOfItsOwn(t *testing.T) {
	t.Parallel()
	empty := host(600)
	unknown := host(600)
	systemEachSecond(unknown, func(int) series.SystemPoint {
		nan := math.NaN()
		return series.SystemPoint{RunQueue: nan, Blocked: nan, SwapPerS: nan, ContextSwitchesPerS: nan, User: nan, System: nan, Steal: nan, Idle: nan}
	})
	for _, s := range []*series.Series{empty, unknown} {
		if got := indicators(s, DefaultParams()); len(got) != 0 {
			t.Errorf("%d indicators of nothing: %+v", len(got), got[0])
		}
	}
}

func TestASlowDeviceIsSlowForItsKind(t *testing.T) {
	t.Parallel()
	s := host(100)
	// Flash at 0.5 ms and a disk at 8 ms as a rule: over 5 ms, or over 32 ms.
	for _, dev := range []struct {
		name         string
		usual, spike float64
	}{{"nvme0n1", 0.5, 6}, {"sda", 8, 20}, {"sdb", 8, 40}} {
		for k := range 100 {
			p := series.DiskPoint{At: at(float64(k + 1)), Device: dev.name, AwaitMS: dev.usual}
			if (dev.name == "nvme0n1" && k == 20) || (dev.name == "sda" && k == 40) || (dev.name == "sdb" && k == 60) {
				p.AwaitMS = dev.spike
			}
			s.Disks = append(s.Disks, p)
		}
	}
	d := storageIndicator(s, DefaultParams())
	for k, want := range map[int]uint8{20: raised, 40: calm, 60: raised, 80: calm} {
		if d.seconds[k] != want {
			t.Errorf("second %d: state %d, want %d", k, d.seconds[k], want)
		}
	}
}

func TestMedianAndUsualStep(t *testing.T) {
	t.Parallel()
	near(t, "median of nothing", medianOf(nil), 0, 0)
	near(t, "median of four", medianOf([]float64{4, 1, 3, 2}), 2.5, 0)
	identity := func(p *series.Micros) series.Micros { return *p }
	for _, tt := range []struct {
		points []series.Micros
		want   series.Micros
	}{
		{nil, series.Second},
		{[]series.Micros{5, 5}, series.Second},
		{[]series.Micros{0, 10, 20, 100, 110}, 10},
	} {
		if got := usualStep(tt.points, identity); got != tt.want {
			t.Errorf("usual step of %v = %d, want %d", tt.points, got, tt.want)
		}
	}
}

// The reference looks around each stall by itself. Stalls lie anywhere, also
// begin long before the window and, as histograms place them, end after it.
func TestShiftedStallsAreCoveredAsOneByOne(t *testing.T) {
	t.Parallel()
	rng := unseeded(12)
	const n = 300
	for range 50 {
		d := newIndicator("", "", span(0, n))
		d.before, d.after = 4, 1
		for range 1 + rng.IntN(10) {
			second := float64(rng.IntN(n))
			d.set(span(second, second+1), true)
		}
		set := &stallSet{}
		for range 40 {
			seen := at(rng.Float64()*2.2*n - 0.1*n)
			set.stalls = append(set.stalls, stall{at: seen, onset: seen - rng.Int64N(80)*series.Second})
		}
		ahead := d.secondsToRaised()
		for _, strictly := range []bool{false, true} {
			looked := d.stretches(set, strictly)
			for shift := int64(1); shift < n; shift++ {
				_, want := d.coverage(set, shift, strictly, nil)
				if got := coveredAt(looked, ahead, shift); got != want {
					t.Fatalf("shifted by %d s (strictly %t): %d stalls covered, want %d", shift, strictly, got, want)
				}
			}
		}
	}
}
