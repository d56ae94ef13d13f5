package series

import (
	"slices"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// longGap splits the series where readings are missing for longer than this
// many times their usual distance (and over two minutes).
const longGap = 10

// recentSpans is over how many distances between readings the usual one is
// taken: a log that changes its pace is followed after half as many.
const recentSpans = 9

// interruptGains turns readings of /proc/interrupts into what each interval
// between them gained.
type interruptGains struct {
	to     ingest.IntervalSink
	lines  lineRates
	before *domain.InterruptSnapshot // the last reading taken
	doubt  *domain.InterruptSnapshot // a reading that lacks lines its predecessor had
	index  map[lineKey]int           // lines of the reading before, where their order changed
	end    Micros                    // of the last interval

	recent []Micros       // the latest distances between readings
	held   []heldInterval // the first intervals, until the first is judged
	judged bool

	sample domain.InterruptSample
	device domain.DeviceSample
}

// heldInterval is an interval that waits to be passed on.
type heldInterval struct {
	sample domain.InterruptSample
	device domain.DeviceSample
}

// add takes the next reading. Readings that go back in time (an overlapping
// log) are counted and left out; where the clock itself went back, intervals
// start anew from there.
func (r *interruptGains) add(s *domain.InterruptSnapshot) error {
	if s.At.IsZero() {
		return r.leftOut(s, domain.GapUntimed)
	}
	last := r.before
	if r.doubt != nil {
		last = r.doubt
	}
	if last != nil && !s.At.After(last.At) {
		err := r.leftOut(s, domain.GapOverlap)
		if err == nil && r.wentOn(s) {
			err = r.settle()
			r.replace(s)
		}
		return err
	}
	if r.before == nil {
		r.before = s.Clone()
		return nil
	}
	// A reading that lacks lines may be cut short. If the next one lacks the
	// same, the lines are really gone; if not, the doubtful one is left out.
	lacks := lacksLines(r.before, s)
	if doubt := r.doubt; doubt != nil {
		r.doubt = nil
		if lacks && !lacksLines(doubt, s) && !lacksLines(s, doubt) {
			if err := r.step(doubt); err != nil {
				return err
			}
			r.replace(doubt)
			lacks = false
		} else if err := r.leftOut(doubt, domain.GapIncomplete); err != nil {
			return err
		}
	}
	if lacks {
		r.doubt = s.Clone()
		return nil
	}
	if err := r.step(s); err != nil {
		return err
	}
	r.replace(s)
	return nil
}

// flush ends the readings: what waited to be judged is passed on.
func (r *interruptGains) flush() error {
	if err := r.settle(); err != nil {
		return err
	}
	return r.release()
}

// settle judges a doubtful last reading: nothing follows to clear it, so it is
// left out.
func (r *interruptGains) settle() error {
	if r.doubt == nil {
		return nil
	}
	doubt := r.doubt
	r.doubt = nil
	return r.leftOut(doubt, domain.GapIncomplete)
}

// leftOut tells of a reading that is not taken.
func (r *interruptGains) leftOut(s *domain.InterruptSnapshot, reason string) error {
	return r.to.Gap(domain.Gap{Source: domain.GapInterrupts, From: s.At, To: s.At, Reason: reason})
}

// gap tells of an interval that is not known.
func (r *interruptGains) gap(s Span, reason string) error {
	return r.to.Gap(domain.Gap{Source: domain.GapInterrupts, From: ToTime(s.From), To: ToTime(s.To), Reason: reason})
}

// wentOn says whether counters are further on than in the last reading taken.
// In a reading of earlier time that means that the clock was set back.
func (r *interruptGains) wentOn(s *domain.InterruptSnapshot) bool {
	var f falls
	pair := newCPUPairs(r.before.CPUs, s.CPUs)
	for i := range s.Lines {
		l := &s.Lines[i]
		b := r.lineBefore(l, i)
		if b == nil || b.Counts == nil || l.Counts == nil {
			continue
		}
		for k, j := range pair.now {
			f.note(b.Counts[pair.before[k]], l.Counts[j], 1, usualRate{})
		}
	}
	return f.wentOn()
}

// replace keeps s as the reading to subtract from next time, reusing memory.
func (r *interruptGains) replace(s *domain.InterruptSnapshot) {
	clear(r.index)
	b := r.before
	if len(b.Lines) != len(s.Lines) || len(b.CPUs) != len(s.CPUs) {
		r.before = s.Clone()
		return
	}
	b.At = s.At
	copy(b.CPUs, s.CPUs)
	for i := range s.Lines {
		counts := b.Lines[i].Counts
		if len(counts) != len(s.Lines[i].Counts) {
			r.before = s.Clone()
			return
		}
		copy(counts, s.Lines[i].Counts)
		b.Lines[i] = s.Lines[i]
		b.Lines[i].Counts = counts
	}
}

// lacksLines says whether s misses a device line that b has.
func lacksLines(b, s *domain.InterruptSnapshot) bool {
	if len(s.Lines) >= len(b.Lines) {
		return false
	}
	have := make(map[string]bool, len(s.Lines))
	for i := range s.Lines {
		have[s.Lines[i].ID] = true
	}
	for i := range b.Lines {
		if b.Lines[i].Counts != nil && !have[b.Lines[i].ID] {
			return true
		}
	}
	return false
}

// step passes on the interval from the reading before to s.
func (r *interruptGains) step(s *domain.InterruptSnapshot) error {
	span := Span{FromTime(r.before.At), FromTime(s.At)}
	if span.From < r.end { // the clock was set back
		return r.gap(span, domain.GapOverlap)
	}
	if r.isGap(span) {
		return r.gap(span, domain.GapMissing)
	}
	pair := newCPUPairs(r.before.CPUs, s.CPUs)
	if r.wasReset(s, pair) {
		return r.gap(span, domain.GapReset)
	}
	r.begin(s, span, pair)
	for i := range s.Lines {
		r.addLine(s, i, pair, span.Seconds())
	}
	r.end = span.To
	return r.pass()
}

// begin makes an interval in which every CPU of both readings gained nothing
// yet; what a CPU gained that is new is not known.
func (r *interruptGains) begin(s *domain.InterruptSnapshot, span Span, pair cpuPairs) {
	counts := slices.Grow(r.sample.Counts[:0], len(s.CPUs))[:len(s.CPUs)]
	for i := range counts {
		counts[i] = unknownCount
	}
	for _, j := range pair.now {
		counts[j] = 0
	}
	from, to := ToTime(span.From), ToTime(span.To)
	r.sample = domain.InterruptSample{From: from, To: to, CPUs: append(r.sample.CPUs[:0], s.CPUs...), Counts: counts}
	r.device = domain.DeviceSample{From: from, To: to, Observed: to.Sub(from), Gains: r.device.Gains[:0]}
}

// unknownCount is a count that is not known.
const unknownCount = -1

// pass passes the interval on, or keeps it until the first one is judged.
func (r *interruptGains) pass() error {
	if r.judged {
		return r.send(&r.sample, &r.device)
	}
	h := heldInterval{r.sample, r.device}
	h.sample.CPUs, h.sample.Counts = slices.Clone(h.sample.CPUs), slices.Clone(h.sample.Counts)
	h.device.Gains = slices.Clone(h.device.Gains)
	r.held = append(r.held, h)
	if len(r.recent) < 3 {
		return nil
	}
	return r.judgeFirst()
}

func (r *interruptGains) send(s *domain.InterruptSample, d *domain.DeviceSample) error {
	if err := r.to.InterruptSample(s); err != nil {
		return err
	}
	return r.to.DeviceSample(d)
}

// judgeFirst leaves out the first interval where two others show it to be a gap:
// when it came there was no usual distance to judge it by.
func (r *interruptGains) judgeFirst() error {
	first, usual := r.held[0].sample, max(r.recent[1], r.recent[2])
	span := Span{FromTime(first.From), FromTime(first.To)}
	if r.recent[0] == span.To-span.From && span.Seconds() > 120 && span.To-span.From > longGap*usual {
		r.held = r.held[1:]
		if err := r.gap(span, domain.GapMissing); err != nil {
			return err
		}
	}
	return r.release()
}

// release passes on what was held.
func (r *interruptGains) release() error {
	r.judged = true
	for i := range r.held {
		if err := r.send(&r.held[i].sample, &r.held[i].device); err != nil {
			return err
		}
	}
	r.held = nil
	return nil
}

// isGap says whether readings are missing in the span. The usual distance is
// the median of the latest: a reading taken by hand does not change it.
func (r *interruptGains) isGap(span Span) bool {
	distance := span.To - span.From
	gap := false
	if span.Seconds() > 120 && len(r.recent) > 0 {
		sorted := slices.Sorted(slices.Values(r.recent))
		gap = distance > longGap*sorted[len(sorted)/2]
	}
	if len(r.recent) == recentSpans {
		copy(r.recent, r.recent[1:])
		r.recent = r.recent[:recentSpans-1]
	}
	r.recent = append(r.recent, distance)
	return gap
}

// addLine adds one line's gains to the interval.
func (r *interruptGains) addLine(s *domain.InterruptSnapshot, i int, pair cpuPairs, sec float64) {
	l := &s.Lines[i]
	if l.Class == domain.ClassKernel || l.Counts == nil {
		return
	}
	counts := l.Class != domain.ClassStorage
	b := r.lineBefore(l, i)
	if b == nil || b.Counts == nil {
		if counts {
			r.addNewLine(l, pair)
		}
		return
	}
	line := r.lines.of(l)
	usual := usualRate{}
	if line != nil {
		usual = line.usual
	} else {
		r.device.Untracked++
	}
	busiest, whole := int64(0), true
	for k, j := range pair.now {
		now, was := l.Counts[j], b.Counts[pair.before[k]]
		if now == was {
			continue
		}
		gain, ok := usual.gain(was, now, sec)
		if counts {
			r.addCount(j, gain, ok)
		}
		if !ok {
			r.sample.Implausible++
			whole = false
			continue
		}
		if now < was {
			r.sample.Wrapped++
		}
		busiest = max(busiest, gain)
		if line != nil {
			r.device.Gains = append(r.device.Gains, domain.LineGain{Line: line.name, CPU: s.CPUs[j], Count: gain})
		}
	}
	if line != nil && whole {
		line.usual.follow(float64(busiest) / sec)
	}
}

// addNewLine makes the CPUs unknown that a new line interrupted: what it counted
// before it was first seen is not known.
func (r *interruptGains) addNewLine(l *domain.InterruptLine, pair cpuPairs) {
	for _, j := range pair.now {
		if l.Counts[j] > 0 {
			r.sample.Counts[j] = unknownCount
		}
	}
}

// addCount adds a line's gain to the CPU in that column; one that is not known
// makes the CPU's count unknown.
func (r *interruptGains) addCount(column int, gain int64, ok bool) {
	switch {
	case !ok:
		r.sample.Counts[column] = unknownCount
	case r.sample.Counts[column] != unknownCount:
		r.sample.Counts[column] += gain
	}
}

// lineBefore finds the line of the reading before: in the same place as a
// rule, by its key otherwise. A number that went to another device is another
// line.
func (r *interruptGains) lineBefore(l *domain.InterruptLine, i int) *domain.InterruptLine {
	k := keyOf(l)
	if i < len(r.before.Lines) && keyOf(&r.before.Lines[i]) == k {
		return &r.before.Lines[i]
	}
	if len(r.index) == 0 {
		if r.index == nil {
			r.index = make(map[lineKey]int, len(r.before.Lines))
		}
		for n := range slices.Backward(r.before.Lines) { // of doubles the first counts
			r.index[keyOf(&r.before.Lines[n])] = n
		}
	}
	if n, ok := r.index[k]; ok {
		return &r.before.Lines[n]
	}
	return nil
}

// wasReset says whether the counters started anew between the readings.
func (r *interruptGains) wasReset(s *domain.InterruptSnapshot, pair cpuPairs) bool {
	var f falls
	sec := s.At.Sub(r.before.At).Seconds()
	for i := range s.Lines {
		l := &s.Lines[i]
		b := r.lineBefore(l, i)
		if b == nil || b.Counts == nil || l.Counts == nil {
			continue
		}
		usual := r.lines.usual(l)
		for k, j := range pair.now {
			f.note(b.Counts[pair.before[k]], l.Counts[j], sec, usual)
		}
	}
	return f.areReset()
}

// cpuPairs lists, for the CPUs online in both readings, their columns in each.
type cpuPairs struct{ before, now []int }

func newCPUPairs(before, now []int) cpuPairs {
	p := cpuPairs{make([]int, 0, len(now)), make([]int, 0, len(now))}
	for j, id := range now {
		if j < len(before) && before[j] == id {
			p.before, p.now = append(p.before, j), append(p.now, j)
			continue
		}
		if k := slices.Index(before, id); k >= 0 {
			p.before, p.now = append(p.before, k), append(p.now, j)
		}
	}
	return p
}
