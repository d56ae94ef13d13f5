package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/service"
	"github.com/corewait/corewait/internal/testdb"
)

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// logged takes a log, of which it keeps the last part.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// mostLogged bounds what is kept: enough for the minutes before a failure.
const mostLogged = 4 << 20

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > mostLogged {
		l.b.Next(mostLogged / 2)
	}
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// last gives the last lines.
func (l *logged) last(lines int) string {
	all := strings.Split(strings.TrimSpace(l.String()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// running is a service within the test's process.
type running struct {
	*service.Service

	t      *testing.T
	hangup chan struct{}
	level  *slog.LevelVar
	log    *logged
	stop   context.CancelFunc
	ended  chan error
	waited bool
}

// onDatabase gives a configuration for a database, whose listeners have any ports.
func onDatabase(address string) *config.Config {
	c := config.Defaults()
	c.Database.URL = address
	c.Agents.Listen, c.People.Listen = "127.0.0.1:0", "127.0.0.1:0"
	return c
}

// run starts a service, which is stopped when the test ends.
func run(t *testing.T, c *config.Config, reload func() (*config.Config, error)) *running {
	t.Helper()
	r := &running{t: t, hangup: make(chan struct{}), level: new(slog.LevelVar), log: &logged{}, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r.stop = stop
	started := make(chan *service.Service, 1)
	go func() {
		r.ended <- service.Run(ctx, service.Options{
			Config: c, Reload: reload, Hangup: r.hangup, Version: "test", Level: r.level, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: r.level})),
			RunAs: unprivileged(), Started: func(s *service.Service) { started <- s },
		})
	}()
	select {
	case err := <-r.ended:
		stop()
		t.Fatalf("the service did not start: %v", err)
	case r.Service = <-started:
	}
	t.Cleanup(func() {
		stop()
		if r.waited {
			return
		}
		if err := r.wait(); err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	return r
}

// runNew gives a service on a database of its own, and the database's address.
func runNew(t *testing.T) (r *running, address string) {
	t.Helper()
	address = testdb.New(t)
	return run(t, onDatabase(address), nil), address
}

// wait waits for the end of the service.
func (r *running) wait() error {
	r.t.Helper()
	r.waited = true
	select {
	case err := <-r.ended:
		return err
	case <-time.After(patience):
		r.t.Fatalf("the service does not end:\n%s", r.log.last(20))
		panic("unreachable")
	}
}

// reload hangs up and waits until the log says what became of it.
func (r *running) reload(want string) {
	r.t.Helper()
	before := strings.Count(r.log.String(), want)
	select {
	case r.hangup <- struct{}{}:
	case <-time.After(patience):
		r.t.Fatal("a hangup is not taken")
	}
	until(r.t, "the log says "+want, func() bool { return strings.Count(r.log.String(), want) > before })
}

// What the log says of a reload.
const (
	reloaded    = "configuration reloaded"
	notReloaded = "configuration not reloaded"
)

// until polls a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so within %v: %s", patience, what)
		}
	}
}

// get gives the status and the body of a page; 0 and the error where there is no
// answer.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	return getOver(t, transport, url)
}

func getOver(t *testing.T, transport *http.Transport, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport, Timeout: patience}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// serviceStatus is what is looked at of the document of /api/v1/status.
type serviceStatus struct {
	Version  string `json:"version"`
	Database string `json:"database"`
	Jobs     []struct {
		Job      string `json:"job"`
		Schedule string `json:"schedule"`
	} `json:"jobs"`
}

func (r *running) status() serviceStatus {
	r.t.Helper()
	code, body := get(r.t, r.People+"/api/v1/status")
	var s serviceStatus
	if err := json.Unmarshal([]byte(body), &s); code != http.StatusOK || err != nil {
		r.t.Fatalf("status is answered by %d %s (%v)", code, body, err)
	}
	return s
}

// schedules lists the jobs with their schedules.
func (r *running) schedules() string {
	r.t.Helper()
	var list []string
	for _, j := range r.status().Jobs {
		list = append(list, j.Job+": "+j.Schedule)
	}
	return strings.Join(list, "; ")
}

// unprivileged is the user of a private server where the tests are root's; empty
// where they are not.
func unprivileged() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return ""
}

// privateFolder gives a folder that the user of a private server may pass through.
func privateFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "corewait-service-") //nolint:usetesting // the test's name would make the path too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	return folder
}
