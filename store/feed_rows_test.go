package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// journal notes what it is given, one line a record.
type journal struct {
	*store.Batch

	lines []string
}

func newJournal() *journal { return &journal{Batch: store.NewBatch()} }

func (j *journal) note(format string, args ...any) error {
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
	return nil
}

// hm gives an instant as the tests below write it.
func hm(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.Format("15:04:05.999999")
}

func (j *journal) Instance(i domain.Instance) error {
	return j.note("instance %d %s on %s", i.InstID, i.Name, i.Host)
}

func (j *journal) InterruptSample(s *domain.InterruptSample) error {
	return j.note("interrupts %s to %s: CPUs %v counts %v wrapped %d implausible %d", hm(s.From), hm(s.To), s.CPUs, s.Counts, s.Wrapped, s.Implausible)
}

func (j *journal) DeviceSample(s *domain.DeviceSample) error {
	return j.note("devices %s to %s: %v in %v untracked %d", hm(s.From), hm(s.To), s.Gains, s.Observed, s.Untracked)
}

func (j *journal) SoftirqSample(s *domain.SoftirqSample) error {
	return j.note("softirq %s %s to %s: CPUs %v counts %v most %v", s.Name, hm(s.From), hm(s.To), s.CPUs, s.Counts, s.MaxPerS)
}

func (j *journal) Gap(g domain.Gap) error {
	return j.note("gap of %s %s to %s: %s", g.Source, hm(g.From), hm(g.To), g.Reason)
}

func (j *journal) CPU(s domain.CPUSample) error {
	peaks := ""
	if s.Peaks != nil {
		peaks = fmt.Sprintf(" peaks %v", *s.Peaks)
	}
	return j.note("CPU %d to %s in %v: %v %v %v %v %v %v %v%s", s.CPU, hm(s.At), s.Interval, s.User, s.System, s.IRQ, s.SoftIRQ, s.Steal, s.IOWait, s.Idle, peaks)
}

func (j *journal) System(s domain.SystemSample) error {
	return j.note("system to %s in %v: %v %v %v %v %v %v %v %v %v %v %v, most %v squeezed %v pressure %v %v %v", hm(s.At), s.Interval, s.RunQueue, s.Blocked,
		s.SwapInPerS, s.SwapOutPerS, s.InterruptsPerS, s.ContextSwitchesPerS, s.User, s.System, s.Idle, s.IOWait, s.Steal,
		s.RunQueueMax, s.TimeSqueeze, s.PSICPU, s.PSIIO, s.PSIMemory)
}

func (j *journal) Disk(d domain.DiskSample) error {
	return j.note("disk %s to %s in %v: %v %v %v %v %v %v", d.Device, hm(d.At), d.Interval, d.ReadsPerS, d.WritesPerS, d.ReadAwaitMS, d.WriteAwaitMS, d.QueueSize, d.Utilisation)
}

func (j *journal) Placement(p domain.Placement) error {
	return j.note("placement %s/%d %s+%v: CPU %d %q share %v %v in %v exec %v delay %v switches %d %d policy %d", p.Command, p.TID, hm(p.At), p.Uncertainty,
		p.CPU, string(rune(p.State)), p.CPUShare, p.WaitShare, p.Interval, p.Exec, p.RunDelay, p.Voluntary, p.Involuntary, p.Policy)
}

func (j *journal) Histogram(s *domain.HistogramSnapshot) error {
	buckets := ""
	for _, b := range s.Buckets {
		buckets += fmt.Sprintf(" %v:%d@%s", b.Below, b.Count, hm(b.LastUpdate))
	}
	return j.note("histogram %d %s milli %t %s:%s", s.InstID, s.Event, s.Milli, hm(s.At), buckets)
}

func (j *journal) SystemEvent(e domain.SystemEvent) error {
	return j.note("event %d %s %s: %d %v", e.InstID, e.Event, hm(e.At), e.TotalWaits, e.TimeWaited)
}

func (j *journal) Counter(c domain.Counter) error {
	return j.note("counter %d %s %s: %d", c.InstID, c.Name, hm(c.At), c.Value)
}

func (j *journal) Wait(w domain.Wait) error {
	return j.note("wait %d %s sample %d session %d,%d %q background %t waiting %t %v of %v %s %s %s %s %s %d %d %d", w.InstID, hm(w.At), w.SampleID, w.SessionID, w.Serial,
		w.Event, w.Background, w.Waiting, w.TimeWaited, w.Period, w.SQLID, w.Program, w.Module, w.Machine, w.Service, w.P1, w.P2, w.P3)
}

// Rows written by hand, and the records that they stand for, read by eye.
func TestFeedGivesTheRecordsThatRowsStandFor(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node, other := d.node("db1"), d.node("db2")
	day := utc(t, "2026-03-02 00:00:00")
	d.partitions(day, day)
	d.exec(`INSERT INTO names (name_id, name) VALUES (101, 'ora_lgwr_X'), (102, 'log file sync'), (103, 'user commits'), (104, 'sda'), (105, 'sdb'),
		(106, 'event:log file sync:waits'), (107, 'event:log file sync:time_us')`)
	d.exec(`INSERT INTO interrupt_lines VALUES ($1, 1, '40', 'eth0', 1), ($1, 2, '50', 'nvme0', 2), ($2, 1, '9', 'eth7', 1)`, node, other)
	d.exec(`INSERT INTO instances (node_id, inst_id, name, host, database, first_seen, last_seen) VALUES ($1, 2, 'X2', 'db2', NULL, '2026-01-01Z', '2026-03-01Z'), ($1, 1, 'X1', 'db1', NULL, '2026-01-01Z', '2026-03-02Z'),
		($2, 1, 'Y1', 'db2', NULL, '2026-01-01Z', '2026-03-02Z')`, node, other)
	for _, row := range []struct{ table, values string }{
		{"interrupt_samples", `'2026-03-02 10:00:01Z', 1000000, NULL, 1, NULL, '[10,NULL,0]', 1, 2`},
		{"interrupt_samples", `'2026-03-02 10:00:00Z', 1000000, NULL, 1, '{0,5}', '[7,8]', NULL, NULL`},
		// Runs of two spools that overlap: 2 s in pieces of 0.5 and 1.5 s, and 3 s in equal ones.
		{"interrupt_samples", `'2026-03-02 10:00:10Z', 2000000, '[500000,1500000]', 2, NULL, '[1,3,2,4]', NULL, NULL`},
		{"interrupt_samples", `'2026-03-02 10:00:10.25Z', 3000000, NULL, 3, '{7}', '[5,NULL,6]', NULL, NULL`},
		// The same intervals in rows that were cut in different places.
		{"interrupt_samples", `'2026-03-02 10:00:20Z', 3000000, NULL, 3, NULL, '[1,2,3]', NULL, NULL`},
		{"interrupt_samples", `'2026-03-02 10:00:22Z', 2000000, NULL, 2, NULL, '[3,4]', NULL, NULL`},
		{"interrupt_samples", `'2026-03-02 10:00:30Z', 1000000, NULL, 1, '{}', '[]', NULL, NULL`},
		{"device_samples", `'2026-03-02 10:00:00Z', 10000000, 9000000, '[1,2,2]', '[0,0,5]', '[10,20,30]', NULL`},
		{"device_samples", `'2026-03-02 10:00:10Z', 10000000, 10000000, '[]', '[]', '[]', 4`},
		{"softirq_samples (node_id, name, at, length_us, cpus, counts, max_per_s)", `'NET_RX', '2026-03-02 10:00:00Z', 5000000, NULL, '[1,2]', '[1,NULL]'`},
		{"softirq_samples (node_id, name, at, length_us, cpus, counts, max_per_s)", `'NET_RX', '2026-03-02 10:00:05Z', 5000000, NULL, '[3]', NULL`},
		{"coverage_gaps", `'interrupts', '-infinity', '-infinity', 'untimed', 3`},
		{"coverage_gaps", `'interrupts', '2026-03-02 10:00:02Z', '2026-03-02 10:00:02Z', 'overlap', 2`},
		{"coverage_gaps", `'interrupts', '2026-03-02 10:00:03Z', '2026-03-02 10:05:00Z', 'missing', 297`},
		{"cpu_samples", `'2026-03-02 10:00:00Z', 5000000, '{1,3}', '[100,200]', NULL, '[NULL,1]', '[0,0]', '[0,0]', '[0,0]', '[0,0]', '[NULL,50]', NULL, '[NULL,60]',
			NULL, NULL, NULL, NULL, NULL, NULL, NULL`},
		{"cpu_samples", `'2026-03-02 10:00:05Z', 5000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[7500]', NULL, NULL, NULL, 123456, 0, NULL, 1, 2, 3, 4`},
		{"cpu_samples", `'2026-03-02 10:00:10Z', 5000000, NULL, '[]', NULL, '[]', '[]', '[]', '[]', '[0,NULL]', '[]', NULL, '[]',
			NULL, NULL, NULL, NULL, NULL, NULL, NULL`},
		{"system_samples", `'2026-03-02 10:00:00Z', 1000000, 150, 9, NULL, 3, 0, 12345, 99999999999, 10, 20, 30, 40, NULL, 1, 2, 3, 4`},
		{"system_samples", `'2026-03-02 10:00:01Z', 1000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL`},
		{"disk_samples", `'2026-03-02 10:00:00Z', 1000000, '[104,105]', '[1500,0]', '[1,NULL]', '[250,NULL]', '[1,2]', NULL, '[10000,NULL]'`},
		{"placement_samples", `101, 77, '2026-03-02 10:00:00Z', '2026-03-02 10:00:00.1Z', 0, 50000, '[0,-3,4]', '[2,1]', '[3,9]', '[0,0,NULL]', 1,
			'[50000,NULL,50000]', NULL, NULL, '[]', '[5,NULL,7]', '[]', NULL, '[]'`},
		{"placement_samples", `101, 78, '2026-03-02 10:00:00Z', '2026-03-02 10:00:00.1Z', 0, 50000, '[0,-3,4]', '[3]', '[3]', NULL, 1,
			NULL, 49000, NULL, '[]', '[]', '[]', NULL, '[]'`},
		{"waits", `'2026-03-02 10:00:00.321Z', 1, 5000, 100, 7, 102, false, true, 120000, 1000000, 'abc', 'p', 'm', 'web1', 'APP', 1, 2, 3`},
		{"waits", `'2026-03-02 10:00:01.321Z', -1, -1, -2, 0, 0, true, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`},
		{"histograms", `1, 102, false, '2026-03-02 10:00:00Z', '2026-03-02 10:00:02Z', '{1024,2048}', '{5,6}', '{1772445599000000,0}',
			'{1000000,2000000}', '{1,1}', '{0,1}', '{7,8}', '{1772445601500000,0}'`},
		{"histograms", `1, 102, true, '2026-03-02 10:00:00Z', '2026-03-02 10:00:00Z', '{1000}', '{5}', NULL, NULL, NULL, NULL, NULL, NULL`},
		{"counters", `1, '2026-03-02 10:00:00Z', 4711, '2026-03-02 10:00:05Z', '{103,106,107}', '{5000000}', '{100,7,900,-100,1,NULL}'`},
	} {
		d.exec(`INSERT INTO `+row.table+` VALUES ($1, `+row.values+`)`, node)
	}
	d.oneOfEach(other, utc(t, "2026-03-02 10:00:00"))

	got := newJournal()
	w := domain.Window{From: utc(t, "2026-03-02 09:00:00"), To: utc(t, "2026-03-02 11:00:00")}
	if err := d.Feed(t.Context(), store.Source{Node: node}, w, got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"instance 2 X2 on db2",
		"instance 1 X1 on db1",
		"interrupts 10:00:00 to 10:00:01: CPUs [0 5] counts [7 8] wrapped 0 implausible 0",
		"interrupts 10:00:01 to 10:00:02: CPUs [0 1 2] counts [10 -1 0] wrapped 1 implausible 2",
		"interrupts 10:00:10 to 10:00:10.5: CPUs [0 1] counts [1 2] wrapped 0 implausible 0",
		"interrupts 10:00:10.25 to 10:00:11.25: CPUs [7] counts [5] wrapped 0 implausible 0",
		"interrupts 10:00:10.5 to 10:00:12: CPUs [0 1] counts [3 4] wrapped 0 implausible 0",
		"interrupts 10:00:11.25 to 10:00:12.25: CPUs [7] counts [-1] wrapped 0 implausible 0",
		"interrupts 10:00:12.25 to 10:00:13.25: CPUs [7] counts [6] wrapped 0 implausible 0",
		"interrupts 10:00:20 to 10:00:21: CPUs [0] counts [1] wrapped 0 implausible 0",
		"interrupts 10:00:21 to 10:00:22: CPUs [0] counts [2] wrapped 0 implausible 0",
		"interrupts 10:00:22 to 10:00:23: CPUs [0] counts [3] wrapped 0 implausible 0",
		"interrupts 10:00:23 to 10:00:24: CPUs [0] counts [4] wrapped 0 implausible 0",
		"interrupts 10:00:30 to 10:00:31: CPUs [] counts [] wrapped 0 implausible 0",
		"devices 10:00:00 to 10:00:10: [{{40 eth0 network} 0 10} {{50 nvme0 storage} 0 20} {{50 nvme0 storage} 5 30}] in 9s untracked 0",
		"devices 10:00:10 to 10:00:20: [] in 10s untracked 4",
		"softirq NET_RX 10:00:00 to 10:00:05: CPUs [0 1] counts [1 2] most [1 -1]",
		"softirq NET_RX 10:00:05 to 10:00:10: CPUs [0] counts [3] most []",
		"gap of interrupts unknown to unknown: untimed",
		"gap of interrupts unknown to unknown: untimed",
		"gap of interrupts unknown to unknown: untimed",
		"gap of interrupts 10:00:02 to 10:00:02: overlap",
		"gap of interrupts 10:00:02 to 10:00:02: overlap",
		"gap of interrupts 10:00:03 to 10:05:00: missing",
		"CPU 1 to 10:00:05 in 5s: 0.01 NaN NaN 0 0 0 0.99",
		"CPU 3 to 10:00:05 in 5s: 0.02 NaN 0.0001 0 0 0 0.9799 peaks {0.005 NaN 0.006}",
		"CPU -1 to 10:00:10 in 5s: 0.123456 0 NaN 1e-06 2e-06 3e-06 4e-06",
		"CPU 0 to 10:00:10 in 5s: NaN NaN NaN NaN NaN NaN 0.25",
		"CPU 0 to 10:00:15 in 5s: 0 NaN 0 0 0 0 1 peaks {0 NaN 0}",
		"CPU 1 to 10:00:15 in 5s: 0 NaN 0 0 0 0 NaN peaks {0 NaN 0}",
		"system to 10:00:01 in 1s: 1.5 NaN 3 0 12345 9.9999999999e+10 1e-05 2e-05 3e-05 4e-05 NaN, most 9 squeezed 1 pressure 2µs 3µs 4µs",
		"system to 10:00:02 in 1s: NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN NaN, most NaN squeezed NaN pressure -1ns 0s -1ns",
		"disk sda to 10:00:01 in 1s: 1.5 0.001 0.25 0.001 NaN 1",
		"disk sdb to 10:00:01 in 1s: 0 NaN NaN 0.002 NaN NaN",
		`placement ora_lgwr_X/77 10:00:00+0s: CPU 3 "S" share NaN 0 in 50ms exec 5µs delay 0s switches -1 0 policy 1`,
		`placement ora_lgwr_X/77 10:00:00.049997+0s: CPU 3 "S" share NaN 0 in 0s exec -1ns delay 0s switches -1 0 policy 1`,
		`placement ora_lgwr_X/77 10:00:00.100004+0s: CPU 9 "\x00" share NaN 0 in 50ms exec 7µs delay 0s switches -1 0 policy 1`,
		`placement ora_lgwr_X/78 10:00:00+0s: CPU 3 "\x00" share NaN 0 in 49ms exec 0s delay 0s switches -1 0 policy 1`,
		`placement ora_lgwr_X/78 10:00:00.049997+0s: CPU 3 "\x00" share NaN 0 in 49.997ms exec 0s delay 0s switches -1 0 policy 1`,
		`placement ora_lgwr_X/78 10:00:00.100004+0s: CPU 3 "\x00" share NaN 0 in 50.007ms exec 0s delay 0s switches -1 0 policy 1`,
		"histogram 1 log file sync milli false 10:00:00: 1.024ms:5@09:59:59 2.048ms:6@unknown",
		"histogram 1 log file sync milli false 10:00:01: 1.024ms:5@09:59:59 2.048ms:6@unknown",
		"histogram 1 log file sync milli false 10:00:02: 1.024ms:7@10:00:01.5 2.048ms:8@unknown",
		"histogram 1 log file sync milli true 10:00:00: 1ms:5@unknown",
		"counter 1 user commits 10:00:00: 100",
		"event 1 log file sync 10:00:00: 7 900µs",
		"counter 1 user commits 10:00:05: 0",
		"event 1 log file sync 10:00:05: 8 -1ns",
		`wait 1 10:00:00.321 sample 5000 session 100,7 "log file sync" background false waiting true 120ms of 1s abc p m web1 APP 1 2 3`,
		`wait -1 10:00:01.321 sample -1 session -1,0 "" background true waiting false -1ns of 0s      0 0 0`,
	}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Error(diff)
	}
}

func TestFeedGivesWhatTouchesTheWindow(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	from := utc(t, "2026-03-02 10:00:00")
	d.partitions(from, from)
	d.exec(`INSERT INTO names (name_id, name) VALUES (101, 'ora_lgwr_X'), (102, 'log file sync')`)
	for _, at := range []string{"08:59:59", "09:00:00", "09:59:58", "09:59:59", "10:00:00", "10:00:09", "10:00:10", "10:00:11"} {
		length := time.Second
		if strings.HasPrefix(at, "08") || strings.HasPrefix(at, "09:00") {
			length = 61 * time.Minute // the live tables are not searched further back than an hour
		}
		d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES ($1, $2, $3, 1, '[1]')`, node, "2026-03-02 "+at+"Z", length.Microseconds())
		d.exec(`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting) VALUES ($1, $2, 1, 1, 1, 1, 102, false, true)`, node, "2026-03-02 "+at+"Z")
	}
	// Runs of half seconds, of each of which one overlaps the window.
	d.exec(`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES ($1, '2026-03-02 09:59:58.25Z', 2000000, 4, '[1,2,3,4]'),
		($1, '2026-03-02 10:00:09.75Z', 2000000, 4, '[1,2,3,4]')`, node)
	// A minute of samples, of which those of the window are given.
	d.exec(`INSERT INTO placement_samples (node_id, command_id, tid, at, until, uncertainty_us, period_us, run_samples, run_cpu)
		VALUES ($1, 101, 7, '2026-03-02 09:59:05Z', '2026-03-02 10:00:05Z', 0, 30000000, '[3]', '[1]'),
		($1, 101, 7, '2026-03-02 10:00:09Z', '2026-03-02 10:00:39Z', 0, 30000000, '[2]', '[2]')`, node)
	got := newJournal()
	if err := d.Feed(t.Context(), store.Source{Node: node}, window(from, 10*time.Second), got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range got.lines {
		l, _, _ = strings.Cut(l, ": ")
		l, _, _ = strings.Cut(l, " sample")
		lines = append(lines, l)
	}
	want := []string{
		"interrupts 09:00:00 to 10:01:00", "interrupts 09:59:59 to 10:00:00", "interrupts 09:59:59.75 to 10:00:00.25", "interrupts 10:00:00 to 10:00:01",
		"interrupts 10:00:09 to 10:00:10", "interrupts 10:00:09.75 to 10:00:10.25", "interrupts 10:00:10 to 10:00:11", // touches: the host's shares count by their ends
		"placement ora_lgwr_X/7 10:00:05+0s", "placement ora_lgwr_X/7 10:00:09+0s",
		"wait 1 10:00:00", "wait 1 10:00:09",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// topologies keeps topologies.
type topologies struct {
	*store.Batch

	list []domain.Topology
}

func (s *topologies) Topology(t domain.Topology) error {
	s.list = append(s.list, t)
	return nil
}

func TestFeedGivesTheTopologyThatWasValid(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	node := d.node("db1")
	bond := func(mode string) domain.Topology {
		return domain.Topology{Bonds: []domain.Bond{{Name: "bond1", Mode: mode, Slaves: []string{"eth8", "eth9"}}}}
	}
	from := func(src store.Source, w domain.Window) []domain.Topology {
		t.Helper()
		got := &topologies{Batch: store.NewBatch()}
		if err := d.Feed(t.Context(), src, w, got); err != nil {
			t.Fatal(err)
		}
		return got.list
	}
	of := func(w domain.Window) []domain.Topology {
		t.Helper()
		return from(store.Source{Node: node}, w)
	}
	noon := utc(t, "2026-03-02 12:00:00")
	if got := of(window(noon, time.Hour)); got != nil {
		t.Errorf("before any: %v", got)
	}
	b := store.NewBatch()
	for _, err := range []error{b.Topology(bond("unknown")), b.TopologyFrom(noon, bond("active-backup")), b.TopologyFrom(noon.Add(time.Hour), bond("802.3ad"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Upsert(t.Context(), node, b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		w    domain.Window
		want []domain.Topology
	}{
		{"before the first time", window(noon.Add(-time.Hour), time.Minute), []domain.Topology{bond("unknown")}},
		{"over the first time", window(noon.Add(-time.Hour), 61*time.Minute), []domain.Topology{bond("unknown"), bond("active-backup")}},
		{"from a time on", window(noon, time.Hour), []domain.Topology{bond("active-backup")}},
		{"later", window(noon.Add(2*time.Hour), time.Hour), []domain.Topology{bond("802.3ad")}},
	} {
		if diff := cmp.Diff(c.want, of(c.w)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	accounted := false
	whole := domain.Topology{
		CPUs: []domain.CPU{{ID: 0, Socket: 0, Core: 0, Node: -1, Online: true}}, Affinity: map[int][]int{60: {2}, 61: nil}, Fixed: []int{9, 60},
		Interconnects: []string{"eth8"}, CoresInferred: true, Kernel: "5.15.0-304.el8uek", InterruptTimeAccounted: &accounted,
	}
	b = store.NewBatch()
	if err := errors.Join(b.TopologyFrom(noon.Add(3*time.Hour), whole), d.Upsert(t.Context(), node, b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]domain.Topology{whole}, of(window(noon.Add(4*time.Hour), time.Hour))); diff != "" {
		t.Errorf("all that a topology tells: want -, got +:\n%s", diff)
	}
	importInto(t, d, "october", func(to ingest.IntervalSink) error { return to.Topology(bond("balance-xor")) })
	if diff := cmp.Diff([]domain.Topology{bond("balance-xor")}, from(source(t, d), window(noon, time.Hour))); diff != "" {
		t.Errorf("of a collection: %s", diff)
	}
}

func TestFeedSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, want string }{
		"a name that does not exist": {
			`INSERT INTO waits (node_id, at, inst_id, sample_id, session_id, serial, event_id, background, waiting) VALUES (1, '2026-03-02 10:00:00Z', 1, 1, 1, 1, 999, false, true)`,
			"read waits: row 1: there is no name 999",
		},
		"a line that does not exist": {
			`INSERT INTO device_samples (node_id, at, length_us, observed_us, line_ids, cpus, counts) VALUES (1, '2026-03-02 10:00:00Z', 1, 1, '[9]', '[1]', '[1]')`,
			"read device_samples: row 1: there is no interrupt line 9",
		},
		"lists that do not fit": {
			`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, cpus, counts) VALUES (1, '2026-03-02 10:00:00Z', 1, 1, '{1,2}', '[1]')`,
			"read interrupt_samples: row 1: 2 CPUs have 1 values",
		},
		"half an interval": {
			`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES (1, '2026-03-02 10:00:00Z', 1, 2, '[1,2,3]')`,
			"read interrupt_samples: row 1: 3 counts of 2 intervals",
		},
		"intervals of other lengths than the run": {
			`INSERT INTO interrupt_samples (node_id, at, length_us, interval_us, intervals, counts) VALUES (1, '2026-03-02 10:00:00Z', 4, '[1,2]', 2, '[1,2]')`,
			"read interrupt_samples: row 1: 2 intervals of 4 us have 2 lengths of 3 us",
		},
		"equal intervals of no whole length": {
			`INSERT INTO interrupt_samples (node_id, at, length_us, intervals, counts) VALUES (1, '2026-03-02 10:00:00Z', 3, 2, '[1,2]')`,
			"read interrupt_samples: row 1: 3 us are not 2 intervals of the same length",
		},
		"an interval of unknown length": {
			`INSERT INTO interrupt_samples (node_id, at, length_us, interval_us, intervals, counts) VALUES (1, '2026-03-02 10:00:00Z', 4, '[4,NULL]', 2, '[1,2]')`,
			"read interrupt_samples: row 1: an interval has no length",
		},
		"two kinds of intervals of placement": {
			`INSERT INTO names (name_id, name) VALUES (1, 'ora_lgwr_X');
			INSERT INTO placement_samples (node_id, command_id, tid, at, until, uncertainty_us, period_us, run_samples, run_cpu, interval_us, first_interval_us)
				VALUES (1, 1, 7, '2026-03-02 10:00:00Z', '2026-03-02 10:00:00Z', 0, 0, '[1]', '[1]', '[5]', 5)`,
			"read placement_samples: row 1: interval_us is given beside first_interval_us",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDatabase(t)
			at := utc(t, "2026-03-02 10:00:00")
			d.partitions(at, at)
			d.node("db1")
			d.exec(c.statement)
			err := d.Feed(t.Context(), store.Source{Node: 1}, window(at, time.Hour), newJournal())
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestFeedDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	address := testdb.New(t)
	d := openStore(t, store.Options{URL: address})
	node := d.node("db1")
	at := utc(t, "2026-03-02 10:00:00")
	d.partitions(at, at)
	tx, err := d.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "LOCK TABLE cpu_samples IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	// Long enough for what comes before on a busy machine.
	hasty := openStore(t, store.Options{URL: address, Deadline: 3 * time.Second})
	err = hasty.Feed(t.Context(), store.Source{Node: node}, window(at, time.Hour), newJournal())
	if err == nil || !strings.HasPrefix(err.Error(), "read cpu_samples: deadline of 3s exceeded: ") {
		t.Errorf("got %v, want the deadline of reading cpu_samples", err)
	}
}

func TestFeedReadsBothKindsOfTables(t *testing.T) {
	t.Parallel()
	onBothKinds(t, func(t *testing.T, d *database) {
		node := d.node("db1")
		at := time.Now().UTC().Truncate(24 * time.Hour).Add(-time.Second) // over a midnight
		d.partitions(at, at.Add(time.Minute))
		d.oneOfEach(node, at)
		d.oneOfEach(node, at.Add(time.Minute))
		d.exec(`INSERT INTO interrupt_lines VALUES ($1, 1, '40', 'eth0', 1)`, node)
		got := newJournal()
		if err := d.Feed(t.Context(), store.Source{Node: node}, window(at, time.Hour), got); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, l := range got.lines {
			kind, _, _ := strings.Cut(l, " ")
			kinds[kind]++
		}
		// Two rows of each; 11 samples a placement, two CPUs and the host.
		want := map[string]int{"interrupts": 2, "devices": 2, "softirq": 2, "gap": 2, "CPU": 6, "system": 2, "disk": 2, "placement": 22, "wait": 2, "histogram": 2, "counter": 2}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error(diff)
		}
	})
}
