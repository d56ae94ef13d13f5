package batches_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/batches"
	"github.com/corewait/corewait/store"
)

// recorder keeps what it is given, events and topologies included.
type recorder struct{ kept }

// from is a topology and its instant.
type from struct {
	at time.Time
	t  domain.Topology
}

func (r *recorder) TopologyFrom(at time.Time, t domain.Topology) error { return r.keep(from{at, t}) }
func (r *recorder) NodeEvent(e domain.NodeEvent) error                 { return r.keep(e) }

// second is a second of CLOCK_BOOTTIME; the boot of these tests was at 2026-01-02
// 12:00 UTC.
const second = 1_000_000

var boot = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sound gives a batch that is right, to which tests do harm.
func sound() *corewaitv1.Batch {
	return &corewaitv1.Batch{
		SpoolId: []byte("0123456789abcdef"), Sequence: 1, BootId: "boot", Clock: []*corewaitv1.ClockReading{{BoottimeUs: 0, UtcUs: boot.UnixMicro()}},
		Lines:      []*corewaitv1.InterruptLine{{Irq: "120", Device: "ens3f0", Class: corewaitv1.InterruptLine_CLASS_NETWORK}, {Irq: "9", Class: 77}},
		Interrupts: []*corewaitv1.InterruptSample{{FromUs: 1 * second, ToUs: 2 * second, Cpus: []uint32{0, 2}, Counts: []int64{7, -9}}},
		Devices: []*corewaitv1.DeviceSample{{
			FromUs: 1 * second, ToUs: 2 * second, ObservedUs: second, Line: []uint32{0, 1}, Cpu: []uint32{0, 2}, Counts: []uint64{7, 8},
		}},
		Softirqs: []*corewaitv1.SoftirqSample{{FromUs: 1 * second, ToUs: 2 * second, Name: "NET_RX", Counts: []int64{1, 2}, MaxPerS: []int64{3, -1}}},
		Cpu: []*corewaitv1.CPUSample{{
			FromUs: 1 * second, ToUs: 2 * second, User: []int32{10_000, -1}, IrqSoftirqMax: []int32{1, 2}, StealMax: []int32{3, 4}, BusyMax: []int32{5, -1},
			Host: &corewaitv1.HostShares{Idle: new(uint32(500_000))},
		}},
		System:    []*corewaitv1.SystemSample{{FromUs: 1 * second, ToUs: 2 * second, RunQueue: new(1.5), PsiIoUs: new(uint64(20))}},
		Disks:     []*corewaitv1.DiskSample{{FromUs: 1 * second, ToUs: 2 * second, Device: "dm-0", QueueSize: new(0.5)}},
		Placement: []*corewaitv1.PlacementRun{{Command: "ora_lgwr_A", Pid: 5, Tid: 6, FirstUs: second, AfterUs: []uint64{0, 50_000}, Cpu: []uint32{1, 2}, ExecUs: []int64{3, 4}}},
		Topology: []*corewaitv1.Topology{{
			FromUs: 1 * second, Cpus: []*corewaitv1.Topology_CPU{{Id: 0}, {Id: 1, Socket: new(uint32(0)), Offline: true}},
			Ports: []*corewaitv1.Topology_Port{{Name: "ens3f0"}}, Bonds: []*corewaitv1.Topology_Bond{{Name: "bond1"}},
			Affinity: []*corewaitv1.Topology_Affinity{{Irq: 121, Fixed: true}, {Irq: 120, Cpus: []uint32{0}, Fixed: true}},
		}},
		BondEvents: []*corewaitv1.BondEvent{{AtUs: 1 * second, Bond: "bond1", ToSlave: "ens3f0"}},
		Gaps:       []*corewaitv1.Gap{{Source: "interrupts", Reason: "missed-tick", FromUs: second, ToUs: 2 * second, Events: 2}},
		Watched: []*corewaitv1.Watched{
			{FromUs: 1 * second, Command: "ora_lgwr_A", Pid: 5, Instance: "A"}, {FromUs: 2 * second, Command: "asm_lgwr_+ASM", Pid: 9, Ended: true},
		},
	}
}

func clockOf(t testing.TB, b *corewaitv1.Batch) api.Clock {
	t.Helper()
	clock, err := api.NewClock(b.GetClock())
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

// Expected records are read by eye from sound.
func TestMessagesBecomeRecords(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	at := func(s float64) time.Time { return boot.Add(time.Duration(s * 1e9)) }
	cpu := func(id int, user, idle float64, p *domain.CPUPeaks) domain.CPUSample {
		return domain.CPUSample{
			At: at(2), Interval: time.Second, CPU: id, User: user, Nice: nan, System: nan, IOWait: nan, IRQ: nan, SoftIRQ: nan, Steal: nan, Guest: nan, Idle: idle, Peaks: p,
		}
	}
	placement := domain.Placement{
		At: at(1), PID: 5, TID: 6, Command: "ora_lgwr_A", CPU: 1, CPUShare: nan, WaitShare: nan, Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: -1,
	}
	next := placement
	next.At, next.Interval, next.CPU, next.Exec = at(1.05), 50*time.Millisecond, 2, 4*time.Microsecond
	gap := domain.Gap{Source: "interrupts", From: at(1), To: at(2), Reason: "missed-tick"}
	want := []any{
		from{at(1), domain.Topology{
			CPUs:  []domain.CPU{{ID: 0, Socket: -1, Core: -1, Node: -1, Online: true}, {ID: 1, Socket: 0, Core: -1, Node: -1}},
			Ports: []domain.Port{{Name: "ens3f0", Node: -1}}, Bonds: []domain.Bond{{Name: "bond1"}}, Affinity: map[int][]int{120: {0}, 121: nil}, Fixed: []int{120, 121},
		}},
		domain.InterruptSample{From: at(1), To: at(2), CPUs: []int{0, 2}, Counts: []int64{7, -1}},
		domain.DeviceSample{From: at(1), To: at(2), Observed: time.Second, Gains: []domain.LineGain{
			{Line: domain.Line{IRQ: "120", Device: "ens3f0", Class: domain.ClassNetwork}, CPU: 0, Count: 7},
			{Line: domain.Line{IRQ: "9"}, CPU: 2, Count: 8}, // a class of a later contract
		}},
		domain.SoftirqSample{From: at(1), To: at(2), Name: "NET_RX", CPUs: []int{0, 1}, Counts: []int64{1, 2}, MaxPerS: []int64{3, -1}},
		gap, gap,
		cpu(domain.AllCPUs, nan, 0.5, nil),
		cpu(0, 1, nan, &domain.CPUPeaks{IRQSoftIRQ: 0.0001, Steal: 0.0003, Busy: 0.0005}),
		cpu(1, nan, nan, &domain.CPUPeaks{IRQSoftIRQ: 0.0002, Steal: 0.0004, Busy: nan}),
		domain.SystemSample{
			At: at(2), Interval: time.Second, RunQueue: 1.5, RunQueueMax: nan, Blocked: nan, SwapInPerS: nan, SwapOutPerS: nan, InterruptsPerS: nan,
			ContextSwitchesPerS: nan, User: nan, System: nan, Idle: nan, IOWait: nan, Steal: nan, TimeSqueeze: nan, PSICPU: -1, PSIIO: 20 * time.Microsecond, PSIMemory: -1,
		},
		domain.DiskSample{
			At: at(2), Interval: time.Second, Device: "dm-0", ReadsPerS: nan, WritesPerS: nan, ReadAwaitMS: nan, WriteAwaitMS: nan, QueueSize: 0.5, Utilisation: nan,
		},
		placement, next,
		domain.NodeEvent{At: at(1), Kind: "bond-failover", Subject: "bond1", Detail: "none -> ens3f0"},
		domain.NodeEvent{At: at(1), Kind: "watch-started", Subject: "ora_lgwr_A", Detail: "pid 5, instance A"},
		domain.NodeEvent{At: at(2), Kind: "watch-ended", Subject: "asm_lgwr_+ASM", Detail: "pid 9"},
	}
	b := sound()
	var got recorder
	if err := batches.Feed(b, clockOf(t, b).At, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.list, cmpopts.EquateNaNs(), cmp.AllowUnexported(from{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The clock is set back by an hour 10 s after boot, and forth by two at 20 s: what
// passed meanwhile is as long as it was, and what followed the step is later.
func TestAnIntervalIsAsLongAsItWasHoweverTheClockIsSet(t *testing.T) {
	t.Parallel()
	b := &corewaitv1.Batch{
		SpoolId: make([]byte, 16), Sequence: 1, BootId: "boot",
		Clock: []*corewaitv1.ClockReading{
			{BoottimeUs: 0, UtcUs: boot.UnixMicro()}, {BoottimeUs: 10 * second, UtcUs: boot.Add(10*time.Second - time.Hour).UnixMicro()},
			{BoottimeUs: 20 * second, UtcUs: boot.Add(20*time.Second + time.Hour).UnixMicro()},
		},
		Interrupts: []*corewaitv1.InterruptSample{
			{FromUs: 9_500_000, ToUs: 10_500_000, Counts: []int64{1}}, {FromUs: 10_500_000, ToUs: 11_500_000, Counts: []int64{2}},
			{FromUs: 19_500_000, ToUs: 20_500_000, Counts: []int64{3}},
		},
		Placement: []*corewaitv1.PlacementRun{{Command: "c", FirstUs: 9_900_000, AfterUs: []uint64{0, 200_000}, Cpu: []uint32{1, 2}}},
		Gaps:      []*corewaitv1.Gap{{Source: "s", Reason: "r", FromUs: 9 * second, ToUs: 11 * second}},
	}
	sample := func(from time.Time, n int64) domain.InterruptSample {
		return domain.InterruptSample{From: from, To: from.Add(time.Second), CPUs: []int{0}, Counts: []int64{n}}
	}
	event := func(at time.Time, detail string) domain.NodeEvent {
		return domain.NodeEvent{At: at, Kind: "clock-step", Subject: "clock", Detail: detail}
	}
	nan := math.NaN()
	first := domain.Placement{
		At: boot.Add(9_900 * time.Millisecond), Command: "c", CPU: 1, CPUShare: nan, WaitShare: nan, Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: -1,
	}
	second := first
	second.At, second.Interval, second.CPU = boot.Add(10_100*time.Millisecond-time.Hour), 200*time.Millisecond, 2
	want := []any{
		sample(boot.Add(9_500*time.Millisecond), 1), sample(boot.Add(10_500*time.Millisecond-time.Hour), 2), sample(boot.Add(19_500*time.Millisecond-time.Hour), 3),
		domain.Gap{Source: "s", Reason: "r", From: boot.Add(9 * time.Second), To: boot.Add(11 * time.Second)},
		first, second,
		event(boot.Add(10*time.Second-time.Hour), "stepped by -1h0m0s"), event(boot.Add(20*time.Second+time.Hour), "stepped by 2h0m0s"),
	}
	var got recorder
	if err := batches.Feed(b, clockOf(t, b).At, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.list, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := batches.Feed(b, clockOf(t, b).At, store.NewBatch()); err != nil {
		t.Errorf("the store does not take it: %v", err)
	}
}

func TestAGapBeforeTheBootIsToldInUTCAndEndlessRepeatsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	b := sound()
	b.Gaps = []*corewaitv1.Gap{
		{Source: "agent", Reason: "restart", FromUtcUs: boot.Add(-time.Hour).UnixMicro(), ToUtcUs: boot.UnixMicro(), Events: math.MaxUint32},
		{Source: "agent", Reason: "dropped", FromUs: 1, ToUs: 2, Events: math.MaxUint32},
	}
	var got recorder
	if err := batches.Feed(b, clockOf(t, b).At, &got); err != nil {
		t.Fatal(err)
	}
	n := map[domain.Gap]int{}
	for _, v := range got.list {
		if g, ok := v.(domain.Gap); ok {
			n[g]++
		}
	}
	us := time.Microsecond
	want := map[domain.Gap]int{
		{Source: "agent", Reason: "restart", From: boot.Add(-time.Hour), To: boot}:         10_001,
		{Source: "agent", Reason: "dropped", From: boot.Add(1 * us), To: boot.Add(2 * us)}: 1,
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each line does one harm to a batch that is right.
func TestWhatCannotBeIsRefusedByTheNameOfItsMessage(t *testing.T) {
	t.Parallel()
	const long = 513
	for _, c := range []struct {
		want string // of the error
		harm func(*corewaitv1.Batch)
	}{
		{"spool_id: 3 bytes, want 16", func(b *corewaitv1.Batch) { b.SpoolId = b.GetSpoolId()[:3] }},
		{"sequence: 0", func(b *corewaitv1.Batch) { b.Sequence = 0 }},
		{"sequence: 18446744073709551615", func(b *corewaitv1.Batch) { b.Sequence = math.MaxUint64 }},
		{"boot_id: missing", func(b *corewaitv1.Batch) { b.BootId = "" }},
		{"hostname: a text of 513 bytes", func(b *corewaitv1.Batch) { b.Hostname = strings.Repeat("h", long) }},
		{"batch: clock: no reading", func(b *corewaitv1.Batch) { b.Clock = nil }},
		{"lines[1]: a text of 513 bytes", func(b *corewaitv1.Batch) { b.Lines[1].Device = strings.Repeat("d", long) }},
		{"interrupts[0]: 2 CPUs and 1 counts", func(b *corewaitv1.Batch) { b.Interrupts[0].Counts = []int64{1} }},
		{"interrupts[0]: no counts", func(b *corewaitv1.Batch) { b.Interrupts[0].Counts = nil }},
		{"interrupts[0]: CPU 2 after CPU 2", func(b *corewaitv1.Batch) { b.Interrupts[0].Cpus[0] = 2 }},
		{"interrupts[0]: CPU 8192", func(b *corewaitv1.Batch) { b.Interrupts[0].Cpus[1] = 8_192 }},
		{"interrupts[0]: 8193 CPUs", func(b *corewaitv1.Batch) { b.Interrupts[0].Cpus, b.Interrupts[0].Counts = nil, make([]int64, 8_193) }},
		{"interrupts[0]: an interval of 0s", func(b *corewaitv1.Batch) { b.Interrupts[0].ToUs = 1 * second }},
		{"interrupts[0]: an interval of -1s", func(b *corewaitv1.Batch) { b.Interrupts[0].ToUs = 0 }},
		{"interrupts[0]: an interval of 1h0m0.000001s", func(b *corewaitv1.Batch) { b.Interrupts[0].ToUs = 3_601*second + 1 }},
		{"interrupts[0]: -1 to 2000000 us of CLOCK_BOOTTIME", func(b *corewaitv1.Batch) { b.Interrupts[0].FromUs = -1 }},
		{"interrupts[0]: 1000000 to 9223372036854775807 us", func(b *corewaitv1.Batch) { b.Interrupts[0].ToUs = math.MaxInt64 }},
		{"devices[0]: 2 lines, 2 CPUs and 1 counts", func(b *corewaitv1.Batch) { b.Devices[0].Counts = []uint64{1} }},
		{"devices[0]: line 2 of 2", func(b *corewaitv1.Batch) { b.Devices[0].Line[1] = 2 }},
		{"devices[0]: CPU 8192", func(b *corewaitv1.Batch) { b.Devices[0].Cpu[1] = 8_192 }},
		{"devices[0]: a count of 18446744073709551615", func(b *corewaitv1.Batch) { b.Devices[0].Counts[1] = math.MaxUint64 }},
		{"devices[0]: observed for 1000001 us of 1000000", func(b *corewaitv1.Batch) { b.Devices[0].ObservedUs = second + 1 }},
		{"softirqs[0]: no name", func(b *corewaitv1.Batch) { b.Softirqs[0].Name = "" }},
		{"softirqs[0]: 2 counts and 1 maxima", func(b *corewaitv1.Batch) { b.Softirqs[0].MaxPerS = []int64{1} }},
		{"cpu[0]: 2 CPUs and 1 shares", func(b *corewaitv1.Batch) { b.Cpu[0].Idle = []int32{1} }},
		{"cpu[0]: 3 CPUs and 2 shares", func(b *corewaitv1.Batch) { b.Cpu[0].Cpus = []uint32{1, 2, 3} }},
		{"cpu[0]: a share of 10001 hundredths", func(b *corewaitv1.Batch) { b.Cpu[0].User[0] = 10_001 }},
		{"cpu[0]: a share of 1000001 millionths", func(b *corewaitv1.Batch) { b.Cpu[0].Host.Idle = new(uint32(1_000_001)) }},
		{"cpu[0]: some of the three lists", func(b *corewaitv1.Batch) { b.Cpu[0].StealMax = nil }},
		{"cpu[0]: some of the three lists", func(b *corewaitv1.Batch) { b.Cpu[0].IrqSoftirqMax = nil }},
		{"system[0]: run_queue NaN", func(b *corewaitv1.Batch) { b.System[0].RunQueue = new(math.NaN()) }},
		{"system[0]: blocked +Inf", func(b *corewaitv1.Batch) { b.System[0].Blocked = new(math.Inf(1)) }},
		{"system[0]: interrupts_per_s -1", func(b *corewaitv1.Batch) { b.System[0].InterruptsPerS = new(-1.0) }},
		{"system[0]: psi_io_us 18446744073709551615", func(b *corewaitv1.Batch) { b.System[0].PsiIoUs = new(uint64(math.MaxUint64)) }},
		{"system[0]: a share of 1000001", func(b *corewaitv1.Batch) { b.System[0].Shares = &corewaitv1.HostShares{User: new(uint32(1_000_001))} }},
		{"disks[0]: no device", func(b *corewaitv1.Batch) { b.Disks[0].Device = "" }},
		{"disks[0]: utilisation -0.5", func(b *corewaitv1.Batch) { b.Disks[0].Utilisation = new(-0.5) }},
		{"placement[0]: 0 samples", func(b *corewaitv1.Batch) { b.Placement[0].AfterUs = nil }},
		{"placement[0]: after_us begins with 3", func(b *corewaitv1.Batch) { b.Placement[0].AfterUs[0] = 3 }},
		{"placement[0]: 2 samples and 1 CPUs", func(b *corewaitv1.Batch) { b.Placement[0].Cpu = []uint32{1} }},
		{"placement[0]: 2 samples and 3 states", func(b *corewaitv1.Batch) { b.Placement[0].State = []byte("RRR") }},
		{`placement[0]: state '\x01'`, func(b *corewaitv1.Batch) { b.Placement[0].State = []byte{'R', 1} }},
		{"placement[0]: 2 samples and 1 exec_us", func(b *corewaitv1.Batch) { b.Placement[0].ExecUs = []int64{1} }},
		{"placement[0]: a value of 2147483648", func(b *corewaitv1.Batch) { b.Placement[0].ExecUs[0] = 1 << 31 }},
		{"placement[0]: 2 samples and 3 policies", func(b *corewaitv1.Batch) { b.Placement[0].Policy = []int32{1, 2, 3} }},
		{"placement[0]: policy 40000", func(b *corewaitv1.Batch) { b.Placement[0].Policy = []int32{40_000} }},
		{"placement[0]: CPU 8192", func(b *corewaitv1.Batch) { b.Placement[0].Cpu[0] = 8_192 }},
		{"placement[0]: no command", func(b *corewaitv1.Batch) { b.Placement[0].Command = "" }},
		{"placement[0]: after_us 18446744073709551615", func(b *corewaitv1.Batch) { b.Placement[0].AfterUs[1] = math.MaxUint64 }},
		{"placement[0]: an interval of 0s", func(b *corewaitv1.Batch) { b.Placement[0].AfterUs[1] = 0 }},
		{"placement[0]: first_interval_us 18446744073709551615", func(b *corewaitv1.Batch) { b.Placement[0].FirstIntervalUs = math.MaxUint64 }},
		{"placement[0]: -1 to 1000000 us", func(b *corewaitv1.Batch) { b.Placement[0].FirstIntervalUs = second + 1 }},
		{"placement[0]: -5 us of CLOCK_BOOTTIME", func(b *corewaitv1.Batch) { b.Placement[0].FirstUs = -5 }},
		{"topology[0].cpus[1]: CPU 0 after CPU 0", func(b *corewaitv1.Batch) { b.Topology[0].Cpus[1].Id = 0 }},
		{"topology[0].cpus[1]: number 32768", func(b *corewaitv1.Batch) { b.Topology[0].Cpus[1].Socket = new(uint32(32_768)) }},
		{"topology[0].ports[0]: number 4294967295", func(b *corewaitv1.Batch) { b.Topology[0].Ports[0].Irqs = []uint32{math.MaxUint32} }},
		{"topology[0].bonds[0]: a text of 513 bytes", func(b *corewaitv1.Batch) { b.Topology[0].Bonds[0].Slaves = []string{strings.Repeat("s", long)} }},
		{"topology[0].affinity[1]: IRQ 121 twice", func(b *corewaitv1.Batch) { b.Topology[0].Affinity[1].Irq = 121 }},
		{"bond_events[0]: no bond", func(b *corewaitv1.Batch) { b.BondEvents[0].Bond = "" }},
		{"bond_events[0]: -1 us", func(b *corewaitv1.Batch) { b.BondEvents[0].AtUs = -1 }},
		{"gaps[0]: no source", func(b *corewaitv1.Batch) { b.Gaps[0].Source = "" }},
		{"gaps[0]: 1000000 to 5 us of CLOCK_BOOTTIME", func(b *corewaitv1.Batch) { b.Gaps[0].ToUs = 5 }},
		{"gaps[0]: 7 to 5 us of UTC", func(b *corewaitv1.Batch) { b.Gaps[0].FromUtcUs, b.Gaps[0].ToUtcUs = 7, 5 }},
		{"watched[1]: no command", func(b *corewaitv1.Batch) { b.Watched[1].Command = "" }},
		{"gaps: 100001 messages", func(b *corewaitv1.Batch) { b.Gaps = make([]*corewaitv1.Gap, 100_001) }},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			b := sound()
			at := clockOf(t, b).At
			c.harm(b)
			err := batches.Feed(b, at, &recorder{})
			if wrong := new(batches.Error); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// full refuses interrupt samples, as a sink that has no room.
type full struct{ recorder }

var errFull = errors.New("no room")

func (*full) InterruptSample(*domain.InterruptSample) error { return errFull }

func TestAnErrorOfTheSinkIsGivenAsItIs(t *testing.T) {
	t.Parallel()
	b := sound()
	err := batches.Feed(b, clockOf(t, b).At, &full{})
	if wrong := new(batches.Error); !errors.Is(err, errFull) || errors.As(err, &wrong) || err.Error() != "interrupts[0]: no room" {
		t.Errorf("got %v", err)
	}
}

// Whatever bytes come, they are refused or become rows; neither panics, and rows
// are no more than the bytes can tell.
func FuzzFeed(f *testing.F) {
	plain, err := proto.Marshal(sound())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	stepped := sound()
	stepped.Clock = append(stepped.Clock, &corewaitv1.ClockReading{BoottimeUs: 1_500_000, UtcUs: 0})
	if plain, err = proto.Marshal(stepped); err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	decoder, err := api.NewDecoder(api.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(decoder.Close)
	f.Fuzz(func(t *testing.T, plain []byte) {
		b := new(corewaitv1.Batch)
		if proto.Unmarshal(plain, b) != nil {
			return
		}
		body, err := api.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = decoder.Decode(body, nil); err != nil {
			if !errors.Is(err, api.ErrTooLarge) {
				t.Fatalf("what was marshalled is refused: %v", err)
			}
			return
		}
		clock, err := api.NewClock(b.GetClock())
		at := clock.At
		if err != nil {
			at = func(int64) time.Time { return boot }
		}
		rows := store.NewBatch()
		fed := batches.Feed(b, at, rows)
		if wrong := new(batches.Error); fed != nil && !errors.As(fed, &wrong) && !errors.Is(fed, store.ErrUnstorable) {
			t.Fatalf("neither wrong nor unstorable: %v", fed)
		}
		if rows.Rows() > len(plain)+1 {
			t.Errorf("%d rows of %d bytes", rows.Rows(), len(plain))
		}
		if fed == nil && err != nil {
			t.Errorf("taken with a clock that is refused: %v", err)
		}
	})
}

// BenchmarkFeed feeds what a node of 64 CPUs sends in 10 s.
func BenchmarkFeed(b *testing.B) {
	e := api.NewEncoder(func(t time.Time) int64 { return t.Sub(boot).Microseconds() })
	ids, counts := make([]int, 64), make([]int64, 64)
	for i := range ids {
		ids[i], counts[i] = i, int64(i*i)
	}
	for s := range 10 {
		if err := e.InterruptSample(&domain.InterruptSample{From: boot.Add(time.Duration(s) * time.Second), To: boot.Add(time.Duration(s+1) * time.Second), CPUs: ids, Counts: counts}); err != nil {
			b.Fatal(err)
		}
	}
	for thread := range 3 {
		for i := range 200 {
			err := e.Placement(domain.Placement{At: boot.Add(time.Duration(i) * 50 * time.Millisecond), Interval: 50 * time.Millisecond, TID: thread, Command: fmt.Sprint("ora_lg0", thread, "_A")})
			if i == 0 {
				continue // of which the interval began before the boot
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	e.ClockReading(0, boot, nil, -1)
	wire := e.Batch()
	wire.SpoolId, wire.Sequence, wire.BootId = make([]byte, 16), 1, "boot"
	at := clockOf(b, wire).At
	b.ReportAllocs()
	for b.Loop() {
		if err := batches.Feed(wire, at, store.NewBatch()); err != nil {
			b.Fatal(err)
		}
	}
}

// 2^61 us are 2^64 * 125 ns: in nanoseconds they vanish, so that the interval seems
// a second long.
func TestAnIntervalThatOnlyFitsAfterAnOverflowIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []*corewaitv1.InterruptSample{
		{FromUs: 3_608_000_000, ToUs: 3_609_000_000 - 1<<61, Counts: []int64{42}},
		{FromUs: 1 << 61, ToUs: 1_000_000, Counts: []int64{42}},
	} {
		b := &corewaitv1.Batch{
			SpoolId: make([]byte, 16), Sequence: 1, BootId: "b", Clock: []*corewaitv1.ClockReading{{BoottimeUs: 1, UtcUs: 1_796_000_000_000_000}},
			Interrupts: []*corewaitv1.InterruptSample{s},
		}
		err := batches.Feed(b, time.UnixMicro, store.NewBatch())
		if wrong := new(batches.Error); !errors.As(err, &wrong) || wrong.Where != "interrupts[0]" {
			t.Errorf("%d to %d: error %v", s.GetFromUs(), s.GetToUs(), err)
		}
	}
}

func TestMoreTopologiesThanANodeHasChangesAreRefused(t *testing.T) {
	t.Parallel()
	b := &corewaitv1.Batch{SpoolId: make([]byte, 16), Sequence: 1, BootId: "b", Clock: []*corewaitv1.ClockReading{{BoottimeUs: 1, UtcUs: 1_796_000_000_000_000}}}
	for range 65 {
		b.Topology = append(b.Topology, &corewaitv1.Topology{FromUs: 1})
	}
	err := batches.Feed(b, time.UnixMicro, store.NewBatch())
	if wrong := new(batches.Error); !errors.As(err, &wrong) || wrong.Where != "topology" {
		t.Errorf("error %v", err)
	}
}
