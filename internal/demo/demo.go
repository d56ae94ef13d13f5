// Package demo runs the whole of corewait on the reference case, on one machine
// and for a look: a private database, the service, an agent's pushes through the
// real endpoint, an import of Oracle's rows, and the review.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/doctor"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/store"
)

// Options say how the demo runs.
type Options struct {
	Version string
	// Once ends it after the finding; else it serves until the context ends.
	Once bool
	// Agents and People are where it listens; ":0" of loopback where empty.
	Agents, People string
	Log            *slog.Logger
	// Say is told, in a line, what was done. Found is given the finding.
	Say   func(format string, args ...any)
	Found func(*analysis.Result) error
}

// anyPort is a port that is free.
const anyPort = "127.0.0.1:0"

// Run runs the demo. Its data is in a temporary folder, and goes with it. The error
// wraps embedded.ErrNoBinaries where there is no PostgreSQL on the machine.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "corewait-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := config.Defaults()
	c.Embedded.Dir = filepath.Join(dir, "postgres")
	c.Agents.Listen, c.People.Listen = orAny(o.Agents), orAny(o.People)
	runAs := ""
	if os.Geteuid() == 0 {
		// PostgreSQL refuses root, and its user must pass through to its own folder.
		runAs = "nobody"
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // as said
			return err
		}
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	started := make(chan *service.Service, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(serving, service.Options{
			Config: c, Version: o.Version, Log: o.Log, RunAs: runAs, Started: func(s *service.Service) { started <- s },
		})
	}()
	select {
	case err := <-ended:
		return err
	case s := <-started:
		o.Say("started a private PostgreSQL, the listener for agents on %s and the listener for people on %s", s.Agents, s.People)
		failed := play(ctx, s, dir, &o)
		if failed == nil {
			examine(ctx, s, c, &o)
		}
		if failed == nil && !o.Once {
			o.Say("serving until Ctrl-C: %s/api/v1/incidents  %s/api/v1/findings  %s/metrics", s.People, s.People, s.People)
			select {
			case <-ctx.Done():
			case err := <-ended:
				return err
			}
		}
		stop()
		return errors.Join(failed, <-ended)
	}
}

// examine has the doctor look at the demo's service.
func examine(ctx context.Context, s *service.Service, c *config.Config, o *Options) {
	o.Say("corewait doctor on it:")
	checks := doctor.Examine(ctx, doctor.Options{
		Address: s.Private, Schedules: service.Schedules(c), Raw: c.Retention.Raw, MaxClockOffset: c.Agents.MaxClockOffset, Now: time.Now,
		Open: func(ctx context.Context) (*store.Store, error) {
			return store.Open(ctx, store.Options{URL: s.Private})
		},
	})
	for _, check := range checks {
		o.Say("  %-4s  %s: %s", check.State, check.Name, check.Text)
	}
}

func orAny(address string) string {
	if address == "" {
		return anyPort
	}
	return address
}

// play has the reference case happen.
func play(ctx context.Context, s *service.Service, dir string, o *Options) error {
	scenario := refcase.Reference()
	// The last hour that the review takes for settled.
	scenario.Start = time.Now().UTC().Add(-3 * time.Minute).Truncate(time.Hour).Add(-time.Hour)
	rows := filepath.Join(dir, scenario.Node)
	writer, err := refcase.NewFileWriter(rows, scenario)
	if err != nil {
		return err
	}
	agent, err := newAgent(ctx, s, scenario)
	if err != nil {
		return errors.Join(err, writer.Close())
	}
	intervals := series.NewIntervals(agent)
	_, err = scenario.Generate(&apart{Sink: intervals, oracle: writer})
	if err := errors.Join(err, writer.Close()); err != nil {
		return err
	}
	if err := intervals.Flush(); err != nil {
		return err
	}
	pushed, size, err := agent.push(ctx)
	if err != nil {
		return err
	}
	o.Say("pushed %d minutes of node %s as an agent would, %.1f MB on the wire", pushed, scenario.Node, float64(size)/1e6)
	imported, err := analysis.ImportLive(ctx, s.Store, scenario.Node, analysis.Options{
		Paths: []string{rows}, DBTimezone: "UTC", InstID: -1, Params: correlate.DefaultParams(), Limits: files.DefaultLimits(),
	})
	if err != nil {
		return err
	}
	for _, n := range imported.Nodes {
		o.Say("imported %d rows of Oracle's from %d files", n.Records, n.Files)
	}
	if err := s.RunNow(ctx, service.JobReview); err != nil {
		return err
	}
	return found(ctx, s, o)
}

// found shows what the review made of it.
func found(ctx context.Context, s *service.Service, o *Options) error {
	incidents, _, err := s.Store.Incidents(ctx, store.IncidentFilter{}, store.Page{})
	if err != nil {
		return err
	}
	if len(incidents) == 0 {
		return errors.New("the review opened no incident: the demo is broken")
	}
	longest := incidents[0]
	for _, i := range incidents {
		if i.Stalls > longest.Stalls {
			longest = i
		}
	}
	o.Say("the review opened incident %s: %d stalls, in the window from %s to %s", longest.ID, longest.Stalls, longest.Window.From.Format(time.RFC3339), longest.Window.To.Format(time.RFC3339))
	o.Say("%s/api/v1/incidents/%s", s.People, longest.ID)
	res, err := analysis.RunStored(ctx, s.Store, store.EvidenceName(longest.ID), analysis.Options{
		InstID: -1, Params: correlate.DefaultParams(),
		// Rows that reach over the ends of the window are kept whole.
		From: longest.Window.From.Format(time.RFC3339Nano), To: longest.Window.To.Format(time.RFC3339Nano),
	})
	if err != nil {
		return err
	}
	if err := same(ctx, s.Store, longest, res); err != nil {
		return err
	}
	return o.Found(res)
}

// same holds the verdict of the evidence to the one that the review saved.
func same(ctx context.Context, st *store.Store, i store.Incident, res *analysis.Result) error {
	heads, _, err := st.Findings(ctx, store.FindingFilter{Incident: i.ID}, store.Page{})
	if err != nil {
		return err
	}
	if len(heads) != 1 || len(res.Findings) != 1 || heads[0].Headline != res.Findings[0].Headline {
		return fmt.Errorf("incident %s: the review saved %d findings, which differ from its evidence: %q and %q", i.ID, len(heads), heads[0].Headline, res.Findings[0].Headline)
	}
	return nil
}
