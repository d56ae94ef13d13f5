package refcase

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// threshold is the length from which a commit wait counts.
const threshold = 100 * time.Millisecond

// Ordinary waits: lognormal, by their median (seconds) and the standard
// deviation of their logarithm.
const (
	syncMedian  = 0.0014
	syncSpread  = 0.5
	writeMedian = 0.00045
	writeSpread = 0.4
	readMedian  = 0.0005
	readSpread  = 0.5
)

// tick is one ASH sample.
type tick struct {
	id int64
	at float64 // seconds since the start
}

// ticks are the samples of an instance's ASH: one a second, a millisecond or
// so off; late where the host is saturated.
func (w *world) ticks(r *rand.Rand) []tick {
	list := make([]tick, 0, len(w.load))
	id := int64(3_000_000 + r.IntN(4_000_000))
	for t := r.Float64(); t < w.length; id++ {
		list = append(list, tick{id, t})
		t += 1 + between(r, -0.0015, 0.0017)
		if w.pressureAt(domain.CauseCPUSaturation, w.second(t)) > 0.4 && r.Float64() < 0.3 {
			t += between(r, 0.6, 2)
		}
	}
	return list
}

// sendWaits sends the rows of ASH of every instance and counts the samples at
// which a long commit wait of the first instance was seen.
func (w *world) sendWaits(to ingest.Sink) (stallTicks int, err error) {
	if w.Records.ASH == ASHNone {
		return 0, nil
	}
	spools := make([]*spool, 0, len(w.instances))
	for i, in := range w.instances {
		r := stream(w.Seed, streamASH+uint64(i)*streamSecond*2)
		s := &spool{w: w, r: r, in: in, ticks: w.ticks(r), stalls: in.stalls, waits: in.waits}
		for j := range s.taken {
			s.taken[j] = -1
		}
		spools = append(spools, s)
	}
	for {
		s := earliest(spools)
		if s == nil {
			return stallTicks, nil
		}
		if s.sample() && s == spools[0] {
			stallTicks++
		}
		for i := range s.rows {
			if err := to.Wait(s.rows[i]); err != nil {
				return stallTicks, err
			}
		}
	}
}

// earliest is the spool whose next sample comes first; nil after the last.
func earliest(spools []*spool) *spool {
	var first *spool
	for _, s := range spools {
		if s.next < len(s.ticks) && (first == nil || s.ticks[s.next].at < first.ticks[first.next].at) {
			first = s
		}
	}
	return first
}

// spool makes the rows of one instance's ASH, sample after sample. A session
// is in a sample once at most.
type spool struct {
	w      *world
	r      *rand.Rand
	in     *instance
	ticks  []tick
	next   int                          // sample to make
	rows   []domain.Wait                // of the sample made last
	stalls []stall                      // that are not over
	waits  []*longWait                  // that have not begun
	open   []*longWait                  // begun and not over
	taken  [firstSession + sessions]int // by session id: the sample that it was last put into
}

// sample makes the rows of the next sample and says whether it shows a stall.
func (s *spool) sample() (stalled bool) {
	i, at := s.next, s.ticks[s.next].at
	s.next++
	s.rows = s.rows[:0]
	for len(s.waits) > 0 && s.waits[0].begin <= at {
		s.open, s.waits = append(s.open, s.waits[0]), s.waits[1:]
	}
	s.open = slices.DeleteFunc(s.open, func(lw *longWait) bool { return lw.end <= at })
	for len(s.stalls) > 0 && s.stalls[0].end() <= at {
		s.stalls = s.stalls[1:]
	}
	stalled = s.longRows(i)
	if s.w.Records.ASH == ASHFull {
		held := len(s.stalls) > 0 && s.stalls[0].at <= at
		s.ordinaryRows(i, held)
		s.logWriterRow(i, held)
	}
	return stalled
}

// longRows puts the waits that stalls and single sessions had into a sample,
// and says whether it shows a stall. Of a wait that spans samples only the
// last row carries its time.
func (s *spool) longRows(i int) (stalled bool) {
	for _, lw := range s.open {
		row := lw.wait
		row.Event = lw.event
		if i+1 == len(s.ticks) || s.ticks[i+1].at >= lw.end {
			row.TimeWaited = microseconds(lw.end - lw.begin)
		}
		if s.w.Records.ASH == ASHFiltered && row.TimeWaited < threshold {
			continue
		}
		if s.put(i, &row) && !lw.session && lw.event == domain.EventLogFileSync && row.TimeWaited >= threshold {
			stalled = true
		}
	}
	return stalled
}

// put adds a row to a sample unless its session is in there already.
func (s *spool) put(i int, row *domain.Wait) bool {
	if s.taken[row.SessionID] == i {
		return false
	}
	s.taken[row.SessionID] = i
	row.At, row.SampleID = s.w.instant(s.ticks[i].at).Truncate(time.Millisecond), s.ticks[i].id
	s.rows = append(s.rows, *row)
	return true
}

// microseconds turns seconds into a length as Oracle measures it.
func microseconds(seconds float64) time.Duration {
	return time.Duration(seconds*1e6) * time.Microsecond
}

// ordinaryRows are what else a sample shows: short commit waits, unless LGWR
// is held up and none can end, reads, and sessions on CPU.
func (s *spool) ordinaryRows(i int, held bool) {
	load := s.w.load[s.w.second(s.ticks[i].at)]
	if !held {
		for range poisson(s.r, load*s.w.Load.CommitsPerS*syncMedian*1.1) {
			s.ordinary(i, domain.EventLogFileSync, sampled(s.r, syncMedian, syncSpread))
		}
	}
	for range poisson(s.r, 2*load) {
		s.ordinary(i, eventSequential, sampled(s.r, readMedian, readSpread))
	}
	for range poisson(s.r, 3*load) {
		s.ordinary(i, "", 0)
	}
}

// ordinary adds a client's row; without an event the session is on CPU.
func (s *spool) ordinary(i int, event string, length float64) {
	row := foreground(s.r, s.in, s.r.IntN(sessions))
	row.Event, row.Waiting, row.TimeWaited = event, event != "", microseconds(length)
	if event != domain.EventLogFileSync {
		row.SQLID = sqlID(row.SessionID % 12)
	}
	s.put(i, &row)
}

// logWriterRow adds LGWR: within its own short write, or on CPU while
// interrupts hold it up.
func (s *spool) logWriterRow(i int, held bool) {
	row := s.w.background(s.in, lgwrSession, "LGWR")
	load := s.w.load[s.w.second(s.ticks[i].at)]
	switch {
	case held && s.stalls[0].cause == domain.CauseInterrupts && !s.w.Stalls.InflatedWrite:
		row.Waiting = false
	case !held && s.r.Float64() < min(0.6, s.w.LGWR.WritesPerS*load*writeMedian):
		row.Event, row.TimeWaited = domain.EventLogFileParallelWrite, microseconds(sampled(s.r, writeMedian, writeSpread))
	default:
		return
	}
	s.put(i, &row)
}

// sampled draws the length of a lognormal wait that a sample fell into: long
// ones are met more often, which shifts the logarithm by its variance.
func sampled(r *rand.Rand, median, spread float64) float64 {
	return median * math.Exp(spread*spread+spread*r.NormFloat64())
}
