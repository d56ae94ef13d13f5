package series

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corewait/corewait/domain"
)

// maxLines bounds the lines whose devices are told apart: many times what the
// largest machines have.
const maxLines = 65_536

// keptGains is how many gains are kept before those of neighbouring intervals
// are added up; 24 bytes each.
const keptGains = 1 << 18

// lineKey is one line of /proc/interrupts.
type lineKey = domain.Line

func keyOf(l *domain.InterruptLine) lineKey {
	return lineKey{IRQ: l.ID, Device: l.Device, Class: l.Class}
}

func compareLines(a, b lineKey) int {
	return cmp.Or(cmp.Compare(a.IRQ, b.IRQ), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Class, b.Class))
}

// lineRates holds the usual rate of each line.
type lineRates map[lineKey]*lineRate

type lineRate struct {
	name  lineKey
	usual usualRate
}

// of finds a line or begins it; nil beyond maxLines.
func (r *lineRates) of(l *domain.InterruptLine) *lineRate {
	if line, ok := (*r)[keyOf(l)]; ok {
		return line
	}
	if len(*r) >= maxLines {
		return nil
	}
	if *r == nil {
		*r = lineRates{}
	}
	line := &lineRate{name: lineKey{IRQ: strings.Clone(l.ID), Device: strings.Clone(l.Device), Class: l.Class}}
	(*r)[line.name] = line
	return line
}

// usual gives a line's usual rate.
func (r lineRates) usual(l *domain.InterruptLine) usualRate {
	if line, ok := r[keyOf(l)]; ok {
		return line.usual
	}
	return usualRate{}
}

// lineSums gathers each line's interrupts per CPU id in stretches of time, so
// that those of any window can be added up. A stretch is one interval, or
// several in a row where the log is long.
type lineSums struct {
	byKey     map[lineKey]int
	names     []lineKey
	untracked int // lines beyond maxLines, once per interval

	stretches []stretch
	gains     []lineGain // of the stretches, one after the other, each by line and CPU
	length    Micros     // up to which intervals are joined
	next      int        // at how many gains they are joined next
	latest    int        // the line found last
}

// stretch is a stretch of time and the end of its gains.
type stretch struct {
	Span
	seconds float64 // observed
	end     int
}

type lineGain struct {
	line, cpu int
	gain      float64
}

// take adds the gains of a stretch of time.
func (s *lineSums) take(d *domain.DeviceSample, span Span) {
	s.untracked += d.Untracked
	for i := range d.Gains {
		g := &d.Gains[i]
		if line, ok := s.of(&g.Line); ok {
			s.add(line, g.CPU, g.Count)
		}
	}
	s.endInterval(span, d.Observed.Seconds())
}

// of finds a line or begins it; ok is false beyond maxLines.
func (s *lineSums) of(k *lineKey) (line int, ok bool) {
	if s.latest < len(s.names) && s.names[s.latest] == *k { // gains come by line
		return s.latest, true
	}
	if i, ok := s.byKey[*k]; ok {
		s.latest = i
		return i, true
	}
	if len(s.names) >= maxLines {
		s.untracked++
		return 0, false
	}
	if s.byKey == nil {
		s.byKey = map[lineKey]int{}
	}
	i := len(s.names)
	name := lineKey{IRQ: strings.Clone(k.IRQ), Device: strings.Clone(k.Device), Class: k.Class}
	s.byKey[name] = i
	s.names = append(s.names, name)
	return i, true
}

// add adds a gain to the interval that endInterval ends.
func (s *lineSums) add(line, cpu int, gain int64) {
	s.gains = append(s.gains, lineGain{line, cpu, float64(gain)})
}

func (s *lineSums) endInterval(span Span, seconds float64) {
	if latest := s.gains[s.startOf(len(s.stretches)):]; !slices.IsSortedFunc(latest, compareGains) {
		slices.SortFunc(latest, compareGains)
	}
	s.stretches = append(s.stretches, stretch{span, seconds, len(s.gains)})
	if len(s.gains) < max(keptGains, s.next) {
		return
	}
	s.length = max(s.length, Second)
	s.join()
	for len(s.gains) > keptGains/2 && len(s.stretches) > 1 {
		s.length *= 2
		s.join()
	}
	s.next = 2 * len(s.gains)
}

// join makes one stretch of neighbours that are no longer than length together.
// The sums take no more room than what they sum up, so they are put in its place.
func (s *lineSums) join() {
	gains := s.gains[:0]
	var joined []stretch
	for i := 0; i < len(s.stretches); {
		first, one := i, s.stretches[i]
		for i++; i < len(s.stretches) && s.stretches[i].To-one.From <= s.length; i++ {
			one.To = s.stretches[i].To
			one.seconds += s.stretches[i].seconds
		}
		gains = append(gains, s.sum(first, i)...)
		one.end = len(gains)
		joined = append(joined, one)
	}
	s.gains, s.stretches = gains, joined
}

// sum adds up the gains of stretches i to j-1.
func (s *lineSums) sum(i, j int) []lineGain {
	if j-i == 1 {
		return s.gains[s.startOf(i):s.stretches[i].end]
	}
	middle := (i + j) / 2
	return mergeGains(s.sum(i, middle), s.sum(middle, j))
}

func (s *lineSums) startOf(i int) int {
	if i == 0 {
		return 0
	}
	return s.stretches[i-1].end
}

func compareGains(a, b lineGain) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.cpu, b.cpu))
}

// mergeGains adds up the gains of the same line and CPU; all are in order.
func mergeGains(a, b []lineGain) []lineGain {
	out := make([]lineGain, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch c := compareGains(a[0], b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, lineGain{a[0].line, a[0].cpu, a[0].gain + b[0].gain})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// within adds up the stretches that lie in the window, give or take a second or
// half their length, and gives the seconds observed there.
func (s *lineSums) within(w Span) (perCPU []map[int]float64, seconds float64) {
	perCPU = make([]map[int]float64, len(s.names))
	for i := range perCPU {
		perCPU[i] = map[int]float64{}
	}
	for i, st := range s.stretches {
		edge := max(Second, (st.To-st.From)/2)
		if st.From < w.From-edge || st.To > w.To+edge {
			continue
		}
		seconds += st.seconds
		for _, g := range s.gains[s.startOf(i):st.end] {
			perCPU[g.line][g.cpu] += g.gain
		}
	}
	return perCPU, seconds
}

// devices gives the devices by falling rate in the window; none where nothing
// was observed in it. A port that lists an IRQ as its own owns that line,
// whatever its name looks like.
func (s *lineSums) devices(ports []domain.Port, w Span) []Device {
	owner := map[int]string{}
	for _, p := range ports {
		for _, irq := range p.IRQs {
			owner[irq] = p.Name
		}
	}
	sums, sec := s.within(w)
	if sec == 0 {
		return nil
	}
	byName := map[string]*Device{}
	for _, k := range slices.SortedFunc(maps.Keys(s.byKey), compareLines) { // one order, one sum
		perCPU := sums[s.byKey[k]]
		irq, err := strconv.Atoi(k.IRQ)
		name, class := cmp.Or(k.Device, "irq "+k.IRQ), k.Class
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
		for _, cpu := range slices.Sorted(maps.Keys(perCPU)) {
			d.PerS[cpu] += perCPU[cpu] / sec
			d.Total += perCPU[cpu] / sec
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
