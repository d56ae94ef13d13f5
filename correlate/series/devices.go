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

// lineKey is one line of /proc/interrupts: a number may go to another device in
// mid-log.
type lineKey struct {
	id, device string
	class      domain.DeviceClass
}

func keyOf(l *domain.InterruptLine) lineKey { return lineKey{l.ID, l.Device, l.Class} }

func compareLines(a, b lineKey) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.device, b.device), cmp.Compare(a.class, b.class))
}

// lineSums gathers each line's interrupts per CPU id in stretches of time, so
// that those of any window can be added up. A stretch is one interval, or
// several in a row where the log is long.
type lineSums struct {
	byKey     map[lineKey]int
	lines     []lineSum
	untracked int // lines beyond maxLines, once per interval

	stretches []stretch
	gains     []lineGain // of the stretches, one after the other, each by line and CPU
	length    Micros     // up to which intervals are joined
	next      int        // at how many gains they are joined next
}

type lineSum struct {
	key   lineKey
	usual usualRate
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

// of finds a line or begins it; nil beyond maxLines.
func (s *lineSums) of(l *domain.InterruptLine) (int, *lineSum) {
	if i, ok := s.byKey[keyOf(l)]; ok {
		return i, &s.lines[i]
	}
	if len(s.lines) >= maxLines {
		s.untracked++
		return 0, nil
	}
	if s.byKey == nil {
		s.byKey = map[lineKey]int{}
	}
	i := len(s.lines)
	k := lineKey{strings.Clone(l.ID), strings.Clone(l.Device), l.Class}
	s.byKey[k] = i
	s.lines = append(s.lines, lineSum{key: k})
	return i, &s.lines[i]
}

// usual gives a line's usual rate.
func (s *lineSums) usual(l *domain.InterruptLine) usualRate {
	if i, ok := s.byKey[keyOf(l)]; ok {
		return s.lines[i].usual
	}
	return usualRate{}
}

// add adds a gain to the interval that endInterval ends.
func (s *lineSums) add(line, cpu int, gain uint64) {
	s.gains = append(s.gains, lineGain{line, cpu, float64(gain)})
}

func (s *lineSums) endInterval(span Span) {
	if latest := s.gains[s.startOf(len(s.stretches)):]; !slices.IsSortedFunc(latest, compareGains) {
		slices.SortFunc(latest, compareGains)
	}
	s.stretches = append(s.stretches, stretch{span, span.Seconds(), len(s.gains)})
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

// dropFirst forgets the first stretch.
func (s *lineSums) dropFirst() {
	n := s.stretches[0].end
	s.gains = slices.Delete(s.gains, 0, n)
	s.stretches = slices.Delete(s.stretches, 0, 1)
	for i := range s.stretches {
		s.stretches[i].end -= n
	}
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

// within adds up the stretches that lie in the window, give or take a second,
// and gives the seconds observed there.
func (s *lineSums) within(w Span) (perCPU []map[int]float64, seconds float64) {
	perCPU = make([]map[int]float64, len(s.lines))
	for i := range perCPU {
		perCPU[i] = map[int]float64{}
	}
	for i, st := range s.stretches {
		if st.From < w.From-Second || st.To > w.To+Second {
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
		irq, err := strconv.Atoi(k.id)
		name, class := cmp.Or(k.device, "irq "+k.id), k.class
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
