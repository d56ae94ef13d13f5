package review

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// dayOf gives the day of the review's zone that holds an instant: 23 to 25 hours
// where the clocks change.
func (r *Review) dayOf(t time.Time) domain.Window { return r.windowOf(t, dateOf(t.In(r.o.Zone)), 1) }

// weekOf gives the week, from Monday, that holds an instant.
func (r *Review) weekOf(t time.Time) domain.Window {
	date := dateOf(t.In(r.o.Zone))
	return r.windowOf(t, date.AddDate(0, 0, -(int(date.Weekday())+6)%7), 7)
}

// dateOf gives a date of any zone as midnight in UTC, so that dates can be counted.
func dateOf(local time.Time) time.Time {
	y, m, d := local.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// windowOf gives the window of so many days, counted from a date, that holds an
// instant. It is that date's, unless the clocks go back over midnight: then some time
// before it comes twice, and belongs to the window that its instant lies in.
func (r *Review) windowOf(t, date time.Time, days int) domain.Window {
	w := domain.Window{From: r.begin(date), To: r.begin(date.AddDate(0, 0, days))}
	switch {
	case t.Before(w.From):
		return domain.Window{From: r.begin(date.AddDate(0, 0, -days)), To: w.From}
	case !t.Before(w.To):
		return domain.Window{From: w.To, To: r.begin(date.AddDate(0, 0, 2*days))}
	}
	return w
}

// begin gives the first instant of a date, which is not always midnight: the clocks
// may go forward at midnight, or back to it. Of a date that a zone left out it is
// that of the next one.
func (r *Review) begin(date time.Time) time.Time {
	const farthest = 26 * time.Hour // from UTC's midnight: zones lie within 14 hours
	first := date.Add(-farthest)
	n := sort.Search(int(2*farthest/time.Second), func(seconds int) bool {
		return !dateOf(first.Add(time.Duration(seconds) * time.Second).In(r.o.Zone)).Before(date)
	})
	return first.Add(time.Duration(n) * time.Second)
}

// days gives verdicts to the days that are over.
func (p *pass) days(ctx context.Context) error {
	return p.verdicts(ctx, store.ScopeDay, p.dayOf, &p.done.Days)
}

// weeks gives verdicts to the weeks that are over.
func (p *pass) weeks(ctx context.Context) error {
	return p.verdicts(ctx, store.ScopeWeek, p.weekOf, &p.done.Weeks)
}

// verdicts judges the dirty windows of a scope that are due.
func (p *pass) verdicts(ctx context.Context, scope store.Scope, windowOf func(time.Time) domain.Window, count *int) error {
	for after := store.Cursor(""); ; {
		page, next, err := p.st.DirtyWindows(ctx, scope, p.now, store.Page{After: after})
		if err != nil {
			return err
		}
		for _, d := range page {
			w := windowOf(d.At)
			if w.To.Add(p.o.Settle).After(p.now) || d.Quiet < p.o.Quiet {
				continue
			}
			if err := p.verdict(ctx, scope, d, w); err != nil {
				if err := p.fail(ctx, string(scope), d.Node, d.At, err); err != nil {
					return err
				}
				continue
			}
			*count++
		}
		if after = next; after == "" {
			return nil
		}
	}
}

// verdict judges one day or week of a node.
func (p *pass) verdict(ctx context.Context, scope store.Scope, d store.DirtyWindow, w domain.Window) error {
	began := time.Now()
	if p.gone(w) {
		p.log.WarnContext(ctx, "late data of a window whose samples are dropped: its verdict stays", "scope", scope, "node", p.names[d.Node], "from", w.From)
		_, err := p.st.CleanWindow(ctx, d)
		return err
	}
	for _, watch := range p.o.Watches {
		res, err := p.judge(ctx, d.Node, watch, w, p.o.Params)
		if err != nil {
			return err
		}
		findings := res.Findings
		for _, why := range res.Problems {
			findings = append(findings, p.without(d.Node, "", watch, w, "The records of this time cannot be analysed: "+why+"."))
		}
		outdated, err := p.outdated(ctx, scope, d.Node, watch, w, findings)
		if err != nil {
			return err
		}
		for _, f := range append(findings, outdated...) {
			if err := p.save(ctx, scope, d.Node, w, f); err != nil {
				return err
			}
		}
	}
	// The first window of a fleet keeps its mark until the fleet is tested: where the
	// review breaks off before, it is judged again and brings the test with it.
	f := fleet{scope: scope, from: w.From, to: w.To}
	if _, held := p.fleets[f]; !held {
		p.fleets[f] = d
	} else if _, err := p.st.CleanWindow(ctx, d); err != nil {
		return err
	}
	p.measure.reviewed.WithLabelValues(string(scope)).Inc()
	p.measure.seconds.WithLabelValues(string(scope)).Observe(time.Since(began).Seconds())
	return nil
}

// without makes the finding of an instance of which a window holds nothing that could
// be judged.
func (p *pass) without(node store.NodeID, instance, watch string, w domain.Window, headline string) *domain.Finding {
	return &domain.Finding{
		Schema: domain.AnalysisSchema, Window: w, Node: p.names[node], Instance: instance, Watch: watch, Grade: "B",
		Coverage: domain.Coverage{Notes: []string{}}, StallList: []domain.StallMark{}, Causes: []domain.Cause{}, Mixed: []string{},
		NextSteps: []string{}, Warnings: []string{}, Verdict: domain.InsufficientData, Headline: headline, Params: p.o.Params,
	}
}

// outdated makes findings in place of those that a window has of instances of which
// it holds nothing any more: late data may name an instance that had no name, or give
// its waits to another one. Where a window holds nothing at all its samples are
// dropped, and the verdicts stay.
func (p *pass) outdated(ctx context.Context, scope store.Scope, node store.NodeID, watch string, w domain.Window, found []*domain.Finding) ([]*domain.Finding, error) {
	if len(found) == 0 {
		return nil, nil
	}
	heads, err := p.heads(ctx, store.FindingFilter{Node: node, Scope: scope, Watch: watch}, w)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Instance)
	}
	var outdated []*domain.Finding
	for _, h := range heads {
		if !slices.Contains(names, h.Instance) {
			outdated = append(outdated, p.without(node, h.Instance, watch, w,
				"No records of this time are of this instance any more: late ones gave them to another, or it is not known whose they are."))
		}
	}
	return outdated, nil
}

// heads lists the findings of exactly one window.
func (p *pass) heads(ctx context.Context, filter store.FindingFilter, w domain.Window) ([]store.FindingHead, error) {
	filter.Window = domain.Window{From: w.From, To: w.From.Add(time.Microsecond)}
	all, err := store.All(func(page store.Page) ([]store.FindingHead, store.Cursor, error) {
		return p.st.Findings(ctx, filter, page)
	})
	return slices.DeleteFunc(all, func(h store.FindingHead) bool { return !h.Window.To.Equal(w.To) }), err
}

// save keeps a finding, and what the fleet's test needs of it. It is not accepted
// before that.
func (p *pass) save(ctx context.Context, scope store.Scope, node store.NodeID, w domain.Window, f *domain.Finding) error {
	id, revision, err := p.st.SaveFinding(ctx, node, scope, w, f)
	if err != nil {
		return err
	}
	p.measure.verdicts.WithLabelValues(string(scope), f.Verdict).Inc()
	if v, tested := pValue(f, p.o.Params); tested {
		return p.st.SaveFleetTest(ctx, node, id, revision, store.FleetTest{P: v, Q: v, Tests: 1})
	}
	return nil
}
