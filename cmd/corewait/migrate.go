package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/store"
)

func migrateCommand(stdout io.Writer) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use: "migrate", Short: "create the store's schema, or bring it to another version", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	d.register(c)
	c.AddCommand(migrateUpCommand(&d, stdout), migrateDownCommand(&d, stdout), migrateStatusCommand(&d, stdout))
	return c
}

func migrateUpCommand(d *database, stdout io.Writer) *cobra.Command {
	var timescale, to string
	c := &cobra.Command{
		Use: "up", Short: "apply the migrations that the database lacks", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o := store.MigrateOptions{Timescale: store.Timescale(timescale), Done: printDone(stdout, "applied")}
			switch o.Timescale {
			case store.TimescaleAuto, store.TimescaleRequire, store.TimescaleOff:
			default:
				return fmt.Errorf("%w: --timescale %q: choose auto, require or off", errFlags, timescale)
			}
			if err := setVersion(c, &o, to); err != nil {
				return err
			}
			address, err := d.address()
			if err != nil {
				return err
			}
			if err := store.MigrateUp(c.Context(), address, o); err != nil {
				return err
			}
			return printStatus(c.Context(), address, stdout)
		},
	}
	c.Flags().StringVar(&timescale, "timescale", "auto", "TimescaleDB: auto (where the database has it), require or off; the first migration decides for good")
	c.Flags().StringVar(&to, "to", "", "the version to stop at (default: the newest)")
	return c
}

func migrateDownCommand(d *database, stdout io.Writer) *cobra.Command {
	var to string
	var yes bool
	c := &cobra.Command{
		Use: "down", Short: "take back the newest migration, or all after a version", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o := store.MigrateOptions{DropRows: yes, Done: printDone(stdout, "taken back")}
			if err := setVersion(c, &o, to); err != nil {
				return err
			}
			address, err := d.address()
			if err != nil {
				return err
			}
			err = store.MigrateDown(c.Context(), address, o)
			var rows *store.RowsError
			if errors.As(err, &rows) {
				return fmt.Errorf("%w: add --yes to lose them", err)
			}
			if err != nil {
				return err
			}
			return printStatus(c.Context(), address, stdout)
		},
	}
	c.Flags().StringVar(&to, "to", "", "the version to go back to; 0 takes all back (default: one step)")
	c.Flags().BoolVar(&yes, "yes", false, "drop tables although they hold rows")
	return c
}

func migrateStatusCommand(d *database, stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "say how far the database is migrated", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			address, err := d.address()
			if err != nil {
				return err
			}
			return printStatus(c.Context(), address, stdout)
		},
	}
}

// setVersion reads --to, which is a version that the program has, or 0.
func setVersion(c *cobra.Command, o *store.MigrateOptions, to string) error {
	if !c.Flags().Changed("to") {
		return nil
	}
	version, err := strconv.ParseInt(to, 10, 64)
	if err != nil || version < 0 {
		return fmt.Errorf("%w: --to %q is no version: corewait migrate status lists them", errFlags, to)
	}
	o.To = &version
	return nil
}

func printDone(stdout io.Writer, what string) func(string, time.Duration) {
	return func(name string, took time.Duration) {
		fmt.Fprintf(stdout, "%s %s in %s\n", what, strings.TrimSuffix(name, ".sql"), took.Round(time.Millisecond))
	}
}

// printStatus prints what a script may want to read: a word, then its value.
func printStatus(ctx context.Context, address string, stdout io.Writer) error {
	s, err := store.ReadMigrationStatus(ctx, address)
	if err != nil {
		return err
	}
	mode := s.Mode
	switch {
	case mode == "":
		mode = "undecided"
	case mode == "timescaledb" && s.Timescale != "":
		mode += " " + s.Timescale
	}
	fmt.Fprintf(stdout, "database %d\nbinary %d\nmode %s\n", s.Database, s.Binary, mode)
	for _, name := range s.Pending {
		fmt.Fprintf(stdout, "pending %s\n", strings.TrimSuffix(name, ".sql"))
	}
	return nil
}
