// Package receive owns the endpoint that agents push to: who may push, how much at
// once, which clock a batch is timed by, and what is answered. It must not know
// how batches are kept (a Keeper does), nor who looks at them.
//
// A push is acknowledged after it was committed. It is refused for good (400, 413,
// 422) only where the same bytes would never be taken; an agent puts those aside.
// On everything else it keeps the batch and sends it again, so a wrong answer
// costs time and no data.
package receive

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/store"
)

// Keeper keeps what is received; *store.Store is one.
type Keeper interface {
	Token(ctx context.Context, id string) (store.Token, error)
	TouchToken(ctx context.Context, t store.Token) error
	Push(ctx context.Context, node store.NodeID, r store.Receipt, b *store.Batch) (stored bool, err error)
	NoteAgent(ctx context.Context, a store.AgentState) error
	Ping(ctx context.Context) error
}

// Options of a Receiver. What is zero has its usual value.
type Options struct {
	Log        *slog.Logger          // nil: nothing is logged
	Registerer prometheus.Registerer // nil: metrics are not registered
	Now        func() time.Time      // the service's clock; nil: time.Now

	Limits api.Limits // of one body
	// MaxInFlight and MaxInFlightBytes bound the pushes that are worked on at the
	// same time, and their bytes, decompressed ones included.
	MaxInFlight      int   // 64
	MaxInFlightBytes int64 // 256 MiB
	// PushesPerSecond bounds the pushes of one credential in the long run. An agent
	// sends one in ten seconds, and many where it catches up.
	PushesPerSecond float64 // 20

	BodyDeadline time.Duration // for a body to come; 15 s
	PushDeadline time.Duration // for a batch to be stored; 20 s
	// SlowPush is how long storing may take, for 95 % of the recent pushes, before
	// fewer are let in at the same time.
	SlowPush time.Duration // 5 s

	// MaxClockOffset is by how much a node's clock may differ from the service's
	// before samples are timed by the latter.
	MaxClockOffset time.Duration // 5 min
	// TokenCache is for how long a token is believed without asking the keeper, and
	// how long a revoked one may go on; at most 30 s.
	TokenCache time.Duration // 20 s

	// NodeOfCertificate gives the node that a client's certificate names. The
	// certificate was verified against the server's client CA. ErrNotFound of the
	// store refuses it. nil: certificates are not credentials.
	NodeOfCertificate func(ctx context.Context, c *x509.Certificate) (store.NodeID, error)
	// NameOfNode gives a node's name, to be compared with what the node calls
	// itself. nil: not compared.
	NameOfNode func(ctx context.Context, node store.NodeID) (string, error)
}

// longestTokenCache bounds how long a revoked token is still taken.
const longestTokenCache = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64
	}
	if o.MaxInFlightBytes <= 0 {
		o.MaxInFlightBytes = 256 << 20
	}
	if o.PushesPerSecond <= 0 {
		o.PushesPerSecond = 20
	}
	if o.Limits.Body <= 0 {
		o.Limits.Body = api.MaxBody
	}
	for d, usual := range map[*time.Duration]time.Duration{
		&o.BodyDeadline: 15 * time.Second, &o.PushDeadline: 20 * time.Second, &o.SlowPush: 5 * time.Second,
		&o.MaxClockOffset: 5 * time.Minute, &o.TokenCache: 20 * time.Second,
	} {
		if *d <= 0 {
			*d = usual
		}
	}
	o.TokenCache = min(o.TokenCache, longestTokenCache)
	return o
}

// Receiver is the endpoint: POST api.Path, GET /livez and /readyz.
type Receiver struct {
	keeper  Keeper
	options Options
	decoder *api.Decoder
	mux     *http.ServeMux
	metrics *metrics
	log     *limitedLog

	tokens       *tokenCache
	certificates *certificateCache
	admission    *admission
	anchors      anchors
	agents       agents
	names        nodeNames
	readiness    readiness
	draining     atomic.Bool
}

// New makes a Receiver. Close ends it.
func New(keeper Keeper, o Options) (*Receiver, error) {
	o = o.withDefaults()
	decoder, err := api.NewDecoder(o.Limits)
	if err != nil {
		return nil, err
	}
	r := &Receiver{
		keeper: keeper, options: o, decoder: decoder, mux: http.NewServeMux(),
		log: newLimitedLog(o.Log, o.Now), tokens: newTokenCache(keeper, o.TokenCache, o.Now),
		certificates: newCertificateCache(o.NodeOfCertificate, o.TokenCache, o.Now),
		admission:    newAdmission(&o),
	}
	if r.metrics, err = newMetrics(o.Registerer, r.admission); err != nil {
		decoder.Close()
		return nil, fmt.Errorf("register metrics of receive: %w", err)
	}
	r.mux.HandleFunc("POST "+api.Path, r.push)
	r.mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	r.mux.HandleFunc("GET /readyz", r.ready)
	return r, nil
}

// Close ends what the Receiver holds, once its server has ended.
func (r *Receiver) Close() { r.decoder.Close() }

// Drain lets /readyz say that the service stops, so that others send no more here;
// pushes are still taken.
func (r *Receiver) Drain() { r.draining.Store(true) }

// ServeHTTP answers a request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }
