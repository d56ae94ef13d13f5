package correlate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// interval is what LGWR did in each 50 ms of a stall.
type interval struct {
	state          byte
	ran, queued    float64 // ms of 50; negative unknown
	cpu            int32
	step           float64 // s between samples; 0 is 0.05
	irqAccounted   bool
	interruptShare float64 // irq+softirq share of CPU 5
}

// accounted gives 20 s of LGWR at 20 Hz, the whole time as the interval says.
// CPU 5 is heavy.
func accounted(k interval) *series.Series {
	s := host(20)
	interrupts(s, map[int]float64{5: 4000})
	s.CPU.IRQAccounted = k.irqAccounted
	if k.interruptShare > 0 {
		s.CPU.IRQSoftIRQ, s.CPU.Interrupts = matrix(s, 10, map[int]float64{5: k.interruptShare}), true
	}
	if k.step == 0 {
		k.step = 0.05
	}
	t := lgwr()
	for i := range int(20 / k.step) {
		sample(&t, float64(i)*k.step, k.cpu)
		t.State[i] = k.state
		t.Exec[i], t.RunDelay[i] = int64(k.ran*1e6), int64(k.queued*1e6)
	}
	s.Threads = []series.Thread{t}
	return s
}

// microseconds is how closely sums of seconds must agree.
var microseconds = cmpopts.EquateApprox(0, 1e-6)

// By hand: a stall seen at 10 s whose longest wait took 0.2 s is looked at from
// 9.9 to 10.1 s, four intervals of 50 ms.
func TestAStallsTimeIsTakenApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		k    interval
		want domain.Decomposed
		a    bool
	}{
		{
			"runnable, not queued and hardly running: stolen", interval{state: 'R', ran: 5, cpu: 5, irqAccounted: true},
			domain.Decomposed{StolenS: 0.18, StolenHeavyS: 0.18, UnexplainedS: 0.02}, true,
		},
		{
			"on a light CPU that is no evidence against interrupts", interval{state: 'R', ran: 5, cpu: 1, irqAccounted: true},
			domain.Decomposed{StolenS: 0.18, UnexplainedS: 0.02}, false,
		},
		{
			"run delay grew: queued", interval{state: 'R', ran: 5, queued: 45, cpu: 5, irqAccounted: true},
			domain.Decomposed{QueuedS: 0.18, UnexplainedS: 0.02}, false,
		},
		{
			"half stolen, half queued", interval{state: 'R', queued: 25, cpu: 5, irqAccounted: true},
			domain.Decomposed{QueuedS: 0.1, StolenS: 0.1, StolenHeavyS: 0.1}, true,
		},
		{"asleep", interval{state: 'S', cpu: 5, irqAccounted: true}, domain.Decomposed{SleepingS: 0.2}, false},
		{
			"waiting for a disk, with some work", interval{state: 'D', ran: 10, queued: 5, cpu: 5, irqAccounted: true},
			domain.Decomposed{SleepingS: 0.14, QueuedS: 0.02, UnexplainedS: 0.04}, false,
		},
		{
			"without accounting the CPU's share of what was billed to it", interval{state: 'R', ran: 50, cpu: 5, interruptShare: 0.75},
			domain.Decomposed{StolenS: 0.15, StolenHeavyS: 0.15, UnexplainedS: 0.05}, true,
		},
		{
			"a lesser share", interval{state: 'R', ran: 40, cpu: 5, interruptShare: 0.25},
			domain.Decomposed{StolenS: 0.04, StolenHeavyS: 0.04, UnexplainedS: 0.16}, false,
		},
		{"without accounting and without a share", interval{state: 'R', ran: 50, cpu: 5}, domain.Decomposed{UnexplainedS: 0.2}, false},
		{"deltas unknown", interval{state: 'R', ran: -1, cpu: 5, irqAccounted: true}, domain.Decomposed{UnexplainedS: 0.2}, false},
		{
			"more run than time goes by is taken as all of it", interval{state: 'R', ran: 70, queued: 10, cpu: 5, irqAccounted: true},
			domain.Decomposed{UnexplainedS: 0.2}, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := accounted(tt.k)
			p := newPath(s.Threads, s.Window)
			got := decompose(s, stallsAt(10), newPicture(s, p, DefaultParams()))
			tt.want.Stalls = 1
			if d := cmp.Diff(&tt.want, got, microseconds); d != "" {
				t.Errorf("decomposition differs (-want +got):\n%s", d)
			}
			if gradeA(got) != tt.a {
				t.Errorf("grade A: %t, want %t", gradeA(got), tt.a)
			}
		})
	}
}

func TestOnlyFineExactSamplesAreTakenApart(t *testing.T) {
	t.Parallel()
	stolen := interval{state: 'R', ran: 5, cpu: 5, irqAccounted: true}
	at4Hz, coarse := stolen, stolen
	at4Hz.step, coarse.step = 0.25, 0.5
	whole := accounted(stolen)
	whole.Threads[0].Uncertainty = series.Second
	tests := []struct {
		name string
		s    *series.Series
		set  *stallSet
		some bool
	}{
		{"4 Hz is fine", accounted(at4Hz), stallsAt(10), true},
		{"2 Hz is not", accounted(coarse), stallsAt(10), false},
		{"whole seconds are not", whole, stallsAt(10), false},
		{"no stalls", accounted(stolen), stallsAt(), false},
		{"a stall beside the samples", accounted(stolen), stallsAt(40), false},
		{"no thread", host(20), stallsAt(10), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPath(tt.s.Threads, tt.s.Window)
			if got := decompose(tt.s, tt.set, newPicture(tt.s, p, DefaultParams())); (got != nil) != tt.some {
				t.Errorf("decomposition = %+v", got)
			}
		})
	}
}

func TestAPartOfAnIntervalGetsItsPartOfTheDeltas(t *testing.T) {
	t.Parallel()
	// 9.93 to 10.07 s: parts of 20, 50, 50 and 20 ms, a tenth of each on the CPU.
	s := accounted(interval{state: 'R', ran: 5, cpu: 5, irqAccounted: true})
	set := stallsAt(10)
	set.stalls[0].longest = 140_000
	p := newPath(s.Threads, s.Window)
	got := decompose(s, set, newPicture(s, p, DefaultParams()))
	want := &domain.Decomposed{Stalls: 1, StolenS: 0.126, StolenHeavyS: 0.126, UnexplainedS: 0.014}
	if d := cmp.Diff(want, got, microseconds); d != "" {
		t.Errorf("decomposition differs (-want +got):\n%s", d)
	}
}

func TestGradeANeedsHalfOfTheStallsTimeStolenOnHeavyCPUs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    *domain.Decomposed
		want bool
	}{
		{"half", &domain.Decomposed{SleepingS: 1, QueuedS: 1, StolenS: 4, StolenHeavyS: 4, UnexplainedS: 2}, true},
		{"less", &domain.Decomposed{SleepingS: 1, QueuedS: 1, StolenS: 4, StolenHeavyS: 3.9, UnexplainedS: 2}, false},
		{"nothing known", nil, false},
	} {
		if got := gradeA(tt.d); got != tt.want {
			t.Errorf("%s: grade A %t, want %t", tt.name, got, tt.want)
		}
	}
}

// The kernel adds a wait for the CPU to run_delay when it ends. By hand: samples
// every 50 ms from 9.80 to 10.20 s; the thread is runnable from 9.90 s, does not
// run, and only the sample at 10.10 s tells of 200 ms of waiting: all of it was
// queued, nothing was stolen.
func TestADelayThatIsToldLateBelongsToTheTimeItWasWaitedIn(t *testing.T) {
	t.Parallel()
	late := func(told bool) *series.Series {
		s := accounted(interval{state: 'R', ran: 50, cpu: 5, irqAccounted: true})
		th := &s.Threads[0]
		for i := range th.At {
			switch {
			case i <= 198: // up to 9.90 s
				th.State[i] = 'S'
			case i <= 202: // 9.95 to 10.10 s
				th.Exec[i] = 0
			}
		}
		if told {
			th.RunDelay[202] = 200e6
		}
		return s
	}
	for name, tt := range map[string]struct {
		told bool
		want domain.Decomposed
	}{
		"told late: queued":             {true, domain.Decomposed{Stalls: 1, QueuedS: 0.2}},
		"never told: it was not queued": {false, domain.Decomposed{Stalls: 1, StolenS: 0.2, StolenHeavyS: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := late(tt.told)
			got := decompose(s, stallsAt(10), newPicture(s, newPath(s.Threads, s.Window), DefaultParams()))
			if d := cmp.Diff(&tt.want, got, microseconds); d != "" {
				t.Errorf("decomposition differs (-want +got):\n%s", d)
			}
		})
	}
}

// A thread that is runnable at the last samples may be in a wait that has not
// ended: no sample tells, so nothing is called stolen.
func TestAWaitThatHasNotEndedIsUnexplained(t *testing.T) {
	t.Parallel()
	s := accounted(interval{state: 'R', cpu: 5, irqAccounted: true})
	got := decompose(s, stallsAt(10), newPicture(s, newPath(s.Threads, s.Window), DefaultParams()))
	if d := cmp.Diff(&domain.Decomposed{Stalls: 1, UnexplainedS: 0.2}, got, microseconds); d != "" {
		t.Errorf("decomposition differs (-want +got):\n%s", d)
	}
}
