package files

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// interruptLog is a log of readings, five seconds apart, of a node with 4 CPUs,
// in the kernel's columns. All rows and readings differ in their counts.
func interruptLog(readings int) string {
	var b strings.Builder
	for n := range readings {
		fmt.Fprintf(&b, "%d\n           CPU0       CPU1       CPU2       CPU3       \n", 1796006400+5*n)
		for i, text := range []string{
			"IR-IO-APIC    2-edge      timer", "IR-PCI-MSI 524288-edge      ens3f0-TxRx-0", "IR-PCI-MSI 524289-edge      ens3f0-TxRx-1",
			"IR-PCI-MSI 1048576-edge      eth7-rx-0", "IR-PCI-MSI 1048577-edge      eth7-rx-11", "IR-PCI-MSI 2097152-edge      nvme0q1",
		} {
			fmt.Fprintf(&b, "%3d:", 20+i)
			for cpu := range 4 {
				fmt.Fprintf(&b, " %10d", (i*7919+cpu*104729+13)*(n+3)*17%4000037)
			}
			fmt.Fprintf(&b, "  %s\n", text)
		}
		fmt.Fprintf(&b, "LOC: %10d %10d %10d %10d   Local timer interrupts\nERR:          0\n", 100000+n*5000, 100100+n*5000, 100200+n*5000, 100300+n*5000)
	}
	return b.String()
}

func readInterruptLog(t *testing.T, text string) (*recorder, *input) {
	t.Helper()
	of, _ := recognise(knownFormats(), []byte(interruptLog(1)))
	return readAnything(t, of, []byte(text))
}

// deviceRows gives what a log's readings say of devices, by time and number;
// without the first reading, with which nothing before it can be compared.
func deviceRows(rec *recorder, row func(key string, l domain.InterruptLine)) {
	for _, s := range rec.interrupts[1:] {
		for _, l := range s.Lines {
			if l.Class != domain.ClassKernel {
				row(fmt.Sprint(s.At.Unix(), " ", l.ID), l)
			}
		}
	}
}

// A gap joins parts of two rows. It lies wherever, and is as long as it likes:
// no interrupt may go to another's device, and counts of two readings may be
// mixed only where the gap is a multiple of whole readings, to the byte.
func TestGapsInALogMakeNoFalseRows(t *testing.T) {
	t.Parallel()
	text := interruptLog(4)
	rec, _ := readInterruptLog(t, text)
	text0 := map[string]string{} // by number
	truth := map[string]string{} // by time and number
	deviceRows(rec, func(key string, l domain.InterruptLine) {
		text0[l.ID], truth[key] = l.Description, fmt.Sprint(l.Counts)
	})
	if len(truth) != 3*6 {
		t.Fatalf("the whole log holds %d rows of devices after its first reading, want 18", len(truth))
	}
	gaps, mixed := 0, 0
	for from := 0; from < len(text); from += 11 {
		for length := 1; from+length < len(text); length += 1 + length/16 {
			gaps++
			torn, _ := readInterruptLog(t, text[:from]+text[from+length:])
			if len(torn.interrupts) == 0 {
				continue
			}
			before := mixed
			deviceRows(torn, func(key string, l domain.InterruptLine) {
				if told, known := text0[l.ID]; known && told != l.Description {
					t.Errorf("a gap of %d bytes at %d: interrupt %s is %q", length, from, l.ID, l.Description)
				}
				if counts, known := truth[key]; known && counts != fmt.Sprint(l.Counts) {
					mixed = before + 1
				}
			})
		}
	}
	if mixed*500 > gaps {
		t.Errorf("in %d of %d gaps counts are those of another reading", mixed, gaps)
	}
}

func TestATornRowIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	log := interruptLog(3)
	second := strings.Index(log, "1796006405")
	third := strings.Index(log, "1796006410")
	in := func(row string) int { return second + strings.Index(log[second:], row) }
	for name, tt := range map[string]struct {
		from, to int
		told     string
	}{
		"one interrupt with the device of another": {in(" 524288-edge"), in(" 524289-edge"), `f:14: interrupt 21 is "IR-PCI-MSI 524289-edge      ens3f0-TxRx-1", and was "IR-PCI-MSI 524288-edge      ens3f0-TxRx-0"`},
		"a device's name without its middle":       {in("s3f0-TxRx-0"), in("-0\n 22:"), `f:14: interrupt 21 is "IR-PCI-MSI 524288-edge      en-0"`},
		"digits are lost":                          {in(" 21:") + 7, in(" 21:") + 9, "f:14: interrupt 21: its counts do not stand below"},
		"rows are lost":                            {in(" 21:"), in(" 24:"), "f:14: interrupt 24, before which the reading before had others"},
		"rows, a time and a header are lost":       {in(" 23:"), third + strings.Index(log[third:], " 24:"), "f:16: interrupt 24, before which the reading before had others"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got := readInterruptLog(t, log[:tt.from]+log[tt.to:])
			if len(got.bad.first) == 0 || !strings.HasPrefix(got.bad.first[0], tt.told) || !strings.Contains(got.bad.first[0], "what follows may be of another reading") {
				t.Errorf("problems %q, want the first to begin with %q", got.bad.first, tt.told)
			}
		})
	}
}

// A driver that was loaded anew, or a port that was renamed, changes texts for
// good: one reading is lost to the doubt, the next has them.
func TestAnInterruptThatGoesToAnotherDeviceIsReadFromTheNextReadingOn(t *testing.T) {
	t.Parallel()
	log := interruptLog(4)
	second := strings.Index(log, "1796006405")
	rec, in := readInterruptLog(t, log[:second]+strings.ReplaceAll(log[second:], "eth7-rx-0", "eth9-rx-0"))
	got := ""
	for _, s := range rec.interrupts {
		for _, l := range s.Lines {
			if l.ID == "23" || l.ID == "24" {
				got += fmt.Sprintf("%d s: %s %s, ", s.At.Unix()-1796006400, l.ID, l.Device)
			}
		}
	}
	if got != "0 s: 23 eth7, 0 s: 24 eth7, 10 s: 23 eth9, 10 s: 24 eth7, 15 s: 23 eth9, 15 s: 24 eth7, " || in.bad.count != 1 {
		t.Errorf("read %q with problems %q", got, in.bad.first)
	}
}

// What a gap swallowed may have been a time line: the file that comes after it
// may be of the reading that followed.
func TestFilesBehindAGapAreLeftOutUntilTheNextTimeLine(t *testing.T) {
	t.Parallel()
	reading := func() string { return interruptLog(1)[len("1796006400\n"):] + seedStat }
	log := fmt.Sprintf("1796006400\n%s1796006405\n%s1796006410\n%s", reading(), reading(), reading())
	second := strings.Index(log, "1796006405")
	from := second + strings.Index(log[second:], " 22:")
	to := second + strings.Index(log[second:], " 24:")
	rec, in := readInterruptLog(t, log[:from]+log[to:])
	times := ""
	for _, s := range rec.cpuTimes {
		times += fmt.Sprint(s.At.Unix()-1796006400, " s ")
	}
	if times != "0 s 10 s " || !strings.Contains(fmt.Sprint(in.bad.first), "/proc/stat behind a gap (line 23) that a time line may be missing in; not used") {
		t.Errorf("readings of /proc/stat at %s; problems %q", times, in.bad.first)
	}
}
