package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/store"
)

// finding is a finding in a list.
type finding struct {
	ID        store.UUID    `json:"id"`
	Node      string        `json:"node"`
	Instance  string        `json:"instance"`
	Watch     string        `json:"watch"`
	Scope     store.Scope   `json:"scope"`
	Window    domain.Window `json:"window"`
	Verdict   string        `json:"verdict"`
	Grade     string        `json:"grade"`
	Headline  string        `json:"headline"`
	Revision  int           `json:"revision"`
	CreatedAt time.Time     `json:"created_at"`
	Incident  *store.UUID   `json:"incident"`
	Fleet     *fleetTest    `json:"fleet"`
}

// fleetTest is what false-discovery control over the fleet made of a finding.
type fleetTest struct {
	P        float64 `json:"p_value"`
	Q        float64 `json:"q_value"`
	Tests    int     `json:"tests"`
	Accepted bool    `json:"accepted"`
}

type incident struct {
	ID          store.UUID          `json:"id"`
	Node        string              `json:"node"`
	Instance    string              `json:"instance"`
	Watch       string              `json:"watch"`
	Window      domain.Window       `json:"window"`
	Stalls      int                 `json:"stalls"`
	State       store.IncidentState `json:"state"`
	CreatedAt   time.Time           `json:"created_at"`
	DismissedAt *time.Time          `json:"dismissed_at"`
	Evidence    string              `json:"evidence"` // the collection; "" none
}

type node struct {
	Name   string  `json:"name"`
	Agents []agent `json:"agents"`
}

type agent struct {
	Version       string    `json:"version"`
	SeenAt        time.Time `json:"seen_at"`
	ClockOffsetMS *float64  `json:"clock_offset_ms"`
	Synchronized  *bool     `json:"clock_synchronized"`
	Retimed       bool      `json:"retimed"`
}

func (s *site) findings(r *http.Request) (any, error) {
	q, err := s.query(r)
	if err != nil {
		return nil, err
	}
	heads, next, err := s.st.Findings(r.Context(), store.FindingFilter{
		Node: q.node, Instance: q.text("instance"), Watch: q.text("watch"), Scope: store.Scope(q.text("scope")), Window: q.window,
	}, q.page)
	if err != nil {
		return nil, err
	}
	list := make([]finding, 0, len(heads))
	for i := range heads {
		list = append(list, findingOf(&heads[i], q.names))
	}
	return map[string]any{"schema": "corewait/findings/v1", "findings": list, "next": cursor(next)}, nil
}

func findingOf(h *store.FindingHead, names map[store.NodeID]string) finding {
	f := finding{
		ID: h.ID, Node: names[h.Node], Instance: h.Instance, Watch: h.Watch, Scope: h.Scope, Window: h.Window, Verdict: h.Verdict, Grade: h.Grade,
		Headline: h.Headline, Revision: h.Revision, CreatedAt: h.CreatedAt,
	}
	if !h.Incident.IsZero() {
		f.Incident = &h.Incident
	}
	if t := h.Fleet; t != nil {
		f.Fleet = &fleetTest{P: t.P, Q: t.Q, Tests: t.Tests, Accepted: t.Accepted}
	}
	return f
}

// finding answers with the document of corewait analyze --json.
func (s *site) finding(r *http.Request) (any, error) {
	names, err := s.st.NodeNames(r.Context())
	if err != nil {
		return nil, err
	}
	id, err := store.ParseUUID(r.PathValue("id"))
	if err != nil {
		return nil, store.ErrNotFound
	}
	node, known := numberOf(names, r.PathValue("node"))
	if !known {
		return nil, store.ErrNotFound
	}
	f, err := s.st.Finding(r.Context(), node, id)
	if err != nil {
		return nil, err
	}
	return f.Document, nil
}

func numberOf(names map[store.NodeID]string, name string) (store.NodeID, bool) {
	for id, n := range names {
		if n == name {
			return id, true
		}
	}
	return 0, false
}

func (s *site) incidents(r *http.Request) (any, error) {
	q, err := s.query(r)
	if err != nil {
		return nil, err
	}
	found, next, err := s.st.Incidents(r.Context(), store.IncidentFilter{
		Node: q.node, Instance: q.text("instance"), Watch: q.text("watch"), State: store.IncidentState(q.text("state")), Touching: q.window,
	}, q.page)
	if err != nil {
		return nil, err
	}
	return map[string]any{"schema": "corewait/incidents/v1", "incidents": incidentsOf(found, q.names), "next": cursor(next)}, nil
}

func incidentsOf(found []store.Incident, names map[store.NodeID]string) []incident {
	list := make([]incident, 0, len(found))
	for _, i := range found {
		v := incident{
			ID: i.ID, Node: names[i.Node], Instance: i.Instance, Watch: i.Watch, Window: i.Window, Stalls: i.Stalls, State: i.State, CreatedAt: i.CreatedAt,
		}
		if !i.DismissedAt.IsZero() {
			v.DismissedAt = &i.DismissedAt
		}
		if i.Evidence != 0 {
			v.Evidence = store.EvidenceName(i.ID)
		}
		list = append(list, v)
	}
	return list
}

// incident answers with an incident on each of its nodes, and what was found.
func (s *site) incident(r *http.Request) (any, error) {
	id, err := store.ParseUUID(r.PathValue("id"))
	if err != nil {
		return nil, store.ErrNotFound
	}
	ctx := r.Context()
	found, err := s.st.Incident(ctx, id)
	if err != nil {
		return nil, err
	}
	names, err := s.st.NodeNames(ctx)
	if err != nil {
		return nil, err
	}
	heads, err := store.All(func(p store.Page) ([]store.FindingHead, store.Cursor, error) {
		return s.st.Findings(ctx, store.FindingFilter{Incident: id}, p)
	})
	list := make([]finding, 0, len(heads))
	for i := range heads {
		list = append(list, findingOf(&heads[i], names))
	}
	return map[string]any{"schema": "corewait/incident/v1", "nodes": incidentsOf(found, names), "findings": list}, err
}

func (s *site) nodes(r *http.Request) (any, error) {
	ctx := r.Context()
	states, err := store.All(func(p store.Page) ([]store.AgentState, store.Cursor, error) { return s.st.Agents(ctx, p) })
	if err != nil {
		return nil, err
	}
	agents := map[store.NodeID][]agent{}
	for _, a := range states {
		v := agent{Version: a.Version, SeenAt: a.SeenAt, Synchronized: a.Synchronized, Retimed: a.Retimed}
		if a.ClockOffset != nil {
			ms := float64(a.ClockOffset.Microseconds()) / 1e3
			v.ClockOffsetMS = &ms
		}
		agents[a.Node] = append(agents[a.Node], v)
	}
	nodes, err := store.All(func(p store.Page) ([]store.Node, store.Cursor, error) { return s.st.Nodes(ctx, p) })
	list := make([]node, 0, len(nodes))
	for _, n := range nodes {
		list = append(list, node{Name: n.Name, Agents: append([]agent{}, agents[n.ID]...)})
	}
	return map[string]any{"schema": "corewait/nodes/v1", "nodes": list}, err
}

// status tells of the service: never a secret, nor an address that holds one.
func (s *site) status(r *http.Request) (any, error) {
	status := map[string]any{"schema": "corewait/status/v1", "version": s.o.Version, "database": "ready"}
	if s.o.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
		defer cancel()
		if err := s.o.Ready(ctx); err != nil {
			status["database"] = err.Error()
		}
	}
	if s.o.Jobs != nil {
		list := []job{}
		for _, j := range s.o.Jobs() {
			list = append(list, jobOf(&j))
		}
		status["jobs"] = list
	}
	return status, nil
}

// job is how a job stands. Times are null where there is none.
type job struct {
	Job         string     `json:"job"`
	Schedule    string     `json:"schedule"`
	Next        *time.Time `json:"next"`
	Running     bool       `json:"running"`
	StartedAt   *time.Time `json:"started_at"`
	FinishedAt  *time.Time `json:"finished_at"`
	TookS       float64    `json:"took_s"`
	Result      string     `json:"result"`
	Detail      string     `json:"detail"`
	SucceededAt *time.Time `json:"succeeded_at"`
	LagS        float64    `json:"lag_s"`
}

func jobOf(j *jobs.Status) job {
	known := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return job{
		Job: j.Job, Schedule: j.Schedule, Next: known(j.Next), Running: j.Running, StartedAt: known(j.StartedAt), FinishedAt: known(j.FinishedAt),
		TookS: j.Took.Seconds(), Result: string(j.Result), Detail: j.Detail, SucceededAt: known(j.Succeeded), LagS: j.Lag.Seconds(),
	}
}

// query is what the parameters of a list ask for.
type query struct {
	r      *http.Request
	names  map[store.NodeID]string
	node   store.NodeID
	window domain.Window
	page   store.Page
}

func (q *query) text(name string) string { return q.r.URL.Query().Get(name) }

// mostListed bounds a page.
const mostListed = 1000

// parameters are those of lists. A mistyped one would ask for everything.
var parameters = []string{"node", "instance", "watch", "scope", "state", "from", "to", "limit", "after"}

func (s *site) query(r *http.Request) (*query, error) {
	q := &query{r: r}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // what cannot be read would be left out, and everything listed
		return nil, &requestError{"the query cannot be read: names and values are percent-encoded and parted by &"}
	}
	for name := range given {
		if !slices.Contains(parameters, name) {
			return nil, &requestError{"there is no such parameter: " + strings.Join(parameters, ", ")}
		}
	}
	if q.names, err = s.st.NodeNames(r.Context()); err != nil {
		return nil, err
	}
	if name := q.text("node"); name != "" {
		number, known := numberOf(q.names, name)
		if !known {
			return nil, &requestError{"node: there is none of that name: /api/v1/nodes lists them"}
		}
		q.node = number
	}
	for _, side := range []struct {
		name string
		to   *time.Time
	}{{"from", &q.window.From}, {"to", &q.window.To}} {
		text := q.text(side.name)
		if text == "" {
			continue
		}
		if *side.to, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, &requestError{side.name + ": want a time as 2026-11-30T09:00:00Z, or 2026-11-30T09:00:00%2B09:00"}
		}
	}
	q.page.After = store.Cursor(q.text("after"))
	if text := q.text("limit"); text != "" {
		if q.page.Limit, err = strconv.Atoi(text); err != nil || q.page.Limit < 1 || q.page.Limit > mostListed {
			return nil, &requestError{"limit: want a number from 1 to " + strconv.Itoa(mostListed)}
		}
	}
	return q, q.checked()
}

// checked refuses a scope or state that there is none of: an empty list would look
// like an answer.
func (q *query) checked() error {
	switch store.Scope(q.text("scope")) {
	case "", store.ScopeIncident, store.ScopeDay, store.ScopeWeek, store.ScopeAdHoc:
	default:
		return &requestError{"scope: want incident, day, week or adhoc"}
	}
	switch store.IncidentState(q.text("state")) {
	case "", store.IncidentOpen, store.IncidentDismissed:
	default:
		return &requestError{"state: want open or dismissed"}
	}
	if !q.window.From.IsZero() && !q.window.To.IsZero() && !q.window.From.Before(q.window.To) {
		return &requestError{"from is not before to"}
	}
	return nil
}

func cursor(c store.Cursor) *string {
	if c == "" {
		return nil
	}
	s := string(c)
	return &s
}
