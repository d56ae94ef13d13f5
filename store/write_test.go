package store_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// today is noon of today, in UTC: an hour whose rows retention takes.
func today() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour) }

// gather fills a batch.
func gather(t testing.TB, fill ...func(b *store.Batch) error) *store.Batch {
	t.Helper()
	b := store.NewBatch()
	for _, f := range fill {
		if err := f(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// interrupts gives n seconds of interrupts of three CPUs, of which the second
// is unknown.
func interrupts(from time.Time, n int) func(b *store.Batch) error {
	return func(b *store.Batch) error {
		for i := range n {
			at := from.Add(time.Duration(i) * time.Second)
			err := b.InterruptSample(&domain.InterruptSample{From: at, To: at.Add(time.Second), CPUs: []int{0, 1, 2}, Counts: []int64{int64(i), -1, 7}})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func receipt(n int64) store.Receipt { return store.Receipt{Spool: [16]byte{0xaa, 15: 1}, Sequence: n} }

func (d *database) push(node store.NodeID, r store.Receipt, b *store.Batch) (stored bool) {
	d.t.Helper()
	stored, err := d.Push(d.t.Context(), node, r, b)
	if err != nil {
		d.t.Fatal(err)
	}
	return stored
}

func TestAPushIsStoredOnce(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	if !d.push(node, receipt(1), gather(t, interrupts(at, 3))) {
		t.Error("the first push was not stored")
	}
	if d.push(node, receipt(1), gather(t, interrupts(at.Add(time.Minute), 3))) {
		t.Error("the same push was stored again")
	}
	d.wantLines([]string{"3000000 3 {0,1,2,NULL,NULL,NULL,7,7,7}"}, `SELECT concat_ws(' ', length_us, interval_us, intervals, cpus, corewait_numbers(counts)) FROM interrupt_samples`)
	d.wantLines([]string{"aa000000-0000-0000-0000-000000000001 1 3"}, `SELECT spool_id || ' ' || seq || ' ' || rows FROM receipts`)
}

// A push whose rows exist in part, as two spools of one node make it: the rows
// that are there stay.
func TestAPushOfRowsThatExistIsNotPoison(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	d.push(node, receipt(1), gather(t, interrupts(at, 3)))
	if !d.push(node, receipt(2), gather(t, interrupts(at.Add(time.Second), 4))) {
		t.Error("the push was not stored")
	}
	// By hand: seconds 0 to 2 of the first push, 3 and 4 of the second, whose
	// counts are 0 to 3 for the seconds 1 to 4.
	got := newJournal()
	if err := d.Feed(t.Context(), store.Source{Node: node}, window(at, time.Minute), got); err != nil {
		t.Fatal(err)
	}
	var counts []string
	for _, l := range got.lines {
		_, l, _ = strings.Cut(l, "counts [")
		l, _, _ = strings.Cut(l, " ")
		counts = append(counts, l)
	}
	if want := []string{"0", "1", "2", "2", "3"}; !slices.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	// A run that reaches further takes the place of one that begins with it, not so
	// one that reaches less far.
	d.push(node, receipt(3), gather(t, interrupts(at, 5)))
	d.push(node, receipt(4), gather(t, interrupts(at, 2)))
	d.wantLines([]string{"5000000", "4000000"}, `SELECT length_us::text FROM interrupt_samples ORDER BY at`)
	if d.push(node, receipt(2), gather(t, interrupts(at, 9))) {
		t.Error("the push was stored twice")
	}
}

func TestOneOfTwoPushesOfTheSameReceiptIsStored(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	const pushers = 16
	var stored [pushers]bool
	var failed [pushers]error
	var all sync.WaitGroup
	for i := range pushers {
		all.Go(func() {
			stored[i], failed[i] = d.Push(t.Context(), node, receipt(1), gather(t, interrupts(at.Add(time.Duration(i)*time.Hour/8), 3)))
		})
	}
	all.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range stored {
		if s {
			n++
		}
	}
	if n != 1 || d.count("interrupt_samples") != 1 {
		t.Errorf("%d of %d pushes were stored, with %d rows", n, pushers, d.count("interrupt_samples"))
	}
}

func TestRowsOutsideOfWhatIsKeptAreRefused(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, now := d.node("db1"), time.Now().UTC()
	for _, tc := range []struct {
		name string
		at   time.Time
		rows int
	}{
		{"older than 14 days", now.Add(-14*24*time.Hour - time.Minute), 3},
		{"over two days in the future", now.Add(48*time.Hour + time.Minute), 3},
		{"the oldest of all is too old", now.Add(-14*24*time.Hour - 1500*time.Millisecond), 2},
	} {
		_, err := d.Push(t.Context(), node, receipt(1), gather(t, interrupts(tc.at, 3)))
		var outside *store.OutsideRetentionError
		if !errors.Is(err, store.ErrOutsideRetention) || !errors.As(err, &outside) || outside.Rows != tc.rows || !outside.First.Equal(tc.at.Truncate(time.Microsecond)) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if n := d.count("receipts"); n != 0 {
		t.Errorf("%d receipts of refused pushes", n)
	}
	// A gap has no day.
	gap := func(b *store.Batch) error {
		return b.Gap(domain.Gap{Source: "interrupts", From: now.AddDate(-1, 0, 0), To: now.AddDate(-1, 0, 1), Reason: domain.GapMissing})
	}
	if !d.push(node, receipt(1), gather(t, gap)) || d.count("coverage_gaps") != 1 {
		t.Error("a gap of last year was not stored")
	}
}

// The partition of a day can go while the store believes it to be there.
func TestAPartitionThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, at := d.node("db1"), today()
	d.push(node, receipt(1), gather(t, interrupts(at, 1)))
	d.exec(`DROP TABLE ` + at.Format("interrupt_samples_p20060102"))
	d.push(node, receipt(2), gather(t, interrupts(at, 2)))
	d.wantLines([]string{"2000000"}, `SELECT length_us::text FROM interrupt_samples`)
}

// everyKind gives one record of each kind.
func everyKind(at time.Time) func(b *store.Batch) error {
	nan, accounted := math.NaN(), true
	end := at.Add(time.Second)
	line := func(irq, device string, class domain.DeviceClass) domain.Line {
		return domain.Line{IRQ: irq, Device: device, Class: class}
	}
	return func(b *store.Batch) error {
		return errors.Join(
			b.InterruptSample(&domain.InterruptSample{From: at, To: end, CPUs: []int{0, 2}, Counts: []int64{5, 3_000_000_000}, Wrapped: 1, Implausible: 2}),
			b.DeviceSample(&domain.DeviceSample{From: at, To: at.Add(10 * time.Second), Observed: 9 * time.Second, Untracked: 4, Gains: []domain.LineGain{
				{Line: line("120", "ens3f0", domain.ClassNetwork), CPU: 28, Count: 42}, {Line: line("50", "", domain.ClassOther), CPU: 0, Count: 1},
			}}),
			b.SoftirqSample(&domain.SoftirqSample{From: at, To: end, Name: "NET_RX", CPUs: []int{0, 1}, Counts: []int64{9, -1}, MaxPerS: []int64{9, 0}}),
			b.SoftirqSample(&domain.SoftirqSample{From: at, To: end, Name: "TIMER", CPUs: []int{0, 1}, Counts: []int64{1, 2}}),
			b.CPU(domain.CPUSample{At: end, Interval: time.Second, CPU: domain.AllCPUs, User: 0.1, Nice: 0.05, System: nan, IOWait: 0, IRQ: 0, SoftIRQ: 0, Steal: 0, Idle: 0.1234567}),
			b.CPU(domain.CPUSample{At: end, Interval: time.Second, CPU: 0, User: 0.25, Nice: nan, System: 0.5, IOWait: nan, IRQ: 0.00004, SoftIRQ: 0.00006, Steal: 0, Idle: 0.25}),
			b.CPU(domain.CPUSample{At: end, Interval: time.Second, CPU: 1, User: 0, Nice: nan, System: 0, IOWait: nan, IRQ: nan, SoftIRQ: nan, Steal: 0, Idle: 1, Peaks: &domain.CPUPeaks{IRQSoftIRQ: 0.5, Steal: 0, Busy: nan}}),
			b.CPU(domain.CPUSample{At: end, Interval: time.Second, CPU: 2, Offline: true}),
			b.System(domain.SystemSample{At: end, Interval: time.Second, RunQueue: 3.256, RunQueueMax: 9, Blocked: nan, SwapInPerS: 0, SwapOutPerS: 12.5, InterruptsPerS: 1e10, ContextSwitchesPerS: 7, User: 0.5, System: nan, Idle: 0.5, IOWait: nan, Steal: 0,
				TimeSqueeze: 3, PSICPU: 1500 * time.Microsecond, PSIIO: 0, PSIMemory: -1}),
			b.Disk(domain.DiskSample{At: end, Interval: time.Second, Device: "sda", ReadsPerS: 0.0017, WritesPerS: 2, ReadAwaitMS: nan, WriteAwaitMS: 0.5, QueueSize: 1.5, Utilisation: 0.75}),
			b.Disk(domain.DiskSample{At: end, Interval: time.Second, Device: "sdb", ReadsPerS: nan, WritesPerS: 0, ReadAwaitMS: 1, WriteAwaitMS: nan, QueueSize: nan, Utilisation: nan}),
			b.Placement(domain.Placement{At: at, TID: 7, Command: "ora_lgwr_X", CPU: 28, State: 'S', CPUShare: nan, WaitShare: nan, Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: 0}),
			b.Placement(domain.Placement{At: at.Add(50 * time.Millisecond), TID: 7, Command: "ora_lgwr_X", CPU: 29, State: 'R', CPUShare: nan, WaitShare: nan, Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: 0}),
			b.Wait(domain.Wait{At: at, SampleID: 77, InstID: 1, SessionID: 12, Serial: 3, Waiting: true, Event: domain.EventLogFileSync, TimeWaited: 120 * time.Millisecond, Period: time.Second, SQLID: "abc", Module: "batch", P1: 5}),
			b.Wait(domain.Wait{At: at, SampleID: -5, InstID: -7, SessionID: -1, Event: "", TimeWaited: -1}),
			b.Wait(domain.Wait{At: at, SampleID: -5, InstID: -7, SessionID: -1, Event: "", TimeWaited: 0}),
			b.Histogram(&domain.HistogramSnapshot{At: at, InstID: 1, Event: domain.EventLogFileSync, Buckets: []domain.HistogramBucket{{Below: 2 * time.Microsecond, Count: 4}}}),
			b.SystemEvent(domain.SystemEvent{At: at, InstID: 1, Event: "log file sync", TotalWaits: 10, TimeWaited: time.Millisecond}),
			b.Counter(domain.Counter{At: at, InstID: 1, Name: "user commits", Value: 1 << 40}),
			b.Gap(domain.Gap{Source: "interrupts", Reason: domain.GapUntimed}),
			b.Gap(domain.Gap{Source: "interrupts", Reason: domain.GapUntimed}),
			b.NodeEvent(domain.NodeEvent{At: at, Kind: domain.EventBondFailover, Subject: "bond1", Detail: "ens3f0 -> ens3f1"}),
			b.NodeEvent(domain.NodeEvent{At: at, Kind: domain.EventBondFailover, Subject: "bond1", Detail: "told again"}),
			b.NodeEvent(domain.NodeEvent{Kind: domain.EventWatchEnded, Subject: "ora_lgwr_X", Detail: "at an unknown time"}),
			b.Instance(domain.Instance{InstID: 1, Name: "ORDP1", Host: "db1"}),
			b.TopologyFrom(at, domain.Topology{
				CPUs:          []domain.CPU{{ID: 0, Socket: 0, Core: 0, Node: -1, Online: true}, {ID: 1, Socket: -1, Core: -1, Node: 3}},
				Bonds:         []domain.Bond{{Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "ens3f0", Slaves: []string{"ens3f0", "ens3f1"}}},
				Ports:         []domain.Port{{Name: "ens3f0", Driver: "ixgbe", PCIAddress: "0000:3b:00.0", Node: 3, IRQs: []int{120}}},
				Interconnects: []string{"bond1"}, Affinity: map[int][]int{120: {28}}, Fixed: []int{9, 120}, Kernel: "5.15.0-304.el8uek", InterruptTimeAccounted: &accounted,
			}),
		)
	}
}

// The text of rows, written by hand from the records of everyKind by the rules
// of the schema.
func TestRowsOfEveryKindAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		node, at := d.node("db1"), today()
		d.push(node, receipt(1), gather(t, everyKind(at)))
		for _, tc := range []struct{ query, want string }{
			// 3,000,000,000 interrupts in a second are beyond int4, and beyond belief.
			{`SELECT concat_ws(' ', at = $1, length_us, interval_us IS NULL, intervals, cpus, corewait_numbers(counts), wrapped, implausible) FROM interrupt_samples`, "t 1000000 t 1 {0,2} {5,NULL} 1 2"},
			{`SELECT concat_ws(' ', at = $1, length_us, observed_us, (SELECT string_agg(irq || '/' || device || '/' || class || ':' || cpu || ':' || count, ' ')
				FROM unnest(corewait_numbers(line_ids), corewait_numbers(cpus), corewait_numbers(counts)) AS g (line_id, cpu, count) JOIN interrupt_lines USING (line_id)), untracked) FROM device_samples`,
				"t 10000000 9000000 120/ens3f0/1:28:42 50//0:0:1 4"},
			{`SELECT string_agg(concat_ws(' ', name, at = $1, length_us, cpus IS NULL, corewait_numbers(counts), corewait_numbers(max_per_s)), ';' ORDER BY name) FROM softirq_samples`,
				"NET_RX t 1000000 t {9,NULL} {9,0};TIMER t 1000000 t {1,2}"},
			{`SELECT concat_ws(' ', at = $1, length_us, cpus IS NULL, corewait_numbers(user_bp), corewait_numbers(system_bp), corewait_numbers(irq_bp),
				corewait_numbers(softirq_bp), corewait_numbers(steal_bp), iowait_bp IS NULL, corewait_numbers(rest_bp),
				corewait_numbers(irq_softirq_max_bp), corewait_numbers(steal_max_bp), busy_max_bp IS NULL) FROM cpu_samples`,
				"t 1000000 t {2500,0} {5000,0} {0,NULL} {1,NULL} {} t {-1,0} {NULL,5000} {NULL,0} t"},
			{`SELECT concat_ws(' ', host_user_ppm, host_system_ppm IS NULL, host_irq_ppm, host_idle_ppm) FROM cpu_samples WHERE at = $1`, "150000 t 0 123457"},
			{`SELECT concat_ws(' ', at = $1, run_queue_x100, run_queue_max, blocked_x100 IS NULL, swap_in_kib_per_s, swap_out_kib_per_s, interrupts_per_s,
				context_switches_per_s, user_ppm, system_ppm IS NULL, idle_ppm, iowait_ppm IS NULL, steal_ppm, time_squeeze, psi_cpu_us, psi_io_us, psi_memory_us IS NULL) FROM system_samples`,
				"t 326 9 t 0 13 10000000000 7 500000 t 500000 t 0 3 1500 0 t"},
			{`SELECT concat_ws(' ', at = $1, (SELECT string_agg(name, ',') FROM unnest(corewait_numbers(device_ids)) AS i (name_id) JOIN names USING (name_id)), corewait_numbers(reads_per_ks),
				corewait_numbers(writes_per_ks), corewait_numbers(read_await_us), corewait_numbers(write_await_us), corewait_numbers(queue_x1000),
				corewait_numbers(utilisation_bp)) FROM disk_samples`,
				"t sda,sdb {2,NULL} {2000,0} {NULL,1000} {500,NULL} {1500,NULL} {7500,NULL}"},
			{`SELECT concat_ws(' ', name, tid, at = $1, until - at, uncertainty_us, period_us, jitter_us IS NULL, corewait_numbers(run_samples),
				corewait_numbers(run_cpu), corewait_numbers(states), policy,
				exec_us IS NULL) FROM placement_samples JOIN names ON name_id = command_id`,
				"ora_lgwr_X 7 t 00:00:00.05 0 50000 t {1,1} {28,29} {0,1} 0 t"},
			{`SELECT string_agg(concat_ws(' ', at = $1, inst_id, sample_id, session_id, serial, coalesce(nullif(name, ''), '-'), background, waiting, time_waited_us, period_us,
				sql_id, program, module, p1), ';' ORDER BY sample_id DESC, session_id DESC) FROM waits JOIN names ON name_id = event_id`,
				"t 1 77 12 3 log file sync f t 120000 1000000 abc batch 5;t -1 -1 -1 0 - f f 0;t -1 -1 -2 0 - f f 0 0"},
			{`SELECT concat_ws(' ', inst_id, name, milli, at = $1, until = $1, below_us, counts, last_update_us IS NULL) FROM histograms JOIN names ON name_id = event_id`,
				"1 log file sync f t t {2} {4} t"},
			{`SELECT concat_ws(' ', inst_id, at = $1, (SELECT string_agg(name || '=' || value, ',' ORDER BY name COLLATE "C") FROM unnest(name_ids, values) AS v (name_id, value)
				JOIN names USING (name_id))) FROM counters`,
				"1 t event:log file sync:time_us=1000,event:log file sync:waits=10,user commits=1099511627776"},
			{`SELECT concat_ws(' ', source, at, until, reason, events) FROM coverage_gaps WHERE $1::timestamptz IS NOT NULL`, "interrupts -infinity -infinity untimed 2"},
			{`SELECT concat_ws(' ', at = $1, kind, subject, detail) FROM node_events`, "t bond-failover bond1 ens3f0 -> ens3f1"},
			{`SELECT concat_ws(' ', inst_id, name, host) FROM instances WHERE $1::timestamptz IS NOT NULL`, "1 ORDP1 db1"},
			{`SELECT concat_ws(' ', at = $1, cores_inferred, interconnects, kernel, interrupt_time_accounted) FROM topology`, "t f {bond1} 5.15.0-304.el8uek t"},
			{`SELECT string_agg(concat_ws(' ', cpu, socket, core, numa_node, online), ';' ORDER BY cpu) FROM topology_cpus WHERE at = $1`, "0 0 0 t;1 3 f"},
			{`SELECT concat_ws(' ', port, driver, pci_address, numa_node, irqs) FROM topology_ports WHERE at = $1`, "ens3f0 ixgbe 0000:3b:00.0 3 {120}"},
			{`SELECT concat_ws(' ', bond, mode, active_slave, slaves) FROM topology_bonds WHERE at = $1`, "bond1 fault-tolerance (active-backup) ens3f0 {ens3f0,ens3f1}"},
			{`SELECT string_agg(concat_ws(' ', irq, cpus, fixed), ';' ORDER BY irq) FROM topology_irqs WHERE at = $1`, "9 t;120 {28} t"},
		} {
			if got := strings.Join(d.lines(tc.query, at), "|"); got != tc.want {
				t.Errorf("%.60s...:\n got %s\nwant %s", tc.query, got, tc.want)
			}
		}
		// Another push of the same rows goes through staging and changes nothing.
		d.push(node, receipt(2), gather(t, everyKind(at)))
		for _, table := range liveTables[:8] {
			want := 1
			switch table {
			case "softirq_samples":
				want = 2
			case "waits":
				want = 3
			}
			if n := d.count(table); n != want {
				t.Errorf("%s: %d rows, want %d", table, n, want)
			}
		}
	})
}
