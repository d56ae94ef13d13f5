// Package review runs the engine over what is stored while nobody looks: hours
// whose data is new get a tally and a list of their stalls, runs of stalls become
// incidents with their evidence, and days and weeks that are over get verdicts.
// It keeps no state of its own: what is left to do stands in the store's dirty
// windows, so that it can end at any time, begin again anywhere and be repeated.
package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/store"
)

// Options are the choices of a Review. Zero values stand for the defaults of
// DefaultOptions, where a zero has no meaning of its own.
type Options struct {
	Params  correlate.Params
	Watches []string       // names of domain's watches
	Zone    *time.Location // that days and weeks begin in

	// Settle is how long after its end a window is left alone: agents send what
	// they saw every few seconds, and ASH rows are fixed up later.
	Settle time.Duration
	// CurrentEvery is how long new data of an hour that is not over may wait.
	CurrentEvery time.Duration
	// Quiet is for how long no more of a day or week may have come before it gets
	// another verdict: a backlog that is replayed is judged once.
	Quiet time.Duration

	// Raw is how long samples are kept: a window that begins before is not judged
	// again, since a part of what its verdict rests on is gone. 0: for ever.
	Raw time.Duration

	// IncidentGap is the longest time between two stalls of one incident,
	// IncidentStalls the least number of stalls that are one.
	IncidentGap    time.Duration
	IncidentStalls int
	// IncidentMargin is what an incident's window has before its first and after
	// its last stall: the engine compares with the time around. At most half the gap,
	// so that incidents do not overlap.
	IncidentMargin time.Duration
	// EvidenceCap bounds what is kept of an incident on one node, in bytes.
	EvidenceCap int64

	// FDR is the share of false ones that is accepted among the findings of the
	// fleet for one day or week.
	FDR float64

	Log      *slog.Logger // nil: nothing is logged
	Measures *Measures    // nil: nothing is measured
}

// DefaultOptions are the defaults of corewait.example.yaml.
func DefaultOptions() Options {
	return Options{
		Params: correlate.DefaultParams(), Watches: []string{domain.WatchLGWR().Name}, Zone: time.UTC,
		Settle: 2 * time.Minute, CurrentEvery: 5 * time.Minute, Quiet: 10 * time.Minute, Raw: 14 * 24 * time.Hour,
		IncidentGap: 15 * time.Minute, IncidentStalls: 3, IncidentMargin: 5 * time.Minute, EvidenceCap: 512 << 20,
		FDR: 0.01,
	}
}

// longestIncident bounds an incident: stalls that go on for longer begin another
// one. The evidence of one is bounded in bytes as well.
const longestIncident = 12 * time.Hour

// Review judges what is stored. It is safe to run by one process at a time.
type Review struct {
	st      *store.Store
	o       Options
	log     *slog.Logger
	measure *Measures
}

// New makes a Review. The error says which option makes no sense.
func New(st *store.Store, o Options) (*Review, error) {
	for _, w := range o.Watches {
		if _, known := domain.WatchNamed(w); !known {
			return nil, fmt.Errorf("review: watch %q is not known", w)
		}
	}
	switch {
	case len(o.Watches) == 0:
		return nil, errors.New("review: nothing to watch")
	case o.Zone == nil:
		return nil, errors.New("review: no zone of days and weeks")
	case o.IncidentGap <= 0 || o.IncidentMargin < 0 || o.IncidentStalls < 1:
		return nil, errors.New("review: an incident needs a gap that ends it, and one stall at least")
	case !(o.FDR > 0 && o.FDR < 1):
		return nil, fmt.Errorf("review: a false-discovery rate of %v is not between 0 and 1", o.FDR)
	}
	o.IncidentMargin = min(o.IncidentMargin, o.IncidentGap/2)
	r := &Review{st: st, o: o, log: o.Log, measure: o.Measures}
	if r.measure == nil {
		r.measure = NewMeasures(nil)
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r, nil
}

// Done is what a run came to.
type Done struct {
	Hours     int // that got tallies
	Incidents int // that were opened, or judged anew
	Days      int // that got verdicts
	Weeks     int
	Fleet     int // days and weeks whose findings were tested together
	Failed    int // windows that could not be reviewed, and stay to be
}

// String is a line for a person.
func (d Done) String() string {
	return fmt.Sprintf("%d hours, %d incidents, %d days, %d weeks, %d fleets, %d failed", d.Hours, d.Incidents, d.Days, d.Weeks, d.Fleet, d.Failed)
}

// Run reviews everything that is due at now. A window that cannot be reviewed
// stays to be, and keeps no other from it: the error joins the first few of those.
// When the context ends, what was done stays done.
func (r *Review) Run(ctx context.Context, now time.Time) (Done, error) {
	p := &pass{Review: r, now: now.UTC(), names: map[store.NodeID]string{}, fleets: map[fleet]store.DirtyWindow{}}
	for _, step := range []func(context.Context) error{p.hours, p.days, p.weeks, p.testFleets} {
		if err := step(ctx); err != nil {
			return p.done, errors.Join(append(p.failed, err)...)
		}
	}
	return p.done, errors.Join(p.failed...)
}

// pass is one run.
type pass struct {
	*Review

	now    time.Time
	names  map[store.NodeID]string
	fleets map[fleet]store.DirtyWindow // to be tested, and the window that stays marked until then
	done   Done
	failed []error
}

// keptErrors bounds the errors that a run tells; all are logged.
const keptErrors = 5

// fail notes that a window could not be reviewed. It gives an error where nothing
// else can be either.
func (p *pass) fail(ctx context.Context, what string, node store.NodeID, at time.Time, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.done.Failed++
	err = fmt.Errorf("%s %s of node %s: %w", what, at.Format(time.RFC3339), p.names[node], err)
	p.log.ErrorContext(ctx, "review failed", "error", err)
	if len(p.failed) < keptErrors {
		p.failed = append(p.failed, err)
	}
	return nil
}

// name gives a node's name.
func (p *pass) name(ctx context.Context, id store.NodeID) (string, error) {
	if name, known := p.names[id]; known {
		return name, nil
	}
	var err error
	if p.names, err = p.st.NodeNames(ctx); err != nil {
		return "", err
	}
	name, known := p.names[id]
	if !known {
		return "", fmt.Errorf("node %d: %w", id, store.ErrNotFound)
	}
	return name, nil
}

// gone says whether samples of a window are dropped already.
func (p *pass) gone(w domain.Window) bool {
	return p.o.Raw > 0 && w.From.Before(p.now.Add(-p.o.Raw))
}

// judge runs the engine over a window of a node: one result for each instance.
// Where there is nothing to analyse there is none, and no error; where there is
// something that cannot be analysed, the result's Problems say why.
func (p *pass) judge(ctx context.Context, node store.NodeID, watch string, w domain.Window, prm correlate.Params) (*analysis.Result, error) {
	name, err := p.name(ctx, node)
	if err != nil {
		return nil, err
	}
	res, err := analysis.RunLive(ctx, p.st, store.Node{ID: node, Name: name}, w, analysis.Options{
		InstID: -1, Watch: watch, Params: prm,
	})
	if err == nil || !analysis.IsNothing(err) {
		return res, err
	}
	holds, failed := p.holds(ctx, node, w)
	if failed != nil || !holds {
		p.log.DebugContext(ctx, "nothing to review", "node", name, "watch", watch, "from", w.From, "why", err)
		return &analysis.Result{}, failed
	}
	p.log.WarnContext(ctx, "a window that cannot be analysed", "node", name, "watch", watch, "from", w.From, "to", w.To, "why", err)
	return &analysis.Result{Problems: []string{err.Error()}}, nil
}

// holds says whether a window of a node holds what an analysis needs.
func (p *pass) holds(ctx context.Context, node store.NodeID, w domain.Window) (bool, error) {
	coverage, err := p.st.Coverage(ctx, store.Source{Node: node}, w)
	return slices.ContainsFunc(coverage, func(c store.SourceCoverage) bool {
		return c.Source == store.CoverageInterrupts || c.Source == store.CoveragePlacement || c.Source == store.CoverageWaits
	}), err
}
