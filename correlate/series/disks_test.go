package series

import (
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

func diskReading(sec float64, devices ...domain.DiskCounters) *domain.DiskSnapshot {
	return &domain.DiskSnapshot{At: clock(sec), Devices: devices}
}

// Await by hand: milliseconds gained over requests gained.
func TestDiskCountersBecomeAwait(t *testing.T) {
	t.Parallel()
	untimed := diskReading(0, domain.DiskCounters{Device: "sda", Writes: 1, WriteMS: 1})
	untimed.At = time.Time{}
	tests := []struct {
		name     string
		readings []*domain.DiskSnapshot
		want     []DiskPoint
	}{
		{
			name: "writes: 300 ms over 100 writes in 2 s, whatever the reads did",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sda", Reads: 10, ReadMS: 10, Writes: 1000, WriteMS: 5000}),
				diskReading(2, domain.DiskCounters{Device: "sda", Reads: 90, ReadMS: 9000, Writes: 1100, WriteMS: 5300}),
			},
			want: []DiskPoint{{At: instant(2), Device: "sda", AwaitMS: 3, PerS: 50}},
		},
		{
			name: "a device that wrote nothing tells by its reads: 80 ms over 20",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sda", Reads: 10, ReadMS: 10, Writes: 5, WriteMS: 5}),
				diskReading(2, domain.DiskCounters{Device: "sda", Reads: 30, ReadMS: 90, Writes: 5, WriteMS: 5}),
			},
			want: []DiskPoint{{At: instant(2), Device: "sda", AwaitMS: 4, PerS: 10}},
		},
		{
			name: "an idle device has no await",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sda", Reads: 10, Writes: 5}),
				diskReading(2, domain.DiskCounters{Device: "sda", Reads: 10, Writes: 5}),
			},
		},
		{
			name: "counters that fell give no value, the next interval does",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sda", Writes: 1000, WriteMS: 5000}),
				diskReading(1, domain.DiskCounters{Device: "sda", Writes: 10, WriteMS: 20}),
				diskReading(2, domain.DiskCounters{Device: "sda", Writes: 20, WriteMS: 70}),
			},
			want: []DiskPoint{{At: instant(2), Device: "sda", AwaitMS: 5, PerS: 10}},
		},
		{
			name: "one counter that fell is enough to give no value",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sda", Writes: 100, WriteMS: 4294967290}, domain.DiskCounters{Device: "sdb", Writes: 100}, domain.DiskCounters{Device: "sdc", Reads: 9, ReadMS: 9}),
				diskReading(1, domain.DiskCounters{Device: "sda", Writes: 110, WriteMS: 30}, domain.DiskCounters{Device: "sdb", Writes: 10, WriteMS: 9}, domain.DiskCounters{Device: "sdc", Reads: 8, ReadMS: 10, Writes: 1}),
			},
		},
		{
			name: "a device that appears has a value from its second reading on",
			readings: []*domain.DiskSnapshot{
				diskReading(0),
				diskReading(1, domain.DiskCounters{Device: "sdb", Writes: 100, WriteMS: 100}),
				diskReading(2, domain.DiskCounters{Device: "sdb", Writes: 110, WriteMS: 180}),
			},
			want: []DiskPoint{{At: instant(2), Device: "sdb", AwaitMS: 8, PerS: 10}},
		},
		{
			name: "a reading without time is no reading to subtract from",
			readings: []*domain.DiskSnapshot{
				untimed,
				diskReading(1, domain.DiskCounters{Device: "sda", Writes: 100, WriteMS: 100}),
				untimed,
				diskReading(2, domain.DiskCounters{Device: "sda", Writes: 110, WriteMS: 180}),
			},
			want: []DiskPoint{{At: instant(2), Device: "sda", AwaitMS: 8, PerS: 10}},
		},
		{
			name: "readings of two logs that overlap count once, by device and time",
			readings: []*domain.DiskSnapshot{
				diskReading(0, domain.DiskCounters{Device: "sdb", Writes: 0}, domain.DiskCounters{Device: "sda", Writes: 0}),
				diskReading(1, domain.DiskCounters{Device: "sdb", Writes: 1, WriteMS: 7}, domain.DiskCounters{Device: "sda", Writes: 2, WriteMS: 8}),
				diskReading(0, domain.DiskCounters{Device: "sdb", Writes: 0}, domain.DiskCounters{Device: "sda", Writes: 0}),
				diskReading(1, domain.DiskCounters{Device: "sdb", Writes: 1, WriteMS: 7}, domain.DiskCounters{Device: "sda", Writes: 2, WriteMS: 8}),
			},
			want: []DiskPoint{{At: instant(1), Device: "sda", AwaitMS: 4, PerS: 2}, {At: instant(1), Device: "sdb", AwaitMS: 7, PerS: 1}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			for _, r := range tt.readings {
				must(t, b.Disks(r))
			}
			if got := b.Build(anyInstance).Disks; !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestIostatRowsBecomePoints(t *testing.T) {
	t.Parallel()
	row := func(w, writeAwait, r, readAwait float64) domain.DiskSample {
		return domain.DiskSample{At: clock(5), Device: "dm-3", WritesPerS: w, WriteAwaitMS: writeAwait, ReadsPerS: r, ReadAwaitMS: readAwait}
	}
	tests := []struct {
		name string
		row  domain.DiskSample
		want []DiskPoint
	}{
		{"writes come first", row(20, 1.5, 900, 8), []DiskPoint{{instant(5), "dm-3", 1.5, 20}}},
		{"reads tell where nothing was written", row(0, 0, 900, 8), []DiskPoint{{instant(5), "dm-3", 8, 900}}},
		{"reads tell where the await of writes is not printed", row(20, nan, 900, 8), []DiskPoint{{instant(5), "dm-3", 8, 900}}},
		{"an idle device has no await", row(0, 0, 0, 0), nil},
		{"without a time there is no point", domain.DiskSample{Device: "dm-3", WritesPerS: 1, WriteAwaitMS: 1}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			must(t, b.Disk(tt.row))
			if got := b.Build(anyInstance).Disks; !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func vmstatRow(sec, runQueue, swapIn, swapOut float64) domain.SystemSample {
	return domain.SystemSample{
		At: clock(sec), RunQueue: runQueue, Blocked: 1, SwapInPerS: swapIn, SwapOutPerS: swapOut, ContextSwitchesPerS: 500,
		User: 0.2, System: 0.1, Idle: 0.7, Steal: 0,
	}
}

func TestVmstatRowsBecomePoints(t *testing.T) {
	t.Parallel()
	b := newTestBuilder()
	sinceBoot := vmstatRow(0, 99, 99, 99)
	sinceBoot.SinceBoot = true
	must(t, b.System(sinceBoot))
	must(t, b.System(vmstatRow(2, 4, 1, 2)))
	must(t, b.System(vmstatRow(1, 3, 0, 0)))
	must(t, b.System(vmstatRow(2, 4, 1, 2)))
	must(t, b.System(domain.SystemSample{RunQueue: 5}))
	got := b.Build(anyInstance).System
	if len(got) != 2 || got[0].At != instant(1) || got[1].At != instant(2) {
		t.Fatalf("got %+v, want the rows of seconds 1 and 2, without the one since boot", got)
	}
	checkValue(t, "run queue", got[0].RunQueue, 3)
	checkValue(t, "swap in and out", got[1].SwapPerS, 3)
	checkValue(t, "context switches", got[1].ContextSwitchesPerS, 500)
	checkValue(t, "idle", got[1].Idle, 0.7)
}

// /proc/stat knows nothing of swapping and vmstat nothing of what it does not
// print: at the same instant each fills what the other lacks.
func TestVmstatAndProcStatOfTheSameInstantAreOnePoint(t *testing.T) {
	t.Parallel()
	row := vmstatRow(1, 3, 6, 1)
	row.Steal = nan
	all := func(sec float64, user, idle, steal int64) *domain.CPUTimesSnapshot {
		return statReading(sec, domain.CPUTimes{CPU: domain.AllCPUs, User: user, Idle: idle, Steal: steal})
	}
	for _, order := range []string{"vmstat first", "vmstat last"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			b := newTestBuilder()
			if order == "vmstat first" {
				must(t, b.System(row))
			}
			must(t, b.CPUTimes(all(0, 0, 0, 0)))
			must(t, b.CPUTimes(all(1, 20, 70, 10)))
			if order == "vmstat last" {
				must(t, b.System(row))
			}
			got := b.Build(anyInstance).System
			if len(got) != 1 {
				t.Fatalf("got %d points, want 1: %+v", len(got), got)
			}
			checkValue(t, "swap, from vmstat", got[0].SwapPerS, 7)
			checkValue(t, "run queue, from vmstat", got[0].RunQueue, 3)
			checkValue(t, "steal, from /proc/stat", got[0].Steal, 0.1)
			checkValue(t, "user, the same in both", got[0].User, 0.2)
		})
	}
}

// Of two samples of one instant each fills what the other does not know, what only
// an agent tells too.
func TestWhatOnlyOneSampleOfAnInstantTellsIsKept(t *testing.T) {
	t.Parallel()
	printed, told := vmstatRow(1, 3, 0, 0), vmstatRow(1, 4, 0, 0)
	printed.RunQueueMax, printed.TimeSqueeze, printed.PSICPU, printed.PSIIO, printed.PSIMemory = nan, nan, -1, 7, -1
	told.RunQueueMax, told.TimeSqueeze, told.PSICPU, told.PSIIO, told.PSIMemory = 9, 2, time.Millisecond, 5, 0
	for name, c := range map[string]struct {
		samples []domain.SystemSample
		io      time.Duration
	}{
		"vmstat first": {[]domain.SystemSample{printed, told}, 7},
		"vmstat last":  {[]domain.SystemSample{told, printed}, 5},
	} {
		merged := mergeSystem(c.samples)
		if len(merged) != 1 {
			t.Fatalf("%s: %d samples", name, len(merged))
		}
		m := merged[0]
		if m.RunQueueMax != 9 || m.TimeSqueeze != 2 || m.PSICPU != time.Millisecond || m.PSIIO != c.io || m.PSIMemory != 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
