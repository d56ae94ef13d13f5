package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// eventRival is a rival that shows in waits or counters of Oracle's own.
type eventRival struct {
	cause   string
	what    string
	matches func(event string) bool
	// total and count are V$SYSSTAT counters whose ratio is the mean time of
	// the thing waited for, in units of unit microseconds; "" where there are none.
	total, count string
	unit         float64
	// long are counters that count long cases only.
	long []string
	need string // what would make it observable
}

func is(names ...string) func(string) bool {
	return func(event string) bool {
		for _, n := range names {
			if event == n {
				return true
			}
		}
		return false
	}
}

// eventRivals: names as in V$EVENT_NAME and V$STATNAME.
func eventRivals() []eventRival {
	return []eventRival{
		{
			cause: domain.CauseRACAck, what: "waits for the SCN acknowledgement over the interconnect", matches: is(domain.EventWaitForSCNAck),
			total: "redo write broadcast ack time", count: "redo write broadcast ack count", unit: 1,
			need: "V$SYSSTAT 'redo write broadcast ack time' and histograms of 'wait for scn ack' (corewait collect sql)",
		},
		{
			cause: domain.CauseDataGuard, what: "waits for the standby's acknowledgement", matches: is(domain.EventSYNCRemoteWrite, "LNS wait on SENDREQ", "LGWR-LNS wait on channel", "redo transport wait"),
			need: "histograms of 'SYNC Remote Write' (corewait collect sql)",
		},
		{
			cause: domain.CauseLogSwitch, what: "waits for a log switch", matches: func(e string) bool { return strings.HasPrefix(e, "log file switch") },
			need: "ASH rows of 'log file switch' events or their histograms",
		},
		{
			cause: domain.CauseForegroundWakeup, what: "late wake-ups of the foreground", matches: func(string) bool { return false },
			long: []string{"redo synch time overhead count (128ms)", "redo synch time overhead count (inf)"},
			need: "V$SYSSTAT 'redo synch time overhead count' (corewait collect sql)",
		},
	}
}

// longRival is how long a rival's own wait must be to explain a stall: half of
// the threshold.
func longRival(prm Params) series.Micros { return micros(prm.Threshold) / 2 }

// indicator builds the rival's indicator from whatever shows it, nil where
// nothing does.
func (r *eventRival) indicator(s *series.Series, prm Params) *indicator {
	d := newIndicator(r.cause, r.what, s.Window)
	seen := r.fromASH(d, s, prm)
	seen = r.fromHistograms(d, s, prm) || seen
	seen = r.fromMeans(d, s, prm) || seen
	for _, name := range r.long {
		for _, k := range s.Counters[name] {
			d.set(k.Span, k.PerS > 0)
			seen = true
		}
	}
	if !seen {
		return nil
	}
	return d
}

// fromASH marks the time of the rival's long waits. It can say "calm" only
// where the spool shows the rival's event, or many events, at all.
func (r *eventRival) fromASH(d *indicator, s *series.Series, prm Params) bool {
	events := map[string]bool{}
	shown := false
	for i := range s.OtherWaits {
		events[s.OtherWaits[i].Event] = true
		shown = shown || r.matches(s.OtherWaits[i].Event)
	}
	const manyEvents = 4
	if !shown && (len(events) < manyEvents || s.Filtered) {
		return false
	}
	if slices.ContainsFunc(s.OtherWaits, func(w series.Wait) bool { return r.matches(w.Event) && w.TimeWaited < 0 }) {
		return false // a length that could not be read is not calm
	}
	if len(s.Ticks) > 0 {
		d.set(series.Span{From: s.Window.From, To: s.Window.To}, false)
	}
	for i := range s.OtherWaits {
		w := &s.OtherWaits[i]
		if r.matches(w.Event) && w.TimeWaited >= longRival(prm) {
			d.set(series.Span{From: w.At - min(w.TimeWaited, series.Second), To: w.At + 1}, true)
		}
	}
	return true
}

func (r *eventRival) fromHistograms(d *indicator, s *series.Series, prm Params) bool {
	seen := false
	for i := range s.Histograms {
		h := &s.Histograms[i]
		if !r.matches(h.Event) {
			continue
		}
		seen = true
		long := false
		for _, b := range h.Steps {
			long = long || b.Below/2 >= longRival(prm)
		}
		d.set(h.Span, long)
	}
	return seen
}

// fromMeans marks intervals whose mean time of the thing waited for is long and
// out of the ordinary.
func (r *eventRival) fromMeans(d *indicator, s *series.Series, prm Params) bool {
	if r.total == "" {
		return false
	}
	count := map[series.Span]float64{}
	for _, k := range s.Counters[r.count] {
		count[k.Span] = k.PerS
	}
	var spans []series.Span
	var means []float64
	for _, k := range s.Counters[r.total] {
		if n, ok := count[k.Span]; ok && n > 0 {
			spans, means = append(spans, k.Span), append(means, k.PerS/n*r.unit)
		}
	}
	usual := medianOf(slices.Clone(means))
	for i, m := range means {
		// A mean over many quick acknowledgements hides one long one: several
		// times the usual mean, and at least 2 ms, is out of the ordinary.
		d.set(spans[i], m >= max(prm.ManyTimes*usual, 2000) || m >= float64(longRival(prm)))
	}
	return len(means) > 0
}

// leaveShared marks the stalls that coincide within half a second with slow
// commits of a partner instance, where more do so than chance explains: they
// have a shared cause and leave the interrupt test. It gives the judgement, nil
// where there is no partner or no such excess.
func (set *stallSet) leaveShared(s *series.Series, prm Params) *rival {
	if len(s.Partner) == 0 || len(set.stalls) == 0 {
		return nil
	}
	const near = series.Second / 2
	d := newIndicator(domain.CauseRACAck, "slow commits of the partner instance within 0.5 s", s.Window)
	d.set(s.Window, false)
	for i := range s.Partner {
		if w := &s.Partner[i]; w.TimeWaited >= micros(prm.Threshold) {
			d.set(series.Span{From: w.At - near, To: w.At + near}, true)
		}
	}
	r := d.judge(set, prm, newRand(prm.Seed, 90))
	if !r.supported {
		return nil
	}
	for i, e := range r.explained {
		set.stalls[i].shared = e
	}
	return &r
}

// addShared tells of shared stalls in the evidence on the interconnect.
func addShared(js []judgement, shared *rival) {
	if shared == nil {
		return
	}
	for i := range js {
		if js[i].Cause.Cause == domain.CauseRACAck {
			js[i].Evidence = append(js[i].Evidence, shared.cause.Evidence...)
			js[i].Evidence = append(js[i].Evidence, "those stalls have a cause in common with the partner's and are left out of the interrupt test")
		}
	}
}

// ownWrites compares LGWR's own write waits with the stalls: which stalls have
// one of at least half their length.
type ownWrites struct {
	seen bool
	slow []bool // by stall
}

func newOwnWrites(s *series.Series, set *stallSet) ownWrites {
	o := ownWrites{slow: make([]bool, len(set.stalls))}
	j := 0
	for i := range set.stalls {
		k := &set.stalls[i]
		for j < len(s.OwnWaits) && s.OwnWaits[j].At < k.at-k.longest {
			j++
		}
		for m := j; m < len(s.OwnWaits) && s.OwnWaits[m].At <= k.at+k.longest; m++ {
			if s.OwnWaits[m].TimeWaited < 0 {
				return ownWrites{slow: make([]bool, len(set.stalls))} // a length that could not be read clears nothing
			}
			if s.OwnWaits[m].TimeWaited >= k.longest/2 {
				o.slow[i] = true
			}
		}
	}
	o.seen = len(s.OwnWaits) > 0
	return o
}

// shares gives the part of exposed and of unexposed stalls that have a slow
// own write; NaN where there are no such stalls.
func (o ownWrites) shares(c *coincidence) (exposed, unexposed float64) {
	var n, k [2]float64
	for i, slow := range o.slow {
		v := c.visit[i]
		if v < 0 {
			continue
		}
		g := 0
		if c.level[v] == levelHeavy {
			g = 1
		}
		n[g]++
		if slow {
			k[g]++
		}
	}
	return k[1] / n[1], k[0] / n[0] // 0/0 is NaN
}

// accuse says whether slow own writes speak for storage: most stalls have one,
// exposed and unexposed alike, where placement was fine enough to tell, stalls do
// not go with exposure (misplaced victims of a collision have slow writes too),
// and nothing but storage itself explains them.
func (o ownWrites) accuse(c *coincidence, by map[string]judgement, prm Params) bool {
	if o.share() < prm.MainShare || len(o.slow) < prm.SupportedStalls || c == nil || !(c.kappa >= prm.CoarseKappa) || c.pValue <= 0.05 {
		return false
	}
	for cause, j := range by {
		if j.Verdict == domain.Supported && cause != domain.CauseStorage {
			return false
		}
	}
	_, unexposed := o.shares(c)
	return unexposed >= prm.MainShare
}

func (o ownWrites) share() float64 {
	if len(o.slow) == 0 {
		return math.NaN()
	}
	n := 0
	for _, s := range o.slow {
		if s {
			n++
		}
	}
	return float64(n) / float64(len(o.slow))
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "an unknown share"
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}
