package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// keptOtherWaits bounds the waits kept beside the watched ones.
const keptOtherWaits = 2_000_000

// longOther is from which length waits of events that no watch or rival names
// are kept: they serve as a placebo.
const longOther = 50 * time.Millisecond

// Ends of a window that is open on one side.
const (
	noFrom Micros = -1 << 62
	noTo   Micros = 1 << 62
)

// Builder gathers the records of one node; it implements ingest.IntervalSink. The zero
// value is not usable: call NewBuilder.
type Builder struct {
	watch  domain.Watch
	window Span // records outside are dropped on entry; zero Span: no limit

	readings // turns counters into intervals, which come back to the builder

	interrupts interruptRates
	netRX      softirqRates
	cpuTime    cpuTimeRates
	topology   topologyParts
	system     []domain.SystemSample
	disks      []DiskPoint

	threads   map[threadKey]*Thread
	threadSID map[threadKey]string
	nameless  int              // waits without SESSION_ID so far
	waits     map[waitKey]Wait // of the watched events, and the watched process's own
	others    map[waitKey]Wait
	othersCut int64
	ticks     map[instTick]Micros
	names     map[string]string // interned strings
	hist      map[histKey][]domain.HistogramSnapshot
	counters  map[counterKey][]counterPoint
	instances map[int]domain.Instance
	hosts     map[int]map[string]bool // INST_ID to hosts that its background processes name

}

type threadKey struct {
	tid     int
	command string
}

type waitKey struct {
	inst, session, serial int   // session: where SESSION_ID is unknown, a negative number of the row's own
	sample                int64 // SAMPLE_ID, or the instant where there is none
	event                 string
}

type instTick struct {
	inst int
	id   int64
}

type counterKey struct {
	inst int
	name string
}

type counterPoint struct {
	at    Micros
	value int64
}

// NewBuilder makes a builder for a watch. Records outside the window are not
// kept; a zero window keeps all.
func NewBuilder(watch domain.Watch, window domain.Window) *Builder {
	b := &Builder{
		watch:     watch,
		threads:   map[threadKey]*Thread{},
		threadSID: map[threadKey]string{},
		waits:     map[waitKey]Wait{},
		others:    map[waitKey]Wait{},
		ticks:     map[instTick]Micros{},
		names:     map[string]string{},
		hist:      map[histKey][]domain.HistogramSnapshot{},
		counters:  map[counterKey][]counterPoint{},
		instances: map[int]domain.Instance{},
		hosts:     map[int]map[string]bool{},
	}
	if !window.From.IsZero() || !window.To.IsZero() {
		b.window = Span{FromTime(window.From), FromTime(window.To)}
		if window.To.IsZero() {
			b.window.To = noTo
		}
		if window.From.IsZero() {
			b.window.From = noFrom
		}
	}
	b.readings = newReadings(b)
	b.interrupts.window, b.cpuTime.window = b.window, b.window
	return b
}

func (b *Builder) outside(at Micros) bool {
	return b.window != (Span{}) && !b.window.Contains(at)
}

// endsOutside says whether an interval that ends at that instant is not the
// window's.
func (b *Builder) endsOutside(at Micros) bool { return b.window.endsOutside(at) }

func (s Span) endsOutside(at Micros) bool {
	return s != (Span{}) && (at <= s.From || at > s.To)
}

func (b *Builder) intern(s string) string {
	if k, ok := b.names[s]; ok {
		return k
	}
	s = string([]byte(s)) // not a slice of some larger buffer
	b.names[s] = s
	return s
}

// endReadings lets what waited for a later reading in. The builder is its own
// sink there and never fails.
func (b *Builder) endReadings() { _ = b.flush() }

// CPU takes one row of mpstat.
func (b *Builder) CPU(s domain.CPUSample) error {
	if s.At.IsZero() {
		return nil
	}
	b.cpuTime.addSample(s)
	return nil
}

// Topology merges a fragment.
func (b *Builder) Topology(t domain.Topology) error {
	b.topology.add(t)
	return nil
}

// System takes one row of vmstat.
func (b *Builder) System(s domain.SystemSample) error {
	if s.At.IsZero() || s.SinceBoot || b.endsOutside(FromTime(s.At)) {
		return nil
	}
	b.system = append(b.system, s)
	return nil
}

// Placement takes one reading of a thread; those of no watched process are dropped.
func (b *Builder) Placement(p domain.Placement) error {
	at := FromTime(p.At)
	sid, worker, ok := b.watch.Instance(p.Command)
	if !ok || p.CPU < 0 || p.At.IsZero() || b.outside(at) {
		return nil
	}
	k := threadKey{p.TID, p.Command}
	t := b.threads[k]
	if t == nil {
		k.command = b.intern(p.Command)
		t = &Thread{TID: p.TID, Command: k.command, Worker: worker}
		b.threads[k] = t
		b.threadSID[k] = b.intern(sid)
	}
	t.Uncertainty = max(t.Uncertainty, p.Uncertainty.Microseconds())
	t.At = append(t.At, at)
	t.CPU = append(t.CPU, int32(min(p.CPU, 1<<20)))
	t.CPUShare = append(t.CPUShare, float32(domain.RoundShare(p.CPUShare)))
	t.WaitShare = append(t.WaitShare, float32(domain.RoundShare(p.WaitShare)))
	t.State = append(t.State, p.State)
	t.Exec = append(t.Exec, int64(roundMicros(p.Exec)))
	t.RunDelay = append(t.RunDelay, int64(roundMicros(p.RunDelay)))
	return nil
}

// roundMicros rounds to microseconds, as time is stored; negative is unknown, and
// so is more than 32 bits hold (36 minutes).
func roundMicros(d time.Duration) time.Duration {
	if d < 0 || d > math.MaxInt32*time.Microsecond {
		return -1
	}
	return d.Round(time.Microsecond)
}

// Wait takes one ASH row. Rows of the same wait and sample are one wait.
func (b *Builder) Wait(w domain.Wait) error {
	at := FromTime(w.At)
	if w.At.IsZero() || b.outside(at) {
		return nil
	}
	id := w.SampleID
	if id < 0 {
		id = at
	}
	tick := instTick{w.InstID, id}
	b.ticks[tick] = max(b.ticks[tick], at) // V$ and DBA_HIST may print one sample differently
	b.noteHost(w)
	if w.Event == "" || !w.Waiting {
		return nil
	}
	k := waitKey{w.InstID, w.SessionID, w.Serial, id, b.intern(w.Event)}
	if w.SessionID < 0 {
		// Nothing tells the sessions of one sample apart: each row is a wait.
		b.nameless++
		k.session = -b.nameless
	}
	if slices.Contains(b.watch.Events, w.Event) && !w.Background || w.Event == b.watch.OwnWait {
		keepWait(b.waits, k, b.compact(&w))
		return nil
	}
	if !rivalEvent(w.Event) && w.TimeWaited < longOther {
		return nil
	}
	if _, known := b.others[k]; !known && len(b.others) >= keptOtherWaits {
		b.othersCut++
		return nil
	}
	keepWait(b.others, k, b.compact(&w))
	return nil
}

func (b *Builder) compact(w *domain.Wait) Wait {
	waited := w.TimeWaited.Microseconds()
	if w.TimeWaited < 0 {
		waited = UnknownLength
	}
	return Wait{
		At: FromTime(w.At), SampleID: w.SampleID, TimeWaited: waited, Period: w.Period.Microseconds(),
		Event: b.intern(w.Event), Background: w.Background, Session: w.SessionID,
		Who: b.intern(cmp.Or(w.Service, w.Module, w.Machine, w.Program)),
	}
}

// keepWait keeps, of two rows of the same wait, the one whose TIME_WAITED is
// greater (the fix-up); one whose length could not be read had been fixed up, so
// it wins over 0. A wait that V$ and DBA_HIST both show stands for the
// shorter of their periods.
func keepWait(waits map[waitKey]Wait, k waitKey, w Wait) {
	if old, ok := waits[k]; ok {
		period := min(old.Period, w.Period)
		if period == 0 {
			period = max(old.Period, w.Period)
		}
		if cmp.Or(cmp.Compare(fixedUp(old), fixedUp(w)), cmp.Compare(old.TimeWaited, w.TimeWaited), cmp.Compare(old.Who, w.Who), cmp.Compare(old.At, w.At)) > 0 {
			w = old
		}
		w.Period = period
	}
	waits[k] = w
}

// fixedUp says how much a row tells of its wait's length: 0 nothing yet, 1 that
// there is one, 2 which.
func fixedUp(w Wait) int {
	switch {
	case w.TimeWaited < 0:
		return 1
	case w.TimeWaited > 0:
		return 2
	default:
		return 0
	}
}

// Histogram takes a reading of V$EVENT_HISTOGRAM[_MICRO].
func (b *Builder) Histogram(s *domain.HistogramSnapshot) error {
	if s.At.IsZero() || b.outside(FromTime(s.At)) {
		return nil
	}
	c := *s
	c.Event = b.intern(s.Event)
	c.Buckets = slices.Clone(s.Buckets)
	k := histKey{s.InstID, c.Event, s.Milli}
	b.hist[k] = append(b.hist[k], c)
	return nil
}

// SystemEvent takes one row of V$SYSTEM_EVENT.
func (b *Builder) SystemEvent(e domain.SystemEvent) error {
	at := FromTime(e.At)
	if e.At.IsZero() || b.outside(at) {
		return nil
	}
	b.addCounter(e.InstID, CounterEventWaits(e.Event), at, e.TotalWaits)
	if e.TimeWaited >= 0 {
		b.addCounter(e.InstID, CounterEventMicros(e.Event), at, e.TimeWaited.Microseconds())
	}
	return nil
}

// Counter takes one row of V$SYSSTAT.
func (b *Builder) Counter(c domain.Counter) error {
	at := FromTime(c.At)
	if !c.At.IsZero() && !b.outside(at) {
		b.addCounter(c.InstID, c.Name, at, c.Value)
	}
	return nil
}

func (b *Builder) addCounter(inst int, name string, at Micros, v int64) {
	k := counterKey{inst, b.intern(name)}
	b.counters[k] = append(b.counters[k], counterPoint{at, v})
}

// Instance takes a row that maps INST_ID to an instance and its host.
func (b *Builder) Instance(i domain.Instance) error {
	b.instances[i.InstID] = i
	return nil
}

// CounterEventWaits names the counter of an event's waits in Series.Counters.
func CounterEventWaits(event string) string { return "event:" + event + ":waits" }

// CounterEventMicros names the counter of an event's time waited, microseconds.
func CounterEventMicros(event string) string { return "event:" + event + ":time_us" }

// noteHost learns from "oracle@db1 (LGWR)" on which host an instance runs.
func (b *Builder) noteHost(w domain.Wait) {
	if !w.Background || w.InstID < 0 {
		return
	}
	host, ok := backgroundHost(w.Program)
	if !ok {
		return
	}
	if b.hosts[w.InstID] == nil {
		b.hosts[w.InstID] = map[string]bool{}
	}
	if len(b.hosts[w.InstID]) < 16 {
		b.hosts[w.InstID][b.intern(host)] = true
	}
}

// sortWaits orders waits by instant, then by sample and session, so that the
// result does not depend on the order of files.
func sortWaits(w []Wait) {
	slices.SortFunc(w, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.SampleID, b.SampleID), cmp.Compare(a.Session, b.Session),
			cmp.Compare(a.TimeWaited, b.TimeWaited), cmp.Compare(a.Event, b.Event))
	})
}
