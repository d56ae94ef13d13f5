package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
	"github.com/corewait/corewait/domain"
)

// shown is a test whose result supports interrupts in every respect, by a
// margin that each case below takes away.
func shown() *coincidence {
	return &coincidence{
		a: 40, b: 10, ta: 300, tb: 700, expected: 15, visitsA: 20, pValue: 0.0005, kappa: 0.8,
		stratified: stats.Ratio{Value: 9, Low: 4, High: 20}, trendP: 0.0005, socketP: 0.001, placeboP: 0.5,
	}
}

func TestVerdictOfTheInterruptTest(t *testing.T) {
	t.Parallel()
	contrast := &locationContrast{observable: true}
	tests := []struct {
		name     string
		change   func(c *coincidence)
		loc      *locationContrast
		want     string
		evidence string
	}{
		{"all that is asked for", func(*coincidence) {}, contrast, domain.Supported, "40 of 50 stalls while on a heavy CPU; 15.0 expected"},
		{"p of 0.005 is enough", func(c *coincidence) { c.pValue = 0.005 }, contrast, domain.Supported, "p = 0.005"},
		{"a greater one is not", func(c *coincidence) { c.pValue = 0.0051 }, contrast, domain.Inconclusive, "could have shown a ratio of"},
		{"a lower end of 2 is enough", func(c *coincidence) { c.stratified.Low = 2 }, contrast, domain.Supported, ""},
		{"a lesser one is not", func(c *coincidence) { c.stratified.Low = 1.99 }, contrast, domain.Inconclusive, "could have shown a ratio of"},
		{"8 exposed stalls are enough", func(c *coincidence) { c.a = 8 }, contrast, domain.Supported, ""},
		{"7 are not", func(c *coincidence) { c.a = 7 }, contrast, domain.Inconclusive, ""},
		{"5 visits are enough", func(c *coincidence) { c.visitsA = 5 }, contrast, domain.Supported, ""},
		{"4 are not", func(c *coincidence) { c.visitsA = 4 }, contrast, domain.Inconclusive, ""},
		{"kappa of a half is enough to support", func(c *coincidence) { c.kappa = 0.5 }, contrast, domain.Supported, ""},
		{"under it placement is too coarse", func(c *coincidence) { c.kappa = 0.49 }, contrast, domain.Inconclusive, "too coarse: agreement between a sample and the instant it stands for is 0.49"},
		{"an unknown kappa is too coarse as well", func(c *coincidence) { c.kappa = math.NaN() }, contrast, domain.Inconclusive, "too coarse"},
		{"too few placed stalls", func(c *coincidence) { c.a, c.b = 3, 1 }, contrast, domain.Inconclusive, "too few placed stalls to judge (4, at least 5)"},
		{"a placebo of similar size", func(c *coincidence) { c.placeboBig = true }, contrast, domain.Inconclusive, "something else than the instant"},
		{"light CPUs of the socket stall alike", func(*coincidence) {}, &locationContrast{observable: true, alike: true}, domain.Inconclusive, "not distinguished from the socket"},
		{
			"the whole socket is heavy and nothing tells its CPUs apart", func(c *coincidence) { c.socketP = math.NaN() }, &locationContrast{},
			domain.Supported, "not distinguished from the socket itself",
		},
		{"dose within it does", func(*coincidence) {}, &locationContrast{}, domain.Supported, "within its socket p = 0.001"},
		{"an upper end under 1.5", func(c *coincidence) { none(c) }, contrast, domain.Rejected, ""},
		{"one of 1.5 does not reject", func(c *coincidence) { none(c); c.stratified.High = 1.5 }, contrast, domain.Inconclusive, "could have shown"},
		{"nor does it with kappa under 0.7", func(c *coincidence) { none(c); c.kappa = 0.69 }, contrast, domain.Inconclusive, "could have shown"},
		{"under 2 % exposed a trend of dose supports", func(c *coincidence) { c.ta, c.tb, c.pValue = 19, 981, 1 }, contrast, domain.Supported, "2 % of the time is exposed: only the contrast of dose counts"},
		{"and the coincidence alone does not", func(c *coincidence) { c.ta, c.tb, c.trendP = 19, 981, 0.2 }, contrast, domain.Inconclusive, "only the contrast of dose counts"},
		{"over 90 % neither", func(c *coincidence) { c.ta, c.tb, c.trendP = 901, 99, 0.2 }, contrast, domain.Inconclusive, "90 % of the time is exposed"},
		{"over 90 % a trend of dose supports", func(c *coincidence) { c.ta, c.tb = 901, 99 }, contrast, domain.Supported, "only the contrast of dose counts"},
		{"always exposed, where kappa says nothing", func(c *coincidence) { c.ta, c.tb, c.kappa = 1000, 0, math.NaN() }, contrast, domain.Supported, "100 % of the time is exposed"},
		{"a placebo spoils dose as well", func(c *coincidence) { c.ta, c.tb, c.placeboBig = 901, 99, true }, contrast, domain.Inconclusive, ""},
		{"an unknown trend supports nothing", func(c *coincidence) { c.ta, c.tb, c.trendP = 901, 99, math.NaN() }, contrast, domain.Inconclusive, ""},
		{"2 % exposed is judged as usual", func(c *coincidence) { c.ta, c.tb = 20, 980 }, contrast, domain.Supported, ""},
		{"90 % exposed too", func(c *coincidence) { c.ta, c.tb = 900, 100 }, contrast, domain.Supported, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := shown()
			tt.change(c)
			got, evidence := c.verdict(DefaultParams(), tt.loc)
			if got != tt.want {
				t.Errorf("verdict %s (%q), want %s", got, evidence, tt.want)
			}
			if !strings.Contains(strings.Join(evidence, "; "), tt.evidence) {
				t.Errorf("evidence %q lacks %q", evidence, tt.evidence)
			}
		})
	}
}

// none makes the result one that speaks against interrupts.
func none(c *coincidence) {
	c.a, c.b, c.expected, c.pValue, c.trendP = 15, 35, 15, 0.5, 0.5
	c.stratified = stats.Ratio{Value: 1, Low: 0.7, High: 1.4}
}

// By hand: 40 of 50 exposed where 15 are expected is (0.8 - 0.3)/(1 - 0.3) =
// 0.714. Of placement that agrees with the instant in 0.8 beyond chance only
// that part shows: 0.714/0.8 = 0.893. The interval of 40 of 50 is 0.66282 to
// 0.89970 (R 4.2, binom.test), so it ends at 0.51832/0.8 and at 1.
func TestAttributableShareLeavesOutChanceAndMendsMisplacement(t *testing.T) {
	t.Parallel()
	c := shown()
	share, low, high := c.attributable()
	near(t, "share", share, 0.892857, 1e-6)
	near(t, "low", low, 0.647896, 1e-4)
	near(t, "high", high, 1, 0)
	c.kappa = 1
	share, low, high = c.attributable()
	near(t, "share with exact placement", share, 0.714286, 1e-6)
	near(t, "its low end", low, 0.518314, 1e-4)
	near(t, "its high end", high, 0.856714, 1e-4)
	c.a, c.b, c.expected = 10, 40, 15
	share, _, _ = c.attributable()
	near(t, "share where fewer are exposed than expected", share, 0, 0)
	c.a, c.b, c.expected = 0, 0, 0
	share, low, high = c.attributable()
	if !math.IsNaN(share) || !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("share of no stalls = %v [%v, %v]", share, low, high)
	}
}

// part gives a supported cause that explains the given stalls of ten.
func part(cause, verdict string, share, low float64, stalls ...int) judgement {
	j := judgement{Cause: domain.Cause{Cause: cause, Verdict: verdict, AttributableShare: number(share)}, low: low, explained: make([]bool, 10)}
	for _, i := range stalls {
		j.explained[i] = true
	}
	return j
}

func TestOverallVerdict(t *testing.T) {
	t.Parallel()
	const (
		in, st, sw = domain.CauseInterrupts, domain.CauseStorage, domain.CauseSwapping
		sup, inc   = domain.Supported, domain.Inconclusive
	)
	tests := []struct {
		name  string
		js    []judgement
		want  string
		mixed []string
	}{
		{"a supported cause that explains most", []judgement{part(in, sup, 0.8, 0.6, 0, 1, 2, 3, 4, 5, 6, 7), part(st, inc, 0.9, 0.7, 0, 1)}, in, nil},
		{"half by the estimate and a third by its lower end", []judgement{part(in, sup, 0.5, 0.334, 0, 1, 2, 3, 4)}, in, nil},
		{"less than half", []judgement{part(in, sup, 0.49, 0.4, 0, 1, 2, 3, 4)}, domain.Undetermined, []string{in}},
		{"a lower end under a third", []judgement{part(in, sup, 0.8, 0.33, 0, 1, 2, 3, 4, 5, 6, 7)}, domain.Undetermined, []string{in}},
		{"an unknown share", []judgement{part(in, sup, math.NaN(), math.NaN(), 0, 1, 2)}, domain.Undetermined, []string{in}},
		{
			"a rival that explains more than a quarter of the same stalls spoils it",
			[]judgement{part(in, sup, 0.8, 0.6, 0, 1, 2, 3, 4, 5, 6, 7), part(st, sup, 0.2, 0.1, 0, 1, 2)}, domain.Undetermined, []string{in, st},
		},
		{
			"one that explains a quarter does not",
			[]judgement{part(in, sup, 0.8, 0.6, 0, 1, 2, 3, 4, 5, 6, 7), part(st, sup, 0.2, 0.1, 0, 1, 8, 9)}, in, nil,
		},
		{
			"two causes with their own parts",
			[]judgement{part(in, sup, 0.4, 0.35, 0, 1, 2, 3), part(st, sup, 0.4, 0.35, 5, 6, 7, 8)}, domain.Undetermined, []string{in, st},
		},
		{
			"beside a part of another the lower end must be half",
			[]judgement{part(in, sup, 0.7, 0.49, 0, 1, 2, 3, 4, 5, 6), part(st, sup, 0.3, 0.2, 7, 8, 9)}, domain.Undetermined, []string{in, st},
		},
		{
			"and then is enough",
			[]judgement{part(in, sup, 0.7, 0.5, 0, 1, 2, 3, 4, 5, 6), part(st, sup, 0.3, 0.2, 7, 8, 9)}, in, nil,
		},
		{
			"two that both claim most name both",
			[]judgement{part(in, sup, 0.6, 0.55, 0, 1, 2, 3, 4), part(st, sup, 0.6, 0.55, 5, 6, 7, 8, 9)}, domain.Undetermined, []string{in, st},
		},
		{"nothing is supported", []judgement{part(in, inc, 0.8, 0.6, 0), part(st, domain.Rejected, 0, 0), part(sw, domain.NotObservable, 0, 0)}, domain.Undetermined, nil},
		{"nothing is judged", nil, domain.Undetermined, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, mixed := overall(tt.js, DefaultParams())
			if got != tt.want {
				t.Errorf("verdict %s, want %s", got, tt.want)
			}
			if mixed == nil {
				t.Error("mixed is null, want a list")
			}
			if d := cmp.Diff(append([]string{}, tt.mixed...), mixed); d != "" {
				t.Errorf("mixed differs (-want +got):\n%s", d)
			}
		})
	}
}

// halfSocket gives a process that moves among all CPUs; 4 and 5 of socket 1 are
// heavy, 6 and 7 are not. rate is the chance of a stall per second on a CPU.
func halfSocket(seed uint64, rate func(cpu int32) float64) (*series.Series, *stallSet) {
	const seconds = 7200
	rng := unseeded(seed)
	s := host(seconds)
	interrupts(s, map[int]float64{4: 4000, 5: 3000, 6: 50, 7: 40, 0: 30})
	cpus := wander(rng, seconds, 4, func(int) int32 { return rng.Int32N(8) })
	s.Threads = []series.Thread{lgwr(cpus...)}
	var instants []float64
	for k, cpu := range cpus {
		if rng.Float64() < rate(cpu) {
			instants = append(instants, float64(k)+0.3*rng.Float64())
		}
	}
	return s, stallsAt(instants...)
}

func TestTheSocketIsToldFromItsInterrupts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		rate                 func(cpu int32) float64
		location, interrupts string
	}{
		{"half a socket is heavy while all of it stalls", func(cpu int32) float64 {
			if cpu >= 4 {
				return 0.03
			}
			return 0.001
		}, domain.Supported, domain.Inconclusive},
		{"only the heavy half stalls", func(cpu int32) float64 {
			if cpu == 4 || cpu == 5 {
				return 0.03
			}
			return 0.001
		}, domain.Rejected, domain.Supported},
		{"nothing stalls more than anything else", func(int32) float64 { return 0.02 }, domain.Rejected, domain.Rejected},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prm := DefaultParams()
			s, set := halfSocket(uint64(40+i), tt.rate)
			c := testOf(s, set, prm)
			loc := newLocationContrast(s, c, set, prm)
			in := judgeInterrupts(c, set, prm, loc)
			if loc.judgement.Verdict != tt.location {
				t.Errorf("location is %s (%q), want %s", loc.judgement.Verdict, loc.judgement.Evidence, tt.location)
			}
			if in.Verdict != tt.interrupts {
				t.Errorf("interrupts are %s (%q), want %s", in.Verdict, in.Evidence, tt.interrupts)
			}
		})
	}
}

// By hand, over 400 s: 100 s each on heavy CPU 4, its light neighbours 6 and 7,
// and CPUs 0 and 1 elsewhere; 4 stalls on 4, 6 on 6 and 7, 1 elsewhere. Light
// ones stall (6/200)/(1/100) = 3 times as often as those elsewhere, the heavy
// one (4/100)/(6/200) = 1.3 times as often as the light ones. In the socket lie
// 10 of 11 stalls in 300 of 400 s: (10/11 - 3/4)/(1/4) = 0.636.
func TestTheLocationContrastByHand(t *testing.T) {
	t.Parallel()
	s := host(400)
	interrupts(s, map[int]float64{4: 4000})
	s.Threads = []series.Thread{lgwr(append(append(append(append(repeat(4, 100), repeat(6, 100)...), repeat(7, 100)...), repeat(0, 50)...), repeat(1, 50)...)...)}
	set := stallsAt(10, 20, 30, 40, 110, 120, 130, 210, 220, 230, 310)
	c := testOf(s, set, quickParams())
	loc := newLocationContrast(s, c, set, quickParams())
	if !loc.observable || !loc.alike {
		t.Errorf("observable %t, alike %t; want both", loc.observable, loc.alike)
	}
	near(t, "share", known(loc.judgement.AttributableShare), 0.636364, 1e-5)
	text := strings.Join(loc.judgement.Evidence, "; ")
	for _, want := range []string{"light CPUs of the same socket stall 3.0 times", "heavy CPUs stall 1.3 times"} {
		if !strings.Contains(text, want) {
			t.Errorf("evidence %q lacks %q", text, want)
		}
	}
	if d := cmp.Diff([]bool{true, true, true, true, true, true, true, true, true, true, false}, loc.judgement.explained); d != "" {
		t.Errorf("explained stalls differ (-want +got):\n%s", d)
	}
}

func TestTheLocationIsNotObservableWithoutLightCPUsBesideHeavyOnes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		rates map[int]float64
	}{
		{"the whole socket is heavy", map[int]float64{4: 2000, 5: 2000, 6: 2000, 7: 2000}},
		{"no CPU is heavy", nil},
		{"both sockets hold heavy CPUs", map[int]float64{0: 2000, 4: 2000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(800)
			interrupts(s, tt.rates)
			s.Threads = []series.Thread{inTurn(10, 10, 0, 1, 2, 3, 4, 5, 6, 7)}
			set := stallsAt(45, 125, 205, 285, 365)
			loc := newLocationContrast(s, testOf(s, set, quickParams()), set, quickParams())
			if loc.observable || loc.judgement.Verdict != domain.NotObservable || len(loc.judgement.Evidence) != 1 {
				t.Errorf("judged %s: %q", loc.judgement.Verdict, loc.judgement.Evidence)
			}
		})
	}
}

func TestRatiosInWords(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{math.Inf(1): "infinite", 2.25: "2.2", 0: "0.0"} {
		if got := ratioText(v); got != want {
			t.Errorf("ratio %v = %q, want %q", v, got, want)
		}
	}
	if got := ratioText(math.NaN()); got != "unknown" {
		t.Errorf("ratio = %q", got)
	}
}
