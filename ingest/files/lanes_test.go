package files

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// The kinds of each part are counted by eye from the list of sources.
func TestOnlyAnArchiveMakesLanesWaitForOneAnother(t *testing.T) {
	t.Parallel()
	of := func(kind Kind, file int) *source { return &source{Source: Source{Kind: kind}, file: file} }
	for name, tt := range map[string]struct {
		sources []*source
		want    [][]Kind
	}{
		"nothing": {nil, nil},
		"single files are read at the same time": {
			[]*source{of(KindInterrupts, 0), of(KindPidstat, 1), of(KindMpstat, 2), of(KindASH, 3), of(KindSysstat, 4), of(KindVmstat, 5)},
			[][]Kind{{KindInterrupts}, {KindPidstat}, {KindMpstat, KindVmstat}, {KindASH, KindSysstat}},
		},
		"files under /proc are one lane, for one log may hold several, and with them the topology": {
			[]*source{of(KindLscpu, 0), of(KindInterrupts, 1), of(KindStat, 2), of(KindBonding, 3), of(KindSoftirqs, 4), of(KindDiskstats, 5)},
			[][]Kind{{KindLscpu, KindInterrupts, KindStat, KindBonding, KindSoftirqs, KindDiskstats}},
		},
		"what an archive holds is read by one": {
			[]*source{of(KindPidstat, 0), of(KindInterrupts, 0), of(KindASH, 1), of(KindPidstat, 2)},
			[][]Kind{{KindPidstat, KindInterrupts, KindPidstat}, {KindASH}},
		},
		"two archives that share a lane are one": {
			[]*source{of(KindPidstat, 0), of(KindASH, 0), of(KindInterrupts, 1), of(KindSysstat, 1), of(KindMpstat, 2)},
			[][]Kind{{KindPidstat, KindASH, KindInterrupts, KindSysstat}, {KindMpstat}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [][]Kind
			for _, p := range partLanes(tt.sources) {
				var kinds []Kind
				for _, src := range p.sources {
					kinds = append(kinds, src.Kind)
				}
				got = append(got, kinds)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// manyLanes is a node whose files are of all lanes, packed and not; each sends
// records numbers.
func manyLanes(t *testing.T, records int) *Set {
	t.Helper()
	files := map[string]string{}
	for i, kind := range []Kind{KindInterrupts, KindPidstat, KindVmstat, KindASH, KindSysstat} {
		for hour := range 3 {
			from := 1_000_000*i + 100_000*hour
			text := toy(at(kind, hour)+" host=db1", seq(from, records)...)
			if hour == 1 {
				text = gzipped(t, text)
			}
			files[fmt.Sprintf("%s.%d", kind, 9-hour)] = text
		}
	}
	return scanTree(t, tree(t, files), Limits{})
}

func seq(from, n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = from + i
	}
	return s
}

// Numbers of one lane ascend in the order of files and of lines; the kinds sent
// are told by their millions.
func TestEachLaneComesInItsOrderAndTheSinkIsCalledOnceAtATime(t *testing.T) {
	t.Parallel()
	const records = 2000
	s := manyLanes(t, records)
	var inside atomic.Int32
	sink := &numbers{each: func() error {
		if inside.Add(1) != 1 {
			t.Error("called while it was being called")
		}
		runtime.Gosched()
		inside.Add(-1)
		return nil
	}}
	report, err := s.Read(t.Context(), "db1", Zones{}, sink, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Inputs) != 15 || len(sink.got) != 15*records {
		t.Fatalf("%d files, %d records", len(report.Inputs), len(sink.got))
	}
	last := map[int64]int64{}
	for _, n := range sink.got {
		if kind := n / 1_000_000; n < last[kind] {
			t.Fatalf("%d after %d", n, last[kind])
		} else {
			last[kind] = n
		}
	}
}

func TestProblemsAndWarningsComeInOneOrder(t *testing.T) {
	t.Parallel()
	s := scanTree(t, tree(t, map[string]string{
		"b": toy(at(KindPidstat, 8)) + "unreadable from here\n", "a": toy(at(KindASH, 9)) + "x\n", "c": toy(at(KindVmstat, 7)) + "unreadable from here\n",
		"d": toy(at(KindInterrupts, 10)) + "unreadable from here\n",
	}), Limits{})
	for range 20 {
		_, report := readNode(t, s, "")
		var order strings.Builder
		for _, p := range append(report.Problems, report.Warnings...) {
			order.WriteString(strings.SplitN(p[strings.LastIndexByte(p, '/')+1:], ":", 2)[0])
		}
		if order.String() != "cbadcbd" { // by first time; a has a problem only
			t.Fatalf("order %s", order.String())
		}
	}
}

// A log of /proc may tell of CPU time as mpstat does.
func TestCPUTimesOfProcComeAfterThoseOfTools(t *testing.T) {
	t.Parallel()
	var mpstat strings.Builder
	mpstat.WriteString("Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(1 CPU)\n\n11:40:00+0000  CPU    %usr   %idle\n")
	for i := range 3000 {
		fmt.Fprintf(&mpstat, "%02d:%02d:%02d+0000  all    5.00    95.00\n", 11+i/3600, 40+i/60%10, i%60)
	}
	dir := tree(t, map[string]string{
		"a.log":      "2026-11-30T10:00:00Z\n" + seedInterrupts + seedStat + seedDisks + "2026-11-30T10:00:05Z\n" + seedInterrupts + seedStat + seedDisks,
		"mpstat.txt": mpstat.String(),
	})
	s, err := Scan(t.Context(), []string{dir}, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	zones, _, _ := s.ResolveZones("db1", nil, nil)
	for range 20 {
		order := &orderSink{}
		if _, err := s.Read(t.Context(), "db1", zones, order, nil); err != nil {
			t.Fatal(err)
		}
		if order.tools != 3000 || order.proc != 4 || order.mixed {
			t.Fatalf("%d rows of mpstat, %d readings of /proc, out of order: %v", order.tools, order.proc, order.mixed)
		}
	}
}

// orderSink watches that no row of a tool comes after a reading of /proc.
type orderSink struct {
	nothing

	tools, proc int
	mixed       bool
}

func (o *orderSink) CPU(domain.CPUSample) error {
	o.tools++
	o.mixed = o.mixed || o.proc > 0
	return nil
}
func (o *orderSink) CPUTimes(*domain.CPUTimesSnapshot) error { o.proc++; return nil }
func (o *orderSink) Disks(*domain.DiskSnapshot) error        { o.proc++; return nil }

func TestTheFirstErrorOfTheSinkEndsAllLanes(t *testing.T) {
	t.Parallel()
	s := manyLanes(t, 5000)
	full := errors.New("full")
	failed := false
	sink := &numbers{}
	sink.each = func() error {
		if failed {
			t.Error("called again after its error")
		}
		failed = len(sink.got) == 100
		if failed {
			return full
		}
		return nil
	}
	_, err := s.Read(t.Context(), "db1", Zones{}, sink, nil)
	if !errors.Is(err, full) || strings.Contains(err.Error(), errFailedElsewhere.Error()) {
		t.Errorf("error %v, want that of the sink", err)
	}
}

// It is not parallel: it counts goroutines.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	s := manyLanes(t, 20_000)
	full := errors.New("full")
	for name, each := range map[string]func(n int, cancel context.CancelFunc) error{
		"read whole": func(int, context.CancelFunc) error { return nil },
		"cancelled": func(n int, cancel context.CancelFunc) error {
			if n == 1000 {
				cancel()
			}
			return nil
		},
		"refused": func(n int, _ context.CancelFunc) error {
			if n == 1000 {
				return full
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			sink := &numbers{}
			sink.each = func() error { return each(len(sink.got), cancel) }
			_, err := s.Read(ctx, "db1", Zones{}, sink, nil)
			if (err == nil) != (name == "read whole") {
				t.Errorf("error %v", err)
			}
			// Read waits for its goroutines; one that has signalled may still
			// be on its way out.
			for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
				}
			}
		})
	}
}

var _ ingest.Sink = (*laneSink)(nil)
