package series

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/corewait/corewait/domain"
)

// plausiblePerS is the highest rate of one line on one CPU that is believed
// where its counter fell: a wrap of 32 bits lies below it, a reset above.
const plausiblePerS = 2_000_000

// resetShare: where at least this share of the lines that moved fell at once,
// the counters were reset (reboot, driver reload) rather than wrapped.
const resetShare = 0.5

// longGap splits the series where readings are missing for longer than this
// many times their usual distance (and over two minutes).
const longGap = 10

// interruptRates turns readings of /proc/interrupts into rates.
type interruptRates struct {
	window Span
	out    Matrix
	devs   map[string]*deviceSum
	before *domain.InterruptSnapshot // the last reading taken
	doubt  *domain.InterruptSnapshot // a reading that lacks lines its predecessor had

	readings, untimed, overlapping, resets, wraps, incomplete int
	firstDevice                                               map[string]domain.DeviceClass
	usual                                                     Micros // usual distance between readings
	gaps                                                      []Span
	row                                                       []float32
	index                                                     map[string]int
}

// deviceSum gathers one device's interrupts per CPU column over the window.
type deviceSum struct {
	class  domain.DeviceClass
	irqs   map[int]bool
	perCPU map[int]float64
}

// add takes the next reading. Readings that go back in time (an overlapping
// log) are counted and left out.
func (r *interruptRates) add(s *domain.InterruptSnapshot) {
	r.readings++
	if s.At.IsZero() {
		r.untimed++
		r.remember(s)
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
	// A reading that lacks lines may be cut short. If the next one has them
	// again the doubtful one is left out; if not, the lines are really gone.
	if r.doubt == nil && lacksLines(r.before, s) {
		r.doubt = s.Clone()
		return
	}
	if r.doubt != nil {
		if lacksLines(r.before, s) {
			r.step(r.doubt)
			r.replace(r.doubt)
		} else {
			r.incomplete++
		}
		r.doubt = nil
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

func (r *interruptRates) remember(s *domain.InterruptSnapshot) {
	if r.firstDevice == nil {
		r.firstDevice = map[string]domain.DeviceClass{}
	}
	for i := range s.Lines {
		if l := &s.Lines[i]; l.Device != "" && l.Class != domain.ClassKernel {
			r.firstDevice[l.Device] = l.Class
		}
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
	if r.usual > 0 && span.To-span.From > longGap*r.usual && span.Seconds() > 120 {
		r.gaps = append(r.gaps, span)
		return
	}
	if r.usual == 0 || span.To-span.From < r.usual {
		r.usual = span.To - span.From
	}
	sec := span.Seconds()
	pair := newCPUPairs(r.before.CPUs, s.CPUs)
	if r.wasReset(s, pair) {
		r.resets++
		r.gaps = append(r.gaps, span)
		return
	}
	r.widen(s.CPUs)
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

// addLine adds one line's gain to the row and to its device.
func (r *interruptRates) addLine(s *domain.InterruptSnapshot, i int, pair cpuPairs, cols []int, sec float64) {
	l := &s.Lines[i]
	if l.Class == domain.ClassKernel || l.Counts == nil {
		return
	}
	b := r.lineBefore(l, i)
	if b == nil || b.Counts == nil {
		return
	}
	dev := r.device(l)
	counts := l.Class != domain.ClassStorage
	for k, j := range pair.now {
		now, was := l.Counts[j], b.Counts[pair.before[k]]
		if now == was {
			continue
		}
		gain, ok := counterGain(was, now, sec)
		if !ok {
			r.row[cols[k]] = float32(nan)
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

func (r *interruptRates) device(l *domain.InterruptLine) *deviceSum {
	if r.devs == nil {
		r.devs = map[string]*deviceSum{}
	}
	name := l.Device
	if name == "" {
		name = "irq " + l.ID
	}
	d := r.devs[name]
	if d == nil {
		d = &deviceSum{class: l.Class, irqs: map[int]bool{}, perCPU: map[int]float64{}}
		r.devs[name] = d
	}
	if n, err := strconv.Atoi(l.ID); err == nil {
		d.irqs[n] = true
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

// wasReset says whether the counters started anew between the readings: many
// of those that moved fell, by more than a wrap explains.
func (r *interruptRates) wasReset(s *domain.InterruptSnapshot, pair cpuPairs) bool {
	moved, fell := 0, 0
	sec := s.At.Sub(r.before.At).Seconds()
	for i := range s.Lines {
		l := &s.Lines[i]
		b := r.lineBefore(l, i)
		if b == nil || b.Counts == nil || l.Counts == nil {
			continue
		}
		for k, j := range pair.now {
			now, was := l.Counts[j], b.Counts[pair.before[k]]
			if now == was {
				continue
			}
			moved++
			if _, ok := counterGain(was, now, sec); now < was && !ok {
				fell++
			}
		}
	}
	return moved > 0 && float64(fell) >= resetShare*float64(moved)
}

// widen makes sure that the matrix has a column for each CPU of the reading.
func (r *interruptRates) widen(cpus []int) { r.out.widen(cpus) }

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
	var p cpuPairs
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

// devices gives the devices by falling rate.
func (r *interruptRates) devices() []Device {
	sec := r.out.Seconds()
	var out []Device
	for name, d := range r.devs {
		dev := Device{Name: name, Class: d.class, PerS: map[int]float64{}}
		for irq := range d.irqs {
			dev.IRQs = append(dev.IRQs, irq)
		}
		slices.Sort(dev.IRQs)
		for _, cpu := range slices.Sorted(maps.Keys(d.perCPU)) { // one order, one sum
			dev.PerS[cpu] = d.perCPU[cpu] / sec
			dev.Total += d.perCPU[cpu] / sec
		}
		out = append(out, dev)
	}
	slices.SortFunc(out, func(a, b Device) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
