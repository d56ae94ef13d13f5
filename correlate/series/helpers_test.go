package series

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// midnight is second 0 of every test.
var midnight = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

func clock(sec float64) time.Time {
	return midnight.Add(time.Duration(math.Round(sec*1e6)) * time.Microsecond)
}

func instant(sec float64) Micros { return FromTime(clock(sec)) }

func span(from, to float64) Span { return Span{instant(from), instant(to)} }

func newTestBuilder() *Builder { return NewBuilder(domain.WatchLGWR(), domain.Window{}) }

// anyInstance leaves nothing out.
var anyInstance = Choice{InstID: AnyInstID}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reading(sec float64, cpus []int, lines ...domain.InterruptLine) *domain.InterruptSnapshot {
	return &domain.InterruptSnapshot{At: clock(sec), CPUs: cpus, Lines: lines}
}

func network(id, device string, counts ...uint64) domain.InterruptLine {
	return domain.InterruptLine{ID: id, Device: device, Class: domain.ClassNetwork, Counts: counts}
}

func storage(id, device string, counts ...uint64) domain.InterruptLine {
	return domain.InterruptLine{ID: id, Device: device, Class: domain.ClassStorage, Counts: counts}
}

func kernel(id string, counts ...uint64) domain.InterruptLine {
	return domain.InterruptLine{ID: id, Class: domain.ClassKernel, Counts: counts}
}

func interruptSeries(t *testing.T, readings ...*domain.InterruptSnapshot) *Series {
	t.Helper()
	b := newTestBuilder()
	for _, r := range readings {
		must(t, b.Interrupts(r))
	}
	return b.Build(anyInstance)
}

// same compares two values; NaN is NaN. Shares and rates are kept in 32 bits.
func same(got, want float64) bool {
	if math.IsNaN(want) || math.IsNaN(got) {
		return math.IsNaN(want) && math.IsNaN(got)
	}
	return math.Abs(got-want) <= 1e-6*math.Max(1, math.Abs(want))
}

func checkValue(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !same(got, want) {
		t.Errorf("%s: got %g, want %g", what, got, want)
	}
}

func checkMatrix(t *testing.T, what string, m *Matrix, cpus []int, spans []Span, rows [][]float64) {
	t.Helper()
	if !slices.Equal(m.CPUs, cpus) {
		t.Fatalf("%s: columns %v, want %v", what, m.CPUs, cpus)
	}
	if !slices.Equal(m.Spans, spans) {
		t.Fatalf("%s: intervals %v, want %v", what, relative(m.Spans), relative(spans))
	}
	if len(m.V) != len(spans)*len(cpus) {
		t.Fatalf("%s: %d values for %d intervals of %d CPUs", what, len(m.V), len(spans), len(cpus))
	}
	for i, want := range rows {
		for j, got := range m.Row(i) {
			if !same(float64(got), want[j]) {
				t.Errorf("%s: interval %d, CPU %d: got %g, want %g", what, i, cpus[j], got, want[j])
			}
		}
	}
}

// relative gives spans in seconds of the test, to read them.
func relative(spans []Span) [][2]float64 {
	var out [][2]float64
	for _, s := range spans {
		out = append(out, [2]float64{float64(s.From-instant(0)) / 1e6, float64(s.To-instant(0)) / 1e6})
	}
	return out
}

// checkNotes wants each text in some note, and as many notes as texts.
func checkNotes(t *testing.T, notes []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, w) }) {
			t.Errorf("no note says %q: %q", w, notes)
		}
	}
	if len(notes) != len(want) {
		t.Errorf("got notes %q, want %d", notes, len(want))
	}
}
