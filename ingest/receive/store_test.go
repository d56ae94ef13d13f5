package receive_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// newAgent makes a node and its token.
func newAgent(t *testing.T, s *store.Store, node string) (store.NodeID, receive.Token) {
	t.Helper()
	id, err := s.Node(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	token := receive.NewToken()
	if err := s.CreateToken(t.Context(), token.ID, id, token.Hash); err != nil {
		t.Fatal(err)
	}
	return id, token
}

// samples takes the interrupt samples of a feed.
type samples struct {
	*store.Batch

	list []domain.InterruptSample
}

func (s *samples) InterruptSample(i *domain.InterruptSample) error {
	c := *i
	c.CPUs, c.Counts = append([]int(nil), i.CPUs...), append([]int64(nil), i.Counts...)
	s.list = append(s.list, c)
	return nil
}

func interruptsOf(t *testing.T, s *store.Store, node store.NodeID, from, to time.Time) []domain.InterruptSample {
	t.Helper()
	k := samples{Batch: store.NewBatch()}
	if err := s.Feed(t.Context(), store.Source{Node: node}, domain.Window{From: from, To: to}, &k); err != nil {
		t.Fatal(err)
	}
	return k.list
}

// wanted are the samples of sampled.
func wanted(end time.Time) []domain.InterruptSample {
	var all []domain.InterruptSample
	for s := range int64(10) {
		from := end.Add(time.Duration(s-10) * time.Second)
		all = append(all, domain.InterruptSample{From: from, To: from.Add(time.Second), CPUs: []int{0, 1}, Counts: []int64{s, 100 + s}})
	}
	return all
}

func eventsOf(t *testing.T, s *store.Store, node store.NodeID) []domain.NodeEvent {
	t.Helper()
	events, _, err := s.NodeEvents(t.Context(), store.Source{Node: node}, domain.Window{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestAPushIsStoredOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{NameOfNode: func(context.Context, store.NodeID) (string, error) { return "DB1", nil }})
	end := time.Now().UTC().Truncate(time.Microsecond)
	body := marshal(t, sampled(1, 7, end))
	for attempt := range 3 {
		req := s.request(token.Text, body)
		sentAt := time.Now()
		req.Header.Set(api.ClockHeader, api.SentClock{BootID: "0f3c8a52-5b7e-4a3e-9a55-1c7d2f60b9aa", BoottimeUS: hourUS + 10*secondUS + sentAt.Sub(end).Microseconds(), UTCUS: sentAt.UnixMicro()}.String())
		ack, refused := s.send(req)
		if refused != nil {
			t.Fatal(refused)
		}
		if ack.GetSequence() != 7 || ack.GetDuplicate() != (attempt > 0) || len(ack.GetWarnings()) != 0 {
			t.Errorf("attempt %d: %v", attempt, ack)
		}
	}
	if diff := cmp.Diff(wanted(end), interruptsOf(t, kept, node, end.Add(-time.Minute), end)); diff != "" {
		t.Errorf("-sent +stored:\n%s", diff)
	}
	states, _, err := kept.Agents(t.Context(), store.Page{})
	if err != nil || len(states) != 1 {
		t.Fatalf("%d agents, %v", len(states), err)
	}
	a := states[0]
	if a.Node != node || a.Sequence != 7 || a.Version != "1.0.0" || a.Hostname != "db1.example" || a.Synchronized == nil || !*a.Synchronized || a.Retimed ||
		a.ClockError == nil || *a.ClockError != 700*time.Microsecond || a.ClockOffset == nil || a.ClockOffset.Abs() > 10*time.Second {
		t.Errorf("agent %+v", a)
	}
	used, err := kept.Token(t.Context(), token.ID)
	if err != nil || used.LastUsedAt.IsZero() {
		t.Errorf("the use of the token was not noted: %+v, %v", used, err)
	}
	if stored, twice, rows := s.counted("corewait_receive_requests_total", "stored"), s.counted("corewait_receive_requests_total", "duplicate"), s.counted("corewait_receive_rows_total", ""); stored != 1 || twice != 2 || rows != 10 {
		t.Errorf("counted %v stored, %v duplicate, %v rows, want 1, 2, 10", stored, twice, rows)
	}
	if s.counted("corewait_receive_in_flight", "") != 0 || s.counted("corewait_receive_in_flight_bytes", "") != 0 {
		t.Error("something is still in flight")
	}
}

func TestTheNodeIsThatOfTheCredentialWhateverItCallsItself(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db7")
	s := serve(t, kept, receive.Options{NameOfNode: func(context.Context, store.NodeID) (string, error) { return "db7", nil }})
	end := time.Now().UTC().Truncate(time.Microsecond)
	ack, refused := s.send(s.request(token.Text, marshal(t, sampled(1, 1, end))))
	if refused != nil {
		t.Fatal(refused)
	}
	if all := strings.Join(ack.GetWarnings(), "\n"); !strings.Contains(all, `calls itself "db1.example", its credential is that of "db7"`) || !strings.Contains(all, "Corewait-Clock is missing") {
		t.Errorf("warnings %q", all)
	}
	if n := len(interruptsOf(t, kept, node, end.Add(-time.Minute), end)); n != 10 {
		t.Errorf("%d samples of the credential's node", n)
	}
}

func TestACertificateNamesTheNode(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{NodeOfCertificate: func(ctx context.Context, c *x509.Certificate) (store.NodeID, error) {
		if c.Subject.CommonName != "db1" {
			return 0, fmt.Errorf("node %s: %w", c.Subject.CommonName, store.ErrNotFound)
		}
		return kept.Node(ctx, c.Subject.CommonName)
	}})
	end := time.Now().UTC().Truncate(time.Microsecond)
	push := func(certificate *tls.Certificate, token string, n uint64) *api.Error {
		client := s.clientWith()
		if certificate != nil {
			client = s.clientWith(*certificate)
		}
		_, refused := s.sendBy(client, s.request(token, marshal(t, sampled(1, n, end.Add(time.Duration(n)*10*time.Second)))))
		return refused
	}
	ours, unknown := s.authority.client("db1"), s.authority.client("db9")
	if refused := push(&ours, "", 1); refused != nil {
		t.Errorf("a certificate of the node: %v", refused)
	}
	if refused := push(&unknown, "", 2); refused == nil || refused.Code != api.CodeUnauthorized {
		t.Errorf("a certificate of a node that is not known: %v", refused)
	}
	if refused := push(nil, "", 3); refused == nil || refused.Code != api.CodeUnauthorized {
		t.Errorf("no certificate: %v", refused)
	}
	if refused := push(&ours, "nobody."+strings.Repeat("A", 43), 4); refused == nil || refused.Code != api.CodeUnauthorized {
		t.Errorf("a wrong token beside a certificate: %v", refused)
	}
	if refused := push(&unknown, token.Text, 5); refused != nil {
		t.Errorf("a token beside a certificate: %v", refused)
	}
	foreign := newAuthority(t).client("db1")
	req := s.request("", marshal(t, sampled(1, 6, end)))
	if response, err := s.clientWith(foreign).Do(req); err == nil {
		response.Body.Close()
		t.Errorf("a certificate of another authority was taken with status %d", response.StatusCode)
	}
	if n := len(interruptsOf(t, kept, node, end, end.Add(time.Hour))); n != 20 { // pushes 1 and 5
		t.Errorf("%d samples stored, want 20", n)
	}
}

// The node's clock is two hours fast, and the push came from its boot of an hour
// and ten seconds ago.
func TestSamplesUnderAWrongClockAreTimedByTheServices(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	now := &clock{now: time.Now().UTC().Truncate(time.Microsecond)}
	s := serve(t, kept, receive.Options{Now: now.Now})
	push := func(b *corewaitv1.Batch, sent api.SentClock) *corewaitv1.Acknowledgement {
		t.Helper()
		req := s.request(token.Text, marshal(t, b))
		req.Header.Set(api.ClockHeader, sent.String())
		ack, refused := s.send(req)
		if refused != nil {
			t.Fatal(refused)
		}
		return ack
	}
	end := now.Now()
	fast := end.Add(2 * time.Hour)
	b := sampled(1, 1, fast)
	ack := push(b, api.SentClock{BootID: b.GetBootId(), BoottimeUS: hourUS + 10*secondUS, UTCUS: fast.UnixMicro()})
	if len(ack.GetWarnings()) != 1 || !strings.Contains(ack.GetWarnings()[0], "was off by 2h0m0s: samples are timed by the service's clock") {
		t.Errorf("warnings %q", ack.GetWarnings())
	}
	// The next ten seconds; this push was 300 ms longer on its way.
	next := sampled(1, 2, fast.Add(10*time.Second))
	for _, i := range next.GetInterrupts() {
		i.FromUs, i.ToUs = i.GetFromUs()+10*secondUS, i.GetToUs()+10*secondUS
	}
	next.Clock[0].BoottimeUs += 10 * secondUS
	now.pass(10*time.Second + 300*time.Millisecond)
	push(next, api.SentClock{BootID: b.GetBootId(), BoottimeUS: hourUS + 20*secondUS, UTCUS: fast.Add(10 * time.Second).UnixMicro()})
	// The clock is set right; what was sampled before still comes with wrong times.
	spooled := sampled(1, 3, fast.Add(20*time.Second))
	for _, i := range spooled.GetInterrupts() {
		i.FromUs, i.ToUs = i.GetFromUs()+20*secondUS, i.GetToUs()+20*secondUS
	}
	spooled.Clock[0].BoottimeUs += 20 * secondUS
	now.pass(time.Hour)
	ack = push(spooled, api.SentClock{BootID: b.GetBootId(), BoottimeUS: 2*hourUS + 20*secondUS, UTCUS: now.Now().UnixMicro()})
	if len(ack.GetWarnings()) != 1 || !strings.Contains(ack.GetWarnings()[0], "samples are timed by the service's clock") {
		t.Errorf("warnings %q", ack.GetWarnings())
	}
	want := slices.Concat(wanted(end), wanted(end.Add(10*time.Second)), wanted(end.Add(20*time.Second)))
	if diff := cmp.Diff(want, interruptsOf(t, kept, node, end.Add(-time.Minute), end.Add(time.Minute))); diff != "" {
		t.Errorf("-want +stored:\n%s", diff)
	}
	events := []domain.NodeEvent{{At: end, Kind: "clock-step", Subject: "clock", Detail: "off by 2h0m0s: samples are timed by the service's clock"}}
	if diff := cmp.Diff(events, eventsOf(t, kept, node)); diff != "" {
		t.Errorf("events: -want +stored:\n%s", diff)
	}
	states, _, err := kept.Agents(t.Context(), store.Page{})
	if err != nil || len(states) != 1 || !states[0].Retimed || *states[0].ClockOffset != 0 {
		t.Errorf("agents %+v, %v", states, err)
	}
	if n := s.counted("corewait_receive_retimed_total", ""); n != 3 {
		t.Errorf("counted %v retimed, want 3", n)
	}
}

func TestWhatComesTooLateBecomesADeclaredGap(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{})
	old := time.Now().UTC().Truncate(time.Microsecond).Add(-20 * 24 * time.Hour)
	late := sampled(1, 1, old)
	late.Gaps = []*corewaitv1.Gap{{Source: "placement", Reason: "backed-off", FromUs: hourUS, ToUs: hourUS + secondUS}}
	late.Watched = []*corewaitv1.Watched{{FromUs: hourUS, Command: "ora_lgwr_A", Pid: 5}}
	for attempt := range 2 {
		ack, refused := s.send(s.request(token.Text, marshal(t, late)))
		if refused != nil {
			t.Fatal(refused)
		}
		if ack.GetDuplicate() != (attempt == 1) {
			t.Errorf("attempt %d: duplicate %v", attempt, ack.GetDuplicate())
		}
		if all := strings.Join(ack.GetWarnings(), "\n"); strings.Contains(all, "10 records are outside of what is kept") != (attempt == 0) {
			t.Errorf("attempt %d: warnings %q", attempt, all)
		}
	}
	gaps, _, err := kept.Gaps(t.Context(), store.Source{Node: node}, domain.Window{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	from := old.Add(-10 * time.Second)
	want := []domain.Gap{
		{Source: "interrupts", From: from, To: old, Reason: "outside-retention"},
		{Source: "placement", From: from, To: from.Add(time.Second), Reason: "backed-off"},
	}
	var got []domain.Gap
	for _, g := range gaps {
		got = append(got, g.Gap)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +stored:\n%s", diff)
	}
	if events := eventsOf(t, kept, node); len(events) != 1 || events[0].Kind != "watch-started" {
		t.Errorf("events %v", events)
	}
}

// A batch of an earlier boot cannot be timed anew: what its clock says of the
// future is not kept.
func TestAWrongClockOfAnEarlierBootIsFlagged(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{})
	future := time.Now().UTC().Add(30 * 24 * time.Hour)
	req := s.request(token.Text, marshal(t, sampled(1, 1, future)))
	req.Header.Set(api.ClockHeader, api.SentClock{BootID: "another", BoottimeUS: secondUS, UTCUS: future.UnixMicro()}.String())
	ack, refused := s.send(req)
	if refused != nil {
		t.Fatal(refused)
	}
	if all := strings.Join(ack.GetWarnings(), "\n"); !strings.Contains(all, "samples of an earlier boot keep the times") || !strings.Contains(all, "10 records are outside") {
		t.Errorf("warnings %q", all)
	}
	if events := eventsOf(t, kept, node); len(events) != 1 || events[0].Kind != domain.EventClockStep {
		t.Errorf("events %v", events)
	}
}

func TestTwoSpoolsThatPushByTurnsAreToldAndOneThatTakesOverIsNot(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{})
	end := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	for i, c := range []struct {
		spool byte
		warns bool
	}{{1, false}, {1, false}, {2, false}, {2, false}, {1, true}, {2, true}, {2, false}} {
		end = end.Add(10 * time.Second)
		ack, refused := s.send(s.request(token.Text, marshal(t, sampled(c.spool, uint64(i+1), end))))
		if refused != nil {
			t.Fatal(refused)
		}
		if warns := strings.Contains(strings.Join(ack.GetWarnings(), "\n"), "push by turns"); warns != c.warns {
			t.Errorf("push %d: warnings %q", i, ack.GetWarnings())
		}
	}
	if events := eventsOf(t, kept, node); len(events) != 1 || events[0].Kind != domain.EventSpools {
		t.Errorf("events %v, want one", events)
	}
}

// The database is killed: pushes are refused for now, none is taken for stored.
// What was refused is stored when it is sent again.
func TestWhileTheDatabaseIsAwayNothingIsAcknowledged(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, testdb.Options{})
	if err := store.MigrateUp(t.Context(), server.URL(), store.MigrateOptions{Timescale: store.TimescaleOff}); err != nil {
		t.Fatal(err)
	}
	kept := open(t, server.URL())
	node, token := newAgent(t, kept, "db1")
	s := serve(t, kept, receive.Options{})
	end := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	push := func(n int) *api.Error {
		_, refused := s.send(s.request(token.Text, marshal(t, sampled(1, uint64(n), end.Add(time.Duration(n)*10*time.Second)))))
		return refused
	}
	if refused := push(1); refused != nil {
		t.Fatal(refused)
	}
	if status, text := s.get("/readyz"); status != 200 {
		t.Errorf("readyz: %d %s", status, text)
	}
	server.Kill9()
	if refused := push(2); refused == nil || refused.Code != api.CodeUnavailable || refused.RetryAfter <= 0 {
		t.Errorf("while the database is away: %v", refused)
	}
	deadline := time.Now().Add(30 * time.Second)
	for status := 200; status == 200; {
		if status, _ = s.get("/readyz"); time.Now().After(deadline) {
			t.Fatal("readyz does not tell that the database is away")
		}
	}
	if status, text := s.get("/livez"); status != 200 || text != "ok\n" {
		t.Errorf("livez: %d %q", status, text)
	}
	server.Restart()
	for push(2) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the push is not taken after the database came back")
		}
	}
	if n := len(interruptsOf(t, kept, node, end, end.Add(time.Hour))); n != 20 {
		t.Errorf("%d samples stored, want 20", n)
	}
	s.receiver.Drain()
	if status, text := s.get("/readyz"); status != 503 || text != "the service stops\n" {
		t.Errorf("readyz while the service stops: %d %q", status, text)
	}
}

// 40 agents push at the same time, each of its batches twice: all of it is stored,
// once.
func TestManyAgentsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	kept := open(t, testdb.New(t))
	const agents, pushes = 40, 5
	s := serve(t, kept, receive.Options{})
	end := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	nodes := make([]store.NodeID, agents)
	failed := make([]error, agents)
	var all sync.WaitGroup
	for i := range agents {
		node, token := newAgent(t, kept, fmt.Sprint("db", i))
		nodes[i] = node
		all.Go(func() {
			for n := 1; n <= pushes; n++ {
				body := marshal(t, sampled(byte(i), uint64(n), end.Add(time.Duration(n)*10*time.Second)))
				for sent := 0; sent < 2; {
					ack, refused := s.send(s.request(token.Text, body))
					switch {
					case refused == nil:
						if ack.GetDuplicate() != (sent == 1) {
							failed[i] = errors.Join(failed[i], fmt.Errorf("push %d sent %d times: duplicate %v", n, sent, ack.GetDuplicate()))
						}
						sent++
					case refused.Code != api.CodeBusy:
						failed[i] = errors.Join(failed[i], refused)
						return
					}
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	for i, node := range nodes {
		if n := len(interruptsOf(t, kept, node, end, end.Add(time.Hour))); n != 10*pushes {
			t.Errorf("agent %d: %d samples stored, want %d", i, n, 10*pushes)
		}
	}
	if rows := s.counted("corewait_receive_rows_total", ""); rows != 10*pushes*agents {
		t.Errorf("counted %v rows, want %d", rows, 10*pushes*agents)
	}
}
