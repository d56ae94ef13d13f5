package review

import (
	"context"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// run is stalls of one instance that follow one another closely, ascending.
type run []store.Stall

func (r run) first() time.Time { return r[0].At }
func (r run) last() time.Time  { return r[len(r)-1].At }

// runsOf cuts stalls, ascending, where no stall was seen for longer than gap, and
// where a run would be longer than longest.
func runsOf(stalls []store.Stall, gap, longest time.Duration) []run {
	var runs []run
	for i := range stalls {
		n := len(runs)
		if n > 0 && stalls[i].At.Sub(runs[n-1].last()) <= gap && stalls[i].At.Sub(runs[n-1].first()) <= longest {
			runs[n-1] = append(runs[n-1], stalls[i])
			continue
		}
		runs = append(runs, run{stalls[i]})
	}
	return runs
}

// incidents brings the incidents of a node about a window to what is known now.
func (p *pass) incidents(ctx context.Context, node store.NodeID, watch string, w domain.Window) error {
	about, known, err := p.about(w, func(w domain.Window) ([]store.Incident, error) { return p.touching(ctx, node, watch, w) })
	if err != nil {
		return err
	}
	stalls, err := p.st.Stalls(ctx, node, watch, widen(about, p.o.IncidentGap))
	if err != nil {
		return err
	}
	var instances []string
	for _, s := range stalls {
		instances = append(instances, s.Instance)
	}
	for _, k := range known {
		instances = append(instances, k.Instance)
	}
	slices.Sort(instances)
	for _, instance := range slices.Compact(instances) {
		changes := p.plan(
			slices.DeleteFunc(slices.Clone(stalls), func(s store.Stall) bool { return s.Instance != instance }),
			slices.DeleteFunc(slices.Clone(known), func(k store.Incident) bool { return k.Instance != instance }), about, w)
		for i := range changes {
			if instance == "" {
				takenOver(&changes[i], stalls)
			}
			changes[i].incident.Node, changes[i].incident.Instance, changes[i].incident.Watch = node, instance, watch
			if err := p.apply(ctx, &changes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// takenOver marks an incident of an instance without a name as absorbed where its
// stalls have a name by now: they are an incident of that instance.
func takenOver(c *change, stalls []store.Stall) {
	if c.is && c.incident.Stalls == 0 && slices.ContainsFunc(stalls, func(s store.Stall) bool { return c.incident.Window.Contains(s.At) }) {
		c.absorbed = true
	}
}

// about widens a window so far that it cuts neither an open incident nor a run of
// stalls that is too short to be one, and gives the incidents within the gap of it:
// what is planned for it does then not depend on where reviews began. Incidents bound
// how far that is.
func (p *pass) about(w domain.Window, touching func(domain.Window) ([]store.Incident, error)) (about domain.Window, known []store.Incident, err error) {
	about = widen(w, time.Duration(max(p.o.IncidentStalls-1, 1))*p.o.IncidentGap)
	farthest := widen(about, longestIncident+2*p.o.IncidentMargin)
	for {
		known, err = touching(widen(about, p.o.IncidentGap))
		if err != nil {
			return about, nil, err
		}
		wider := about
		for _, k := range known {
			if k.State == store.IncidentOpen && overlap(k.Window, about) {
				wider.From, wider.To = earlier(wider.From, k.Window.From), later(wider.To, k.Window.To)
			}
		}
		wider.From, wider.To = later(wider.From, farthest.From), earlier(wider.To, farthest.To)
		if wider == about {
			return about, known, nil
		}
		about = wider
	}
}

func widen(w domain.Window, by time.Duration) domain.Window {
	return domain.Window{From: w.From.Add(-by), To: w.To.Add(by)}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// touching gives the incidents of a node whose windows overlap one. It looks no
// farther back than an incident may last, with the margins of any settings: all that
// the node ever had would be read otherwise.
func (p *pass) touching(ctx context.Context, node store.NodeID, watch string, w domain.Window) ([]store.Incident, error) {
	filter := store.IncidentFilter{
		Node: node, Watch: watch, Touching: w, Window: domain.Window{From: w.From.Add(-longestIncident - 24*time.Hour), To: w.To},
	}
	all, err := store.All(func(page store.Page) ([]store.Incident, store.Cursor, error) {
		return p.st.Incidents(ctx, filter, page)
	})
	slices.SortFunc(all, func(a, b store.Incident) int { return a.Window.From.Compare(b.Window.From) })
	return all, err
}

// change is what is to become of one incident.
type change struct {
	incident store.Incident
	absorbed bool // another one has grown over it
	is       bool // it is in the store
}

// scene is what a plan rests on, of one instance.
type scene struct {
	stalls []store.Stall    // that are of no other incident
	open   []store.Incident // that overlap the time looked at
	free   domain.Window    // that no incident beside it has
}

// sceneOf takes the known incidents into account: one beside the time has its own
// stalls, and so has a dismissed one, unless it was absorbed and has none.
func (p *pass) sceneOf(stalls []store.Stall, known []store.Incident, about domain.Window) scene {
	s := scene{stalls: slices.Clone(stalls), free: widen(about, p.o.IncidentGap+p.o.IncidentMargin)}
	for _, k := range known {
		switch {
		case k.State == store.IncidentDismissed && k.Stalls == 0:
			continue
		case k.State == store.IncidentDismissed:
		case !k.Window.To.After(about.From):
			s.free.From = later(s.free.From, k.Window.To)
		case !k.Window.From.Before(about.To):
			s.free.To = earlier(s.free.To, k.Window.From)
		default:
			s.open = append(s.open, k)
			continue
		}
		s.stalls = slices.DeleteFunc(s.stalls, func(s store.Stall) bool { return k.Window.Contains(s.At) })
	}
	return s
}

// plan says what is to become of the incidents about a window w of one instance.
// Stalls and known ascend and are those within the gap of about. It is pure, and what
// it says of its own outcome is the same again.
//
// An incident is a run of stalls with some time around. A known one goes on as the
// first run that it overlaps and that is no other's; where there is none left it is
// absorbed. One that somebody dismissed stays so, and takes with it what lies in it.
func (p *pass) plan(stalls []store.Stall, known []store.Incident, about, w domain.Window) []change {
	s := p.sceneOf(stalls, known, about)
	runs := runsOf(s.stalls, p.o.IncidentGap, longestIncident)
	windows := p.windowsOf(runs, s.free)
	near := widen(w, p.o.IncidentGap)
	owner := make([]*store.Incident, len(runs))
	var changes []change
	for i := range s.open {
		k := &s.open[i]
		n, overlaps := ownRun(k, windows, owner)
		switch {
		case n >= 0:
			owner[n] = k
		case overlaps:
			changes = append(changes, change{incident: *k, absorbed: true, is: true})
		default: // its stalls are gone
			k.Stalls = 0
			changes = append(changes, change{incident: *k, is: true})
		}
	}
	for i, r := range runs {
		c := change{incident: store.Incident{Window: windows[i], Stalls: len(r), State: store.IncidentOpen}}
		k := owner[i]
		if k == nil {
			if len(r) >= p.o.IncidentStalls {
				changes = append(changes, c)
			}
			continue
		}
		c.incident.ID, c.is = k.ID, true
		if overlap(k.Window, near) || overlap(windows[i], near) || k.Window != windows[i] || k.Stalls != len(r) {
			changes = append(changes, c)
		}
	}
	return changes
}

// ownRun finds the first run that an incident overlaps and that has no owner; -1
// where there is none. overlaps says whether it overlaps any.
func ownRun(k *store.Incident, windows []domain.Window, owner []*store.Incident) (n int, overlaps bool) {
	for i := range windows {
		if !overlap(k.Window, windows[i]) {
			continue
		}
		if overlaps = true; owner[i] == nil {
			return i, true
		}
	}
	return -1, overlaps
}

// windowsOf gives the windows of runs that follow one another: each with some time
// around it, as far as that is free. Where a run was cut for its length, there may be
// less: the next window begins where the one before ends.
func (p *pass) windowsOf(runs []run, free domain.Window) []domain.Window {
	windows := make([]domain.Window, len(runs))
	for i, r := range runs {
		windows[i] = domain.Window{
			From: later(free.From, r.first().Add(-p.o.IncidentMargin)), To: earlier(free.To, r.last().Add(p.o.IncidentMargin)),
		}
		if i > 0 {
			windows[i-1].To = earlier(windows[i-1].To, r.first())
			windows[i].From = later(windows[i].From, windows[i-1].To)
		}
	}
	return windows
}

func overlap(a, b domain.Window) bool { return a.From.Before(b.To) && b.From.Before(a.To) }

// apply brings one incident to what was planned, keeps its evidence and judges it.
func (p *pass) apply(ctx context.Context, c *change) error {
	i := &c.incident
	if c.absorbed {
		// Its stalls are another's from now on: as a dismissed one it must not take
		// them with it.
		if err := p.st.ChangeIncident(ctx, i.Node, i.ID, i.Window, 0); err != nil {
			return err
		}
		return p.st.Dismiss(ctx, i.ID)
	}
	var err error
	if c.is {
		err = p.st.ChangeIncident(ctx, i.Node, i.ID, i.Window, i.Stalls)
	} else {
		i.ID = store.NewUUID()
		if _, err = p.st.CreateIncident(ctx, *i); err == nil {
			p.measure.opened.Inc()
			p.log.InfoContext(ctx, "incident opened", "node", p.names[i.Node], "instance", i.Instance, "from", i.Window.From, "stalls", i.Stalls, "incident", i.ID)
		}
	}
	if err != nil {
		return err
	}
	if p.gone(i.Window) {
		return nil // its evidence and verdict stay
	}
	if _, err := p.st.KeepEvidence(ctx, i.ID, i.Node, i.Window, p.o.EvidenceCap); err != nil {
		return err
	}
	res, err := p.judge(ctx, i.Node, i.Watch, i.Window, p.o.Params)
	if err != nil {
		return err
	}
	for _, f := range res.Findings {
		if f.Instance != i.Instance {
			continue
		}
		if _, _, err := p.st.SaveIncidentFinding(ctx, i.Node, i.ID, i.Window, f); err != nil {
			return err
		}
		p.measure.verdicts.WithLabelValues(string(store.ScopeIncident), f.Verdict).Inc()
	}
	p.done.Incidents++
	p.measure.reviewed.WithLabelValues(string(store.ScopeIncident)).Inc()
	return nil
}
