package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/corewait/corewait/store"
)

// gathered lists the values of all metrics but of buckets: "name{job,result}".
func gathered(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.GetGauge() != nil:
				values[name] = m.GetGauge().GetValue()
			case m.GetCounter() != nil:
				values[name] = m.GetCounter().GetValue()
			case m.GetHistogram() != nil:
				values[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return values
}

// TestStatusAndMetricsOfBothProcesses: at 0:03:30 one process has run a job that
// went well at 0:01, 0:02 and 0:03, one that fails, and one that runs since 0:01.
// The other process has the same jobs and clock, and came later: it has run none.
func TestStatusAndMetricsOfBothProcesses(t *testing.T) {
	t.Parallel()
	var d diary
	fast(t, func(t *testing.T, s *store.Store, address string) {
		midnight := time.Now()
		b := newBlocked()
		list := []Job{b.job("long", "1-2 * * * *"), d.job("fine", "* * * * *"), {
			Name: "bad", Schedule: "*/2 * * * *", Deadline: time.Minute,
			Run: func(context.Context, time.Time) (string, error) {
				time.Sleep(3 * time.Second)
				return "", errors.New("disk full")
			},
		}}
		registries := []*prometheus.Registry{prometheus.NewPedanticRegistry(), prometheus.NewPedanticRegistry()}
		o := seldom()
		o.Registerer = registries[0]
		one := start(t, s, "one", o, list...)
		time.Sleep(3*time.Minute + 25*time.Second)
		o.Registerer = registries[1]
		two := start(t, openStore(t, address), "two", o, list...)
		time.Sleep(5 * time.Second)

		minute := func(n int) time.Time { return midnight.Add(time.Duration(n) * time.Minute).UTC() }
		want := []Status{
			{Job: "bad", Schedule: "*/2 * * * *", Next: minute(4), Tick: minute(2), Holder: "one", Result: store.JobFailed, Detail: "disk full", Lag: 90 * time.Second},
			{Job: "fine", Schedule: "* * * * *", Next: minute(4), Tick: minute(3), Holder: "one", Result: store.JobDone, Detail: "noted"},
			{Job: "long", Schedule: "1-2 * * * *", Next: minute(61), Running: true, Tick: minute(2), Holder: "one", Result: store.JobSkipped, Detail: "an earlier run is still under way in this process", Lag: 150 * time.Second},
		}
		byDatabase := cmpopts.IgnoreFields(Status{}, "StartedAt", "FinishedAt", "Took", "Succeeded") // its clock is another
		if diff := cmp.Diff(want, one.Status(), byDatabase); diff != "" {
			t.Errorf("one: want -, got +:\n%s", diff)
		}
		want[2].Running = false        // here
		want[2].Lag = 90 * time.Second // it does not see the run under way behind the tick that was skipped
		if diff := cmp.Diff(want, two.Status(), byDatabase); diff != "" {
			t.Errorf("two: want -, got +:\n%s", diff)
		}

		got := gathered(t, registries[0])
		if success := got["corewait_job_last_success_timestamp_seconds{fine}"]; success == 0 {
			t.Error("fine never went well")
		}
		delete(got, "corewait_job_last_success_timestamp_seconds{fine}") // by the database's clock
		wanted := map[string]float64{
			"corewait_job_lag_seconds{bad}": 90, "corewait_job_lag_seconds{fine}": 0, "corewait_job_lag_seconds{long}": 150,
			"corewait_job_duration_seconds{bad}": 1, "corewait_job_duration_seconds{fine}": 3,
			"corewait_job_runs_total{bad,failed}": 1, "corewait_job_runs_total{fine,done}": 3, "corewait_job_runs_total{long,skipped}": 1,
			"corewait_job_runs_total{bad,done}": 0, "corewait_job_runs_total{bad,skipped}": 0, "corewait_job_runs_total{fine,failed}": 0,
			"corewait_job_runs_total{fine,skipped}": 0, "corewait_job_runs_total{long,done}": 0, "corewait_job_runs_total{long,failed}": 0,
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("metrics of one: want -, got +:\n%s", diff)
		}
		if got := gathered(t, registries[1]); got["corewait_job_runs_total{fine,done}"] != 0 || got["corewait_job_last_success_timestamp_seconds{fine}"] == 0 {
			t.Errorf("metrics of two: %v", got)
		}

		close(b.letGo)
		if err := one.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if got := gathered(t, registries[0]); len(got) != 0 {
			t.Errorf("metrics of one that is stopped: %v", got)
		}
	})
}

func TestWrongJobsAndOptionsAreRefused(t *testing.T) {
	t.Parallel()
	run := func(context.Context, time.Time) (string, error) { return "", nil }
	fine := Job{Name: "fine", Schedule: "* * * * *", Deadline: time.Minute, Run: run}
	with := func(change func(*Job)) []Job { j := fine; change(&j); return []Job{fine, j} }
	twice := prometheus.NewRegistry()
	twice.MustRegister(newMetrics(nil))
	for name, c := range map[string]struct {
		holder string
		o      Options
		list   []Job
		want   string
	}{
		"no name":                {list: with(func(j *Job) { j.Name = "" }), want: "its name must have"},
		"a long name":            {list: with(func(j *Job) { j.Name = strings.Repeat("n", 201) }), want: "its name must have"},
		"a name twice":           {list: []Job{fine, fine}, want: "job fine: is there twice"},
		"nothing to run":         {list: with(func(j *Job) { j.Name, j.Run = "other", nil }), want: "job other: nothing to run"},
		"no deadline":            {list: with(func(j *Job) { j.Name, j.Deadline = "other", 0 }), want: "job other: deadline of 0s"},
		"an interval":            {list: with(func(j *Job) { j.Name, j.Schedule = "other", "@every 1m" }), want: `job other: schedule "@every 1m"`},
		"no holder":              {holder: " ", list: []Job{fine}, want: `holder ""`},
		"a long holder":          {holder: strings.Repeat("h", 201), list: []Job{fine}, want: "must have 1 to 200 bytes"},
		"leases hardly renewed":  {o: Options{Lease: time.Second, Renew: 600 * time.Millisecond}, want: "leases of 1s renewed each 600ms"},
		"metrics that are there": {o: Options{Registerer: twice}, want: "register metrics"},
	} {
		if c.holder == "" {
			c.holder = "one"
		}
		r := New(nil, strings.TrimSpace(c.holder), c.o)
		if err := r.Start(t.Context(), c.list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestHoldersDiffer(t *testing.T) {
	t.Parallel()
	if a, b := NewHolder(), NewHolder(); a == b || len(a) > longestName {
		t.Errorf("%s and %s", a, b)
	}
}
