package series

import (
	"math"
	"slices"

	"github.com/corewait/corewait/domain"
)

// cpuTimeRates gathers CPU shares per CPU: from rows of mpstat, or from
// differences of /proc/stat.
type cpuTimeRates struct {
	window  Span
	before  *domain.CPUTimesSnapshot
	rows    map[Micros]map[int]cpuShares // by end of interval, then CPU
	started map[Micros]Micros            // begin of an interval, where known
}

// cpuShares are one CPU's shares in one interval; NaN unknown.
type cpuShares struct{ user, system, irq, irqSoft, steal, idle, iowait float64 }

func (c *cpuTimeRates) put(from, to Micros, cpu int, s cpuShares) {
	if c.window.endsOutside(to) {
		return
	}
	if c.rows == nil {
		c.rows, c.started = map[Micros]map[int]cpuShares{}, map[Micros]Micros{}
	}
	row := c.rows[to]
	if row == nil {
		row = map[int]cpuShares{}
		c.rows[to] = row
	}
	row[cpu] = s
	if from > 0 {
		c.started[to] = from
	}
}

// addSample takes a row of mpstat. A CPU whose every column printed zero was
// offline; it gets no value.
func (c *cpuTimeRates) addSample(s domain.CPUSample) {
	if s.Offline {
		return
	}
	to := FromTime(s.At)
	from := Micros(0)
	if s.Interval > 0 {
		from = to - s.Interval.Microseconds()
	}
	c.put(from, to, s.CPU, cpuShares{
		user: addKnown(s.User, s.Nice), system: s.System, irq: s.IRQ, irqSoft: addKnown(s.IRQ, s.SoftIRQ),
		steal: s.Steal, idle: s.Idle, iowait: s.IOWait,
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

// addCounters takes a reading of /proc/stat and gives the host's point over
// the interval since the reading before; ok is false for the first reading.
func (c *cpuTimeRates) addCounters(s *domain.CPUTimesSnapshot) (SystemPoint, bool) {
	b := c.before
	keep := *s
	keep.CPUs = slices.Clone(s.CPUs)
	c.before = &keep
	if b == nil || !s.At.After(b.At) {
		return SystemPoint{}, false
	}
	from, to := FromTime(b.At), FromTime(s.At)
	p := SystemPoint{
		At: to, RunQueue: known(s.ProcsRunning), Blocked: known(s.ProcsBlocked), SwapPerS: nan,
		ContextSwitchesPerS: nan, User: nan, System: nan, Steal: nan, Idle: nan,
	}
	if s.ContextSwitches >= 0 && b.ContextSwitches >= 0 && s.ContextSwitches >= b.ContextSwitches {
		p.ContextSwitchesPerS = float64(s.ContextSwitches-b.ContextSwitches) / s.At.Sub(b.At).Seconds()
	}
	for _, now := range s.CPUs {
		i := slices.IndexFunc(b.CPUs, func(o domain.CPUTimes) bool { return o.CPU == now.CPU })
		if i < 0 {
			continue
		}
		shares, ok := sharesBetween(&b.CPUs[i], &now)
		if !ok {
			continue
		}
		c.put(from, to, now.CPU, shares)
		if now.CPU == domain.AllCPUs {
			p.User, p.System, p.Steal, p.Idle = shares.user, shares.system, shares.steal, shares.idle
		}
	}
	return p, true
}

func known(v int64) float64 {
	if v < 0 {
		return nan
	}
	return float64(v)
}

// sharesBetween gives the shares of CPU time between two readings of a cpuN
// row. guest is contained in user and guest_nice in nice (proc_stat(5)), so
// they are not added. ok is false where a counter fell or nothing moved.
func sharesBetween(b, s *domain.CPUTimes) (cpuShares, bool) {
	now := [...]int64{s.User, s.Nice, s.System, s.Idle, s.IOWait, s.IRQ, s.SoftIRQ, s.Steal}
	was := [...]int64{b.User, b.Nice, b.System, b.Idle, b.IOWait, b.IRQ, b.SoftIRQ, b.Steal}
	var d [8]float64
	var sum float64
	for i := range now {
		if now[i] < 0 || was[i] < 0 {
			d[i] = nan
			continue
		}
		if now[i] < was[i] && i != 4 { // iowait may fall (proc_stat(5))
			return cpuShares{}, false
		}
		d[i] = float64(max(0, now[i]-was[i]))
		sum += d[i]
	}
	if sum == 0 {
		return cpuShares{}, false
	}
	return cpuShares{
		user: addKnown(d[0], d[1]) / sum, system: d[2] / sum, idle: d[3] / sum, iowait: d[4] / sum,
		irq: d[5] / sum, irqSoft: addKnown(d[5], d[6]) / sum, steal: d[7] / sum,
	}, true
}

// build gives the matrices. An interval without a known begin starts at the
// end of the one before; the first is as long as the second.
func (c *cpuTimeRates) build() CPUTime {
	var t CPUTime
	ends := make([]Micros, 0, len(c.rows))
	cpus := map[int]bool{}
	for to, row := range c.rows {
		ends = append(ends, to)
		for cpu := range row {
			if cpu != domain.AllCPUs {
				cpus[cpu] = true
			}
		}
	}
	slices.Sort(ends)
	ids := sortedKeys(cpus)
	t.IRQSoftIRQ.CPUs, t.Steal.CPUs, t.Busy.CPUs = ids, ids, ids
	usual := usualStep(ends)
	for i, to := range ends {
		span := Span{to - usual, to}
		if i > 0 && ends[i-1] > span.From-usual {
			span.From = ends[i-1]
		}
		if from, ok := c.started[to]; ok {
			span.From = from
		}
		if i > 0 && span.From < ends[i-1] {
			span.From = ends[i-1]
		}
		c.buildRow(&t, span, ids, c.rows[to])
	}
	return t
}

func (c *cpuTimeRates) buildRow(t *CPUTime, span Span, ids []int, row map[int]cpuShares) {
	if host, ok := row[domain.AllCPUs]; ok {
		t.Host = append(t.Host, HostTime{
			Span: span, User: host.user, System: host.system, IRQSoftIRQ: host.irqSoft,
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
			s = cpuShares{nan, nan, nan, nan, nan, nan, nan}
		}
		t.Interrupts = t.Interrupts || s.irqSoft > 0
		t.IRQAccounted = t.IRQAccounted || s.irq > 0
		t.IRQSoftIRQ.V = append(t.IRQSoftIRQ.V, float32(s.irqSoft))
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

// counterRates turns one counter per CPU (a softirq) into rates. The kernel
// keeps it in 32 bits (kernel/softirq.c, kstat_softirqs_cpu).
type counterRates struct {
	window    Span
	out       Matrix
	at        Micros
	cpus      []int
	counts    []uint64
	usual     usualRate
	widenings int
	manyCPUs  int // readings left out for new CPUs beyond maxWidenings
}

// add takes the next reading. One that goes back in time is left out; where its
// counters went on, the clock was set back and intervals start anew from there.
func (r *counterRates) add(at Micros, cpus []int, counts []uint64) {
	pair := newCPUPairs(r.cpus, cpus)
	span := Span{r.at, at}
	var f falls
	for k, j := range pair.now {
		f.note(r.counts[pair.before[k]], counts[j], span.Seconds(), r.usual)
	}
	forward := r.cpus == nil || at > r.at
	if forward && r.cpus != nil && !f.areReset() {
		r.step(span, pair, cpus, counts)
	}
	if forward || f.wentOn() {
		r.at, r.cpus, r.counts = at, slices.Clone(cpus), slices.Clone(counts)
	}
}

// step adds the interval from the reading before.
func (r *counterRates) step(span Span, pair cpuPairs, cpus []int, counts []uint64) {
	if r.window != (Span{}) && (span.From < r.window.From || span.To > r.window.To) || span.From < r.out.end() {
		return
	}
	if !r.out.widen(cpus, &r.widenings) {
		r.manyCPUs++
		return
	}
	row := make([]float32, len(r.out.CPUs))
	for i := range row {
		row[i] = float32(nan)
	}
	busiest, whole := uint64(0), true
	for k, j := range pair.now {
		gain, ok := r.usual.gain(r.counts[pair.before[k]], counts[j], span.Seconds())
		if !ok {
			whole = false
			continue
		}
		row[r.out.Column(cpus[j])] = float32(float64(gain) / span.Seconds())
		busiest = max(busiest, gain)
	}
	if whole {
		r.usual.follow(float64(busiest) / span.Seconds())
	}
	r.out.Spans = append(r.out.Spans, span)
	r.out.V = append(r.out.V, row...)
}
