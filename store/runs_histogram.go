package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// histogramRun is a row of histograms: readings of one event's histogram. The
// first is whole; of the following there is what differs from the reading before.
type histogramRun struct {
	instID    int
	event     string
	milli     bool
	at, until int64 // us since 1970; until is the last reading's

	belowUS, counts []int64 // counts over 2^63 are kept bit by bit
	lastUpdateUS    []int64 // us since 1970, 0 unknown; nil: all unknown

	readingUS                   []int32 // of the following readings, after at; nil: none
	changeReading, changeBucket []int16 // indexes into readingUS and belowUS, ascending
	changeCounts                []int64 // the new count
	changeLastUpdateUS          []int64 // the new last update; nil: all unknown
}

// histogramRuns makes rows of the readings of one instance, event and view,
// which may come in any order; the slice is reordered. Of readings of one instant
// the first counts, as in series.
func histogramRuns(readings []domain.HistogramSnapshot) []histogramRun {
	readings = slices.DeleteFunc(readings, func(s domain.HistogramSnapshot) bool { return s.At.IsZero() })
	slices.SortStableFunc(readings, func(a, b domain.HistogramSnapshot) int { return cmp.Compare(micros(a.At), micros(b.At)) })
	readings = firstOfEach(readings, func(a, b *domain.HistogramSnapshot) bool { return micros(a.At) == micros(b.At) })
	var runs []histogramRun
	for len(readings) > 0 {
		run := newHistogramRun(&readings[0])
		n := 1
		for n < len(readings) && run.add(&readings[n-1], &readings[n]) {
			n++
		}
		if !slices.ContainsFunc(run.changeLastUpdateUS, isKnownInstant) {
			run.changeLastUpdateUS = nil
		}
		runs = append(runs, run)
		readings = readings[n:]
	}
	return runs
}

func isKnownInstant(us int64) bool { return us != 0 }

func newHistogramRun(s *domain.HistogramSnapshot) histogramRun {
	n := len(s.Buckets)
	r := histogramRun{
		instID: s.InstID, event: s.Event, milli: s.Milli, at: micros(s.At), until: micros(s.At),
		belowUS: make([]int64, n), counts: make([]int64, n), lastUpdateUS: make([]int64, n),
	}
	for i := range s.Buckets {
		b := &s.Buckets[i]
		r.belowUS[i], r.counts[i], r.lastUpdateUS[i] = b.Below.Microseconds(), bits(b.Count), lastUpdate(b)
	}
	if !slices.ContainsFunc(r.lastUpdateUS, isKnownInstant) {
		r.lastUpdateUS = nil
	}
	return r
}

// bits keeps a count in a column of int8.
func bits(count uint64) int64 { return int64(count) } //nolint:gosec // kept bit by bit

func lastUpdate(b *domain.HistogramBucket) int64 {
	if b.LastUpdate.IsZero() {
		return 0
	}
	return micros(b.LastUpdate)
}

// add adds a reading to the run; false where it begins a new one.
func (r *histogramRun) add(was, now *domain.HistogramSnapshot) bool {
	after := micros(now.At) - r.at
	if after > longestRun || len(r.readingUS)+1 >= mostInRun || len(now.Buckets) > math.MaxInt16 || !sameBuckets(r.belowUS, now.Buckets) {
		return false
	}
	reading := int16(len(r.readingUS))              //nolint:gosec // at most mostInRun
	r.readingUS = append(r.readingUS, int32(after)) //nolint:gosec // at most longestRun
	r.until = micros(now.At)
	for i := range now.Buckets {
		b, old := &now.Buckets[i], &was.Buckets[i]
		if b.Count == old.Count && lastUpdate(b) == lastUpdate(old) {
			continue
		}
		r.changeReading = append(r.changeReading, reading)
		r.changeBucket = append(r.changeBucket, int16(i))
		r.changeCounts = append(r.changeCounts, bits(b.Count))
		r.changeLastUpdateUS = append(r.changeLastUpdateUS, lastUpdate(b))
	}
	return true
}

func sameBuckets(belowUS []int64, buckets []domain.HistogramBucket) bool {
	return slices.EqualFunc(belowUS, buckets, func(us int64, b domain.HistogramBucket) bool { return us == b.Below.Microseconds() })
}

// check says what is wrong with a row whose columns do not fit together.
func (r *histogramRun) check() error {
	n, changes := len(r.belowUS), len(r.changeReading)
	if len(r.counts) != n || r.lastUpdateUS != nil && len(r.lastUpdateUS) != n {
		return fmt.Errorf("%d buckets have %d counts and %d last updates", n, len(r.counts), len(r.lastUpdateUS))
	}
	if len(r.changeBucket) != changes || len(r.changeCounts) != changes || r.changeLastUpdateUS != nil && len(r.changeLastUpdateUS) != changes {
		return fmt.Errorf("%d changes have %d buckets, %d counts and %d last updates",
			changes, len(r.changeBucket), len(r.changeCounts), len(r.changeLastUpdateUS))
	}
	for i, b := range r.changeBucket {
		if b < 0 || int(b) >= n || r.changeReading[i] < 0 || int(r.changeReading[i]) >= len(r.readingUS) {
			return fmt.Errorf("change of bucket %d in reading %d, where there are %d and %d", b, r.changeReading[i], n, len(r.readingUS))
		}
	}
	return nil
}

// each gives the readings in order; each is valid during the call only.
func (r *histogramRun) each(give func(*domain.HistogramSnapshot) error) error {
	if err := r.check(); err != nil {
		return err
	}
	s := domain.HistogramSnapshot{
		At: instant(r.at), InstID: r.instID, Event: r.event, Milli: r.milli, Buckets: make([]domain.HistogramBucket, len(r.belowUS)),
	}
	for i, us := range r.belowUS {
		s.Buckets[i] = domain.HistogramBucket{Below: time.Duration(us) * time.Microsecond, Count: uint64(r.counts[i])} //nolint:gosec // kept bit by bit
		if r.lastUpdateUS != nil {
			s.Buckets[i].LastUpdate = instantOrZero(r.lastUpdateUS[i])
		}
	}
	if err := give(&s); err != nil {
		return err
	}
	change := 0
	for reading, after := range r.readingUS {
		s.At = instant(r.at + int64(after))
		for ; change < len(r.changeReading) && int(r.changeReading[change]) <= reading; change++ {
			b := &s.Buckets[r.changeBucket[change]]
			b.Count, b.LastUpdate = uint64(r.changeCounts[change]), time.Time{} //nolint:gosec // kept bit by bit
			if r.changeLastUpdateUS != nil {
				b.LastUpdate = instantOrZero(r.changeLastUpdateUS[change])
			}
		}
		if err := give(&s); err != nil {
			return err
		}
	}
	return nil
}

func instantOrZero(us int64) time.Time {
	if us == 0 || us == null64 {
		return time.Time{}
	}
	return instant(us)
}
