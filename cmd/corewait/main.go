// Command corewait tells a DBA team which CPU core their Oracle commits are
// waiting for. This package holds flags and wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // zones by name also where the host has no tzdata

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
)

// Exit statuses, as documented in the README.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitInput  = 3
	exitCheck  = 4
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program; it gives the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, done := interruptible(signals, patienceFor(args), stderr, os.Exit)
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	done()
	if err == nil {
		return exitDone
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New(stoppedLine)
	}
	fmt.Fprintln(stderr, "corewait: "+oneLine(err.Error()))
	return status(err)
}

// status maps errors to exit statuses, here and nowhere else.
func status(err error) int {
	switch {
	case errors.Is(err, analysis.ErrUsage), errors.Is(err, errFlags):
		return exitUsage
	case errors.Is(err, analysis.ErrInput), errors.As(err, &inputUnusable{}):
		return exitInput
	case errors.Is(err, errChecks):
		return exitCheck
	}
	return exitFailed
}

// errFlags marks errors of flags and commands that the flag parser found.
var errFlags = errors.New("wrong usage")

// oneLine makes a message one line that is safe to show: it may quote file
// names and what stands in files.
func oneLine(s string) string {
	return report.Clean(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "corewait",
		Short:         "tells which CPU core Oracle commits are waiting for",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w (see %s --help)", errFlags, err, c.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(analyzeCommand(stdout, stderr), collectCommand(stdout), importCommand(stdout, stderr), demoCommand(stdout, stderr),
		serveCommand(stdout, stderr), doctorCommand(stdout), changeCommand(stdout), tokenCommand(stdout), migrateCommand(stdout), versionCommand(stdout))
	return root
}

// noArgs refuses arguments, so that a mistyped command is an error of usage.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%w: unknown command or argument %q (see %s --help)", errFlags, args[0], c.CommandPath())
}
