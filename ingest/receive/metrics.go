package receive

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/corewait/corewait/api"
)

// Codes of requests beside those of api.
const (
	codeStored    = "stored"
	codeDuplicate = "duplicate"
)

// metrics count what is received. None is by node: there may be thousands.
type metrics struct {
	requests                 *prometheus.CounterVec
	rows, body, decompressed prometheus.Counter
	retimed, outside         prometheus.Counter
	acknowledge, storing     prometheus.Histogram
}

// newMetrics makes and registers them; on a registry that is nil they only count.
func newMetrics(registry prometheus.Registerer, a *admission) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "corewait", Subsystem: "receive", Name: name, Help: help})
	}
	// From a millisecond to half a minute.
	seconds := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "corewait", Subsystem: "receive", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		})
	}
	gauge := func(name, help string, of func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "corewait", Subsystem: "receive", Name: name, Help: help}, of)
	}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "corewait", Subsystem: "receive", Name: "requests_total", Help: "Pushes by what was answered: stored, duplicate, or the code of an error.",
		}, []string{"code"}),
		rows:         counter("rows_total", "Rows, and readings that become part of rows, that were stored."),
		body:         counter("body_bytes_total", "Bytes of bodies, compressed."),
		decompressed: counter("decompressed_bytes_total", "Bytes of bodies, decompressed."),
		retimed:      counter("retimed_total", "Pushes that were timed by the service's clock since the node's was off."),
		outside:      counter("outside_retention_records_total", "Records that came too late to be kept, or from the future, and were declared as gaps."),
		acknowledge:  seconds("acknowledge_seconds", "From a request's header to its acknowledgement."),
		storing:      seconds("storing_seconds", "What the database took of it."),
	}
	for _, code := range []string{
		codeStored, codeDuplicate, string(api.CodeMalformed), string(api.CodeTooLarge), string(api.CodeUnusable), string(api.CodeUnauthorized), string(api.CodeRevoked),
		string(api.CodeUnsupported), string(api.CodeSlow), string(api.CodeBusy), string(api.CodeUnavailable),
	} {
		m.requests.WithLabelValues(code) // shown from the start, at 0
	}
	if registry == nil {
		return m, nil
	}
	var failed []error
	for _, c := range []prometheus.Collector{
		m.requests, m.rows, m.body, m.decompressed, m.retimed, m.outside, m.acknowledge, m.storing,
		gauge("in_flight", "Pushes that are worked on.", func() float64 {
			n, _ := a.load()
			return float64(n)
		}),
		gauge("in_flight_bytes", "Bytes of them.", func() float64 {
			_, bytes := a.load()
			return float64(bytes)
		}),
	} {
		failed = append(failed, registry.Register(c))
	}
	return m, errors.Join(failed...)
}

func (m *metrics) answered(code string) { m.requests.WithLabelValues(code).Inc() }

func (m *metrics) acknowledged(took time.Duration) { m.acknowledge.Observe(took.Seconds()) }
