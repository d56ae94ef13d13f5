package analysis_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/corewait/corewait/internal/analysis"
	"github.com/corewait/corewait/report"
)

// Files are read at the same time: what is found must not depend on which of
// them is faster. It is not parallel: it changes how many processors run it.
func TestTheFindingIsTheSameHoweverManyProcessorsReadTheFiles(t *testing.T) {
	dir := t.TempDir()
	for _, b := range baseFiles(t) {
		write(t, dir, b.name, b.text)
	}
	// A log of /proc that tells of CPU time as mpstat does, at the same instants.
	write(t, dir, "proc.log", procLog)
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var first []byte
	for i := range 20 {
		runtime.GOMAXPROCS(1 + 7*(i%2))
		o := options(dir)
		o.Params.Permutations, o.Params.Bootstraps = 50, 50
		res, err := analysis.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := report.JSON(&got, res.Findings); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got.Bytes()
		}
		if !bytes.Equal(first, got.Bytes()) {
			t.Fatalf("run %d differs:\n%s\nthe first:\n%s", i, got.Bytes(), first)
		}
	}
}

// procLog holds three readings of /proc/stat, 10 s apart, where the base's
// mpstat has rows.
const procLog = `2026-06-16T09:00:10+09:00
cpu  1000 0 500 9000 0 0 0 0 0 0
cpu0 500 0 250 4500 0 0 0 0 0 0
cpu1 500 0 250 4500 0 0 0 0 0 0
ctxt 1000
procs_running 1
procs_blocked 0
2026-06-16T09:00:20+09:00
cpu  1900 0 600 9100 0 0 0 0 0 0
cpu0 950 0 300 4550 0 0 0 0 0 0
cpu1 950 0 300 4550 0 0 0 0 0 0
ctxt 9000
procs_running 9
procs_blocked 0
2026-06-16T09:00:30+09:00
cpu  1900 0 600 9900 0 0 0 0 0 0
cpu0 950 0 300 4950 0 0 0 0 0 0
cpu1 950 0 300 4950 0 0 0 0 0 0
ctxt 9500
procs_running 1
procs_blocked 0
`
