package series

import (
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// threeLines is a reading of two CPUs in which line k of three has gained
// 1, 10 and 100 a second on CPU 0; only the first so many lines are there.
func threeLines(sec float64, lines int) *domain.InterruptSnapshot {
	n := uint64(sec)
	all := []domain.InterruptLine{network("40", "eth0", n, 0), network("41", "eth1", 10*n, 0), network("42", "eth2", 100*n, 0)}
	return reading(sec, []int{0, 1}, all[:lines]...)
}

// A block cut short in mid-log must neither lower the rate of its own interval
// nor raise that of the next. By hand: all three lines together gain 111/s,
// the first two 11/s, the first 1/s.
func TestReadingsThatLackLinesAreLeftOutUnlessTheLinesAreGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []int // of the reading at each second
		spans []Span
		rate  []float64
		notes []string
	}{
		{"lines that come back: the reading was cut, the next interval spans it", []int{3, 3, 1, 3, 3},
			[]Span{span(0, 1), span(1, 3), span(3, 4)}, []float64{111, 111, 111}, []string{"1 readings of /proc/interrupts lack lines"}},
		{"lines that stay away are gone", []int{3, 3, 2, 2, 2},
			[]Span{span(0, 1), span(1, 2), span(2, 3), span(3, 4)}, []float64{111, 11, 11, 11}, nil},
		{"the last reading is cut", []int{3, 3, 1},
			[]Span{span(0, 1)}, []float64{111}, []string{"1 readings of /proc/interrupts lack lines"}},
		{"two readings in a row are cut, the second later on", []int{3, 1, 2, 3},
			[]Span{span(0, 3)}, []float64{111}, []string{"2 readings of /proc/interrupts lack lines"}},
		{"two readings in a row are cut, the second earlier", []int{3, 2, 1, 3},
			[]Span{span(0, 3)}, []float64{111}, []string{"2 readings of /proc/interrupts lack lines"}},
		{"cut twice with a whole reading between", []int{3, 1, 3, 1, 3},
			[]Span{span(0, 2), span(2, 4)}, []float64{111, 111}, []string{"2 readings of /proc/interrupts lack lines"}},
		{"a reading without any line", []int{3, 0, 3},
			[]Span{span(0, 2)}, []float64{111}, []string{"1 readings of /proc/interrupts lack lines"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var readings []*domain.InterruptSnapshot
			for sec, n := range tt.lines {
				readings = append(readings, threeLines(float64(sec), n))
			}
			s := interruptSeries(t, readings...)
			rows := make([][]float64, len(tt.rate))
			for i, r := range tt.rate {
				rows[i] = []float64{r, 0}
			}
			checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, tt.spans, rows)
			checkNotes(t, s.Notes, tt.notes...)
		})
	}
}

// The header names the CPUs that are online; values belong to ids.
func TestCPUsThatComeAndGoKeepTheirIDs(t *testing.T) {
	t.Parallel()
	t.Run("a CPU goes offline and comes back", func(t *testing.T) {
		t.Parallel()
		s := interruptSeries(t,
			reading(0, []int{0, 1, 2}, network("40", "eth0", 0, 0, 0)),
			reading(1, []int{0, 1, 2}, network("40", "eth0", 10, 20, 30)),
			reading(2, []int{0, 2}, network("40", "eth0", 20, 60)),
			reading(3, []int{0, 2}, network("40", "eth0", 30, 90)),
			reading(4, []int{0, 1, 2}, network("40", "eth0", 40, 20, 120)),
			reading(5, []int{0, 1, 2}, network("40", "eth0", 50, 40, 150)),
		)
		checkMatrix(t, "rates", &s.Interrupts, []int{0, 1, 2},
			[]Span{span(0, 1), span(1, 2), span(2, 3), span(3, 4), span(4, 5)},
			[][]float64{{10, 20, 30}, {10, nan, 30}, {10, nan, 30}, {10, nan, 30}, {10, 20, 30}})
		checkNotes(t, s.Notes)
		if want := []int{0, 1, 2}; !slices.Equal(s.Online, want) {
			t.Errorf("online: got %v, want %v", s.Online, want)
		}
	})
	t.Run("a CPU id appears between others", func(t *testing.T) {
		t.Parallel()
		s := interruptSeries(t,
			reading(0, []int{0, 8}, network("40", "eth0", 0, 0)),
			reading(1, []int{0, 8}, network("40", "eth0", 10, 80)),
			reading(2, []int{0, 4, 8}, network("40", "eth0", 20, 4000, 160)),
			reading(3, []int{0, 4, 8}, network("40", "eth0", 30, 4040, 240)),
		)
		checkMatrix(t, "rates", &s.Interrupts, []int{0, 4, 8}, []Span{span(0, 1), span(1, 2), span(2, 3)},
			[][]float64{{10, nan, 80}, {10, nan, 80}, {10, 40, 80}})
	})
	t.Run("every CPU changes its id", func(t *testing.T) {
		t.Parallel()
		s := interruptSeries(t,
			reading(0, []int{0, 1}, network("40", "eth0", 5, 5)),
			reading(1, []int{2, 3}, network("40", "eth0", 9, 9)),
			reading(2, []int{2, 3}, network("40", "eth0", 10, 11)),
		)
		checkMatrix(t, "rates", &s.Interrupts, []int{2, 3}, []Span{span(0, 1), span(1, 2)}, [][]float64{{nan, nan}, {1, 2}})
	})
}

func TestLogsThatOverlapAreJoined(t *testing.T) {
	t.Parallel()
	log := func(secs ...float64) []*domain.InterruptSnapshot {
		var out []*domain.InterruptSnapshot
		for _, sec := range secs {
			out = append(out, threeLines(sec, 3))
		}
		return out
	}
	tests := []struct {
		name  string
		secs  []float64
		spans []Span
		notes []string
	}{
		{"the second log begins within the first", []float64{0, 1, 2, 1, 2, 3}, []Span{span(0, 1), span(1, 2), span(2, 3)}, []string{"2 readings of /proc/interrupts overlap"}},
		{"the same log twice", []float64{0, 1, 2, 0, 1, 2}, []Span{span(0, 1), span(1, 2)}, []string{"3 readings of /proc/interrupts overlap"}},
		{"a reading printed twice", []float64{0, 1, 1, 2}, []Span{span(0, 1), span(1, 2)}, []string{"1 readings of /proc/interrupts overlap"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := interruptSeries(t, log(tt.secs...)...)
			rows := make([][]float64, len(tt.spans))
			for i := range rows {
				rows[i] = []float64{111, 0}
			}
			checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, tt.spans, rows)
			checkNotes(t, s.Notes, tt.notes...)
		})
	}
}

func TestReadingsWithoutTimeGiveNoRates(t *testing.T) {
	t.Parallel()
	untimed := threeLines(0, 3)
	untimed.At = time.Time{}
	s := interruptSeries(t, untimed, untimed)
	checkMatrix(t, "rates", &s.Interrupts, nil, nil, nil)
	checkNotes(t, s.Notes, "2 readings of /proc/interrupts carry no time")

	s = interruptSeries(t, untimed, threeLines(5, 3), untimed, threeLines(6, 3))
	checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, []Span{span(5, 6)}, [][]float64{{111, 0}})
	checkNotes(t, s.Notes, "2 readings of /proc/interrupts carry no time")
}

func TestLongGapsAreNotBridged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		secs  []float64
		spans []Span
		notes []string
	}{
		{"ten minutes are missing from a 10 s log", []float64{0, 10, 20, 620, 630}, []Span{span(0, 10), span(10, 20), span(620, 630)}, []string{"has 1 gaps"}},
		{"a day is missing after the first reading of a 10 s log", []float64{0, 86400, 86410, 86420, 86430}, []Span{span(86400, 86410), span(86410, 86420), span(86420, 86430)}, []string{"has 1 gaps"}},
		{"two minutes are bridged at the begin too", []float64{0, 120, 121, 122}, []Span{span(0, 120), span(120, 121), span(121, 122)}, nil},
		{"two minutes at most are bridged whatever the distance", []float64{0, 1, 2, 122, 123}, []Span{span(0, 1), span(1, 2), span(2, 122), span(122, 123)}, nil},
		{"a minute more than usual is no gap", []float64{0, 300, 660, 960}, []Span{span(0, 300), span(300, 660), span(660, 960)}, nil},
		{"a reading taken by hand makes no gaps of a five-minute log", []float64{0, 300, 310, 600, 900, 1200},
			[]Span{span(0, 300), span(300, 310), span(310, 600), span(600, 900), span(900, 1200)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var readings []*domain.InterruptSnapshot
			for _, sec := range tt.secs {
				readings = append(readings, threeLines(sec, 3))
			}
			s := interruptSeries(t, readings...)
			rows := make([][]float64, len(tt.spans))
			for i := range rows {
				rows[i] = []float64{111, 0}
			}
			checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, tt.spans, rows)
			checkNotes(t, s.Notes, tt.notes...)
		})
	}
}

// A log that turns from one reading a second to one in five minutes is a log
// of five minutes before long: at most a handful of intervals pass for gaps.
func TestALogThatSlowsDownIsStillRead(t *testing.T) {
	t.Parallel()
	var readings []*domain.InterruptSnapshot
	for sec := range 60 {
		readings = append(readings, threeLines(float64(sec), 3))
	}
	for k := 1; k <= 20; k++ {
		readings = append(readings, threeLines(float64(59+300*k), 3))
	}
	s := interruptSeries(t, readings...)
	// 59 intervals of one second, and at least 14 of the 20 long ones.
	if n := len(s.Interrupts.Spans); n < 59+14 {
		t.Errorf("got %d intervals, want at least 73", n)
	}
}

// By hand: eth0 gains 10/s throughout by a clock that is set back from 20 to 12,
// when 2 s had passed. Its 30 of (20, 25) would make 6/s of it if bridged.
func TestIntervalsStartAnewWhereTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	at := func(sec float64, n uint64) *domain.InterruptSnapshot {
		return reading(sec, []int{0, 1}, network("40", "eth0", n, 0))
	}
	s := interruptSeries(t, at(10, 100), at(20, 200), at(12, 220), at(15, 250), at(25, 350), at(26, 360))
	checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, []Span{span(10, 20), span(25, 26)}, [][]float64{{10, 0}, {10, 0}})
	checkNotes(t, s.Notes, "3 readings of /proc/interrupts overlap")
}

// An interrupt number that moves to another device begins a new line: what the
// new one counted before is not known.
func TestANumberThatGoesToAnotherDeviceIsAnotherLine(t *testing.T) {
	t.Parallel()
	s := interruptSeries(t,
		reading(0, []int{0, 1}, network("40", "eth0", 100, 0), network("41", "eth1", 0, 0)),
		reading(1, []int{0, 1}, network("40", "eth5", 900, 0), network("41", "eth1", 1, 2)),
		reading(2, []int{0, 1}, network("40", "eth5", 907, 0), network("41", "eth1", 2, 4)),
		reading(3, []int{0, 1}, storage("40", "eth5", 999, 0), network("41", "eth1", 3, 6)),
	)
	checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, []Span{span(0, 1), span(1, 2), span(2, 3)}, [][]float64{{nan, 2}, {8, 2}, {1, 2}})
	for _, d := range s.Devices {
		if want := map[string]float64{"eth1": 3, "eth5": 7.0 / 3}[d.Name]; !same(d.Total, want) {
			t.Errorf("%s: got %g/s, want %g", d.Name, d.Total, want)
		}
	}
	checkNotes(t, s.Notes)
}

// Each reading after the first brings one CPU more; the first set counts as one
// of the 64 times.
func TestCPUsThatAppearOverAndOverAreLeftOut(t *testing.T) {
	t.Parallel()
	var readings []*domain.InterruptSnapshot
	for sec := range 71 {
		cpus := make([]int, sec+1)
		for i := range cpus {
			cpus[i] = i
		}
		readings = append(readings, reading(float64(sec), cpus, network("40", "eth0", make([]uint64, sec+1)...)))
	}
	s := interruptSeries(t, readings...)
	if n := len(s.Interrupts.Spans); n != 64 {
		t.Errorf("got %d intervals, want 64", n)
	}
	checkNotes(t, s.Notes, "6 readings of /proc/interrupts bring new CPUs")
}

// 1,000 + 2^32 - 4,000,000,000 in 3,600 s is 81,936/s, of a line that had 10/s.
func TestADriverLoadedAnewInAnHourlyLogIsNoWrap(t *testing.T) {
	t.Parallel()
	at := func(hour float64, a, b uint64) *domain.InterruptSnapshot {
		return reading(3600*hour, []int{0, 1}, network("40", "eth0", a, 0), network("41", "eth1", 0, b), network("42", "eth2", 0, 2*b))
	}
	s := interruptSeries(t, at(0, 3_999_892_000, 0), at(1, 3_999_928_000, 3600), at(2, 3_999_964_000, 7200), at(3, 4_000_000_000, 10800), at(4, 1000, 14400), at(5, 37000, 18000))
	checkMatrix(t, "rates", &s.Interrupts, []int{0, 1}, []Span{span(0, 3600), span(3600, 7200), span(7200, 10800), span(10800, 14400), span(14400, 18000)},
		[][]float64{{10, 3}, {10, 3}, {10, 3}, {nan, 3}, {10, 3}})
	checkNotes(t, s.Notes, "moved 1 times by what is neither")
}
