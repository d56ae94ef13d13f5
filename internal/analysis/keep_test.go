package analysis_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

func openStore(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	o.URL = testdb.New(t)
	st, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

// sameFromStore imports a folder and holds the analysis of the collection to
// that of the files, for the whole and for a window: every value of the
// document, and the series.
func sameFromStore(t *testing.T, st *store.Store, collection, dir string) {
	t.Helper()
	o := options(dir)
	fromFiles, err := analysis.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := analysis.Import(t.Context(), st, analysis.Into{Collection: collection}, o); err != nil {
		t.Fatalf("import: %v", err)
	}
	windows := []domain.Window{{}}
	if w := fromFiles.Findings[0].Window; w.Duration() > 4*time.Minute {
		windows = append(windows, domain.Window{From: w.From.Add(time.Minute + 300*time.Millisecond), To: w.To.Add(-time.Minute)})
	}
	for _, w := range windows {
		o := o
		if !w.From.IsZero() {
			o.From, o.To = w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano)
			if fromFiles, err = analysis.Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		fromStore, err := analysis.RunStored(t.Context(), st, collection, o)
		if err != nil {
			t.Fatalf("from the store, window %v: %v", w, err)
		}
		if diff := cmp.Diff(document(t, fromFiles.Findings), document(t, fromStore.Findings)); diff != "" {
			t.Errorf("window %v: the finding from the store (+) is not that from files (-):\n%s", w, diff)
		}
		if diff := cmp.Diff(fromFiles.Series, fromStore.Series, sameSeries()...); diff != "" {
			t.Errorf("window %v: the series from the store (+) are not those from files (-):\n%.4000s", w, diff)
		}
	}
}

func sameSeries() []cmp.Option {
	return []cmp.Option{
		cmpopts.EquateNaNs(), cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b *regexp.Regexp) bool { return a.String() == b.String() }),
	}
}

// document is a finding as users get it.
func document(t *testing.T, findings []*domain.Finding) any {
	t.Helper()
	text, err := json.Marshal(findings)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestACollectionGivesTheFindingOfItsFiles(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]func(*testing.T) string{
		"the reference case": referenceFiles,
		"ASH, histograms and counters in one folder": func(t *testing.T) string {
			t.Helper()
			dir := t.TempDir()
			for _, b := range baseFiles(t) {
				write(t, dir, b.name, b.text)
			}
			return dir
		},
		"two instances on one node": func(t *testing.T) string {
			t.Helper()
			return twoInstances(t, []string{"ORDP1", "TEST2"}, []int{1, 2}, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameFromStore(t, openStore(t, store.Options{}), "case", dir(t))
		})
	}
}

func TestACollectionWrittenInSmallPiecesGivesTheFindingOfItsFiles(t *testing.T) {
	t.Parallel()
	sameFromStore(t, openStore(t, store.Options{ImportRows: 50, CopyRows: 10}), "case", referenceFiles(t))
}

func TestCollectionsOfTheLabelledCasesGiveTheFindingsOfTheirFiles(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob(filepath.Join(sharedFolder(t, "cases"), "case-*"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	st := openStore(t, store.Options{}) // one for all: collections do not touch each other
	for _, dir := range cases {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			sameFromStore(t, st, filepath.Base(dir), dir)
		})
	}
}

func TestReadingACollectionShowsProgress(t *testing.T) {
	t.Parallel()
	dir := referenceFiles(t)
	st := openStore(t, store.Options{})
	if _, err := analysis.Import(t.Context(), st, analysis.Into{Collection: "case"}, options(dir)); err != nil {
		t.Fatal(err)
	}
	o := options()
	told, last := 0, int64(0)
	o.Progress = func(stage files.Stage, done, total int64, name string) {
		if stage != files.StageRead || name != "db1" || done < last || done > total {
			t.Errorf("told %s %d of %d of %q after %d", stage, done, total, name, last)
		}
		told, last = told+1, done
	}
	if _, err := analysis.RunStored(t.Context(), st, "case", o); err != nil {
		t.Fatal(err)
	}
	if told < 5 {
		t.Errorf("progress was told %d times", told)
	}
}

// Files that the collection has and this import has not are let go only where
// that is asked for.
func TestOtherFilesIntoACollectionAreRefusedUnlessTheyReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, b := range baseFiles(t) {
		write(t, dir, b.name, b.text)
	}
	st := openStore(t, store.Options{})
	into := analysis.Into{Collection: "case"}
	if _, err := analysis.Import(t.Context(), st, into, options(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "ash.csv")); err != nil {
		t.Fatal(err)
	}
	_, err := analysis.Import(t.Context(), st, into, options(dir))
	if !errors.Is(err, analysis.ErrInput) || !strings.Contains(err.Error(), "ash.csv") || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("got %v", err)
	}
	res, err := analysis.RunStored(t.Context(), st, "case", options())
	if err != nil || *res.Findings[0].Coverage.WaitSource != "ash" {
		t.Errorf("after an import that was refused: %v", err)
	}
	into.Replace = true
	if _, err := analysis.Import(t.Context(), st, into, options(dir)); err != nil {
		t.Fatal(err)
	}
	res, err = analysis.RunStored(t.Context(), st, "case", options())
	if err != nil || *res.Findings[0].Coverage.WaitSource != "histogram" {
		t.Errorf("after the others were let go: %v", err)
	}
}

// One node that is complete must not pass for a collection of two.
func TestAnImportOfSeveralNodesThatBrokeOffIsNotAnalysed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, node := range []string{"db1", "db2"} {
		if err := os.Mkdir(filepath.Join(dir, node), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, b := range baseFiles(t) {
			write(t, filepath.Join(dir, node), b.name, strings.ReplaceAll(b.text, "(db1)", "("+node+")"))
		}
	}
	st := openStore(t, store.Options{})
	for _, before := range []string{"new", "imported before"} {
		if before != "new" {
			if _, err := analysis.Import(t.Context(), st, analysis.Into{Collection: "case"}, options(dir)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := options(dir)
		o.Progress = func(stage files.Stage, _, _ int64, name string) {
			if stage == files.StageRead && strings.Contains(name, "db2") {
				cancel()
			}
		}
		_, err := analysis.Import(ctx, st, analysis.Into{Collection: "case"}, o)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", before, err)
		}
		res, err := analysis.RunStored(t.Context(), st, "case", options(dir))
		if !errors.Is(err, analysis.ErrInput) || !strings.Contains(err.Error(), "import again") {
			t.Errorf("%s: %v, %+v", before, err, res)
		}
	}
}
