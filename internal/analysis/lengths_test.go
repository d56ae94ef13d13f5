package analysis_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/analysis"
)

// withLengths analyses the fuzzer's base with other lengths in its ASH rows:
// those that hide matches are printed as SQL*Plus prints numbers wider than
// their column. Without hide there are no ASH rows at all.
func withLengths(t *testing.T, hide string, drop ...string) *domain.Finding {
	t.Helper()
	dir := t.TempDir()
	for _, b := range baseFiles(t) {
		if b.name == "ash.csv" {
			if hide == "" {
				continue
			}
			b.text = regexp.MustCompile(`"WAITING",`+hide+`,`).ReplaceAllString(b.text, `"WAITING",##########,`)
		}
		if len(drop) == 0 || b.name != drop[0] {
			write(t, dir, b.name, b.text)
		}
	}
	res, err := analysis.Run(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	return res.Findings[0]
}

// Where no length in ASH rows tells of a stall and some could not be read, the
// histograms of the same waits come to what they come to alone.
func TestHistogramsStandInForASHWithoutLengths(t *testing.T) {
	t.Parallel()
	alone := withLengths(t, "")
	if alone.Waits == nil || alone.Waits.Stalls == 0 || *alone.Coverage.WaitSource != "histogram" {
		t.Fatalf("waits %+v without ASH rows", alone.Waits)
	}
	for name, hide := range map[string]string{
		"none could be read":           `\d+`,
		"those of 100 ms and more not": `\d{6,}`, // microseconds
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withLengths(t, hide)
			if diff := cmp.Diff(alone.Waits, f.Waits); diff != "" || *f.Coverage.WaitSource != "histogram" {
				t.Errorf("waits from %s (-histograms alone +got):\n%s", *f.Coverage.WaitSource, diff)
			}
			if diff := cmp.Diff(alone.Window, f.Window); diff != "" {
				t.Errorf("window (-histograms alone +got):\n%s", diff)
			}
			if !strings.Contains(strings.Join(f.Warnings, "\n"), "waits in ASH rows have a length that could not be read, and no other reaches 100ms: the histograms are used instead") {
				t.Errorf("warnings %q", f.Warnings)
			}
		})
	}
}

func TestASHIsUsedWhereItsLengthsTellOrNothingElseDoes(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*domain.Finding{
		"all lengths are read":    withLengths(t, `x`),
		"some lengths are read":   withLengths(t, `[12]\d{5,}`),
		"there are no histograms": withLengths(t, `\d+`, "event_histogram.csv"),
	} {
		if *f.Coverage.WaitSource != "ash" {
			t.Errorf("%s: waits come from %s", name, *f.Coverage.WaitSource)
		}
	}
}
