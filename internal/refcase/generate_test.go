package refcase

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
)

func TestSameScenarioWritesTheSameBytes(t *testing.T) {
	t.Parallel()
	s := small()
	s.Stalls.Cause, s.Stalls.Count, s.SecondInstance = domain.CauseInterrupts, 40, "TST2"
	first, firstTruth := writeFiles(t, s)
	second, secondTruth := writeFiles(t, s)
	s.Seed++
	other, _ := writeFiles(t, s)
	if diff := cmp.Diff(firstTruth, secondTruth); diff != "" {
		t.Errorf("truth differs: %s", diff)
	}
	for _, name := range []string{
		fileInterrupts, filePidstat, fileMpstat, fileVmstat, fileIostat, fileLscpu, fileLscpuList, fileASH, fileSysstat, fileHistogram, fileInstance, "bond1",
	} {
		a, b, c := fileOf(t, first, name), fileOf(t, second, name), fileOf(t, other, name)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two runs", name)
		}
		constant := slices.Contains([]string{fileLscpu, fileLscpuList, fileInstance, "bond1"}, name)
		if bytes.Equal(a, c) != constant {
			t.Errorf("%s: same with another seed %v, want %v", name, !constant, constant)
		}
	}
}

func fileOf(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return text
}

func TestRecordsOfAKindComeInTimeOrderAndWithinTheWindow(t *testing.T) {
	t.Parallel()
	s := small()
	s.SecondInstance, s.Stalls.Cause, s.Stalls.Count = "TST2", domain.CauseInterrupts, 40
	r, _ := record(t, s)
	times := map[string][]time.Time{}
	for _, x := range r.interrupts {
		times["interrupts"] = append(times["interrupts"], x.At)
	}
	for _, x := range r.cpus {
		times["cpus"] = append(times["cpus"], x.At)
	}
	for _, x := range r.system {
		times["system"] = append(times["system"], x.At)
	}
	for _, x := range r.disks {
		times["disks"] = append(times["disks"], x.At)
	}
	for _, x := range r.placements {
		times["placements"] = append(times["placements"], x.At)
	}
	for _, x := range r.waits {
		times["waits"] = append(times["waits"], x.At)
	}
	for _, x := range r.histograms {
		times["histograms"] = append(times["histograms"], x.At)
	}
	for _, x := range r.counters {
		times["counters"] = append(times["counters"], x.At)
	}
	if len(times) != 8 {
		t.Fatalf("%d kinds of records, want 8", len(times))
	}
	from, to := s.Start, s.Start.Add(15*time.Minute+time.Second)
	for kind, at := range times {
		if !slices.IsSortedFunc(at, time.Time.Compare) {
			t.Errorf("%s are not in time order", kind)
		}
		if at[0].Before(from) || at[len(at)-1].After(to) {
			t.Errorf("%s from %s to %s, want within %s and %s", kind, at[0], at[len(at)-1], from, to)
		}
	}
}

func TestASessionIsInASampleOnce(t *testing.T) {
	t.Parallel()
	s := small()
	s.SecondInstance, s.Stalls.Cause, s.Stalls.Count, s.Stalls.SessionOnly = "TST2", domain.CauseStorage, 60, 200
	r, _ := record(t, s)
	type key struct {
		instance    int
		sample      int64
		session, no int
	}
	seen := map[key]bool{}
	for i := range r.waits {
		w := &r.waits[i]
		k := key{w.InstID, w.SampleID, w.SessionID, w.Serial}
		if seen[k] {
			t.Fatalf("%+v twice", k)
		}
		seen[k] = true
	}
	if len(seen) < 2000 { // two instances, 900 samples, some seven rows each
		t.Errorf("%d rows, want thousands", len(seen))
	}
}

// A wait of length TW is met by samples a second apart with a chance of TW, so
// stalls spread evenly on a logarithmic scale from 0.15 to 0.5 s, whose mean is
// 0.35/ln(0.5/0.15) = 0.291 s, are met at 29 % of their number.
func TestSamplesMeetStallsByTheirLength(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours, s.Stalls.Count, s.Records.ASH = 4, 2000, ASHFiltered
	_, truth := record(t, s)
	want := 0.291 * float64(truth.Stalls)
	if deviation := math.Sqrt(want * (1 - 0.291)); math.Abs(float64(truth.StallTicks)-want) > 4*deviation {
		t.Errorf("%d of %d stalls met, want about %.0f", truth.StallTicks, truth.Stalls, want)
	}
	// 2000 in 14,400 s, less the time within stalls, during which none begins:
	// 14,400/(7.2+0.291) = 1922.
	if math.Abs(float64(truth.Stalls)-1922) > 4*math.Sqrt(1922) {
		t.Errorf("%d stalls, want about 1922", truth.Stalls)
	}
}

func TestFilteredASHKeepsLongRowsOnly(t *testing.T) {
	t.Parallel()
	s := small()
	s.Records.ASH, s.Stalls.Count = ASHFiltered, 60
	r, truth := record(t, s)
	if len(r.waits) == 0 {
		t.Fatal("no rows")
	}
	for i := range r.waits {
		if r.waits[i].TimeWaited < 100*time.Millisecond {
			t.Fatalf("row of %s kept", r.waits[i].TimeWaited)
		}
	}
	full := s
	full.Records.ASH = ASHFull
	if _, all := record(t, full); all.StallTicks != truth.StallTicks {
		t.Errorf("%d samples with a stall in the filtered spool, %d in the full one", truth.StallTicks, all.StallTicks)
	}
}

// A wait of 2.5 s or so spans two or three samples: the last one carries its
// time, the others 0.
func TestOnlyTheLastSampleOfAWaitCarriesItsTime(t *testing.T) {
	t.Parallel()
	s := small()
	s.Stalls.Count, s.Stalls.Min, s.Stalls.Max = 20, 2400*time.Millisecond, 2600*time.Millisecond
	r, _ := record(t, s)
	zero, timed := 0, 0
	for i := range r.waits {
		w := &r.waits[i]
		if !w.Waiting || w.Event != domain.EventLogFileSync {
			continue
		}
		switch {
		case w.TimeWaited == 0:
			zero++
		case w.TimeWaited > time.Second:
			timed++
		}
	}
	if ratio := float64(zero) / float64(timed); ratio < 1.2 || ratio > 1.8 { // 2.5 samples a wait, less the last
		t.Errorf("%d rows without time to %d with, want 1.5 to 1", zero, timed)
	}
}

func TestTruthSaysWhatWasMade(t *testing.T) {
	t.Parallel()
	not := []string{domain.Undetermined, domain.InsufficientData}
	cases := []struct {
		name   string
		change func(*Scenario)
		want   Truth
	}{
		{"interrupts are guilty", func(s *Scenario) { s.Stalls.Cause = domain.CauseInterrupts }, Truth{Cause: domain.CauseInterrupts, Accept: []string{domain.CauseInterrupts}}},
		{"interrupts are guilty but LGWR moves on within the second", func(s *Scenario) {
			s.Stalls.Cause, s.LGWR.Dwell = domain.CauseInterrupts, 200*time.Millisecond
		}, Truth{Cause: domain.CauseInterrupts, Accept: append([]string{domain.CauseInterrupts}, not...)}},
		{"interrupts are guilty of too few stalls", func(s *Scenario) {
			s.Stalls.Cause, s.Stalls.Count = domain.CauseInterrupts, 6
		}, Truth{Cause: domain.CauseInterrupts, Accept: append([]string{domain.CauseInterrupts}, not...)}},
		{"storage is", func(s *Scenario) { s.Stalls.Cause = domain.CauseStorage }, Truth{Cause: domain.CauseStorage, Accept: []string{domain.CauseStorage}, Null: true}},
		{"both are", func(s *Scenario) {
			s.Stalls.Cause, s.Stalls.OtherCause = domain.CauseInterrupts, domain.CauseStorage
		}, Truth{Cause: CauseMixed, Accept: []string{domain.Undetermined}}},
		{"the socket is", func(s *Scenario) { s.Stalls.Cause = domain.CauseCPULocation }, Truth{Cause: domain.CauseCPULocation, Accept: []string{domain.CauseCPULocation, domain.Undetermined}, Null: true}},
		{"nothing is", func(*Scenario) {}, Truth{Cause: CauseNone, Accept: append([]string{CauseNone}, not...), Null: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Hours, s.Stalls.Count = 1, 150
			c.change(&s)
			_, truth := record(t, s)
			c.want.HeavyCPUs = []int{4, 5, 6, 7, 12, 13, 14, 15}
			ignore := cmpopts.IgnoreFields(Truth{}, "Stalls", "StallTicks", "ExposedShare")
			if diff := cmp.Diff(c.want, truth, ignore); diff != "" {
				t.Errorf("truth (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScenariosThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Scenario){
		"no node":                    func(s *Scenario) { s.Node = "" },
		"no start":                   func(s *Scenario) { s.Start = time.Time{} },
		"no time":                    func(s *Scenario) { s.Hours = 0 },
		"hours that are no number":   func(s *Scenario) { s.Hours = math.NaN() },
		"a year":                     func(s *Scenario) { s.Hours = 8760 },
		"no sockets":                 func(s *Scenario) { s.Machine.Sockets = 0 },
		"four threads a core":        func(s *Scenario) { s.Machine.ThreadsPerCore = 4 },
		"a million CPUs":             func(s *Scenario) { s.Machine.CoresPerSocket = 1 << 20 },
		"a socket that is not there": func(s *Scenario) { s.Interconnect.Socket = 2 },
		"no dwell":                   func(s *Scenario) { s.LGWR.Dwell = 0 },
		"a thousand workers":         func(s *Scenario) { s.LGWR.IdleWorkers = 1000 },
		"stalls without length":      func(s *Scenario) { s.Stalls.Min = 0 },
		"no waiters":                 func(s *Scenario) { s.Stalls.WaitersMin = 0 },
		"an unknown cause":           func(s *Scenario) { s.Stalls.Cause = "sunspots" },
		"an unknown other cause":     func(s *Scenario) { s.Stalls.OtherCause = "sunspots" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			change(&s)
			if _, err := s.Generate(&recorder{}); err == nil {
				t.Error("generated, want an error")
			}
			if _, err := NewFileWriter(t.TempDir(), s); err == nil {
				t.Error("a writer was made, want an error")
			}
		})
	}
}

// full is a sink that takes so many waits and no more.
type full struct {
	recorder
	room int
}

var errFull = errors.New("no room")

func (f *full) Wait(domain.Wait) error {
	if f.room--; f.room < 0 {
		return errFull
	}
	return nil
}

func TestASinkThatRefusesEndsTheGeneration(t *testing.T) {
	t.Parallel()
	f := &full{room: 10}
	if _, err := small().Generate(f); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the sink", err)
	}
	if f.room != -1 {
		t.Errorf("%d more rows came after the refusal", -1-f.room)
	}
}

func BenchmarkReferenceHour(b *testing.B) {
	b.ReportAllocs()
	s := Reference()
	for b.Loop() {
		if _, err := s.Generate(&discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

// discard is a sink that keeps nothing.
type discard struct{ recorder }

func (*discard) Interrupts(*domain.InterruptSnapshot) error { return nil }
func (*discard) CPU(domain.CPUSample) error                 { return nil }
func (*discard) System(domain.SystemSample) error           { return nil }
func (*discard) Disk(domain.DiskSample) error               { return nil }
func (*discard) Placement(domain.Placement) error           { return nil }
func (*discard) Wait(domain.Wait) error                     { return nil }
func (*discard) Histogram(*domain.HistogramSnapshot) error  { return nil }
func (*discard) Counter(domain.Counter) error               { return nil }
