package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// host makes the records of a node for twenty minutes, with what real ones have:
// readings that are missing, cut short, doubled or of an earlier clock, counters
// that start anew or wrap, CPUs that come and go, rows of several tools for one
// instant, waits of unknown length and unknown session.
type host struct {
	random *rand.Rand
	begin  time.Time
	to     ingest.Sink
	err    error

	interrupts [4][4]uint64
	ticks      [5]domain.CPUTimes
	disks      [2]domain.DiskCounters
	buckets    [2][8]domain.HistogramBucket
	totals     map[string]int64
	placed     [3]int
}

func newHost(seed uint64, begin time.Time, to ingest.Sink) *host {
	h := &host{random: rand.New(rand.NewPCG(seed, 7)), begin: begin, to: to, totals: map[string]int64{}}
	h.interrupts = [4][4]uint64{{1 << 31}, {1<<32 - 500}, {7, 7, 7, 7}, {1 << 33}}
	for i := range h.ticks {
		h.ticks[i].CPU = i - 1
	}
	for i := range h.disks {
		h.disks[i].Device = []string{"sda", "dm-0"}[i]
	}
	for milli := range h.buckets {
		for i := range h.buckets[milli] {
			h.buckets[milli][i].Below = []time.Duration{time.Microsecond << (10 + i), time.Millisecond << i}[milli]
		}
	}
	return h
}

func (h *host) at(sec float64) time.Time {
	return h.begin.Add(time.Duration(math.Round(sec*1e6)) * time.Microsecond)
}

// one says, once in n times, yes.
func (h *host) one(n int) bool { return h.random.IntN(n) == 0 }

// give notes the first error.
func (h *host) give(err error) {
	if h.err == nil {
		h.err = err
	}
}

// feed gives all records.
func (h *host) feed(t *testing.T) {
	t.Helper()
	h.topology()
	sec := 0.0
	for range 300 {
		sec++
		if rare := []float64{2, 3, -1, -2, 200, 0.5}; h.one(30) {
			sec += rare[h.random.IntN(len(rare))]
		}
		for _, source := range []func(float64){
			h.procInterrupts, h.procSoftirqs, h.procStat, h.diskstats, h.mpstat, h.vmstat, h.iostat, h.pidstat, h.recorder,
			h.ash, h.histograms, h.sysstat,
		} {
			if !h.one(8) {
				source(sec)
			}
		}
	}
	if h.err != nil {
		t.Fatal(h.err)
	}
}

func (h *host) topology() {
	accounted := true
	h.give(h.to.Topology(domain.Topology{
		CPUs: []domain.CPU{{ID: 0, Online: true}, {ID: 1, Core: 1, Online: true}, {ID: 2, Socket: 1, Core: 2, Node: 1, Online: true}, {ID: 3, Socket: 1, Core: 3, Node: -1}}, CoresInferred: true,
	}))
	h.give(h.to.Topology(domain.Topology{
		Bonds:    []domain.Bond{{Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "eth9", Slaves: []string{"eth9", "eth8"}}},
		Ports:    []domain.Port{{Name: "eth9", Driver: "mlx5_core", PCIAddress: "0000:3b:00.0", Node: 1, IRQs: []int{60, 61}}, {Name: "eth0", Node: -1}},
		Affinity: map[int][]int{60: {2}, 61: {2, 3}, 50: nil}, Interconnects: []string{"eth9", "eth8"},
		Fixed: []int{61, 7}, Kernel: "5.15.0-304.el8uek", InterruptTimeAccounted: &accounted,
	}))
	h.give(h.to.Instance(domain.Instance{InstID: 1, Name: "A1", Host: "db1.example"}))
	h.give(h.to.Instance(domain.Instance{InstID: 2, Name: "A2", Host: "db2.example"}))
}

func (h *host) procInterrupts(sec float64) {
	cpus := []int{0, 1, 2, 3}[:4-h.random.IntN(40)/39]
	if h.one(60) {
		cpus = []int{0, 1, 3}
	}
	s := &domain.InterruptSnapshot{At: h.at(sec), CPUs: cpus, Lines: []domain.InterruptLine{
		{ID: "40", Device: "eth0", Class: domain.ClassNetwork}, {ID: "50", Device: "nvme0", Class: domain.ClassStorage},
		{ID: "60", Device: "eth9", Class: domain.ClassNetwork}, {ID: "LOC", Class: domain.ClassKernel},
	}}
	if h.one(100) {
		s.At = time.Time{}
	}
	for l := range s.Lines {
		for _, cpu := range cpus {
			h.interrupts[l][cpu] += h.random.Uint64N(300)
			s.Lines[l].Counts = append(s.Lines[l].Counts, h.interrupts[l][cpu]&(1<<32-1))
		}
	}
	if h.one(30) {
		s.Lines = s.Lines[:2]
	}
	if h.one(80) {
		h.interrupts = [4][4]uint64{}
	}
	h.give(h.to.Interrupts(s))
}

func (h *host) procSoftirqs(sec float64) {
	h.give(h.to.Softirqs(&domain.SoftirqSnapshot{At: h.at(sec), CPUs: []int{0, 1}, Names: []string{"TIMER", "NET_RX"},
		Counts: [][]uint64{{1, 2}, {h.interrupts[0][0] & (1<<32 - 1), h.interrupts[0][1] & (1<<32 - 1)}}}))
}

func (h *host) procStat(sec float64) {
	s := &domain.CPUTimesSnapshot{At: h.at(sec), ContextSwitches: int64(sec) * 1_000, Interrupts: -1, ProcsRunning: int64(h.random.IntN(9)) - 1, ProcsBlocked: 0}
	for i := range h.ticks {
		c := &h.ticks[i]
		for _, v := range []*int64{&c.User, &c.Nice, &c.System, &c.Idle, &c.IOWait, &c.IRQ, &c.SoftIRQ, &c.Steal} {
			*v += h.random.Int64N(100)
		}
		if h.one(100) {
			*c = domain.CPUTimes{CPU: c.CPU, Steal: -1}
		}
		if !h.one(50) {
			s.CPUs = append(s.CPUs, *c)
		}
	}
	h.give(h.to.CPUTimes(s))
}

func (h *host) diskstats(sec float64) {
	for i := range h.disks {
		d := &h.disks[i]
		for _, v := range []*uint64{&d.Reads, &d.ReadMS, &d.Writes, &d.WriteMS, &d.BusyMS} {
			*v += h.random.Uint64N(500) * uint64(h.random.IntN(2))
		}
		if h.one(100) {
			d.Writes = 0
		}
	}
	h.give(h.to.Disks(&domain.DiskSnapshot{At: h.at(sec), Devices: slices.Clone(h.disks[:])}))
}

// unknown gives NaN now and then.
func (h *host) unknown(v float64) float64 {
	if h.one(5) {
		return math.NaN()
	}
	return v
}

func (h *host) mpstat(sec float64) {
	for cpu := -1; cpu < 4; cpu++ {
		s := domain.CPUSample{
			At: h.at(sec + 0.25), Interval: time.Duration(h.random.IntN(2)) * time.Second, CPU: cpu, Offline: h.one(50),
			User: h.random.Float64(), Nice: h.unknown(0.001), System: h.unknown(h.random.Float64()), IOWait: h.unknown(0.05), IRQ: h.unknown(h.random.Float64() / 9),
			SoftIRQ: h.unknown(h.random.Float64()), Steal: h.unknown(0), Guest: math.NaN(), Idle: h.unknown(h.random.Float64()),
		}
		if !h.one(20) {
			h.give(h.to.CPU(s))
		}
	}
}

func (h *host) vmstat(sec float64) {
	s := domain.SystemSample{
		At: h.at(sec), SinceBoot: h.one(50), RunQueue: h.unknown(h.random.Float64() * 100), Blocked: h.unknown(2), SwapInPerS: h.unknown(3.4),
		SwapOutPerS: h.unknown(h.random.Float64() * 1e4), InterruptsPerS: h.unknown(1e5), ContextSwitchesPerS: h.unknown(h.random.Float64() * 1e6),
		User: h.unknown(h.random.Float64()), System: h.unknown(h.random.Float64()), Idle: h.random.Float64(), IOWait: math.NaN(), Steal: h.unknown(0),
		RunQueueMax: h.unknown(float64(h.random.IntN(100))), TimeSqueeze: h.unknown(float64(h.random.IntN(9))),
		PSICPU: time.Duration(h.random.IntN(1_000)-100) * time.Microsecond, PSIIO: -1, PSIMemory: 0,
	}
	if h.one(2) {
		s.Interval = time.Second
	}
	h.give(h.to.System(s))
}

func (h *host) iostat(sec float64) {
	for _, device := range []string{"sda", "sdb", "nvme0n1"} {
		h.give(h.to.Disk(domain.DiskSample{
			At: h.at(sec), Device: device, ReadsPerS: h.random.Float64() * 100, WritesPerS: []float64{0, 0.0003, 1.234567, 2.5}[h.random.IntN(4)],
			ReadAwaitMS: h.unknown(h.random.Float64()), WriteAwaitMS: h.unknown(h.random.Float64() * 10), QueueSize: h.unknown(h.random.Float64()),
			Utilisation: h.unknown(h.random.Float64()),
		}))
	}
}

// pidstat prints whole seconds.
func (h *host) pidstat(sec float64) {
	for i, command := range []string{"ora_lgwr_A1", "ora_lg00_A1", "oracle_4711"} {
		if h.one(5) {
			h.placed[i] = h.random.IntN(4)
		}
		p := domain.Placement{
			At: h.at(math.Floor(sec)), Uncertainty: time.Second, Interval: time.Second, PID: 70 + i, TID: 70 + i, Command: command, CPU: h.placed[i],
			CPUShare: h.unknown(h.random.Float64()), WaitShare: h.unknown(h.random.Float64() / 10), Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: -1,
		}
		if h.one(50) {
			p.CPU = -1
		}
		h.give(h.to.Placement(p))
	}
}

// recorder reads a thread 20 times a second.
func (h *host) recorder(sec float64) {
	for i := range 20 {
		p := domain.Placement{
			At: h.at(sec + float64(i)*0.05 + h.random.Float64()*0.0003), Interval: 50 * time.Millisecond, PID: 90, TID: 90, Command: "ora_lgwr_B1",
			CPU: h.placed[0], State: []byte{'S', 'R', 'D', 0}[h.random.IntN(40)/10], CPUShare: math.NaN(), WaitShare: math.NaN(),
			Exec: time.Duration(h.random.IntN(50e6)), RunDelay: time.Duration(h.random.IntN(3)) * 400 * time.Nanosecond, Voluntary: 3, Involuntary: -1, Policy: h.random.IntN(400) / 399,
		}
		if h.one(30) {
			p.Exec, p.RunDelay = -1, -1
		}
		if !h.one(60) {
			h.give(h.to.Placement(p))
		}
	}
}

// Events that no rival of LGWR's watch looks at: series drop their short rows
// before they join those of one wait.
const (
	placebo = "db file sequential read"
	gcWait  = "gc buffer busy acquire"
)

func (h *host) ash(sec float64) {
	tick := domain.Wait{At: h.at(math.Floor(sec) + 0.321), SampleID: int64(sec) + 5_000, InstID: 1, Period: time.Second, Waiting: true}
	if h.one(40) {
		tick.SampleID = -1
	}
	if h.one(20) {
		tick.InstID = 2
	}
	for i := range h.random.IntN(6) {
		w := tick
		w.SessionID, w.Serial, w.Event, w.Service = 100+i, 7, domain.EventLogFileSync, []string{"APP", "BATCH", ""}[h.random.IntN(3)]
		w.Module, w.Machine, w.Program, w.P1 = "billing", "web1", "sqlplus", 1
		w.TimeWaited = time.Duration(h.random.IntN(400_000)) * time.Microsecond
		switch h.random.IntN(12) {
		case 0:
			w.TimeWaited = 0
		case 1:
			w.TimeWaited = -1
		case 2:
			w.SessionID = -1
		case 3:
			w.Event, w.Waiting = "", false
		case 4:
			w.Event = []string{placebo, gcWait, domain.EventSYNCRemoteWrite}[h.random.IntN(3)]
		case 5:
			w.Background, w.Program, w.Event = true, fmt.Sprintf("oracle@db%d (LGWR)", w.InstID), domain.EventLogFileParallelWrite
		}
		h.give(h.to.Wait(w))
		if h.one(4) { // the same row once more, from DBA_HIST or before the fix-up
			w.Period = 10 * time.Second
			w.TimeWaited = []time.Duration{0, -1, 50 * time.Millisecond}[h.random.IntN(3)]
			if w.SessionID >= 0 && w.Event != placebo && w.Event != gcWait {
				h.give(h.to.Wait(w))
			}
		}
	}
}

func (h *host) histograms(sec float64) {
	for milli := range h.buckets {
		b := &h.buckets[milli]
		for range h.random.IntN(20) {
			k := h.random.IntN(1 + h.random.IntN(len(b)))
			b[k].Count++
			b[k].LastUpdate = h.at(sec - h.random.Float64())
		}
		if h.one(100) {
			for i := range b {
				b[i].Count = uint64(h.random.IntN(3))
			}
		}
		s := domain.HistogramSnapshot{At: h.at(sec + 0.1), InstID: 1, Event: domain.EventLogFileSync, Milli: milli == 1}
		for i := range b {
			if b[i].Count > 0 && !h.one(200) {
				s.Buckets = append(s.Buckets, b[i])
			}
		}
		h.give(h.to.Histogram(&s))
	}
}

func (h *host) sysstat(sec float64) {
	h.totals["waited"] += int64(h.random.IntN(1e6))
	if h.one(100) {
		clear(h.totals)
	}
	for i, name := range []string{"user commits", "user calls", "redo size"} {
		h.totals[name] += int64(h.random.IntN(1_000))
		if !h.one(10) {
			h.give(h.to.Counter(domain.Counter{At: h.at(sec + 0.2), InstID: 1 + i/2, Name: name, Value: h.totals[name]}))
		}
	}
	e := domain.SystemEvent{At: h.at(sec + 0.2), InstID: 1, Event: domain.EventLogFileSync, TotalWaits: h.totals["user commits"], TimeWaited: time.Duration(h.totals["waited"]) * time.Microsecond}
	if h.one(10) {
		e.TimeWaited = -1
	}
	h.give(h.to.SystemEvent(e))
}

// same is what two series must agree in: everything.
var same = cmp.Options{cmpopts.EquateNaNs(), cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() })}

// wantSameSeries holds what a builder gives, for every choice of an instance, to
// what another one does.
func wantSameSeries(t *testing.T, what string, want, got *series.Builder) {
	t.Helper()
	for i, choice := range []series.Choice{{Node: "db1", InstID: series.AnyInstID}, {Node: "db1", Instance: "A1", InstID: 1}, {Node: "db1", Instance: "A1", InstID: series.AnyInstID}} {
		wantChoices, wantWarnings, wantErr := want.Instances(choice)
		choices, warnings, err := got.Instances(choice)
		if diff := cmp.Diff([]any{wantChoices, wantWarnings, fmt.Sprint(wantErr)}, []any{choices, warnings, fmt.Sprint(err)}); diff != "" {
			t.Fatalf("%s: instances of the store (+) are not those of the records (-):\n%s", what, diff)
		}
		w, g := want.Build(choice), got.Build(choice)
		if i == 0 && (len(w.Interrupts.Spans) < 30 || len(w.CPU.Busy.Spans) < 30 || len(w.Disks) < 30 || len(w.Waits) < 30 || len(w.Histograms) < 30 ||
			len(w.Threads) < 3 || len(w.Counters) < 5 || len(w.NetRX.Spans) < 30 || len(w.System) < 30 || len(w.Devices) < 3) {
			t.Fatalf("%s: nothing to compare", what)
		}
		if diff := cmp.Diff(w, g, same...); diff != "" {
			t.Fatalf("%s: series of the store (+) are not those of the records (-):\n%s", what, diff)
		}
	}
}

// builtFrom gives a builder after records were fed to it.
func builtFrom(t *testing.T, w domain.Window, feed func(ingest.IntervalSink) error) *series.Builder {
	t.Helper()
	b := series.NewBuilder(domain.WatchLGWR(), w)
	if err := feed(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSeriesOfACollectionAreThoseOfItsRecords(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, time.March, 2, 23, 55, 0, 0, time.UTC)
	at := func(sec int) time.Time { return begin.Add(time.Duration(sec) * time.Second) }
	windows := []domain.Window{{}, {From: at(60), To: at(400)}, {From: at(100)}, {To: at(333)}}
	for seed := range uint64(4) {
		for _, o := range []store.Options{{}, {ImportRows: 100, CopyRows: 10}} {
			t.Run(fmt.Sprintf("seed %d, %d rows at once", seed, o.ImportRows), func(t *testing.T) {
				t.Parallel()
				o.URL = testdb.New(t)
				d := openStore(t, o)
				intervalsOf := func(to ingest.IntervalSink) error {
					i := series.NewIntervals(to)
					newHost(seed, begin, i).feed(t)
					return i.Flush()
				}
				importInto(t, d, "october", intervalsOf)
				importInto(t, d, "november", func(to ingest.IntervalSink) error { // of another collection: never read
					return errors.Join(
						to.Instance(domain.Instance{InstID: 1, Name: "Z", Host: "elsewhere"}),
						to.Topology(domain.Topology{Bonds: []domain.Bond{{Name: "bond1", Mode: "IEEE 802.3ad"}}, Interconnects: []string{"eth7"}}),
						to.Placement(domain.Placement{At: at(1), TID: 70, Command: "ora_lgwr_A1", CPU: 99}),
					)
				})
				src := source(t, d)
				for _, w := range windows {
					want := builtFrom(t, w, intervalsOf)
					got := builtFrom(t, w, func(to ingest.IntervalSink) error { return d.Feed(t.Context(), src, w, to) })
					wantSameSeries(t, fmt.Sprintf("window %v", w), want, got)
				}
			})
		}
	}
}

// importInto imports records of db1.
func importInto(t *testing.T, d *database, collection string, feed func(ingest.IntervalSink) error) {
	t.Helper()
	i, err := d.Import(t.Context(), collection, "db1")
	if err != nil {
		t.Fatal(err)
	}
	if err := feed(i); err != nil {
		t.Fatal(err)
	}
	if err := i.Close(t.Context(), store.CollectionNode{}); err != nil {
		t.Fatal(err)
	}
}

// source gives db1's part of the collection october.
func source(t *testing.T, d *database) store.Source {
	t.Helper()
	c, err := d.CollectionByName(t.Context(), "october")
	if err != nil {
		t.Fatal(err)
	}
	return store.Source{Node: d.node("db1"), Collection: c.ID}
}

func TestSeriesOfLiveTablesAreThoseOfTheRecords(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	begin := time.Now().UTC().Truncate(time.Second).Add(-2 * time.Hour)
	at := func(sec int) time.Time { return begin.Add(time.Duration(sec) * time.Second) }
	intervalsOf := func(to ingest.IntervalSink) error {
		i := series.NewIntervals(to)
		newHost(11, begin, i).feed(t)
		return i.Flush()
	}
	b := store.NewBatch()
	if err := intervalsOf(b); err != nil {
		t.Fatal(err)
	}
	node := d.node("db1")
	if err := d.Upsert(t.Context(), node, b); err != nil {
		t.Fatal(err)
	}
	for _, w := range []domain.Window{{From: at(-10), To: at(5_000)}, {From: at(60), To: at(400)}} {
		want := builtFrom(t, w, intervalsOf)
		got := builtFrom(t, w, func(to ingest.IntervalSink) error {
			return d.Feed(t.Context(), store.Source{Node: node}, w, to)
		})
		wantSameSeries(t, fmt.Sprintf("window %v", w), want, got)
	}
	for _, w := range []domain.Window{{}, {From: at(0)}, {To: at(0)}} {
		if err := d.Feed(t.Context(), store.Source{Node: node}, w, b); !errors.Is(err, store.ErrOpenWindow) {
			t.Errorf("window %v: got error %v, want ErrOpenWindow", w, err)
		}
	}
}

// failing is a sink that fails at the first placement.
type failing struct{ *store.Batch }

var errSink = errors.New("the sink has enough")

func (failing) Placement(domain.Placement) error { return errSink }

func TestFeedGivesTheSinksErrorAsItIs(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	begin := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	importInto(t, d, "october", func(to ingest.IntervalSink) error {
		i := series.NewIntervals(to)
		newHost(1, begin, i).feed(t)
		return i.Flush()
	})
	src := source(t, d)
	if err := d.Feed(t.Context(), src, domain.Window{}, failing{store.NewBatch()}); err != errSink { //nolint:errorlint // the very error is promised
		t.Errorf("got %v, want the sink's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Feed(ctx, src, domain.Window{}, store.NewBatch()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if err := d.Feed(t.Context(), src, domain.Window{}, store.NewBatch()); err != nil {
		t.Errorf("after an error: %v", err)
	}
}
