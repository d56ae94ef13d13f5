package procfmt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// Snapshots below are written by hand in the kernel's form; expected values are
// read from them by eye.

const x86Snapshot = `           CPU0       CPU1       CPU3
  0:         44          0          0  IR-IO-APIC   2-edge      timer
 16:          5          0         12  IR-IO-APIC  16-fasteoi   ehci_hcd:usb1, mptsas0
120: 4294967295          0 12345678901  IR-PCI-MSI 524288-edge      ens3f0-TxRx-0
121:          0   99999999  100000000  IR-PCI-MSI 524289-edge
NMI:          1          2          3   Non-maskable interrupts
LOC:  104000001  104000002  104000003   Local timer interrupts
ERR:          7
MIS:          0
`

func parseOne(t *testing.T, text string) *domain.InterruptSnapshot {
	t.Helper()
	var p InterruptParser
	snap, err := p.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return snap
}

func lineByID(t *testing.T, snap *domain.InterruptSnapshot, id string) domain.InterruptLine {
	t.Helper()
	for _, l := range snap.Lines {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("no line %s in the snapshot", id)
	return domain.InterruptLine{}
}

func TestInterruptCountsAreReadUnderTheHeadersCPUs(t *testing.T) {
	t.Parallel()
	snap := parseOne(t, x86Snapshot)
	if got := fmt.Sprint(snap.CPUs); got != "[0 1 3]" {
		t.Errorf("CPUs = %s, want [0 1 3]: ids come from the header, with holes", got)
	}
	if len(snap.Lines) != 8 {
		t.Errorf("%d lines, want 8", len(snap.Lines))
	}
	for id, want := range map[string]string{
		"0":   "[44 0 0]",
		"16":  "[5 0 12]",
		"120": "[4294967295 0 12345678901]",
		"121": "[0 99999999 100000000]",
		"LOC": "[104000001 104000002 104000003]",
	} {
		if got := fmt.Sprint(lineByID(t, snap, id).Counts); got != want {
			t.Errorf("line %s: counts %s, want %s", id, got, want)
		}
	}
}

func TestErrorCountersHaveOneValueForAllCPUs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"x86, three CPUs":            x86Snapshot,
		"ARM, Err":                   "           CPU0       CPU1\nIPI0:         1          2       Rescheduling interrupts\nErr:          7\n",
		"one CPU":                    "           CPU0\n  0:         44   IO-APIC   2-edge      timer\nERR:          7\n",
		"old kernel, NMI has it too": "           CPU0       CPU1\n  0:         44          0          XT-PIC  timer\nNMI:          7 \nERR:          0\n",
	} {
		snap := parseOne(t, text)
		var single []string
		for _, l := range snap.Lines {
			if l.Counts == nil {
				single = append(single, fmt.Sprint(l.ID, "=", l.Single))
			}
		}
		if len(single) == 0 || !strings.Contains(single[0], "=7") {
			t.Errorf("%s: lines with one value %v, want the first to hold 7", name, single)
		}
	}
}

func TestRowsThatDoNotFollowTheUsualShape(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, id, counts, description string }{
		"a count as wide as its column touches the colon": {
			"          CPU0       CPU1\nIPI0:2768808080          5       Rescheduling interrupts\n", "IPI0", "[2768808080 5]", "Rescheduling interrupts",
		},
		"a chip's name begins with a digit": {
			"           CPU0       CPU1\n  5:          1          2   8259A-edge      eth0\n", "5", "[1 2]", "8259A-edge      eth0",
		},
		"the header begins with a tab": {
			"\t   CPU0       CPU1\n 16:   11184294   15940594   IO-APIC-level  aic7xxx  \n", "16", "[11184294 15940594]", "IO-APIC-level  aic7xxx",
		},
		"rows end with their last count (s390)": {
			"           CPU0       CPU1\nEXT:      31903      57022\nI/O:       6989      33457\n", "I/O", "[6989 33457]", "",
		},
		"blanks are collapsed, as in mail": {
			"CPU0 CPU1\n16: 5 7 IO-APIC 16-fasteoi eth0\nLOC: 1 2 Local timer interrupts\n", "16", "[5 7]", "IO-APIC 16-fasteoi eth0",
		},
		"columns are parted by tabs": {
			"\tCPU0\tCPU1\n16:\t5\t7\tIO-APIC\t16-fasteoi\teth0\n", "16", "[5 7]", "IO-APIC\t16-fasteoi\teth0",
		},
		"lines end with carriage returns": {
			"           CPU0\r\n 16:          5   IO-APIC  16-fasteoi   eth0\r\n", "16", "[5]", "IO-APIC  16-fasteoi   eth0",
		},
	} {
		l := lineByID(t, parseOne(t, tt.text), tt.id)
		if got := fmt.Sprint(l.Counts); got != tt.counts || l.Description != tt.description {
			t.Errorf("%s: %s %q, want %s %q", name, got, l.Description, tt.counts, tt.description)
		}
	}
}

func TestRowsThatCannotBeReadWithCertaintyAreLeftOut(t *testing.T) {
	t.Parallel()
	const header = "           CPU0       CPU1       CPU2\n"
	const after = "LOC:          1          2          3   Local timer interrupts\n"
	for name, row := range map[string]string{
		"fewer counts than CPUs":               " 16:          5          7   IO-APIC  16-fasteoi   eth0\n",
		"more counts than CPUs":                " 16:          5          7          9         11   IO-APIC  16-fasteoi   eth0\n",
		"cut in mid-row":                       " 16:          5          7\n",
		"cut behind the colon":                 " 16:\n",
		"a lettered row with fewer counts":     "RES:          5          7   Rescheduling interrupts\n",
		"a count over 64 bits":                 " 16:          5 18446744073709551616          0   IO-APIC  16-fasteoi   eth0\n",
		"a negative count":                     " 16:          5         -7          0   IO-APIC  16-fasteoi   eth0\n",
		"a count with a letter in it":          " 16:          5        7x7          0   IO-APIC  16-fasteoi   eth0\n",
		"a time line glued to a cut row":       " 16:          5          72026-11-30T11:40:12   \n",
		"a name in small letters":              "eth0:         5          7          0   x\n",
		"a line of /proc/meminfo":              "MemFree:      5          7          0\n",
		"no colon":                             " 16          5          7          0   IO-APIC  16-fasteoi   eth0\n",
		"what grep puts before rows":           "/proc/interrupts: 16:  5  7  0   IO-APIC  16-fasteoi   eth0\n",
		"an empty name":                        ":          5          7          0   IO-APIC  16-fasteoi   eth0\n",
		"two values where one was to be":       "ERR:          5          7\n",
		"punctuation that looks like a number": " 16:          5        +,-          0   IO-APIC  16-fasteoi   eth0\n",
	} {
		var p InterruptParser
		snap, err := p.Parse([]byte(header + row + after))
		var unread *UnreadRows
		if !errors.As(err, &unread) || unread.Count < 1 {
			t.Errorf("%s: error %v, want the row to be told", name, err)
			continue
		}
		if unread.Line != 2 {
			t.Errorf("%s: told for line %d, want 2", name, unread.Line)
		}
		if got := fmt.Sprint(lineByID(t, snap, "LOC").Counts); got != "[1 2 3]" {
			t.Errorf("%s: the row after it reads %s, want [1 2 3]", name, got)
		}
	}
}

func TestHeadersThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"a row":                       "  0:         45   IO-APIC-edge      timer",
		"a CPU twice":                 "CPU0 CPU1 CPU1",
		"CPUs out of order":           "CPU1 CPU0",
		"a CPU that no kernel has":    "CPU0 CPU8192",
		"a word beside the CPUs":      "CPU0 CPU1 total",
		"a CPU without number":        "CPU0 CPU",
		"an absurd number":            "CPU99999999999999999999999",
		"a name that only resembles":  "XPU0",
		"a number that is not plain ": "CPU0x1",
	} {
		var p InterruptParser
		if snap, err := p.Parse([]byte(header + "\n  0: 45 IO-APIC-edge timer\n")); err == nil {
			t.Errorf("%s: read as %v, want an error", name, snap.CPUs)
		}
	}
	var p InterruptParser
	if _, err := p.Parse([]byte("\n \n")); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty file: %v, want ErrEmpty", err)
	}
}

func TestAMissingHeaderIsToldByRowsThatStartOver(t *testing.T) {
	t.Parallel()
	var p InterruptParser
	_, err := p.Parse([]byte("           CPU0\n  1:          1   XT-PIC  a\n 14:          1   XT-PIC  b\n  1:          2   XT-PIC  a\n"))
	var unread *UnreadRows
	if !errors.As(err, &unread) || unread.Line != 4 || unread.Count != 1 {
		t.Fatalf("error %v, want line 4 told", err)
	}
}

func TestACutBlockLosesTheRowThatMayBeCut(t *testing.T) {
	t.Parallel()
	const (
		header = "           CPU0       CPU1\n"
		row16  = " 16:          5          7   IO-APIC  16-fasteoi   eth0\n"
		row17  = " 17:         15         17   IO-APIC  17-fasteoi   eth10\n"
		rowLOC = "LOC:          1          2   Local timer interrupts\n"
		whole  = header + row16 + row17 + rowLOC + "ERR:          0\n"
	)
	for name, tt := range map[string]struct {
		cut   string // the second block
		lines string // what is left of it
		told  bool
	}{
		"not cut":                         {whole, "[16 17 LOC ERR]", false},
		"cut between rows":                {header + row16, "[16]", true},
		"cut in a device's name":          {header + row16 + " 17:         15         17   IO-APIC  17-fasteoi   eth1", "[16]", true},
		"cut in the last count":           {header + row16 + " 17:         15         1", "[16]", true},
		"cut behind the last count":       {header + row16 + " 17:         15         17", "[16]", true},
		"cut in a kernel line's count":    {header + row16 + row17 + "LOC:          1         ", "[16 17]", true},
		"cut in a kernel line's last one": {header + row16 + row17 + "LOC:          1          ", "[16 17]", true},
	} {
		var p InterruptParser
		if _, err := p.Parse([]byte(whole)); err != nil {
			t.Fatal(err)
		}
		snap, err := p.Parse([]byte(tt.cut))
		var ids []string
		for _, l := range snap.Lines {
			ids = append(ids, l.ID)
		}
		if got := fmt.Sprint(ids); got != tt.lines || (err != nil) != tt.told {
			t.Errorf("%s: lines %s, error %v; want %s, told %v", name, got, err, tt.lines, tt.told)
		}
	}
}

func TestASnapshotIsReusedAndACloneIsNot(t *testing.T) {
	t.Parallel()
	var p InterruptParser
	first, err := p.Parse([]byte("           CPU0\n 16:          5   IO-APIC  16-fasteoi   eth0\n"))
	if err != nil {
		t.Fatal(err)
	}
	kept := first.Clone()
	next := []byte("           CPU0       CPU1\n 16:          6          1   IO-APIC  16-fasteoi   eth1\n")
	if _, err = p.Parse(next); !errors.Is(err, ErrOrder) {
		t.Errorf("a device that changed: error %v, want ErrOrder until it says so twice", err)
	}
	second, err := p.Parse(next)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Lines[0].Counts[0] != 5 || kept.Lines[0].Device != "eth0" {
		t.Errorf("clone changed to %+v", kept.Lines[0])
	}
	if fmt.Sprintf("%v %v %s", second.CPUs, second.Lines[0].Counts, second.Lines[0].Device) != "[0 1] [6 1] eth1" {
		t.Errorf("second snapshot %+v: a CPU that came and a new device must show", second)
	}
}

func TestBoundsStopAbsurdInputs(t *testing.T) {
	t.Parallel()
	var p InterruptParser
	if err := p.Begin([]byte("CPU0")); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := range maxLines + 1 {
		if err = p.Line([]byte(strconv.Itoa(i) + ": 1 XT-PIC x")); err != nil {
			break
		}
	}
	if !errors.Is(err, errTooManyLines) || p.Rows() != maxLines {
		t.Errorf("after %d rows: %v, want the bound on lines", p.Rows(), err)
	}
}

// TestEveryNumberReadsAsStrconvReadsIt holds the short ways through a column
// against the standard library.
func TestEveryNumberReadsAsStrconvReadsIt(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const tries = 20000
	values := make([]uint64, 0, tries+11)
	values = append(values, 0, 1, 9, 10, 99, 12345678, 99999999, 100000000, 1<<32-1, 1<<32, 1<<64-1)
	for range tries {
		values = append(values, random.Uint64()>>random.IntN(64))
	}
	for _, v := range values {
		row := fmt.Sprintf(" %10d %10d text", v, 7)
		var got [2]uint64
		if n, _, ok := counts(got[:], []byte(row)); n != 2 || !ok || got[0] != v || got[1] != 7 {
			t.Fatalf("%q reads as %v (%d found)", row, got, n)
		}
	}
}

// TestNoColumnOfBytesIsTakenForAnotherNumber tries columns of damaged bytes: the
// short way must refuse whatever strconv refuses.
func TestNoColumnOfBytesIsTakenForAnotherNumber(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	read := 0
	const alphabet = " 0123456789/:!*?pP\x00\xb0\x20\x30"
	for range 300000 {
		column := [columnWidth + 1]byte([]byte("            "))
		for i := random.IntN(9); i < columnWidth; i++ {
			column[i] = alphabet[random.IntN(len(alphabet))]
		}
		got, ok := alignedCount(&column)
		if !ok {
			continue
		}
		want, err := strconv.ParseUint(strings.Trim(string(column[:]), " "), 10, 64)
		if err != nil || want != got {
			t.Fatalf("column %q reads as %d, strconv says %d, %v", column, got, want, err)
		}
		read++
	}
	if read < 1000 {
		t.Errorf("only %d columns were numbers: the test tries nothing", read)
	}
}

func TestNoAllocationOnceWarm(t *testing.T) {
	data := syntheticInterrupts(64, 128)
	var p InterruptParser
	parse := func() {
		if _, err := p.Parse(data); err != nil {
			t.Fatal(err)
		}
	}
	parse()
	if n := testing.AllocsPerRun(20, parse); n != 0 {
		t.Errorf("%v allocations per snapshot, want 0", n)
	}
}

// syntheticInterrupts writes a snapshot in the kernel's form: half the rows
// belong to one CPU each, some to all, most counters are zero.
func syntheticInterrupts(cpus, rows int) []byte {
	random := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	b.WriteString("    ")
	for c := range cpus {
		fmt.Fprintf(&b, "%11s", "CPU"+strconv.Itoa(c))
	}
	b.WriteByte('\n')
	for r := range rows - 4 {
		fmt.Fprintf(&b, "%4d:", r+100)
		for c := range cpus {
			var v uint64
			if c == r%cpus {
				v = random.Uint64N(1 << 32)
			} else if c%8 == r%8 {
				v = random.Uint64N(1 << 20)
			}
			fmt.Fprintf(&b, " %10d", v)
		}
		fmt.Fprintf(&b, "  IR-PCI-MSI %d-edge      ens%df0-TxRx-%d\n", 524288+r, 1+r/64, r%64)
	}
	for _, name := range []string{"LOC", "RES", "TLB"} {
		fmt.Fprintf(&b, "%4s:", name)
		for range cpus {
			fmt.Fprintf(&b, " %10d", random.Uint64N(1<<32))
		}
		b.WriteString("   Some kernel interrupts\n")
	}
	b.WriteString(" ERR:          0\n")
	return b.Bytes()
}

func BenchmarkInterruptParser(b *testing.B) {
	for _, size := range []struct{ cpus, rows int }{{64, 128}, {256, 300}, {2000, 600}} {
		b.Run(fmt.Sprintf("cpus=%d/rows=%d", size.cpus, size.rows), func(b *testing.B) {
			data := syntheticInterrupts(size.cpus, size.rows)
			var p InterruptParser
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzInterrupts(f *testing.F) {
	f.Add([]byte(x86Snapshot))
	f.Add([]byte("          CPU0\nIPI0:2768808080       Rescheduling interrupts\nErr: 0\n"))
	f.Add([]byte("CPU0 CPU8191\n1: 1 2 \xff\n1: 18446744073709551615 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p InterruptParser
		for _, before := range []string{x86Snapshot, string(data)} { // what one leaves behind must not harm the next
			_, _ = p.Parse([]byte(before))
		}
		snap, err := p.Parse(data)
		if snap == nil {
			if err == nil {
				t.Fatal("neither snapshot nor error")
			}
			return
		}
		for _, l := range snap.Lines {
			if l.Counts != nil && len(l.Counts) != len(snap.CPUs) {
				t.Fatalf("line %s has %d counts for %d CPUs", l.ID, len(l.Counts), len(snap.CPUs))
			}
			if l.ID == "" {
				t.Fatal("a line without name")
			}
		}
	})
}
