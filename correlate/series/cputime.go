package series

import (
	"maps"
	"math"
	"slices"

	"github.com/corewait/corewait/domain"
)

// cpuTimeRates gathers CPU shares per CPU.
type cpuTimeRates struct {
	window  Span
	rows    map[Micros]map[int]cpuShares // by end of interval, then CPU; those of the window
	started map[Micros]Micros            // begin of each interval by its end; 0 unknown
}

// cpuShares are one CPU's shares in one interval; NaN unknown.
type cpuShares struct{ user, system, irq, softirq, steal, idle, iowait float64 }

var unknownShares = cpuShares{nan, nan, nan, nan, nan, nan, nan}

func (s *cpuShares) irqSoft() float64 { return addKnown(s.irq, s.softirq) }

func (c *cpuTimeRates) put(from, to Micros, cpu int, s cpuShares) {
	if c.rows == nil {
		c.rows, c.started = map[Micros]map[int]cpuShares{}, map[Micros]Micros{}
	}
	c.started[to] = max(c.started[to], from)
	if c.window.endsOutside(to) {
		return
	}
	row := c.rows[to]
	if row == nil {
		row = map[int]cpuShares{}
		c.rows[to] = row
	}
	row[cpu] = s
}

// addSample takes a row of mpstat, as exactly as it is stored. A CPU whose every column printed zero was
// offline; it gets no value.
func (c *cpuTimeRates) addSample(s domain.CPUSample) {
	if s.Offline {
		return
	}
	round := domain.RoundShare
	if s.CPU == domain.AllCPUs {
		round = domain.RoundHostShare
	}
	to := FromTime(s.At)
	from := Micros(0)
	if s.Interval > 0 {
		from = to - s.Interval.Microseconds()
	}
	c.put(from, to, s.CPU, cpuShares{
		user: round(addKnown(s.User, s.Nice)), system: round(s.System), irq: round(s.IRQ), softirq: round(s.SoftIRQ),
		steal: round(s.Steal), idle: round(s.Idle), iowait: round(s.IOWait),
	})
}

// addKnown adds two shares; one that the tool did not print is left out.
func addKnown(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	if math.IsNaN(b) {
		return a
	}
	return a + b
}

// cpuRow is what is known of the CPUs in an interval.
type cpuRow struct {
	Span
	shares map[int]cpuShares
}

// inOrder gives the intervals. One without a known begin starts at the end of
// the one before; the first is as long as the second.
func (c *cpuTimeRates) inOrder() []cpuRow {
	ends := slices.Sorted(maps.Keys(c.started))
	usual := usualStep(ends)
	rows := make([]cpuRow, 0, len(c.rows))
	for i, to := range ends {
		span := Span{to - usual, to}
		if i > 0 && ends[i-1] > span.From-usual {
			span.From = ends[i-1]
		}
		if from := c.started[to]; from != 0 {
			span.From = from
		}
		if i > 0 && span.From < ends[i-1] {
			span.From = ends[i-1]
		}
		if shares := c.rows[to]; shares != nil {
			rows = append(rows, cpuRow{span, shares})
		}
	}
	return rows
}

// build gives the matrices.
func (c *cpuTimeRates) build() CPUTime {
	var t CPUTime
	cpus := map[int]bool{}
	for _, row := range c.rows {
		for cpu := range row {
			if cpu != domain.AllCPUs {
				cpus[cpu] = true
			}
		}
	}
	ids := sortedKeys(cpus)
	t.IRQSoftIRQ.CPUs, t.Steal.CPUs, t.Busy.CPUs = ids, ids, ids
	for _, row := range c.inOrder() {
		c.buildRow(&t, row.Span, ids, row.shares)
	}
	return t
}

func (c *cpuTimeRates) buildRow(t *CPUTime, span Span, ids []int, row map[int]cpuShares) {
	if host, ok := row[domain.AllCPUs]; ok {
		t.Host = append(t.Host, HostTime{
			Span: span, User: host.user, System: host.system, IRQSoftIRQ: host.irqSoft(),
			Steal: host.steal, Idle: host.idle, IOWait: host.iowait,
		})
	}
	if len(ids) == 0 {
		return
	}
	for _, m := range []*Matrix{&t.IRQSoftIRQ, &t.Steal, &t.Busy} {
		m.Spans = append(m.Spans, span)
	}
	for _, id := range ids {
		s, ok := row[id]
		if !ok {
			s = unknownShares
		}
		t.Interrupts = t.Interrupts || s.irqSoft() > 0
		t.IRQAccounted = t.IRQAccounted || s.irq > 0
		t.IRQSoftIRQ.V = append(t.IRQSoftIRQ.V, float32(s.irqSoft()))
		t.Steal.V = append(t.Steal.V, float32(s.steal))
		t.Busy.V = append(t.Busy.V, float32(busy(s)))
	}
}

// busy is the share that the CPU neither idled nor waited for I/O; a column of
// iowait that the tool did not print is left out.
func busy(s cpuShares) float64 {
	if math.IsNaN(s.idle) {
		return nan
	}
	return 1 - addKnown(s.idle, s.iowait)
}

// usualStep gives the median distance between ascending instants, 0 where
// there are under two.
func usualStep(at []Micros) Micros {
	if len(at) < 2 {
		return 0
	}
	d := make([]Micros, 0, len(at)-1)
	for i := 1; i < len(at); i++ {
		d = append(d, at[i]-at[i-1])
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func sortedKeys(m map[int]bool) []int {
	out := make([]int, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
