package series

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/domain"
)

// plausiblePerS is the highest rate of one line on one CPU that is believed
// where its counter fell: a wrap of 32 bits lies below it, a reset above.
const plausiblePerS = 2_000_000

// resetShare: where at least this share of the counters that moved fell at
// once, they were reset (reboot, driver reload) rather than wrapped.
const resetShare = 0.5

// severalFell: so many counters do not wrap in the same interval. It tells a
// reset in a log whose readings lie so far apart that a wrap is plausible.
const severalFell = 3

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
	lines  map[lineKey]*lineSum
	before *domain.InterruptSnapshot // the last reading taken
	doubt  *domain.InterruptSnapshot // a reading that lacks lines its predecessor had

	untimed, overlapping, resets, wraps, incomplete int

	recent []Micros // the latest distances between readings
	gaps   []Span
	row    []float32
}

// lineKey is one line of /proc/interrupts: a number may go to another device in
// mid-log.
type lineKey struct{ id, device string }

// lineSum gathers one line's interrupts per CPU id over the window.
type lineSum struct {
	class  domain.DeviceClass
	perCPU map[int]float64
}

// add takes the next reading. Readings that go back in time (an overlapping
// log) are counted and left out.
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

// replace keeps s as the reading to subtract from next time, reusing memory.
func (r *interruptRates) replace(s *domain.InterruptSnapshot) {
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
	r.out.widen(s.CPUs)
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
	dev := r.line(l)
	for k, j := range pair.now {
		now, was := l.Counts[j], b.Counts[pair.before[k]]
		if now == was {
			continue
		}
		gain, ok := counterGain(was, now, sec)
		if !ok {
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
		dev.perCPU[s.CPUs[j]] += float64(gain)
	}
}

// lineBefore finds the line of the reading before: in the same place as a
// rule, by its id otherwise.
func (r *interruptRates) lineBefore(l *domain.InterruptLine, i int) *domain.InterruptLine {
	if i < len(r.before.Lines) && r.before.Lines[i].ID == l.ID {
		return &r.before.Lines[i]
	}
	for k := range r.before.Lines {
		if r.before.Lines[k].ID == l.ID {
			return &r.before.Lines[k]
		}
	}
	return nil
}

// line gives the sum that a line's interrupts are added to.
func (r *interruptRates) line(l *domain.InterruptLine) *lineSum {
	if r.lines == nil {
		r.lines = map[lineKey]*lineSum{}
	}
	k := lineKey{l.ID, l.Device}
	d := r.lines[k]
	if d == nil {
		d = &lineSum{class: l.Class, perCPU: map[int]float64{}}
		r.lines[lineKey{strings.Clone(l.ID), strings.Clone(l.Device)}] = d
	}
	return d
}

// counterGain gives now - was of a counter that is 32 bits wide in the kernel
// and wraps (kernel/irq/proc.c prints %10u); ok is false where neither a gain
// nor a wrap is plausible. Sums over 32 bits never wrap here.
func counterGain(was, now uint64, sec float64) (uint64, bool) {
	if now >= was {
		gain := now - was
		return gain, float64(gain) <= plausiblePerS*max(sec, 1)
	}
	if was >= 1<<32 {
		return 0, false
	}
	gain := now + 1<<32 - was
	return gain, float64(gain) <= plausiblePerS*max(sec, 1)
}

// falls counts the counters that moved between two readings, and those that
// fell.
type falls struct{ moved, fell, implausible int }

func (f *falls) note(was, now uint64, sec float64) {
	if now == was {
		return
	}
	f.moved++
	if now > was {
		return
	}
	f.fell++
	if _, ok := counterGain(was, now, sec); !ok {
		f.implausible++
	}
}

// areReset says whether the counters started anew: many of those that moved
// fell, by more than a wrap explains or too many at once for wraps.
func (f *falls) areReset() bool {
	many := resetShare * float64(f.moved)
	return f.implausible > 0 && float64(f.implausible) >= many || f.fell >= severalFell && float64(f.fell) >= many
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
		for k, j := range pair.now {
			f.note(b.Counts[pair.before[k]], l.Counts[j], sec)
		}
	}
	return f.areReset()
}

// widen adds columns for CPUs that the matrix does not have yet; what it holds
// of earlier intervals is unknown for them.
func (m *Matrix) widen(cpus []int) {
	missing := false
	for _, c := range cpus {
		if m.Column(c) < 0 {
			missing = true
			break
		}
	}
	if !missing {
		return
	}
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

// devices gives the devices by falling rate. A port that lists an IRQ as its
// own owns that line, whatever its name looks like.
func (r *interruptRates) devices(ports []domain.Port) []Device {
	owner := map[int]string{}
	for _, p := range ports {
		for _, irq := range p.IRQs {
			owner[irq] = p.Name
		}
	}
	sec := r.out.Seconds()
	byName := map[string]*Device{}
	for _, k := range slices.SortedFunc(maps.Keys(r.lines), compareLines) { // one order, one sum
		sum := r.lines[k]
		irq, err := strconv.Atoi(k.id)
		name, class := cmp.Or(k.device, "irq "+k.id), sum.class
		if port, ok := owner[irq]; ok && err == nil {
			name, class = port, domain.ClassNetwork
		}
		d := byName[name]
		if d == nil {
			d = &Device{Name: name, Class: class, PerS: map[int]float64{}}
			byName[name] = d
		}
		if err == nil {
			d.IRQs = append(d.IRQs, irq)
		}
		for _, cpu := range slices.Sorted(maps.Keys(sum.perCPU)) {
			d.PerS[cpu] += sum.perCPU[cpu] / sec
			d.Total += sum.perCPU[cpu] / sec
		}
	}
	out := make([]Device, 0, len(byName))
	for _, d := range byName {
		slices.Sort(d.IRQs)
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Device) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func compareLines(a, b lineKey) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.device, b.device))
}

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
