package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/service"
)

// configFlags say where the configuration is.
type configFlags struct {
	file     string
	embedded string
}

func (f *configFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "config", "", "the configuration `FILE` (corewait.example.yaml explains it; default: every key's default)")
	c.Flags().StringVar(&f.embedded, "embedded", "", "run a private PostgreSQL whose data is in the folder `DIR`")
}

// load reads the configuration that the flags name.
func (f *configFlags) load() (*config.Config, error) {
	c := config.Defaults()
	if f.file != "" {
		var err error
		if c, err = config.Load(f.file); err != nil {
			return nil, inputUnusable{err}
		}
	}
	if f.embedded != "" {
		if c.Database.URL != "" || c.Database.URLFile != "" {
			return nil, fmt.Errorf("%w: --embedded: the configuration names a database already", errFlags)
		}
		c.Embedded.Dir = f.embedded
	}
	return c, nil
}

// inputUnusable is an error of a file that the user wrote: exit status 3.
type inputUnusable struct{ error }

func (e inputUnusable) Unwrap() error { return e.error }

func serveCommand(stdout, stderr io.Writer) *cobra.Command {
	var f configFlags
	check := false
	c := &cobra.Command{
		Use:   "serve",
		Short: "run the service: take what agents push, judge it, and answer people",
		Long: `Runs until it is told to stop (SIGTERM, Ctrl-C); SIGHUP makes it read schedules,
certificates and the log's level again. It listens on loopback only unless the
configuration gives it TLS. The database is $COREWAIT_DATABASE_URL where the
configuration names none.`,
		Example: `  corewait serve --config /etc/corewait/corewait.yaml --check-config
  corewait serve --embedded /var/lib/corewait`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			configuration, err := f.load()
			if err != nil {
				return err
			}
			if check {
				if err := config.Check(configuration, os.Getenv); err != nil {
					return inputUnusable{err}
				}
				fmt.Fprintln(stdout, "the configuration is good")
				return nil
			}
			return serve(c.Context(), &f, configuration, stderr)
		},
	}
	f.register(c)
	c.Flags().BoolVar(&check, "check-config", false, "check the configuration and the files that it names, and stop")
	return c
}

func serve(ctx context.Context, f *configFlags, c *config.Config, stderr io.Writer) error {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return fmt.Errorf("log.level: %w", err)
	}
	var handler slog.Handler = slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})
	if c.Log.Format == "json" {
		handler = slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: level})
	}
	log := slog.New(handler)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	hangup := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangups:
			case <-ctx.Done():
				return
			}
			select {
			case hangup <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	o := service.Options{
		Config: c, Hangup: hangup, Version: version(), Log: log, Level: level,
		Started: func(s *service.Service) {
			log.InfoContext(ctx, "listening", "agents", s.Agents, "people", s.People, "version", version())
			if s.Private != "" {
				log.InfoContext(ctx, "private database, for the same user's other commands", databaseEnv, s.Private)
			}
		},
	}
	if f.file != "" {
		o.Reload = f.load
	}
	return service.Run(ctx, o)
}
