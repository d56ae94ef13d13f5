package series

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

func placed(sec float64, command string, tid, cpu int) domain.Placement {
	return domain.Placement{
		At: clock(sec), PID: 100, TID: tid, Command: command, CPU: cpu, State: 'S', CPUShare: 0.25, WaitShare: 0.5,
		Exec: 3 * time.Millisecond, RunDelay: 2 * time.Millisecond, Uncertainty: time.Second,
	}
}

func TestPlacementIsOrderedAndWithoutDoubles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		secs []float64
		want []float64
	}{
		{"in order", []float64{0, 1, 2}, []float64{0, 1, 2}},
		{"the later file first", []float64{5, 6, 0, 1}, []float64{0, 1, 5, 6}},
		{"the same recording in two files", []float64{0, 1, 2, 0, 1, 2}, []float64{0, 1, 2}},
		{"recordings that overlap", []float64{0, 1, 2, 1, 2, 3}, []float64{0, 1, 2, 3}},
		{"a row printed twice", []float64{0, 1, 1, 2}, []float64{0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, sec := range tt.secs {
				must(t, b.Placement(placed(sec, "ora_lgwr_ORDP1", 7, int(10+sec))))
			}
			s := b.Build(anyInstance)
			if len(s.Threads) != 1 {
				t.Fatalf("got %d threads, want 1", len(s.Threads))
			}
			want := Thread{TID: 7, Command: "ora_lgwr_ORDP1", Uncertainty: Second}
			for _, sec := range tt.want {
				want.At, want.CPU = append(want.At, instant(sec)), append(want.CPU, int32(10+sec))
				want.CPUShare, want.WaitShare = append(want.CPUShare, 0.25), append(want.WaitShare, 0.5)
				want.State = append(want.State, 'S')
				want.Exec, want.RunDelay = append(want.Exec, 3_000_000), append(want.RunDelay, 2_000_000)
			}
			if !reflect.DeepEqual(s.Threads[0], want) {
				t.Errorf("got  %+v\nwant %+v", s.Threads[0], want)
			}
		})
	}
}

func TestThreadsOfTheWatchOnly(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	must(t, b.Placement(placed(0, "ora_lgwr_ORDP1", 7, 1)))
	must(t, b.Placement(placed(0, "ora_lg00_ORDP1", 8, 2)))
	must(t, b.Placement(placed(0, "ora_lgwr_TEST1", 9, 3)))
	must(t, b.Placement(placed(0, "asm_lgwr_+ASM1", 10, 4)))
	must(t, b.Placement(placed(0, "ora_dbw0_ORDP1", 11, 5)))
	must(t, b.Placement(placed(0, "ora_lgwr_ORDP1", 12, -1))) // CPU not known
	must(t, b.Placement(domain.Placement{Command: "ora_lgwr_ORDP1", TID: 13, CPU: 1}))
	tests := []struct {
		instance string
		tids     []int
		workers  int
	}{
		{"", []int{8, 7, 9}, 1}, // by command
		{"ORDP1", []int{8, 7}, 1},
		{"ordp1", []int{8, 7}, 1},
		{"TEST1", []int{9}, 0},
		{"OTHER", nil, 0},
	}
	for _, tt := range tests {
		s := b.Build(Choice{Instance: tt.instance, InstID: AnyInstID})
		var tids []int
		workers := 0
		for i := range s.Threads {
			tids = append(tids, s.Threads[i].TID)
			if s.Threads[i].Worker {
				workers++
			}
		}
		if !slices.Equal(tids, tt.tids) || workers != tt.workers {
			t.Errorf("instance %q: got threads %v with %d workers, want %v with %d", tt.instance, tids, workers, tt.tids, tt.workers)
		}
	}
}

func TestUncertaintyOfAThreadIsItsGreatest(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	exact := placed(0, "ora_lgwr_ORDP1", 7, 1)
	exact.Uncertainty = 0
	must(t, b.Placement(exact))
	if got := b.Build(anyInstance).Threads[0].Uncertainty; got != 0 {
		t.Errorf("exact times: got %d us, want 0", got)
	}
	must(t, b.Placement(placed(1, "ora_lgwr_ORDP1", 7, 1)))
	exact.At = clock(2)
	must(t, b.Placement(exact))
	if got := b.Build(anyInstance).Threads[0].Uncertainty; got != Second {
		t.Errorf("with a row of a whole second: got %d us, want %d", got, Second)
	}
}

// Medians by hand.
func TestPeriodIsTheUsualDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   []Micros
		want Micros
	}{
		{"no samples", nil, 0},
		{"one sample", []Micros{5}, 0},
		{"two samples", []Micros{5, 12}, 7},
		{"a gap does not count", []Micros{0, 10, 20, 30, 5000, 5010}, 10},
	} {
		if got := (&Thread{At: tt.at}).Period(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTopologyIsMergedFromFragments(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	must(t, b.Topology(domain.Topology{CPUs: []domain.CPU{{ID: 1, Socket: -1, Core: -1, Node: 1, Online: true}, {ID: 0, Socket: -1, Core: -1, Node: 0, Online: true}}, Interconnects: []string{"bond1"}}))
	must(t, b.Topology(domain.Topology{CPUs: []domain.CPU{{ID: 0, Socket: 0, Core: 0, Node: -1}, {ID: 2, Socket: 1, Core: 4, Node: -1}}, Interconnects: []string{"bond1", "bond2"}}))
	accounted := true
	must(t, b.Topology(domain.Topology{Affinity: map[int][]int{60: {2}, 61: {3}}, Fixed: []int{61, 60, 9}, Kernel: "5.15.0-304.el8uek", InterruptTimeAccounted: &accounted}))
	must(t, b.Topology(domain.Topology{Affinity: map[int][]int{60: {4}}}))
	must(t, b.Topology(domain.Topology{Bonds: []domain.Bond{{Name: "bond1", Mode: "active-backup", Slaves: []string{"eth2", "eth3"}}}, Ports: []domain.Port{{Name: "eth3"}, {Name: "eth2", Node: 1}}}))
	got := b.Build(anyInstance)
	want := domain.Topology{
		CPUs:          []domain.CPU{{ID: 0, Socket: 0, Core: 0, Node: 0, Online: true}, {ID: 1, Socket: -1, Core: -1, Node: 1, Online: true}, {ID: 2, Socket: 1, Core: 4, Node: -1}},
		Bonds:         []domain.Bond{{Name: "bond1", Mode: "active-backup", Slaves: []string{"eth2", "eth3"}}},
		Ports:         []domain.Port{{Name: "eth2", Node: 1}, {Name: "eth3"}},
		Interconnects: []string{"bond1", "bond2"},
		Affinity:      map[int][]int{60: {4}, 61: {3}}, Fixed: []int{9, 61},
		Kernel: "5.15.0-304.el8uek", InterruptTimeAccounted: &accounted,
	}
	if !reflect.DeepEqual(got.Topology, want) {
		t.Errorf("got  %+v\nwant %+v", got.Topology, want)
	}
	if want := []int{0, 1}; !slices.Equal(got.Online, want) {
		t.Errorf("online without readings: got %v, want %v", got.Online, want)
	}
}
