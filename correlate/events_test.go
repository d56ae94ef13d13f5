package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// irregular gives one instant in each period of 90 s, at a random place in it.
func irregular(n int) []float64 {
	rng := unseeded(21)
	out := make([]float64, 0, n)
	for k := range n {
		out = append(out, float64(90*k)+10+70*rng.Float64())
	}
	return out
}

func rivalOf(t *testing.T, cause string) *eventRival {
	t.Helper()
	for _, e := range eventRivals() {
		if e.cause == cause {
			return &e
		}
	}
	t.Fatalf("no rival %q", cause)
	return nil
}

// otherWait adds a wait of an event that no watch names.
func otherWait(s *series.Series, event string, seconds, waited float64) {
	s.OtherWaits = append(s.OtherWaits, series.Wait{At: at(seconds), Event: event, TimeWaited: series.Micros(waited * 1e6), Period: series.Second})
}

// ticksEachSecond says that ASH was sampled throughout.
func ticksEachSecond(s *series.Series) {
	for k := range int(s.Window.Seconds()) {
		s.Ticks = append(s.Ticks, series.Tick{ID: int64(k + 1), At: at(float64(k))})
	}
}

func TestRivalsShowInOraclesOwnWaitsAndCounters(t *testing.T) {
	t.Parallel()
	instants := irregular(40)
	atStalls := func(add func(s *series.Series, instant float64)) func(*series.Series) {
		return func(s *series.Series) {
			for _, x := range instants {
				add(s, x)
			}
		}
	}
	// counters gives a counter's rate each second, and another in the seconds of stalls.
	counters := func(name string, usual, stalled float64) func(*series.Series) {
		return func(s *series.Series) {
			rates := demand(3600, func(int) float64 { return usual })
			for _, x := range instants {
				rates[int(x)].PerS, rates[int(x-0.2)].PerS = stalled, stalled
			}
			s.Counters[name] = rates
		}
	}
	histograms := func(event string, below float64) func(*series.Series) {
		return func(s *series.Series) {
			for k := range 3600 {
				s.Histograms = append(s.Histograms, series.HistogramStep{Span: span(float64(k), float64(k+1)), Event: event, Steps: []series.BucketStep{{Below: 1024, Gained: 50}}})
			}
			for _, x := range instants {
				h := &s.Histograms[int(x)]
				h.Steps = append(h.Steps, series.BucketStep{Below: series.Micros(below * 1000), Gained: 1})
			}
		}
	}
	tests := []struct {
		name   string
		cause  string
		build  []func(*series.Series)
		want   string
		absent bool
	}{
		{
			name: "log file switches at the stalls", cause: domain.CauseLogSwitch, want: domain.Supported,
			build: []func(*series.Series){ticksEachSecond, atStalls(func(s *series.Series, x float64) { otherWait(s, "log file switch completion", x, 0.3) })},
		},
		{
			name: "short log file switches explain no stall", cause: domain.CauseLogSwitch, want: domain.Rejected,
			build: []func(*series.Series){ticksEachSecond, atStalls(func(s *series.Series, x float64) { otherWait(s, "log file switch completion", x, 0.04) })},
		},
		{
			name: "a spool that shows many other events would show switches", cause: domain.CauseLogSwitch, want: domain.Rejected,
			build: []func(*series.Series){ticksEachSecond, func(s *series.Series) {
				for i, e := range []string{"a", "b", "c", "d"} {
					otherWait(s, e, float64(i), 0.1)
				}
			}},
		},
		{
			name: "one that shows three does not tell", cause: domain.CauseLogSwitch, absent: true,
			build: []func(*series.Series){ticksEachSecond, func(s *series.Series) {
				for i, e := range []string{"a", "b", "c", "c"} {
					otherWait(s, e, float64(i), 0.1)
				}
			}},
		},
		{
			name: "a filtered one neither", cause: domain.CauseLogSwitch, absent: true,
			build: []func(*series.Series){ticksEachSecond, func(s *series.Series) {
				s.Filtered = true
				for i, e := range []string{"a", "b", "c", "d"} {
					otherWait(s, e, float64(i), 0.1)
				}
			}},
		},
		{
			name: "histograms of the standby's acknowledgement, long at the stalls", cause: domain.CauseDataGuard, want: domain.Supported,
			build: []func(*series.Series){histograms(domain.EventSYNCRemoteWrite, 262.144)},
		},
		{
			name: "the bucket from 65 ms on explains a stall of 0.1 s too", cause: domain.CauseDataGuard, want: domain.Supported,
			build: []func(*series.Series){histograms(domain.EventSYNCRemoteWrite, 131.072)},
		},
		{
			name: "the one from 33 ms on does not", cause: domain.CauseDataGuard, want: domain.Rejected,
			build: []func(*series.Series){histograms(domain.EventSYNCRemoteWrite, 65.536)},
		},
		{name: "no histogram of it", cause: domain.CauseDataGuard, absent: true},
		{
			// 1000 acknowledgements/s of 500 us; ten times that at stalls.
			name: "means of the SCN acknowledgement ten times as long at the stalls", cause: domain.CauseRACAck, want: domain.Supported,
			build: []func(*series.Series){counters("redo write broadcast ack time", 500_000, 5_000_000), counters("redo write broadcast ack count", 1000, 1000)},
		},
		{
			// 1.9 ms is four times the usual mean and more, but short.
			name: "a mean under 2 ms is nothing", cause: domain.CauseRACAck, want: domain.Rejected,
			build: []func(*series.Series){counters("redo write broadcast ack time", 100_000, 1_900_000), counters("redo write broadcast ack count", 1000, 1000)},
		},
		{
			// 3 ms is over 2 ms, but not four times 1 ms.
			name: "nor one that is not four times the usual", cause: domain.CauseRACAck, want: domain.Rejected,
			build: []func(*series.Series){counters("redo write broadcast ack time", 1_000_000, 3_000_000), counters("redo write broadcast ack count", 1000, 1000)},
		},
		{
			name: "times without counts have no mean", cause: domain.CauseRACAck, absent: true,
			build: []func(*series.Series){counters("redo write broadcast ack time", 500_000, 5_000_000)},
		},
		{
			name: "late wake-ups of over 128 ms at the stalls", cause: domain.CauseForegroundWakeup, want: domain.Supported,
			build: []func(*series.Series){counters("redo synch time overhead count (inf)", 0, 1)},
		},
		{
			name: "none of them", cause: domain.CauseForegroundWakeup, want: domain.Rejected,
			build: []func(*series.Series){counters("redo synch time overhead count (inf)", 0, 0)},
		},
		{name: "the counter is missing", cause: domain.CauseForegroundWakeup, absent: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(3600)
			for _, build := range tt.build {
				build(s)
			}
			d := rivalOf(t, tt.cause).indicator(s, DefaultParams())
			if tt.absent {
				if d != nil {
					t.Error("an indicator of what cannot be seen")
				}
				return
			}
			if d == nil {
				t.Fatal("no indicator")
			}
			if r := d.judge(stallsAt(instants...), DefaultParams(), unseeded(22)); r.cause.Verdict != tt.want {
				t.Errorf("verdict %s (%v), want %s", r.cause.Verdict, r.cause.Evidence, tt.want)
			}
		})
	}
}

func TestRivalEventsAreKnownByOraclesNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cause, event string
		want         bool
	}{
		{domain.CauseRACAck, "wait for scn ack", true},
		{domain.CauseRACAck, "log file sync", false},
		{domain.CauseDataGuard, "SYNC Remote Write", true},
		{domain.CauseDataGuard, "LGWR-LNS wait on channel", true},
		{domain.CauseDataGuard, "ASYNC Remote Write", false},
		{domain.CauseLogSwitch, "log file switch (checkpoint incomplete)", true},
		{domain.CauseLogSwitch, "log file sync", false},
		{domain.CauseForegroundWakeup, "log file sync", false},
	} {
		if got := rivalOf(t, tt.cause).matches(tt.event); got != tt.want {
			t.Errorf("%s matches %q: %t, want %t", tt.cause, tt.event, got, tt.want)
		}
	}
}

func TestStallsSharedWithThePartnerLeaveTheInterruptTest(t *testing.T) {
	t.Parallel()
	instants := irregular(40)
	build := func(partner ...float64) (*series.Series, *stallSet) {
		s := host(3600)
		for _, x := range partner {
			s.Partner = append(s.Partner, series.Wait{At: at(x), Event: domain.EventLogFileSync, TimeWaited: 300_000, Period: series.Second})
		}
		return s, stallsAt(instants...)
	}
	count := func(set *stallSet) int {
		n := 0
		for _, k := range set.stalls {
			if k.shared {
				n++
			}
		}
		return n
	}
	t.Run("where most coincide", func(t *testing.T) {
		t.Parallel()
		s, set := build(instants[:30]...)
		r := set.leaveShared(s, DefaultParams())
		if r == nil || count(set) != 30 {
			t.Fatalf("%d stalls are shared, want 30", count(set))
		}
		interrupts(s, map[int]float64{5: 4000})
		s.Threads = []series.Thread{inTurn(180, 10, 5, 1)}
		c := testOf(s, set, quickParams())
		if c.a+c.b != 10 || c.unplaced != 0 {
			t.Errorf("%d stalls are tested and %d unplaced, want 10 and 0", c.a+c.b, c.unplaced)
		}
		js := []judgement{{Cause: domain.Cause{Cause: domain.CauseStorage}}, {Cause: domain.Cause{Cause: domain.CauseRACAck}}}
		addShared(js, r)
		if len(js[0].Evidence) != 0 || len(js[1].Evidence) != 2 || !strings.Contains(js[1].Evidence[0], "around 30 of 40 stalls") {
			t.Errorf("evidence = %q", js[1].Evidence)
		}
	})
	t.Run("not where a few do by chance", func(t *testing.T) {
		t.Parallel()
		s, set := build(instants[:2]...)
		if r := set.leaveShared(s, DefaultParams()); r != nil || count(set) != 0 {
			t.Errorf("%d stalls are shared, want none", count(set))
		}
	})
	t.Run("not where the partner's commits were quick", func(t *testing.T) {
		t.Parallel()
		s, set := build(instants...)
		for i := range s.Partner {
			s.Partner[i].TimeWaited = 90_000
		}
		if r := set.leaveShared(s, DefaultParams()); r != nil || count(set) != 0 {
			t.Errorf("%d stalls are shared, want none", count(set))
		}
	})
	t.Run("not without a partner", func(t *testing.T) {
		t.Parallel()
		s, set := build()
		if r := set.leaveShared(s, DefaultParams()); r != nil {
			t.Error("a judgement without a partner")
		}
		addShared(nil, nil)
	})
}

// ownWrite adds a write wait that LGWR timed itself.
func ownWrite(s *series.Series, seconds, waited float64) {
	s.OwnWaits = append(s.OwnWaits, series.Wait{At: at(seconds), Event: domain.EventLogFileParallelWrite, TimeWaited: series.Micros(waited * 1e6), Period: series.Second})
}

func TestAnOwnWriteIsSlowFromHalfTheStallOn(t *testing.T) {
	t.Parallel()
	s := host(600)
	for _, w := range []struct{ at, waited float64 }{{100, 0.1}, {200, 0.099}, {300.19, 0.15}, {400.21, 0.15}, {499.7, 0.15}} {
		ownWrite(s, w.at, w.waited)
	}
	o := newOwnWrites(s, stallsAt(100, 200, 300, 400, 500)) // of 0.2 s each
	if d := cmp.Diff([]bool{true, false, true, false, false}, o.slow); d != "" {
		t.Errorf("slow own writes differ (-want +got):\n%s", d)
	}
	near(t, "share", o.share(), 0.4, 1e-12)
	if newOwnWrites(host(600), stallsAt(100)).seen {
		t.Error("own writes are seen where there are none")
	}
}

// storageCase puts ten exposed and thirty unexposed stalls beside own writes
// that are slow in the first some of each.
type storageCase struct {
	name                         string
	slowExposed, slowUnexposed   int
	devices                      string // verdict by the devices' await
	interrupts                   string // verdict of the interrupt test
	other                        string // verdict of another rival
	p, kappa                     float64
	want                         string
	evidence                     string
	withoutPlacement, nothingOwn bool
}

func TestStorageIsJudgedByOwnWrites(t *testing.T) {
	t.Parallel()
	const unseenYet = domain.NotObservable
	tests := []storageCase{
		{name: "quick writes in the stalls clear it", slowExposed: 1, slowUnexposed: 2, devices: unseenYet, interrupts: domain.Inconclusive, p: 0.3, kappa: 0.8, want: domain.Rejected, evidence: "storage is cleared"},
		{name: "slow alike in exposed and unexposed stalls they accuse it", slowExposed: 9, slowUnexposed: 28, devices: unseenYet, interrupts: domain.Rejected, p: 0.5, kappa: 0.8, want: domain.Supported, evidence: "in exposed and unexposed stalls alike"},
		{name: "while interrupts are supported they may be inflated", slowExposed: 10, slowUnexposed: 12, devices: unseenYet, interrupts: domain.Supported, p: 0.001, kappa: 0.8, want: domain.Inconclusive, evidence: "inflates these waits"},
		{name: "with quick devices they are a mediator", slowExposed: 10, slowUnexposed: 12, devices: domain.Rejected, interrupts: domain.Supported, p: 0.001, kappa: 0.8, want: domain.Rejected, evidence: "the devices were quick meanwhile"},
		{name: "slow devices need no own writes", slowExposed: 10, slowUnexposed: 30, devices: domain.Supported, interrupts: domain.Rejected, p: 0.5, kappa: 0.8, want: domain.Supported, evidence: "itself waited for its write"},
		{name: "slow while exposed only they accuse nobody", slowExposed: 10, slowUnexposed: 12, devices: unseenYet, interrupts: domain.Inconclusive, p: 0.2, kappa: 0.8, want: domain.Inconclusive, evidence: "100 % of the exposed, 40 % of the unexposed"},
		{name: "nor where exposure may matter", slowExposed: 9, slowUnexposed: 28, devices: unseenYet, interrupts: domain.Inconclusive, p: 0.04, kappa: 0.8, want: domain.Inconclusive},
		{name: "nor where placement is too coarse to tell", slowExposed: 9, slowUnexposed: 28, devices: unseenYet, interrupts: domain.Inconclusive, p: 0.5, kappa: 0.4, want: domain.Inconclusive},
		{name: "nor where another cause is shown", slowExposed: 9, slowUnexposed: 28, devices: unseenYet, interrupts: domain.Rejected, other: domain.Supported, p: 0.5, kappa: 0.8, want: domain.Inconclusive},
		{name: "nor without placement", slowExposed: 9, slowUnexposed: 28, devices: unseenYet, interrupts: unseenYet, withoutPlacement: true, want: domain.Inconclusive},
		{name: "without own writes nothing is added", devices: unseenYet, interrupts: domain.Rejected, p: 0.5, kappa: 0.8, nothingOwn: true, want: unseenYet},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := storageVerdict(tt)
			if got.Verdict != tt.want {
				t.Errorf("verdict %s (%q), want %s", got.Verdict, got.Evidence, tt.want)
			}
			if !strings.Contains(strings.Join(got.Evidence, "; "), tt.evidence) {
				t.Errorf("evidence %q lacks %q", got.Evidence, tt.evidence)
			}
			if tt.nothingOwn && len(got.Evidence) != 0 {
				t.Errorf("evidence %q from nothing", got.Evidence)
			}
			if tt.want == domain.Supported && tt.devices == unseenYet && (known(got.AttributableShare) != 0.925 || len(got.explained) != 40) {
				t.Errorf("share %v of %d stalls, want 37 of 40", known(got.AttributableShare), len(got.explained))
			}
		})
	}
}

func storageVerdict(tt storageCase) judgement {
	const stalls, exposed = 40, 10
	s := host(3600)
	c := &coincidence{level: make([]uint8, stalls), visit: make([]int32, stalls), pValue: tt.p, kappa: tt.kappa}
	var instants []float64
	for i := range stalls {
		instants = append(instants, float64(10*i+5))
		c.visit[i] = int32(i)
		slow := i-exposed < tt.slowUnexposed
		if i < exposed {
			c.level[i] = levelHeavy
			slow = i < tt.slowExposed
		}
		if slow {
			ownWrite(s, instants[i], 0.15)
		} else {
			ownWrite(s, instants[i], 0.001)
		}
	}
	if tt.nothingOwn {
		s.OwnWaits = nil
	}
	if tt.withoutPlacement {
		c = nil
	}
	by := map[string]judgement{}
	for cause, verdict := range map[string]string{domain.CauseStorage: tt.devices, domain.CauseInterrupts: tt.interrupts, domain.CauseSwapping: tt.other} {
		by[cause] = judgement{Cause: domain.Cause{Cause: cause, Verdict: verdict}, low: math.NaN()}
	}
	storageByOwnWrites(by, s, stallsAt(instants...), c, DefaultParams())
	return by[domain.CauseStorage]
}

func TestPercentOfAnUnknownShare(t *testing.T) {
	t.Parallel()
	if got := percent(math.NaN()); got != "an unknown share" {
		t.Errorf("percent = %q", got)
	}
	if got := percent(0.345); got != "34 %" && got != "35 %" {
		t.Errorf("percent = %q", got)
	}
}
