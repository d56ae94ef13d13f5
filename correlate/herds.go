package correlate

import (
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
)

// Sessions that a stall wakes raise the run queue after it. Where stalls come
// in series, the herd of one lies before the next, and an indicator seems to
// come first. Two comparisons take that into account: how often the stretch
// before an instant is raised near each stall, a few of its neighbours in time;
// and how often it is raised while the process is on the same CPU as in the
// stall, where one stall follows another if the CPU is to blame.

// herdP is the chance that at least as many stalls as seen are raised before
// their onset, at the greater of the two rates.
func (d *indicator) herdP(set *stallSet, c *coincidence) float64 {
	seen, before := d.coverage(set, 0, true, nil)
	if seen == 0 {
		return 1
	}
	return stats.BinomialTail(before, seen, max(d.nearby(set), d.onSameCPU(set, c)))
}

// nearby gives the share of stalls raised before, when each is shifted by ten
// seconds to a minute either way.
func (d *indicator) nearby(set *stallSet) float64 {
	seen, up := 0, 0
	for shift := int64(10); shift <= 60; shift += 5 {
		for _, s := range []int64{shift, -shift} {
			n, k := d.coverage(set, s, true, nil)
			seen += n
			up += k
		}
	}
	if seen == 0 {
		return 0
	}
	return float64(up) / float64(seen)
}

// onSameCPU gives the mean, over placed stalls, of how much of the time at the
// stall's place is raised before; 0 where placement is unknown or too coarse.
func (d *indicator) onSameCPU(set *stallSet, c *coincidence) float64 {
	if c == nil || !(c.kappa >= coarseForHerds) {
		return 0
	}
	lag := typicalLag(set)
	seen, up := make([]float64, len(c.p.places)), make([]float64, len(c.p.places))
	for _, v := range c.p.visits {
		for s := floorSeconds(v.From - d.from); s <= floorSeconds(v.To-1-d.from); s++ {
			switch d.within(s-lag-int64(d.before), s-lag-2) {
			case raised:
				seen[v.place]++
				up[v.place]++
			case calm:
				seen[v.place]++
			}
		}
	}
	var sum, placed float64
	for _, v := range c.visit {
		if v >= 0 && seen[c.p.visits[v].place] > 0 {
			sum += up[c.p.visits[v].place] / seen[c.p.visits[v].place]
			placed++
		}
	}
	if placed == 0 {
		return 0
	}
	return sum / placed
}

// coarseForHerds: placement that agrees less with the instant says nothing of
// the CPU that a stall was on.
const coarseForHerds = 0.5

// typicalLag is the median distance, in seconds, from a stall's onset to the
// instant at which it was seen.
func typicalLag(set *stallSet) int64 {
	lags := make([]int64, 0, len(set.stalls))
	for i := range set.stalls {
		lags = append(lags, (set.stalls[i].at-set.stalls[i].onset)/series.Second)
	}
	sort.Slice(lags, func(i, j int) bool { return lags[i] < lags[j] })
	return lags[len(lags)/2]
}
