package main

import (
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// shape notes what a push has of the kinds that its size depends on.
type shape struct {
	*store.Batch

	counts              [cpus]int64
	interrupts, devices int
	samples, ran        map[string]int // of threads
}

func (s *shape) InterruptSample(i *domain.InterruptSample) error {
	s.interrupts++
	for cpu, n := range i.Counts {
		s.counts[cpu] += n
	}
	return s.Batch.InterruptSample(i)
}

func (s *shape) DeviceSample(d *domain.DeviceSample) error {
	s.devices += len(d.Gains)
	return s.Batch.DeviceSample(d)
}

func (s *shape) Placement(p domain.Placement) error {
	s.samples[p.Command]++
	if p.Exec > 0 {
		s.ran[p.Command]++
	}
	return s.Batch.Placement(p)
}

// The budget's node: 10 s of interrupts at 1 Hz, of three threads at 20 Hz.
func TestNodeHasFewHeavyCPUsAndABusyLGWR(t *testing.T) {
	t.Parallel()
	s := &shape{Batch: store.NewBatch(), samples: map[string]int{}, ran: map[string]int{}}
	if err := newNode(1).push(s, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if s.interrupts != 10 || s.devices < 50 || s.devices > 100 {
		t.Errorf("%d interrupt samples and %d lines, want 10 and 50 to 100", s.interrupts, s.devices)
	}
	heavy, idle := 0, 0
	for _, n := range s.counts {
		switch {
		case n > 5_000: // in 10 s
			heavy++
		case n < 100:
			idle++
		}
	}
	if heavy < 12 || heavy > 20 || idle < 30 {
		t.Errorf("%d CPUs with over 500 interrupts/s and %d with under 10, want about 16 and more than 30: %v", heavy, idle, s.counts)
	}
	for command, want := range map[string][2]int{"ora_lgwr_ORDP1": {130, 190}, "ora_lg00_ORDP1": {0, 20}, "ora_lg01_ORDP1": {0, 10}} {
		if s.samples[command] != 200 || s.ran[command] < want[0] || s.ran[command] > want[1] {
			t.Errorf("%s ran in %d of %d samples, want %v of 200", command, s.ran[command], s.samples[command], want)
		}
	}
}

// roundings notes what is not in the steps that the wire contract binds agents to.
type roundings struct {
	*store.Batch

	broken map[string]int
	ran    map[string]time.Duration
}

func (r *roundings) note(what string, ok bool) {
	if !ok {
		r.broken[what]++
	}
}

func (r *roundings) Placement(p domain.Placement) error {
	const step = 10 * time.Microsecond
	r.note("instant", p.At.Equal(domain.RoundSampled(p.At)))
	r.note("run time", p.Exec%step == 0 && p.RunDelay%step == 0)
	r.ran[p.Command] += p.Exec
	return r.Batch.Placement(p)
}

func (r *roundings) CPU(s domain.CPUSample) error {
	if s.CPU != domain.AllCPUs {
		whole := func(share, ticks float64) bool { return math.Abs(share*ticks-math.Round(share*ticks)) < 1e-9 }
		sum := 0.0
		for _, share := range []float64{s.User, s.System, s.IOWait, s.IRQ, s.SoftIRQ, s.Steal, s.Idle} {
			r.note("share", whole(share, 500))
			sum += share
		}
		r.note("sum of shares", math.Abs(sum-1) < 1e-9)
		r.note("peak", whole(s.Peaks.IRQSoftIRQ, 100) && whole(s.Peaks.Steal, 100) && whole(s.Peaks.Busy, 100))
	}
	return r.Batch.CPU(s)
}

func TestNodeRoundsAsAgentsAreBoundTo(t *testing.T) {
	t.Parallel()
	r := &roundings{Batch: store.NewBatch(), broken: map[string]int{}, ran: map[string]time.Duration{}}
	n := newNode(2)
	for i := range 6 {
		if err := n.push(r, time.Date(2026, 1, 2, 12, 0, 10*i, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.broken) > 0 {
		t.Errorf("not in whole steps: %v", r.broken)
	}
	// A minute has 1,200 samples; it ran in four of five of them, for 8 ms on average.
	if ran := r.ran["ora_lgwr_ORDP1"]; ran < 6*time.Second || ran > 10*time.Second {
		t.Errorf("LGWR ran for %v, want about 7.7 s", ran)
	}
}

// By hand: 14, 3, 8 and 5 us are 30.
func TestWhatRoundingLeavesIsToldLater(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	var left time.Duration
	for _, c := range []struct{ d, want time.Duration }{{14 * us, 10 * us}, {3 * us, 0}, {8 * us, 10 * us}, {5 * us, 10 * us}} {
		if got := carry(&left, c.d); got != c.want {
			t.Errorf("%v: told %v, want %v", c.d, got, c.want)
		}
	}
	if left != 0 {
		t.Errorf("%v are left of 30 us", left)
	}
}

// A line as proc(5) describes it; the name may hold spaces and parentheses.
func TestParentAndTimesAreReadFromStat(t *testing.T) {
	t.Parallel()
	const line = "77 (a b) c) S 42 77 77 0 -1 4194560 10 20 30 40 500 60 7000 800 20 0 1 0 12345"
	got, err := parseStat([]byte(line))
	if want := (processTimes{parent: 42, own: 560, children: 7800}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseStat([]byte("77 (a) S 42")); err == nil {
		t.Error("a line cut short was read")
	}
}
