package main

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
)

func importCommand(stdout, stderr io.Writer) *cobra.Command {
	var d database
	var into analysis.Into
	var live liveImport
	o := analysis.Options{Params: correlate.DefaultParams(), Limits: files.DefaultLimits(), InstID: -1}
	c := &cobra.Command{
		Use:   "import PATH...",
		Short: "keep what files hold in the store, as a named collection or with --live",
		Long: `Reads the files that analyze reads and keeps all they hold in a collection of
the store, outside retention. It replaces what the collection has of the same
nodes, so that the same files again change nothing; where that came from other
files too, it refuses unless --replace is given. An import that broke off
leaves no half collection: repeat it.

With --live it goes beside what agents push, under retention, and is reviewed
like that: recordings of an agent that may not push, spools of a database that
may not be pulled from. What is there already stays.`,
		Example: `  corewait import --collection 2026-09-15 incident/
  corewait analyze --collection 2026-09-15
  corewait import --live --as db1 --db-timezone Asia/Seoul ash.csv`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%w: name files or folders to import (see %s --help)", errFlags, c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := live.check(into); err != nil {
				return err
			}
			if len(into.Collection) > longestCollection || !utf8.ValidString(into.Collection) {
				return fmt.Errorf("%w: --collection: a name has at most %d bytes of UTF-8", errFlags, longestCollection)
			}
			o.Paths = args
			return importFiles(c, &d, into, live, o, stdout, stderr)
		},
	}
	d.register(c)
	f := c.Flags()
	f.StringVar(&into.Collection, "collection", "", "the collection's `NAME`")
	f.BoolVar(&live.on, "live", false, "keep it beside what agents push instead")
	f.StringVar(&live.as, "as", "", "with --live: the node's name in the store, where the files give none or another")
	f.BoolVar(&into.Replace, "replace", false, "let go of what the collection has of the same nodes from other files")
	f.StringVar(&o.DBTimezone, "db-timezone", "", "zone of Oracle's times that carry none")
	f.StringVar(&o.HostTimezone, "host-timezone", "", "zone of the host's times that carry none")
	f.StringVar(&o.Node, "node", "", "the node (host) to import where the files hold several")
	return c
}

// longestCollection bounds a collection's name: the store cuts names at 512 bytes,
// and two that are cut alike would be one.
const longestCollection = 200

// liveImport puts files beside what agents push.
type liveImport struct {
	on bool
	as string
}

func (l liveImport) check(into analysis.Into) error {
	switch {
	case !l.on && into.Collection == "":
		return fmt.Errorf("%w: name the collection with --collection, or give --live", errFlags)
	case l.on && (into.Collection != "" || into.Replace):
		return fmt.Errorf("%w: --live is not for collections: leave out --collection and --replace", errFlags)
	case !l.on && l.as != "":
		return fmt.Errorf("%w: --as goes with --live", errFlags)
	case l.as != "" && !hostName.MatchString(l.as):
		return fmt.Errorf("%w: --as %q is no host name: give what hostname -s prints on the node", errFlags, l.as)
	}
	return nil
}

func importFiles(c *cobra.Command, d *database, into analysis.Into, live liveImport, o analysis.Options, stdout, stderr io.Writer) error {
	st, err := d.open(c.Context())
	if err != nil {
		return err
	}
	defer st.Close()
	bar := newProgress(stderr)
	o.Progress = bar.update
	where := "in collection " + report.Clean(into.Collection)
	var done *analysis.Imported
	if live.on {
		where = "beside what agents push"
		done, err = analysis.ImportLive(c.Context(), st, live.as, o)
	} else {
		done, err = analysis.Import(c.Context(), st, into, o)
	}
	bar.clear()
	if err != nil {
		return err
	}
	printUnread(stderr, done.Unknown, done.Problems)
	for _, n := range done.Nodes {
		for _, w := range n.Warnings {
			fmt.Fprintf(stderr, "corewait: %s\n", report.Clean(w))
		}
		name := n.Name
		if name == "" {
			name = "a node without name"
		}
		fmt.Fprintf(stdout, "%s: %d records of %d files %s", report.Clean(name), n.Records, n.Files, where)
		if n.Unread > 0 {
			fmt.Fprintf(stdout, ", %d lines not read", n.Unread)
		}
		fmt.Fprintln(stdout)
	}
	return nil
}
