package receive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/batches"
	"github.com/corewait/corewait/store"
)

// push answers one push.
func (r *Receiver) push(w http.ResponseWriter, req *http.Request) {
	begin := time.Now()
	ack, refused := r.take(w, req)
	if refused != nil {
		r.metrics.answered(string(refused.Code))
		switch refused.Code {
		case api.CodeUnauthorized, api.CodeRevoked, api.CodeUnsupported, api.CodeTooLarge, api.CodeSlow:
			w.Header().Set("Connection", "close") // what is left of the body is not waited for
		default:
		}
		_ = refused.Write(w) // who asked has gone
		return
	}
	code := codeStored
	if ack.GetDuplicate() {
		code = codeDuplicate
	}
	r.metrics.answered(code)
	body, err := proto.Marshal(ack)
	if err != nil { // no text of it is anything but UTF-8
		r.log.warn("acknowledgement cannot be written", 0, "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", api.MediaType)
	_, _ = w.Write(body) //nolint:gosec // protobuf, no page; it is stored: who does not hear of it sends it again
	r.metrics.acknowledged(time.Since(begin))
}

// take takes one push, or says why not.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request) (*corewaitv1.Acknowledgement, *api.Error) {
	received := r.options.Now()
	who, refused := r.authenticate(req)
	if refused != nil {
		return nil, refused
	}
	if refused := r.checkHeader(req); refused != nil {
		return nil, refused
	}
	if refused := r.admission.enter(who.key); refused != nil {
		return nil, refused
	}
	defer r.admission.leave(who.key)
	b, memory, refused := r.body(w, req, &who)
	defer r.admission.release(memory)
	if refused != nil {
		return nil, refused
	}
	p := pushed{node: who.node, bootID: b.GetBootId(), received: received}
	sent, err := api.ParseSentClock(req.Header.Get(api.ClockHeader))
	p.sent, p.known = sent, err == nil
	// What is stored is stored whether or not the agent waits for it.
	return r.store(context.WithoutCancel(req.Context()), b, p, &who)
}

// checkHeader holds a request to the media type and the bounds. What an
// intermediary may have changed on the way is not the batch's fault.
func (r *Receiver) checkHeader(req *http.Request) *api.Error {
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || media != api.MediaType || !strings.EqualFold(req.Header.Get("Content-Encoding"), api.ContentEncoding) {
		return &api.Error{Code: api.CodeUnsupported, Message: "want Content-Type " + api.MediaType + " and Content-Encoding " + api.ContentEncoding}
	}
	if req.ContentLength > r.options.Limits.Body {
		return &api.Error{Code: api.CodeTooLarge, Message: fmt.Sprintf("a body of %d bytes, at most %d are taken", req.ContentLength, r.options.Limits.Body)}
	}
	return nil
}

// body reads and decodes a body; memory is what it reserved, whatever becomes of it.
func (r *Receiver) body(w http.ResponseWriter, req *http.Request, who *credential) (b *corewaitv1.Batch, memory int64, refused *api.Error) {
	length := req.ContentLength
	if length < 0 {
		length = r.options.Limits.Body
	}
	if refused := r.admission.reserve(0, length); refused != nil {
		return nil, 0, refused
	}
	memory = length
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.options.BodyDeadline)) // a connection without deadlines is a test's
	compressed, err := r.decoder.Read(req.Body)
	_ = control.SetReadDeadline(time.Time{}) // that it expires while the batch is stored would end the request
	if err != nil {
		return nil, memory, r.refusal(err, who)
	}
	if len(compressed) == 0 { // a proxy that authenticates sends none at first: no agent does
		return nil, memory, &api.Error{Code: api.CodeSlow, Message: "the body is empty"}
	}
	r.metrics.body.Add(float64(len(compressed)))
	size, err := r.decoder.Size(compressed)
	if err != nil {
		return nil, memory, r.refusal(err, who)
	}
	if refused := r.admission.reserve(memory, size); refused != nil {
		return nil, memory, refused
	}
	memory += size
	r.metrics.decompressed.Add(float64(size))
	var full *api.Error
	b, err = r.decoder.Decode(compressed, func(cost int64) error {
		if full = r.admission.reserve(memory, cost); full != nil {
			return errFull
		}
		memory += cost
		return nil
	})
	if full != nil {
		return nil, memory, full
	}
	if err != nil {
		return nil, memory, r.refusal(err, who)
	}
	return b, memory, nil
}

// errFull ends the decoding of a batch that there is no room for now.
var errFull = errors.New("no room for the batch")

// refusal gives the answer to a body or a batch that is not taken.
func (r *Receiver) refusal(err error, who *credential) *api.Error {
	e := &api.Error{Message: err.Error()}
	wrong := new(batches.Error)
	switch {
	case errors.Is(err, api.ErrTooLarge):
		e.Code = api.CodeTooLarge
	case errors.Is(err, api.ErrMalformed):
		e.Code = api.CodeMalformed
	case errors.As(err, &wrong), errors.Is(err, store.ErrUnstorable):
		e.Code = api.CodeUnusable
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &api.Error{Code: api.CodeSlow, Message: fmt.Sprintf("the body did not come within %s", r.options.BodyDeadline)}
	default: // the connection broke: nobody reads the answer
		return &api.Error{Code: api.CodeSlow, Message: "the body did not come to its end"}
	}
	r.log.warn("batch refused", who.node, "code", e.Code, "why", e.Message)
	return e
}

// store keeps a batch.
func (r *Receiver) store(ctx context.Context, b *corewaitv1.Batch, p pushed, who *credential) (*corewaitv1.Acknowledgement, *api.Error) {
	clock, err := api.NewClock(b.GetClock())
	if err != nil {
		return nil, r.refusal(&batches.Error{Where: "batch", What: err.Error()}, who)
	}
	p.clock = clock
	t := r.timing(p)
	rows := store.NewBatch()
	if err := batches.Feed(b, t.at, rows); err != nil {
		return nil, r.refusal(err, who)
	}
	receipt := store.Receipt{Spool: [16]byte(b.GetSpoolId()), Sequence: int64(b.GetSequence())} //nolint:gosec // Feed has checked both
	if two := r.agents.pushed(p.node, receipt.Spool, p.received); two != nil {
		t.tellSpools(r, &p, receipt.Spool, two)
	}
	if err := t.addEvents(rows); err != nil {
		return nil, r.refusal(err, who)
	}
	stored, rows, refused := r.keep(ctx, b, &t, receipt, rows, who)
	if refused != nil {
		return nil, refused
	}
	if stored {
		r.metrics.rows.Add(float64(rows.Rows()))
	}
	if t.retimed {
		r.metrics.retimed.Inc()
	}
	for _, tell := range t.told {
		tell()
	}
	t.warnings = append(t.warnings, r.hostnameWarning(ctx, b, p.node)...)
	r.note(ctx, agentState(b, &p, &t, receipt), who)
	return &corewaitv1.Acknowledgement{Sequence: b.GetSequence(), Duplicate: !stored, Warnings: t.warnings}, nil
}

func (t *timing) addEvents(to *store.Batch) error {
	for _, e := range t.events {
		if err := to.NodeEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// tellSpools tells that two agents push for one node.
func (t *timing) tellSpools(r *Receiver, p *pushed, spool [16]byte, two *twoSpools) {
	detail := fmt.Sprintf("spools %s and %s push by turns: two agents with one node's credential, or a copied spool", hex.EncodeToString(spool[:4]), hex.EncodeToString(two.other[:4]))
	t.warnings = append(t.warnings, detail)
	if two.event {
		t.events = append(t.events, domain.NodeEvent{At: p.received.UTC().Truncate(time.Microsecond), Kind: domain.EventSpools, Subject: "agent", Detail: detail})
		t.told = append(t.told, func() { r.agents.tell(p.node, p.received) })
	}
	r.log.warn("two spools of one node", p.node, "detail", detail)
}

// hostnameWarning says where a node calls itself otherwise than its credential
// does: the first labels of both are compared.
func (r *Receiver) hostnameWarning(ctx context.Context, b *corewaitv1.Batch, node store.NodeID) []string {
	if b.GetHostname() == "" {
		return nil
	}
	name := r.nameOf(ctx, node)
	label := func(s string) string {
		s, _, _ = strings.Cut(s, ".")
		return s
	}
	if name == "" || strings.EqualFold(label(name), label(b.GetHostname())) {
		return nil
	}
	r.log.warn("node calls itself otherwise", node, "hostname", b.GetHostname(), "name", name)
	return []string{fmt.Sprintf("the node calls itself %.100q, its credential is that of %.100q", b.GetHostname(), name)}
}

// keep stores rows. Those that are older than what is kept, or in the future, become
// declared gaps, and the rest is stored.
func (r *Receiver) keep(ctx context.Context, b *corewaitv1.Batch, t *timing, receipt store.Receipt, rows *store.Batch, who *credential) (stored bool, kept *store.Batch, refused *api.Error) {
	stored, err := r.keeperPush(ctx, who.node, receipt, rows)
	if outside := new(store.OutsideRetentionError); errors.As(err, &outside) {
		in := newInside(outside.From, outside.To)
		if err := batches.Feed(b, t.at, in); err != nil {
			return false, nil, r.refusal(err, who)
		}
		if err := errors.Join(in.declare(), t.addEvents(in.Batch)); err != nil {
			return false, nil, r.refusal(err, who)
		}
		rows = in.Batch
		if stored, err = r.keeperPush(ctx, who.node, receipt, rows); err == nil && stored {
			r.metrics.outside.Add(float64(in.records))
			t.warnings = append(t.warnings, fmt.Sprintf("%d records are outside of what is kept (%s to %s) and are declared as gaps", in.records, outside.From.Format(time.RFC3339), outside.To.Format(time.RFC3339)))
			r.log.warn("records outside of what is kept are declared as gaps", who.node, "records", in.records)
		}
	}
	if err != nil {
		return false, nil, r.failure(err, who)
	}
	return stored, rows, nil
}

// keeperPush pushes under the deadline and notes how long it took.
func (r *Receiver) keeperPush(ctx context.Context, node store.NodeID, receipt store.Receipt, rows *store.Batch) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.PushDeadline)
	defer cancel()
	begin := time.Now()
	stored, err := r.keeper.Push(ctx, node, receipt, rows)
	took := time.Since(begin)
	r.metrics.storing.Observe(took.Seconds())
	r.admission.stored(took)
	return stored, err
}

// failure gives the answer to a batch that could not be stored.
func (r *Receiver) failure(err error, who *credential) *api.Error {
	switch state := sqlState(err); {
	case errors.Is(err, store.ErrUnstorable), strings.HasPrefix(state, "22"), strings.HasPrefix(state, "54"):
		// Data exception or a limit of the server: no attempt would fare better.
		r.log.warn("batch refused", who.node, "code", api.CodeUnusable, "why", err)
		return &api.Error{Code: api.CodeUnusable, Message: "the database cannot hold its values"}
	case errors.Is(err, context.DeadlineExceeded):
		r.log.warn("batch not stored in time", who.node, "error", err)
		return busy("the database took too long", 5*time.Second)
	}
	r.log.warn("batch cannot be stored", who.node, "error", err)
	return errAway()
}

// sqlState gives the SQLSTATE of the database's error (PostgreSQL documentation,
// Appendix A); "" where it is not its own.
func sqlState(err error) string {
	if of := interface{ SQLState() string }(nil); errors.As(err, &of) {
		return of.SQLState()
	}
	return ""
}

// agentState is what is written down of an agent.
func agentState(b *corewaitv1.Batch, p *pushed, t *timing, receipt store.Receipt) store.AgentState {
	s := store.AgentState{
		Node: p.node, Spool: receipt.Spool, Sequence: receipt.Sequence, BootID: b.GetBootId(), Version: b.GetAgentVersion(), Hostname: b.GetHostname(),
		SeenAt: p.received, ClockOffset: t.offset, Retimed: t.retimed,
	}
	last := b.GetClock()[len(b.GetClock())-1]
	s.Synchronized = last.Synchronized
	if us := last.GetErrorUs(); us >= 0 && us <= int64(24*time.Hour/time.Microsecond) {
		d := time.Duration(us) * time.Microsecond
		s.ClockError = &d
	}
	return s
}
