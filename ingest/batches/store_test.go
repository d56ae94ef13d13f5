package batches_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/ingest/batches"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }

var _ batches.Sink = (*store.Batch)(nil)

// seen is what an agent tells of: both a batch of the store and an encoder take it.
type seen interface {
	ingest.IntervalSink
	TopologyFrom(from time.Time, t domain.Topology) error
}

// agent makes up what an agent sends, push by push, with what is rare as well:
// CPUs that are absent, values that are unknown, readings that were missed.
type agent struct {
	random *rand.Rand
	begin  time.Time
	to     seen
	failed []error
	last   [3]time.Time // sample of each thread
}

func (a *agent) note(err error) { a.failed = append(a.failed, err) }

func (a *agent) at(s float64) time.Time {
	return a.begin.Add(time.Duration(math.Round(s*1e6)) * time.Microsecond)
}

func (a *agent) one(n int) bool { return a.random.IntN(n) == 0 }

// share is unknown once in a while, none and all more often.
func (a *agent) share() float64 {
	switch a.random.IntN(8) {
	case 0:
		return math.NaN()
	case 1, 2:
		return 0
	case 3:
		return 1
	}
	return a.random.Float64()
}

// rate is a number that is unknown once in a while.
func (a *agent) rate(scale float64) float64 {
	if a.one(8) {
		return math.NaN()
	}
	return scale * a.random.ExpFloat64()
}

func (a *agent) count() int64 {
	if a.one(10) {
		return -1
	}
	return int64(a.random.ExpFloat64() * 1_000)
}

func (a *agent) duration(scale time.Duration) time.Duration {
	if a.one(6) {
		return -1
	}
	return time.Duration(a.random.ExpFloat64() * float64(scale))
}

// push tells of the 10 s that begin at a second.
func (a *agent) push(from float64) error {
	if from == 0 || a.one(4) {
		a.topology(from)
	}
	for s := range 10 {
		cpus := a.cpus()
		counts := make([]int64, len(cpus))
		for i := range counts {
			counts[i] = a.count()
		}
		a.note(a.to.InterruptSample(&domain.InterruptSample{
			From: a.at(from + float64(s)), To: a.at(from + float64(s+1)), CPUs: cpus, Counts: counts, Wrapped: a.random.IntN(2), Implausible: a.random.IntN(2),
		}))
	}
	a.devices(from)
	for s := 0.0; s < 10; s += 5 {
		a.samples(from+s, from+s+5)
	}
	for i := range a.last {
		a.thread(i, from)
	}
	a.gaps(from)
	return errors.Join(a.failed...)
}

// cpus are those online: all, or with holes.
func (a *agent) cpus() []int {
	switch a.random.IntN(6) {
	case 0:
		return []int{0, 1, 3}
	case 1:
		return []int{2}
	}
	return []int{0, 1, 2, 3}
}

func (a *agent) devices(from float64) {
	s := &domain.DeviceSample{From: a.at(from), To: a.at(from + 10), Observed: 9 * time.Second, Untracked: a.random.IntN(3)}
	for line := range 5 {
		for cpu := range 4 {
			if a.one(2) {
				l := domain.Line{IRQ: fmt.Sprint(100 + line), Device: []string{"ens3f0", "", "nvme0", "qla2xxx1", "LOC"}[line], Class: domain.DeviceClass(line % 4)}
				s.Gains = append(s.Gains, domain.LineGain{Line: l, CPU: cpu, Count: a.random.Int64N(1 << 31)})
			}
		}
	}
	a.note(a.to.DeviceSample(s))
}

func (a *agent) samples(from, to float64) {
	length := a.at(to).Sub(a.at(from))
	for _, name := range []string{"NET_RX", "TIMER", "time_squeeze"} {
		s := &domain.SoftirqSample{From: a.at(from), To: a.at(to), Name: name, CPUs: a.cpus()}
		for range s.CPUs {
			s.Counts = append(s.Counts, a.count())
		}
		if name == "NET_RX" {
			for range s.CPUs {
				s.MaxPerS = append(s.MaxPerS, a.count())
			}
		}
		a.note(a.to.SoftirqSample(s))
	}
	zero := a.one(4) // shares that are known to be zero
	share := func() float64 {
		if zero {
			return 0
		}
		return a.share()
	}
	for _, cpu := range append(a.cpus(), domain.AllCPUs) {
		s := domain.CPUSample{
			At: a.at(to), Interval: length, CPU: cpu, Offline: a.one(9), User: share(), Nice: math.NaN(), System: share(), IOWait: share(), IRQ: share(),
			SoftIRQ: share(), Steal: share(), Guest: math.NaN(), Idle: share(),
		}
		if cpu >= 0 && a.one(2) {
			s.Peaks = &domain.CPUPeaks{IRQSoftIRQ: a.random.Float64(), Steal: a.share(), Busy: a.share()}
		}
		a.note(a.to.CPU(s))
	}
	a.note(a.to.System(domain.SystemSample{
		At: a.at(to), Interval: length, RunQueue: a.rate(10), RunQueueMax: math.Floor(a.rate(20)), Blocked: a.rate(2), SwapInPerS: a.rate(3), SwapOutPerS: a.rate(3),
		InterruptsPerS: a.rate(90_000), ContextSwitchesPerS: a.rate(120_000), User: a.share(), System: a.share(), Idle: a.share(), IOWait: a.share(), Steal: a.share(),
		TimeSqueeze: math.Floor(a.rate(5)), PSICPU: a.duration(time.Second), PSIIO: a.duration(time.Second), PSIMemory: a.duration(time.Second),
	}))
	for _, device := range []string{"dm-0", "nvme0n1"} {
		a.note(a.to.Disk(domain.DiskSample{
			At: a.at(to), Interval: length, Device: device, ReadsPerS: a.rate(300), WritesPerS: a.rate(900), ReadAwaitMS: a.rate(0.6), WriteAwaitMS: a.rate(0.4),
			QueueSize: a.rate(0.2), Utilisation: a.share(),
		}))
	}
}

// thread tells where a thread was, 20 times a second but for readings that were
// missed, after which the time that values cover is longer, or unknown.
func (a *agent) thread(i int, from float64) {
	cpu, policy := a.random.IntN(4), a.random.IntN(3)-1
	for tick := 0.0; tick < 10; tick += 0.05 {
		if a.one(40) {
			continue
		}
		at := a.at(from + tick + a.random.Float64()/1_000)
		p := domain.Placement{
			At: domain.RoundSampled(at), PID: 4_711 + i, TID: 4_711 + i, Command: []string{"ora_lgwr_ORDP1", "ora_lg00_ORDP1", "ora_lms0_ORDP1"}[i], CPU: cpu, State: "RSD\x00"[a.random.IntN(4)],
			CPUShare: math.NaN(), WaitShare: math.NaN(), Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: policy,
		}
		if !a.last[i].IsZero() && !a.one(60) {
			p.Interval = p.At.Sub(a.last[i])
			p.Exec, p.RunDelay, p.Voluntary, p.Involuntary = a.duration(time.Millisecond), a.duration(time.Millisecond), a.count(), a.count()
		}
		a.last[i] = p.At
		if a.one(20) {
			cpu = a.random.IntN(4)
		}
		if a.one(100) {
			policy = a.random.IntN(3) - 1
		}
		if i == 2 {
			p.Uncertainty = 20 * time.Microsecond
		}
		a.note(a.to.Placement(p))
	}
}

func (a *agent) gaps(from float64) {
	g := domain.Gap{Source: "interrupts", From: a.at(from), To: a.at(from + 0.5), Reason: "missed-tick"}
	for range a.random.IntN(3) {
		a.note(a.to.Gap(g))
	}
	a.note(a.to.Gap(domain.Gap{Source: "agent", From: a.begin.Add(-30 * time.Hour), To: a.at(from), Reason: "restart"}))
}

func (a *agent) topology(from float64) {
	accounted := a.one(2)
	a.note(a.to.TopologyFrom(a.at(from), domain.Topology{
		CPUs:  []domain.CPU{{ID: 0, Online: true}, {ID: 1, Core: 1, Online: true}, {ID: 2, Socket: 1, Core: 2, Node: 1, Online: true}, {ID: 3, Socket: -1, Core: -1, Node: -1}},
		Bonds: []domain.Bond{{Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "eth9", Slaves: []string{"eth9", "eth8"}}},
		Ports: []domain.Port{
			{Name: "eth0", Node: -1},
			{Name: "eth9", Driver: "mlx5_core", PCIAddress: "0000:3b:00.0", Node: 1, IRQs: []int{60, 61}},
		},
		Affinity: map[int][]int{60: {2}, 61: {2, 3}, 50: {a.random.IntN(4)}}, Fixed: []int{50, 61}, Interconnects: []string{"eth9", "eth8"},
		CoresInferred: a.one(2), Kernel: "5.14.0-503.el9.x86_64", InterruptTimeAccounted: &accounted,
	}))
}

// kept is what the store gives of a node.
type kept struct {
	refusesReadings
	list []any
}

func (k *kept) keep(v any) error {
	k.list = append(k.list, v)
	return nil
}

func (k *kept) Topology(t domain.Topology) error   { return k.keep(t) }
func (k *kept) CPU(s domain.CPUSample) error       { return k.keep(s) }
func (k *kept) System(s domain.SystemSample) error { return k.keep(s) }
func (k *kept) Disk(s domain.DiskSample) error     { return k.keep(s) }
func (k *kept) Placement(p domain.Placement) error { return k.keep(p) }
func (k *kept) Gap(g domain.Gap) error             { return k.keep(g) }
func (k *kept) Instance(i domain.Instance) error   { return k.keep(i) }
func (k *kept) DeviceSample(s *domain.DeviceSample) error {
	c := *s
	c.Gains = append([]domain.LineGain(nil), s.Gains...)
	return k.keep(c)
}

func (k *kept) InterruptSample(s *domain.InterruptSample) error {
	c := *s
	c.CPUs, c.Counts = append([]int(nil), s.CPUs...), append([]int64(nil), s.Counts...)
	return k.keep(c)
}

func (k *kept) SoftirqSample(s *domain.SoftirqSample) error {
	c := *s
	c.CPUs, c.Counts, c.MaxPerS = append([]int(nil), s.CPUs...), append([]int64(nil), s.Counts...), append([]int64(nil), s.MaxPerS...)
	return k.keep(c)
}

// refusesReadings is the rest of a sink.
type refusesReadings struct{}

var errNotSent = errors.New("no agent sends that")

func (refusesReadings) Interrupts(*domain.InterruptSnapshot) error { return errNotSent }
func (refusesReadings) Softirqs(*domain.SoftirqSnapshot) error     { return errNotSent }
func (refusesReadings) CPUTimes(*domain.CPUTimesSnapshot) error    { return errNotSent }
func (refusesReadings) Disks(*domain.DiskSnapshot) error           { return errNotSent }
func (refusesReadings) Wait(domain.Wait) error                     { return errNotSent }
func (refusesReadings) Histogram(*domain.HistogramSnapshot) error  { return errNotSent }
func (refusesReadings) SystemEvent(domain.SystemEvent) error       { return errNotSent }
func (refusesReadings) Counter(domain.Counter) error               { return errNotSent }

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: testdb.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func push(ctx context.Context, t *testing.T, s *store.Store, node string, n int, b *store.Batch) {
	t.Helper()
	id, err := s.Node(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := s.Push(ctx, id, store.Receipt{Sequence: int64(n)}, b); err != nil || !stored {
		t.Fatalf("push %d: stored %v, %v", n, stored, err)
	}
}

// storedOf gives what the store has of a node, and how often its gaps were.
func storedOf(t *testing.T, s *store.Store, node string, w domain.Window) (*kept, []store.CoverageGap) {
	t.Helper()
	id, err := s.Node(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	if err := s.Feed(t.Context(), store.Source{Node: id}, w, k); err != nil {
		t.Fatal(err)
	}
	gaps, _, err := s.Gaps(t.Context(), store.Source{Node: id}, w, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return k, gaps
}

// encoded takes a batch through the wire.
func encoded(t *testing.T, e *api.Encoder, n int) *store.Batch {
	t.Helper()
	wire := e.Batch()
	wire.SpoolId, wire.Sequence, wire.BootId = make([]byte, 16), uint64(n), "boot"
	body, err := api.Marshal(wire)
	if err != nil {
		t.Fatal(err)
	}
	received, err := api.Unmarshal(bytes.NewReader(body), api.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	clock, err := api.NewClock(received.GetClock())
	if err != nil {
		t.Fatal(err)
	}
	b := store.NewBatch()
	if err := batches.Feed(received, clock.At, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// What the store gives of the same records is compared, once put into it directly
// and once by way of an encoder, bytes and Feed.
func TestTheStoreHoldsWhatAnAgentSawHoweverItCame(t *testing.T) {
	t.Parallel()
	s := open(t)
	begin := time.Now().UTC().Truncate(time.Hour).Add(-3*time.Hour + 123_457*time.Microsecond)
	boot := begin.Add(-time.Hour)
	e := api.NewEncoder(func(t time.Time) int64 { return t.Sub(boot).Microseconds() })
	direct, wired := &agent{random: rand.New(rand.NewPCG(5, 5)), begin: begin}, &agent{random: rand.New(rand.NewPCG(5, 5)), begin: begin, to: e}
	const pushes = 30
	for n := range pushes {
		b := store.NewBatch()
		direct.to = b
		e.Reset()
		e.ClockReading(time.Hour.Microseconds()+int64(n)*10_000_000, begin.Add(time.Duration(n)*10*time.Second), nil, -1)
		for _, a := range []*agent{direct, wired} {
			if err := a.push(float64(n) * 10); err != nil {
				t.Fatal(err)
			}
		}
		push(t.Context(), t, s, "direct", n+1, b)
		push(t.Context(), t, s, "wired", n+1, encoded(t, e, n+1))
	}
	w := domain.Window{From: begin.Add(-time.Minute), To: begin.Add(time.Hour)}
	want, wantGaps := storedOf(t, s, "direct", w)
	got, gotGaps := storedOf(t, s, "wired", w)
	kinds := map[string]int{}
	for _, v := range want.list {
		kinds[fmt.Sprintf("%T", v)]++
	}
	for kind, least := range map[string]int{
		"domain.Topology": 1, "domain.InterruptSample": 10 * pushes, "domain.DeviceSample": pushes, "domain.SoftirqSample": 6 * pushes, "domain.CPUSample": 6 * pushes,
		"domain.SystemSample": 2 * pushes, "domain.DiskSample": 4 * pushes, "domain.Placement": 500 * pushes, "domain.Gap": pushes,
	} {
		if kinds[kind] < least {
			t.Errorf("only %d of %s, want %d", kinds[kind], kind, least)
		}
	}
	if diff := cmp.Diff(want.list, got.list, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("-direct +by the wire:\n%s", diff)
	}
	if diff := cmp.Diff(wantGaps, gotGaps); diff != "" {
		t.Errorf("gaps: -direct +by the wire:\n%s", diff)
	}
}
