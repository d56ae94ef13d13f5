package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
)

// output is where and how a finding is written.
type output struct {
	json     bool
	markdown string
	html     string
	// both shows the terminal's report beside the one that a file gets.
	both   bool
	stdout io.Writer
	stderr io.Writer
}

func (o *output) flags(c *cobra.Command) {
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document on stdout and nothing else")
	c.Flags().StringVar(&o.markdown, "markdown", "", "write the report as Markdown to `FILE` (- for stdout)")
	c.Flags().StringVar(&o.html, "html", "", "write the report as one self-contained page to `FILE` (- for stdout)")
}

func analyzeCommand(stdout, stderr io.Writer) *cobra.Command {
	out := &output{stdout: stdout, stderr: stderr}
	var from stored
	o := analysis.Options{Params: correlate.DefaultParams(), Limits: files.DefaultLimits()}
	c := &cobra.Command{
		Use:   "analyze PATH... | --collection NAME | --live",
		Short: "find what stalled commits, from files or from what was imported",
		Long: `Reads files or folders (.gz .zst .bz2 .xz .zip .tar and combinations; each file
is recognised by its content) and says which CPU core commits were waiting for,
how strong the evidence is, and which other explanations it beats.`,
		Example: `  corewait analyze incident/
  corewait analyze --json --db-timezone Asia/Seoul collected.tar.gz
  corewait analyze --collection 2026-09-15
  corewait analyze --live --node db1 --from 2026-09-15T09:00:00Z --to 2026-09-15T10:00:00Z`,
		Args: func(c *cobra.Command, args []string) error {
			sources := 0
			for _, given := range []bool{len(args) > 0, from.collection != "", from.live} {
				if given {
					sources++
				}
			}
			switch sources {
			case 0:
				return fmt.Errorf("%w: name files or folders to analyse (see %s --help)", errFlags, c.CommandPath())
			case 1:
				return nil
			}
			return fmt.Errorf("%w: name files, a collection or --live: one of them", errFlags)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("inst-id") && o.InstID < 0 {
				return fmt.Errorf("%w: --inst-id %d: must be 0 or more", errFlags, o.InstID)
			}
			o.Paths = args
			return analyze(c, o, &from, out)
		},
	}
	out.flags(c)
	from.database.register(c)
	f := c.Flags()
	f.StringVar(&from.collection, "collection", "", "analyse the collection of that `NAME` in the store instead of files")
	f.BoolVar(&from.live, "live", false, "analyse what agents pushed and pulls brought, of --node between --from and --to")
	f.StringVar(&o.From, "from", "", "begin of the window, RFC 3339, or local with --timezone")
	f.StringVar(&o.To, "to", "", "end of the window (exclusive)")
	f.StringVar(&o.Timezone, "timezone", "", "zone of --from and --to where they carry none, as Asia/Seoul or +09:00")
	f.StringVar(&o.DBTimezone, "db-timezone", "", "zone of Oracle's times that carry none")
	f.StringVar(&o.HostTimezone, "host-timezone", "", "zone of the host's times that carry none")
	f.StringVar(&o.Node, "node", "", "the node (host) to analyse where the files hold several")
	f.StringVar(&o.Instance, "instance", "", "the instance (SID) to analyse where the files hold several")
	f.IntVar(&o.InstID, "inst-id", -1, "the INST_ID of Oracle's rows that belongs to the instance")
	f.StringVar(&o.Watch, "watch", "lgwr", "what to watch: lgwr with log file sync, or lms with gc waits")
	f.DurationVar(&o.Params.Threshold, "threshold", 100*time.Millisecond, "a wait at least this long is slow")
	f.Float64Var(&o.Params.HeavyPerSecond, "heavy-per-second", o.Params.HeavyPerSecond, "device interrupts/s over which a CPU is heavy")
	return c
}

// stored names a part of the store.
type stored struct {
	database   database
	collection string
	live       bool // what was not imported into a collection
}

func (f *stored) run(ctx context.Context, o analysis.Options) (*analysis.Result, error) {
	st, err := f.database.open(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if f.live {
		return analysis.RunLiveNode(ctx, st, o)
	}
	return analysis.RunStored(ctx, st, f.collection, o)
}

func analyze(c *cobra.Command, o analysis.Options, from *stored, out *output) error {
	if err := errors.Join(out.validate(), out.spare(o.Paths)); err != nil {
		return err
	}
	bar := newProgress(out.stderr)
	o.Progress = bar.update
	run := analysis.Run
	if from.collection != "" || from.live {
		run = from.run
	}
	res, err := run(c.Context(), o)
	bar.clear()
	if err != nil {
		return err
	}
	if err := out.spareRead(res.Findings); err != nil {
		return err
	}
	return out.write(res)
}

// unknownShown is how many files that are not read are named one by one.
const unknownShown = 20

// printUnread tells what could not be read.
func printUnread(stderr io.Writer, unknown []files.Unknown, problems []string) {
	for i, u := range unknown {
		if i == unknownShown {
			fmt.Fprintf(stderr, "corewait: ... and %d more files not read\n", len(unknown)-i)
			break
		}
		fmt.Fprintf(stderr, "corewait: %s: not read: %s\n", report.Clean(u.Name), report.Clean(u.Reason))
	}
	for _, p := range problems {
		fmt.Fprintf(stderr, "corewait: %s\n", report.Clean(p))
	}
}

// write renders the findings; what could not be read goes to stderr.
func (o *output) write(res *analysis.Result) error {
	printUnread(o.stderr, res.Unknown, res.Problems)
	for _, file := range []struct {
		flag, name string
		write      func(io.Writer, *analysis.Result) error
	}{{"--markdown", o.markdown, writeMarkdown}, {"--html", o.html, writeHTML}} {
		if file.name == "" {
			continue
		}
		if err := o.writeFile(file.name, res, file.write); err != nil {
			return fmt.Errorf("%s: %w", file.flag, err)
		}
	}
	switch {
	case o.json:
		return report.JSON(o.stdout, res.Findings)
	case o.toStdout() || (o.markdown != "" || o.html != "") && !o.both:
		return nil
	}
	for i, f := range res.Findings {
		if i > 0 {
			fmt.Fprintln(o.stdout)
		}
		if err := report.Terminal(o.stdout, report.Analysis(f), terminalOptions(o.stdout)); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// toStdout says whether a report other than the terminal's goes to stdout.
func (o *output) toStdout() bool { return o.markdown == "-" || o.html == "-" }

// validate refuses two documents on one stdout.
func (o *output) validate() error {
	if o.toStdout() && (o.json || o.markdown == o.html) {
		return fmt.Errorf("%w: --json, --markdown - and --html - all write to stdout: choose one", errFlags)
	}
	return nil
}

// writeFile writes a report to a file, or to stdout where the name is "-".
func (o *output) writeFile(name string, res *analysis.Result, write func(io.Writer, *analysis.Result) error) error {
	if name == "-" {
		return write(o.stdout, res)
	}
	f, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(write(f, res), f.Close())
}

func writeMarkdown(w io.Writer, res *analysis.Result) error {
	for _, f := range res.Findings {
		if err := report.Markdown(w, report.Analysis(f)); err != nil {
			return err
		}
	}
	return nil
}

func writeHTML(w io.Writer, res *analysis.Result) error {
	findings := make([]report.Illustrated, len(res.Findings))
	for i, f := range res.Findings {
		findings[i] = report.Illustrated{Finding: f, Series: res.Series[i]}
	}
	return report.HTML(w, findings)
}

// terminalOptions: colour on a terminal only, and never against NO_COLOR.
func terminalOptions(w io.Writer) report.TerminalOptions {
	o := report.TerminalOptions{Width: 100}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	o.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.Width = min(width, 140)
	}
	return o
}
