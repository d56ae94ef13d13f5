package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/store/embedded"
)

// database is where rows are kept: a server of others, or a private one.
type database struct {
	private *embedded.Server // nil: others run it
	url     string           // of the private one
}

// ended is closed when the private server has ended by itself.
func (d *database) ended() <-chan struct{} {
	if d.private == nil {
		return nil
	}
	return d.private.Done()
}

func (d *database) failure() error {
	return fmt.Errorf("the private PostgreSQL has ended: %w", errors.Join(d.private.Err(), errors.New("its log is in the folder's log")))
}

func (d *database) stop(ctx context.Context) error {
	if d.private == nil {
		return nil
	}
	return d.private.Stop(ctx)
}

// migrationLimit bounds the migrations of a private database.
const migrationLimit = 10 * time.Minute

// openDatabase connects to the database. A private one is started and migrated;
// one that others run is migrated by them, with corewait migrate up.
func (s *parts) openDatabase(ctx context.Context) error {
	c := s.o.Config
	s.database = &database{}
	options := store.Options{RawRetention: c.Retention.Raw, Pooler: c.Database.Pooler, ApplicationName: "corewait serve"}
	if c.Embedded.Dir != "" {
		server, err := embedded.Start(ctx, embedded.Options{Dir: c.Embedded.Dir, RunAs: s.o.RunAs})
		if err != nil {
			return err
		}
		s.database.private, s.database.url = server, server.URL()
		options.URL, options.Pooler = server.URL(), false
		if err := store.MigrateUp(ctx, options.URL, store.MigrateOptions{Timescale: c.Database.Timescale, Limit: migrationLimit}); err != nil {
			return err
		}
	} else {
		url, err := c.DatabaseURL(os.Getenv)
		if err != nil {
			return err
		}
		options.URL = url
	}
	var err error
	s.store, err = store.Open(ctx, options)
	s.names = newNames(s.store)
	return err
}
