package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/refcase"
)

func demoCommand(stdout, stderr io.Writer) *cobra.Command {
	out := &output{stdout: stdout, stderr: stderr, both: true}
	keep := ""
	c := &cobra.Command{
		Use:   "demo",
		Short: "make the reference case's files and analyse them",
		Long: `Writes the files of one made-up node in a trading hour (the reference case: 64
CPUs, 4 sockets, all interconnect interrupts on one of them) and runs the same
analysis on them that analyze runs on yours.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return demo(c, keep, out) },
	}
	out.flags(c)
	c.Flags().StringVar(&keep, "keep", "", "keep the generated files in the new folder `DIR`")
	return c
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
