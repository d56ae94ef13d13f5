package series

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corewait/corewait/domain"
)

// eth0 gains 100/s until second 10 and 1,000/s from then on; LGWR was seen from
// 10 to 20. Device rates are over that time, as those of the CPUs are.
func TestDeviceRatesAreOverTheNarrowedWindow(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	for sec := range 31 {
		n := uint64(100 * sec)
		if sec > 10 {
			n = uint64(1000 + 1000*(sec-10))
		}
		must(t, b.Interrupts(reading(float64(sec), []int{0, 1}, network("40", "eth0", n, 0))))
	}
	for sec := 10; sec < 20; sec++ {
		must(t, b.Placement(domain.Placement{At: clock(float64(sec)), TID: 9, Command: "ora_lgwr_X", CPU: 1}))
	}
	s := b.Build(anyInstance)
	if s.Window != span(10, 20) {
		t.Fatalf("window: got %v", relative([]Span{s.Window}))
	}
	// Within a second of the ends lies (9, 10) too: (100 + 11 * 1000) / 12.
	if len(s.Devices) != 1 || !same(s.Devices[0].Total, 11100.0/12) || !same(s.Devices[0].PerS[0], 11100.0/12) {
		t.Errorf("got %+v, want 925/s", s.Devices)
	}
}

func TestAWindowWithoutIntervalsHasNoDeviceRates(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	must(t, b.Interrupts(threeLines(0, 3)))
	must(t, b.Interrupts(threeLines(1, 3)))
	if got := b.interrupts.lines.devices(nil, span(100, 200)); got != nil {
		t.Errorf("got %+v", got)
	}
}

// Joining keeps sums and seconds: lines of 1, 10 and 100 a second, of which
// 20 s of 40 are asked for.
func TestJoinedStretchesKeepTheirSums(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	for sec := range 41 {
		must(t, b.Interrupts(threeLines(float64(sec), 3)))
	}
	lines := &b.interrupts.lines
	lines.length = 4 * Second
	lines.join()
	if len(lines.stretches) != 10 || len(lines.gains) != 30 {
		t.Fatalf("got %d stretches of %d gains, want 10 of 30", len(lines.stretches), len(lines.gains))
	}
	sums, sec := lines.within(span(4, 24))
	if sec != 20 || sums[0][0] != 20 || sums[1][0] != 200 || sums[2][0] != 2000 {
		t.Errorf("got %v in %g s", sums, sec)
	}
}

func TestGainsAreJoinedWhereTheyGrowMany(t *testing.T) {
	t.Parallel()
	var lines lineSums
	const perInterval = 1 << 16
	for sec := range 40 {
		for cpu := range perInterval {
			lines.add(0, cpu, 2)
		}
		lines.endInterval(span(float64(sec), float64(sec+1)), 1)
	}
	lines.names = make([]lineKey, 1)
	if len(lines.gains) > keptGains {
		t.Errorf("got %d gains, want at most %d", len(lines.gains), keptGains)
	}
	sums, sec := lines.within(span(0, 40))
	if sec != 40 || sums[0][0] != 80 || sums[0][perInterval-1] != 80 {
		t.Errorf("got %g and %g in %g s, want 80 and 80 in 40", sums[0][0], sums[0][perInterval-1], sec)
	}
}

func TestLinesBeyondThoseKeptAreNoted(t *testing.T) {
	t.Parallel()
	at := func(sec float64, n uint64) *domain.InterruptSnapshot {
		s := reading(sec, []int{0})
		for i := range maxLines + 3 {
			s.Lines = append(s.Lines, network(fmt.Sprint(i), "eth0", n))
		}
		return s
	}
	s := interruptSeries(t, at(0, 0), at(1, 1))
	checkMatrix(t, "rates", &s.Interrupts, []int{0}, []Span{span(0, 1)}, [][]float64{{65539}})
	checkNotes(t, s.Notes, "3 readings of interrupt lines beyond the 65536")
	if len(s.Devices) != 1 || s.Devices[0].Total != 65536 {
		t.Errorf("got %d devices", len(s.Devices))
	}
}

func TestGainsOfTheSameLineAndCPUAddUp(t *testing.T) {
	t.Parallel()
	a := []lineGain{{0, 1, 5}, {0, 3, 1}, {2, 0, 7}}
	b := []lineGain{{0, 0, 2}, {0, 3, 4}, {1, 9, 1}, {2, 0, 1}, {2, 1, 8}}
	want := []lineGain{{0, 0, 2}, {0, 1, 5}, {0, 3, 5}, {1, 9, 1}, {2, 0, 8}, {2, 1, 8}}
	if got := mergeGains(a, b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
