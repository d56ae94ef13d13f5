package correlate

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// Sources of waits, as the JSON contract names them.
const (
	sourceASH        = "ash"
	sourceASHHistory = "ash-history"
	sourceHistogram  = "histogram"
)

// longestHistogramStep: an interval between two readings of a histogram that
// is longer cannot place a stall in time.
const longestHistogramStep = 2 * series.Second

// stall is one delay of the watched process and the waits that it caused.
type stall struct {
	at      series.Micros // an instant that the delay contains: the join key with placement
	onset   series.Micros // earliest instant at which it can have begun
	longest series.Micros // its longest wait; the bucket's lower edge in histogram data
	waiters int
	shared  bool          // has a cause in common with the partner instance's: left out of the interrupt test
	period  series.Micros // what one sample of its source stands for
}

// stallSet is what the waits of a window come to.
type stallSet struct {
	source      string
	stalls      []stall
	sessionOnly int
	waits       int
	over        [2]int // waits over the threshold, bracketed: low, high
	unread      int    // waits whose length could not be read: neither short nor long
	unplaced    int    // histogram stalls whose interval is too long to place
	quantiles   [4]float64
	slowTicks   int // ASH samples taken over 1.5 s after the one before: saturation
	covered     series.Span
	notes       []string
}

// findStalls takes ASH where there is any, histograms otherwise.
func findStalls(s *series.Series, prm Params) *stallSet {
	for i := range s.Waits {
		if s.Window.Contains(s.Waits[i].At) {
			return ashStalls(s, prm)
		}
	}
	for i := range s.Histograms {
		if slices.Contains(s.Watch.Events, s.Histograms[i].Event) {
			return histogramStalls(s, prm)
		}
	}
	if len(s.Ticks) > 0 {
		return &stallSet{source: sourceASH, covered: s.Window, quantiles: unknown4}
	}
	return &stallSet{covered: s.Window, quantiles: unknown4}
}

var unknown4 = [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// othersQuick is how many quick commits at the same sample show that a single
// slow one was the session's own delay.
const othersQuick = 2

// ashStalls groups waits over the threshold into stalls. Waits seen at the same
// tick are one stall; a later tick continues it only if a wait seen there began
// before the tick that started it ended: TIME_WAITED > t2 - t1.
func ashStalls(s *series.Series, prm Params) *stallSet {
	set := &stallSet{source: sourceASH, covered: s.Window}
	if s.History {
		set.source = sourceASHHistory
	}
	var lastTick series.Micros
	for i := 0; i < len(s.Waits); {
		j := i
		for j < len(s.Waits) && s.Waits[j].At == s.Waits[i].At {
			j++
		}
		if s.Window.Contains(s.Waits[i].At) && set.addTick(s.Waits[i:j], lastTick, prm) {
			lastTick = s.Waits[i].At
		}
		i = j
	}
	set.over[1] += set.unread
	set.quantiles = weightedQuantiles(s, set)
	set.countSlowTicks(s)
	return set
}

// addTick takes the waits seen at one tick and says whether they are of a
// stall; lastTick is the last tick that was, 0 before there is one.
func (set *stallSet) addTick(waits []series.Wait, lastTick series.Micros, prm Params) bool {
	var k stall
	short := 0
	for i := range waits {
		w := &waits[i]
		set.waits++
		switch {
		case w.TimeWaited < 0:
			set.unread++
		case w.TimeWaited >= micros(prm.Threshold):
			set.over[0]++
			set.over[1]++
			k.waiters++
			k.longest = max(k.longest, w.TimeWaited)
			k.period = w.Period
		case w.TimeWaited > 0 && w.TimeWaited < micros(prm.Threshold)/2:
			short++
		}
	}
	if k.waiters == 0 {
		return false
	}
	if k.waiters == 1 && short >= othersQuick {
		// Others committed meanwhile and did not wait: it was the session's own delay.
		set.sessionOnly++
		return false
	}
	k.at = waits[0].At
	k.onset = k.at - k.longest
	if n := len(set.stalls); n > 0 && lastTick > 0 && k.longest > k.at-lastTick {
		last := &set.stalls[n-1]
		last.waiters += k.waiters
		last.longest, last.onset = max(last.longest, k.longest), min(last.onset, k.onset)
		return true
	}
	set.stalls = append(set.stalls, k)
	return true
}

// weightedQuantiles gives p50, p95, p99 and the greatest length of the watched
// waits, in ms. An ASH row of length TW stands for max(1, period/TW) waits
// (adellera.it, "ASH math of TIME_WAITED"). A spool that holds only long rows
// tells nothing of the median: then only the maximum is given. Waits of unknown
// length, which are most likely the longest, leave all four unknown.
func weightedQuantiles(s *series.Series, set *stallSet) [4]float64 {
	out := unknown4
	if set.unread > 0 {
		set.notes = append(set.notes, "percentiles of the waits are unknown, since some lengths could not be read")
		return out
	}
	type item struct{ tw, weight float64 }
	var items []item
	var total float64
	for i := range s.Waits {
		w := &s.Waits[i]
		if w.TimeWaited <= 0 || !s.Window.Contains(w.At) {
			continue
		}
		weight := max(1, float64(w.Period)/float64(w.TimeWaited))
		items = append(items, item{float64(w.TimeWaited) / 1000, weight})
		total += weight
	}
	if len(items) == 0 {
		return out
	}
	sort.Slice(items, func(i, j int) bool { return items[i].tw < items[j].tw })
	out[3] = items[len(items)-1].tw
	if s.Filtered {
		set.notes = append(set.notes, "the ASH rows hold long waits only, so percentiles of all commits are unknown")
		return out
	}
	for q, p := range []float64{0.50, 0.95, 0.99} {
		var sum float64
		for _, it := range items {
			sum += it.weight
			if sum >= p*total {
				out[q] = it.tw
				break
			}
		}
	}
	return out
}

// countSlowTicks counts ASH samples that came late: ids that follow each other
// more than 1.5 s apart.
func (set *stallSet) countSlowTicks(s *series.Series) {
	for i := 1; i < len(s.Ticks); i++ {
		a, b := s.Ticks[i-1], s.Ticks[i]
		if a.ID < 0 || b.ID <= a.ID {
			continue
		}
		if float64(b.At-a.At)/float64(b.ID-a.ID) > 1.5*float64(series.Second) && b.ID-a.ID < 10 && !s.History {
			set.slowTicks++
		}
	}
}

// histogramStalls makes a stall of each run of intervals in which buckets that
// lie over the threshold rose: for 0.1 s those from 131.072 ms (128 ms in the
// milli view).
func histogramStalls(s *series.Series, prm Params) *stallSet {
	set := &stallSet{source: sourceHistogram, quantiles: unknown4, covered: s.Window}
	var lastTo series.Micros
	for i := range s.Histograms {
		h := &s.Histograms[i]
		if !slices.Contains(s.Watch.Events, h.Event) || !s.Window.Contains(h.From) {
			continue
		}
		high, low, k := bracket(h, micros(prm.Threshold))
		set.over[0] += high
		set.over[1] += high + low
		for _, b := range h.Steps {
			set.waits += int(b.Gained)
		}
		if high == 0 {
			continue
		}
		if h.To-h.From > longestHistogramStep && k.at == 0 {
			set.unplaced++
			continue
		}
		if n := len(set.stalls); n > 0 && h.From <= lastTo && k.at-set.stalls[n-1].at < 2*series.Second {
			set.stalls[n-1].waiters += high
			set.stalls[n-1].longest = max(set.stalls[n-1].longest, k.longest)
		} else {
			if k.at == 0 {
				k.at = (h.From + h.To) / 2
			}
			k.onset, k.waiters, k.period = k.at-k.longest, high, h.To-h.From
			set.stalls = append(set.stalls, k)
		}
		lastTo = h.To
	}
	return set
}

// bracket gives the waits of an interval that were surely over the threshold,
// those that may have been (the threshold is no bucket edge: 0.1 s lies between
// 65.536 and 131.072 ms), and a stall placed by LAST_UPDATE_TIME (the end of
// the bucket's last wait) where that lies in the interval.
func bracket(h *series.HistogramStep, threshold series.Micros) (high, low int, k stall) {
	for _, b := range h.Steps {
		switch lower := b.Below / 2; {
		case lower >= threshold:
			high += int(b.Gained)
			if lower > k.longest {
				k.longest = lower
				if h.From <= b.LastUpdate && b.LastUpdate <= h.To {
					k.at = b.LastUpdate - lower/2
				}
			}
		case b.Below > threshold:
			low += int(b.Gained)
		}
	}
	return high, low, k
}

// mostUnread is the share of waits that are long or may be, beyond which those
// that could not be read are too many for a count of stalls to stand on.
const mostUnread = 0.1

// blind says whether few stalls may only mean that the long waits could not be read.
func (set *stallSet) blind() bool {
	return float64(set.unread) > mostUnread*float64(set.over[1])
}

// unreadText words the waits whose length could not be read; "" for none.
func (set *stallSet) unreadText() string {
	switch set.unread {
	case 0:
		return ""
	case 1:
		return "1 wait has a length that could not be read; it may be a stall"
	default:
		return fmt.Sprintf("%d waits have a length that could not be read; they may be stalls", set.unread)
	}
}

// describe renders the waits for the finding.
func (set *stallSet) describe(event string, prm Params) *domain.WaitSummary {
	if set.source == "" {
		return nil
	}
	w := &domain.WaitSummary{
		Event: event, ThresholdMS: float64(prm.Threshold) / float64(time.Millisecond), Stalls: len(set.stalls),
		SessionOnly: set.sessionOnly, OverThresholdLow: &set.over[0], OverThresholdHigh: &set.over[1],
		P50MS: number(set.quantiles[0]), P95MS: number(set.quantiles[1]), P99MS: number(set.quantiles[2]), MaxMS: number(set.quantiles[3]),
	}
	if set.over[0] == set.over[1] {
		w.OverThreshold = &set.over[0]
	}
	return w
}
