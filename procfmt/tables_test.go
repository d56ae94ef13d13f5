package procfmt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewait/corewait/domain"
)

// Texts below are written by hand in the kernel's form; expected values are
// read from them by eye.

func TestSoftirqsAreReadUnderPossibleCPUs(t *testing.T) {
	t.Parallel()
	var p SoftirqParser
	snap, err := p.Parse([]byte("                    CPU0       CPU1\n          HI:          1          0\n      NET_RX:         61     128016\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(snap.CPUs, snap.Names, snap.Counts); got != "[0 1] [HI NET_RX] [[1 0] [61 128016]]" {
		t.Errorf("read as %s", got)
	}
}

func TestSoftirqRowsThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]string{
		"fewer counts":          "      NET_RX:         61\n         RCU:          1          2\n",
		"text behind":           "      NET_RX:         61     128016 x\n         RCU:          1          2\n",
		"no colon":              "      NET_RX         61     128016\n         RCU:          1          2\n",
		"a name twice":          "         RCU:          1          2\n         RCU:          3          4\n",
		"cut in the last count": "         RCU:          1          2\n      NET_RX:         61     128\n",
		"over 64 bits":          "      NET_RX:         61 99999999999999999999\n         RCU:          1          2\n",
	} {
		var p SoftirqParser
		snap, err := p.Parse([]byte("                    CPU0       CPU1\n" + rows))
		if err == nil || fmt.Sprint(snap.Names, snap.Counts) != "[RCU] [[1 2]]" {
			t.Errorf("%s: %v %v, error %v; want RCU alone and an error", name, snap.Names, snap.Counts, err)
		}
	}
}

func TestStatOfKernelsOldAndNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row  string
		want domain.CPUTimes
	}{
		"kernel 2.4":    {"cpu3 10 20 30 40", domain.CPUTimes{CPU: 3, User: 10, Nice: 20, System: 30, Idle: 40, IOWait: -1, IRQ: -1, SoftIRQ: -1, Steal: -1, Guest: -1, GuestNice: -1}},
		"kernel 2.6.9":  {"cpu3 10 20 30 40 50 60 70", domain.CPUTimes{CPU: 3, User: 10, Nice: 20, System: 30, Idle: 40, IOWait: 50, IRQ: 60, SoftIRQ: 70, Steal: -1, Guest: -1, GuestNice: -1}},
		"today":         {"cpu3 10 20 30 40 50 60 70 80 90 100", domain.CPUTimes{CPU: 3, User: 10, Nice: 20, System: 30, Idle: 40, IOWait: 50, IRQ: 60, SoftIRQ: 70, Steal: 80, Guest: 90, GuestNice: 100}},
		"one to come":   {"cpu3 10 20 30 40 50 60 70 80 90 100 110", domain.CPUTimes{CPU: 3, User: 10, Nice: 20, System: 30, Idle: 40, IOWait: 50, IRQ: 60, SoftIRQ: 70, Steal: 80, Guest: 90, GuestNice: 100}},
		"all CPUs' row": {"cpu  10 20 30 40", domain.CPUTimes{CPU: domain.AllCPUs, User: 10, Nice: 20, System: 30, Idle: 40, IOWait: -1, IRQ: -1, SoftIRQ: -1, Steal: -1, Guest: -1, GuestNice: -1}},
	} {
		var p StatParser
		snap, err := p.Parse([]byte(tt.row + "\n"))
		if err != nil || len(snap.CPUs) != 1 || snap.CPUs[0] != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", name, snap.CPUs, err, tt.want)
		}
		if snap.ContextSwitches != -1 || snap.Interrupts != -1 || snap.ProcsRunning != -1 || snap.ProcsBlocked != -1 || !snap.BootTime.IsZero() {
			t.Errorf("%s: what is not there must be unknown, not zero: %+v", name, snap)
		}
	}
}

func TestStatTotals(t *testing.T) {
	t.Parallel()
	var p StatParser
	snap, err := p.Parse([]byte("cpu  1 2 3 4\nintr 500 1 2 3\nctxt 600\nbtime 1796000000\nprocesses 9\nprocs_running 7\nprocs_blocked 0\nsoftirq 5 1 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if snap.Interrupts != 500 || snap.ContextSwitches != 600 || snap.BootTime.Unix() != 1796000000 || snap.ProcsRunning != 7 || snap.ProcsBlocked != 0 {
		t.Errorf("read as %+v", snap)
	}
}

func TestStatOfTwoHostsIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a cpu row twice":   "cpu0 1 2 3 4\nctxt 5\ncpu0 1 2 3 4\n",
		"a total twice":     "cpu0 1 2 3 4\nctxt 5\nctxt 6\n",
		"boot time twice":   "btime 5\nbtime 6\n",
		"all CPUs twice":    "cpu 1 2 3 4\ncpu 1 2 3 4\n",
		"among other CPUs ": "cpu1 1 2 3 4\ncpu5 1 2 3 4\ncpu0 1 2 3 4\ncpu5 1 2 3 4\n",
	} {
		var p StatParser
		if snap, err := p.Parse([]byte(text)); !errors.Is(err, ErrRepeated) || snap != nil {
			t.Errorf("%s: %+v, %v; want ErrRepeated", name, snap, err)
		}
	}
}

func TestStatRowsThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{
		"cut behind three columns": "cpu1 1 2 3\n",
		"fewer columns":            "cpu1 1 2 3 4 5 6\n",
		"more columns":             "cpu1 1 2 3 4 5 6 7 8\n",
		"no number":                "cpu1 1 2 3 4 5 6 x\n",
		"negative":                 "cpu1 1 2 3 4 5 6 -7\n",
		"over 63 bits":             "cpu1 1 2 3 4 5 6 9223372036854775808\n",
		"not a CPU":                "cpux 1 2 3 4 5 6 7\n",
		"a CPU no kernel has":      "cpu8192 1 2 3 4 5 6 7\n",
		"a total without number":   "ctxt\n",
		"another file's line":      "MemTotal: 5 kB\n",
	} {
		var p StatParser
		snap, err := p.Parse([]byte("cpu0 1 2 3 4 5 6 7\n" + row + "cpu2 1 2 3 4 5 6 7\n"))
		var unread *UnreadRows
		if !errors.As(err, &unread) || unread.Count != 1 || unread.Line != 2 || len(snap.CPUs) != 2 || snap.ContextSwitches != -1 {
			t.Errorf("%s: %+v, %v; want line 2 told and left out", name, snap, err)
		}
	}
}

func TestACutStatBlockLosesItsLastLine(t *testing.T) {
	t.Parallel()
	const whole = "cpu  1 2 3 4\ncpu0 1 2 3 40\nintr 500 1\nctxt 600\nbtime 1796000000\nprocs_running 71\nprocs_blocked 12\n"
	for name, tt := range map[string]struct {
		cut  string
		want string // CPUs, intr, ctxt, btime known, running, blocked
	}{
		"not cut":          {whole, "2 500 600 true 71 12"},
		"in a cpu row":     {"cpu  1 2 3 4\ncpu0 1 2 3 4", "1 -1 -1 false -1 -1"},
		"in intr":          {"cpu  1 2 3 4\ncpu0 1 2 3 40\nintr 50", "2 -1 -1 false -1 -1"},
		"in ctxt":          {"cpu  1 2 3 4\ncpu0 1 2 3 40\nintr 500 1\nctxt 60", "2 500 -1 false -1 -1"},
		"in btime":         {"cpu  1 2 3 4\ncpu0 1 2 3 40\nintr 500 1\nctxt 600\nbtime 17960", "2 500 600 false -1 -1"},
		"in procs_running": {"cpu  1 2 3 4\ncpu0 1 2 3 40\nintr 500 1\nctxt 600\nbtime 1796000000\nprocs_running 7", "2 500 600 true -1 -1"},
	} {
		var p StatParser
		if _, err := p.Parse([]byte(whole)); err != nil {
			t.Fatal(err)
		}
		s, err := p.Parse([]byte(tt.cut))
		got := fmt.Sprint(len(s.CPUs), s.Interrupts, s.ContextSwitches, !s.BootTime.IsZero(), s.ProcsRunning, s.ProcsBlocked)
		if got != tt.want || errors.Is(err, ErrCut) != (tt.cut != whole) {
			t.Errorf("cut %s: %s, %v; want %s", name, got, err, tt.want)
		}
	}
}

func TestDiskRowsOfEveryKernel(t *testing.T) {
	t.Parallel()
	want := domain.DiskCounters{Device: "sda", Reads: 10, ReadMS: 13, Writes: 14, WriteMS: 17, BusyMS: 19}
	for name, row := range map[string]string{
		"14 fields": "   8       0 sda 10 11 12 13 14 15 16 17 18 19 20\n",
		"18 fields": "   8       0 sda 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24\n",
		"20 fields": "   8       0 sda 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26\n",
	} {
		var p DiskParser
		snap, err := p.Parse([]byte(row))
		if err != nil || len(snap.Devices) != 1 || snap.Devices[0] != want {
			t.Errorf("%s: %+v, %v; want %+v", name, snap, err, want)
		}
	}
	for name, row := range map[string]string{
		"a partition of kernel 2.6.20": "8 1 sda1 10 11 12 13\n",
		"cut before the last field":    "8 0 sda 10 11 12 13 14 15 16 17 18 19\n",
		"no name":                      "8 0 10 11 12 13 14 15 16 17 18 19 20 21\n",
		"no number":                    "8 0 sda 10 11 12 13 14 15 16 x 18 19 20\n",
	} {
		var p DiskParser
		snap, err := p.Parse([]byte(row))
		if err == nil || len(snap.Devices) != 0 {
			t.Errorf("%s: %+v, %v; want an error", name, snap, err)
		}
	}
	var torn DiskParser
	snap, err := torn.Parse([]byte("8 0 sda 10 11 12 13 14 15 16 17 18 19 20\n8 16 sdb 10 11 12 13 14 15 16 17 18 19 10 11 12 13 14\n"))
	if err == nil || len(snap.Devices) != 1 {
		t.Errorf("a row that a gap joined to another's end: %+v, %v; want it left out", snap, err)
	}
	var p DiskParser
	const sda = "8 0 sda 10 11 12 13 14 15 16 17 18 19 20\n"
	if snap, err := p.Parse([]byte(sda + sda)); !errors.Is(err, ErrRepeated) || snap != nil {
		t.Errorf("a disk twice: %+v, %v; want ErrRepeated", snap, err)
	}
}

func TestParsersOfTablesAllocateNothingOnceWarm(t *testing.T) {
	var soft SoftirqParser
	var stat StatParser
	var disk DiskParser
	softText := []byte("                    CPU0       CPU1\n          HI:          1          0\n      NET_RX:         61     128016\n")
	statText := []byte("cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 5 1\nctxt 6\n")
	diskText := []byte("8 0 sda 10 11 12 13 14 15 16 17 18 19 20\n8 16 sdb 10 11 12 13 14 15 16 17 18 19 20\n")
	for name, parse := range map[string]func() error{
		"softirqs":  func() error { _, err := soft.Parse(softText); return err },
		"stat":      func() error { _, err := stat.Parse(statText); return err },
		"diskstats": func() error { _, err := disk.Parse(diskText); return err },
	} {
		once := func() {
			if err := parse(); err != nil {
				t.Fatal(err)
			}
		}
		once()
		if n := testing.AllocsPerRun(20, once); n != 0 {
			t.Errorf("%s: %v allocations per snapshot, want 0", name, n)
		}
	}
}

func FuzzSoftirqs(f *testing.F) {
	f.Add([]byte("                    CPU0       CPU1\n          HI:          1          0\n"))
	var p SoftirqParser
	f.Fuzz(func(t *testing.T, data []byte) {
		snap, err := p.Parse(data)
		if snap == nil {
			if err == nil {
				t.Fatal("neither snapshot nor error")
			}
			return
		}
		if len(snap.Counts) != len(snap.Names) {
			t.Fatalf("%d rows of counts for %d names", len(snap.Counts), len(snap.Names))
		}
		for _, row := range snap.Counts {
			if len(row) != len(snap.CPUs) {
				t.Fatalf("%d counts for %d CPUs", len(row), len(snap.CPUs))
			}
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\nintr 500 1\nctxt 600\nbtime 1796000000\nprocs_running 7\n"))
	var p StatParser
	f.Fuzz(func(t *testing.T, data []byte) {
		snap, err := p.Parse(data)
		if snap == nil {
			if err == nil {
				t.Fatal("neither snapshot nor error")
			}
			return
		}
		met := map[int]bool{}
		for _, c := range snap.CPUs {
			if met[c.CPU] || c.CPU < domain.AllCPUs || c.User < 0 || c.Idle < 0 {
				t.Fatalf("cpu row %+v", c)
			}
			met[c.CPU] = true
		}
	})
}

func FuzzDiskstats(f *testing.F) {
	f.Add([]byte("   8       0 sda 10 11 12 13 14 15 16 17 18 19 20\n 253 0 dm-0 1 1 1 1 1 1 1 1 1 1 1\n"))
	var p DiskParser
	f.Fuzz(func(t *testing.T, data []byte) {
		snap, err := p.Parse(data)
		if snap == nil {
			if err == nil {
				t.Fatal("neither snapshot nor error")
			}
			return
		}
		for _, d := range snap.Devices {
			if d.Device == "" || !strings.Contains(string(data), d.Device) {
				t.Fatalf("device %q", d.Device)
			}
		}
	})
}

// Five bytes are missing in the middle of NET_RX.
func TestASoftirqRowOutOfItsColumnsIsLeftOut(t *testing.T) {
	t.Parallel()
	var p SoftirqParser
	text := "                    CPU0       CPU1\n" +
		"          HI:          1          0\n" +
		"      NET_RX:         61   8016\n" +
		"         RCU:          7          8\n"
	snap, err := p.Parse([]byte(text))
	if err == nil || fmt.Sprint(snap.Names) != "[HI RCU]" {
		t.Errorf("rows %v, error %v", snap.Names, err)
	}
}
