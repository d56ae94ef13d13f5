package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
)

// Result is what an analysis came to.
type Result struct {
	Findings []*domain.Finding // one per node and instance
	Series   []*series.Series  // that each finding was made from
	Problems []string          // "file:line: why"
	Unknown  []files.Unknown   // files that are not read, and why
}

// Run reads the files and analyses each node and instance in them. Its errors
// wrap ErrUsage or ErrInput where the caller is to blame or the input is.
func Run(ctx context.Context, o Options) (*Result, error) {
	v, set, nodes, err := o.scan(ctx)
	if err != nil {
		return nil, err
	}
	res, err := each(nodes, func(n files.Node, res *Result) error { return v.node(ctx, set, n, res) })
	if err != nil {
		return nil, err
	}
	res.Unknown = set.Unknown()
	return res, nil
}

// scan checks the options and looks through the files for the nodes to read.
func (o Options) scan(ctx context.Context) (*options, *files.Set, []files.Node, error) {
	v, err := o.validateFiles()
	if err != nil {
		return nil, nil, nil, err
	}
	set, err := files.Scan(ctx, o.Paths, o.Limits, o.Progress)
	if err != nil {
		return nil, nil, nil, inputError(ctx, err)
	}
	nodes, err := v.nodes(set)
	return v, set, nodes, err
}

// each analyses nodes one after the other. One that holds nothing to analyse is
// left out, with a warning, where others do.
func each[N any](nodes []N, analyse func(N, *Result) error) (*Result, error) {
	res := &Result{}
	var notUsable []error
	for _, n := range nodes {
		err := analyse(n, res)
		if err != nil && len(nodes) > 1 && skips(err) {
			notUsable = append(notUsable, err)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if len(res.Findings) == 0 {
		return nil, errors.Join(notUsable...)
	}
	for _, f := range res.Findings {
		for _, w := range notUsable {
			if !errors.Is(w, errNothing) {
				continue // the node of another instance than was asked for
			}
			f.Warnings = append(f.Warnings, w.Error())
		}
	}
	return res, nil
}

// skips says whether a node is left out, with this error, where there are others.
func skips(err error) bool {
	var absent *series.AbsentError
	return errors.Is(err, errNothing) || errors.As(err, &absent)
}

func inputError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrInput, err)
}

// nodes gives the nodes to analyse.
func (v *options) nodes(set *files.Set) ([]files.Node, error) {
	if len(set.Nodes()) == 0 {
		return nil, nothingUsable(set, nil)
	}
	if v.Node == "" {
		return set.Nodes(), nil
	}
	n, err := set.Choose(v.Node)
	if err != nil {
		return nil, fmt.Errorf("%w: --node: %w", ErrInput, err)
	}
	return []files.Node{n}, nil
}

func (v *options) builder() *series.Builder {
	return series.NewBuilder(v.watch, domain.Window{From: v.from, To: v.to})
}

// node reads the files of one node and analyses every instance of it that was
// asked for.
func (v *options) node(ctx context.Context, set *files.Set, n files.Node, res *Result) error {
	zones, timezone, zoneWarnings := set.ResolveZones(n.Name, v.db, v.host)
	g := gathered{node: n.Name, builder: v.builder(), timezone: timezone}
	report, err := set.Read(ctx, n.Name, zones, g.builder, v.Progress)
	if err != nil {
		return inputError(ctx, err)
	}
	g.inputs, g.warnings = report.Inputs, slices.Concat(set.Warnings(), zoneWarnings, report.Warnings)
	g.nothing = func() error { return nothingUsable(set, report.Problems) }
	if err := v.judge(ctx, &g, res); err != nil {
		return err
	}
	res.Problems = append(res.Problems, report.Problems...)
	return nil
}

// gathered is what is known of one node, and how it became known.
type gathered struct {
	node     string
	builder  *series.Builder
	timezone domain.Timezone
	warnings []string
	inputs   []domain.Input
	nothing  func() error // why there are no records
}

// judge analyses every instance of a node that was asked for.
func (v *options) judge(ctx context.Context, g *gathered, res *Result) error {
	if err := v.usable(g); err != nil {
		return err
	}
	choices, warnings, err := g.builder.Instances(series.Choice{Node: g.node, Instance: v.Instance, InstID: v.InstID})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	for _, c := range choices {
		s := v.build(g.builder, c)
		if err := notTooLong(s.Window); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.Warnings = slices.Concat(s.Warnings, g.warnings, warnings)
		f := correlate.Analyze(s, v.Params)
		f.Timezone, f.Inputs = g.timezone, g.inputs
		if s.Window == (series.Span{}) {
			f.Window = domain.Window{} // nothing lies in time that the method could use
		}
		f.Warnings = append(f.Warnings, missingKinds(f)...)
		res.Findings, res.Series = append(res.Findings, f), append(res.Series, s)
	}
	return nil
}

// longestWindow bounds what is analysed at once: the engine keeps what it knows
// of every second. One reading under a wrong clock would make a window of years.
const longestWindow = 100 * 24 * time.Hour

func notTooLong(w series.Span) error {
	d := series.ToTime(w.To).Sub(series.ToTime(w.From))
	if d <= longestWindow {
		return nil
	}
	return fmt.Errorf("%w: the records cover %s, over %d days: a clock may have been wrong; choose a window with --from and --to",
		ErrInput, spanText(w), int(longestWindow.Hours()/24))
}

// errNothing marks a node whose files hold nothing that can be analysed.
var errNothing = errors.New("nothing usable")

// usable checks that the host's and Oracle's records meet in time.
func (v *options) usable(g *gathered) error {
	host, oracle, ash := g.builder.Extents()
	none := series.Span{}
	if host == none && oracle == none {
		if !v.from.IsZero() || !v.to.IsZero() {
			return fmt.Errorf("%w: %w: no records between --from and --to%s", ErrInput, errNothing, ofNode(g.node))
		}
		return fmt.Errorf("%w%s", g.nothing(), ofNode(g.node))
	}
	for _, o := range []struct {
		what string
		span series.Span
	}{{"Oracle files", oracle}, {"ASH rows", ash}} {
		if host != none && o.span != none && !meet(host, o.span) {
			return fmt.Errorf("%w: host files cover %s and %s %s: they do not overlap; %s",
				ErrInput, spanText(host), o.what, spanText(o.span), likelyOffset(host, o.span))
		}
	}
	return nil
}

func meet(a, b series.Span) bool {
	return a.From <= b.To+tolerance && b.From <= a.To+tolerance
}

// tolerance: spans that miss each other by less still count as meeting.
const tolerance = series.Micros(60) * series.Second

func ofNode(name string) string {
	if name == "" {
		return ""
	}
	return " (node " + name + ")"
}

func spanText(s series.Span) string {
	const layout = "2006-01-02T15:04:05Z"
	return series.ToTime(s.From).Format(layout) + " to " + series.ToTime(s.To).Format(layout)
}

// likelyOffset guesses by how much one clock's zone is off: zones lie whole
// quarters of an hour apart, within 26 hours.
func likelyOffset(host, oracle series.Span) string {
	const quarter = 15 * time.Minute
	middle := func(s series.Span) time.Time { return series.ToTime((s.From + s.To) / 2) }
	d := middle(oracle).Sub(middle(host)).Round(quarter)
	if d.Abs() > 26*time.Hour {
		return "they are " + d.Abs().String() + " apart: these files are of different days"
	}
	sign := "ahead of"
	if d < 0 {
		sign = "behind"
	}
	return fmt.Sprintf("Oracle's times are about %s %s the host's: if a zone is wrong, give it with --db-timezone or --host-timezone", shortDuration(d.Abs()), sign)
}

func shortDuration(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
