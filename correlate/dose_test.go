package correlate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// inTurn gives a process that stays equally long on each CPU of a list, round
// after round.
func inTurn(rounds, stay int, cpus ...int32) series.Thread {
	var all []int32
	for range rounds {
		for _, c := range cpus {
			all = append(all, repeat(c, stay)...)
		}
	}
	return lgwr(all...)
}

// By hand: five CPUs of doses 0 to 400, 20 s each in 100 s; 1, 0, 2, 3 and 4
// stalls in 20/3600 h are 180, 0, 360, 540 and 720 per hour.
func TestStallsPerHourByQuintileOfDose(t *testing.T) {
	t.Parallel()
	s := host(100)
	interrupts(s, map[int]float64{1: 100, 2: 200, 3: 300, 4: 400})
	s.Threads = []series.Thread{inTurn(2, 10, 3, 0, 4, 1, 2)}
	// Stays of 10 s: on 3 from 0 and 50, on 0 from 10 and 60, on 4 from 20 and
	// 70, on 1 from 30 and 80, on 2 from 40 and 90.
	c := testOf(s, stallsAt(12, 42, 93, 1, 2, 51, 21, 22, 23, 71), quickParams())
	hours := 20.0 / 3600
	n := func(v float64) *float64 { return &v }
	want := []domain.DoseStep{
		{From: 0, To: 0, Stalls: 1, Hours: hours, StallsPerHour: n(180)},
		{From: 100, To: 100, Stalls: 0, Hours: hours, StallsPerHour: n(0)},
		{From: 200, To: 200, Stalls: 2, Hours: hours, StallsPerHour: n(360)},
		{From: 300, To: 300, Stalls: 3, Hours: hours, StallsPerHour: n(540)},
		{From: 400, To: 400, Stalls: 4, Hours: hours, StallsPerHour: n(720)},
	}
	if d := cmp.Diff(want, c.steps, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); d != "" {
		t.Errorf("steps differ (-want +got):\n%s", d)
	}
}

func TestQuintilesHoldEqualTimeAndEqualDosesStayTogether(t *testing.T) {
	t.Parallel()
	type part struct {
		From, To float64
		Hours    float64
	}
	tests := []struct {
		name  string
		doses map[int]float64
		cpus  []int32
		want  []part
	}{
		{
			"eight CPUs in five steps of a fifth of the time each",
			map[int]float64{0: 10, 1: 20, 2: 30, 3: 40, 4: 50, 5: 60, 6: 70, 7: 80},
			// Each CPU has an eighth: they begin at 0, 0.125, ... 0.875 of the time,
			// so in quintiles 0 0 1 1 2 3 3 4.
			[]int32{0, 1, 2, 3, 4, 5, 6, 7}, []part{{10, 20, 2}, {30, 40, 2}, {50, 50, 1}, {60, 70, 2}, {80, 80, 1}},
		},
		{
			"CPUs of one dose are one step",
			map[int]float64{0: 10, 1: 10, 2: 10, 3: 10, 4: 50}, []int32{0, 1, 2, 3, 4}, []part{{10, 10, 4}, {50, 50, 1}},
		},
		{"a single CPU has no steps", map[int]float64{0: 10}, []int32{0}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(800)
			interrupts(s, tt.doses)
			s.Threads = []series.Thread{inTurn(1, 100, tt.cpus...)}
			c := testOf(s, stallsAt(50, 150), quickParams())
			var got []part
			for _, k := range c.steps {
				got = append(got, part{k.From, k.To, math.Round(k.Hours * 36)}) // in units of 100 s
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("steps differ (-want +got):\n%s", d)
			}
		})
	}
}

// By hand: of five places in order of dose, each has the middle of its share of
// the places; equal doses share it; an unknown dose has the middle of all.
func TestDoseRanks(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	places := make([][]int32, 5)
	for _, tt := range []struct {
		name string
		dose []float64
		want []float64
	}{
		{"all different", []float64{40, 0, 10, 30, 20}, []float64{0.9, 0.1, 0.3, 0.7, 0.5}},
		{"two equal", []float64{40, 0, 10, 10, 20}, []float64{0.9, 0.1, 0.4, 0.4, 0.7}},
		{"one unknown", []float64{40, nan, 10, 30, 20}, []float64{0.875, 0.5, 0.125, 0.625, 0.375}},
		{"all equal", []float64{7, 7, 7, 7, 7}, []float64{0.5, 0.5, 0.5, 0.5, 0.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &coincidence{p: &path{places: places}, e: &exposure{dose: tt.dose}}
			if d := cmp.Diff(tt.want, c.doseRanks(), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); d != "" {
				t.Errorf("ranks differ (-want +got):\n%s", d)
			}
		})
	}
}

// trendSeries moves a process among all eight CPUs, 5 s a stay, and stalls
// where chosen: rate gives the chance of a stall in a second on a CPU.
func trendSeries(seed uint64, doses map[int]float64, rate func(cpu int32) float64) (*series.Series, *stallSet) {
	const seconds = 3600
	rng := unseeded(seed)
	s := host(seconds)
	interrupts(s, doses)
	cpus := wander(rng, seconds, 5, func(int) int32 { return rng.Int32N(8) })
	s.Threads = []series.Thread{lgwr(cpus...)}
	var instants []float64
	for k, cpu := range cpus {
		if rng.Float64() < rate(cpu) {
			instants = append(instants, float64(k)+0.3*rng.Float64())
		}
	}
	return s, stallsAt(instants...)
}

func TestStallsThatRiseWithDoseShowATrend(t *testing.T) {
	t.Parallel()
	doses := map[int]float64{0: 100, 1: 1200, 2: 2400, 3: 3600, 4: 200, 5: 1300, 6: 2500, 7: 3700}
	socketDoses := map[int]float64{0: 100, 1: 100, 2: 100, 3: 100, 4: 3000, 5: 3000, 6: 3000, 7: 3000}
	byDose := func(d map[int]float64) func(int32) float64 {
		return func(cpu int32) float64 { return 0.03 * d[int(cpu)] / 3700 }
	}
	t.Run("over all CPUs and within their sockets", func(t *testing.T) {
		t.Parallel()
		s, set := trendSeries(3, doses, byDose(doses))
		c := testOf(s, set, DefaultParams())
		if c.trendP > 0.002 || c.socketP > 0.002 {
			t.Errorf("p = %v, within sockets %v", c.trendP, c.socketP)
		}
	})
	t.Run("not within sockets where a whole socket has one dose", func(t *testing.T) {
		t.Parallel()
		s, set := trendSeries(4, socketDoses, byDose(socketDoses))
		c := testOf(s, set, DefaultParams())
		if c.trendP > 0.002 || !math.IsNaN(c.socketP) {
			t.Errorf("p = %v, within sockets %v, want a small one and an unknown one", c.trendP, c.socketP)
		}
	})
	t.Run("not where all CPUs stall alike", func(t *testing.T) {
		t.Parallel()
		small := 0
		for k := range 20 {
			s, set := trendSeries(uint64(100+k), doses, func(int32) float64 { return 0.01 })
			c := testOf(s, set, quickParams())
			if c.trendP <= 0.05 || c.socketP <= 0.05 {
				small++
			}
		}
		if small > 8 { // of 20 at most 2 expected; over 8 by chance with 0.0002 (binomial, a tenth)
			t.Errorf("%d of 20 null series show a trend", small)
		}
	})
}

func TestCPUsAndDevicesAreNamedByTheirExcess(t *testing.T) {
	t.Parallel()
	// 25 s rounds: 5 s on CPU 5, 10 s on CPU 1, 10 s on CPU 2; all stalls but one
	// on CPU 5.
	s := host(1000)
	interrupts(s, map[int]float64{5: 4000, 1: 10, 2: 300})
	var cpus []int32
	var instants []float64
	for k := range 40 {
		cpus = append(append(append(cpus, repeat(5, 5)...), repeat(1, 10)...), repeat(2, 10)...)
		if k%2 == 0 {
			instants = append(instants, float64(25*k)+2)
		}
	}
	s.Threads = []series.Thread{lgwr(cpus...)}
	s.Devices = []series.Device{
		{Name: "ens3f0", Class: domain.ClassNetwork, PerS: map[int]float64{5: 3990, 1: 10}, Total: 4000},
		{Name: "ens4f0", Class: domain.ClassNetwork, PerS: map[int]float64{2: 300}, Total: 300},
		{Name: "quiet", Class: domain.ClassOther, PerS: map[int]float64{5: 99}, Total: 99},
		{Name: "nvme0", Class: domain.ClassStorage, PerS: map[int]float64{5: 5000}, Total: 5000},
	}
	c := testOf(s, stallsAt(append(instants, 8)...), quickParams())
	if len(c.byCPU) != 2 || c.byCPU[0].CPU != 5 || c.byCPU[0].Stalls != 20 || c.byCPU[1].CPU != 1 || c.byCPU[1].Stalls != 1 {
		t.Fatalf("by CPU: %+v", c.byCPU)
	}
	near(t, "expected on CPU 5", c.byCPU[0].Expected, 4.2, 0.05) // a fifth of 21
	near(t, "its p", known(c.byCPU[0].P), 1.0/200, 1e-12)        // the least that 199 draws can give
	if known(c.byCPU[1].P) < 0.5 {
		t.Errorf("p of CPU 1, where stalls are missing, is %v", known(c.byCPU[1].P))
	}
	names := []string{}
	for _, d := range c.byDevice {
		names = append(names, d.Device)
	}
	// Storage follows the process and is left out, and so is what interrupts
	// under 100 times a second; CPU 1 takes under a hundredth of ens3f0.
	if d := cmp.Diff([]string{"ens3f0", "ens4f0"}, names); d != "" {
		t.Fatalf("devices differ (-want +got):\n%s", d)
	}
	if c.byDevice[0].Stalls != 20 || known(c.byDevice[0].P) != 1.0/200 || c.byDevice[1].Stalls != 0 {
		t.Errorf("by device: %+v", c.byDevice)
	}
}

func TestSocketOfAPlace(t *testing.T) {
	t.Parallel()
	s := host(10)
	s.Topology.CPUs[6].Socket = -1
	s.Topology.CPUs[7].Socket, s.Topology.CPUs[7].Node = -1, -1
	for _, tt := range []struct {
		name string
		cpus []int32
		want int
	}{
		{"one CPU", []int32{5}, 1},
		{"two of one socket", []int32{0, 3}, 0},
		{"two of different sockets", []int32{0, 5}, -1},
		{"the NUMA node where the socket is unknown", []int32{6}, 1},
		{"nothing known", []int32{7}, -1},
		{"a CPU that the topology lacks", []int32{12}, -1},
		{"a known one beside one that it lacks", []int32{5, 12}, -1},
	} {
		if got := socketOf(s, tt.cpus); got != tt.want {
			t.Errorf("%s: socket %d, want %d", tt.name, got, tt.want)
		}
	}
}

// The process is heavy and light in turn, equally long. After 20 s, exposure
// agrees with itself in half of the time where a turn takes 80 s (kappa 0), in
// three quarters where it takes 160 s (kappa 0.5, and 0 after 40 s), and always
// where it takes 20 s or a whole fraction of it.
func TestThePlaceboShiftIsTheNearestAtWhichExposureIsForgotten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		stay int
		want series.Micros
	}{
		{"twenty seconds", 40, 20 * series.Second},
		{"forty", 80, 40 * series.Second},
		{"none for a process that comes back every twenty seconds", 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := host(9600)
			interrupts(s, map[int]float64{5: 4000})
			s.Threads = []series.Thread{inTurn(4800/tt.stay, tt.stay, 5, 1)}
			p := newPath(s.Threads, s.Window)
			c := &coincidence{p: p, e: newExposure(s, p, newPicture(s, p, quickParams()))}
			if got := c.placeboShift(); got != tt.want {
				t.Errorf("shift = %d s, want %d s", got/series.Second, tt.want/series.Second)
			}
		})
	}
}

func TestAPlaceboOfSimilarSizeIsSeen(t *testing.T) {
	t.Parallel()
	s, _ := planted(3600, 5)
	heavy := func(k int) bool { return k >= 0 && k < 3600 && s.Threads[0].CPU[k] >= 4 }
	var atOnce, around []float64
	for k := range 3600 {
		if heavy(k) && len(atOnce) < 60 && k%7 == 0 {
			atOnce = append(atOnce, float64(k))
		}
		// Stalls that fall into heavy time 20 s before and after as well: it is not
		// the instant that matters.
		if heavy(k) && heavy(k-20) && heavy(k+20) {
			around = append(around, float64(k))
		}
	}
	if c := testOf(s, stallsAt(atOnce...), quickParams()); c.placeboBig || math.IsNaN(c.placeboP) {
		t.Errorf("stalls that know only the instant have a placebo of similar size (p = %v)", c.placeboP)
	}
	if c := testOf(s, stallsAt(around...), quickParams()); !c.placeboBig || c.placeboP > 0.05 {
		t.Errorf("%d stalls that are exposed when shifted as well have no placebo (p = %v)", len(around), c.placeboP)
	}
}

func TestAtMostTwentyCPUsAreListed(t *testing.T) {
	t.Parallel()
	c := &coincidence{byCPU: make([]domain.CPUExcess, 30)}
	if d := c.describe(quickParams()); len(d.ByCPU) != 20 || d.DoseResponse == nil {
		t.Errorf("%d CPUs are listed, dose response %v", len(d.ByCPU), d.DoseResponse)
	}
}
