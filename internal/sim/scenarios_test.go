package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
)

// tally is a sink that counts what the tests ask for, and keeps nothing else.
type tally struct {
	records    int
	placements []domain.Placement
	stalls     map[int64]bool // seconds at which a long commit wait was seen
}

func (t *tally) Interrupts(*domain.InterruptSnapshot) error { t.records++; return nil }
func (t *tally) Softirqs(*domain.SoftirqSnapshot) error     { t.records++; return nil }
func (t *tally) CPUTimes(*domain.CPUTimesSnapshot) error    { t.records++; return nil }
func (t *tally) Disks(*domain.DiskSnapshot) error           { t.records++; return nil }
func (t *tally) Topology(domain.Topology) error             { t.records++; return nil }
func (t *tally) CPU(domain.CPUSample) error                 { t.records++; return nil }
func (t *tally) System(domain.SystemSample) error           { t.records++; return nil }
func (t *tally) Disk(domain.DiskSample) error               { t.records++; return nil }
func (t *tally) Histogram(*domain.HistogramSnapshot) error  { t.records++; return nil }
func (t *tally) SystemEvent(domain.SystemEvent) error       { t.records++; return nil }
func (t *tally) Counter(domain.Counter) error               { t.records++; return nil }
func (t *tally) Instance(domain.Instance) error             { t.records++; return nil }

func (t *tally) Placement(p domain.Placement) error {
	t.records++
	if p.Command == "ora_lgwr_ORDP1" {
		t.placements = append(t.placements, p)
	}
	return nil
}

func (t *tally) Wait(w domain.Wait) error {
	t.records++
	if w.InstID == 1 && w.Event == domain.EventLogFileSync && w.TimeWaited.Milliseconds() >= 100 {
		if t.stalls == nil {
			t.stalls = map[int64]bool{}
		}
		t.stalls[w.At.Unix()] = true
	}
	return nil
}

// hand counts, as one would by hand, the seconds with and without a stall that
// LGWR spent on heavy CPUs and elsewhere.
func (t *tally) hand(heavy []int) (exposed, exposedStalls, other, otherStalls float64) {
	set := map[int]bool{}
	for _, cpu := range heavy {
		set[cpu] = true
	}
	for _, p := range t.placements {
		stalled := t.stalls[p.At.Unix()]
		switch {
		case set[p.CPU] && stalled:
			exposed, exposedStalls = exposed+1, exposedStalls+1
		case set[p.CPU]:
			exposed++
		case stalled:
			other, otherStalls = other+1, otherStalls+1
		default:
			other++
		}
	}
	return exposed, exposedStalls, other, otherStalls
}

func generate(t *testing.T, n Named) (*tally, refcase.Truth) {
	t.Helper()
	sink := &tally{}
	truth, err := n.Scenario.Generate(sink)
	if err != nil {
		t.Fatalf("%s: %v", n.Name, err)
	}
	return sink, truth
}

func TestTheListIsTheSameForTheSameSeedAndGrowsAtItsEnd(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Scenarios(60, 3)[:40], Scenarios(40, 3)); diff != "" {
		t.Errorf("a shorter list is not the beginning of a longer one: %s", diff)
	}
	if cmp.Equal(Scenarios(40, 3), Scenarios(40, 4)) {
		t.Error("another seed gives the same list")
	}
	for _, n := range []int{0, -1} {
		if got := len(Scenarios(n, 3)); got != 0 {
			t.Errorf("%d scenarios for n = %d", got, n)
		}
	}
}

func TestEveryKindHappensAndHalfOfAllAreInnocent(t *testing.T) {
	t.Parallel()
	n := 2 * max(len(innocent()), len(guilty()))
	kinds, names := map[string]bool{}, map[string]bool{}
	nulls := 0
	for _, sc := range Scenarios(n, 9) {
		sink, truth := generate(t, sc)
		kinds[sc.Kind], names[sc.Name] = true, true
		if truth.Null {
			nulls++
		}
		if !strings.HasPrefix(sc.Name, sc.Kind+"/") || sink.records < 1000 || len(truth.HeavyCPUs) == 0 || len(truth.Accept) == 0 || truth.Stalls == 0 {
			t.Errorf("%s: %d records, truth %+v", sc.Name, sink.records, truth)
		}
		for _, kind := range guilty() {
			if kind.name == sc.Kind && truth.Null {
				t.Errorf("%s is innocent, want guilty", sc.Name)
			}
		}
	}
	if want := len(innocent()) + len(guilty()); len(kinds) != want || len(names) != n {
		t.Errorf("%d kinds and %d names, want %d and %d", len(kinds), len(names), want, n)
	}
	if nulls != n/2 {
		t.Errorf("%d of %d are innocent, want half", nulls, n)
	}
}

// pooled is the relative risk of a stall on heavy CPUs, counted by hand over
// many scenarios of a kind and joined after Mantel and Haenszel with each
// scenario as a stratum.
func pooled(t *testing.T, name string) (risk float64, stalls int) {
	t.Helper()
	above, below := 0.0, 0.0
	for _, sc := range Scenarios(700, 21) {
		if sc.Kind != name {
			continue
		}
		sink, truth := generate(t, sc)
		exposed, exposedStalls, other, otherStalls := sink.hand(truth.HeavyCPUs)
		all := exposed + other
		above += exposedStalls * other / all
		below += otherStalls * exposed / all
		stalls += int(exposedStalls + otherStalls)
	}
	return above / below, stalls
}

func TestCountingByHandIsFooledWhereItShouldBe(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind      string
		low, high float64
	}{
		{"none", 0.8, 1.25},
		{"interrupts-follow-lgwr", 0.8, 1.25},
		{"confounded", 1.25, 5},
		{"half-socket-heavy", 1.5, 6},
		{"interrupts", 4, math.Inf(1)},
		{"inflated-redo-write", 4, math.Inf(1)},
		{"placement-follows-load", 4, math.Inf(1)},
	}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			risk, stalls := pooled(t, c.kind)
			if stalls < 200 || risk < c.low || risk > c.high {
				t.Errorf("relative risk %.2f over %d stalls, want %.2f to %.2f", risk, stalls, c.low, c.high)
			}
		})
	}
}

func BenchmarkScenarios(b *testing.B) {
	list := Scenarios(76, 5)
	hours := 0.0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sc := list[i%len(list)].Scenario
		if _, err := sc.Generate(&tally{}); err != nil {
			b.Fatal(err)
		}
		hours += sc.Hours
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/hours, "ms/hour")
}
