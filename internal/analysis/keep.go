package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/store"
)

// Imported is what an import came to.
type Imported struct {
	Nodes    []ImportedNode
	Problems []string        // "file:line: why"
	Unknown  []files.Unknown // files that are not read, and why
}

// ImportedNode is one node of an import.
type ImportedNode struct {
	Name            string
	Files           int
	Records, Unread int64
	Warnings        []string
}

// Into says which collection an import goes into.
type Into struct {
	Collection string
	// Replace lets go of what the collection has of the same nodes from files
	// that are not imported now.
	Replace bool
}

// Import reads the files as Run does and keeps what they hold in a collection
// of the store: of each node all there is, whatever instance, watch or window
// is asked for. It replaces what the collection has of the same nodes: the same
// files again change nothing. Where that came from other files too, the error
// wraps ErrInput, unless they may be let go.
func Import(ctx context.Context, st *store.Store, into Into, o Options) (*Imported, error) {
	v, set, nodes, err := o.scan(ctx)
	if err != nil {
		return nil, err
	}
	if !into.Replace {
		if err := spareOthers(ctx, st, into.Collection, set, nodes); err != nil {
			return nil, err
		}
	}
	// All begin before the first is read, and are noted together: an import that
	// breaks off leaves none of its nodes to be taken for the whole.
	imports := make([]store.FlushedImport, len(nodes))
	for i, n := range nodes {
		if imports[i].Import, err = st.Import(ctx, into.Collection, n.Name); err != nil {
			return nil, err
		}
	}
	done := &Imported{Unknown: set.Unknown()}
	for i, n := range nodes {
		if err := v.keep(ctx, &imports[i], set, n, done); err != nil {
			return nil, err
		}
	}
	if err := st.CloseImports(ctx, imports); err != nil {
		return nil, err
	}
	return done, nil
}

// spareOthers refuses to replace what a collection has of a node from files that
// are not among those of now.
func spareOthers(ctx context.Context, st *store.Store, collection string, set *files.Set, nodes []files.Node) error {
	c, err := st.CollectionByName(ctx, collection)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	had, err := collectedNodes(ctx, st, c.ID)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		i := slices.IndexFunc(had, func(h store.CollectedNode) bool { return h.Name == n.Name })
		if i < 0 {
			continue
		}
		now := map[string]bool{}
		for _, src := range set.Sources() {
			if slices.Contains(src.Nodes, n.Name) {
				now[src.Name] = true
			}
		}
		for _, in := range had[i].Inputs {
			if !now[in.Path] {
				return fmt.Errorf("%w: collection %q has node %q from other files too, such as %s: name all files in one import, take another name, or let the others go with --replace",
					ErrInput, c.Name, n.Name, in.Path)
			}
		}
	}
	return nil
}

// keep reads one node into the store.
func (v *options) keep(ctx context.Context, to *store.FlushedImport, set *files.Set, n files.Node, done *Imported) error {
	node, err := v.readInto(ctx, to.Import, set, n, done)
	if err != nil {
		return err
	}
	to.About = node.about
	if err := to.Flush(ctx); err != nil {
		return err
	}
	done.Nodes = append(done.Nodes, node.ImportedNode)
	return nil
}

// RunStored analyses each node and instance of a collection: what Run says of
// the files that it was imported from.
func RunStored(ctx context.Context, st *store.Store, collection string, o Options) (*Result, error) {
	v, err := o.validate()
	if err != nil {
		return nil, err
	}
	c, err := st.CollectionByName(ctx, collection)
	if err != nil {
		return nil, asInput(err)
	}
	nodes, err := v.storedNodes(ctx, st, c)
	if err != nil {
		return nil, err
	}
	return each(nodes, func(n store.CollectedNode, res *Result) error { return v.stored(ctx, st, c, &n, res) })
}

// asInput makes a collection that is not there an error of the input.
func asInput(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %w: corewait import --collection makes one", ErrInput, err)
	}
	return err
}

// collectedNodes gives the nodes that a collection holds.
func collectedNodes(ctx context.Context, st *store.Store, id store.CollectionID) ([]store.CollectedNode, error) {
	return store.All(func(p store.Page) ([]store.CollectedNode, store.Cursor, error) { return st.CollectionNodes(ctx, id, p) })
}

// storedNodes gives the nodes of a collection that were asked for.
func (v *options) storedNodes(ctx context.Context, st *store.Store, c store.Collection) ([]store.CollectedNode, error) {
	all, err := collectedNodes(ctx, st, c.ID)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: collection %q: no import into it was completed: import again", ErrInput, c.Name)
	}
	slices.SortFunc(all, func(a, b store.CollectedNode) int { return strings.Compare(a.Name, b.Name) })
	if v.Node == "" {
		return all, nil
	}
	for _, n := range all {
		if series.ShortHost(n.Name) == series.ShortHost(v.Node) {
			return []store.CollectedNode{n}, nil
		}
	}
	return nil, fmt.Errorf("%w: --node %s: collection %q has no such node", ErrInput, v.Node, c.Name)
}

// stored analyses one node of a collection.
func (v *options) stored(ctx context.Context, st *store.Store, c store.Collection, n *store.CollectedNode, res *Result) error {
	g := gathered{
		node: n.Name, builder: v.builder(), timezone: n.Timezone, inputs: n.Inputs, warnings: slices.Concat(n.Warnings, n.Notes),
		nothing: func() error {
			return fmt.Errorf("%w: %w: no interrupts, placement or waits in collection %q", ErrInput, errNothing, c.Name)
		},
	}
	err := st.Feed(ctx, store.Source{Node: n.Node, Collection: c.ID}, domain.Window{From: v.from, To: v.to},
		newCounted(g.builder, v.Progress, n.Name, n.Inputs))
	if err != nil {
		return err
	}
	return v.judge(ctx, &g, res)
}
