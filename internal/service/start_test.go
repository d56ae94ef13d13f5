package service_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/internal/testdb"
)

func TestWhatCannotStartSaysWhyInOneLine(t *testing.T) {
	t.Parallel()
	address, empty := testdb.New(t), testdb.URL(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	open := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(open, []byte(strings.Repeat("x", 32)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(c *config.Config)
		want   string
	}{
		"the database is away": {func(c *config.Config) {
			c.Database.URL = "postgres://corewait:hidden@127.0.0.1:1/corewait"
		}, "connection refused"},
		"the database has no schema":  {func(c *config.Config) { c.Database.URL = empty }, "corewait migrate up"},
		"agents' port is taken":       {func(c *config.Config) { c.Agents.Listen = taken.Addr().String() }, "agents.listen: "},
		"people's port is taken":      {func(c *config.Config) { c.People.Listen = taken.Addr().String() }, "people.listen: "},
		"a certificate is missing":    {func(c *config.Config) { c.Agents.TLS.CertFile, c.Agents.TLS.KeyFile = "nowhere.crt", "nowhere.key" }, "agents.tls: "},
		"others may read the token":   {func(c *config.Config) { c.People.TokenFile = open }, "chmod o-rw"},
		"there is no such zone":       {func(c *config.Config) { c.Review.Zone = "Nowhere/City" }, "review.zone: "},
		"a schedule cannot be read":   {func(c *config.Config) { c.Jobs.Retain = "@every 1m" }, "five fields"},
		"nothing names the database":  {func(c *config.Config) { c.Database.URLFile, c.Database.URL = "nowhere", "" }, "nowhere"},
		"the private server's folder": {func(c *config.Config) { c.Database.URL, c.Embedded.Dir = "", open }, "embedded postgres: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := onDatabase(address)
			test.change(c)
			err := service.Run(t.Context(), service.Options{Config: c, Version: "test", Started: func(*service.Service) { t.Error("it started") }})
			if err == nil {
				t.Fatal("no error")
			}
			t.Log(err)
			if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, "\n") || strings.Contains(text, "hidden") {
				t.Errorf("the error is %q, want one line with %q", text, test.want)
			}
		})
	}
}
