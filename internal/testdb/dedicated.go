package testdb

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/corewait/corewait/store"
	"github.com/corewait/corewait/store/embedded"
)

// Options of a server for one test.
type Options struct {
	Migrated bool              // apply all migrations to its database
	Fsync    bool              // wait for the disk, as a server in earnest does
	Settings map[string]string // further parameters of postgresql.conf
}

// Dedicated is a private server that one test has for itself, and may kill. Its
// methods are for the test's own goroutine.
type Dedicated struct {
	t      testing.TB
	server *private
}

// Server starts a private server for one test, which ends with it. It is private
// even where COREWAIT_TEST_DATABASE_URL names another.
func Server(t testing.TB, o Options) *Dedicated {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	server, err := startPrivate(ctx, o)
	skipOrFail(t, err)
	t.Cleanup(func() {
		if err := server.remove(); err != nil {
			t.Errorf("testdb: %v", err)
		}
	})
	if o.Migrated {
		if err := migrate(ctx, server.URL(), store.TimescaleOff); err != nil {
			t.Fatalf("testdb: %v", err)
		}
	}
	return &Dedicated{t: t, server: server}
}

// URL is the address of the server's database, empty at first unless migrations
// were asked for. It stays the same when the server is started again.
func (d *Dedicated) URL() string { return d.server.URL() }

// Kill9 kills the server as a crash would: first the postmaster, which can then
// start nothing in place of what is missing, and at once its sessions and the
// processes that write for it, which would otherwise go on until they notice. It
// returns when the server is gone.
func (d *Dedicated) Kill9() {
	d.t.Helper()
	pid := d.server.PID()
	ids := append([]int{pid}, childrenOf(pid)...)
	for i, id := range ids {
		process, err := os.FindProcess(id)
		if err == nil {
			err = process.Kill()
		}
		if err != nil && i == 0 { // a child may have ended
			d.t.Fatalf("testdb: kill the server: %v", err)
		}
	}
	<-d.server.Done()
}

// childrenOf lists the children of a process (proc(5)); none where the kernel
// does not tell.
func childrenOf(pid int) []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var ids []int
	for _, field := range strings.Fields(string(list)) {
		if id, err := strconv.Atoi(field); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Restart starts the server again, in the same folder and under the same
// address, after Kill9 or a shutdown in order. It returns when the server, done
// with its recovery, takes connections.
func (d *Dedicated) Restart() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), startPatience)
	defer cancel()
	before := d.URL()
	if err := d.server.Stop(ctx); err != nil {
		d.t.Fatalf("testdb: %v", err)
	}
	server, err := embedded.Start(ctx, d.server.options)
	if err != nil {
		d.t.Fatalf("testdb: %v", err)
	}
	d.server.Server = server
	if d.URL() != before {
		d.t.Fatalf("testdb: the server's address changed from %s to %s", before, d.URL())
	}
}
