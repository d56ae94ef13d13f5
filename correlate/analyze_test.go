package correlate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// commits adds the ASH rows of a stall of three waiters, and of quick commits
// beside it.
func commits(s *series.Series, rng *rand.Rand, instant float64, event string) {
	longest := 0.12 + 0.3*rng.Float64()
	for k := range 3 {
		slowCommit(s, instant, longest-0.005*float64(k))
		s.Waits[len(s.Waits)-1].Event = event
	}
	slowCommit(s, instant+1, 0.0004+0.002*rng.Float64())
	s.Waits[len(s.Waits)-1].Event = event
}

// caseSeries gives an hour in which LGWR stalls forty times as often on heavy
// CPUs 4 and 5 as elsewhere, on a host with calm disks and memory.
func caseSeries(watch domain.Watch, command, event string) *series.Series {
	const seconds = 3600
	rng := unseeded(51)
	s := host(seconds)
	s.Watch = watch
	interrupts(s, map[int]float64{4: 4000, 5: 3000, 6: 50, 7: 40, 0: 30})
	s.Devices = []series.Device{
		{Name: "ens3f0", Class: domain.ClassNetwork, IRQs: []int{120, 121}, PerS: map[int]float64{4: 3900, 5: 3000}, Total: 6900},
		{Name: "ens4f0", Class: domain.ClassNetwork, IRQs: []int{130}, PerS: map[int]float64{4: 100}, Total: 100},
	}
	s.Topology.Bonds = []domain.Bond{{Name: "bond1", Slaves: []string{"ens3f0"}}}
	cpus := wander(rng, seconds, 4, func(int) int32 { return rng.Int32N(8) })
	s.Threads = []series.Thread{lgwr(cpus...)}
	s.Threads[0].Command = command
	ticksEachSecond(s)
	s.Counters["user commits"] = demand(seconds, func(int) float64 { return 400 + 100*rng.Float64() })
	systemEachSecond(s, func(int) series.SystemPoint { return idleHost() })
	for k := range seconds {
		s.Disks = append(s.Disks, series.DiskPoint{At: at(float64(k + 1)), Device: "nvme0n1", AwaitMS: 0.4 + 0.2*rng.Float64()})
	}
	for k, cpu := range cpus {
		rate := 0.001
		if cpu == 4 || cpu == 5 {
			rate = 0.04
		}
		if rng.Float64() < rate {
			commits(s, rng, float64(k)+0.2, event)
		}
	}
	slices.SortStableFunc(s.Waits, func(a, b series.Wait) int { return int(a.At - b.At) })
	return s
}

func lgwrCase() *series.Series {
	return caseSeries(domain.WatchLGWR(), "ora_lgwr_ORDP1", domain.EventLogFileSync)
}

func TestAnalyzeFindsTheCPUsThatCommitsWaitFor(t *testing.T) {
	t.Parallel()
	f := Analyze(lgwrCase(), DefaultParams())
	if f.Verdict != domain.CauseInterrupts || len(f.Mixed) != 0 || f.Grade != "B" {
		t.Errorf("verdict %s, mixed %v, grade %s: %+v", f.Verdict, f.Mixed, f.Grade, f.Causes)
	}
	if f.Schema != "corewait/analysis/v1" || f.Node != "db1" || f.Instance != "ORDP1" || f.Watch != "lgwr" {
		t.Errorf("schema %q, node %q, instance %q, watch %q", f.Schema, f.Node, f.Instance, f.Watch)
	}
	if f.LoadSeries == nil || *f.LoadSeries != "commits_per_s" {
		t.Errorf("load series = %v", f.LoadSeries)
	}
	if d := cmp.Diff([]int{4, 5}, f.Interrupts.HeavyCPUs); d != "" {
		t.Errorf("heavy CPUs differ (-want +got):\n%s", d)
	}
	if !strings.Contains(f.Headline, "happened while LGWR ran on CPUs 4-5, which serve ens3f0 (bond1); ") {
		t.Errorf("headline = %q", f.Headline)
	}
	near(t, "seconds of placement", f.Coverage.PlacementSeconds, 3600, 0)
	near(t, "seconds of interrupts", f.Coverage.InterruptSeconds, 3600, 0)
	near(t, "heavy share", known(f.Placement.HeavyShare), 0.25, 0.1)
	if known(f.Coverage.Kappa) < 0.8 || f.Coverage.WaitSource == nil || *f.Coverage.WaitSource != "ash" {
		t.Errorf("coverage = %+v", f.Coverage)
	}
	for cause, want := range map[string]string{
		domain.CauseStorage: domain.Rejected, domain.CauseCPUSaturation: domain.Rejected, domain.CauseCPUSteal: domain.Rejected,
		domain.CauseSwapping: domain.Rejected, domain.CauseCPULocation: domain.Rejected, domain.CauseRTPreemption: domain.NotObservable,
		domain.CauseRACAck: domain.NotObservable, domain.CauseDataGuard: domain.NotObservable, domain.CausePostPollSwitch: domain.NotObservable,
		domain.CauseForegroundWakeup: domain.NotObservable, domain.CauseLogSwitch: domain.NotObservable,
	} {
		if c := causeOf(t, f, cause); c.Verdict != want || len(c.Evidence) == 0 {
			t.Errorf("%s is %s (%q), want %s", cause, c.Verdict, c.Evidence, want)
		}
	}
	if len(f.StallList) != f.Waits.Stalls || len(f.NextSteps) == 0 {
		t.Errorf("%d of %d stalls are listed, next steps %q", len(f.StallList), f.Waits.Stalls, f.NextSteps)
	}
}

func TestCausesAreInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	f := Analyze(host(60), quickParams())
	names := make([]string, 0, len(f.Causes))
	for _, c := range f.Causes {
		names = append(names, c.Cause)
	}
	want := strings.Fields("interrupt-collision storage cpu-saturation cpu-steal swapping rt-preemption cpu-location " +
		"rac-acknowledgement data-guard-sync foreground-wakeup post-poll-switch log-switch")
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("causes differ (-want +got):\n%s", d)
	}
}

func TestTheSameSeriesGivesTheSameFinding(t *testing.T) {
	t.Parallel()
	s := lgwrCase()
	first := Analyze(s, quickParams())
	if d := cmp.Diff(first, Analyze(s, quickParams())); d != "" {
		t.Errorf("a second run over the same series differs (-first +second):\n%s", d)
	}
	if d := cmp.Diff(first, Analyze(lgwrCase(), quickParams())); d != "" {
		t.Errorf("a run over equal series differs (-first +second):\n%s", d)
	}
	other := quickParams()
	other.Seed = 2
	a, b := first.Coincidence, Analyze(s, other).Coincidence
	if a.StallsExposed != b.StallsExposed || known(a.ExpectedExposed) != known(b.ExpectedExposed) {
		t.Error("another seed changes what was counted")
	}
}

func TestTheLMSWatchGoesThroughTheSameEngine(t *testing.T) {
	t.Parallel()
	f := Analyze(caseSeries(domain.WatchLMS(), "ora_lms0_ORDP1", "gc cr block busy"), DefaultParams())
	if f.Verdict != domain.CauseInterrupts || f.Watch != "lms" {
		t.Errorf("verdict %s of watch %s: %+v", f.Verdict, f.Watch, f.Causes)
	}
	if d := cmp.Diff([]string{"ora_lms0_ORDP1"}, f.Placement.Processes); d != "" {
		t.Errorf("processes differ (-want +got):\n%s", d)
	}
	if strings.Contains(f.Headline, "commit") || strings.Contains(f.Headline, "LGWR") || !strings.Contains(f.Headline, "while LMS ran on CPUs 4-5") {
		t.Errorf("headline speaks of another watch: %q", f.Headline)
	}
}

func TestStolenTimeRaisesTheGrade(t *testing.T) {
	t.Parallel()
	s := host(600)
	interrupts(s, map[int]float64{5: 4000})
	s.CPU.IRQAccounted = true
	th := lgwr()
	for i := range 12_000 { // 20 Hz; 2 s on CPU 5 in every 10
		cpu := int32(1)
		if i%200 < 40 {
			cpu = 5
		}
		sample(&th, float64(i)*0.05, cpu)
		th.State[i], th.Exec[i], th.RunDelay[i] = 'S', 1_000_000, 0
		if i%200 >= 10 && i%200 <= 30 {
			th.State[i] = 'R' // and hardly runs: 1 ms in 50
		}
	}
	s.Threads = []series.Thread{th}
	for k := range 60 {
		slowCommit(s, float64(10*k)+1, 0.3)
		slowCommit(s, float64(10*k)+1, 0.29)
	}
	f := Analyze(s, DefaultParams())
	if f.Grade != "A" || f.Decomposed == nil || f.Decomposed.Stalls != 60 {
		t.Fatalf("grade %s, decomposition %+v", f.Grade, f.Decomposed)
	}
	// By hand: 60 stalls of 0.3 s, 49 of 50 ms stolen.
	near(t, "stolen on heavy CPUs", f.Decomposed.StolenHeavyS, 60*0.3*0.98, 1e-6)
	if f.Verdict != domain.CauseInterrupts {
		t.Errorf("verdict %s: %+v", f.Verdict, f.Causes)
	}
}

func TestInsufficientDataNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	const (
		waits      = "waits (ASH rows or histograms of log file sync)"
		placement  = "the process' placement (pidstat -t -p PID 1)"
		interrupts = "interrupts per CPU (two or more timed readings of /proc/interrupts)"
	)
	tests := []struct {
		name   string
		change func(s *series.Series)
		want   string
	}{
		{"no waits", func(s *series.Series) { s.Waits, s.Ticks = nil, nil }, "missing: " + waits},
		{"no placement", func(s *series.Series) { s.Threads = nil }, "missing: " + placement},
		{"no interrupts", func(s *series.Series) { s.Interrupts = series.Matrix{} }, "missing: " + interrupts},
		{"none of the three", func(s *series.Series) {
			s.Waits, s.Ticks, s.Threads, s.Interrupts = nil, nil, nil, series.Matrix{}
		}, "missing: " + waits + ", " + placement + " and " + interrupts},
		{"no stall", func(s *series.Series) { s.Waits = nil }, "only 0 stalls over 100 ms in the window, at least 5 are needed"},
		{"too few stalls", func(s *series.Series) {
			s.Waits = nil
			for k := range 4 {
				slowCommit(s, float64(100*k)+50, 0.3)
			}
		}, "only 4 stalls over 100 ms in the window, at least 5 are needed"},
		{"histograms read too seldom", func(s *series.Series) {
			s.Waits = nil
			for k := range 9 {
				s.Histograms = append(s.Histograms, withHistograms([]step{{float64(60 * k), float64(60*k + 60), []bucket{{262.144, 1, 0}}}}).Histograms...)
			}
		}, "9 stalls lie in histogram intervals too long to place them (2 s at most)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := lgwrCase()
			tt.change(s)
			f := Analyze(s, quickParams())
			if f.Verdict != domain.InsufficientData {
				t.Errorf("verdict %s, want %s", f.Verdict, domain.InsufficientData)
			}
			if want := "Not enough data for a verdict: " + tt.want + "."; f.Headline != want {
				t.Errorf("headline %q, want %q", f.Headline, want)
			}
			if strings.HasPrefix(tt.want, "missing") {
				if in := causeOf(t, f, domain.CauseInterrupts); in.Verdict != domain.NotObservable || in.Evidence[0] != tt.want {
					t.Errorf("interrupts are %s: %q", in.Verdict, in.Evidence)
				}
			}
		})
	}
}

func TestCoverageTellsGapsOffsetsAndLateTicks(t *testing.T) {
	t.Parallel()
	s := lgwrCase()
	th := &s.Threads[0]
	cut := func(v []series.Micros) []series.Micros { return append(slices.Clone(v[:1000]), v[1100:]...) }
	th.At = cut(th.At)
	th.CPU, th.State = append(slices.Clone(th.CPU[:1000]), th.CPU[1100:]...), append(slices.Clone(th.State[:1000]), th.State[1100:]...)
	th.CPUShare, th.WaitShare = th.CPUShare[:3500], th.WaitShare[:3500]
	th.Exec, th.RunDelay = th.Exec[:3500], th.RunDelay[:3500]
	th.Uncertainty = series.Second
	s.Ticks[100].At += 600_000
	s.Notes, s.Warnings = []string{"a note of the reader"}, []string{"a warning of the reader"}
	f := Analyze(s, quickParams())
	text := strings.Join(f.Coverage.Notes, "; ")
	for _, want := range []string{"a note of the reader", "gaps of 100 s in all", "placement carries whole seconds", "1 ASH samples came over 1.5 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("notes %q lack %q", text, want)
		}
	}
	near(t, "seconds of placement", f.Coverage.PlacementSeconds, 3500, 0)
	if d := cmp.Diff([]string{"a warning of the reader"}, f.Warnings); d != "" {
		t.Errorf("warnings differ (-want +got):\n%s", d)
	}
}

func TestOffsetsInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		offset [2]series.Micros
		want   string
	}{
		{[2]series.Micros{750_000, 750_000}, "taken +0.75 s from the time printed"},
		{[2]series.Micros{-500_000, 0}, "taken -0.50 s from the time printed at the begin, +0.00 s at the end"},
	} {
		if got := offsetText(tt.offset); got != tt.want {
			t.Errorf("offset in words = %q, want %q", got, tt.want)
		}
	}
}

// A finding must always become JSON: a NaN or an infinite number anywhere
// would lose the whole document.
func TestPoorSeriesGiveAFindingThatBecomesJSON(t *testing.T) {
	t.Parallel()
	oneSample := lgwrCase()
	oneSample.Threads = []series.Thread{lgwr(4)}
	doubles := lgwrCase()
	doubles.Threads[0].At = slices.Repeat([]series.Micros{at(5)}, len(doubles.Threads[0].At))
	strange := lgwrCase()
	for i := range strange.Threads[0].CPU {
		strange.Threads[0].CPU[i] = 1 << 20
	}
	unknownRates := lgwrCase()
	for i := range unknownRates.Interrupts.V {
		unknownRates.Interrupts.V[i] = float32(math.NaN())
	}
	noOnline := lgwrCase()
	noOnline.Online, noOnline.Topology = nil, domain.Topology{}
	noWindow := lgwrCase()
	noWindow.Window = series.Span{}
	instant := lgwrCase()
	instant.Window = span(5, 5)
	zeroWaits := lgwrCase()
	for i := range zeroWaits.Waits {
		zeroWaits.Waits[i].Period, zeroWaits.Waits[i].TimeWaited = 0, 0
	}
	never := lgwrCase()
	interrupts(never, nil)
	tests := []struct {
		name string
		s    *series.Series
	}{
		{"nothing at all", &series.Series{Watch: domain.WatchLGWR()}},
		{"a single placement sample", oneSample},
		{"placement samples of one instant", doubles},
		{"a CPU that the host lacks", strange},
		{"rates all unknown", unknownRates},
		{"no CPU known to be online", noOnline},
		{"no window", noWindow},
		{"a window of no length", instant},
		{"waits that are not fixed up", zeroWaits},
		{"no interrupts on any CPU", never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := Analyze(tt.s, quickParams())
			if _, err := json.Marshal(f); err != nil {
				t.Errorf("marshal: %v", err)
			}
			if f.Verdict == domain.CauseInterrupts {
				t.Errorf("verdict %s: %s", f.Verdict, f.Headline)
			}
		})
	}
}

func TestRandomSeriesNeverPanicAndAlwaysBecomeJSON(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := unseeded(900 + seed)
		f := Analyze(randomSeries(rng), quickParams())
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("seed %d: marshal: %v", seed, err)
		}
	}
}

// randomSeries gives short series in which anything may be missing, unknown or
// at odd places.
func randomSeries(rng *rand.Rand) *series.Series {
	nan := math.NaN()
	seconds := float64(1 + rng.IntN(700))
	s := host(seconds)
	s.Watch = domain.Watches()[rng.IntN(2)]
	maybe := func(v float64) float64 {
		if rng.IntN(4) == 0 {
			return nan
		}
		return v * rng.Float64()
	}
	s.Interrupts = matrix(s, 1+5*rng.Float64(), map[int]float64{5: maybe(5000), 6: maybe(2000)})
	if rng.IntN(2) == 0 {
		s.CPU.IRQSoftIRQ, s.CPU.Interrupts = matrix(s, 1+5*rng.Float64(), map[int]float64{5: maybe(0.5)}), rng.IntN(2) == 0
	}
	for i := range s.Topology.CPUs {
		if rng.IntN(5) == 0 {
			s.Topology.CPUs[i] = domain.CPU{ID: i, Socket: -1, Core: -1, Node: -1}
		}
	}
	for k := range rng.IntN(3) {
		th := series.Thread{TID: k, Command: "ora_lgwr_X", Worker: k > 0, Uncertainty: series.Second * rng.Int64N(2)}
		for t := -3.0; t < seconds+3; t += 0.05 + 2*rng.Float64() {
			sample(&th, t, rng.Int32N(10))
			th.Exec[len(th.At)-1], th.RunDelay[len(th.At)-1] = rng.Int64N(2_000_000)-1000, rng.Int64N(2_000_000)-1000
		}
		s.Threads = append(s.Threads, th)
	}
	for t := -3.0; t < seconds+3; t += 10 * rng.Float64() {
		for range rng.IntN(4) {
			slowCommit(s, t, max(0, 2*rng.NormFloat64()))
		}
		if rng.IntN(3) == 0 {
			s.Partner = append(s.Partner, series.Wait{At: at(t), TimeWaited: 200_000})
			ownWrite(s, t, rng.Float64())
			otherWait(s, "log file switch completion", t, rng.Float64())
		}
		p := idleHost()
		p.At, p.System, p.RunQueue, p.Steal, p.SwapPerS = at(t), maybe(1), maybe(100), maybe(1), maybe(1e4)
		s.System = append(s.System, p)
		s.Disks = append(s.Disks, series.DiskPoint{At: at(t), Device: "sda", AwaitMS: maybe(50)})
		s.Counters["user commits"] = append(s.Counters["user commits"], series.Rate{Span: span(t, t+0.001), PerS: rng.Float64()})
	}
	return s
}
