package series

import "math"

// Extents gives the time that host records cover, that all of Oracle's records
// cover, and that ASH rows alone cover; a zero Span where there are none.
func (b *Builder) Extents() (host, oracle, ash Span) {
	b.endReadings()
	host, oracle, ash = emptySpan(), emptySpan(), emptySpan()
	for _, t := range b.threads {
		for _, at := range t.At {
			host.grow(at)
		}
	}
	for _, spans := range [][]Span{b.interrupts.out.Spans, b.netRX.out.Spans} {
		for _, sp := range spans {
			host.grow(sp.From)
			host.grow(sp.To)
		}
	}
	for at := range b.cpuTime.rows {
		host.grow(at)
	}
	for i := range b.system {
		host.grow(FromTime(b.system[i].At))
	}
	for i := range b.disks {
		host.grow(b.disks[i].At)
	}
	for _, at := range b.ticks {
		oracle.grow(at)
		ash.grow(at)
	}
	for _, snaps := range b.hist {
		for i := range snaps {
			oracle.grow(FromTime(snaps[i].At))
		}
	}
	for _, points := range b.counters {
		for _, p := range points {
			oracle.grow(p.at)
		}
	}
	return host.orZero(), oracle.orZero(), ash.orZero()
}

func emptySpan() Span { return Span{math.MaxInt64, math.MinInt64} }

func (s *Span) grow(at Micros) { s.From, s.To = min(s.From, at), max(s.To, at) }

func (s *Span) orZero() Span {
	if s.From > s.To {
		return Span{}
	}
	return *s
}
