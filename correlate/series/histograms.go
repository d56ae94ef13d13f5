package series

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// histKey names a run of readings: the two views of one event have different
// edges and are never subtracted from one another.
type histKey struct {
	inst  int
	event string
	milli bool
}

func (b *Builder) buildHistograms(s *Series) {
	inOrder := func(a, b histKey) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.inst, b.inst))
	}
	readings := map[histKey][]domain.HistogramSnapshot{}
	for _, k := range slices.SortedFunc(maps.Keys(b.hist), inOrder) {
		if s.takes(k.inst) {
			of := histKey{s.owner(k.inst), k.event, k.milli}
			readings[of] = append(readings[of], b.hist[k]...)
		}
	}
	short, partial := 0, 0
	for _, k := range slices.SortedFunc(maps.Keys(readings), inOrder) {
		if k.milli && len(readings[histKey{k.inst, k.event, false}]) > 1 {
			continue // the micro view tells the same, more finely
		}
		steps, cut, unknown := histogramSteps(readings[k])
		s.Histograms = append(s.Histograms, steps...)
		short += cut
		partial += unknown
	}
	if short > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d readings of histograms lack buckets that their neighbours have and were left out", short))
	}
	if partial > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d intervals of histograms are unknown: the earlier reading may lack buckets that had waits", partial))
	}
	slices.SortStableFunc(s.Histograms, func(a, b HistogramStep) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Event, b.Event))
	})
}

// histogramSteps gives what the buckets gained from reading to reading. No step
// leads to a reading after a restart of the instance, which is told by a bucket
// that fell or went for good. A reading that lacks a bucket which the next one
// has again was cut short: it is left out, or the next step would hold all
// waits since instance start. short counts those, partial the steps left out
// because the earlier reading may have been cut short.
func histogramSteps(r []domain.HistogramSnapshot) (steps []HistogramStep, short, partial int) {
	slices.SortStableFunc(r, func(a, b domain.HistogramSnapshot) int { return a.At.Compare(b.At) })
	r = slices.CompactFunc(r, func(a, b domain.HistogramSnapshot) bool { return a.At.Equal(b.At) })
	last := 0
	for i := 1; i < len(r); i++ {
		fell, lacks := compareBuckets(&r[last], &r[i])
		if lacks && !fell && i+1 < len(r) {
			if _, still := compareBuckets(&r[last], &r[i+1]); !still {
				short++
				continue
			}
		}
		switch {
		case fell || lacks:
		case mayBeCut(&r[last], &r[i], last == 0):
			partial++
		default:
			steps = append(steps, histogramStep(&r[last], &r[i]))
		}
		last = i
	}
	return steps, short, partial
}

// fewWaits is below how many waits a bucket is believed to have had its first
// ones between two readings.
const fewWaits = 1_000

// mayBeCut says whether the earlier reading lacks a bucket that may have had
// waits by then: one that holds many now, or one above all buckets of the first
// reading, which nothing before it shows to be whole.
func mayBeCut(was, now *domain.HistogramSnapshot, first bool) bool {
	had := make(map[int64]bool, len(was.Buckets))
	var top time.Duration
	for _, k := range was.Buckets {
		had[int64(k.Below)] = true
		top = max(top, k.Below)
	}
	for _, k := range now.Buckets {
		if k.Count == 0 || had[int64(k.Below)] {
			continue
		}
		if k.Count >= fewWaits || first && k.Below > top {
			return true
		}
	}
	return false
}

// compareBuckets says whether a bucket of the later reading fell, and whether
// one that had waits is missing there.
func compareBuckets(was, now *domain.HistogramSnapshot) (fell, lacks bool) {
	count := make(map[int64]uint64, len(now.Buckets))
	for _, k := range now.Buckets {
		count[int64(k.Below)] = k.Count
	}
	for _, k := range was.Buckets {
		n, ok := count[int64(k.Below)]
		fell = fell || ok && n < k.Count
		lacks = lacks || !ok && k.Count > 0
	}
	return fell, lacks
}

// histogramStep gives what the buckets gained between two readings, of which
// none fell. A bucket that the earlier reading lacks had no waits: the view
// prints a bucket from its first wait on.
func histogramStep(was, now *domain.HistogramSnapshot) HistogramStep {
	step := HistogramStep{Span: Span{FromTime(was.At), FromTime(now.At)}, Event: now.Event}
	old := make(map[int64]uint64, len(was.Buckets))
	for _, k := range was.Buckets {
		old[int64(k.Below)] = k.Count
	}
	for _, k := range now.Buckets {
		before := old[int64(k.Below)]
		if k.Count <= before {
			continue
		}
		g := BucketStep{Below: k.Below.Microseconds(), Gained: int64(min(k.Count-before, math.MaxInt64))}
		if !k.LastUpdate.IsZero() {
			g.LastUpdate = FromTime(k.LastUpdate)
		}
		step.Steps = append(step.Steps, g)
	}
	return step
}
