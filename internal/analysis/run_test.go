package analysis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/refcase"
)

// referenceFiles writes the reference case into a new folder.
func referenceFiles(t *testing.T) string {
	t.Helper()
	return scenarioFiles(t, refcase.Reference())
}

// scenarioFiles writes a scenario into a new folder.
func scenarioFiles(t testing.TB, s refcase.Scenario) string {
	t.Helper()
	dir := t.TempDir()
	w, err := refcase.NewFileWriter(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Generate(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The reference case is told in DESIGN: 64 CPUs, heavy ones 24-31 and 56-63 on
// 8 cores, a Gini coefficient of 0.80.
func TestTheReferenceCaseIsFoundFromItsFiles(t *testing.T) {
	t.Parallel()
	res, err := analysis.Run(context.Background(), options(referenceFiles(t)))
	if err != nil {
		t.Fatal(err)
	}
	f := res.Findings[0]
	if f.Verdict != domain.CauseInterrupts {
		t.Errorf("verdict %s: %s", f.Verdict, f.Headline)
	}
	want := []int{24, 25, 26, 27, 28, 29, 30, 31, 56, 57, 58, 59, 60, 61, 62, 63}
	if diff := cmp.Diff(want, f.Interrupts.HeavyCPUs); diff != "" {
		t.Errorf("heavy CPUs (-want +got):\n%s", diff)
	}
	if f.Interrupts.HeavyCores == nil || *f.Interrupts.HeavyCores != 8 {
		t.Errorf("heavy cores %v, want 8", f.Interrupts.HeavyCores)
	}
	if f.Interrupts.Gini == nil || math.Abs(*f.Interrupts.Gini-0.80) > 0.01 {
		t.Errorf("gini %v, want 0.80", f.Interrupts.Gini)
	}
	if f.Interrupts.OnlineCPUs != 64 || f.Node != "db1" || f.Instance != "ORDP1" {
		t.Errorf("%d CPUs, node %q, instance %q", f.Interrupts.OnlineCPUs, f.Node, f.Instance)
	}
	unreadLines(t, f)
	if len(res.Problems)+len(res.Unknown) > 0 {
		t.Errorf("problems %v, unknown files %v", res.Problems, res.Unknown)
	}
}

// The same records straight into the series and through real file formats must
// give the same evidence: counts to the digit, rates as the formats round them.
func TestFilesAndRecordsOfOneScenarioGiveTheSameFinding(t *testing.T) {
	t.Parallel()
	res, err := analysis.Run(context.Background(), options(referenceFiles(t)))
	if err != nil {
		t.Fatal(err)
	}
	s := refcase.Reference()
	b := series.NewBuilder(domain.WatchLGWR(), domain.Window{})
	if _, err := s.Generate(b); err != nil {
		t.Fatal(err)
	}
	choices, _, err := b.Instances(series.Choice{Node: s.Node, InstID: -1})
	if err != nil {
		t.Fatal(err)
	}
	direct, file := correlate.Analyze(b.Build(choices[0]), correlate.DefaultParams()), res.Findings[0]
	if direct.Verdict != file.Verdict || direct.Waits.Stalls != file.Waits.Stalls {
		t.Errorf("direct %s with %d stalls, from files %s with %d", direct.Verdict, direct.Waits.Stalls, file.Verdict, file.Waits.Stalls)
	}
	d, f := direct.Coincidence, file.Coincidence
	if d.StallsExposed != f.StallsExposed || d.StallsUnexposed != f.StallsUnexposed || d.VisitsExposed != f.VisitsExposed {
		t.Errorf("direct %d/%d in %d visits, from files %d/%d in %d", d.StallsExposed, d.StallsUnexposed, d.VisitsExposed, f.StallsExposed, f.StallsUnexposed, f.VisitsExposed)
	}
	if diff := cmp.Diff(direct.Interrupts.HeavyCPUs, file.Interrupts.HeavyCPUs); diff != "" {
		t.Errorf("heavy CPUs (-direct +files):\n%s", diff)
	}
	if math.Abs(*direct.Interrupts.Gini-*file.Interrupts.Gini) > 1e-6 {
		t.Errorf("gini %v and %v", *direct.Interrupts.Gini, *file.Interrupts.Gini)
	}
}

func TestTheSameFilesGiveTheSameFindingTwice(t *testing.T) {
	t.Parallel()
	dir := referenceFiles(t)
	first, err := analysis.Run(context.Background(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	second, err := analysis.Run(context.Background(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Findings, second.Findings); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestAWindowNarrowsEverything(t *testing.T) {
	t.Parallel()
	o := options(referenceFiles(t))
	o.From, o.To, o.Timezone = "2026-06-16 09:10", "2026-06-16T09:40:00", "Asia/Seoul"
	res, err := analysis.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := res.Findings[0]
	if got := f.Window.Duration(); got != 30*time.Minute {
		t.Errorf("window of %v", got)
	}
	if f.Window.From.Format(time.RFC3339) != "2026-06-16T00:10:00Z" {
		t.Errorf("from %v", f.Window.From)
	}
	if s := f.Coverage.PlacementSeconds; s < 1700 || s > 1801 {
		t.Errorf("placement known for %.0f s of 1800", s)
	}
	if s := f.Coverage.InterruptSeconds; s < 1780 || s > 1801 {
		t.Errorf("interrupts known for %.0f s of 1800", s)
	}
}

func TestHostAndOracleFilesThatDoNotOverlapAreAnErrorThatNamesTheOffset(t *testing.T) {
	t.Parallel()
	o := options(referenceFiles(t))
	o.DBTimezone, o.HostTimezone = "UTC", "Asia/Seoul" // ash.csv carries no zone; the histograms beside it do
	_, err := analysis.Run(context.Background(), o)
	if !errors.Is(err, analysis.ErrInput) || !strings.Contains(err.Error(), "9h ahead of the host's") {
		t.Errorf("error %v", err)
	}
}

func TestInputsThatCannotBeUsedSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "notes.txt", "these are notes\nof no known kind\n")
	tests := map[string]struct {
		change func(*analysis.Options)
		is     error
		says   string
	}{
		"nothing of a known kind":    {func(*analysis.Options) {}, analysis.ErrInput, "pidstat -t -p"},
		"a path that does not exist": {func(o *analysis.Options) { o.Paths = []string{filepath.Join(dir, "none")} }, analysis.ErrInput, "none"},
		"no paths":                   {func(o *analysis.Options) { o.Paths = nil }, analysis.ErrUsage, "no files"},
		"a zone that is none":        {func(o *analysis.Options) { o.DBTimezone = "Mars/Olympus" }, analysis.ErrUsage, "--db-timezone"},
		"a window without a zone":    {func(o *analysis.Options) { o.From = "2026-06-16 09:10" }, analysis.ErrUsage, "--timezone"},
		"a window that ends before it begins": {func(o *analysis.Options) {
			o.From, o.To = "2026-06-16T10:00:00Z", "2026-06-16T09:00:00Z"
		}, analysis.ErrUsage, "not before"},
		"a threshold of zero": {func(o *analysis.Options) { o.Params.Threshold = 0 }, analysis.ErrUsage, "--threshold"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(dir)
			tt.change(&o)
			_, err := analysis.Run(context.Background(), o)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one of %v that says %q", err, tt.is, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %v", err)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// twoInstances writes what a node with the given LGWRs and waits of the given
// INST_IDs leaves: ten minutes of pidstat and a few slow commits.
func twoInstances(t *testing.T, sids []string, instIDs []int, extra string) string {
	t.Helper()
	dir := t.TempDir()
	var p, a strings.Builder
	p.WriteString("Linux 5.15.0 (db1) \t2026-06-16 \t_x86_64_\t(4 CPU)\n\n09:00:00+0900   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n")
	for s := range 600 {
		for i, sid := range sids {
			fmt.Fprintf(&p, "09:%02d:%02d+0900 54321         -     %d    7.00    4.00    0.00     0.30   11.00     %d  |__ora_lgwr_%s\n", s/60, s%60, 100+i, s/5%4, sid)
		}
	}
	a.WriteString("SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,SESSION_TYPE,EVENT,SESSION_STATE,TIME_WAITED,PROGRAM\n")
	for i, id := range instIDs {
		for k := range 10 {
			fmt.Fprintf(&a, "%d,2026-06-16 09:%02d:30.500,%d,%d,1,FOREGROUND,log file sync,WAITING,250000,app\n", 1000+60*k, k, id, 50+i)
		}
	}
	a.WriteString(extra)
	write(t, dir, "pidstat.txt", p.String())
	write(t, dir, "ash.csv", a.String())
	return dir
}

func TestRowsOfSeveralInstancesBesideOneLGWRNeedAMapping(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sids  []string
		ids   []int
		extra string
		inst  int
		name  string
		error string
		want  map[string]int // stalls by instance
	}{
		"without one, --inst-id is asked for": {[]string{"ORDP1"}, []int{1, 2}, "", -1, "", "--inst-id", nil},
		"--inst-id decides":                   {[]string{"ORDP1"}, []int{1, 2}, "", 2, "", "", map[string]int{"ORDP1": 10}},
		"a background process' host decides": {
			[]string{"ORDP1"}, []int{1, 2},
			"999,2026-06-16 09:00:01.500,2,5,1,BACKGROUND,log file parallel write,WAITING,1000,oracle@db1 (LGWR)\n" +
				"999,2026-06-16 09:00:01.500,1,5,1,BACKGROUND,log file parallel write,WAITING,1000,oracle@db2 (LGWR)\n",
			-1, "", "", map[string]int{"ORDP1": 10},
		},
		"two instances are two documents":           {[]string{"ORDP1", "ORDP2"}, []int{1, 2}, "", -1, "", "", map[string]int{"ORDP1": 10, "ORDP2": 10}},
		"two instances that nothing tells apart":    {[]string{"ORDP1", "CRMP1"}, []int{1}, "", -1, "", "--instance", nil},
		"--instance that is not there":              {[]string{"ORDP1", "CRMP1"}, []int{1}, "", -1, "HR1", "--instance HR1: no such instance in these files, which hold CRMP1, ORDP1", nil},
		"--inst-id that no row has":                 {[]string{"ORDP1"}, []int{1, 2}, "", 3, "", "--inst-id 3: none of Oracle's rows has it; they have 1, 2", nil},
		"--instance chooses one of them":            {[]string{"ORDP1", "CRMP1"}, []int{1}, "", -1, "CRMP1", "", map[string]int{"CRMP1": 10}},
		"an instance without waits is told as such": {[]string{"ORDP1", "ORDP2"}, []int{2}, "", -1, "", "", map[string]int{"ORDP1": 0, "ORDP2": 10}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(twoInstances(t, tt.sids, tt.ids, tt.extra))
			o.InstID, o.Instance = tt.inst, tt.name
			res, err := analysis.Run(context.Background(), o)
			if tt.error != "" {
				if !errors.Is(err, analysis.ErrInput) || !strings.Contains(err.Error(), tt.error) {
					t.Errorf("error %v, want one that names %s", err, tt.error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, f := range res.Findings {
				got[f.Instance] = 0
				if f.Waits != nil {
					got[f.Instance] = f.Waits.Stalls
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stalls by instance (-want +got):\n%s", diff)
			}
		})
	}
}
