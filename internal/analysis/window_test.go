package analysis_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
)

// One reading under a wrong clock must not make a window of years, second by
// second. The log's first reading is of 1970, its last of 2121.
func TestAWindowOfYearsIsRefusedAndAnExplicitOneHelps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "interrupts.log", twoGaps)
	_, err := analysis.Run(t.Context(), options(dir))
	if !errors.Is(err, analysis.ErrInput) || !strings.Contains(err.Error(), "over 100 days: a clock may have been wrong; choose a window with --from and --to") {
		t.Errorf("error %v", err)
	}
	o := options(dir)
	o.From, o.To = "2026-11-30T02:00:00Z", "2026-11-30T03:00:00Z"
	if _, err := analysis.Run(t.Context(), o); err != nil && strings.Contains(err.Error(), "100 days") {
		t.Errorf("error %v in spite of a window", err)
	}
}

// Figures of vmstat alone make no window, nor do waits of other events: then
// none is told, in place of the first second of 1970.
func TestAWindowInWhichNothingCouldBePlacedIsUnknown(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"vmstat alone":          " r  b   cs us sy id wa UTC\n 1  0   6  1  1 98  0 2026-11-30 18:00:01\n 1  0   6  1  1 98  0 2026-11-30 18:00:02\n 1  0   6  1  1 98  0 2026-11-30 18:00:03\n",
		"waits of other events": "SAMPLE_TIME,EVENT,TIME_WAITED\n2026-09-15 09:33:52.212,db file sequential read,434142\n2026-09-15 09:33:53.212,db file sequential read,434142\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "f", text)
			res, err := analysis.Run(t.Context(), options(dir))
			if err != nil {
				t.Fatal(err)
			}
			var document struct {
				Window map[string]*string `json:"window"`
			}
			var out bytes.Buffer
			if err := report.JSON(&out, res.Findings); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(out.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			from, given := document.Window["from"]
			if to := document.Window["to"]; !given || from != nil || to != nil {
				t.Errorf("window %s", out.String()[:200])
			}
			out.Reset()
			if err := report.Markdown(&out, report.Analysis(res.Findings[0])); err != nil || strings.Contains(out.String(), "1970") || strings.Contains(out.String(), "0001") {
				t.Errorf("error %v, report %.200s", err, out.String())
			}
		})
	}
}
