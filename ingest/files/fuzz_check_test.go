package files

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// readAnything reads a text, whatever it holds, with the reader of one format.
func readAnything(t testing.TB, of *format, text []byte) (*recorder, *input) {
	t.Helper()
	rec := &recorder{}
	in := &input{name: "f", zone: time.UTC, bad: &problems{}}
	in.lines = newLineReader(bytes.NewReader(text), func(line int) { in.problem(line, "line too long") })
	if err := of.read(t.Context(), in, rec); err != nil {
		t.Fatal(err)
	}
	return rec, in
}

// tooLong ends a fuzz run whose input is read for a minute: fuzzing itself takes
// an input that is never done with for the end of its time.
func tooLong(t *testing.T) {
	t.Helper()
	alarm := time.AfterFunc(time.Minute, func() { panic("a minute, and still at it") })
	t.Cleanup(func() { alarm.Stop() })
}

// Bounds within which every record must lie.
const (
	mostCPUs = 8192 // what Linux is built for at most
	// mostAffinity is how many CPUs the lists of a listing may name.
	mostAffinity = 1 << 20
)

// checkRecords fails where a record says what no input supports.
func checkRecords(t *testing.T, r *recorder, in *input, size int) {
	t.Helper()
	// A value is at least a digit and a separator.
	if n := r.values(); n > size {
		t.Errorf("%d values from %d bytes", n, size)
	}
	if in.count < 0 || in.count > int64(size) || in.bad.count < 0 || len(in.bad.first) > keptProblems {
		t.Errorf("counted %d records and %d problems in %d bytes", in.count, in.bad.count, size)
	}
	r.checkSnapshots(t)
	r.checkTopologies(t)
	r.checkShares(t)
	r.checkPlacements(t)
	r.checkOracle(t)
}

// checkTime fails where a time cannot be that of a record. A zone may shift
// the first second of 1970 back by up to 14 hours and the last of 2200 on by 12.
func checkTime(t *testing.T, what string, at time.Time) {
	t.Helper()
	if at.Before(time.Date(1969, 12, 31, 10, 0, 0, 0, time.UTC)) || at.After(time.Date(2201, 1, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%s: %s", what, at)
	}
}

// checkNumber fails where a quantity is negative or infinite; NaN is unknown.
func checkNumber(t *testing.T, what string, values ...float64) {
	t.Helper()
	for _, v := range values {
		if v < 0 || math.IsInf(v, 0) {
			t.Errorf("%s: %v", what, values)
		}
	}
}

// checkCPUs fails where ids are out of bounds or one occurs twice.
func checkCPUs(t *testing.T, what string, ids []int) {
	t.Helper()
	met := make(map[int]bool, len(ids))
	for _, id := range ids {
		if id < 0 || id >= mostCPUs || met[id] {
			t.Errorf("%s: CPU %d in %v", what, id, ids)
		}
		met[id] = true
	}
}

func (r *recorder) checkSnapshots(t *testing.T) {
	t.Helper()
	for _, s := range r.interrupts {
		checkMaybeTime(t, "interrupts", s.At)
		checkCPUs(t, "interrupts", s.CPUs)
		for _, l := range s.Lines {
			if l.Counts != nil && len(l.Counts) != len(s.CPUs) || l.ID == "" {
				t.Errorf("line %q has %d counts for %d CPUs", l.ID, len(l.Counts), len(s.CPUs))
			}
		}
	}
	for _, s := range r.softirqs {
		checkMaybeTime(t, "softirqs", s.At)
		checkCPUs(t, "softirqs", s.CPUs)
		if len(s.Counts) != len(s.Names) || slices.ContainsFunc(s.Counts, func(c []uint64) bool { return len(c) != len(s.CPUs) }) {
			t.Errorf("softirqs %+v", s)
		}
	}
	for _, s := range r.cpuTimes {
		checkMaybeTime(t, "stat", s.At)
		checkMaybeTime(t, "boot", s.BootTime)
		ids := make([]int, 0, len(s.CPUs))
		for _, c := range s.CPUs {
			if c.CPU != domain.AllCPUs {
				ids = append(ids, c.CPU)
			}
		}
		checkCPUs(t, "stat", ids)
	}
	for _, s := range r.disks {
		checkMaybeTime(t, "diskstats", s.At)
		for _, d := range s.Devices {
			if d.Device == "" {
				t.Errorf("diskstats %+v", s)
			}
		}
	}
}

// checkMaybeTime is checkTime of a time that may be unknown.
func checkMaybeTime(t *testing.T, what string, at time.Time) {
	t.Helper()
	if !at.IsZero() {
		checkTime(t, what, at)
	}
}

func (r *recorder) checkTopologies(t *testing.T) {
	t.Helper()
	for i := range r.topologies {
		o := &r.topologies[i]
		ids := make([]int, 0, len(o.CPUs))
		for _, c := range o.CPUs {
			ids = append(ids, c.ID)
			if c.Socket < -1 || c.Core < -1 || c.Node < -1 {
				t.Errorf("topology %+v", c)
			}
		}
		checkCPUs(t, "topology", ids)
		if !slices.IsSorted(ids) {
			t.Errorf("CPUs %v are not ascending", ids)
		}
		named := 0
		for irq, cpus := range o.Affinity {
			named += len(cpus)
			if irq < 0 || slices.ContainsFunc(cpus, func(id int) bool { return id < 0 || id >= mostCPUs }) {
				t.Errorf("IRQ %d goes to %v", irq, cpus)
			}
		}
		if named > mostAffinity {
			t.Errorf("affinity to %d CPUs", named)
		}
		for _, p := range o.Ports {
			if p.Name == "" || p.Node < -1 || p.Node >= mostCPUs || slices.ContainsFunc(p.IRQs, func(irq int) bool { return irq < 0 }) {
				t.Errorf("port %+v", p)
			}
		}
		for _, b := range o.Bonds {
			if b.Mode == "" {
				t.Errorf("bond %+v", b)
			}
		}
	}
}

func (r *recorder) checkShares(t *testing.T) {
	t.Helper()
	for _, s := range r.cpus {
		checkMaybeTime(t, "mpstat", s.At)
		checkNumber(t, "mpstat", s.User, s.Nice, s.System, s.IOWait, s.IRQ, s.SoftIRQ, s.Steal, s.Guest, s.Idle)
		if s.CPU < domain.AllCPUs || s.CPU > maxCPUID || s.Interval < 0 {
			t.Errorf("mpstat %+v", s)
		}
	}
	for _, s := range r.systems {
		checkTime(t, "vmstat", s.At)
		checkNumber(t, "vmstat", s.RunQueue, s.Blocked, s.SwapInPerS, s.SwapOutPerS, s.InterruptsPerS, s.ContextSwitchesPerS,
			s.User, s.System, s.Idle, s.IOWait, s.Steal, s.Interval.Seconds())
	}
	for _, s := range r.diskSamples {
		checkMaybeTime(t, "iostat", s.At)
		checkNumber(t, "iostat", s.ReadsPerS, s.WritesPerS, s.ReadAwaitMS, s.WriteAwaitMS, s.QueueSize, s.Utilisation, s.Interval.Seconds())
		if s.Device == "" {
			t.Errorf("iostat %+v", s)
		}
	}
}

func (r *recorder) checkPlacements(t *testing.T) {
	t.Helper()
	for _, p := range r.placements {
		checkMaybeTime(t, "placement", p.At)
		checkNumber(t, "placement", p.CPUShare, p.WaitShare)
		if p.CPU < 0 || p.CPU > maxCPUID || p.PID > maxTaskID || p.TID < 0 || p.TID > maxTaskID || p.Command == "" ||
			p.Interval < 0 || p.Uncertainty < 0 || p.Uncertainty > printedSecond ||
			p.Exec > p.Interval+printedSecond || p.Interval == 0 && (p.Exec >= 0 || p.RunDelay >= 0) {
			t.Errorf("placement %+v", p)
		}
	}
}

func (r *recorder) checkOracle(t *testing.T) {
	t.Helper()
	for _, w := range r.waits {
		checkTime(t, "wait", w.At)
		if w.TimeWaited < 0 && w.TimeWaited != unknownLength || w.TimeWaited > longestWait || w.Period <= 0 || w.Waiting != (w.Event != "") || w.SampleID < -1 || w.InstID < -1 {
			t.Errorf("wait %+v", w)
		}
	}
	for _, h := range r.histograms {
		checkTime(t, "histogram", h.At)
		strictly := slices.IsSortedFunc(h.Buckets, func(a, b domain.HistogramBucket) int {
			if a.Below < b.Below {
				return -1
			}
			return 1
		})
		if h.Event == "" || len(h.Buckets) == 0 || len(h.Buckets) > maxBuckets || !strictly || h.Buckets[0].Below <= 0 {
			t.Errorf("histogram %+v", h)
		}
		for _, b := range h.Buckets {
			checkMaybeTime(t, "bucket", b.LastUpdate)
		}
	}
	for _, e := range r.systemEvents {
		checkTime(t, "system event", e.At)
		if e.Event == "" || e.TotalWaits < 0 || e.InstID < -1 {
			t.Errorf("system event %+v", e)
		}
	}
	for _, c := range r.counters {
		checkTime(t, "counter", c.At)
		if c.Name == "" || c.InstID < -1 { // some statistics are gauges that may be below zero
			t.Errorf("counter %+v", c)
		}
	}
	for _, i := range r.instances {
		if i.Name == "" || i.InstID < -1 {
			t.Errorf("instance %+v", i)
		}
	}
}

// values counts the values that the records hold and that stood in the input
// one by one. Lists of CPUs as ranges are not among them: they have bounds of
// their own.
func (r *recorder) values() int {
	n := len(r.cpus) + len(r.systems) + len(r.diskSamples) + len(r.placements) + len(r.waits) + len(r.systemEvents) + len(r.counters) + len(r.instances)
	for _, s := range r.interrupts {
		n += len(s.CPUs)
		for _, l := range s.Lines {
			n += 1 + len(l.Counts)
		}
	}
	for _, s := range r.softirqs {
		n += len(s.CPUs) + len(s.Names)*len(s.CPUs)
	}
	for _, s := range r.cpuTimes {
		n += len(s.CPUs)
	}
	for _, s := range r.disks {
		n += len(s.Devices)
	}
	for _, h := range r.histograms {
		n += len(h.Buckets)
	}
	for _, o := range r.topologies {
		n += len(o.Bonds) + len(o.Ports) + len(o.Interconnects) + min(len(o.CPUs), 1)
		for _, p := range o.Ports {
			n += len(p.IRQs)
		}
	}
	return n
}

// text puts all records into words, so that two readings can be compared where
// NaN differs from itself.
func (r *recorder) text() string {
	var b strings.Builder
	for _, s := range r.interrupts {
		fmt.Fprintf(&b, "%+v\n", *s)
	}
	c := *r
	c.interrupts = nil
	fmt.Fprintf(&b, "%+v", c)
	return b.String()
}
