package analysis_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
)

// sharedFolder finds a folder of real files beside the repository, and skips
// the test where there is none.
func sharedFolder(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("COREWAIT_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		root = filepath.Join(dir, "..", "..", "..", "shared")
	}
	path := filepath.Join(root, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: no folder %s beside the repository (or set COREWAIT_SHARED)", filepath.Join("shared", name))
	}
	return path
}

func options(paths ...string) analysis.Options {
	return analysis.Options{Paths: paths, InstID: -1, Params: correlate.DefaultParams(), Limits: files.DefaultLimits()}
}

// The labels come with the cases: each was generated with a known cause.
func TestEveryLabelledCaseGetsAnAcceptedVerdictAndItsHeavyCPUs(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join(sharedFolder(t, "cases"), "case-*.expected.json"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no labelled cases: %v", err)
	}
	for _, label := range cases {
		dir := label[:len(label)-len(".expected.json")]
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(label)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Accept     []string `json:"accept"`
				HeavyCPUs  []int    `json:"heavy_cpus"`
				StallTicks int      `json:"stall_ticks"`
				Exposed    float64  `json:"exposed_share"`
			}
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			o := options(dir)
			o.DBTimezone, o.HostTimezone = "Asia/Seoul", "Asia/Seoul"
			res, err := analysis.Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			f := res.Findings[0]
			if !slices.Contains(want.Accept, f.Verdict) {
				t.Errorf("verdict %s, accepted %v: %s", f.Verdict, want.Accept, f.Headline)
			}
			if !slices.Equal(f.Interrupts.HeavyCPUs, want.HeavyCPUs) {
				t.Errorf("heavy CPUs %v, want %v", f.Interrupts.HeavyCPUs, want.HeavyCPUs)
			}
			if f.Waits.Stalls != want.StallTicks {
				t.Errorf("%d stalls, want %d", f.Waits.Stalls, want.StallTicks)
			}
			// The label has two decimals; LGWR's readings come once a second.
			if got := *f.Placement.HeavyShare; got < want.Exposed-0.02 || got > want.Exposed+0.02 {
				t.Errorf("heavy share %.3f, want about %.2f", got, want.Exposed)
			}
			unreadLines(t, f)
		})
	}
}

func unreadLines(t *testing.T, f *domain.Finding) {
	t.Helper()
	for _, in := range f.Inputs {
		if in.Unread > 0 {
			t.Errorf("%s: %d lines unread, first %s", in.Path, in.Unread, *in.FirstBad)
		}
	}
}
