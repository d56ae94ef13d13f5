// Package service puts corewait serve together: the database, the listener for
// agents, the listener for people, and the jobs; and takes it apart again without
// losing anything. It must not know what any of them does.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/corewait/corewait/ingest/receive"
	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// Options say what to run.
type Options struct {
	Config *config.Config
	// Reload reads the configuration again, when Hangup gives something.
	Reload  func() (*config.Config, error)
	Hangup  <-chan struct{}
	Version string
	Log     *slog.Logger
	// Level is what Log's handler logs from; a reload may change it. May be nil.
	Level *slog.LevelVar
	// RunAs is the user of a private database where the service is root's, as a demo
	// may be; else that is refused.
	RunAs string
	// Started is told, once, when requests are answered. May be nil.
	Started func(*Service)
}

// Service is a running service.
type Service struct {
	// Agents and People are where the listeners are: "https://127.0.0.1:7740".
	Agents, People string
	Store          *store.Store
	// Private is the address of a private database, which holds no secret; "" where
	// others run it.
	Private string
	// RunNow runs a job at once.
	RunNow func(ctx context.Context, job string) error
}

// stopPatience is for how long requests and jobs under way may go on when the
// service stops.
const stopPatience = 25 * time.Second

// Run runs the service until the context ends or a part of it fails. A push that
// was acknowledged is in the database; one that is under way when the service
// stops is waited for.
func Run(ctx context.Context, o Options) (err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &parts{o: o, registry: prometheus.NewRegistry(), failed: make(chan error, 4)}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(o.Version))
	defer func() { err = errors.Join(err, s.stop(context.WithoutCancel(ctx))) }()
	for _, begin := range []func(context.Context) error{s.openDatabase, s.startJobs, s.listen} {
		if err := begin(ctx); err != nil {
			return err
		}
	}
	if o.Started != nil {
		o.Started(&Service{Agents: s.agents.address(), People: s.people.address(), Store: s.store, Private: s.database.url, RunNow: s.runner.RunNow})
	}
	return s.wait(ctx)
}

// parts is what runs. Fields are nil until their part does.
type parts struct {
	o        Options
	registry *prometheus.Registry
	database *database
	store    *store.Store
	runner   *jobs.Runner
	receiver *receive.Receiver
	names    *names
	agents   *listener
	people   *listener
	stopping atomic.Bool

	reviewMeasures *review.Measures // of all reviews: a reload makes another one
	failed         chan error
}

// wait waits for the end: of the context, which is no failure, or of a part.
func (s *parts) wait(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			s.o.Log.InfoContext(ctx, "stopping")
			return nil
		case err := <-s.failed:
			return err
		case <-s.database.ended():
			return s.database.failure()
		case <-s.o.Hangup:
			if err := s.reload(ctx); err != nil {
				s.o.Log.ErrorContext(ctx, "configuration not reloaded: the one before stays", "error", err)
				continue
			}
			s.o.Log.InfoContext(ctx, "configuration reloaded")
		}
	}
}

// stop takes the parts apart in the order in which they need each other.
func (s *parts) stop(ctx context.Context) error {
	s.stopping.Store(true)
	if s.receiver != nil {
		s.receiver.Drain()
	}
	limited, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	var failed []error
	failed = append(failed, s.agents.stop(limited))
	if s.runner != nil {
		if err := s.runner.Stop(limited); err != nil { // no failure: their ticks are left to the next process
			s.o.Log.WarnContext(ctx, "runs were broken off and will be done again", "error", err)
		}
	}
	failed = append(failed, s.people.stop(limited))
	if s.receiver != nil {
		s.receiver.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.database != nil {
		failed = append(failed, s.database.stop(ctx))
	}
	return errors.Join(failed...)
}

// reload takes over what may change while the service runs: the jobs' schedules,
// the certificates and the log's level.
func (s *parts) reload(ctx context.Context) error {
	if s.o.Reload == nil {
		return errors.New("serve was started without --config: there is nothing to read again")
	}
	c, err := s.o.Reload()
	if err != nil {
		return err
	}
	list, err := s.jobs(c)
	if err != nil {
		return err
	}
	// All is read before anything changes.
	var take []func()
	for _, l := range []*listener{s.agents, s.people} {
		taken, err := l.reload()
		if err != nil {
			return err
		}
		take = append(take, taken)
	}
	if err := s.runner.Reschedule(list); err != nil {
		return err
	}
	for _, taken := range take {
		taken()
	}
	s.setLevel(c)
	if needs := s.o.Config.NeedsRestart(c); len(needs) > 0 {
		s.o.Log.WarnContext(ctx, "some changes need a restart", "keys", needs)
	}
	return nil
}

func (s *parts) setLevel(c *config.Config) {
	var level slog.Level
	if s.o.Level != nil && level.UnmarshalText([]byte(c.Log.Level)) == nil {
		s.o.Level.Set(level)
	}
}

// ready says why the service cannot do its work now.
func (s *parts) ready(ctx context.Context) error {
	if s.stopping.Load() {
		return errors.New("stopping")
	}
	return s.store.Ping(ctx)
}

// Names of the jobs.
const (
	JobReview     = "review"
	JobRetain     = "retain"
	JobPartitions = "partitions"
)

// Schedules gives the jobs' schedules by name; those that are off are left out.
func Schedules(c *config.Config) map[string]string {
	all := map[string]string{JobReview: c.Jobs.Review, JobRetain: c.Jobs.Retain, JobPartitions: c.Jobs.Partitions}
	for name, schedule := range all {
		if schedule == config.Off {
			delete(all, name)
		}
	}
	return all
}

func (s *parts) startJobs(ctx context.Context) error {
	s.runner = jobs.New(s.store, jobs.NewHolder(), jobs.Options{Log: s.o.Log, Registerer: s.registry})
	list, err := s.jobs(s.o.Config)
	if err != nil {
		return err
	}
	// A new database has no partitions, and none could be made from the night on.
	if err := s.store.CreatePartitions(ctx, time.Now(), time.Now().AddDate(0, 0, partitionDays)); err != nil {
		return err
	}
	return s.runner.Start(ctx, list)
}

// partitionDays is for how many days partitions are made ahead.
const partitionDays = 7

// jobs makes the jobs that a configuration asks for.
func (s *parts) jobs(c *config.Config) ([]jobs.Job, error) {
	o, err := reviewOptions(c)
	if err != nil {
		return nil, err
	}
	o.Log = s.o.Log
	if s.reviewMeasures == nil {
		s.reviewMeasures = review.NewMeasures(s.registry)
	}
	o.Measures = s.reviewMeasures
	r, err := review.New(s.store, o)
	if err != nil {
		return nil, err
	}
	policy := c.Retention.Policy()
	work := map[string]jobs.Job{
		JobReview: {Deadline: 15 * time.Minute, Run: func(ctx context.Context, _ time.Time) (string, error) {
			done, err := r.Run(ctx, time.Now())
			return done.String(), err
		}},
		JobRetain: {Deadline: time.Hour, Run: func(ctx context.Context, _ time.Time) (string, error) {
			dropped, err := s.store.Retain(ctx, policy, time.Now())
			return fmt.Sprintf("%d dropped", len(dropped)), err
		}},
		JobPartitions: {Deadline: 5 * time.Minute, Run: func(ctx context.Context, _ time.Time) (string, error) {
			now := time.Now()
			return fmt.Sprintf("to %s", now.AddDate(0, 0, partitionDays).UTC().Format(time.DateOnly)),
				s.store.CreatePartitions(ctx, now, now.AddDate(0, 0, partitionDays))
		}},
	}
	var list []jobs.Job
	for name, schedule := range Schedules(c) {
		job := work[name]
		job.Name, job.Schedule = name, schedule
		list = append(list, job)
	}
	return list, nil
}

// reviewOptions gives what a configuration says of the review.
func reviewOptions(c *config.Config) (review.Options, error) {
	o := review.DefaultOptions()
	zone, err := c.Review.Location()
	if err != nil {
		return o, fmt.Errorf("review.zone: %w", err)
	}
	o.Params.Threshold, o.Params.HeavyPerSecond = c.Review.Threshold, c.Review.HeavyPerSecond
	o.Watches, o.Zone, o.Settle, o.CurrentEvery = c.Review.Watch, zone, c.Review.Settle, c.Review.CurrentEvery
	o.Raw, o.IncidentGap, o.EvidenceCap, o.FDR = c.Retention.Raw, c.Review.IncidentGap, int64(c.Retention.EvidenceCap), c.Review.FDR
	return o, nil
}

func buildInfo(version string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "corewait_build_info", Help: "1, with the program's version.", ConstLabels: prometheus.Labels{"version": version},
	})
	g.Set(1)
	return g
}
