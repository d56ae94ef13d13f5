package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/internal/collect"
)

func collectCommand(stdout io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:   "collect",
		Short: "print a read-only script that gathers what analyze wants",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(collectScriptCommand(stdout), collectSQLCommand(stdout))
	return c
}

func collectScriptCommand(stdout io.Writer) *cobra.Command {
	var o collect.ScriptOptions
	c := &cobra.Command{
		Use:   "script",
		Short: "print a shell script for the database node",
		Long: `Prints a read-only POSIX shell script. Run it on the database node; it needs no
root and leaves one tar.gz that analyze reads as it is.`,
		Example: "  corewait collect script > collect.sh    # then, on the node: sh collect.sh",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := collect.Script(o)
			return printScript(stdout, s, err)
		},
	}
	c.Flags().DurationVar(&o.Duration, "duration", collect.DefaultDuration, "how long the script gathers")
	return c
}

func collectSQLCommand(stdout io.Writer) *cobra.Command {
	var o collect.SQLOptions
	c := &cobra.Command{
		Use:   "sql",
		Short: "print a SQL*Plus script for the instance",
		Long: `Prints a read-only SQL*Plus script that samples V$ views which need no licence.
With --ash it also reads V$ACTIVE_SESSION_HISTORY, which needs the Oracle
Diagnostics Pack: the script then says so and stops unless you confirm.`,
		Example: "  corewait collect sql > collect.sql    # then: sqlplus / as sysdba @collect.sql",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := collect.SQL(o)
			return printScript(stdout, s, err)
		},
	}
	c.Flags().DurationVar(&o.Duration, "duration", collect.DefaultDuration, "how long the script samples")
	c.Flags().BoolVar(&o.ASH, "ash", false, "also read V$ACTIVE_SESSION_HISTORY (needs a Diagnostics Pack licence)")
	return c
}

func printScript(w io.Writer, script string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errFlags, err)
	}
	if _, err := io.WriteString(w, script); err != nil {
		return fmt.Errorf("print the script: %w", err)
	}
	return nil
}
