package series

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

func statReading(sec float64, cpus ...domain.CPUTimes) *domain.CPUTimesSnapshot {
	return &domain.CPUTimesSnapshot{At: clock(sec), CPUs: cpus, ContextSwitches: -1, Interrupts: -1, ProcsRunning: -1, ProcsBlocked: -1}
}

// By hand: user 50, system 20, idle 100, iowait 10, irq 5, softirq 15 of 200
// ticks. The guest's 20 are within user's 50 (proc_stat(5)).
func TestCPUTimeCountersBecomeShares(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	first := domain.CPUTimes{CPU: 3, User: 1000, Nice: 10, System: 500, Idle: 9000, IOWait: 30, IRQ: 1, SoftIRQ: 2, Steal: 0, Guest: 100, GuestNice: 5}
	second := domain.CPUTimes{CPU: 3, User: 1050, Nice: 10, System: 520, Idle: 9100, IOWait: 40, IRQ: 6, SoftIRQ: 17, Steal: 0, Guest: 120, GuestNice: 5}
	host1, host2 := first, second
	host1.CPU, host2.CPU = domain.AllCPUs, domain.AllCPUs
	a, z := statReading(0, host1, first), statReading(2, host2, second)
	a.ContextSwitches, z.ContextSwitches = 1000, 9000
	z.ProcsRunning, z.ProcsBlocked = 7, 2
	must(t, b.CPUTimes(a))
	must(t, b.CPUTimes(z))
	s := b.Build(anyInstance)
	checkMatrix(t, "irq and softirq", &s.CPU.IRQSoftIRQ, []int{3}, []Span{span(0, 2)}, [][]float64{{0.1}})
	checkMatrix(t, "busy", &s.CPU.Busy, []int{3}, []Span{span(0, 2)}, [][]float64{{0.45}})
	checkMatrix(t, "steal", &s.CPU.Steal, []int{3}, []Span{span(0, 2)}, [][]float64{{0}})
	if len(s.CPU.Host) != 1 || len(s.System) != 1 {
		t.Fatalf("got %d rows of the host and %d points, want one each", len(s.CPU.Host), len(s.System))
	}
	h := s.CPU.Host[0]
	for _, v := range []struct {
		what      string
		got, want float64
	}{
		{"user", h.User, 0.25}, {"system", h.System, 0.1}, {"idle", h.Idle, 0.5}, {"iowait", h.IOWait, 0.05}, {"irq and softirq", h.IRQSoftIRQ, 0.1},
		{"steal", h.Steal, 0}, {"context switches", s.System[0].ContextSwitchesPerS, 4000}, {"run queue", s.System[0].RunQueue, 7},
		{"blocked", s.System[0].Blocked, 2}, {"point's user", s.System[0].User, 0.25}, {"swap", s.System[0].SwapPerS, nan},
	} {
		checkValue(t, v.what, v.got, v.want)
	}
	if !s.CPU.Interrupts || !s.CPU.IRQAccounted {
		t.Error("irq and softirq moved, yet the series says they tell nothing")
	}
}

func TestCPUTimeCountersThatFallOrAreMissing(t *testing.T) {
	t.Parallel()
	base := domain.CPUTimes{CPU: 0, User: 100, System: 100, Idle: 100, IOWait: 30}
	tests := []struct {
		name        string
		was, now    domain.CPUTimes
		busy, steal float64
		none        bool
	}{
		{
			// user 25, idle 75 of 100; iowait counts as no change.
			name: "iowait may fall", was: base,
			now:  domain.CPUTimes{CPU: 0, User: 125, System: 100, Idle: 175, IOWait: 28},
			busy: 0.25, steal: 0,
		},
		{
			name: "another counter that falls gives no value", was: base,
			now:  domain.CPUTimes{CPU: 0, User: 90, System: 100, Idle: 175, IOWait: 30},
			none: true,
		},
		{name: "a CPU whose counters stand still gives no value", was: base, now: base, none: true},
		{
			name: "a column that the kernel lacks is unknown",
			was:  domain.CPUTimes{CPU: 0, User: 100, Idle: 100, Steal: -1},
			now:  domain.CPUTimes{CPU: 0, User: 150, Idle: 150, Steal: -1},
			busy: 0.5, steal: nan,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			other := domain.CPUTimes{CPU: 1, User: 10, Idle: 10}
			later := domain.CPUTimes{CPU: 1, User: 20, Idle: 40} // 10 of 40 busy
			must(t, b.CPUTimes(statReading(0, tt.was, other)))
			must(t, b.CPUTimes(statReading(1, tt.now, later)))
			s := b.Build(anyInstance)
			if tt.none {
				checkMatrix(t, "busy", &s.CPU.Busy, []int{1}, []Span{span(0, 1)}, [][]float64{{0.25}})
				return
			}
			checkMatrix(t, "busy", &s.CPU.Busy, []int{0, 1}, []Span{span(0, 1)}, [][]float64{{tt.busy, 0.25}})
			checkMatrix(t, "steal", &s.CPU.Steal, []int{0, 1}, []Span{span(0, 1)}, [][]float64{{tt.steal, 0}})
			if s.CPU.Interrupts || s.CPU.IRQAccounted {
				t.Error("irq and softirq never moved, yet the series says they do")
			}
		})
	}
}

func TestCPUTimeReadingsThatOverlapCountOnce(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	read := func(sec float64) {
		n := int64(100 * sec)
		row := domain.CPUTimes{CPU: 0, User: n / 4, Idle: n * 3 / 4}
		all := row
		all.CPU = domain.AllCPUs
		must(t, b.CPUTimes(statReading(sec, all, row)))
	}
	for _, sec := range []float64{0, 4, 8, 4, 8, 12} {
		read(sec)
	}
	untimed := statReading(0, domain.CPUTimes{CPU: 0, User: 1})
	untimed.At = time.Time{}
	must(t, b.CPUTimes(untimed))
	s := b.Build(anyInstance)
	checkMatrix(t, "busy", &s.CPU.Busy, []int{0}, []Span{span(0, 4), span(4, 8), span(8, 12)}, [][]float64{{0.25}, {0.25}, {0.25}})
	if len(s.System) != 3 || len(s.CPU.Host) != 3 {
		t.Errorf("got %d points and %d rows of the host, want 3 each", len(s.System), len(s.CPU.Host))
	}
}

func mpstatRow(sec float64, cpu int, idle float64) domain.CPUSample {
	return domain.CPUSample{
		At: clock(sec), CPU: cpu, User: 0.1, Nice: 0.05, System: 0.1, IOWait: 0.05, IRQ: 0.02, SoftIRQ: 0.08, Steal: 0.01, Guest: 0, Idle: idle,
	}
}

func TestMpstatRowsBecomeShares(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	for _, sec := range []float64{5, 10, 15} {
		must(t, b.CPU(mpstatRow(sec, domain.AllCPUs, 0.6)))
		must(t, b.CPU(mpstatRow(sec, 0, 0.6)))
		if sec == 10 {
			must(t, b.CPU(domain.CPUSample{At: clock(sec), CPU: 2, Offline: true}))
			continue
		}
		must(t, b.CPU(mpstatRow(sec, 2, 0.35)))
	}
	must(t, b.CPU(domain.CPUSample{CPU: 7, Idle: 1})) // without a time
	s := b.Build(anyInstance)
	// The interval of a row begins at the row before; the first is as long as
	// the others. irq+softirq 0.02+0.08; busy 1-0.6-0.05 and 1-0.35-0.05.
	spans := []Span{span(0, 5), span(5, 10), span(10, 15)}
	checkMatrix(t, "irq and softirq", &s.CPU.IRQSoftIRQ, []int{0, 2}, spans, [][]float64{{0.1, 0.1}, {0.1, nan}, {0.1, 0.1}})
	checkMatrix(t, "busy", &s.CPU.Busy, []int{0, 2}, spans, [][]float64{{0.35, 0.6}, {0.35, nan}, {0.35, 0.6}})
	checkMatrix(t, "steal", &s.CPU.Steal, []int{0, 2}, spans, [][]float64{{0.01, 0.01}, {0.01, nan}, {0.01, 0.01}})
	if len(s.CPU.Host) != 3 {
		t.Fatalf("got %d rows of the host, want 3", len(s.CPU.Host))
	}
	checkValue(t, "user with nice", s.CPU.Host[0].User, 0.15)
	checkValue(t, "idle", s.CPU.Host[2].Idle, 0.6)
	if want := []int{0, 2}; !slices.Equal(s.Online, want) {
		t.Errorf("online: got %v, want %v", s.Online, want)
	}
}

func TestMpstatIntervals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		interval time.Duration
		at       []float64
		want     []Span
	}{
		{"without an interval a row begins at the row before", 0, []float64{10, 20, 30}, []Span{span(0, 10), span(10, 20), span(20, 30)}},
		{"a row after a gap is as long as the others", 0, []float64{10, 20, 30, 100, 110}, []Span{span(0, 10), span(10, 20), span(20, 30), span(90, 100), span(100, 110)}},
		{"the printed interval counts", 2 * time.Second, []float64{10, 20}, []Span{span(8, 10), span(18, 20)}},
		{"intervals do not overlap", 10 * time.Second, []float64{10, 15}, []Span{span(0, 10), span(10, 15)}},
		{"a single row without an interval has no length", 0, []float64{10}, []Span{span(10, 10)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, sec := range tt.at {
				row := mpstatRow(sec, 0, 0.6)
				row.Interval = tt.interval
				must(t, b.CPU(row))
			}
			s := b.Build(anyInstance)
			if !slices.Equal(s.CPU.Busy.Spans, tt.want) {
				t.Errorf("got %v, want %v", relative(s.CPU.Busy.Spans), relative(tt.want))
			}
		})
	}
}

func TestColumnsThatMpstatDoesNotPrint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*domain.CPUSample)
		irq    float64
		busy   float64
	}{
		{"no irq: softirq alone", func(s *domain.CPUSample) { s.IRQ = nan }, 0.08, 0.35},
		{"neither irq nor softirq: unknown", func(s *domain.CPUSample) { s.IRQ, s.SoftIRQ = nan, nan }, nan, 0.35},
		{"no iowait: busy is what is not idle", func(s *domain.CPUSample) { s.IOWait = nan }, 0.1, 0.4},
		{"no idle: busy is unknown", func(s *domain.CPUSample) { s.Idle = nan }, 0.1, nan},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			row := mpstatRow(10, 0, 0.6)
			row.Interval = time.Second
			tt.change(&row)
			must(t, b.CPU(row))
			s := b.Build(anyInstance)
			checkMatrix(t, "irq and softirq", &s.CPU.IRQSoftIRQ, []int{0}, []Span{span(9, 10)}, [][]float64{{tt.irq}})
			checkMatrix(t, "busy", &s.CPU.Busy, []int{0}, []Span{span(9, 10)}, [][]float64{{tt.busy}})
			if s.CPU.Interrupts == math.IsNaN(tt.irq) {
				t.Errorf("interrupt time known: got %t", s.CPU.Interrupts)
			}
		})
	}
}

func softirqs(sec float64, netRX ...uint64) *domain.SoftirqSnapshot {
	s := &domain.SoftirqSnapshot{At: clock(sec), Names: []string{"TIMER", "NET_RX"}}
	for cpu := range netRX {
		s.CPUs = append(s.CPUs, cpu)
	}
	s.Counts = [][]uint64{make([]uint64, len(netRX)), netRX}
	for i := range netRX {
		s.Counts[0][i] = uint64(1_000_000 * sec)
	}
	return s
}

// /proc/softirqs has a column for every possible CPU and counts in 32 bits.
func TestNetRXSoftirqsBecomeRates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		readings []*domain.SoftirqSnapshot
		spans    []Span
		rows     [][]float64
	}{
		{
			name:     "NET_RX alone is kept",
			readings: []*domain.SoftirqSnapshot{softirqs(0, 5, 0, 0, 0), softirqs(2, 205, 10, 0, 0)},
			spans:    []Span{span(0, 2)}, rows: [][]float64{{100, 5, 0, 0}},
		},
		{
			name:     "a wrap at 32 bits is carried on", // 4294967296 - 4294967196 + 100 = 200
			readings: []*domain.SoftirqSnapshot{softirqs(0, 4294967196, 0, 0, 0), softirqs(2, 100, 10, 0, 0)},
			spans:    []Span{span(0, 2)}, rows: [][]float64{{100, 5, 0, 0}},
		},
		{
			name:     "readings that go back in time are left out",
			readings: []*domain.SoftirqSnapshot{softirqs(0, 0, 0, 0, 0), softirqs(2, 20, 0, 0, 0), softirqs(1, 10, 0, 0, 0), softirqs(2, 20, 0, 0, 0), softirqs(3, 30, 0, 0, 0)},
			spans:    []Span{span(0, 2), span(2, 3)}, rows: [][]float64{{10, 0, 0, 0}, {10, 0, 0, 0}},
		},
		{
			// Set back 10 s after 20: what is counted until 15 lies in time already
			// observed, (15, 25) reaches out of it, (25, 26) is known again.
			name: "the clock is set back: intervals start anew from there",
			readings: []*domain.SoftirqSnapshot{softirqs(10, 100, 0, 0, 0), softirqs(20, 200, 0, 0, 0), softirqs(12, 9000, 0, 0, 0),
				softirqs(15, 9100, 0, 0, 0), softirqs(25, 9900, 0, 0, 0), softirqs(26, 9910, 0, 0, 0)},
			spans: []Span{span(10, 20), span(25, 26)}, rows: [][]float64{{10, 0, 0, 0}, {10, 0, 0, 0}},
		},
		{
			// 1,000 + 2^32 - 4,000,000,000 in 3,600 s is 81,936/s, of a CPU that had 10/s.
			name: "a counter that fell by far more than its usual rate explains is unknown",
			readings: []*domain.SoftirqSnapshot{softirqs(0, 3_999_892_000, 0, 0, 0), softirqs(3600, 3_999_928_000, 3600, 0, 0), softirqs(7200, 3_999_964_000, 7200, 0, 0),
				softirqs(10800, 4_000_000_000, 10800, 0, 0), softirqs(14400, 1000, 14400, 3600, 0)},
			spans: []Span{span(0, 3600), span(3600, 7200), span(7200, 10800), span(10800, 14400)},
			rows:  [][]float64{{10, 1, 0, 0}, {10, 1, 0, 0}, {10, 1, 0, 0}, {nan, 1, 1, 0}},
		},
		{
			name:     "an implausible jump is unknown on its CPU",
			readings: []*domain.SoftirqSnapshot{softirqs(0, 0, 0, 0, 0), softirqs(1, 50_000_000, 7, 8, 9)},
			spans:    []Span{span(0, 1)}, rows: [][]float64{{nan, 7, 8, 9}},
		},
		{
			name:     "all counters that fall in an hourly log are a reset, not wraps",
			readings: []*domain.SoftirqSnapshot{softirqs(0, 9000, 8000, 7000, 6000), softirqs(3600, 1, 2, 3, 4), softirqs(7200, 3601, 2, 3, 4)},
			spans:    []Span{span(3600, 7200)}, rows: [][]float64{{1, 0, 0, 0}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, r := range tt.readings {
				must(t, b.Softirqs(r))
			}
			untimed := softirqs(9000, 1, 1, 1, 1)
			untimed.At = time.Time{}
			must(t, b.Softirqs(untimed))
			s := b.Build(anyInstance)
			checkMatrix(t, "NET_RX", &s.NetRX, []int{0, 1, 2, 3}, tt.spans, tt.rows)
		})
	}
}
