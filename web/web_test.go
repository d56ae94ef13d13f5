package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }

// site is a server on a store with one finding and one incident.
type site struct {
	t        *testing.T
	st       *store.Store
	url      string
	finding  store.UUID
	incident store.UUID
}

var at = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)

func newSite(t *testing.T, o web.Options) *site {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: testdb.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s := &site{t: t, st: st, incident: store.NewUUID()}
	node, err := st.Node(t.Context(), "db1")
	if err != nil {
		t.Fatal(err)
	}
	hour := domain.Window{From: at, To: at.Add(time.Hour)}
	f := &domain.Finding{Schema: domain.AnalysisSchema, Node: "db1", Instance: "ORDP1", Watch: "lgwr", Grade: "B", Verdict: domain.CauseInterrupts, Window: hour, Headline: "<b>76 of 89</b>"}
	var revision int
	if s.finding, revision, err = st.SaveFinding(t.Context(), node, store.ScopeDay, hour, f); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveFleetTest(t.Context(), node, s.finding, revision, store.FleetTest{P: 0.001, Q: 0.002, Tests: 2, Accepted: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateIncident(t.Context(), store.Incident{ID: s.incident, Node: node, Instance: "ORDP1", Watch: "lgwr", Window: hour, Stalls: 89}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.SaveIncidentFinding(t.Context(), node, s.incident, hour, f); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(st, o))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// get asks for a path, with a header of "Name: value" or none.
func (s *site) get(path, header string) (status int, body string, answer http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if name, value, given := strings.Cut(header, ": "); given {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// json asks for a document and gives the value at a path of keys and indices.
func (s *site) json(path string, at ...any) any {
	s.t.Helper()
	status, body, _ := s.get(path, "")
	if status != http.StatusOK {
		s.t.Fatalf("%s: status %d: %s", path, status, body)
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	for _, step := range at {
		switch key := step.(type) {
		case string:
			v = v.(map[string]any)[key]
		case int:
			v = v.([]any)[key]
		}
	}
	return v
}

func (s *site) want(want any, path string, at ...any) {
	s.t.Helper()
	if got := s.json(path, at...); got != want {
		s.t.Errorf("%s %v is %v, want %v", path, at, got, want)
	}
}

func TestFindingsAndIncidentsAreListedAndShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{Version: "1.2"})
	list := "/api/v1/findings?scope=day"
	s.want("corewait/findings/v1", list, "schema")
	s.want(s.finding.String(), list, "findings", 0, "id")
	s.want("db1", list, "findings", 0, "node")
	s.want("2026-11-29T10:00:00Z", list, "findings", 0, "window", "to")
	s.want(0.002, list, "findings", 0, "fleet", "q_value")
	s.want(nil, list, "findings", 0, "incident")
	s.want(nil, list, "next")
	s.want("corewait/analysis/v1", "/api/v1/findings/db1/"+s.finding.String(), "schema")
	s.want("<b>76 of 89</b>", "/api/v1/findings/db1/"+s.finding.String(), "headline")
	s.want(89.0, "/api/v1/incidents?state=open&node=db1&from=2026-11-29T09:30:00Z", "incidents", 0, "stalls")
	one := "/api/v1/incidents/" + s.incident.String()
	s.want("ORDP1", one, "nodes", 0, "instance")
	s.want(s.incident.String(), one, "findings", 0, "incident")
	s.want("db1", "/api/v1/nodes", "nodes", 0, "name")
}

func TestListsGoOnWhereAPageEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{})
	first := s.json("/api/v1/findings?limit=1", "findings", 0, "id")
	next, ok := s.json("/api/v1/findings?limit=1", "next").(string)
	if !ok {
		t.Fatal("no next page, of two findings")
	}
	if second := s.json("/api/v1/findings?limit=1&after="+next, "findings", 0, "id"); second == first {
		t.Error("the second page is the first")
	}
}

func TestRequestsThatCannotBeAnsweredSayWhy(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{})
	for path, want := range map[string]string{
		"/api/v1/findings?from=yesterday":                                        "400 from: want a time as 2026-11-30T09:00:00Z, or 2026-11-30T09:00:00%2B09:00",
		"/api/v1/findings?from=2026-11-30T09:00:00Z&to=2026-11-30T09:00:00Z":     "400 from is not before to",
		"/api/v1/findings?limit=1001":                                            "400 limit: want a number from 1 to 1000",
		"/api/v1/findings?scope=month":                                           "400 scope: want incident, day, week or adhoc",
		"/api/v1/incidents?state=closed":                                         "400 state: want open or dismissed",
		"/api/v1/findings?nod=db1":                                               "400 there is no such parameter: node, instance, watch, scope, state, from, to, limit, after",
		"/api/v1/findings?after=x":                                               "400 after: not the next of such a list",
		"/api/v1/findings?node=db9":                                              "400 node: there is none of that name: /api/v1/nodes lists them",
		"/api/v1/findings/db1/7":                                                 "404 not found",
		"/api/v1/incidents/" + store.NewUUID().String():                          "404 not found",
		"/api/v1/findings/db9/" + s.finding.String():                             "404 not found",
		"/api/v1/findings/..%2f..%2fetc/00000000-0000-0000-0000-000000000000":    "404 not found",
		"/api/v1/findings?node=" + strings.Repeat("x", 600) + "&instance=%00%ff": "400 node: there is none of that name: /api/v1/nodes lists them",
	} {
		status, body, _ := s.get(path, "")
		var e struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Errorf("%s: %v in %s", path, err, body)
			continue
		}
		if got := http.StatusText(status); want[:3] != strings.TrimSpace(itoa(status)) || e.Error.Message != want[4:] {
			t.Errorf("%s: %d %s: %s, want %s", path, status, got, e.Error.Message, want)
		}
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) } //nolint:errchkjson // a number

func TestReadersShowTheTokenWhereThereIsOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{Token: "correct horse battery staple"})
	for _, path := range []string{"/", "/metrics", "/api/v1/findings", "/api/v1/findings/db1/" + s.finding.String(), "/api/v1/incidents", "/api/v1/incidents/" + s.incident.String(), "/api/v1/nodes", "/api/v1/status", "/nowhere"} {
		for _, header := range []string{"", "Authorization: Bearer ", "Authorization: Bearer correct horse", "Authorization: correct horse battery staple "} {
			if status, body, _ := s.get(path, header); status != http.StatusUnauthorized || strings.Contains(body, "horse") {
				t.Errorf("%s with %q: status %d: %s", path, header, status, body)
			}
		}
	}
	if status, _, _ := s.get("/api/v1/findings", "Authorization: Bearer correct horse battery staple"); status != http.StatusOK {
		t.Errorf("with the token: status %d", status)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if status, _, _ := s.get(path, ""); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

func TestAPageOfAnotherOriginCannotReadByANameItResolvesItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{Hosts: []string{"corewait.example"}})
	for host, want := range map[string]int{
		"evil.example": 421, "127.0.0.1.evil.example:7741": 421, "": 200, "localhost:7741": 200, "127.0.0.1": 200, "[::1]:7741": 200, "corewait.example:443": 200, "10.1.2.3": 421,
	} {
		header := ""
		if host != "" {
			header = "Host: " + host
		}
		if status, _, _ := s.get("/api/v1/nodes", header); status != want {
			t.Errorf("host %q: status %d, want %d", host, status, want)
		}
	}
	_, _, h := s.get("/api/v1/nodes", "")
	if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", h)
	}
}

func TestNothingIsWrittenThroughIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{"/api/v1/findings", "/api/v1/incidents/" + s.incident.String(), "/", "/livez"} {
			r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, path, res.Status)
			}
		}
	}
}

func TestTheStateOfJobsAndTheDatabaseIsTold(t *testing.T) {
	t.Parallel()
	ready := errors.New("database is starting up")
	s := newSite(t, web.Options{
		Jobs: func() []jobs.Status {
			return []jobs.Status{{Job: "review", Schedule: "* * * * *", Result: store.JobFailed, Detail: "one\ttwo", Lag: 90 * time.Second}}
		},
		Ready: func(context.Context) error { return ready },
	})
	s.want("database is starting up", "/api/v1/status", "database")
	s.want(90.0, "/api/v1/status", "jobs", 0, "lag_s")
	s.want(nil, "/api/v1/status", "jobs", 0, "succeeded_at")
	if status, body, _ := s.get("/readyz", ""); status != http.StatusServiceUnavailable || strings.Contains(body, "starting") {
		t.Errorf("/readyz: %d %s", status, body)
	}
}
