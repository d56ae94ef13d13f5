package service_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/corewait/corewait/internal/testdb"
)

// atOnce is how many tests run at the same time, at least: they wait for ticks,
// leases and servers more than they compute.
const atOnce = 8

func TestMain(m *testing.M) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n != nil {
		if now, err := strconv.Atoi(n.Value.String()); err == nil && now < atOnce {
			_ = n.Value.Set(strconv.Itoa(atOnce)) // a number
		}
	}
	goleak.VerifyTestMain(testdb.Main(cleaned{m}))
}

// cleaned removes what the tests built.
type cleaned struct{ tests interface{ Run() int } }

func (c cleaned) Run() int {
	defer func() { _ = os.RemoveAll(built.folder) }() // in a folder for temporary files
	return c.tests.Run()
}

// built is the program that tests run as a process: it is linked once, for the
// first of them.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// buildPatience bounds the build: some seconds where the packages are compiled
// already, as they are for the tests.
const buildPatience = 5 * time.Minute

// program gives the path of corewait. The test is skipped, and says so, under
// -short and where there is no Go to build it by.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short: runs corewait serve as a process")
	}
	built.once.Do(build)
	if errors.Is(built.err, exec.ErrNotFound) {
		t.Skipf("SKIPPED: builds corewait: %v", built.err)
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, "corewait")
}

func build() {
	goProgram, err := exec.LookPath("go")
	if err != nil {
		built.err = err
		return
	}
	if built.folder, built.err = os.MkdirTemp("", "corewait-build-"); built.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, goProgram, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(built.folder, "corewait"), "github.com/corewait/corewait/cmd/corewait")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		built.err = fmt.Errorf("go build: %w\n%s", err, out)
	}
}
