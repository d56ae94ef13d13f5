package service_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/corewait/corewait/internal/config"
	"github.com/corewait/corewait/internal/testdb"
)

// configured is a configuration in a file, as an operator changes it.
type configured struct {
	t    *testing.T
	file string
}

func (c configured) write(text string) {
	c.t.Helper()
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c configured) load() (*config.Config, error) { return config.Load(c.file) }

const anyPorts = "agents: {listen: '127.0.0.1:0'}\npeople: {listen: '127.0.0.1:0'}\n"

func TestSchedulesAndTheLogsLevelAreReadAgain(t *testing.T) {
	t.Parallel()
	file := configured{t, filepath.Join(t.TempDir(), "corewait.yaml")}
	database := "database: {url: '" + testdb.New(t) + "'}\n"
	file.write(database + anyPorts)
	c, err := file.load()
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, c, file.load)
	const usual = "partitions: 35 * * * *; retain: 17 2 * * *; review: * * * * *"
	if got := r.schedules(); got != usual {
		t.Errorf("schedules are %q", got)
	}

	const changed = "partitions: 35 * * * *; review: 1 2 3 4 *"
	file.write(database + anyPorts + "jobs: {review: '1 2 3 4 *', retain: 'off'}\nlog: {level: debug}\n")
	r.reload(reloaded)
	if got := r.schedules(); got != changed || r.level.Level() != slog.LevelDebug {
		t.Errorf("schedules are %q and the level is %v", got, r.level.Level())
	}
	if strings.Contains(r.log.String(), "need a restart") {
		t.Errorf("the log asks for a restart:\n%s", r.log)
	}

	for _, wrong := range []struct{ text, want string }{
		{"jobs: {review: '5 * * * *'}\nretain: 3\n", "corewait.yaml:5: "}, // keys of other sections
		{"jobs: {review: '5 * * * *', retain: '@daily'}\n", "corewait.yaml:4: jobs.retain"},
		{"jobs: {review: '5 * * * *'}\nreview: {zone: Nowhere/City}\n", "corewait.yaml:5: review.zone"},
		{"jobs: {review: '5 * * * *'}\nlog: {level: loud}\n", "corewait.yaml:5: log.level"},
	} {
		file.write(database + anyPorts + wrong.text)
		r.reload(notReloaded)
		if got := r.schedules(); got != changed || r.level.Level() != slog.LevelDebug {
			t.Errorf("after %q schedules are %q and the level is %v", wrong.text, got, r.level.Level())
		}
		if last := r.log.last(1); !strings.Contains(last, wrong.want) || strings.Contains(r.log.last(1), "configuration reloaded") {
			t.Errorf("after %q the log says %s", wrong.text, last)
		}
	}
	if err := os.Remove(file.file); err != nil {
		t.Fatal(err)
	}
	r.reload(notReloaded)
	newAgent(t, r.Store, "db1").mustPush(r.Agents, 1)

	file.write(database + "agents: {listen: '127.0.0.1:0', max_in_flight: 7}\npeople: {listen: '127.0.0.1:0'}\n")
	r.reload(reloaded)
	if got := r.schedules(); got != usual || r.level.Level() != slog.LevelInfo {
		t.Errorf("schedules are %q and the level is %v", got, r.level.Level())
	}
	if !strings.Contains(r.log.String(), "some changes need a restart") || !strings.Contains(r.log.String(), "keys=[agents]") {
		t.Errorf("the log does not name what needs a restart:\n%s", r.log)
	}
}

// TestAReloadThatFailsChangesNothing: of several things that are read again one
// is bad, whichever comes first.
func TestAReloadThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t, "ours")
	c, agents, people := overTLS(ours, testdb.New(t))
	var mu sync.Mutex
	next := *c
	r := run(t, c, func() (*config.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if next.Jobs.Review == "" {
			return nil, errors.New("cannot be read")
		}
		changed := next
		return &changed, nil
	})
	first := shown(ours, r.Agents)
	wantAsBefore := func(what string) {
		t.Helper()
		if got := shown(ours, r.Agents); !got.Equal(first) {
			t.Errorf("%s: agents are shown another certificate", what)
		}
		if got := statusOver(ours, r); !strings.Contains(got, `"schedule": "* * * * *"`) {
			t.Errorf("%s: the schedules are %s", what, got)
		}
	}
	set := func(schedule string) {
		mu.Lock()
		defer mu.Unlock()
		next.Jobs.Review = schedule
	}

	set("5 * * * *")
	agents.write(t, ours.server())
	good, err := os.ReadFile(people.cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(people.cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.reload(notReloaded)
	wantAsBefore("people's certificate is broken")

	if err := os.WriteFile(people.cert, good, 0o600); err != nil {
		t.Fatal(err)
	}
	set("never")
	r.reload(notReloaded)
	wantAsBefore("a schedule is wrong")

	set("5 * * * *")
	r.reload(reloaded)
	if got := shown(ours, r.Agents); got.Equal(first) {
		t.Error("a good reload: agents are shown the certificate of before")
	}
	if got := statusOver(ours, r); !strings.Contains(got, `"schedule": "5 * * * *"`) {
		t.Errorf("a good reload: the schedules are %s", got)
	}
}

// statusOver gives the document of /api/v1/status of a service over TLS.
func statusOver(a *authority, r *running) string {
	a.t.Helper()
	_, body := getOver(a.t, a.transport(), r.People+"/api/v1/status")
	return body
}

func TestAServiceWithoutAFileSaysThatItCannotReload(t *testing.T) {
	t.Parallel()
	r, _ := runNew(t)
	r.reload(notReloaded)
	if last := r.log.last(1); !strings.Contains(last, "serve was started without --config") {
		t.Errorf("the log says %s", last)
	}
}
