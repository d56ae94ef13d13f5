package analysis_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/report"
)

// What the mode of FuzzAnalyze asks for, bit by bit. The low bits choose which
// file of the base the text replaces.
const (
	modeFile     = 0x0f
	modeBase     = 0x10 // add the base's other files
	modeHTML     = 0x20 // draw the page as well
	modeLMS      = 0x40
	modeTimezone = 0x80 // name zones and a window
)

// fuzzCut separates the files that one text of FuzzAnalyze makes.
const fuzzCut = "\n====\n"

// FuzzAnalyze runs the whole of analyze on files made of any bytes: a few of
// their own, or one beside a set that is valid.
func FuzzAnalyze(f *testing.F) {
	base := baseFiles(f)
	for i, b := range base {
		f.Add(uint8(i)|modeBase, []byte(b.text))
		f.Add(uint8(i)|modeBase|modeHTML|modeTimezone, []byte(b.text[:len(b.text)*2/3]))
	}
	f.Add(uint8(modeBase), []byte(withoutASHLengths(base[0].text)))
	f.Add(uint8(modeHTML), []byte(base[0].text+fuzzCut+base[1].text+fuzzCut+base[2].text))
	f.Add(uint8(modeLMS), []byte("1796006412\n           CPU0\n 24:  1  PCI-MSI eth0\n1796006417\n           CPU0\n 24:  9  PCI-MSI eth0\n"))
	f.Add(uint8(0), []byte(twoGaps))
	f.Fuzz(func(t *testing.T, mode uint8, text []byte) {
		// Fuzzing itself takes an input that is never done with for the end of its time.
		alarm := time.AfterFunc(time.Minute, func() { panic("a minute, and still at it") })
		defer alarm.Stop()
		dir := t.TempDir()
		for i, part := range bytes.SplitN(text, []byte(fuzzCut), 4) {
			write(t, dir, fmt.Sprintf("f%d", i), string(part))
		}
		if mode&modeBase != 0 {
			for i, b := range base {
				if i != int(mode&modeFile)%len(base) {
					write(t, dir, b.name, b.text)
				}
			}
		}
		o := options(dir)
		o.Limits = files.Limits{MaxDecompressed: 1 << 20, MaxMembers: 20}
		o.Params.Permutations, o.Params.Bootstraps = 20, 20 // enough to pass through all of the code
		if mode&modeLMS != 0 {
			o.Watch = "lms"
		}
		if mode&modeTimezone != 0 {
			o.DBTimezone, o.HostTimezone, o.From = "Asia/Seoul", "+09:00", "2026-06-16T00:00:10Z"
		}
		checkAnalysis(t, o, mode&modeHTML != 0)
	})
}

// withoutASHLengths prints all lengths in ASH rows as SQL*Plus prints numbers
// wider than their column.
func withoutASHLengths(rows string) string {
	return regexp.MustCompile(`"WAITING",\d+,`).ReplaceAllString(rows, `"WAITING",##########,`)
}

// twoGaps is a log of one CPU whose readings lie far apart.
const twoGaps = "0000000001\n           CPU0\n 24:  1  PCI-MSI eth0\n1796006417\n           CPU0\n 24:  9  PCI-MSI eth0\n4796006417\n           CPU0\n 24:  9  PCI-MSI eth0\n"

// checkAnalysis runs an analysis and every way of writing its findings.
func checkAnalysis(t *testing.T, o analysis.Options, html bool) {
	t.Helper()
	res, err := analysis.Run(t.Context(), o)
	if err != nil {
		if !errors.Is(err, analysis.ErrInput) && !errors.Is(err, analysis.ErrUsage) {
			t.Errorf("error of neither usage nor input: %v", err)
		}
		if res != nil {
			t.Errorf("findings beside the error %v", err)
		}
		return
	}
	var text bytes.Buffer
	if err := report.JSON(&text, res.Findings); err != nil { // NaN and Inf are errors here
		t.Fatalf("JSON: %v", err)
	}
	var document any
	if err := json.Unmarshal(text.Bytes(), &document); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	checkDocument(t, "", document)
	for _, f := range res.Findings {
		checkFinding(t, f)
		if err := errors.Join(report.Terminal(io.Discard, report.Analysis(f), report.TerminalOptions{Width: 80}), report.Markdown(io.Discard, report.Analysis(f))); err != nil {
			t.Errorf("report: %v", err)
		}
	}
	if html {
		var page []report.Illustrated
		for i, f := range res.Findings {
			page = append(page, report.Illustrated{Finding: f, Series: res.Series[i]})
		}
		if err := report.HTML(io.Discard, page); err != nil {
			t.Errorf("page: %v", err)
		}
	}
}

// verdicts are those of the contract.
var verdicts = []string{
	domain.CauseInterrupts, domain.CauseStorage, domain.CauseCPUSaturation, domain.CauseCPUSteal, domain.CauseSwapping,
	domain.CauseRTPreemption, domain.CauseCPULocation, domain.CauseRACAck, domain.CauseDataGuard, domain.CauseForegroundWakeup,
	domain.CausePostPollSwitch, domain.CauseLogSwitch, domain.Undetermined, domain.InsufficientData,
}

// checkFinding checks what the contract promises of one finding.
func checkFinding(t *testing.T, f *domain.Finding) {
	t.Helper()
	if f.Schema != domain.AnalysisSchema || !slices.Contains(verdicts, f.Verdict) || f.Headline == "" || f.Grade != "A" && f.Grade != "B" {
		t.Errorf("schema %q, verdict %q, grade %q, headline %q", f.Schema, f.Verdict, f.Grade, f.Headline)
	}
	if f.Window.To.Before(f.Window.From) {
		t.Errorf("window %v", f.Window)
	}
	for _, m := range f.Mixed {
		if !slices.Contains(verdicts, m) {
			t.Errorf("mixed of %q", m)
		}
	}
	for _, c := range f.Causes {
		known := []string{domain.Supported, domain.Rejected, domain.Inconclusive, domain.NotObservable}
		if !slices.Contains(known, c.Verdict) || !slices.Contains(verdicts[:12], c.Cause) {
			t.Errorf("cause %+v", c)
		}
	}
	if c := f.Coverage; c.PlacementSeconds < 0 || c.InterruptSeconds < 0 || c.Waits < 0 || c.UnplacedStalls < 0 {
		t.Errorf("coverage %+v", c)
	}
	if c := f.Coincidence; c != nil {
		if c.StallsExposed < 0 || c.StallsUnexposed < 0 || c.SecondsExposed < 0 || c.SecondsUnexposed < 0 || c.VisitsExposed < 0 {
			t.Errorf("coincidence %+v", c)
		}
		for _, ci := range [][2]*float64{c.RelativeRiskCI, c.StratifiedRRCI} {
			if ci[0] != nil && ci[1] != nil && *ci[0] > *ci[1] {
				t.Errorf("interval [%v, %v]", *ci[0], *ci[1])
			}
		}
	}
}

// checkDocument walks a JSON document: probabilities, shares and Gini
// coefficients lie within [0, 1], and no count is negative.
func checkDocument(t *testing.T, name string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			if k != "params" {
				checkDocument(t, k, e)
			}
		}
	case []any:
		for _, e := range v {
			checkDocument(t, name, e)
		}
	case float64:
		const rounding = 1e-9
		if isShare(name) && (v < -rounding || v > 1+rounding) || math.IsInf(v, 0) {
			t.Errorf("%s is %v", name, v)
		}
		if v < 0 && isCount(name) {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func isShare(name string) bool {
	switch name {
	case "p_value", "dose_trend_p", "dose_trend_within_socket_p", "placebo_p", "attributable_share", "attributable_share_ci95",
		"heavy_share", "sibling_share", "share", "gini", "gini_cores":
		return true
	}
	return false
}

func isCount(name string) bool {
	switch name {
	case "per_s", "stalls", "waiters", "longest_ms", "records", "unread", "visits", "migrations_per_s", "online_cpus", "p50_ms", "p95_ms", "p99_ms", "max_ms",
		"over_threshold", "over_threshold_low", "over_threshold_high", "session_only", "expected", "expected_exposed", "stalls_per_hour", "hours":
		return true
	}
	return false
}

// baseFile is one file of the base set.
type baseFile struct{ name, text string }

// baseFiles are the files that a minute and a half of a small node leaves.
func baseFiles(t testing.TB) []baseFile {
	t.Helper()
	s := refcase.Scenario{
		Seed: 5, Node: "db1", Instance: "ORDP1", Hours: 90.0 / 3600,
		Start:        time.Date(2026, time.June, 16, 9, 0, 0, 0, time.FixedZone("KST", 9*60*60)),
		Machine:      refcase.Machine{Sockets: 2, CoresPerSocket: 2, ThreadsPerCore: 1},
		Load:         refcase.Load{CommitsPerS: 100, WanderSeconds: 10, Wander: 0.1, Busy: 0.1},
		Interconnect: refcase.Interconnect{Socket: 1, QueuesPerS: []float64{4000, 50}},
		LGWR:         refcase.LGWR{Dwell: 2 * time.Second, HeavyPull: 1.5, WritesPerS: 100},
		Stalls: refcase.Stalls{
			Cause: domain.CauseInterrupts, Count: 20, Min: 110 * time.Millisecond, Max: 400 * time.Millisecond, WaitersMin: 2, WaitersMax: 3,
		},
		Records: refcase.Records{
			Interrupts: 5 * time.Second, MPStat: 10 * time.Second, IOStat: 10 * time.Second, SysStat: 10 * time.Second,
			Histogram: 10 * time.Second, ASH: refcase.ASHFull, Cores: true, Bond: true,
		},
	}
	dir := scenarioFiles(t, s)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var base []baseFile
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		base = append(base, baseFile{e.Name(), string(text)})
	}
	if len(base) > modeFile {
		t.Fatalf("%d files do not fit into the mode", len(base))
	}
	return base
}

// The base must reach the engine's inner parts, or its mutations test little.
func TestTheFuzzersBaseReachesTheInterruptTest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, b := range baseFiles(t) {
		write(t, dir, b.name, b.text)
	}
	res, err := analysis.Run(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	f := res.Findings[0]
	if f.Coincidence == nil || f.Coincidence.PValue == nil || f.Coincidence.StallsExposed == 0 {
		t.Errorf("verdict %s: %s; coincidence %+v", f.Verdict, f.Headline, f.Coincidence)
	}
	if strings.Contains(f.Headline, "NaN") {
		t.Errorf("headline %q", f.Headline)
	}
}
