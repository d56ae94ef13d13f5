package store

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

func TestTextsAreMadeStorable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, want string
		limit          int
	}{
		{"plain text stays", "log file sync", "log file sync", 20},
		{"a text of the limit stays", "log", "log", 3},
		{"a longer one is cut", "logs", "log", 3},
		{"a letter of several bytes is cut as a whole", "aé한", "aé", 5},
		{"NUL cannot be stored", "a\x00b", "a\uFFFDb", 20},
		{"what is no UTF-8 cannot be stored", "a\xff\xfeb", "a\uFFFDb", 20},
		{"a replacement may be cut, too", "\xff", "", 2},
	} {
		if got := storable(tc.in, tc.limit); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// By hand, from the order of the columns user, system, irq, softirq, steal,
// iowait, idle.
func TestTheCPUsOfAnIntervalAreOneRow(t *testing.T) {
	t.Parallel()
	b := NewBatch()
	nan := math.NaN()
	at := pushTime
	for _, s := range []domain.CPUSample{
		{At: at, Interval: time.Second, CPU: 2, Idle: 0.5},
		{At: at, Interval: time.Second, CPU: 0, Idle: 0.25, User: nan, Nice: 0.1},
		{At: at, Interval: 2 * time.Second, CPU: 7, Idle: 1},
		{At: at, Interval: time.Second, CPU: 1, User: 400, Nice: nan, System: nan, IRQ: nan, SoftIRQ: nan, Steal: nan, IOWait: nan, Idle: math.Inf(1)},
		{At: at, Interval: time.Second, CPU: 0, Idle: 0.75}, // counts in place of the first one
		{At: at, Interval: time.Second, CPU: 3, Offline: true},
		{Interval: time.Second, CPU: 4},
	} {
		if err := b.CPU(s); err != nil {
			t.Fatal(err)
		}
	}
	if b.Rows() != 2 || len(b.cpuTimes) != 2 || b.cpuTimes[0].interval != (interval{micros(at) - 1_000_000, 1_000_000}) {
		t.Fatalf("%d rows: %+v", b.Rows(), b.cpuTimes)
	}
	none := [3]int16{null16, null16, null16}
	want := []cpuCell{
		{0, [shares]int16{6: 7500}, none},
		{1, [shares]int16{null16, null16, null16, null16, null16, null16, null16}, none},
		{2, [shares]int16{6: 5000}, none},
	}
	if diff := cmp.Diff(want, b.cpuTimes[0].cpus, cmp.AllowUnexported(cpuCell{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheFirstOfTwoDiskSamplesCounts(t *testing.T) {
	t.Parallel()
	b := NewBatch()
	for _, d := range []domain.DiskSample{
		{At: pushTime, Interval: time.Second, Device: "sda", WritesPerS: 1},
		{At: pushTime, Interval: time.Second, Device: "sdb", WritesPerS: math.Inf(-1), Utilisation: 4},
		{At: pushTime, Interval: time.Second, Device: "sda", WritesPerS: 2},
	} {
		if err := b.Disk(d); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.disks) != 1 || len(b.disks[0].devices) != 2 {
		t.Fatalf("%+v", b.disks)
	}
	if d := b.disks[0].devices; d[0].writes != 1000 || d[1].writes != null64 || d[1].utilisation != null16 {
		t.Errorf("%+v", d)
	}
}

func TestABatchKeepsCopies(t *testing.T) {
	t.Parallel()
	b := NewBatch()
	interrupt := domain.InterruptSample{From: pushTime, To: pushTime.Add(1), CPUs: []int{3}, Counts: []int64{4}}
	histogram := domain.HistogramSnapshot{At: pushTime, Buckets: []domain.HistogramBucket{{Below: 2, Count: 3}}}
	topology := domain.Topology{CPUs: []domain.CPU{{ID: 1}}, Bonds: []domain.Bond{{Slaves: []string{"a"}}}, Ports: []domain.Port{{IRQs: []int{5}}}, Affinity: map[int][]int{6: {7}}, Fixed: []int{8}, InterruptTimeAccounted: new(bool)}
	if err := errors.Join(b.InterruptSample(&interrupt), b.Histogram(&histogram), b.Topology(topology)); err != nil {
		t.Fatal(err)
	}
	interrupt.CPUs[0], interrupt.Counts[0], histogram.Buckets[0].Count = 9, 9, 9
	topology.CPUs[0].ID, topology.Bonds[0].Slaves[0], topology.Ports[0].IRQs[0], topology.Affinity[6][0] = 9, "z", 9, 9
	topology.Fixed[0], *topology.InterruptTimeAccounted = 9, true
	if r := b.interrupts[0]; r.cpus[0] != 3 || r.counts[0] != 4 {
		t.Errorf("%+v", r)
	}
	if h := b.histograms[0][0]; h.Buckets[0].Count != 3 {
		t.Errorf("%+v", h)
	}
	if k := b.topologies[0]; k.CPUs[0].ID != 1 || k.Bonds[0].Slaves[0] != "a" || k.Ports[0].IRQs[0] != 5 || k.Affinity[6][0] != 7 || k.Fixed[0] != 8 || *k.InterruptTimeAccounted {
		t.Errorf("%+v", k)
	}
}

// Copies of many sizes do not share memory.
func TestCopiesInASlabAreApart(t *testing.T) {
	t.Parallel()
	var s slab[int]
	var kept [][]int
	for i := range 5_000 {
		room := s.take(i % 300)
		for k := range room {
			if room[k] != 0 {
				t.Fatalf("copy %d: not empty", i)
			}
			room[k] = i + 1
		}
		kept = append(kept, append(room, -1)[:len(room)])
	}
	for i, room := range kept {
		for _, v := range room {
			if v != i+1 {
				t.Fatalf("copy %d holds %d", i, v)
			}
		}
	}
}

func TestRecordsThatNoRowCanHoldAreRefused(t *testing.T) {
	t.Parallel()
	at, end := pushTime, pushTime.Add(time.Second)
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, give := range map[string]func(b *Batch) error{
		"more counts than CPUs": func(b *Batch) error {
			return b.InterruptSample(&domain.InterruptSample{From: at, To: end, Counts: []int64{1}})
		},
		"a CPU beyond int2": func(b *Batch) error {
			return b.InterruptSample(&domain.InterruptSample{From: at, To: end, CPUs: []int{1 << 15}, Counts: []int64{1}})
		},
		"a negative CPU": func(b *Batch) error {
			return b.InterruptSample(&domain.InterruptSample{From: at, To: end, CPUs: []int{-1}, Counts: []int64{1}})
		},
		"an interval that ends too soon": func(b *Batch) error { return b.InterruptSample(&domain.InterruptSample{From: end, To: at}) },
		"a time of another age":          func(b *Batch) error { return b.InterruptSample(&domain.InterruptSample{From: at, To: late}) },
		"a line on no CPU": func(b *Batch) error {
			return b.DeviceSample(&domain.DeviceSample{From: at, To: end, Gains: []domain.LineGain{{CPU: -1}}})
		},
		"a line of no class": func(b *Batch) error {
			return b.DeviceSample(&domain.DeviceSample{From: at, To: end, Gains: []domain.LineGain{{Line: domain.Line{Class: domain.ClassKernel + 1}}}})
		},
		"fewer maxima than CPUs": func(b *Batch) error {
			return b.SoftirqSample(&domain.SoftirqSample{From: at, To: end, CPUs: []int{1}, Counts: []int64{1}, MaxPerS: []int64{}})
		},
		"a share of no CPU":        func(b *Batch) error { return b.CPU(domain.CPUSample{At: at, CPU: -2}) },
		"system of another age":    func(b *Batch) error { return b.System(domain.SystemSample{At: late}) },
		"disk of another age":      func(b *Batch) error { return b.Disk(domain.DiskSample{At: late}) },
		"gap of another age":       func(b *Batch) error { return b.Gap(domain.Gap{From: late}) },
		"a thread beyond int4":     func(b *Batch) error { return b.Placement(domain.Placement{At: at, TID: 1 << 31}) },
		"a thread on a CPU beyond": func(b *Batch) error { return b.Placement(domain.Placement{At: at, CPU: 1 << 15}) },
		"a session beyond int4":    func(b *Batch) error { return b.Wait(domain.Wait{At: at, SessionID: 1 << 31}) },
		"a serial beyond int4":     func(b *Batch) error { return b.Wait(domain.Wait{At: at, Serial: -1 << 32}) },
		"an instance beyond int2":  func(b *Batch) error { return b.Counter(domain.Counter{At: at, InstID: 1 << 15}) },
		"an update of another age": func(b *Batch) error {
			return b.Histogram(&domain.HistogramSnapshot{At: at, Buckets: []domain.HistogramBucket{{LastUpdate: late}}})
		},
		"a socket beyond int2":        func(b *Batch) error { return b.Topology(domain.Topology{CPUs: []domain.CPU{{Socket: 1 << 15}}}) },
		"an IRQ beyond int4":          func(b *Batch) error { return b.Topology(domain.Topology{Ports: []domain.Port{{IRQs: []int{1 << 31}}}}) },
		"a fixed IRQ beyond int4":     func(b *Batch) error { return b.Topology(domain.Topology{Fixed: []int{1 << 31}}) },
		"an event of another age":     func(b *Batch) error { return b.NodeEvent(domain.NodeEvent{At: late}) },
		"an affinity to a CPU beyond": func(b *Batch) error { return b.Topology(domain.Topology{Affinity: map[int][]int{1: {1 << 15}}}) },
	} {
		b := NewBatch()
		if err := give(b); !errors.Is(err, ErrUnstorable) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if b.Rows() != 0 {
			t.Errorf("%s: %d rows", name, b.Rows())
		}
	}
}
