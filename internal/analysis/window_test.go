package analysis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/corewait/corewait/internal/analysis"
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
