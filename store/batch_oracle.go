package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corewait/corewait/domain"
)

// Placement takes a reading of a thread.
func (b *Batch) Placement(p domain.Placement) error {
	at, ok, err := instantOf(p.At)
	if err != nil || !ok || p.CPU < 0 {
		return err
	}
	if p.CPU > math.MaxInt16 || p.TID < 0 || p.TID > math.MaxInt32 {
		return fmt.Errorf("placement of thread %d on CPU %d: %w", p.TID, p.CPU, ErrUnstorable)
	}
	p.Command = b.word(p.Command, longestName)
	k := threadKey{p.TID, p.Command}
	i, known := b.threads[k]
	if !known {
		i = len(b.placements)
		b.threads[k] = i
		b.placements = append(b.placements, nil)
	}
	b.placements[i] = append(b.placements[i], p)
	b.add(at)
	return nil
}

// Histogram takes a reading of V$EVENT_HISTOGRAM[_MICRO].
func (b *Batch) Histogram(s *domain.HistogramSnapshot) error {
	at, ok, err := instantOf(s.At)
	if err != nil || !ok {
		return err
	}
	c := *s
	inst, err := storedInstance(s.InstID)
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	c.InstID, c.Event, c.Buckets = int(inst), b.word(s.Event, longestName), slices.Clone(s.Buckets)
	for _, bucket := range c.Buckets {
		if _, _, err := instantOf(bucket.LastUpdate); err != nil {
			return fmt.Errorf("histogram: last update: %w", err)
		}
	}
	k := histogramKey{c.InstID, c.Event, c.Milli}
	i, known := b.histogram[k]
	if !known {
		i = len(b.histograms)
		b.histogram[k] = i
		b.histograms = append(b.histograms, nil)
	}
	b.histograms[i] = append(b.histograms[i], c)
	b.buckets += len(c.Buckets)
	b.add(at)
	return nil
}

// storedInstance gives an INST_ID as it is stored: -1 where it is unknown.
func storedInstance(id int) (int16, error) {
	if id > math.MaxInt16 {
		return 0, fmt.Errorf("INST_ID %d: %w", id, ErrUnstorable)
	}
	return int16(max(id, -1)), nil
}

// longestEvent leaves room for what a row of V$SYSTEM_EVENT adds to the name.
const longestEvent = longestName - 16

// SystemEvent takes a row of V$SYSTEM_EVENT.
func (b *Batch) SystemEvent(e domain.SystemEvent) error {
	at, ok, err := instantOf(e.At)
	if err != nil || !ok {
		return err
	}
	inst, err := storedInstance(e.InstID)
	if err != nil {
		return fmt.Errorf("system event: %w", err)
	}
	e.InstID, e.Event = int(inst), b.word(e.Event, longestEvent)
	b.counters = pointsOfEvent(b.counters, &e)
	b.add(at)
	return nil
}

// Counter takes a row of V$SYSSTAT.
func (b *Batch) Counter(c domain.Counter) error {
	at, ok, err := instantOf(c.At)
	if err != nil || !ok {
		return err
	}
	inst, err := storedInstance(c.InstID)
	if err != nil {
		return fmt.Errorf("counter: %w", err)
	}
	c.InstID, c.Name = int(inst), b.word(c.Name, longestName)
	b.counters = append(b.counters, pointOfCounter(&c))
	b.add(at)
	return nil
}

// mostInstances bounds the instances of one batch: a cluster has at most 100.
const mostInstances = 1_024

// Instance takes a row that maps INST_ID to an instance and its host. Of two
// names of one INST_ID the later one counts, as in series.
func (b *Batch) Instance(i domain.Instance) error {
	inst, err := storedInstance(i.InstID)
	if err != nil {
		return fmt.Errorf("instance: %w", err)
	}
	k := domain.Instance{InstID: int(inst), Name: b.word(i.Name, longestName), Host: b.word(i.Host, longestName)}
	if at := slices.Index(b.instances, k); at >= 0 {
		b.instances = append(slices.Delete(b.instances, at, at+1), k)
		return nil
	}
	if len(b.instances) >= mostInstances {
		return fmt.Errorf("instance: more than %d: %w", mostInstances, ErrUnstorable)
	}
	b.instances = append(b.instances, k)
	b.rows++
	return nil
}

// waitRow is a row of waits; event is an index into Batch.texts.
type waitRow struct {
	at, sampleID                             int64
	session, serial, event                   int32
	inst                                     int16
	background, waiting                      bool
	timeWaitedUS, periodUS                   int64
	sqlID, program, module, machine, service string
	p1, p2, p3                               int64
}

// Wait takes one ASH row. One whose session is unknown is a wait of its own: it
// gets a number among those of its instance, sample and event.
func (b *Batch) Wait(w domain.Wait) error {
	at, ok, err := instantOf(w.At)
	if err != nil || !ok {
		return err
	}
	inst, err := storedInstance(w.InstID)
	if err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if w.SessionID > math.MaxInt32 || w.Serial < math.MinInt32 || w.Serial > math.MaxInt32 {
		return fmt.Errorf("wait of session %d,%d: %w", w.SessionID, w.Serial, ErrUnstorable)
	}
	row := waitRow{
		at: at, sampleID: max(w.SampleID, -1), session: int32(max(w.SessionID, -1)), serial: int32(w.Serial), event: b.texts.of(w.Event), inst: inst,
		background: w.Background, waiting: w.Waiting, timeWaitedUS: null64, periodUS: null64,
		sqlID: b.word(w.SQLID, longestText), program: b.word(w.Program, longestText), module: b.word(w.Module, longestText),
		machine: b.word(w.Machine, longestText), service: b.word(w.Service, longestText), p1: w.P1, p2: w.P2, p3: w.P3,
	}
	if w.TimeWaited >= 0 {
		row.timeWaitedUS = w.TimeWaited.Microseconds()
	}
	if us := w.Period.Microseconds(); us > 0 {
		row.periodUS = us
	}
	if w.SessionID < 0 {
		row.session = b.sessions.next(row.inst, row.sampleID, at, b.texts.list[row.event])
	}
	b.waits = append(b.waits, row)
	b.add(at)
	return nil
}

// sessionNumbers counts the rows whose session is unknown, by what else is in
// the key of a wait.
type sessionNumbers map[unknownSession]int32

type unknownSession struct {
	inst   int16
	sample int64 // SAMPLE_ID, or the instant where there is none
	at     int64
	event  string
}

// next gives -1, -2, ... to the rows of one key.
func (n *sessionNumbers) next(inst int16, sample, at int64, event string) int32 {
	if *n == nil {
		*n = sessionNumbers{}
	}
	k := unknownSession{inst, sample, at, event}
	(*n)[k]--
	return (*n)[k]
}

// keptTopology copies a topology, in order, and holds it to the types of its
// columns.
func keptTopology(t domain.Topology) (domain.Topology, error) {
	kept := domain.Topology{
		CPUs: slices.Clone(t.CPUs), Bonds: slices.Clone(t.Bonds), Ports: slices.Clone(t.Ports),
		Interconnects: slices.Clone(t.Interconnects), Affinity: make(map[int][]int, len(t.Affinity)), CoresInferred: t.CoresInferred,
		Fixed: slices.Clone(t.Fixed), Kernel: strings.Clone(t.Kernel),
	}
	if t.InterruptTimeAccounted != nil {
		accounted := *t.InterruptTimeAccounted
		kept.InterruptTimeAccounted = &accounted
	}
	fits := func(most int, values ...int) bool {
		return !slices.ContainsFunc(values, func(v int) bool { return v > most })
	}
	for _, c := range kept.CPUs {
		if c.ID < 0 || !fits(math.MaxInt16, c.ID, c.Socket, c.Node) || !fits(math.MaxInt32, c.Core) {
			return kept, fmt.Errorf("topology: CPU %d: %w", c.ID, ErrUnstorable)
		}
	}
	for i := range kept.Ports {
		p := &kept.Ports[i]
		p.IRQs = slices.Clone(p.IRQs)
		if !fits(math.MaxInt16, p.Node) || !fits(math.MaxInt32, p.IRQs...) {
			return kept, fmt.Errorf("topology: port %.40s: %w", p.Name, ErrUnstorable)
		}
	}
	if !fits(math.MaxInt32, kept.Fixed...) {
		return kept, fmt.Errorf("topology: fixed IRQs: %w", ErrUnstorable)
	}
	for i := range kept.Bonds {
		kept.Bonds[i].Slaves = slices.Clone(kept.Bonds[i].Slaves)
	}
	for irq, cpus := range t.Affinity {
		if !fits(math.MaxInt32, irq) || !fits(math.MaxInt16, cpus...) {
			return kept, fmt.Errorf("topology: affinity of IRQ %d: %w", irq, ErrUnstorable)
		}
		kept.Affinity[irq] = slices.Clone(cpus)
	}
	// Of rows with one key the first counts.
	kept.CPUs = firstByKey(kept.CPUs, func(c domain.CPU) int { return c.ID })
	kept.Ports = firstByKey(kept.Ports, func(p domain.Port) string { return p.Name })
	kept.Bonds = firstByKey(kept.Bonds, func(b domain.Bond) string { return b.Name })
	return kept, nil
}

// firstByKey sorts by a key and keeps the first of each.
func firstByKey[T any, K cmp.Ordered](in []T, key func(T) K) []T {
	slices.SortStableFunc(in, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return slices.CompactFunc(in, func(a, b T) bool { return key(a) == key(b) })
}
