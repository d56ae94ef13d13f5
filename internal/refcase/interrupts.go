package refcase

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// counterRange is how far the kernel's interrupt counters count: they are
// unsigned ints.
const counterRange = 1 << 32

// counters is the state of /proc/interrupts while time passes.
type counters struct {
	w        *world
	r        *rand.Rand
	snapshot domain.InterruptSnapshot
	load     []float64 // cumulated
	traffic  []float64 // cumulated, as the interconnect's interrupts follow it
	at       []int     // visit of each thread at the last reading
	writes   []float64 // by CPU: redo writes submitted since the last reading
}

// sendInterrupts sends the snapshots of /proc/interrupts.
func (w *world) sendInterrupts(to ingest.Sink) error {
	if w.Records.Interrupts <= 0 {
		return nil
	}
	c := w.newCounters()
	gaps := w.gaps(w.Records.InterruptGaps, streamInterruptGaps)
	before := 0.0
	for t := 0.0; t <= w.length; t += w.Records.Interrupts.Seconds() {
		at := t + 0.004*c.r.Float64()
		c.advance(before, at)
		before = at
		if within(gaps, at) {
			continue
		}
		c.snapshot.At = w.instant(at).Truncate(time.Millisecond)
		if err := to.Interrupts(&c.snapshot); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) newCounters() *counters {
	c := &counters{
		w: w, r: stream(w.Seed, streamInterrupts), load: cumulate(w.load), traffic: cumulate(w.traffic),
		at: make([]int, len(w.threads())), writes: make([]float64, w.machine.cpus),
	}
	if w.machine.polling {
		c.traffic = cumulate(inverse(w.traffic))
	}
	for cpu := range w.machine.cpus {
		c.snapshot.CPUs = append(c.snapshot.CPUs, cpu)
	}
	for i := range w.machine.lines {
		l := &w.machine.lines[i]
		line := l.InterruptLine
		if line.Counts != nil {
			line.Counts = make([]uint64, w.machine.cpus)
			c.start(line.Counts, l)
		}
		c.snapshot.Lines = append(c.snapshot.Lines, line)
	}
	return c
}

// start sets a line's counters to what some weeks since boot left in them, or
// near the end of their range where they are to wrap within the window.
func (c *counters) start(counts []uint64, l *irqLine) {
	for cpu := range counts {
		if l.driver != driverKernel && cpu != l.cpu {
			continue
		}
		total := l.perS * between(c.r, 500_000, 900_000)
		if c.w.Records.NearWrap && l.driver == driverTraffic {
			total = counterRange - l.perS*between(c.r, 0.1, 0.9)*c.w.length
		}
		counts[cpu] = uint64(math.Mod(max(0, total), counterRange))
	}
}

// advance lets the counters run from one reading to the next.
func (c *counters) advance(from, to float64) {
	c.submit(from, to)
	load := integral(c.load, to) - integral(c.load, from)
	traffic := integral(c.traffic, to) - integral(c.traffic, from)
	for i := range c.w.machine.lines {
		l := &c.w.machine.lines[i]
		counts := c.snapshot.Lines[i].Counts
		switch l.driver {
		case driverClock:
			c.add(counts, l.cpu, l.perS*(to-from))
		case driverLoad:
			c.add(counts, l.cpu, l.perS*load)
		case driverTraffic:
			c.add(counts, l.cpu, l.perS*traffic)
		case driverSubmit:
			c.add(counts, l.cpu, l.perS*load+c.writes[l.cpu])
		case driverKernel:
			mean := l.perS * (0.5*(to-from) + 0.5*load)
			for cpu := range counts {
				c.add(counts, cpu, mean)
			}
		case driverUnmoving:
		}
	}
}

// add raises a counter by a Poisson number; it wraps as the kernel's does.
func (c *counters) add(counts []uint64, cpu int, mean float64) {
	counts[cpu] = (counts[cpu] + count(poisson(c.r, mean))) % counterRange
}

// submit spreads the redo writes of a stretch over the CPUs that the writing
// threads were on: their completions interrupt the CPU that submitted them.
func (c *counters) submit(from, to float64) {
	clear(c.writes)
	for i, th := range c.w.threads() {
		v := c.at[i]
		for ; v < len(th.visits); v++ {
			begin, end := max(from, th.visits[v].at), min(to, th.end(v, c.w.length))
			if end > begin {
				rate := c.w.LGWR.WritesPerS * th.share * c.w.load[c.w.second(begin)]
				c.writes[th.visits[v].cpu] += rate * (end - begin)
			}
			if th.end(v, c.w.length) >= to {
				break
			}
		}
		c.at[i] = min(v, len(th.visits)-1)
	}
}
