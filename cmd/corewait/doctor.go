package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/doctor"
	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/report"
	"github.com/corewait/corewait/store"
)

// errChecks says that the doctor found something: exit status 4.
var errChecks = errors.New("a check failed")

func doctorCommand(stdout io.Writer) *cobra.Command {
	var d database
	file, asJSON := "", false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check the database, the agents, their clocks, coverage, jobs and disk",
		Long: `Prints a line for each check: ok, warn or fail. The exit status is 4 when one
fails. It changes nothing.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			configuration := config.Defaults()
			if file != "" {
				var err error
				if configuration, err = config.Load(file); err != nil {
					return inputUnusable{err}
				}
			}
			checks, err := examine(c.Context(), &d, configuration)
			if err != nil {
				return err
			}
			return printChecks(stdout, checks, asJSON)
		},
	}
	d.register(c)
	c.Flags().StringVar(&file, "config", "", "the service's configuration `FILE`")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document on stdout and nothing else")
	return c
}

// examine makes the checks on the database that the flags or, without them, the
// configuration names.
func examine(ctx context.Context, d *database, c *config.Config) ([]doctor.Check, error) {
	address, err := d.address()
	if d.flag == "" && (c.Database.URL != "" || c.Database.URLFile != "") {
		address, err = c.DatabaseURL(os.Getenv)
	}
	if err != nil {
		return nil, err
	}
	return doctor.Examine(ctx, doctor.Options{
		Address: address, Schedules: service.Schedules(c), Raw: c.Retention.Raw, MaxClockOffset: c.Agents.MaxClockOffset,
		Budget: int64(c.Retention.DiskBudget), Now: time.Now,
		Open: func(ctx context.Context) (*store.Store, error) {
			return store.Open(ctx, store.Options{URL: address, Pooler: c.Database.Pooler, RawRetention: c.Retention.Raw})
		},
	}), nil
}

func printChecks(stdout io.Writer, checks []doctor.Check, asJSON bool) error {
	worst := doctor.Worst(checks)
	if asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(map[string]any{"schema": "corewait/doctor/v1", "state": worst, "checks": checks}); err != nil {
			return err
		}
	} else {
		for _, c := range checks {
			fmt.Fprintf(stdout, "%-4s  %s: %s\n", c.State, report.Clean(c.Name), oneLine(c.Text))
		}
	}
	if worst == doctor.Failed {
		return errChecks
	}
	return nil
}
