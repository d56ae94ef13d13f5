package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// commit is a wait of log file sync as a test writes it, both in seconds.
type commit struct{ at, waited float64 }

// seen is a stall as a test writes it.
type seen struct {
	At, Onset, Longest float64
	Waiters            int
}

func seenStalls(set *stallSet) []seen {
	var out []seen
	for _, k := range set.stalls {
		out = append(out, seen{float64(k.at-origin) / 1e6, float64(k.onset-origin) / 1e6, float64(k.longest) / 1e6, k.waiters})
	}
	return out
}

func findIn(commits []commit) *stallSet {
	s := host(3600)
	for _, c := range commits {
		slowCommit(s, c.at, c.waited)
	}
	return findStalls(s, DefaultParams())
}

func TestWaitsOfOneDelayAreOneStall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		commits []commit
		want    []seen
	}{
		{"sixty sessions behind one delay", []commit{{10, 0.2}, {10, 0.3}, {10, 0.25}}, []seen{{10, 9.7, 0.3, 3}}},
		{"a wait under the threshold is none", []commit{{10, 0.0999}}, nil},
		{"a wait of the threshold is", []commit{{10, 0.1}}, []seen{{10, 9.9, 0.1, 1}}},
		{"a wait at the next tick that is shorter than the ticks are apart began later", []commit{{10, 0.2}, {11, 0.9}}, []seen{{10, 9.8, 0.2, 1}, {11, 10.1, 0.9, 1}}},
		{"one exactly as long as the ticks are apart as well", []commit{{10, 0.2}, {11, 1}}, []seen{{10, 9.8, 0.2, 1}, {11, 10, 1, 1}}},
		{"a longer one was there already", []commit{{10, 1.2}, {11, 1.1}}, []seen{{10, 8.8, 1.2, 2}}},
		{"tick by tick", []commit{{10, 2.5}, {11, 2.4}, {12, 2.3}}, []seen{{10, 7.5, 2.5, 3}}},
		{
			"quick commits in between do not bring stalls nearer to each other",
			[]commit{{10, 0.2}, {11, 0.001}, {12, 1.5}},
			[]seen{{10, 9.8, 0.2, 1}, {12, 10.5, 1.5, 1}},
		},
		{
			"a stall is not continued a minute later",
			[]commit{{10, 0.2}, {69, 0.001}, {70, 1.5}},
			[]seen{{10, 9.8, 0.2, 1}, {70, 68.5, 1.5, 1}},
		},
		{"a longer wait at a later tick reaches across quick ones", []commit{{10, 2.5}, {11, 0.001}, {12, 2.4}}, []seen{{10, 7.5, 2.5, 2}}},
		{"a delay may have begun as early as its longest wait", []commit{{10, 0.2}, {11, 1.5}}, []seen{{10, 9.5, 1.5, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := findIn(tt.commits)
			if d := cmp.Diff(tt.want, seenStalls(set)); d != "" {
				t.Errorf("stalls differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestOneWaiterAmongQuickCommitsIsTheSessionsOwnDelay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		commits             []commit
		stalls, sessionOnly int
	}{
		{"two others committed quickly", []commit{{10, 0.3}, {10, 0.002}, {10, 0.004}}, 0, 1},
		{"one other says too little", []commit{{10, 0.3}, {10, 0.002}}, 1, 0},
		{"rows without a time yet say nothing", []commit{{10, 0.3}, {10, 0}, {10, 0}}, 1, 0},
		{"waits of over half the threshold are not quick", []commit{{10, 0.3}, {10, 0.06}, {10, 0.07}}, 1, 0},
		{"two waiters are no session's own delay", []commit{{10, 0.3}, {10, 0.2}, {10, 0.002}, {10, 0.004}, {10, 0.003}}, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := findIn(tt.commits)
			if len(set.stalls) != tt.stalls || set.sessionOnly != tt.sessionOnly {
				t.Errorf("%d stalls and %d session-only, want %d and %d", len(set.stalls), set.sessionOnly, tt.stalls, tt.sessionOnly)
			}
		})
	}
}

// By hand: an ASH row of length TW stands for max(1, period/TW) waits, so the
// rows of 2, 10, 100, 500 and 2000 ms weigh 500, 100, 10, 2 and 1, together
// 613. Half is 306.5: 2 ms; 95 % is 582.35, and 500 + 100 reach it: 10 ms;
// 99 % is 606.87, and 610 reaches it: 100 ms.
func TestQuantilesWeighARowByTheWaitsItStandsFor(t *testing.T) {
	t.Parallel()
	set := findIn([]commit{{10, 0.5}, {20, 0.002}, {30, 2}, {40, 0.1}, {50, 0.01}, {60, 0}})
	if d := cmp.Diff([4]float64{2, 10, 100, 2000}, set.quantiles); d != "" {
		t.Errorf("p50, p95, p99 and maximum differ (-want +got):\n%s", d)
	}
	w := set.describe(domain.EventLogFileSync, DefaultParams())
	near(t, "p95", known(w.P95MS), 10, 0)
	if w.OverThreshold == nil || *w.OverThreshold != 3 || w.ThresholdMS != 100 || w.Stalls != 3 {
		t.Errorf("waits = %+v", w)
	}
}

// By hand: two waits of 0.1 s and more were read, three were not.
func TestWaitsOfUnknownLengthWidenTheCountAndMakeNoStall(t *testing.T) {
	t.Parallel()
	set := findIn([]commit{{10, 0.5}, {20, 0.2}, {20, -1}, {30, -1}, {40, -1}, {50, 0.002}})
	if d := cmp.Diff([]seen{{10, 9.5, 0.5, 1}, {20, 19.8, 0.2, 1}}, seenStalls(set)); d != "" {
		t.Errorf("stalls differ (-want +got):\n%s", d)
	}
	w := set.describe(domain.EventLogFileSync, DefaultParams())
	if w.OverThreshold != nil || *w.OverThresholdLow != 2 || *w.OverThresholdHigh != 5 {
		t.Errorf("waits over the threshold: %+v, want 2 to 5", w)
	}
	if w.P50MS != nil || w.P99MS != nil || w.MaxMS != nil {
		t.Errorf("percentiles beside unknown lengths: %+v", w)
	}
	if want := "3 waits have a length that could not be read; they may be stalls"; set.unreadText() != want {
		t.Errorf("said %q, want %q", set.unreadText(), want)
	}
}

// Over one in ten of the waits that are or may be long: 2 of 18 + 2 are just
// that (not over), 3 of 18 + 3 are over.
func TestCountsOfStallsStandOnWaitsThatWereRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		long, unread int
		want         bool
	}{
		{"all were read", 0, 0, false},
		{"none was", 0, 1, true},
		{"one in ten was not", 18, 2, false},
		{"more were not", 18, 3, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var commits []commit
			for i := range tt.long {
				commits = append(commits, commit{float64(10 * (i + 1)), 0.5})
			}
			for i := range tt.unread {
				commits = append(commits, commit{float64(1000 + 10*i), -1})
			}
			commits = append(commits, commit{3000, 0.001})
			if got := findIn(commits).blind(); got != tt.want {
				t.Errorf("blind = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAFindingOnWaitsThatCouldNotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	s := lgwrCase()
	unread := 0
	for i := range s.Waits {
		if s.Waits[i].TimeWaited >= 100_000 {
			s.Waits[i].TimeWaited = series.UnknownLength
			unread++
		}
	}
	f := Analyze(s, quickParams())
	text := fmt.Sprintf("%d waits have a length that could not be read; they may be stalls", unread)
	if f.Verdict != domain.InsufficientData || !strings.Contains(f.Headline, text) || strings.Contains(f.Headline, "only 0 stalls") {
		t.Errorf("verdict %s: %s", f.Verdict, f.Headline)
	}
	if !slices.Contains(f.Warnings, text) {
		t.Errorf("warnings %q lack %q", f.Warnings, text)
	}
}

func TestOwnWritesOfUnknownLengthClearNoStorage(t *testing.T) {
	t.Parallel()
	s := host(60)
	write := series.Wait{At: at(10), TimeWaited: 1000, Event: domain.EventLogFileParallelWrite}
	s.OwnWaits = []series.Wait{write}
	if !newOwnWrites(s, stallsAt(10)).seen {
		t.Fatal("a write that was read is not seen")
	}
	write.TimeWaited = series.UnknownLength
	s.OwnWaits = append(s.OwnWaits, write)
	if newOwnWrites(s, stallsAt(10)).seen {
		t.Error("a write of unknown length counts as quick")
	}
}

func TestAFilteredSpoolGivesNoPercentilesButAMaximum(t *testing.T) {
	t.Parallel()
	s := host(3600)
	slowCommit(s, 10, 0.5)
	slowCommit(s, 20, 0.8)
	s.Filtered = true
	set := findStalls(s, DefaultParams())
	w := set.describe(domain.EventLogFileSync, DefaultParams())
	if w.P50MS != nil || w.P95MS != nil || w.P99MS != nil {
		t.Errorf("percentiles of a filtered spool: %+v", w)
	}
	near(t, "maximum", known(w.MaxMS), 800, 0)
	if len(set.notes) != 1 || !strings.Contains(set.notes[0], "long waits only") {
		t.Errorf("notes = %q", set.notes)
	}
}

func TestSourcesAreNamed(t *testing.T) {
	t.Parallel()
	ash := host(60)
	slowCommit(ash, 10, 0.2)
	history := host(60)
	slowCommit(history, 10, 0.2)
	history.History = true
	outside := host(60)
	slowCommit(outside, 100, 0.2)
	quiet := host(60)
	quiet.Ticks = []series.Tick{{ID: 1, At: at(1)}}
	histogram := host(60)
	histogram.Histograms = []series.HistogramStep{{Span: span(10, 11), Event: domain.EventLogFileSync}}
	other := host(60)
	other.Histograms = []series.HistogramStep{{Span: span(10, 11), Event: "db file sequential read"}}
	tests := []struct {
		name   string
		s      *series.Series
		source string
		waits  int
	}{
		{"rows of V$ACTIVE_SESSION_HISTORY", ash, "ash", 1},
		{"rows of DBA_HIST_ACTIVE_SESS_HISTORY", history, "ash-history", 1},
		{"rows outside the window are no source", outside, "", 0},
		{"a spool that shows no commit wait at all", quiet, "ash", 0},
		{"histograms of log file sync", histogram, "histogram", 0},
		{"histograms of another event are none", other, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := findStalls(tt.s, DefaultParams())
			if set.source != tt.source || set.waits != tt.waits {
				t.Errorf("source %q with %d waits, want %q with %d", set.source, set.waits, tt.source, tt.waits)
			}
			if (set.describe(domain.EventLogFileSync, DefaultParams()) == nil) != (tt.source == "") {
				t.Error("waits are described without a source, or not described with one")
			}
		})
	}
}

func TestLateTicksAreCountedAsASignOfSaturation(t *testing.T) {
	t.Parallel()
	s := host(60)
	slowCommit(s, 1, 0.2)
	s.Ticks = []series.Tick{
		{ID: 1, At: at(1)},
		{ID: 2, At: at(2)},
		{ID: 3, At: at(3.6)},   // late
		{ID: 6, At: at(6.7)},   // three ids in 3.1 s: on time
		{ID: 7, At: at(8.2)},   // exactly 1.5 s: not over
		{ID: 17, At: at(40)},   // ten ids: the spool is filtered there
		{ID: -1, At: at(45)},   // no id
		{ID: 20, At: at(50)},   // nothing to compare with
		{ID: 21, At: at(51.6)}, // late
	}
	if set := findStalls(s, DefaultParams()); set.slowTicks != 2 {
		t.Errorf("%d late ticks, want 2", set.slowTicks)
	}
	s.History = true // one sample in ten: ids say nothing
	if set := findStalls(s, DefaultParams()); set.slowTicks != 0 {
		t.Errorf("%d late ticks in history, want none", set.slowTicks)
	}
}

// step is a histogram's gain between two readings as a test writes it: bucket
// edges in ms, LAST_UPDATE_TIME in seconds.
type step struct {
	from, to float64
	buckets  []bucket
}

type bucket struct {
	below      float64
	gained     int64
	lastUpdate float64 // 0 unknown
}

func withHistograms(steps []step) *series.Series {
	s := host(3600)
	for _, k := range steps {
		h := series.HistogramStep{Span: span(k.from, k.to), Event: domain.EventLogFileSync}
		for _, b := range k.buckets {
			g := series.BucketStep{Below: series.Micros(math.Round(b.below * 1000)), Gained: b.gained}
			if b.lastUpdate > 0 {
				g.LastUpdate = at(b.lastUpdate)
			}
			h.Steps = append(h.Steps, g)
		}
		s.Histograms = append(s.Histograms, h)
	}
	return s
}

func TestHistogramsGiveStallsFrom131MillisecondsOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		steps    []step
		want     []seen
		over     [2]int
		unplaced int
	}{
		{
			"the bucket from 65 to 131 ms is the bracket and no stall",
			[]step{{10, 11, []bucket{{65.536, 9, 0}, {131.072, 3, 0}}}}, nil, [2]int{0, 3}, 0,
		},
		{
			"the next one is a stall in the middle of its interval",
			[]step{{10, 11, []bucket{{131.072, 1, 0}, {262.144, 2, 0}}}}, []seen{{10.5, 10.368928, 0.131072, 2}}, [2]int{2, 3}, 0,
		},
		{
			"LAST_UPDATE_TIME is the end of a wait that lasted at least the bucket's lower edge",
			[]step{{10, 11, []bucket{{262.144, 1, 10.8}}}}, []seen{{10.734464, 10.603392, 0.131072, 1}}, [2]int{1, 1}, 0,
		},
		{
			"a LAST_UPDATE_TIME outside the interval places nothing",
			[]step{{10, 11, []bucket{{262.144, 1, 9}}}}, []seen{{10.5, 10.368928, 0.131072, 1}}, [2]int{1, 1}, 0,
		},
		{
			"the longest bucket tells the length",
			[]step{{10, 11, []bucket{{262.144, 4, 0}, {1048.576, 1, 0}}}}, []seen{{10.5, 9.975712, 0.524288, 5}}, [2]int{5, 5}, 0,
		},
		{
			"adjacent intervals merge",
			[]step{{10, 11, []bucket{{262.144, 2, 0}}}, {11, 12, []bucket{{524.288, 1, 0}}}}, []seen{{10.5, 10.368928, 0.262144, 3}}, [2]int{3, 3}, 0,
		},
		{
			"an interval without long waits separates them",
			[]step{{10, 11, []bucket{{262.144, 2, 0}}}, {11, 12, []bucket{{1.024, 500, 0}}}, {12, 13, []bucket{{262.144, 1, 0}}}},
			[]seen{{10.5, 10.368928, 0.131072, 2}, {12.5, 12.368928, 0.131072, 1}}, [2]int{3, 3}, 0,
		},
		{
			"an interval over two seconds cannot place a stall",
			[]step{{10, 15, []bucket{{262.144, 1, 0}}}}, nil, [2]int{1, 1}, 1,
		},
		{
			"unless LAST_UPDATE_TIME does",
			[]step{{10, 15, []bucket{{262.144, 1, 13}}}}, []seen{{12.934464, 12.803392, 0.131072, 1}}, [2]int{1, 1}, 0,
		},
		{
			"in the milli view the bracket is 64 to 128 ms",
			[]step{{10, 11, []bucket{{64, 7, 0}, {128, 3, 0}, {256, 1, 0}}}}, []seen{{10.5, 10.372, 0.128, 1}}, [2]int{1, 4}, 0,
		},
		{"an interval outside the window does not count", []step{{4000, 4001, []bucket{{262.144, 1, 0}}}}, nil, [2]int{0, 0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := findStalls(withHistograms(tt.steps), DefaultParams())
			if d := cmp.Diff(tt.want, seenStalls(set)); d != "" {
				t.Errorf("stalls differ (-want +got):\n%s", d)
			}
			if set.over != tt.over || set.unplaced != tt.unplaced {
				t.Errorf("over the threshold %v, unplaced %d; want %v, %d", set.over, set.unplaced, tt.over, tt.unplaced)
			}
		})
	}
}

func TestHistogramsGiveABracketAndNoPercentiles(t *testing.T) {
	t.Parallel()
	set := findStalls(withHistograms([]step{{10, 11, []bucket{{1.024, 100, 0}, {131.072, 3, 0}, {262.144, 2, 0}}}}), DefaultParams())
	w := set.describe(domain.EventLogFileSync, DefaultParams())
	if w.OverThreshold != nil || *w.OverThresholdLow != 2 || *w.OverThresholdHigh != 5 || set.waits != 105 {
		t.Errorf("waits over the threshold: %+v of %d", w, set.waits)
	}
	if w.P50MS != nil || w.P99MS != nil || w.MaxMS != nil {
		t.Errorf("percentiles from a histogram: %+v", w)
	}
}

func TestAThresholdOnABucketsEdgeNeedsNoBracket(t *testing.T) {
	t.Parallel()
	prm := DefaultParams()
	prm.Threshold = 131_072 * time.Microsecond
	set := findStalls(withHistograms([]step{{10, 11, []bucket{{131.072, 3, 0}, {262.144, 2, 0}}}}), prm)
	if w := set.describe(domain.EventLogFileSync, prm); w.OverThreshold == nil || *w.OverThreshold != 2 {
		t.Errorf("waits over the threshold = %+v, want 2", w)
	}
}
