package files

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// toolReading is what a reader made of a text.
type toolReading struct {
	recorder
	count    int64
	problems []string
	unread   int64
}

// readWith reads a text with one reader; zone is taken for times without one.
func readWith(t *testing.T, read func(context.Context, *input, ingest.Sink) error, text string, zone *time.Location) *toolReading {
	t.Helper()
	var r toolReading
	in := &input{name: "f", zone: zone, bad: &problems{}}
	in.lines = newLineReader(strings.NewReader(text), func(line int) { in.problem(line, "line too long") })
	if err := read(t.Context(), in, &r.recorder); err != nil {
		t.Fatalf("read: %v", err)
	}
	r.count, r.problems, r.unread = in.count, in.bad.first, in.bad.count
	return &r
}

// sameRecords compares records with NaN equal to NaN, and shares up to rounding.
func sameRecords[T any](t *testing.T, got, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}
}

func sameProblems(t *testing.T, got *toolReading, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got.problems, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

// utc gives an instant of 30 November 2026, the day of most fixtures.
func utc(hour, minute, second int) time.Time {
	return time.Date(2026, time.November, 30, hour, minute, second, 0, time.UTC)
}

// toolFormat gives the format of a kind from the formats of the node's tools.
func toolFormat(t *testing.T, kind Kind) format {
	t.Helper()
	for _, f := range sysstatFormats() {
		if f.kind == kind {
			return f
		}
	}
	t.Fatalf("no format of kind %s", kind)
	return format{}
}

// sharedFolder gives a folder of published files and labelled cases that lies
// beside the repository; tests that need one are skipped where it is absent.
func sharedFolder(t *testing.T, name string) string {
	t.Helper()
	shared := os.Getenv("COREWAIT_SHARED")
	if shared == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			if filepath.Dir(dir) == dir {
				t.Skip("SKIPPED: no go.mod above the test, so no shared folder beside the repository")
			}
			dir = filepath.Dir(dir)
		}
		shared = filepath.Join(filepath.Dir(dir), "shared")
	}
	folder := filepath.Join(shared, name)
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("SKIPPED: folder %s is missing (set COREWAIT_SHARED): %v", folder, err)
	}
	return folder
}

// sharedText gives the content of a shared file, unpacked where it is gzip.
func sharedText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return string(data)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLabelledCasesAreReadWithoutAProblem(t *testing.T) {
	t.Parallel()
	cases := sharedFolder(t, "cases")
	files, err := filepath.Glob(filepath.Join(cases, "case-*", "*.txt.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", cases, err)
	}
	for _, path := range files {
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".txt.gz"), "_")
		t.Run(filepath.Base(filepath.Dir(path))+" "+kind, func(t *testing.T) {
			t.Parallel()
			text := sharedText(t, path)
			f := toolFormat(t, Kind(kind))
			p, ok := f.probe([]byte(text[:min(len(text), probeSize)]))
			if !ok {
				t.Fatal("not recognised")
			}
			if kind != "vmstat" && (p.host != "db1" || p.zone == nil) {
				t.Errorf("probed host %q, zone %v", p.host, p.zone)
			}
			if !p.hasTimes || p.first.Year() != 2026 {
				t.Errorf("probed first time %v", p.first)
			}
			got := readWith(t, f.read, text, time.UTC)
			sameProblems(t, got)
			// Rows by shape, independent of the reader: rows of threads, rows of
			// CPUs, rows of vmstat, rows of devices less the first report's.
			lines := strings.Split(text, "\n")
			count := func(row func(string) bool) (n int64) {
				for _, l := range lines {
					if row(l) {
						n++
					}
				}
				return n
			}
			want := map[string]int64{
				"pidstat": count(func(l string) bool { return strings.Contains(l, "|__") }),
				"mpstat":  count(func(l string) bool { return strings.Contains(l, "+0900") && !strings.Contains(l, "CPU") }),
				"vmstat":  count(func(l string) bool { return strings.Contains(l, ":") && !strings.Contains(l, "swpd") }),
				"iostat":  count(func(l string) bool { return strings.HasPrefix(l, "nvme") }) - 1,
			}[kind]
			if got.count != want {
				t.Errorf("%d records, want %d", got.count, want)
			}
		})
	}
}

func TestProbesToldApart(t *testing.T) {
	t.Parallel()
	corpus := sharedFolder(t, "corpus")
	formats := knownFormats()
	err := filepath.WalkDir(corpus, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		text := sharedText(t, path)
		var kinds []string
		for _, f := range formats {
			if _, ok := f.probe([]byte(text[:min(len(text), probeSize)])); ok {
				kinds = append(kinds, string(f.kind))
			}
		}
		ours := folder == "pidstat" || folder == "mpstat"
		stray := slices.ContainsFunc(kinds, func(k string) bool {
			return slices.Contains([]string{"pidstat", "mpstat", "vmstat", "iostat", "ps"}, k)
		})
		if ours && !slices.Equal(kinds, []string{folder}) || !ours && stray {
			t.Errorf("%s is taken for %v", path, kinds)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// takenFor checks that of all formats only the given kind's takes the text for
// its own.
func takenFor(t *testing.T, text string, kind Kind) {
	t.Helper()
	for _, f := range knownFormats() {
		if _, ok := f.probe([]byte(text)); ok != (f.kind == kind) {
			t.Errorf("taken for %s: %v", f.kind, ok)
		}
	}
}

// fullSink refuses every record.
type fullSink struct{ noRecords }

var errFull = errors.New("full")

func (fullSink) CPU(domain.CPUSample) error       { return errFull }
func (fullSink) System(domain.SystemSample) error { return errFull }
func (fullSink) Disk(domain.DiskSample) error     { return errFull }
func (fullSink) Placement(domain.Placement) error { return errFull }

func TestToolReadersStopWhenTold(t *testing.T) {
	t.Parallel()
	const banner = "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n"
	texts := map[Kind][]string{
		KindPidstat: {banner + "10:00:00 UID PID %CPU CPU Command\n10:00:01 0 1 1.00 3 x\n"},
		KindMpstat: {
			banner + "10:00:00 CPU %usr %idle\n10:00:01 0 1.00 99.00\n",
			banner + "10:00:01 CPU %usr %idle\n10:00:01 0 1.00 99.00\n10:00:02 0 1.00 99.00\n",
			mpstatDocument,
		},
		KindIostat: {
			"2026-11-30T10:00:00Z\nDevice r/s %util\nsda 1.00 1.00\n",
			"2026-11-30T10:00:00Z\nDevice r/s %util\nsda 1.00 1.00\n" + banner,
			"2026-11-30T10:00:00Z\nDevice r/s %util\nsda 1.00 1.00\n2026-11-30T10:00:01Z\n",
		},
		KindVmstat: {" r b cs us\n 1 2 3 4 2026-11-30 10:00:00\n"},
		KindPs:     {"2026-11-30 10:00:00\nPID PSR CMD\n1 2 x\n"},
	}
	for kind, texts := range texts {
		f := toolFormat(t, kind)
		for _, text := range texts {
			open := func() *input {
				return &input{name: "f", zone: time.UTC, bad: &problems{}, lines: newLineReader(strings.NewReader(text), func(int) {})}
			}
			if err := f.read(t.Context(), open(), fullSink{}); !errors.Is(err, errFull) {
				t.Errorf("%s: a full sink gives %v", kind, err)
			}
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			if err := f.read(cancelled, open(), noRecords{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: a cancelled reading gives %v", kind, err)
			}
			broken := open()
			broken.lines = newLineReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errFull)), func(int) {})
			if err := f.read(t.Context(), broken, noRecords{}); !errors.Is(err, errFull) {
				t.Errorf("%s: a file that cannot be read on gives %v", kind, err)
			}
		}
	}
}
