package correlate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

func pictureOf(s *series.Series) *picture {
	prm := DefaultParams()
	return newPicture(s, newPath(s.Threads, s.Window), prm)
}

func TestACPUIsHeavyByRateByTimeOrByBoth(t *testing.T) {
	t.Parallel()
	s := host(600)
	interrupts(s, map[int]float64{0: 1000, 1: 1001, 2: 10, 3: 5000})
	s.CPU.IRQSoftIRQ, s.CPU.Interrupts = matrix(s, 10, map[int]float64{0: 0.09, 1: 0.02, 2: 0.12, 3: 0.25}), true
	got := pictureOf(s).describe(s, DefaultParams())
	by := map[int][]string{}
	for _, h := range got.Heavy {
		by[h.CPU] = h.By
	}
	// CPU 0 is at the threshold of the rate and under that of time.
	if d := cmp.Diff(map[int][]string{1: {"rate"}, 2: {"time"}, 3: {"rate", "time"}}, by); d != "" {
		t.Errorf("heavy CPUs differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 2, 3}, got.HeavyCPUs); d != "" {
		t.Errorf("heavy CPU ids differ (-want +got):\n%s", d)
	}
	near(t, "rate of CPU 3", known(got.Heavy[2].PerS), 5000, 0)
	near(t, "time share of CPU 3", known(got.Heavy[2].TimeShare), 0.25, 1e-6)
}

func TestRatesAreMeansOverTheWindowWeighedByLength(t *testing.T) {
	t.Parallel()
	s := host(10)
	s.Interrupts = series.Matrix{
		CPUs: s.Online, Spans: []series.Span{span(0, 1), span(1, 10), span(60, 70)},
		V: []float32{
			4000, 7, 0, 0, 0, 0, 0, 0,
			500, float32(math.NaN()), 0, 0, 0, 0, 0, 0,
			9e6, 9e6, 0, 0, 0, 0, 0, 0, // outside the window
		},
	}
	pic := pictureOf(s)
	near(t, "rate of CPU 0", pic.rate[0], 850, 0) // (4000*1 + 500*9)/10
	near(t, "rate of CPU 1, known for a second", pic.rate[1], 7, 0)
	near(t, "seconds observed", pic.seconds, 10, 0)
}

func TestDoseIsTakenFromIntervalsWithoutTheProcess(t *testing.T) {
	t.Parallel()
	s := host(100)
	s.Threads = []series.Thread{lgwr(append(repeat(5, 50), repeat(6, 50)...)...)}
	interrupts(s, nil)
	// CPU 5 takes 5000/s while the process is there and 1000/s else; CPU 6 the
	// other way round; CPU 7 never sees it.
	for i := range s.Interrupts.Spans {
		row := s.Interrupts.Row(i)
		row[5], row[6], row[7] = 5000, 1000, 300
		if i >= 5 {
			row[5], row[6] = 1000, 5000
		}
	}
	pic := pictureOf(s)
	if pic.measure != "device_interrupts_per_s" {
		t.Errorf("dose is measured in %s", pic.measure)
	}
	for cpu, want := range map[int]float64{5: 1000, 6: 1000, 7: 300, 0: 0} {
		near(t, "dose", pic.dose[cpu], want, 0)
	}
	near(t, "rate of CPU 5 over the whole window", pic.rate[5], 3000, 0)
}

func TestDoseCountsAllIntervalsWhereTheProcessHardlyLeavesTheCPU(t *testing.T) {
	t.Parallel()
	s := host(200)
	// 10 of 200 s away: under a tenth.
	s.Threads = []series.Thread{lgwr(append(repeat(5, 190), repeat(6, 10)...)...)}
	interrupts(s, map[int]float64{5: 2000})
	last := s.Interrupts.Row(len(s.Interrupts.Spans) - 1)
	last[5] = 0
	near(t, "dose", pictureOf(s).dose[5], 1900, 1e-9) // 2000 in 190 of 200 s
}

func TestDoseIsTimeElseNetworkSoftirqsElseInterrupts(t *testing.T) {
	t.Parallel()
	build := func(time, moving, netRX bool) *series.Series {
		s := host(100)
		interrupts(s, map[int]float64{5: 800})
		if time {
			s.CPU.IRQSoftIRQ, s.CPU.Interrupts = matrix(s, 10, map[int]float64{5: 0.2}), moving
		}
		if netRX {
			s.NetRX = matrix(s, 10, map[int]float64{5: 9000})
		}
		return s
	}
	tests := []struct {
		name    string
		s       *series.Series
		measure string
		dose    float64
	}{
		{"time is preferred", build(true, true, true), "irq_softirq_time", 0.2},
		{"a time column that never moves says nothing", build(true, false, true), "net_rx_softirqs_per_s", 9000},
		{"interrupts are the last resort", build(true, false, false), "device_interrupts_per_s", 800},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pic := pictureOf(tt.s)
			if pic.measure != tt.measure {
				t.Errorf("measure = %s, want %s", pic.measure, tt.measure)
			}
			near(t, "dose of CPU 5", pic.dose[5], tt.dose, 1e-6)
		})
	}
}

// Gini by hand: rates 1, 2, 3, 4 give (-3*1 - 1*2 + 1*3 + 3*4)/(4*10) = 0.25;
// cores of CPUs {0, 2} and {1, 3} have 4 and 6: (-4 + 6)/(2*10) = 0.1.
func TestGiniAndHeavyCoresAreCountedOverThreadsAndCores(t *testing.T) {
	t.Parallel()
	s := host(100)
	s.Online = []int{0, 1, 2, 3}
	s.Topology.CPUs = []domain.CPU{
		{ID: 0, Core: 0, Socket: 0, Node: 0}, {ID: 1, Core: 1, Socket: 0, Node: -1}, {ID: 2, Core: 0, Socket: 0, Node: 0}, {ID: 3, Core: 1, Socket: -1, Node: 0},
	}
	interrupts(s, map[int]float64{0: 1, 1: 2, 2: 3, 3: 4})
	prm := DefaultParams()
	prm.HeavyPerSecond = 1.5 // CPUs 1 and 3 of core 1, and CPU 2, which is no primary thread
	pic := newPicture(s, &path{}, prm)
	got := pic.describe(s, prm)
	near(t, "Gini", known(got.Gini), 0.25, 1e-9)
	near(t, "Gini of cores", known(got.GiniCores), 0.1, 1e-9)
	if *got.HeavyCores != 1 || *got.HeavyCoresAnyThread != 2 {
		t.Errorf("heavy cores = %d by primary thread and %d by any, want 1 and 2", *got.HeavyCores, *got.HeavyCoresAnyThread)
	}
	if got.ByCPU[1].NUMANode != nil || got.ByCPU[3].Socket != nil || *got.ByCPU[3].Core != 1 {
		t.Errorf("an unknown node or socket must be null: %+v", got.ByCPU)
	}
}

func TestGiniAndCoresAreUnknownWhereACPUIs(t *testing.T) {
	t.Parallel()
	s := host(100)
	interrupts(s, map[int]float64{0: 5})
	s.Interrupts.CPUs, s.Interrupts.Spans, s.Interrupts.V = []int{0, 1}, s.Interrupts.Spans[:1], []float32{5, float32(math.NaN())}
	s.Online, s.Topology.CPUs = []int{0, 1}, s.Topology.CPUs[:1]
	got := pictureOf(s).describe(s, DefaultParams())
	if got.Gini != nil || got.HeavyCores != nil || got.HeavyCoresAnyThread != nil || got.GiniCores != nil {
		t.Errorf("unknown rates and cores gave %v %v %v %v", got.Gini, got.HeavyCores, got.HeavyCoresAnyThread, got.GiniCores)
	}
	if got.ByCPU[1].PerS != nil || known(got.ByCPU[0].PerS) != 5 {
		t.Errorf("rates = %+v", got.ByCPU)
	}
}

func TestWithoutReadingsThereIsNoPicture(t *testing.T) {
	t.Parallel()
	s := host(100)
	if pic := pictureOf(s); pic.observable() || pic.describe(s, DefaultParams()) != nil {
		t.Error("a picture without readings")
	}
	// Interrupt time alone shows heavy CPUs as well.
	s.CPU.IRQSoftIRQ, s.CPU.Interrupts = matrix(s, 10, map[int]float64{5: 0.2}), true
	if pic := pictureOf(s); !pic.observable() || !pic.heavy[5] || pic.heavy[4] {
		t.Error("interrupt time does not show the heavy CPU")
	}
}

func TestHeavySetsAreFixedForStretchesOfAtMostAnHour(t *testing.T) {
	t.Parallel()
	s := host(7200)
	s.Interrupts = matrix(s, 10, nil)
	for i, sp := range s.Interrupts.Spans {
		row := s.Interrupts.Row(i)
		if sp.From < at(3600) {
			row[5] = 2500
		} else {
			row[6] = 1500
		}
	}
	pic := pictureOf(s)
	if len(pic.segments) != 2 || pic.segments[0].To != at(3600) {
		t.Fatalf("segments = %+v", pic.segments)
	}
	// Over both hours CPU 5 has 1250/s and CPU 6 has 750/s.
	for _, tt := range []struct {
		name string
		set  map[int]bool
		five bool
		six  bool
	}{
		{"whole window", pic.heavy, true, false},
		{"first hour", pic.segments[0].heavy, true, false},
		{"second hour", pic.segments[1].heavy, false, true},
	} {
		if tt.set[5] != tt.five || tt.set[6] != tt.six {
			t.Errorf("%s: CPUs 5 and 6 are heavy: %t, %t; want %t, %t", tt.name, tt.set[5], tt.set[6], tt.five, tt.six)
		}
	}
	for _, tt := range []struct {
		second float64
		want   int
	}{{-5, 0}, {0, 0}, {3599.9, 0}, {3600, 1}, {7200, 1}, {9999, 1}} {
		if got := pic.segmentAt(at(tt.second)); got != tt.want {
			t.Errorf("segment at %v s = %d, want %d", tt.second, got, tt.want)
		}
	}
}

func TestAStretchWithoutReadingsTakesTheWindowsSet(t *testing.T) {
	t.Parallel()
	s := host(5400) // two stretches of 45 minutes
	s.Interrupts = matrix(s, 10, map[int]float64{5: 2500})
	s.Interrupts.Spans = s.Interrupts.Spans[:270]
	pic := pictureOf(s)
	if len(pic.segments) != 2 || pic.segments[0].To != at(2700) || !pic.segments[1].heavy[5] {
		t.Errorf("segments = %+v", pic.segments)
	}
}

func TestDevicesNameTheirBondNodeAndTheCPUsThatServeThem(t *testing.T) {
	t.Parallel()
	s := host(100)
	interrupts(s, map[int]float64{4: 1010})
	s.Topology.Bonds = []domain.Bond{{Name: "bond1", Slaves: []string{"ens3f0"}}}
	s.Topology.Ports = []domain.Port{{Name: "ens3f0", Node: 1}, {Name: "ens4f0", Node: -1}}
	s.Devices = []series.Device{
		{Name: "ens3f0", Class: domain.ClassNetwork, IRQs: []int{120}, PerS: map[int]float64{5: 10, 4: 989.99, 6: 0.01}, Total: 1000},
		{Name: "ens4f0", Class: domain.ClassNetwork, PerS: map[int]float64{0: 1}, Total: 1},
		{Name: "idle", PerS: map[int]float64{}, Total: 0},
	}
	got := pictureOf(s).describe(s, DefaultParams()).ByDevice
	bond, node := "bond1", 1
	want := []domain.DeviceRate{
		{Device: "ens3f0", Class: "network", Bond: &bond, NUMANode: &node, IRQs: []int{120}, CPUs: []int{4, 5}, PerS: 1000},
		{Device: "ens4f0", Class: "network", IRQs: []int{}, CPUs: []int{0}, PerS: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("devices differ (-want +got):\n%s", d)
	}
}

func TestExposureHasThreeLevelsAndTheGreaterOfSeveralCPUs(t *testing.T) {
	t.Parallel()
	s := host(100)
	for i := range s.Topology.CPUs { // CPUs 0 and 4, 1 and 5, ... are siblings
		s.Topology.CPUs[i].Core = i % 4
	}
	interrupts(s, map[int]float64{5: 2000, 2: 40})
	// The process on 5, 1, 2; in the last second a worker on 5 beside it on 2.
	worker := series.Thread{TID: 101, Command: "ora_lg00_ORDP1", Worker: true}
	sample(&worker, 3, 5)
	worker.State[0] = 'R'
	s.Threads = []series.Thread{lgwr(5, 1, 2, 2), worker}
	p := newPath(s.Threads, s.Window)
	pic := newPicture(s, p, DefaultParams())
	e := newExposure(s, p, pic)
	if d := cmp.Diff([][]uint8{{levelHeavy, levelSibling, levelLight, levelHeavy}}, e.level); d != "" {
		t.Errorf("levels differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]float64{2000, 0, 40, 2000}, e.dose); d != "" {
		t.Errorf("doses differ (-want +got):\n%s", d)
	}
	heavy, sibling := e.shares(p, pic)
	near(t, "heavy share", heavy, 0.5, 1e-12)
	near(t, "sibling share", sibling, 0.25, 1e-12)
	r := describePlacement(s, p, pic)
	near(t, "dose-weighted residence", known(r.DosePerS), 1010, 1e-9) // (2000 + 0 + 40 + 2000)/4
	near(t, "migrations/s", known(r.MigrationsPerS), 0.75, 1e-12)
	// The last second counts half for each of its two CPUs.
	want := []domain.CPUShare{{CPU: 1, Share: 0.25}, {CPU: 2, Share: 0.375}, {CPU: 5, Share: 0.375}}
	if d := cmp.Diff(want, r.Residence); d != "" {
		t.Errorf("residence differs (-want +got):\n%s", d)
	}
}

func TestHeavyPlacesAreThoseHeavyInMostStretches(t *testing.T) {
	t.Parallel()
	e := &exposure{dose: make([]float64, 3), level: [][]uint8{{2, 2, 1}, {2, 0, 1}, {0, 0, 1}}}
	if d := cmp.Diff([]bool{true, false, false}, e.heavyPlaces()); d != "" {
		t.Errorf("heavy places differ (-want +got):\n%s", d)
	}
}
