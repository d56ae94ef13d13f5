package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/store"
)

// agent gathers what a node recorded, minute by minute, and pushes it.
type agent struct {
	ingest.IntervalSink // refuses readings of counters

	to, token string
	node      string
	booted    time.Time
	minutes   map[int64]*api.Encoder
	client    *http.Client
}

// newAgent makes an agent of the scenario's node with a token of its own.
func newAgent(ctx context.Context, s *service.Service, scenario refcase.Scenario) (*agent, error) {
	id, err := s.Store.Node(ctx, scenario.Node)
	if err != nil {
		return nil, err
	}
	token := receive.NewToken()
	if err := s.Store.CreateToken(ctx, token.ID, id, token.Hash); err != nil {
		return nil, err
	}
	return &agent{
		to: s.Agents + api.Path, token: token.Text, node: scenario.Node,
		booted: scenario.Start.Add(-30 * 24 * time.Hour).UTC(), minutes: map[int64]*api.Encoder{},
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}},
	}, nil
}

// of gives the batch that a record of an instant belongs to.
func (a *agent) of(t time.Time) *api.Encoder {
	minute := t.Unix() / 60
	if t.Second() == 0 && t.Nanosecond() == 0 {
		minute-- // what ends with a minute belongs to it
	}
	if a.minutes[minute] == nil {
		a.minutes[minute] = api.NewEncoder(a.boottime)
	}
	return a.minutes[minute]
}

// boottime gives the CLOCK_BOOTTIME of an instant, in microseconds.
func (a *agent) boottime(t time.Time) int64 { return t.Sub(a.booted).Microseconds() }

// What a node's agent sends.

func (a *agent) InterruptSample(s *domain.InterruptSample) error {
	return a.of(s.To).InterruptSample(s)
}
func (a *agent) DeviceSample(s *domain.DeviceSample) error   { return a.of(s.To).DeviceSample(s) }
func (a *agent) SoftirqSample(s *domain.SoftirqSample) error { return a.of(s.To).SoftirqSample(s) }
func (a *agent) CPU(s domain.CPUSample) error                { return a.of(s.At).CPU(s) }
func (a *agent) System(s domain.SystemSample) error          { return a.of(s.At).System(s) }
func (a *agent) Disk(s domain.DiskSample) error              { return a.of(s.At).Disk(s) }
func (a *agent) Placement(p domain.Placement) error          { return a.of(p.At).Placement(p) }
func (a *agent) Gap(g domain.Gap) error                      { return a.of(g.From).Gap(g) }

// Topology comes at the start, as an agent sends it.
func (a *agent) Topology(t domain.Topology) error {
	first := slices.Min(slices.Collect(maps.Keys(a.minutes)))
	return a.minutes[first].TopologyFrom(time.Unix(first*60, 0).UTC(), t)
}

// push sends the minutes in order. It gives how many there were and their bytes.
func (a *agent) push(ctx context.Context) (minutes, size int, err error) {
	spool := store.NewUUID()
	boot := store.NewUUID().String()
	defer a.client.CloseIdleConnections()
	for i, minute := range slices.Sorted(maps.Keys(a.minutes)) {
		e := a.minutes[minute]
		for _, at := range []time.Time{time.Unix(minute*60, 0), time.Unix(minute*60+60, 0)} {
			synchronized := true
			e.ClockReading(a.boottime(at), at, &synchronized, time.Millisecond)
		}
		b := e.Batch()
		b.SpoolId, b.Sequence, b.BootId, b.Hostname, b.AgentVersion = spool[:], uint64(i+1), boot, a.node, "demo"
		body, err := api.Marshal(b)
		if err != nil {
			return minutes, size, err
		}
		if err := a.send(ctx, boot, body); err != nil {
			return minutes, size, err
		}
		minutes++
		size += len(body)
	}
	return minutes, size, nil
}

func (a *agent) send(ctx context.Context, boot string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	now := time.Now()
	clock := api.SentClock{BootID: boot, BoottimeUS: a.boottime(now), UTCUS: now.UnixMicro()}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", api.MediaType)
	r.Header.Set("Content-Encoding", api.ContentEncoding)
	r.Header.Set(api.ClockHeader, clock.String())
	answer, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, api.MaxBody))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("a push was answered by %s: %.200s", answer.Status, text)
	}
	var ack corewaitv1.Acknowledgement
	return proto.Unmarshal(text, &ack)
}

// apart sends what Oracle says to one sink and what the host says to another.
type apart struct {
	ingest.Sink

	oracle ingest.Sink
}

func (a *apart) Wait(w domain.Wait) error                    { return a.oracle.Wait(w) }
func (a *apart) Histogram(h *domain.HistogramSnapshot) error { return a.oracle.Histogram(h) }
func (a *apart) SystemEvent(e domain.SystemEvent) error      { return a.oracle.SystemEvent(e) }
func (a *apart) Counter(c domain.Counter) error              { return a.oracle.Counter(c) }
func (a *apart) Instance(i domain.Instance) error            { return a.oracle.Instance(i) }
