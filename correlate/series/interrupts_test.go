package series

import (
	"reflect"
	"testing"

	"github.com/corewait/corewait/domain"
)

// Expected rates are arithmetic by hand: (later - earlier) / seconds.
func TestInterruptCountersBecomeRates(t *testing.T) {
	t.Parallel()
	four := []int{0, 1, 2, 3}
	tests := []struct {
		name     string
		readings []*domain.InterruptSnapshot
		cpus     []int
		spans    []Span
		rows     [][]float64
		notes    []string
	}{
		{
			name: "gains are divided by the seconds between the readings",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 100, 50)),
				reading(2, four[:2], network("40", "eth0", 300, 50)),
				reading(2.5, four[:2], network("40", "eth0", 310, 60)),
			},
			cpus: four[:2], spans: []Span{span(0, 2), span(2, 2.5)},
			rows: [][]float64{{100, 0}, {20, 20}},
		},
		{
			name: "the lines of a CPU add up",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 0, 0), network("41", "eth0", 7, 7), network("42", "eth1", 9, 9)),
				reading(1, four[:2], network("40", "eth0", 5, 0), network("41", "eth0", 27, 8), network("42", "eth1", 109, 9)),
			},
			cpus: four[:2], spans: []Span{span(0, 1)},
			rows: [][]float64{{125, 1}},
		},
		{
			// 4294967296 - 4294967290 + 10 = 16 in 2 s.
			name: "a counter that wraps at 32 bits is carried on",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 4294967290, 100)),
				reading(2, four[:2], network("40", "eth0", 10, 200)),
			},
			cpus: four[:2], spans: []Span{span(0, 2)},
			rows:  [][]float64{{8, 50}},
			notes: []string{"wrapped at 32 bits 1 times"},
		},
		{
			// At 3,600 s a wrap needs no more than 1,193,047/s: one of five wraps.
			name: "a counter that wraps in an hourly log is carried on",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 4294960096, 0, 0, 0), network("41", "eth1", 0, 0, 0, 0)),
				reading(3600, four, network("40", "eth0", 7200, 3600, 3600, 3600), network("41", "eth1", 3600, 0, 0, 0)),
			},
			cpus: four, spans: []Span{span(0, 3600)},
			rows:  [][]float64{{5, 1, 1, 1}},
			notes: []string{"wrapped at 32 bits 1 times"},
		},
		{
			name: "many counters that fall at once are a reset: the interval is unknown",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 5000, 6000, 7000, 8000)),
				reading(1, four, network("40", "eth0", 10, 20, 30, 40)),
				reading(2, four, network("40", "eth0", 20, 40, 60, 80)),
			},
			cpus: four, spans: []Span{span(1, 2)},
			rows:  [][]float64{{10, 20, 30, 40}},
			notes: []string{"started anew 1 times"},
		},
		{
			// Taken for wraps, 3,600 s would make plausible rates of over a million/s.
			name: "many counters that fall at once in an hourly log are a reset, not wraps",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 5000, 6000, 7000, 8000), network("41", "eth1", 1, 1, 1, 1)),
				reading(3600, four, network("40", "eth0", 10, 20, 30, 40), network("41", "eth1", 9, 1, 1, 1)),
				reading(7200, four, network("40", "eth0", 3610, 20, 30, 40), network("41", "eth1", 9, 1, 1, 1)),
			},
			cpus: four, spans: []Span{span(3600, 7200)},
			rows:  [][]float64{{1, 0, 0, 0}},
			notes: []string{"started anew 1 times"},
		},
		{
			name: "an implausible jump of one counter is unknown on its CPU only",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 0, 0, 0, 0), network("41", "eth1", 0, 0, 0, 0)),
				reading(1, four, network("40", "eth0", 10, 10_000_000, 10, 10), network("41", "eth1", 1, 1, 1, 1)),
				reading(2, four, network("40", "eth0", 20, 10_000_010, 20, 20), network("41", "eth1", 2, 2, 2, 2)),
			},
			cpus: four, spans: []Span{span(0, 1), span(1, 2)},
			rows:  [][]float64{{11, nan, 11, 11}, {11, 11, 11, 11}},
			notes: []string{"moved 1 times by what is neither"},
		},
		{
			name: "two million a second is believed, more is not",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 0, 0, 0, 0)),
				reading(2, four, network("40", "eth0", 4_000_000, 4_000_001, 2, 2)),
			},
			cpus: four, spans: []Span{span(0, 2)},
			rows:  [][]float64{{2_000_000, nan, 1, 1}},
			notes: []string{"moved 1 times by what is neither"},
		},
		{
			name: "one counter that falls from over 32 bits is unknown, not a wrap",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 4294967301, 0, 0, 0)),
				reading(1, four, network("40", "eth0", 3, 5, 6, 7)),
			},
			cpus: four, spans: []Span{span(0, 1)},
			rows:  [][]float64{{nan, 5, 6, 7}},
			notes: []string{"moved 1 times by what is neither"},
		},
		{
			name: "a driver that is loaded anew makes its CPUs unknown for one interval",
			readings: []*domain.InterruptSnapshot{
				reading(0, four, network("40", "eth0", 9000, 9000, 0, 0), network("41", "eth1", 10, 10, 10, 10)),
				reading(1, four, network("40", "eth0", 5, 6, 0, 0), network("41", "eth1", 11, 12, 13, 14)),
				reading(2, four, network("40", "eth0", 10, 12, 0, 0), network("41", "eth1", 12, 14, 16, 18)),
			},
			cpus: four, spans: []Span{span(0, 1), span(1, 2)},
			rows:  [][]float64{{nan, nan, 3, 4}, {6, 8, 3, 4}},
			notes: []string{"moved 2 times by what is neither"},
		},
		{
			// What line 41 counted before it was first seen is not known.
			name: "a line that appears is unknown on the CPUs that it already interrupted",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 0, 0)),
				reading(1, four[:2], network("40", "eth0", 5, 6), network("41", "eth1", 700, 0)),
				reading(2, four[:2], network("40", "eth0", 10, 12), network("41", "eth1", 800, 3)),
			},
			cpus: four[:2], spans: []Span{span(0, 1), span(1, 2)},
			rows: [][]float64{{nan, 6}, {105, 9}},
		},
		{
			name: "lines are matched by id where their order changes",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 100, 0), network("41", "eth1", 1, 1)),
				reading(1, four[:2], network("41", "eth1", 3, 1), network("40", "eth0", 110, 0)),
			},
			cpus: four[:2], spans: []Span{span(0, 1)},
			rows: [][]float64{{12, 0}},
		},
		{
			name: "lines of the kernel and of storage stay out",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 0, 0), storage("50", "nvme0", 0, 0), kernel("LOC", 0, 0), kernel("RES", 0, 0), domain.InterruptLine{ID: "ERR", Class: domain.ClassKernel, Single: 1}),
				reading(1, four[:2], network("40", "eth0", 3, 4), storage("50", "nvme0", 1000, 0), kernel("LOC", 250, 1000), kernel("RES", 5000, 1000), domain.InterruptLine{ID: "ERR", Class: domain.ClassKernel, Single: 9}),
			},
			cpus: four[:2], spans: []Span{span(0, 1)},
			rows: [][]float64{{3, 4}},
		},
		{
			name: "a storage counter that jumps does not make its CPU unknown",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 0, 0), storage("51", "nvme1", 9000, 0)),
				reading(1, four[:2], network("40", "eth0", 3, 4), storage("51", "nvme1", 2, 0)),
			},
			cpus: four[:2], spans: []Span{span(0, 1)},
			rows:  [][]float64{{3, 4}},
			notes: []string{"moved 1 times by what is neither"},
		},
		{
			name: "nothing moves: the rates are zero, not unknown",
			readings: []*domain.InterruptSnapshot{
				reading(0, four[:2], network("40", "eth0", 7, 8)),
				reading(1, four[:2], network("40", "eth0", 7, 8)),
			},
			cpus: four[:2], spans: []Span{span(0, 1)},
			rows: [][]float64{{0, 0}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := interruptSeries(t, tt.readings...)
			checkMatrix(t, "rates", &s.Interrupts, tt.cpus, tt.spans, tt.rows)
			checkNotes(t, s.Notes, tt.notes...)
		})
	}
}

// Rates by hand over the 4 s observed: eth0 on CPU 0 (40+40)/4 = 20 and on
// CPU 2 8/4 = 2; nvme0 100/4 = 25; the line without a name 4/4 = 1. eth9 did nothing.
func TestDevicesGatherTheirLinesAndHoldStorageButNotTheKernel(t *testing.T) {
	t.Parallel()
	cpus := []int{0, 2}
	unnamed := func(counts ...uint64) domain.InterruptLine {
		return domain.InterruptLine{ID: "9", Class: domain.ClassOther, Counts: counts}
	}
	s := interruptSeries(t,
		reading(0, cpus, unnamed(0, 0), network("41", "eth0", 0, 0), network("40", "eth0", 0, 0), storage("50", "nvme0", 0, 0), network("60", "eth9", 3, 3), kernel("LOC", 0, 0)),
		reading(1, cpus, unnamed(4, 0), network("41", "eth0", 40, 0), network("40", "eth0", 0, 8), storage("50", "nvme0", 0, 50), network("60", "eth9", 3, 3), kernel("LOC", 1000, 1000)),
		reading(4, cpus, unnamed(4, 0), network("41", "eth0", 80, 0), network("40", "eth0", 0, 8), storage("50", "nvme0", 0, 100), network("60", "eth9", 3, 3), kernel("LOC", 4000, 4000)),
	)
	want := []Device{
		{Name: "nvme0", Class: domain.ClassStorage, IRQs: []int{50}, PerS: map[int]float64{2: 25}, Total: 25},
		{Name: "eth0", Class: domain.ClassNetwork, IRQs: []int{40, 41}, PerS: map[int]float64{0: 20, 2: 2}, Total: 22},
		{Name: "irq 9", Class: domain.ClassOther, IRQs: []int{9}, PerS: map[int]float64{0: 1}, Total: 1},
	}
	if !reflect.DeepEqual(s.Devices, want) {
		t.Errorf("devices:\n got %+v\nwant %+v", s.Devices, want)
	}
}

func TestTheReadingMayBeReusedByItsParser(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	r := reading(0, []int{0, 1}, network("40", "eth0", 0, 0))
	for i := range uint64(4) {
		r.At = clock(float64(i))
		r.Lines[0].Counts[0], r.Lines[0].Counts[1] = 10*i, 20*i
		must(t, b.Interrupts(r))
	}
	s := b.Build(anyInstance)
	checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, []Span{span(0, 1), span(1, 2), span(2, 3)}, [][]float64{{10, 20}, {10, 20}, {10, 20}})
}

func TestMatrixFindsIntervalsAndColumns(t *testing.T) {
	t.Parallel()
	m := Matrix{CPUs: []int{0, 3, 9}, Spans: []Span{{10, 20}, {20, 30}, {50, 60}}, V: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for at, want := range map[Micros]int{9: -1, 10: 0, 19: 0, 20: 1, 29: 1, 30: -1, 49: -1, 50: 2, 59: 2, 60: -1} {
		if got := m.At(at); got != want {
			t.Errorf("At(%d): got %d, want %d", at, got, want)
		}
	}
	for cpu, want := range map[int]int{-1: -1, 0: 0, 1: -1, 3: 1, 9: 2, 10: -1} {
		if got := m.Column(cpu); got != want {
			t.Errorf("Column(%d): got %d, want %d", cpu, got, want)
		}
	}
	if row := m.Row(1); row[0] != 4 || row[2] != 6 || len(row) != 3 {
		t.Errorf("Row(1): got %v", row)
	}
	checkValue(t, "seconds", m.Seconds(), 30e-6)
}
