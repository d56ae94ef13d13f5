package refcase

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// demand is the commits of each second in the first instance: held up by
// stalls, made up for in the second after.
func (w *world) demand() []float64 {
	series, late := w.heldBy(w.instances[0]), 0.0
	for s, held := range series {
		want := w.Load.CommitsPerS * w.load[s]
		series[s] = want*(1-held) + late
		late = want * held
	}
	return series
}

// sendSysStat sends V$SYSSTAT snapshots: demand, and with RAC acknowledgements
// as the cause, how long they took.
func (w *world) sendSysStat(to ingest.Sink) error {
	if w.Records.SysStat <= 0 {
		return nil
	}
	r := stream(w.Seed, streamCounters)
	seen := w.demand()
	for s, x := range wander(stream(w.Seed, streamNoise), len(seen), w.Load.Noise, 15) {
		seen[s] *= math.Exp(x)
	}
	commits, acknowledgement := cumulate(seen), cumulate(w.acknowledgement())
	base := int64(1_000_000_000 + r.IntN(1_000_000_000))
	for t := 0.0; t <= w.length; t += w.Records.SysStat.Seconds() {
		at := t + 0.04*r.Float64()
		stamp, done := w.instant(at).Truncate(time.Millisecond), int64(integral(commits, at))
		rows := []domain.Counter{
			{Name: "user commits", Value: base + done},
			{Name: "user calls", Value: 11*base + 11*done},
			{Name: "redo size", Value: 3100*base + 3100*done},
		}
		if w.pressure[domain.CauseRACAck] != nil {
			rows = append(rows,
				domain.Counter{Name: "redo write broadcast ack count", Value: base/2 + done/2},
				domain.Counter{Name: "redo write broadcast ack time", Value: base*90 + int64(integral(acknowledgement, at))},
			)
		}
		for _, row := range rows {
			row.At, row.InstID = stamp, w.instances[0].id
			if err := to.Counter(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// acknowledgement is the microseconds a second spent waiting for the other
// node beyond the local write: 60 us a commit pair, more under pressure, and
// the stalls themselves.
func (w *world) acknowledgement() []float64 {
	series := make([]float64, len(w.load))
	for s := range series {
		series[s] = w.Load.CommitsPerS * w.load[s] / 2 * (60 + 2500*w.pressureAt(domain.CauseRACAck, s))
	}
	for _, st := range w.instances[0].stalls {
		if st.cause == domain.CauseRACAck {
			series[w.second(st.end())] += st.length * 1e6
		}
	}
	return series
}

// sendInstances sends what V$INSTANCE says, where there is more than one.
func (w *world) sendInstances(to ingest.Sink) error {
	if len(w.instances) < 2 {
		return nil
	}
	for _, in := range w.instances {
		if err := to.Instance(domain.Instance{InstID: in.id, Name: in.name, Host: w.Node}); err != nil {
			return err
		}
	}
	return nil
}

// buckets is how many powers of two the histogram view can show: 1 us to 67 s.
const buckets = 27

// census counts the waits of one event as V$EVENT_HISTOGRAM_MICRO does.
type census struct {
	event  string
	counts [buckets]uint64
	last   [buckets]float64 // end of the bucket's last wait; negative none in the window
	shares [buckets]float64 // of ordinary waits
	long   []*longWait      // in order of their end
	next   int              // first of long that is not counted yet
}

// newCensus prepares the counting of an event whose ordinary waits are lognormal.
func newCensus(event string, median, spread float64, waits []*longWait) *census {
	c := &census{event: event}
	for _, lw := range waits {
		if lw.event == event {
			c.long = append(c.long, lw)
		}
	}
	slices.SortStableFunc(c.long, func(a, b *longWait) int { return cmp.Compare(a.end, b.end) })
	before := 0.0
	for b := range c.shares {
		below := lognormalBelow(math.Ldexp(1e-6, b), median, spread)
		c.shares[b], c.last[b] = below-before, -1
		before = below
		// What the instance did before the window: a day of the same.
		c.counts[b] = uint64(max(0, 3e7*c.shares[b]))
	}
	return c
}

// lognormalBelow is the share of lognormal waits shorter than x.
func lognormalBelow(x, median, spread float64) float64 {
	return 0.5 * math.Erfc(-math.Log(x/median)/(spread*math.Sqrt2))
}

// bucketOf is the index of the power of two (in us) above a wait's length.
func bucketOf(seconds float64) int {
	b := 0
	for b < buckets-1 && seconds*1e6 >= math.Ldexp(1, b) {
		b++
	}
	return b
}

// sendHistograms sends V$EVENT_HISTOGRAM_MICRO snapshots of the commit wait
// and of LGWR's write: every wait, not only those that samples met.
func (w *world) sendHistograms(to ingest.Sink) error {
	if w.Records.Histogram <= 0 {
		return nil
	}
	r := stream(w.Seed, streamHistogram)
	in := w.instances[0]
	commits := cumulate(w.demand())
	writes := cumulate(w.load)
	list := []*census{
		newCensus(domain.EventLogFileSync, syncMedian, syncSpread, in.waits),
		newCensus(domain.EventLogFileParallelWrite, writeMedian, writeSpread, in.waits),
	}
	before := 0.0
	for t := 0.0; t <= w.length; t += w.Records.Histogram.Seconds() {
		at := t + 0.02*r.Float64()
		for i, c := range list {
			ordinary := integral(commits, at) - integral(commits, before)
			if i == 1 {
				ordinary = w.LGWR.WritesPerS * (integral(writes, at) - integral(writes, before))
			}
			for b, share := range c.shares {
				if n := poisson(r, ordinary*share); n > 0 {
					c.counts[b] += count(n)
					c.last[b] = at - min(at-before, (at-before)*r.ExpFloat64()/float64(n))
				}
			}
			c.countLong(at)
			if err := to.Histogram(w.snapshot(c, at)); err != nil {
				return err
			}
		}
		before = at
	}
	return nil
}

// countLong adds the long waits that ended up to now.
func (c *census) countLong(at float64) {
	for ; c.next < len(c.long) && c.long[c.next].end <= at; c.next++ {
		lw := c.long[c.next]
		b := bucketOf(lw.end - lw.begin)
		c.counts[b]++
		c.last[b] = max(c.last[b], lw.end)
	}
}

// snapshot is one reading; the view shows buckets up to the longest wait.
func (w *world) snapshot(c *census, at float64) *domain.HistogramSnapshot {
	top := buckets
	for top > 0 && c.counts[top-1] == 0 {
		top--
	}
	h := &domain.HistogramSnapshot{At: w.instant(at).Truncate(time.Millisecond), InstID: w.instances[0].id, Event: c.event}
	h.Buckets = make([]domain.HistogramBucket, top)
	for b := range h.Buckets {
		h.Buckets[b] = domain.HistogramBucket{Below: time.Microsecond << b, Count: c.counts[b]}
		if c.last[b] >= 0 {
			h.Buckets[b].LastUpdate = w.instant(c.last[b]).Truncate(time.Microsecond)
		}
	}
	return h
}
