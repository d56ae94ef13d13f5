// Package batches owns how what an agent sent becomes records: it holds a batch
// of the wire contract to what Linux can give, and passes its records to a sink.
// It must not know how a batch came, nor what is kept of it.
//
// All that a batch says is checked here: lists that do not fit together, CPUs and
// intervals that cannot be, numbers that are none. An agent that is right never
// sends such, so a batch that holds it is refused as a whole, with the message and
// its index: "interrupts[3]: 64 CPUs and 63 counts".
package batches

import (
	"errors"
	"fmt"
	"time"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// Sink takes what an agent sends; *store.Batch is one.
type Sink interface {
	ingest.IntervalSink
	// TopologyFrom takes how the node is built from an instant on, whole.
	TopologyFrom(from time.Time, t domain.Topology) error
	NodeEvent(e domain.NodeEvent) error
}

// Error says what is wrong with a batch: it will never be taken.
type Error struct {
	Where string // "interrupts[3]"
	What  string // "64 CPUs and 63 counts"
}

// Error gives both.
func (e *Error) Error() string { return e.Where + ": " + e.What }

// Bounds of what a batch may say.
const (
	mostCPUs    = 8_192     // NR_CPUS at its greatest
	mostItems   = 100_000   // messages of one kind, samples of a run, elements of other lists
	mostGains   = 1_000_000 // of one DeviceSample
	mostBuilds  = 64        // topologies: an agent sends one at its start and with each change
	longestText = 512       // bytes, of any name or text
	// longestInterval is longer than any agent's, and that of the live tables.
	longestInterval = time.Hour
	// latestUS is a hundred years of CLOCK_BOOTTIME.
	latestUS = 100 * 366 * 24 * 3600 * 1_000_000
	// mostRepeats bounds how often the gaps of a batch are passed on in all: for
	// each reading once, and beyond that once for each gap.
	mostRepeats = 10_000
)

// Feed gives a sink the records of a batch; at says which UTC an instant of its
// boot was: an api.Clock of its readings, or another where those are known to be
// wrong. Records come kind by kind as store.Feed gives them. What is wrong with the
// batch is an *Error; an error of the sink is given as it is, behind the message
// that it is about.
func Feed(b *corewaitv1.Batch, at func(boottimeUS int64) time.Time, to Sink) error {
	if n := len(b.GetTopology()); n > mostBuilds {
		return &Error{"topology", fmt.Sprintf("%d messages, at most %d are taken", n, mostBuilds)}
	}
	f := &feed{batch: b, at: at, to: to, repeats: mostRepeats}
	if err := f.head(); err != nil {
		return err
	}
	for _, kind := range []func() error{
		func() error { return each("topology", b.GetTopology(), f.topology) },
		func() error { return each("interrupts", b.GetInterrupts(), f.interrupts) },
		func() error { return each("devices", b.GetDevices(), f.devices) },
		func() error { return each("softirqs", b.GetSoftirqs(), f.softirqs) },
		func() error { return each("gaps", b.GetGaps(), f.gap) },
		func() error { return each("cpu", b.GetCpu(), f.cpu) },
		func() error { return each("system", b.GetSystem(), f.system) },
		func() error { return each("disks", b.GetDisks(), f.disk) },
		func() error { return each("placement", b.GetPlacement(), f.placement) },
		f.steps,
		func() error { return each("bond_events", b.GetBondEvents(), f.bondEvent) },
		func() error { return each("watched", b.GetWatched(), f.watched) },
	} {
		if err := kind(); err != nil {
			return err
		}
	}
	return nil
}

// feed is one Feed.
type feed struct {
	batch *corewaitv1.Batch
	at    func(int64) time.Time
	to    Sink

	clock   api.Clock
	lines   []domain.Line
	repeats int // left of mostRepeats

	ids    []int // memory of one sample
	counts []int64
	most   []int64
}

// each gives the messages of one kind; an error names the message.
func each[M any](kind string, messages []M, give func(M) error) error {
	if len(messages) > mostItems {
		return &Error{kind, fmt.Sprintf("%d messages, at most %d are taken", len(messages), mostItems)}
	}
	for i, m := range messages {
		if err := give(m); err != nil {
			return within(fmt.Sprintf("%s[%d]", kind, i), err)
		}
	}
	return nil
}

// within says which message an error is about.
func within(where string, err error) error {
	if wrong := new(Error); errors.As(err, &wrong) {
		if wrong.Where != "" {
			where += "." + wrong.Where
		}
		return &Error{where, wrong.What}
	}
	return fmt.Errorf("%s: %w", where, err)
}

// wrong says what is wrong with the message at hand.
func wrong(format string, args ...any) error { return &Error{What: fmt.Sprintf(format, args...)} }

// head checks what a batch says of itself.
func (f *feed) head() error {
	b := f.batch
	switch {
	case len(b.GetSpoolId()) != 16:
		return &Error{"spool_id", fmt.Sprintf("%d bytes, want 16", len(b.GetSpoolId()))}
	case b.GetSequence() == 0 || b.GetSequence() > 1<<62:
		return &Error{"sequence", fmt.Sprintf("%d", b.GetSequence())}
	case b.GetBootId() == "":
		return &Error{"boot_id", "missing"}
	}
	for _, t := range []struct{ where, text string }{{"boot_id", b.GetBootId()}, {"hostname", b.GetHostname()}, {"agent_version", b.GetAgentVersion()}} {
		if err := text(t.text); err != nil {
			return within(t.where, err)
		}
	}
	clock, err := api.NewClock(b.GetClock())
	if err != nil {
		return &Error{"batch", err.Error()}
	}
	f.clock = clock
	return each("lines", b.GetLines(), f.line)
}

// text bounds texts, which the store would cut.
func text(of ...string) error {
	for _, s := range of {
		if len(s) > longestText {
			return wrong("a text of %d bytes, at most %d are taken: %.40q", len(s), longestText, s)
		}
	}
	return nil
}

func (f *feed) line(l *corewaitv1.InterruptLine) error {
	class := l.GetClass()
	if class < corewaitv1.InterruptLine_CLASS_UNSPECIFIED || class > corewaitv1.InterruptLine_CLASS_KERNEL {
		class = corewaitv1.InterruptLine_CLASS_UNSPECIFIED // a class that was added later is another device
	}
	f.lines = append(f.lines, domain.Line{IRQ: l.GetIrq(), Device: l.GetDevice(), Class: domain.DeviceClass(class)})
	return text(l.GetIrq(), l.GetDevice())
}

// instant gives the UTC of an instant.
func (f *feed) instant(us int64) (time.Time, error) {
	if us < 0 || us > latestUS {
		return time.Time{}, wrong("%d us of CLOCK_BOOTTIME", us)
	}
	return f.at(us), nil
}

// interval gives the UTC of an interval. Where the clock was stepped within it,
// its length is still the time that passed.
func (f *feed) interval(fromUS, toUS int64) (from, to time.Time, err error) {
	if fromUS < 0 || fromUS > latestUS || toUS < 0 || toUS > latestUS {
		return from, to, wrong("%d to %d us of CLOCK_BOOTTIME", fromUS, toUS)
	}
	passed := time.Duration(toUS-fromUS) * time.Microsecond
	if passed <= 0 || passed > longestInterval {
		return from, to, wrong("an interval of %s, want more than 0 and at most %s", passed, longestInterval)
	}
	from, to = f.at(fromUS), f.at(toUS)
	if off := to.Sub(from) - passed; off < -api.StepUS*time.Microsecond || off > api.StepUS*time.Microsecond {
		to = from.Add(passed)
	}
	return from, to, nil
}

// cpuIDs gives the ids of n CPUs.
func (f *feed) cpuIDs(list []uint32, n int) ([]int, error) {
	if n > mostCPUs {
		return nil, wrong("%d CPUs, at most %d are taken", n, mostCPUs)
	}
	f.ids = f.ids[:0]
	if len(list) == 0 {
		for i := range n {
			f.ids = append(f.ids, i)
		}
		return f.ids, nil
	}
	for i, id := range list {
		if id >= mostCPUs {
			return nil, wrong("CPU %d", id)
		}
		if i > 0 && id <= list[i-1] {
			return nil, wrong("CPU %d after CPU %d", id, list[i-1])
		}
		f.ids = append(f.ids, int(id))
	}
	return f.ids, nil
}

// counted gives the CPUs of counts, of which there is one for each.
func (f *feed) counted(list []uint32, counts []int64) ([]int, error) {
	if len(counts) == 0 {
		return nil, wrong("no counts")
	}
	if len(list) != 0 && len(list) != len(counts) {
		return nil, wrong("%d CPUs and %d counts", len(list), len(counts))
	}
	return f.cpuIDs(list, len(counts))
}

// orUnknown copies counts: each unknown one becomes -1.
func orUnknown(into, counts []int64) []int64 {
	into = into[:0]
	for _, n := range counts {
		into = append(into, max(n, -1))
	}
	return into
}

func (f *feed) interrupts(m *corewaitv1.InterruptSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err != nil {
		return err
	}
	ids, err := f.counted(m.GetCpus(), m.GetCounts())
	if err != nil {
		return err
	}
	f.counts = orUnknown(f.counts, m.GetCounts())
	return f.to.InterruptSample(&domain.InterruptSample{
		From: from, To: to, CPUs: ids, Counts: f.counts, Wrapped: int(m.GetWrapped()), Implausible: int(m.GetImplausible()),
	})
}

func (f *feed) devices(m *corewaitv1.DeviceSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err != nil {
		return err
	}
	n := len(m.GetLine())
	if len(m.GetCpu()) != n || len(m.GetCounts()) != n {
		return wrong("%d lines, %d CPUs and %d counts", n, len(m.GetCpu()), len(m.GetCounts()))
	}
	if n > mostGains {
		return wrong("%d counts, at most %d are taken", n, mostGains)
	}
	if m.GetObservedUs() < 0 || m.GetObservedUs() > m.GetToUs()-m.GetFromUs() {
		return wrong("observed for %d us of %d", m.GetObservedUs(), m.GetToUs()-m.GetFromUs())
	}
	s := domain.DeviceSample{
		From: from, To: to, Observed: time.Duration(m.GetObservedUs()) * time.Microsecond, Untracked: int(m.GetUntracked()),
		Gains: make([]domain.LineGain, n),
	}
	for i, line := range m.GetLine() {
		cpu, count := m.GetCpu()[i], m.GetCounts()[i]
		switch {
		case int(line) >= len(f.lines):
			return wrong("line %d of %d", line, len(f.lines))
		case cpu >= mostCPUs:
			return wrong("CPU %d", cpu)
		case count > 1<<62:
			return wrong("a count of %d", count)
		}
		s.Gains[i] = domain.LineGain{Line: f.lines[line], CPU: int(cpu), Count: int64(count)}
	}
	return f.to.DeviceSample(&s)
}

func (f *feed) softirqs(m *corewaitv1.SoftirqSample) error {
	from, to, err := f.interval(m.GetFromUs(), m.GetToUs())
	if err != nil {
		return err
	}
	ids, err := f.counted(m.GetCpus(), m.GetCounts())
	switch {
	case err != nil:
		return err
	case m.GetName() == "":
		return wrong("no name")
	case len(m.GetMaxPerS()) != 0 && len(m.GetMaxPerS()) != len(m.GetCounts()):
		return wrong("%d counts and %d maxima", len(m.GetCounts()), len(m.GetMaxPerS()))
	}
	if err := text(m.GetName()); err != nil {
		return err
	}
	f.counts = orUnknown(f.counts, m.GetCounts())
	s := domain.SoftirqSample{From: from, To: to, Name: m.GetName(), CPUs: ids, Counts: f.counts}
	if len(m.GetMaxPerS()) != 0 {
		f.most = orUnknown(f.most, m.GetMaxPerS())
		s.MaxPerS = f.most
	}
	return f.to.SoftirqSample(&s)
}

// gap passes a gap on for each reading that is missing, as a sink counts them.
func (f *feed) gap(m *corewaitv1.Gap) error {
	if m.GetSource() == "" || m.GetReason() == "" {
		return wrong("no source or no reason")
	}
	if err := text(m.GetSource(), m.GetReason()); err != nil {
		return err
	}
	g := domain.Gap{Source: m.GetSource(), Reason: m.GetReason()}
	var err error
	if g.From, g.To, err = f.gapTimes(m); err != nil {
		return err
	}
	times := int(max(m.GetEvents(), 1))
	if extra := times - 1; extra > f.repeats {
		times = f.repeats + 1
	}
	f.repeats -= times - 1
	for range times {
		if err := f.to.Gap(g); err != nil {
			return err
		}
	}
	return nil
}

// gapTimes gives from when to when a gap lasted; both are the same for a reading
// that was left out.
func (f *feed) gapTimes(m *corewaitv1.Gap) (from, to time.Time, err error) {
	if m.GetFromUtcUs() != 0 || m.GetToUtcUs() != 0 {
		const most = 253_402_300_800 * 1_000_000 // the year 10000
		if m.GetFromUtcUs() < 0 || m.GetToUtcUs() >= most || m.GetToUtcUs() < m.GetFromUtcUs() {
			return from, to, wrong("%d to %d us of UTC", m.GetFromUtcUs(), m.GetToUtcUs())
		}
		return time.UnixMicro(m.GetFromUtcUs()).UTC(), time.UnixMicro(m.GetToUtcUs()).UTC(), nil
	}
	if from, err = f.instant(m.GetFromUs()); err != nil {
		return from, to, err
	}
	if to, err = f.instant(m.GetToUs()); err != nil {
		return from, to, err
	}
	if m.GetToUs() < m.GetFromUs() {
		return from, to, wrong("%d to %d us of CLOCK_BOOTTIME", m.GetFromUs(), m.GetToUs())
	}
	if to.Before(from) { // the clock was stepped back meanwhile
		to = from.Add(time.Duration(m.GetToUs()-m.GetFromUs()) * time.Microsecond)
	}
	return from, to, nil
}
