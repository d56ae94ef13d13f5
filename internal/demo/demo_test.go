package demo_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/demo"
	"github.com/corewait/corewait/internal/testdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testdb.Main(m)) }

// The whole of it: agent, endpoint, store, import, review, finding, doctor.
func TestTheReferenceCaseGoesThroughTheServiceAndIsFound(t *testing.T) {
	testdb.URL(t) // skips where there is no PostgreSQL
	temporary := t.TempDir()
	if os.Geteuid() == 0 || len(temporary) > 50 { // the server's user, and a socket's path
		temporary = os.TempDir()
	}
	t.Setenv("TMPDIR", temporary)
	var said []string
	var found []*domain.Finding
	err := demo.Run(t.Context(), demo.Options{
		Version: "test", Once: true,
		Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
		Found: func(r *analysis.Result) error {
			found = r.Findings
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The reference case: docs of internal/refcase and DESIGN's description of it.
	if len(found) != 1 || found[0].Verdict != domain.CauseInterrupts || found[0].Instance != "ORDP1" || len(found[0].Interrupts.HeavyCPUs) != 16 {
		t.Fatalf("%d findings, the first %+v", len(found), found)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"pushed 61 minutes of node db1", "imported ", "the review opened incident ", "/api/v1/incidents/", "ok    agent db1", "ok    coverage db1: "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q was not said:\n%s", want, all)
		}
	}
}

func TestTheDemoEndsWhenItIsTold(t *testing.T) {
	testdb.URL(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := demo.Run(ctx, demo.Options{
		Say:   func(string, ...any) {},
		Found: func(*analysis.Result) error { cancel(); return nil },
	})
	if err != nil {
		t.Errorf("error %v", err)
	}
}
