package correlate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
)

// stay is a visit as a test writes it: seconds and CPUs.
type stay struct {
	From, To float64
	CPUs     []int32
}

func staysOf(p *path) []stay {
	var out []stay
	for _, v := range p.visits {
		out = append(out, stay{float64(v.From-origin) / 1e6, float64(v.To-origin) / 1e6, p.places[v.place]})
	}
	return out
}

func TestVisitsAreUnbrokenStays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		seconds []float64
		cpus    []int32
		want    []stay
	}{
		{
			"a stay lasts until the sample that shows another CPU",
			[]float64{0, 1, 2, 3, 4}, []int32{3, 3, 4, 4, 3},
			[]stay{{0, 2, []int32{3}}, {2, 4, []int32{4}}, {4, 5, []int32{3}}},
		},
		{
			"a gap over one and a half periods ends a visit, on the same CPU too",
			[]float64{0, 1, 2, 5, 6}, []int32{3, 3, 3, 3, 3},
			[]stay{{0, 3, []int32{3}}, {5, 7, []int32{3}}},
		},
		{
			"a late sample within one and a half periods does not",
			[]float64{0, 1, 2, 3.5, 4.5}, []int32{3, 3, 3, 3, 3},
			[]stay{{0, 5.5, []int32{3}}},
		},
		{
			"a later one does",
			[]float64{0, 1, 2, 3.6, 4.6}, []int32{3, 3, 3, 3, 3},
			[]stay{{0, 3, []int32{3}}, {3.6, 5.6, []int32{3}}},
		},
		{
			"samples outside the window are left out",
			[]float64{-2, -1, 0, 1, 100}, []int32{1, 1, 3, 3, 1},
			[]stay{{0, 2, []int32{3}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var th series.Thread
			for i, sec := range tt.seconds {
				sample(&th, sec, tt.cpus[i])
			}
			p := newPath([]series.Thread{th}, span(0, 100))
			if d := cmp.Diff(tt.want, staysOf(p)); d != "" {
				t.Errorf("visits differ (-want +got):\n%s", d)
			}
			var sum float64
			for _, v := range tt.want {
				sum += v.To - v.From
			}
			near(t, "seconds known", p.seconds(), sum, 1e-9)
		})
	}
}

func TestWorkersCountOnlyWhereTheyRan(t *testing.T) {
	t.Parallel()
	const unknown = -1
	nan := float32(math.NaN())
	tests := []struct {
		name                   string
		mainExec, workerExec   int64
		mainShare, workerShare float32
		workerState            byte
		want                   []int32
	}{
		{name: "an idle worker does not count", mainExec: 500, workerExec: 0, want: []int32{1}},
		{name: "a worker that ran counts beside the process", mainExec: 500, workerExec: 500, want: []int32{1, 6}},
		{name: "the process is left out where it did not run while a worker did", mainExec: 0, workerExec: 500, want: []int32{6}},
		{name: "the process counts where nobody ran", mainExec: 0, workerExec: 0, want: []int32{1}},
		{
			name: "shares of CPU time tell where run times are unknown", mainExec: unknown, workerExec: unknown,
			mainShare: 0.02, workerShare: 0, want: []int32{1},
		},
		{
			name: "the process may have run, a worker needs a sign that it did", mainExec: unknown, workerExec: unknown,
			mainShare: nan, workerShare: nan, want: []int32{1},
		},
		{
			name: "being runnable is one", mainExec: unknown, workerExec: unknown,
			mainShare: nan, workerShare: nan, workerState: 'R', want: []int32{1, 6},
		},
		{
			name: "waiting for a disk is one", mainExec: unknown, workerExec: unknown,
			mainShare: nan, workerShare: nan, workerState: 'D', want: []int32{1, 6},
		},
		{
			name: "sleeping is none", mainExec: unknown, workerExec: unknown,
			mainShare: nan, workerShare: nan, workerState: 'S', want: []int32{1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			process, worker := lgwr(), series.Thread{TID: 101, Command: "ora_lg00_ORDP1", Worker: true}
			for i := range 4 {
				sample(&process, float64(i), 1)
				sample(&worker, float64(i), 6)
				process.Exec[i], process.CPUShare[i] = tt.mainExec, tt.mainShare
				worker.Exec[i], worker.CPUShare[i], worker.State[i] = tt.workerExec, tt.workerShare, tt.workerState
			}
			p := newPath([]series.Thread{worker, process}, span(0, 4))
			if d := cmp.Diff([][]int32{tt.want}, p.places); d != "" {
				t.Errorf("places differ (-want +got):\n%s", d)
			}
			if d := cmp.Diff([]string{"ora_lgwr_ORDP1", "ora_lg00_ORDP1"}, p.commands); d != "" {
				t.Errorf("processes differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestAWorkerCountsForSamplesWithinHalfAPeriodOfItsOwn(t *testing.T) {
	t.Parallel()
	worker := series.Thread{TID: 101, Command: "ora_lg00_ORDP1", Worker: true}
	sample(&worker, 1.4, 6)
	sample(&worker, 3.6, 6)
	worker.State = []byte("RR")
	p := newPath([]series.Thread{lgwr(1, 1, 1, 1, 1, 1), worker}, span(0, 6))
	want := []stay{{0, 1, []int32{1}}, {1, 2, []int32{1, 6}}, {2, 4, []int32{1}}, {4, 5, []int32{1, 6}}, {5, 6, []int32{1}}}
	if d := cmp.Diff(want, staysOf(p)); d != "" {
		t.Errorf("visits differ (-want +got):\n%s", d)
	}
}

func TestAWorkerThatMovedHasRun(t *testing.T) {
	t.Parallel()
	worker := series.Thread{TID: 101, Command: "ora_lg00_ORDP1", Worker: true}
	for i, cpu := range []int32{6, 6, 7, 7} {
		sample(&worker, float64(i), cpu)
	}
	p := newPath([]series.Thread{lgwr(1, 1, 1, 1), worker}, span(0, 4))
	if d := cmp.Diff([]stay{{0, 2, []int32{1}}, {2, 3, []int32{1, 7}}, {3, 4, []int32{1}}}, staysOf(p)); d != "" {
		t.Errorf("visits differ (-want +got):\n%s", d)
	}
}

func TestTheProcessIsTheThreadWithMostSamplesWhereItWasRestarted(t *testing.T) {
	t.Parallel()
	before, after := lgwr(1, 1), lgwr()
	for k := range 5 {
		sample(&after, float64(10+k), 2)
	}
	p := newPath([]series.Thread{before, after}, span(0, 100))
	if d := cmp.Diff([]stay{{10, 15, []int32{2}}}, staysOf(p)); d != "" {
		t.Errorf("visits differ (-want +got):\n%s", d)
	}
}

func TestAWorkerStandsInForAProcessThatWasNotSeen(t *testing.T) {
	t.Parallel()
	one, two := lgwr(6, 6, 6), lgwr(7, 7, 7)
	one.Command, one.Worker, two.Command, two.Worker = "ora_lg00_ORDP1", true, "ora_lg01_ORDP1", true
	two.State = []byte("SRS")
	p := newPath([]series.Thread{one, two}, span(0, 3))
	if d := cmp.Diff([]stay{{0, 1, []int32{6}}, {1, 2, []int32{6, 7}}, {2, 3, []int32{6}}}, staysOf(p)); d != "" {
		t.Errorf("visits differ (-want +got):\n%s", d)
	}
}

func TestASingleReadingTellsOfNoStay(t *testing.T) {
	t.Parallel()
	p := newPath([]series.Thread{lgwr(5)}, span(0, 100))
	if len(p.visits) != 0 || p.sampleAt(at(0), 0) != -1 {
		t.Errorf("visits = %v", p.visits)
	}
}

func TestAPathWithoutThreadsHasNoVisits(t *testing.T) {
	t.Parallel()
	p := newPath(nil, span(0, 100))
	if len(p.visits) != 0 || p.seconds() != 0 || p.sampleAt(at(5), 0) != -1 {
		t.Errorf("an empty path has visits %v", p.visits)
	}
}

// By hand, for stays heavy 3 s, light 4 s, heavy 2 s, light 3 s. One second
// apart: 3 pairs are heavy and heavy, 2 heavy and light, 1 light and heavy, 5
// light and light; agreement 8/11, by chance (5*4 + 6*7)/121, kappa 26/59. Two
// seconds apart: 1, 4, 2, 3; agreement 0.4, by chance 0.5, kappa -0.2.
func TestKappaIsTheAgreementOfExposureWithItselfLater(t *testing.T) {
	t.Parallel()
	p := newPath([]series.Thread{lgwr(5, 5, 5, 1, 1, 1, 1, 5, 5, 1, 1, 1)}, span(0, 12))
	heavy := []bool{true, false} // places in the order seen: CPU 5, CPU 1
	tests := []struct {
		name string
		gap  series.Micros
		want float64
	}{
		{"one period on", series.Second, 26.0 / 59},
		{"two periods on", 2 * series.Second, -0.2},
		{"at once it is perfect", 0, 1},
		{"half a period on it fell by the square root", series.Second / 2, 0.663836},
		{"a quarter of a period on by the fourth root", series.Second / 4, 0.814762},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			near(t, "kappa", p.kappa(heavy, tt.gap), tt.want, 1e-6)
		})
	}
}

func TestKappaIsUnknownWhereAgreementBeyondChanceCannotBeTold(t *testing.T) {
	t.Parallel()
	few := newPath([]series.Thread{lgwr(5, 1, 5, 1, 5, 1, 5, 1, 5)}, span(0, 100))
	near(t, "kappa of nine samples", few.kappa([]bool{true, false}, series.Second), math.NaN(), 0)
	still := newPath([]series.Thread{lgwr(repeat(5, 20)...)}, span(0, 100))
	near(t, "kappa of a process that never moves", still.kappa([]bool{true}, series.Second), math.NaN(), 0)
	restless := newPath([]series.Thread{lgwr(5, 1, 5, 1, 5, 1, 5, 1, 5, 1, 5, 1)}, span(0, 100))
	near(t, "kappa between samples of a process that moves each time", restless.kappa([]bool{true, false}, series.Second/4), 0, 0)
}

func TestPairsAcrossAGapTellNothingOfAgreement(t *testing.T) {
	t.Parallel()
	// Before the gap always heavy, after it always light: were the pair across
	// the gap counted, the two runs would not agree perfectly.
	th := lgwr(repeat(5, 10)...)
	for k := range 10 {
		sample(&th, float64(60+k), 1)
	}
	p := newPath([]series.Thread{th}, span(0, 100))
	near(t, "kappa", p.kappa([]bool{true, false}, series.Second), 1, 0)
}

func TestAnInstantIsToldByTheNearestSample(t *testing.T) {
	t.Parallel()
	exact := newPath([]series.Thread{lgwr(repeat(5, 20)...)}, span(0, 100))
	th := lgwr(repeat(5, 20)...)
	th.Uncertainty = series.Second
	whole := newPath([]series.Thread{th}, span(0, 100))
	tests := []struct {
		name            string
		p               *path
		instant, offset float64
		want            int
	}{
		{"the sample before", exact, 10.4, 0, 10},
		{"the sample after", exact, 10.6, 0, 11},
		{"half way the sample before", exact, 10.5, 0, 10},
		{"three quarters of a period after the last", exact, 19.75, 0, 19},
		{"further off than that none", exact, 19.76, 0, -1},
		{"before the first none", exact, -0.8, 0, -1},
		{"samples read half a second after their time", exact, 10.9, 0.5, 10},
		{"samples read half a second before their time", exact, 10.1, -0.5, 11},
		{"whole seconds reach a quarter further", whole, 20, 0, 19},
		{"and no further", whole, 20.01, 0, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.p.sampleAt(at(tt.instant), at(tt.offset)-origin); got != tt.want {
				t.Errorf("sample = %d, want %d", got, tt.want)
			}
		})
	}
}
