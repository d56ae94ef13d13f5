package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/store"
)

// RunLive analyses each instance of a node by what agents pushed and pulls
// brought in the window, which has both ends: what Run says of files that hold the
// same records, with --from and --to. Its error wraps ErrInput where the window
// holds nothing that could be analysed.
func RunLive(ctx context.Context, st *store.Store, node store.Node, w domain.Window, o Options) (*Result, error) {
	v, err := o.validate()
	if err != nil {
		return nil, err
	}
	v.from, v.to = w.From, w.To
	g := gathered{
		node: node.Name, builder: v.builder(),
		nothing: func() error {
			return fmt.Errorf("%w: %w: no interrupts, placement or waits in that time", ErrInput, errNothing)
		},
	}
	if err := st.Feed(ctx, store.Source{Node: node.ID}, w, newCounted(g.builder, v.Progress, node.Name, nil)); err != nil {
		return nil, err
	}
	res := &Result{}
	if err := v.judge(ctx, &g, res); err != nil {
		return nil, err
	}
	return res, nil
}

// IsNothing says whether an analysis failed since the window holds nothing, or
// not what was asked for: no fault, and the same whenever it is tried again.
func IsNothing(err error) bool { return errors.Is(err, ErrInput) || skips(err) }

// ImportLive reads the files as Run does and puts what they hold beside what
// agents pushed and pulls brought, under the nodes' names: samples recorded by an
// agent that may not push, or rows that were spooled where nothing may be pulled.
// What is there already stays: the same files again change nothing. as is the name
// that the store knows the node by, "" the one that the files give. The error wraps
// store.ErrOutsideRetention where records are older than what is kept.
func ImportLive(ctx context.Context, st *store.Store, as string, o Options) (*Imported, error) {
	v, set, nodes, err := o.scan(ctx)
	if err != nil {
		return nil, err
	}
	if as != "" && len(nodes) > 1 {
		return nil, usage("--as %s: the files are of %d nodes: choose one with --node", as, len(nodes))
	}
	done := &Imported{Unknown: set.Unknown()}
	for _, n := range nodes {
		name := cmp.Or(as, n.Name)
		if name == "" {
			return nil, fmt.Errorf("%w: nothing names the node of these files: name it with --as", ErrInput)
		}
		// What agents push is in UTC: rows hours beside it would make false incidents,
		// and nothing takes them out again.
		if zones, _, _ := set.ResolveZones(n.Name, v.db, v.host); zones.Assumed != "" {
			return nil, fmt.Errorf("%w: %s: times carry no zone and no other file tells it: give it with --db-timezone or --host-timezone", ErrInput, zones.Assumed)
		}
		if err := v.keepLive(ctx, st, set, name, n, done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

func (v *options) keepLive(ctx context.Context, st *store.Store, set *files.Set, as string, n files.Node, done *Imported) error {
	to, err := st.ImportLive(ctx, as)
	if err != nil {
		return err
	}
	node, err := v.readInto(ctx, to, set, n, done)
	if err != nil {
		return err
	}
	node.Name = as
	if err := to.Flush(ctx); err != nil {
		return err
	}
	if left, why := to.Unstorable(); left > 0 {
		node.Warnings = append(node.Warnings, fmt.Sprintf("%d records could not be stored, the first one because of: %s", left, why))
	}
	done.Nodes = append(done.Nodes, node.ImportedNode)
	return nil
}

// readNode is a node that was read into the store, and what is to be noted of it.
type readNode struct {
	ImportedNode

	about store.CollectionNode
}

// readInto reads a node's files into the store.
func (v *options) readInto(ctx context.Context, to *store.Import, set *files.Set, n files.Node, done *Imported) (readNode, error) {
	zones, timezone, zoneWarnings := set.ResolveZones(n.Name, v.db, v.host)
	intervals := series.NewIntervals(to)
	report, err := set.Read(ctx, n.Name, zones, intervals, v.Progress)
	if err != nil {
		if failed := new(store.OperationError); errors.As(err, &failed) {
			return readNode{}, failed // of the store, not of the input
		}
		if errors.Is(err, store.ErrOutsideRetention) {
			return readNode{}, fmt.Errorf("%w: %w: corewait import --collection keeps what is older", ErrInput, err)
		}
		return readNode{}, inputError(ctx, err)
	}
	if err := intervals.Flush(); err != nil {
		return readNode{}, err
	}
	r := readNode{about: store.CollectionNode{
		Timezone: timezone, Warnings: slices.Concat(set.Warnings(), zoneWarnings, report.Warnings), Inputs: report.Inputs,
	}}
	r.ImportedNode = ImportedNode{Name: n.Name, Files: len(report.Inputs), Warnings: r.about.Warnings}
	for _, in := range report.Inputs {
		r.Records += in.Records
		r.Unread += in.Unread
	}
	done.Problems = append(done.Problems, report.Problems...)
	return r, nil
}

// RunLiveNode is RunLive of the node and window that the options name.
func RunLiveNode(ctx context.Context, st *store.Store, o Options) (*Result, error) {
	v, err := o.validate()
	if err != nil {
		return nil, err
	}
	if v.Node == "" || v.from.IsZero() || v.to.IsZero() {
		return nil, usage("--live needs --node, --from and --to: what agents push has no end")
	}
	nodes, err := store.All(func(p store.Page) ([]store.Node, store.Cursor, error) { return st.Nodes(ctx, p) })
	if err != nil {
		return nil, err
	}
	n, err := nodeOf(nodes, v.Node)
	if err != nil {
		return nil, err
	}
	return RunLive(ctx, st, n, domain.Window{From: v.from, To: v.to}, o)
}

// nodeOf gives the node of that name or, where none has it, the only one of that
// short name.
func nodeOf(nodes []store.Node, name string) (store.Node, error) {
	var alike []store.Node
	for _, n := range nodes {
		if n.Name == name {
			return n, nil
		}
		if series.ShortHost(n.Name) == series.ShortHost(name) {
			alike = append(alike, n)
		}
	}
	switch len(alike) {
	case 0:
		return store.Node{}, fmt.Errorf("%w: --node %s: the store has no such node", ErrInput, name)
	case 1:
		return alike[0], nil
	}
	return store.Node{}, fmt.Errorf("%w: --node %s: both %s and %s are called so: give the whole name", ErrInput, name, alike[0].Name, alike[1].Name)
}
