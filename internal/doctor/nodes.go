package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// An agent pushes every 10 s. One that was heard of in the last day and is silent
// now has stopped, or cannot reach the service.
const (
	silentAgent    = 2 * time.Minute
	forgottenAgent = 24 * time.Hour
	// Two nodes of a cluster are compared to half a second.
	largeOffset = 500 * time.Millisecond
)

func (e *examination) agents(ctx context.Context) error {
	states, err := store.All(func(p store.Page) ([]store.AgentState, store.Cursor, error) { return e.st.Agents(ctx, p) })
	if err != nil {
		return err
	}
	agents := map[store.NodeID][]store.AgentState{}
	for _, a := range states {
		e.expected[a.Node] = true
		if e.now.Sub(a.SeenAt) < forgottenAgent {
			agents[a.Node] = append(agents[a.Node], a)
		}
	}
	for _, n := range e.nodes {
		if of := agents[n.ID]; len(of) > 0 {
			e.agent(n, of)
		}
	}
	return nil
}

func (e *examination) agent(n store.Node, of []store.AgentState) {
	newest, live := of[0], 0
	for _, a := range of {
		if a.SeenAt.After(newest.SeenAt) {
			newest = a
		}
		if e.now.Sub(a.SeenAt) < silentAgent {
			live++
		}
	}
	silence := e.now.Sub(newest.SeenAt)
	switch {
	case silence >= silentAgent:
		e.sayf("agent "+n.Name, Failed, "silent for %s: is it running, and does it reach the service?", ago(silence))
	case live > 1:
		e.sayf("agent "+n.Name, Warning, "%d spools push at the same time: are there two agents on the node, or two nodes with one token?", live)
	default:
		e.sayf("agent "+n.Name, OK, "version %s, heard of %s ago", orUnknown(newest.Version), ago(silence))
	}
	e.clock(n, &newest)
}

func (e *examination) clock(n store.Node, a *store.AgentState) {
	name := "clock " + n.Name
	if a.ClockOffset == nil {
		e.sayf(name, Warning, "the agent does not say what its clock shows")
		return
	}
	text := fmt.Sprintf("%s ahead of the service's", ago(*a.ClockOffset))
	if *a.ClockOffset < 0 {
		text = fmt.Sprintf("%s behind the service's", ago(-*a.ClockOffset))
	}
	synchronized := a.Synchronized == nil || *a.Synchronized
	switch {
	case a.Retimed || a.ClockOffset.Abs() > e.o.MaxClockOffset:
		e.sayf(name, Failed, "%s: samples are timed by the service's clock and do not match Oracle's times: set the node's clock", text)
	case !synchronized:
		e.sayf(name, Warning, "%s, and not synchronized, as the kernel says: is chronyd or ntpd running?", text)
	case a.ClockOffset.Abs() > largeOffset:
		e.sayf(name, Warning, "%s: times of several nodes cannot be compared to half a second", text)
	default:
		e.sayf(name, OK, "%s", text)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// coverageWindow is what is looked at of each node.
const coverageWindow = 24 * time.Hour

// coverage tells, node by node, what the last day has of each source, and for
// each instance.
func (e *examination) coverage(ctx context.Context) error {
	tokens, err := store.All(func(p store.Page) ([]store.Token, store.Cursor, error) { return e.st.Tokens(ctx, p) })
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.RevokedAt.IsZero() {
			e.expected[t.Node] = true
		}
	}
	w := domain.Window{From: e.now.Add(-coverageWindow), To: e.now}
	for _, n := range e.nodes {
		sources, err := e.st.Coverage(ctx, store.Source{Node: n.ID}, w)
		if err != nil {
			return err
		}
		e.covered(n, sources)
	}
	return nil
}

// covered makes a line of the host's sources and one of each instance's.
func (e *examination) covered(n store.Node, sources []store.SourceCoverage) {
	var host []string
	instances := map[int][]string{}
	placed := false
	for _, s := range sources {
		if s.Source == "waits" && !watched(s.Detail) {
			continue
		}
		text := strings.TrimSpace(s.Source+" "+s.Detail) + " "
		if s.Observed < 0 { // rows are there only where somebody waited
			text += "last " + ago(e.now.Sub(s.Last)) + " ago"
		} else {
			text += percent(s.Observed, coverageWindow)
		}
		if s.Instance < 0 {
			host = append(host, text)
			placed = placed || s.Source == "placement"
			continue
		}
		instances[s.Instance] = append(instances[s.Instance], text)
	}
	if len(host) == 0 && len(instances) == 0 {
		if e.expected[n.ID] { // else it is known from a collection or by mistake
			e.sayf("coverage "+n.Name, Warning, "nothing in the last 24 hours")
		}
		return
	}
	state := OK
	if len(host) > 0 && !placed {
		state = Warning
		host = append(host, "no placement of LGWR")
	}
	if len(host) > 0 {
		e.sayf("coverage "+n.Name, state, "of the last 24 hours: %s", strings.Join(host, ", "))
	}
	for inst, texts := range instances {
		e.sayf(fmt.Sprintf("coverage %s instance %d", n.Name, inst), OK, "of the last 24 hours: %s", strings.Join(texts, ", "))
	}
	if len(host) > 0 && len(instances) == 0 {
		e.sayf("coverage "+n.Name+" waits", Warning, "none of an instance in the last 24 hours: stalls cannot be seen")
	}
}

// watched says whether sessions that wait for an event are what corewait is about.
func watched(event string) bool {
	for _, w := range domain.Watches() {
		if slices.Contains(w.Events, event) {
			return true
		}
	}
	return false
}

func percent(part, whole time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*part.Seconds()/whole.Seconds())
}

// disk forecasts what the database will need once samples are as old as they are
// kept.
func (e *examination) disk(ctx context.Context) error {
	size, err := e.st.Size(ctx)
	if err != nil {
		return err
	}
	perDay, days := int64(0), 0
	today := e.now.UTC().Truncate(24 * time.Hour)
	for _, d := range size.LiveByDay { // days that are over, the last three
		if d.Day.Before(today) && !d.Day.Before(today.AddDate(0, 0, -3)) {
			perDay += d.Bytes
			days++
		}
	}
	if days == 0 {
		e.sayf("disk", OK, "%s in all; no day is over yet to forecast from", bytes(size.Total))
		return nil
	}
	perDay /= int64(days)
	will := size.Total - size.Live + perDay*int64(e.o.Raw/(24*time.Hour))
	text := fmt.Sprintf("%s in all, %s a day, about %s once %d days are kept", bytes(size.Total), bytes(perDay), bytes(will), int(e.o.Raw.Hours()/24))
	switch {
	case e.o.Budget > 0 && max(will, size.Total) > e.o.Budget:
		e.sayf("disk", Failed, "%s: more than the %s it may take: keep less (retention.raw) or give it more", text, bytes(e.o.Budget))
	default:
		e.sayf("disk", OK, "%s", text)
	}
	return nil
}

func bytes(n int64) string {
	const unit = 1000
	switch {
	case n < unit*unit:
		return fmt.Sprintf("%d kB", n/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.0f MB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/unit/unit/unit)
}
