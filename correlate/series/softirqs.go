package series

import (
	"slices"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// counterGains turns readings of one counter per CPU (a softirq) into what each
// interval gained. The kernel keeps it in 32 bits (kernel/softirq.c,
// kstat_softirqs_cpu).
type counterGains struct {
	to     ingest.IntervalSink
	name   string
	at     Micros
	end    Micros // of the last interval
	cpus   []int
	counts []uint64
	usual  usualRate
	sample domain.SoftirqSample
}

// add takes the next reading. One that goes back in time is left out; where its
// counters went on, the clock was set back and intervals start anew from there.
func (r *counterGains) add(at Micros, cpus []int, counts []uint64) error {
	pair := newCPUPairs(r.cpus, cpus)
	span := Span{r.at, at}
	var f falls
	for k, j := range pair.now {
		f.note(r.counts[pair.before[k]], counts[j], span.Seconds(), r.usual)
	}
	forward := r.cpus == nil || at > r.at
	var err error
	if forward && r.cpus != nil && !f.areReset() && span.From >= r.end {
		err = r.step(span, pair, cpus, counts)
	}
	if forward || f.wentOn() {
		r.at, r.cpus, r.counts = at, slices.Clone(cpus), slices.Clone(counts)
	}
	return err
}

// step passes on the interval from the reading before.
func (r *counterGains) step(span Span, pair cpuPairs, cpus []int, counts []uint64) error {
	gains := slices.Grow(r.sample.Counts[:0], len(cpus))[:len(cpus)]
	for i := range gains {
		gains[i] = unknownCount
	}
	busiest, whole := int64(0), true
	for k, j := range pair.now {
		gain, ok := r.usual.gain(r.counts[pair.before[k]], counts[j], span.Seconds())
		if !ok {
			whole = false
			continue
		}
		gains[j] = gain
		busiest = max(busiest, gain)
	}
	if whole {
		r.usual.follow(float64(busiest) / span.Seconds())
	}
	r.end = span.To
	r.sample = domain.SoftirqSample{From: ToTime(span.From), To: ToTime(span.To), Name: r.name, CPUs: append(r.sample.CPUs[:0], cpus...), Counts: gains}
	return r.to.SoftirqSample(&r.sample)
}

// netRX is the softirq that network interrupts raise.
const netRX = "NET_RX"

// softirqRates gathers the rates of NET_RX by interval and CPU.
type softirqRates struct {
	out       Matrix
	widenings int
	manyCPUs  int // intervals left out for new CPUs beyond maxWidenings
}

// SoftirqSample takes how often a softirq ran; NET_RX is kept.
func (b *Builder) SoftirqSample(s *domain.SoftirqSample) error {
	r := &b.netRX
	span := Span{FromTime(s.From), FromTime(s.To)}
	if s.Name != netRX || b.interrupts.isOutside(span) || span.From < r.out.end() {
		return nil
	}
	if !r.out.addCounts(span, s.CPUs, s.Counts, &r.widenings) {
		r.manyCPUs++
	}
	return nil
}
