// Package testdb gives tests a PostgreSQL of their own. It owns the servers and
// databases of tests, and must be imported by tests only.
//
// One private server serves a test binary. It starts with the first test that
// asks for a database, and ends with the process, however that ends: the server
// dies with its parent, and a watcher then removes its folder. Where no
// PostgreSQL is installed the tests are skipped, and say so.
//
// With COREWAIT_TEST_DATABASE_URL set, the databases are made on that server
// instead, and dropped there, so that the same tests can be run against another
// kind of server. Its user must be allowed to create databases.
package testdb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/corewait/corewait/store/embedded"
)

// addressVariable names a server to use instead of a private one.
const addressVariable = "COREWAIT_TEST_DATABASE_URL"

const (
	// startPatience bounds the start of a server: about a second where the
	// machine has nothing else to do.
	startPatience = 2 * time.Minute
	// statementPatience bounds making and dropping a database.
	statementPatience = time.Minute
)

// host is where this binary's databases are made.
type host struct {
	mu      sync.Mutex
	asked   bool // an earlier test asked for it: server and err are what it got
	address string
	server  *private // nil: the server is not ours
	err     error
	// template is the database that New copies, once there is one.
	template    string
	templateErr error
}

// shared is the one state of the package: the tests of a binary share nothing
// through which the server could be handed from one to the next.
var shared host

// URL gives the address of a fresh, empty database, which is dropped when the
// test ends.
func URL(t testing.TB) string {
	t.Helper()
	return shared.newDatabase(t, "")
}

// Main wraps a test main so that the server has ended, with all that belongs to
// it, before Run returns: for tests that look for what was left over.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }
func Main(m interface{ Run() int }) Runner { return Runner{m} }

// Runner runs tests and stops the server after them.
type Runner struct{ tests interface{ Run() int } }

// Run gives the exit status of the tests.
func (r Runner) Run() int {
	status := r.tests.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testdb:", err)
		return max(status, 1)
	}
	return status
}

// ready gives the address of the server, starting it for the first test. The
// lock is held. The server outlives that test and its context.
func (h *host) ready(ctx context.Context) (string, error) {
	if h.asked {
		return h.address, h.err
	}
	h.asked = true
	if address := os.Getenv(addressVariable); address != "" {
		h.address = address
		return h.address, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startPatience)
	defer cancel()
	h.server, h.err = startPrivate(ctx, Options{})
	if h.err == nil {
		h.address = h.server.URL()
	}
	return h.address, h.err
}

func (h *host) stop() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	server := h.server
	h.asked, h.address, h.server, h.err = false, "", nil, nil
	h.template, h.templateErr = "", nil
	if server == nil {
		return nil
	}
	return server.remove()
}

// newDatabase makes a database, from a template or empty, for one test.
func (h *host) newDatabase(t testing.TB, template string) string {
	t.Helper()
	h.mu.Lock()
	address, err := h.ready(t.Context())
	h.mu.Unlock()
	skipOrFail(t, err)
	name, err := createDatabase(t.Context(), address, template)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		if err := dropDatabase(address, name); err != nil {
			t.Errorf("testdb: %v", err)
		}
	})
	return onDatabase(address, name)
}

// skipOrFail skips a test where no PostgreSQL is installed.
func skipOrFail(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, embedded.ErrNoBinaries) || errors.Is(err, embedded.ErrUnsupported) {
		t.Skipf("SKIPPED: needs a database: %v", err)
	}
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
}

func createDatabase(ctx context.Context, address, template string) (string, error) {
	name := databaseName()
	statement := "CREATE DATABASE " + name
	if template != "" {
		// Copied as files, half the time of a copy through the log, which would be
		// gentler to what else the server does.
		statement += " TEMPLATE " + template + " STRATEGY file_copy"
	}
	if err := execute(ctx, address, statement); err != nil {
		return "", fmt.Errorf("no new database: %w", err)
	}
	return name, nil
}

// dropDatabase drops a database with the sessions that a test left in it. The
// test's own context has ended by then.
func dropDatabase(address, name string) error {
	return execute(context.Background(), address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

func execute(ctx context.Context, address, statement string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, statementPatience, fmt.Errorf("%s: not done within %s", statement, statementPatience))
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// databaseName is one that no other test has, on a server that several test
// binaries may share.
func databaseName() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return "corewait_test_" + hex.EncodeToString(random[:])
}

// onDatabase is the address with another database, in either form of address
// that PostgreSQL knows.
func onDatabase(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(parsed.Scheme, "postgres") {
		return address + " dbname=" + name
	}
	parsed.Path = "/" + name
	return parsed.String()
}
