// Package doctor checks whether a corewait service can do its work and what it
// lacks. It reads the database and changes nothing.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/store"
)

// State is how a check ended.
type State string

// States. A warning tells of what somebody should know; a failure of what somebody
// must mend.
const (
	OK      State = "ok"
	Warning State = "warn"
	Failed  State = "fail"
)

// Check is one line of the doctor's report.
type Check struct {
	Name  string `json:"check"` // "clock db1"
	State State  `json:"state"`
	Text  string `json:"text"`
}

// Options say what to hold the database to.
type Options struct {
	Address string // of the database
	Open    func(context.Context) (*store.Store, error)
	// Schedules of the service's jobs, by name.
	Schedules map[string]string
	Raw       time.Duration // how long samples are kept
	// MaxClockOffset is the greatest difference of a node's clock that is plausible.
	MaxClockOffset time.Duration
	// Budget is how large the database may grow, in bytes; 0: it is not known.
	Budget int64
	Now    func() time.Time
}

// examination is one run of all checks.
type examination struct {
	o      Options
	st     *store.Store
	now    time.Time
	checks []Check
	nodes  []store.Node
	// expected are the nodes that an agent pushes for, or may.
	expected map[store.NodeID]bool
}

func (e *examination) sayf(name string, state State, format string, args ...any) {
	e.checks = append(e.checks, Check{name, state, fmt.Sprintf(format, args...)})
}

// Examine makes all checks. One that cannot be made is a failed one.
func Examine(ctx context.Context, o Options) []Check {
	e := &examination{o: o, now: o.Now(), expected: map[store.NodeID]bool{}}
	if !e.schema(ctx) {
		return e.checks
	}
	st, err := o.Open(ctx)
	if err != nil {
		e.sayf("database", Failed, "%v", err)
		return e.checks
	}
	defer st.Close()
	e.st = st
	for _, check := range []struct {
		name string
		make func(context.Context) error
	}{
		{"database", e.database}, {"partitions", e.partitions}, {"nodes", e.listNodes}, {"agents", e.agents}, {"coverage", e.coverage},
		{"jobs", e.jobs}, {"review", e.backlog}, {"disk", e.disk},
	} {
		if err := check.make(ctx); err != nil {
			e.sayf(check.name, Failed, "%v", err)
		}
	}
	return e.checks
}

// Worst gives the worst state among checks.
func Worst(checks []Check) State {
	worst := OK
	for _, c := range checks {
		if c.State == Failed || c.State == Warning && worst == OK {
			worst = c.State
		}
	}
	return worst
}

// schema checks what must be right before the database can be opened.
func (e *examination) schema(ctx context.Context) bool {
	status, err := store.ReadMigrationStatus(ctx, e.o.Address)
	switch {
	case err != nil:
		e.sayf("database", Failed, "%v", err)
	case status.Database == 0:
		e.sayf("schema", Failed, "there is none: corewait migrate up makes it")
	case len(status.Pending) > 0:
		e.sayf("schema", Failed, "version %d of %d: corewait migrate up brings the rest", status.Database, status.Binary)
	case status.Database > status.Binary:
		e.sayf("schema", Failed, "version %d is newer than this program's %d: install the newer program", status.Database, status.Binary)
	default:
		e.sayf("schema", OK, "version %d, as this program's", status.Database)
		if status.Timescale == "" {
			e.sayf("extension", OK, "plain PostgreSQL, partitions by day")
			return true
		}
		e.sayf("extension", OK, "TimescaleDB %s is installed; samples are in %s tables", status.Timescale, status.Mode)
		return true
	}
	return false
}

func (e *examination) database(ctx context.Context) error {
	began := time.Now()
	version, err := e.st.ServerVersion(ctx)
	if err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, " ")
	e.sayf("database", OK, "PostgreSQL %s answers in %v", version, time.Since(began).Round(100*time.Microsecond))
	return nil
}

// daysAhead is for how many days partitions are to be there.
const daysAhead = 2

func (e *examination) partitions(ctx context.Context) error {
	missing, err := e.st.MissingPartitions(ctx, e.now, e.now.AddDate(0, 0, daysAhead))
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		e.sayf("partitions", Failed, "%d are missing for the next %d days, the first %s: corewait serve makes them", len(missing), daysAhead, missing[0])
	default:
		e.sayf("partitions", OK, "there for today and the next %d days", daysAhead)
	}
	return nil
}

func (e *examination) listNodes(ctx context.Context) error {
	var err error
	if e.nodes, err = store.All(func(p store.Page) ([]store.Node, store.Cursor, error) { return e.st.Nodes(ctx, p) }); err != nil {
		return err
	}
	if len(e.nodes) == 0 {
		e.sayf("nodes", Warning, "none yet: corewait token create NODE makes an agent's credential")
	}
	slices.SortFunc(e.nodes, func(a, b store.Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// lateJob is the lag from which somebody must look.
const lateJob = 15 * time.Minute

func (e *examination) jobs(ctx context.Context) error {
	names := make([]string, 0, len(e.o.Schedules))
	for name := range e.o.Schedules {
		names = append(names, name)
	}
	slices.Sort(names)
	states, err := e.st.JobStates(ctx, names)
	if err != nil {
		return err
	}
	for _, state := range states {
		e.job(state)
	}
	return nil
}

func (e *examination) job(state store.JobState) {
	name := "job " + state.Job
	schedule, err := jobs.ParseSchedule(e.o.Schedules[state.Job])
	if err != nil {
		e.sayf(name, Failed, "schedule %q: %v", e.o.Schedules[state.Job], err)
		return
	}
	run := state.Last
	if run == nil {
		e.sayf(name, OK, "has not run yet; corewait serve runs it at %s", schedule.Next(e.now).Format("2006-01-02 15:04 UTC"))
		return
	}
	lag := schedule.Lag(state, run.Tick, e.now)
	last := "under way since " + ago(e.now.Sub(run.StartedAt))
	if !run.FinishedAt.IsZero() {
		last = fmt.Sprintf("%s %s ago: %s", run.Result, ago(e.now.Sub(run.FinishedAt)), run.Detail)
	}
	switch {
	case run.Result == store.JobFailed:
		e.sayf(name, Failed, "%s", last)
	case lag > lateJob:
		e.sayf(name, Failed, "%s behind; %s: is corewait serve running?", ago(lag), last)
	default:
		e.sayf(name, OK, "%s", last)
	}
}

// backlog tells how much waits to be reviewed.
func (e *examination) backlog(ctx context.Context) error {
	oldest := time.Duration(0)
	before := e.now.Add(-time.Hour)
	windows, err := store.All(func(p store.Page) ([]store.DirtyWindow, store.Cursor, error) {
		return e.st.DirtyWindows(ctx, store.ScopeHour, before, p)
	})
	if err != nil {
		return err
	}
	for _, w := range windows {
		oldest = max(oldest, w.Waiting)
	}
	state := OK
	if oldest > time.Hour {
		state = Warning
	}
	if len(windows) == 0 {
		e.sayf("review", OK, "no hour that is over waits to be reviewed")
		return nil
	}
	e.sayf("review", state, "%d hours that are over wait to be reviewed, the longest for %s", len(windows), ago(oldest))
	return nil
}

// ago writes a duration for people.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + ago(-d)
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}
