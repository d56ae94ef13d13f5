package series

import (
	"fmt"
	"slices"

	"github.com/corewait/corewait/domain"
)

// longGap splits the series where readings are missing for longer than this
// many times their usual distance (and over two minutes).
const longGap = 10

// recentSpans is over how many distances between readings the usual one is
// taken: a log that changes its pace is followed after half as many.
const recentSpans = 9

// interruptRates turns readings of /proc/interrupts into rates.
type interruptRates struct {
	window Span
	out    Matrix
	lines  lineSums
	before *domain.InterruptSnapshot // the last reading taken
	doubt  *domain.InterruptSnapshot // a reading that lacks lines its predecessor had

	index     map[lineKey]int // lines of the reading before, where their order changed
	widenings int             // how often CPUs were added to out

	untimed, overlapping, resets, wraps, incomplete, implausible, manyCPUs int

	recent []Micros // the latest distances between readings
	first  Span     // the first interval, until it is judged
	gaps   []Span
	row    []float32
}

// add takes the next reading. Readings that go back in time (an overlapping
// log) are counted and left out; where the clock itself went back, intervals
// start anew from there.
func (r *interruptRates) add(s *domain.InterruptSnapshot) {
	if s.At.IsZero() {
		r.untimed++
		return
	}
	last := r.before
	if r.doubt != nil {
		last = r.doubt
	}
	if last != nil && !s.At.After(last.At) {
		r.overlapping++
		if r.wentOn(s) {
			r.flush()
			r.replace(s)
		}
		return
	}
	if r.before == nil {
		r.before = s.Clone()
		return
	}
	// A reading that lacks lines may be cut short. If the next one lacks the
	// same, the lines are really gone; if not, the doubtful one is left out.
	lacks := lacksLines(r.before, s)
	if r.doubt != nil {
		confirmed := lacks && !lacksLines(r.doubt, s) && !lacksLines(s, r.doubt)
		if confirmed {
			r.step(r.doubt)
			r.replace(r.doubt)
			lacks = false
		} else {
			r.incomplete++
		}
		r.doubt = nil
	}
	if lacks {
		r.doubt = s.Clone()
		return
	}
	r.step(s)
	r.replace(s)
}

// flush judges a doubtful last reading: nothing follows to clear it, so it is
// left out.
func (r *interruptRates) flush() {
	if r.doubt != nil {
		r.incomplete++
		r.doubt = nil
	}
}

// wentOn says whether counters are further on than in the last reading taken.
// In a reading of earlier time that means that the clock was set back.
func (r *interruptRates) wentOn(s *domain.InterruptSnapshot) bool {
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
func (r *interruptRates) replace(s *domain.InterruptSnapshot) {
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

// step adds the interval from the reading before to s.
func (r *interruptRates) step(s *domain.InterruptSnapshot) {
	span := Span{FromTime(r.before.At), FromTime(s.At)}
	if r.window != (Span{}) && (span.From < r.window.From || span.To > r.window.To) {
		return
	}
	if end := r.out.end(); span.From < end { // the clock was set back
		r.overlapping++
		return
	}
	if r.isGap(span) {
		r.gaps = append(r.gaps, span)
		return
	}
	sec := span.Seconds()
	pair := newCPUPairs(r.before.CPUs, s.CPUs)
	if r.wasReset(s, pair) {
		r.resets++
		r.gaps = append(r.gaps, span)
		return
	}
	if !r.out.widen(s.CPUs, &r.widenings) {
		r.manyCPUs++
		return
	}
	r.row = resize(r.row, len(r.out.CPUs))
	for i := range r.row {
		r.row[i] = float32(nan)
	}
	cols := make([]int, len(pair.now))
	for k, j := range pair.now {
		cols[k] = r.out.Column(s.CPUs[j])
		r.row[cols[k]] = 0
	}
	for i := range s.Lines {
		r.addLine(s, i, pair, cols, sec)
	}
	r.out.Spans = append(r.out.Spans, span)
	r.out.V = append(r.out.V, r.row...)
	r.lines.endInterval(span)
	r.judgeFirst(span)
}

// judgeFirst drops the first interval once two others show it to be a gap:
// when it came there was no usual distance to judge it by.
func (r *interruptRates) judgeFirst(span Span) {
	if len(r.recent) == 1 {
		r.first = span
		return
	}
	if len(r.recent) < 3 || r.first == (Span{}) {
		return
	}
	first, usual := r.first, max(r.recent[1], r.recent[2])
	r.first = Span{}
	if first.Seconds() <= 120 || first.To-first.From <= longGap*usual || r.out.Spans[0] != first {
		return
	}
	r.gaps = append(r.gaps, first)
	r.out.Spans = slices.Delete(r.out.Spans, 0, 1)
	r.out.V = slices.Delete(r.out.V, 0, len(r.out.CPUs))
	r.lines.dropFirst()
}

// isGap says whether readings are missing in the span. The usual distance is
// the median of the latest: a reading taken by hand does not change it.
func (r *interruptRates) isGap(span Span) bool {
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

// addLine adds one line's gain to the row and to its device.
func (r *interruptRates) addLine(s *domain.InterruptSnapshot, i int, pair cpuPairs, cols []int, sec float64) {
	l := &s.Lines[i]
	if l.Class == domain.ClassKernel || l.Counts == nil {
		return
	}
	counts := l.Class != domain.ClassStorage
	b := r.lineBefore(l, i)
	if b == nil || b.Counts == nil {
		// What a new line counted before it was first seen is not known.
		for k, j := range pair.now {
			if counts && l.Counts[j] > 0 {
				r.row[cols[k]] = float32(nan)
			}
		}
		return
	}
	line, sum := r.lines.of(l)
	usual := usualRate{}
	if sum != nil {
		usual = sum.usual
	}
	busiest, whole := uint64(0), true
	for k, j := range pair.now {
		now, was := l.Counts[j], b.Counts[pair.before[k]]
		if now == was {
			continue
		}
		gain, ok := usual.gain(was, now, sec)
		if !ok {
			r.implausible++
			whole = false
			if counts {
				r.row[cols[k]] = float32(nan)
			}
			continue
		}
		if now < was {
			r.wraps++
		}
		if counts {
			r.row[cols[k]] += float32(float64(gain) / sec)
		}
		busiest = max(busiest, gain)
		if sum != nil {
			r.lines.add(line, s.CPUs[j], gain)
		}
	}
	if sum != nil && whole {
		sum.usual.follow(float64(busiest) / sec)
	}
}

// lineBefore finds the line of the reading before: in the same place as a
// rule, by its key otherwise. A number that went to another device is another
// line.
func (r *interruptRates) lineBefore(l *domain.InterruptLine, i int) *domain.InterruptLine {
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
func (r *interruptRates) wasReset(s *domain.InterruptSnapshot, pair cpuPairs) bool {
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

// maxWidenings bounds how often CPUs that were never seen before come online in
// mid-log: far more often than hotplug does it.
const maxWidenings = 64

// end gives the end of the last interval; before all time where there is none.
func (m *Matrix) end() Micros {
	if len(m.Spans) == 0 {
		return noFrom
	}
	return m.Spans[len(m.Spans)-1].To
}

// widen adds columns for CPUs that the matrix does not have yet; what it holds
// of earlier intervals is unknown for them. Each time costs a copy, so they are
// counted: it gives false where CPUs would be added once more than maxWidenings.
func (m *Matrix) widen(cpus []int, widenings *int) bool {
	missing := false
	for _, c := range cpus {
		if m.Column(c) < 0 {
			missing = true
			break
		}
	}
	if !missing {
		return true
	}
	if *widenings >= maxWidenings {
		return false
	}
	*widenings++
	wide := append(slices.Clone(m.CPUs), cpus...)
	slices.Sort(wide)
	wide = slices.Compact(wide)
	v := make([]float32, 0, len(m.Spans)*len(wide))
	for i := range m.Spans {
		row := m.Row(i)
		for _, c := range wide {
			if k := m.Column(c); k >= 0 {
				v = append(v, row[k])
			} else {
				v = append(v, float32(nan))
			}
		}
	}
	m.CPUs, m.V = wide, v
	return true
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

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

func (b *Builder) interruptNotes() []string {
	var n []string
	r := &b.interrupts
	add := func(count int, format string) {
		if count > 0 {
			n = append(n, fmt.Sprintf(format, count))
		}
	}
	add(r.untimed, "%d readings of /proc/interrupts carry no time and give no rates")
	add(r.overlapping, "%d readings of /proc/interrupts overlap earlier ones and were left out")
	add(r.incomplete, "%d readings of /proc/interrupts lack lines that their neighbours have and were left out")
	add(r.resets, "interrupt counters started anew %d times; those intervals are unknown")
	add(r.wraps, "interrupt counters wrapped at 32 bits %d times and were carried on")
	add(r.implausible, "interrupt counters moved %d times by what is neither a plausible gain nor one wrap; those values are unknown")
	add(r.manyCPUs, "%d readings of /proc/interrupts bring new CPUs once more and were left out")
	add(b.netRX.manyCPUs, "%d readings of /proc/softirqs bring new CPUs once more and were left out")
	add(r.lines.untracked, "%d readings of interrupt lines beyond the 65536 kept are in no device's rate")
	if len(r.gaps) > r.resets {
		n = append(n, fmt.Sprintf("/proc/interrupts has %d gaps", len(r.gaps)-r.resets))
	}
	return n
}
