package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
	"github.com/corewait/corewait/store"
)

// changeFlags are what a change is recorded or looked for with.
type changeFlags struct {
	node, at, detail, by, from, to, timezone string
	json                                     bool
}

func changeCommand(stdout io.Writer) *cobra.Command {
	var d database
	var f changeFlags
	c := &cobra.Command{
		Use:   "change",
		Short: "record what was changed on the nodes, for comparisons before and after",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	d.register(c)
	c.PersistentFlags().StringVar(&f.timezone, "timezone", "", "zone of times that carry none, as Asia/Seoul or +09:00")
	add := &cobra.Command{
		Use: "add TITLE", Short: "record a change", Args: oneArg("what was changed, in a few words"),
		Example: `  corewait change add "bond1: active-backup -> 802.3ad" --node db1 --at 2026-09-20T02:00:00+09:00`,
		RunE: func(c *cobra.Command, args []string) error {
			return withStore(c.Context(), &d, func(st *store.Store) error { return f.add(c.Context(), st, args[0], stdout) })
		},
	}
	add.Flags().StringVar(&f.node, "node", "", "the node that was changed (default: all of them)")
	add.Flags().StringVar(&f.at, "at", "", "when, RFC 3339, or local with --timezone (default: now)")
	add.Flags().StringVar(&f.detail, "detail", "", "more about it: a ticket, commands")
	add.Flags().StringVar(&f.by, "by", "", "who records it (default: the user's name)")
	list := &cobra.Command{
		Use: "list", Short: "list what was recorded, in order of time", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withStore(c.Context(), &d, func(st *store.Store) error { return f.list(c.Context(), st, stdout) })
		},
	}
	list.Flags().StringVar(&f.node, "node", "", "changes of that node and of all nodes")
	list.Flags().StringVar(&f.from, "from", "", "changes from then on")
	list.Flags().StringVar(&f.to, "to", "", "changes before then")
	list.Flags().BoolVar(&f.json, "json", false, "print one JSON document on stdout and nothing else")
	c.AddCommand(add, list)
	return c
}

// known gives the number of a node that must exist: a mistyped name would be
// another node.
func known(ctx context.Context, st *store.Store, name string) (store.NodeID, error) {
	if name == "" {
		return 0, nil
	}
	names, err := st.NodeNames(ctx)
	if err != nil {
		return 0, err
	}
	for id, n := range names {
		if n == name {
			return id, nil
		}
	}
	return 0, fmt.Errorf("%w: --node %s: the store has no such node", errFlags, name)
}

func (f *changeFlags) add(ctx context.Context, st *store.Store, title string, stdout io.Writer) error {
	node, err := known(ctx, st, f.node)
	if err != nil {
		return err
	}
	at, err := analysis.Instant("--at", f.at, f.timezone)
	if err != nil {
		return err
	}
	if at.IsZero() {
		at = time.Now().UTC()
	}
	if f.by == "" {
		f.by = os.Getenv("USER")
		if u, err := user.Current(); err == nil {
			f.by = u.Username
		}
	}
	id, err := st.AddChange(ctx, store.Change{At: at, Node: node, Title: title, Detail: f.detail, RecordedBy: f.by})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s  %s  %s\n", id, at.Format(time.RFC3339), report.Clean(title))
	return nil
}

// changeDocument is the JSON of a change.
type changeDocument struct {
	ID         store.UUID `json:"id"`
	At         time.Time  `json:"at"`
	Node       *string    `json:"node"` // null: all nodes
	Title      string     `json:"title"`
	Detail     string     `json:"detail"`
	RecordedAt time.Time  `json:"recorded_at"`
	RecordedBy string     `json:"recorded_by"`
}

func (f *changeFlags) list(ctx context.Context, st *store.Store, stdout io.Writer) error {
	var filter store.ChangeFilter
	var err error
	if filter.Node, err = known(ctx, st, f.node); err != nil {
		return err
	}
	if filter.Window, err = f.window(); err != nil {
		return err
	}
	names, err := st.NodeNames(ctx)
	if err != nil {
		return err
	}
	changes, err := store.All(func(p store.Page) ([]store.Change, store.Cursor, error) { return st.Changes(ctx, filter, p) })
	if err != nil {
		return err
	}
	list := make([]changeDocument, 0, len(changes))
	for _, c := range changes {
		d := changeDocument{ID: c.ID, At: c.At, Title: c.Title, Detail: c.Detail, RecordedAt: c.RecordedAt, RecordedBy: c.RecordedBy}
		if c.Node != 0 {
			name := names[c.Node]
			d.Node = &name
		}
		list = append(list, d)
	}
	if f.json {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"schema": "corewait/changes/v1", "changes": list})
	}
	return printChanges(stdout, list)
}

func (f *changeFlags) window() (w domain.Window, err error) {
	if w.From, err = analysis.Instant("--from", f.from, f.timezone); err != nil {
		return w, err
	}
	w.To, err = analysis.Instant("--to", f.to, f.timezone)
	return w, err
}

func printChanges(stdout io.Writer, list []changeDocument) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tNODE\tCHANGE\tBY")
	for _, c := range list {
		node := "all"
		if c.Node != nil {
			node = *c.Node
		}
		title := c.Title
		if c.Detail != "" {
			title += " (" + c.Detail + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.At.Format(time.RFC3339), report.Clean(node), report.Clean(title), report.Clean(c.RecordedBy))
	}
	return w.Flush()
}
