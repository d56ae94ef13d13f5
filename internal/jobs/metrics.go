package jobs

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/corewait/corewait/store"
)

// metrics are those of a Runner. What counts runs is of this process; the state
// of jobs is that of all processes.
type metrics struct {
	runner    *Runner
	success   *prometheus.Desc
	lag       *prometheus.Desc
	durations *prometheus.HistogramVec
	runs      *prometheus.CounterVec
}

func newMetrics(r *Runner) *metrics {
	label := []string{"job"}
	return &metrics{
		runner: r,
		success: prometheus.NewDesc("corewait_job_last_success_timestamp_seconds",
			"When the job's newest run that went well ended, in any process.", label, nil),
		lag: prometheus.NewDesc("corewait_job_lag_seconds",
			"Now minus the job's first tick due that has not been done; 0 where all were.", label, nil),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "corewait_job_duration_seconds", Help: "How long runs of the job took in this process.",
			Buckets: []float64{.01, .1, .5, 1, 5, 15, 60, 300, 900, 3600},
		}, label),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "corewait_job_runs_total", Help: "Ticks of the job that this process saw to, by result.",
		}, []string{"job", "result"}),
	}
}

func (m *metrics) register() error {
	if m.runner.o.Registerer == nil {
		return nil
	}
	if err := m.runner.o.Registerer.Register(m); err != nil {
		return fmt.Errorf("jobs: register metrics: %w", err)
	}
	return nil
}

func (m *metrics) unregister() {
	if m.runner.o.Registerer != nil {
		m.runner.o.Registerer.Unregister(m)
	}
}

// expect makes the counters of a job begin at zero, so that the first failure is
// a rise.
func (m *metrics) expect(job string) {
	for _, result := range []store.JobResult{store.JobDone, store.JobFailed, store.JobSkipped} {
		m.runs.WithLabelValues(job, string(result))
	}
}

func (m *metrics) took(job string, took time.Duration) {
	m.durations.WithLabelValues(job).Observe(took.Seconds())
}

func (m *metrics) ended(job string, result store.JobResult) {
	m.runs.WithLabelValues(job, string(result)).Inc()
}

// Describe is prometheus.Collector's.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.success
	to <- m.lag
	m.durations.Describe(to)
	m.runs.Describe(to)
}

// Collect is prometheus.Collector's.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, s := range m.runner.Status() {
		to <- prometheus.MustNewConstMetric(m.lag, prometheus.GaugeValue, s.Lag.Seconds(), s.Job)
		if !s.Succeeded.IsZero() {
			to <- prometheus.MustNewConstMetric(m.success, prometheus.GaugeValue, float64(s.Succeeded.UnixMilli())/1000, s.Job)
		}
	}
	m.durations.Collect(to)
	m.runs.Collect(to)
}
