package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/store"
)

// What an agent of a test sends.
const (
	batchEvery      = 30 * time.Second                    // from the begin of one batch's samples to the next
	batchInterrupts = 10                                  // intervals of a batch, all in one row
	batchReadings   = 20                                  // of a thread in a batch, all in one row
	batchNewNames   = 4                                   // so many batches share a command and an interrupt line
	batchRecords    = batchInterrupts + batchReadings + 2 // one of devices and of the system
)

// pushPatience bounds one attempt: the service answers what it cannot store
// sooner.
const pushPatience = 40 * time.Second

// agent plays the agent of one node, whose batches a spool numbers from 1.
type agent struct {
	t      *testing.T
	name   string
	node   store.NodeID
	token  receive.Token // of a zero token nothing is shown
	spool  store.UUID
	boot   string
	begin  time.Time // of the first batch's samples
	client *http.Client
}

// newAgent makes an agent, its node and its token. Its samples begin ten days ago,
// just before midnight, so that they pass it soon.
func newAgent(t *testing.T, st *store.Store, name string) *agent {
	t.Helper()
	a := &agent{
		t: t, name: name, token: receive.NewToken(), spool: store.NewUUID(), boot: store.NewUUID().String(),
		begin: time.Now().UTC().Truncate(24 * time.Hour).Add(-10*24*time.Hour - 10*time.Minute),
	}
	var err error
	if a.node, err = st.Node(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := st.CreateToken(t.Context(), a.token.ID, a.node, a.token.Hash); err != nil {
		t.Fatal(err)
	}
	a.use(&http.Transport{})
	return a
}

// use makes the agent push over another transport.
func (a *agent) use(transport *http.Transport) {
	a.t.Cleanup(transport.CloseIdleConnections)
	a.client = &http.Client{Transport: transport, Timeout: pushPatience}
}

// at is when the samples of a batch begin.
func (a *agent) at(sequence int) time.Time {
	return a.begin.Add(time.Duration(sequence-1) * batchEvery)
}

// boottime gives the CLOCK_BOOTTIME of an instant: the node booted an hour before
// its first sample.
func (a *agent) boottime(t time.Time) int64 { return t.Sub(a.begin.Add(-time.Hour)).Microseconds() }

// batch makes a batch. Every attempt has the same rows but for one, which tells
// the attempts apart, as an agent's never do: rows of two attempts can then not
// hide behind one key.
func (a *agent) batch(sequence, attempt int) ([]byte, error) {
	e, at := api.NewEncoder(a.boottime), a.at(sequence)
	var failed []error
	for i := range batchInterrupts {
		from := at.Add(time.Duration(i) * time.Second)
		failed = append(failed, e.InterruptSample(&domain.InterruptSample{From: from, To: from.Add(time.Second), CPUs: []int{0, 1}, Counts: []int64{int64(sequence), int64(i)}}))
	}
	failed = append(failed, e.System(domain.SystemSample{At: at.Add(time.Second + time.Duration(attempt)*time.Microsecond), Interval: time.Second, RunQueue: 1}))
	// New lines and names again and again: a number that was remembered must exist.
	names := strconv.Itoa(sequence / batchNewNames)
	line := domain.Line{IRQ: names, Device: "ens3f0", Class: domain.ClassNetwork}
	failed = append(failed, e.DeviceSample(&domain.DeviceSample{From: at, To: at.Add(time.Second), Observed: time.Second, Gains: []domain.LineGain{{Line: line, Count: 1}}}))
	for i := range batchReadings {
		failed = append(failed, e.Placement(domain.Placement{At: at.Add(time.Duration(i) * 50 * time.Millisecond), TID: 1, Command: "thread" + a.name + "_" + names}))
	}
	for _, reading := range []time.Time{at, at.Add(batchEvery)} {
		e.ClockReading(a.boottime(reading), reading, nil, -1)
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	b := e.Batch()
	b.SpoolId, b.Sequence, b.BootId, b.Hostname, b.AgentVersion = a.spool[:], uint64(sequence), a.boot, a.name, "test"
	return api.Marshal(b)
}

// push makes one attempt. The error is an *api.Error where the service answered.
func (a *agent) push(ctx context.Context, to string, sequence, attempt int) (*corewaitv1.Acknowledgement, error) {
	body, err := a.batch(sequence, attempt)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to+api.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	request.Header.Set("Content-Type", api.MediaType)
	request.Header.Set("Content-Encoding", api.ContentEncoding)
	request.Header.Set(api.ClockHeader, api.SentClock{BootID: a.boot, BoottimeUS: a.boottime(now), UTCUS: now.UnixMicro()}.String())
	if a.token.Text != "" {
		request.Header.Set("Authorization", "Bearer "+a.token.Text)
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		if refused, ok := api.ReadError(answer); ok {
			return nil, refused
		}
		return nil, fmt.Errorf("status %d is not the service's own error", answer.StatusCode)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	ack := new(corewaitv1.Acknowledgement)
	if err := proto.Unmarshal(text, ack); err != nil {
		return nil, err
	}
	if ack.GetSequence() != uint64(sequence) {
		return nil, fmt.Errorf("batch %d was acknowledged as %d", sequence, ack.GetSequence())
	}
	return ack, nil
}

// mustPush pushes a batch that is taken at once, and as new.
func (a *agent) mustPush(to string, sequence int) {
	a.t.Helper()
	ack, err := a.push(a.t.Context(), to, sequence, 1)
	if err != nil {
		a.t.Fatalf("push %d of %s: %v", sequence, a.name, err)
	}
	if ack.GetDuplicate() || len(ack.GetWarnings()) > 0 {
		a.t.Fatalf("push %d of %s: duplicate %t, warnings %q", sequence, a.name, ack.GetDuplicate(), ack.GetWarnings())
	}
}

// sent is what became of a batch.
type sent struct {
	attempts     int
	acknowledged bool
	duplicate    bool // an earlier attempt had stored it, said the acknowledgement
}

// found is what the database holds of a batch.
type found struct {
	receipts, receiptRows, interrupts, intervals, devices, placements int
	attempts                                                          []int // that have a row
}

// stored is what the database is to hold of a batch that was stored by an attempt.
func stored(attempt int) found {
	return found{1, batchRecords, 1, batchInterrupts, 1, 1, []int{attempt}}
}

func (f *found) equal(other found) bool {
	return f.receipts == other.receipts && f.receiptRows == other.receiptRows && f.interrupts == other.interrupts && f.intervals == other.intervals &&
		f.devices == other.devices && f.placements == other.placements && slices.Equal(f.attempts, other.attempts)
}

func (f *found) rows() int { return f.interrupts + f.devices + f.placements + len(f.attempts) }

// find reads what is stored of batches 1 to n; element 0 is of none.
func (a *agent) find(conn *pgx.Conn, n int) []found {
	a.t.Helper()
	all := make([]found, n+1)
	rows, err := conn.Query(a.t.Context(), `
		SELECT 'receipt', seq, rows FROM receipts WHERE node_id = $1 AND spool_id = $2
		UNION ALL SELECT 'interrupt', 1 + floor(extract(epoch FROM at - $3) / $4)::int8, intervals FROM interrupt_samples WHERE node_id = $1
		UNION ALL SELECT 'device', 1 + floor(extract(epoch FROM at - $3) / $4)::int8, 0 FROM device_samples WHERE node_id = $1
		UNION ALL SELECT 'placement', 1 + floor(extract(epoch FROM at - $3) / $4)::int8, 0 FROM placement_samples WHERE node_id = $1
		UNION ALL SELECT 'system', 1 + floor(extract(epoch FROM at - $3) / $4)::int8, extract(microseconds FROM at)::int8 % 1000000 FROM system_samples WHERE node_id = $1`,
		a.node, [16]byte(a.spool), a.begin, batchEvery.Seconds())
	if err != nil {
		a.t.Fatal(err)
	}
	var kind string
	var sequence, value int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &sequence, &value}, func() error {
		if sequence < 1 || sequence > int64(n) {
			a.t.Errorf("%s: a %s row of batch %d, which was never sent", a.name, kind, sequence)
			return nil
		}
		all[sequence].add(kind, int(value))
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	for i := range all {
		slices.Sort(all[i].attempts)
	}
	return all
}

func (f *found) add(kind string, value int) {
	switch kind {
	case "receipt":
		f.receipts++
		f.receiptRows = value
	case "interrupt":
		f.interrupts++
		f.intervals += value
	case "device":
		f.devices++
	case "placement":
		f.placements++
	case "system":
		f.attempts = append(f.attempts, value)
	}
}

// connect opens a connection to the database past the service.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // the server may be gone
	return conn
}

// openStore opens the database past the service.
func openStore(t *testing.T, address string) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: address, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}
