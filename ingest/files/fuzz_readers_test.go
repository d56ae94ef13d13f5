package files

import (
	"os"
	"regexp"
	"testing"
)

// One target for each kind of file, through its own probe and reader. The
// seeds are in fuzz_seeds_test.go, what must hold in fuzz_check_test.go.

func FuzzReadInterrupts(f *testing.F)     { fuzzKind(f, KindInterrupts) }
func FuzzReadSoftirqs(f *testing.F)       { fuzzKind(f, KindSoftirqs) }
func FuzzReadStat(f *testing.F)           { fuzzKind(f, KindStat) }
func FuzzReadDiskstats(f *testing.F)      { fuzzKind(f, KindDiskstats) }
func FuzzReadBonding(f *testing.F)        { fuzzKind(f, KindBonding) }
func FuzzReadLscpu(f *testing.F)          { fuzzKind(f, KindLscpu) }
func FuzzReadNumactl(f *testing.F)        { fuzzKind(f, KindNumactl) }
func FuzzReadSysfs(f *testing.F)          { fuzzKind(f, KindSysfs) }
func FuzzReadPidstat(f *testing.F)        { fuzzKind(f, KindPidstat) }
func FuzzReadMpstat(f *testing.F)         { fuzzKind(f, KindMpstat) }
func FuzzReadVmstat(f *testing.F)         { fuzzKind(f, KindVmstat) }
func FuzzReadIostat(f *testing.F)         { fuzzKind(f, KindIostat) }
func FuzzReadPs(f *testing.F)             { fuzzKind(f, KindPs) }
func FuzzReadASH(f *testing.F)            { fuzzKind(f, KindASH) }
func FuzzReadEventHistogram(f *testing.F) { fuzzKind(f, KindEventHistogram) }
func FuzzReadSystemEvent(f *testing.F)    { fuzzKind(f, KindSystemEvent) }
func FuzzReadSysstat(f *testing.F)        { fuzzKind(f, KindSysstat) }
func FuzzReadInstance(f *testing.F)       { fuzzKind(f, KindInstance) }
func FuzzReadInterconnects(f *testing.F)  { fuzzKind(f, KindInterconnects) }

// fuzzKind feeds anything to the reader of a kind.
func fuzzKind(f *testing.F, kind Kind) {
	f.Helper()
	var of *format
	for _, k := range knownFormats() {
		if k.kind == kind {
			of = &k
		}
	}
	if of == nil {
		f.Fatalf("no reader of %s", kind)
	}
	for _, seed := range seeds(f, kind) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tooLong(t)
		if p, ok := of.probe(text[:min(len(text), probeSize)]); ok && !p.first.IsZero() {
			checkTime(t, "first time", p.first)
		}
		first, in := readAnything(t, of, text)
		checkRecords(t, first, in, len(text))
		second, _ := readAnything(t, of, text)
		if a, b := first.text(), second.text(); a != b {
			t.Errorf("read once:\n%s\nread again:\n%s", a, b)
		}
	})
}

// Every kind of file has a target of its own.
func TestEveryKindIsFuzzed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("fuzz_readers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`(?m)^\t(Kind\w+) `).FindAllSubmatch(named, -1)
	if len(kinds) != len(knownFormats()) {
		t.Errorf("%d kinds and %d readers", len(kinds), len(knownFormats()))
	}
	for _, k := range kinds {
		if !regexp.MustCompile(`(?m)^func Fuzz\w+\(f \*testing\.F\) +\{ fuzzKind\(f, ` + string(k[1]) + `\) \}$`).Match(text) {
			t.Errorf("%s has no target", k[1])
		}
	}
}

// Each seed reaches the reader that it is meant for.
func TestEveryKindHasSeedsThatItsReaderReads(t *testing.T) {
	t.Parallel()
	for _, of := range knownFormats() {
		t.Run(string(of.kind), func(t *testing.T) {
			t.Parallel()
			read := false
			for _, seed := range seeds(t, of.kind) {
				rec, in := readAnything(t, &of, []byte(seed))
				_, known := of.probe([]byte(seed))
				read = read || known && in.count > 0 && rec.values() > 0
			}
			if !read {
				t.Error("no seed is recognised and read")
			}
		})
	}
}
