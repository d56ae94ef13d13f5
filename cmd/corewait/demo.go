package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/config"
	whole "github.com/corewait/corewait/internal/demo"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/store/embedded"
)

func demoCommand(stdout, stderr io.Writer) *cobra.Command {
	out := &output{stdout: stdout, stderr: stderr, both: true}
	keep, onlyFiles, once := "", false, false
	c := &cobra.Command{
		Use:   "demo",
		Short: "run the whole of corewait on the reference case",
		Long: `Runs the service on a private PostgreSQL in a temporary folder and has the
reference case happen: one made-up node in a trading hour (64 CPUs, 4 sockets,
all interconnect interrupts on one of them), pushed through the endpoint for
agents; Oracle's rows, imported; all of it judged by the review. It prints the
finding and goes on serving until Ctrl-C; with --once it ends there.

With --files, or where no PostgreSQL is installed, it writes the case's files
and runs on them what analyze runs on yours.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if onlyFiles || keep != "" {
				return demo(c, keep, out)
			}
			err := demoService(c, once, out)
			if errors.Is(err, embedded.ErrNoBinaries) || errors.Is(err, embedded.ErrUnsupported) {
				fmt.Fprintf(stderr, "corewait: without the service, on files alone: %v\n", err)
				return demo(c, keep, out)
			}
			return err
		},
	}
	out.flags(c)
	c.Flags().StringVar(&keep, "keep", "", "with files: keep them in the new folder `DIR`")
	c.Flags().BoolVar(&onlyFiles, "files", false, "run on files, without service and database")
	c.Flags().BoolVar(&once, "once", false, "end after the finding")
	return c
}

// demoService runs the whole. Where it listens is as the service's defaults say, if
// nobody else does.
func demoService(c *cobra.Command, once bool, out *output) error {
	if err := out.validate(); err != nil {
		return err
	}
	o := whole.Options{
		Version: version(), Once: once, Log: slog.New(slog.NewTextHandler(out.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Say:   func(format string, args ...any) { fmt.Fprintf(out.stderr, "corewait: "+format+"\n", args...) },
		Found: out.write,
	}
	if !once {
		d := config.Defaults()
		o.Agents, o.People = free(d.Agents.Listen), free(d.People.Listen)
	}
	return whole.Run(c.Context(), o)
}

// free gives an address that can be listened on: the one given, or another port.
func free(address string) string {
	l, err := net.Listen("tcp", address) //nolint:noctx // at once
	if err != nil {
		return ""
	}
	_ = l.Close() // nothing was sent
	return address
}

func demo(c *cobra.Command, keep string, out *output) error {
	dir, remove, err := demoFolder(keep)
	if err != nil {
		return err
	}
	defer remove()
	if err := writeReference(dir); err != nil {
		return fmt.Errorf("write the reference case: %w", err)
	}
	return analyze(c, analysis.Options{
		Paths: []string{dir}, InstID: -1, Params: correlate.DefaultParams(), Limits: files.DefaultLimits(),
	}, &stored{}, out)
}

// demoFolder makes the folder for the files: the one to keep, which must not
// exist yet, or a temporary one that remove deletes.
func demoFolder(keep string) (dir string, remove func(), err error) {
	if keep != "" {
		if err := os.Mkdir(keep, 0o750); err != nil {
			return "", nil, fmt.Errorf("%w: --keep: %w", errFlags, err)
		}
		return keep, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "corewait-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // a temporary folder
}

func writeReference(dir string) error {
	s := refcase.Reference()
	w, err := refcase.NewFileWriter(dir, s)
	if err != nil {
		return err
	}
	if _, err := s.Generate(w); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close()
}
