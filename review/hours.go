package review

import (
	"context"
	"math"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// hours reviews the hours that are dirty: each node's in order, and what they
// mean for its incidents together.
func (p *pass) hours(ctx context.Context) error {
	var node []store.DirtyWindow // of one node, ascending
	for after := store.Cursor(""); ; {
		page, next, err := p.st.DirtyWindows(ctx, store.ScopeHour, p.now, store.Page{After: after})
		if err != nil {
			return err
		}
		for _, w := range page {
			if gone, err := p.cleanGone(ctx, w); err != nil {
				return err
			} else if gone || !p.dueHour(w) {
				continue
			}
			if len(node) > 0 && node[0].Node != w.Node {
				if err := p.nodeHours(ctx, node); err != nil {
					return err
				}
				node = nil
			}
			node = append(node, w)
		}
		if after = next; after == "" {
			break
		}
	}
	return p.nodeHours(ctx, node)
}

// cleanGone leaves an hour as it was judged whose samples are partly dropped: what is
// left of them would take its stalls away.
func (p *pass) cleanGone(ctx context.Context, w store.DirtyWindow) (gone bool, err error) {
	if !p.gone(domain.Window{From: w.At, To: w.At.Add(time.Hour)}) {
		return false, nil
	}
	p.log.WarnContext(ctx, "late data of an hour whose samples are dropped: its tally stays", "node", w.Node, "from", w.At)
	_, err = p.st.CleanWindow(ctx, w)
	return true, err
}

// dueHour says whether an hour is over and settled, or its new data has waited
// long enough.
func (p *pass) dueHour(w store.DirtyWindow) bool {
	if end := w.At.Add(time.Hour); !end.Add(p.o.Settle).After(p.now) {
		return true
	}
	return w.Waiting >= p.o.CurrentEvery
}

// nodeHours reviews hours of one node. They are clean only once their incidents
// are known and their day and week marked: where it breaks off they come again.
func (p *pass) nodeHours(ctx context.Context, hours []store.DirtyWindow) error {
	for len(hours) > 0 {
		n := 1 // hours that follow one another are looked at together
		for n < len(hours) && hours[n].At.Sub(hours[n-1].At) <= p.o.IncidentGap+time.Hour && n < hoursTogether {
			n++
		}
		if err := p.stretch(ctx, hours[:n]); err != nil {
			if err := p.fail(ctx, "hour", hours[0].Node, hours[0].At, err); err != nil {
				return err
			}
		}
		hours = hours[n:]
	}
	return nil
}

// hoursTogether bounds how much is done again where a review breaks off.
const hoursTogether = 24

// stretch reviews hours without a long hole between them.
func (p *pass) stretch(ctx context.Context, hours []store.DirtyWindow) error {
	node := hours[0].Node
	w := domain.Window{From: hours[0].At, To: hours[len(hours)-1].At.Add(time.Hour)}
	for _, watch := range p.o.Watches {
		for _, h := range hours {
			if err := p.tally(ctx, node, watch, h.At); err != nil {
				return err
			}
		}
		if err := p.incidents(ctx, node, watch, w); err != nil {
			return err
		}
	}
	for _, h := range hours {
		// Rolling up costs the database as much as reading an hour does: an hour that
		// goes on is rolled up once, when it is over.
		if end := h.At.Add(time.Hour); !end.After(p.now) {
			if err := p.st.RollUp(ctx, node, h.At, end); err != nil {
				return err
			}
		}
		if err := p.reopen(ctx, h); err != nil {
			return err
		}
		if _, err := p.st.CleanWindow(ctx, h); err != nil {
			return err
		}
		p.done.Hours++
		p.measure.reviewed.WithLabelValues(string(store.ScopeHour)).Inc()
	}
	return nil
}

// reopen marks the days and weeks that an hour belongs to. Where a zone is half
// an hour off, an hour may belong to two.
func (p *pass) reopen(ctx context.Context, h store.DirtyWindow) error {
	first, last := h.At, h.At.Add(time.Hour-time.Nanosecond)
	if err := p.st.MarkDirty(ctx, store.ScopeDay, h.Node, distinct(p.dayOf(first).From, p.dayOf(last).From)...); err != nil {
		return err
	}
	return p.st.MarkDirty(ctx, store.ScopeWeek, h.Node, distinct(p.weekOf(first).From, p.weekOf(last).From)...)
}

func distinct(a, b time.Time) []time.Time {
	if a.Equal(b) {
		return []time.Time{a}
	}
	return []time.Time{a, b}
}

// tally counts an hour of a node, instance by instance.
func (p *pass) tally(ctx context.Context, node store.NodeID, watch string, hour time.Time) error {
	began := time.Now()
	res, err := p.judge(ctx, node, watch, domain.Window{From: hour, To: hour.Add(time.Hour)}, p.o.Params)
	if err != nil {
		return err
	}
	if len(res.Findings) == 0 {
		return nil // nothing was there, or samples are gone: what an earlier review found stays
	}
	tallies := make([]store.Tally, 0, len(res.Findings))
	var stalls []store.Stall
	for _, f := range res.Findings {
		tallies = append(tallies, tallyOf(f, node, hour))
		for i := range f.StallList {
			stalls = append(stalls, stallOf(f, &f.StallList[i]))
		}
	}
	if err := p.st.SaveHour(ctx, node, watch, hour, tallies, stalls); err != nil {
		return err
	}
	p.measure.seconds.WithLabelValues(string(store.ScopeHour)).Observe(time.Since(began).Seconds())
	return nil
}

// tallyOf counts what a finding says of an hour; negative where it says nothing.
func tallyOf(f *domain.Finding, node store.NodeID, hour time.Time) store.Tally {
	t := store.Tally{
		Node: node, Instance: f.Instance, Watch: f.Watch, At: hour, Length: time.Hour,
		ObservedS: -1, Stalls: -1, StallsExposed: -1, ExposedS: -1, WaitsLow: -1, WaitsHigh: -1, Max: -1,
	}
	placed := f.Placement != nil && f.Coverage.PlacementSeconds > 0
	if placed && f.Interrupts != nil {
		t.ObservedS = int(math.Round(min(f.Coverage.PlacementSeconds, f.Coverage.InterruptSeconds)))
	}
	if placed && f.Placement.HeavyShare != nil {
		t.ExposedS = int(math.Round(*f.Placement.HeavyShare * f.Coverage.PlacementSeconds))
	}
	if f.Waits == nil {
		return t
	}
	t.Stalls = f.Waits.Stalls
	switch {
	case t.Stalls == 0:
		t.StallsExposed = 0
	case f.Coincidence != nil:
		t.StallsExposed = f.Coincidence.StallsExposed
	}
	switch {
	case f.Waits.OverThreshold != nil:
		t.WaitsLow, t.WaitsHigh = int64(*f.Waits.OverThreshold), int64(*f.Waits.OverThreshold)
	case f.Waits.OverThresholdLow != nil && f.Waits.OverThresholdHigh != nil:
		t.WaitsLow, t.WaitsHigh = int64(*f.Waits.OverThresholdLow), int64(*f.Waits.OverThresholdHigh)
	}
	if f.Waits.MaxMS != nil {
		t.Max = millis(*f.Waits.MaxMS)
	}
	return t
}

func stallOf(f *domain.Finding, m *domain.StallMark) store.Stall {
	return store.Stall{Instance: f.Instance, At: m.At, Longest: millis(m.LongestMS), Waiters: m.Waiters, Exposure: m.Exposure}
}

func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}
