package analysis_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/internal/analysis"
)

func TestOptionsOutOfRangeAreWrongUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(o *analysis.Options)
		says   string
	}{
		"an infinite rate":            {func(o *analysis.Options) { o.Params.HeavyPerSecond = math.Inf(1) }, "--heavy-per-second +Inf"},
		"a rate that is no number":    {func(o *analysis.Options) { o.Params.HeavyPerSecond = math.NaN() }, "--heavy-per-second NaN"},
		"the first instant of year 1": {func(o *analysis.Options) { o.From = "0001-01-01T00:00:00Z" }, "--from 0001-01-01T00:00:00Z: out of range"},
		"the last second of 1969":     {func(o *analysis.Options) { o.From = "1969-12-31T23:59:59Z" }, "years from 1970 to 2200"},
		"the first second of 2201":    {func(o *analysis.Options) { o.To = "2201-01-01T00:00:00Z" }, "--to 2201-01-01T00:00:00Z: out of range"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options("no/such/folder")
			tt.change(&o)
			if _, err := analysis.Run(t.Context(), o); !errors.Is(err, analysis.ErrUsage) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one of usage that says %q", err, tt.says)
			}
		})
	}
}

func TestTheEndsOfTheRangeOfYearsAreWithinIt(t *testing.T) {
	t.Parallel()
	o := options("no/such/folder")
	o.From, o.To = "1970-01-01T00:00:00Z", "2200-12-31T23:59:59Z"
	if _, err := analysis.Run(t.Context(), o); !errors.Is(err, analysis.ErrInput) || errors.Is(err, analysis.ErrUsage) {
		t.Errorf("error %v, want one of the folder that is not there", err)
	}
}

// Ten minutes of placement in a window of two centuries are eleven minutes and
// two hours at most, and no error.
func TestAWindowFarBeyondTheRecordsIsCutToThem(t *testing.T) {
	t.Parallel()
	o := options(twoInstances(t, []string{"ORDP1"}, []int{1}, ""))
	o.From, o.To = "1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z"
	res, err := analysis.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// 09:00:00 to 09:09:59 at +09:00, an hour before and an hour after.
	w := res.Series[0].Window
	if from, to := "2026-06-15T23:00:00Z", "2026-06-16T01:09:59Z"; w.From != micros(t, from) || w.To < micros(t, to) || w.To > micros(t, to)+2_000_000 {
		t.Errorf("window %v, want %s to %s", w, from, to)
	}
}

func micros(t *testing.T, s string) series.Micros {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return series.FromTime(at)
}
