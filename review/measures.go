package review

import "github.com/prometheus/client_golang/prometheus"

// Measures are what /metrics tells of reviews.
type Measures struct {
	reviewed *prometheus.CounterVec   // windows, by scope
	verdicts *prometheus.CounterVec   // by scope and verdict
	seconds  *prometheus.HistogramVec // a window took, by scope
	opened   prometheus.Counter       // incidents
}

// NewMeasures makes the metrics; without a registerer nobody reads them.
func NewMeasures(r prometheus.Registerer) *Measures {
	m := &Measures{
		reviewed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corewait_review_windows_total", Help: "Windows of a node that were reviewed.",
		}, []string{"scope"}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corewait_review_verdicts_total", Help: "Verdicts that were given, again after late data as well.",
		}, []string{"scope", "verdict"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "corewait_review_seconds", Help: "Time that the review of one window of a node took.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
		}, []string{"scope"}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "corewait_review_incidents_opened_total", Help: "Incidents that were opened.",
		}),
	}
	if r != nil {
		r.MustRegister(m.reviewed, m.verdicts, m.seconds, m.opened)
	}
	return m
}
