package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// The tests below read published files that are no part of the project. Their
// expected values were read in the files by eye or with grep and awk; sums over
// CPUs are awk's.

// publishedFile gives a file of the corpus, or skips.
func publishedFile(t *testing.T, name string) []byte {
	t.Helper()
	path := filepath.Join(sharedFolder(t, "corpus"), filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("SKIPPED: %v (set COREWAIT_SHARED)", err)
	}
	return data
}

// readPublished recognises a file and reads it.
func readPublished(t *testing.T, name string, want Kind) (*recorder, *input) {
	t.Helper()
	data := publishedFile(t, name)
	f, _ := recognise(procFormats(), data[:min(len(data), probeSize)])
	if f == nil || f.kind != want {
		t.Fatalf("%s: recognised as %+v, want %s", name, f, want)
	}
	in := &input{name: name, zone: time.UTC, bad: &problems{}}
	in.lines = newLineReader(strings.NewReader(string(data)), func(int) { t.Error("a line is too long") })
	rec := &recorder{}
	if err := f.read(context.Background(), in, rec); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rec, in
}

func publishedInterrupts(t *testing.T, name string, snapshots int) []*domain.InterruptSnapshot {
	t.Helper()
	rec, in := readPublished(t, "interrupts/"+name, KindInterrupts)
	if len(rec.interrupts) != snapshots || in.bad.count != 0 {
		t.Fatalf("%s: %d snapshots, problems %q; want %d and none", name, len(rec.interrupts), in.bad.first, snapshots)
	}
	return rec.interrupts
}

func interruptLine(t *testing.T, s *domain.InterruptSnapshot, id string) domain.InterruptLine {
	t.Helper()
	for _, l := range s.Lines {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("no line %s", id)
	return domain.InterruptLine{}
}

// onCPU gives a line's count by the CPU's id.
func onCPU(t *testing.T, s *domain.InterruptSnapshot, id string, cpu int) uint64 {
	t.Helper()
	for i, c := range s.CPUs {
		if c == cpu {
			return interruptLine(t, s, id).Counts[i]
		}
	}
	t.Fatalf("no CPU %d", cpu)
	return 0
}

func total(l domain.InterruptLine) uint64 {
	sum := l.Single
	for _, c := range l.Counts {
		sum += c
	}
	return sum
}

func numbered(l domain.InterruptLine) bool { return l.ID[0] >= '0' && l.ID[0] <= '9' }

// busiest gives the numbered line with the greatest total.
func busiest(s *domain.InterruptSnapshot) domain.InterruptLine {
	var most domain.InterruptLine
	for _, l := range s.Lines {
		if numbered(l) && total(l) > total(most) {
			most = l
		}
	}
	return most
}

func numberedLines(s *domain.InterruptSnapshot) int {
	n := 0
	for _, l := range s.Lines {
		if numbered(l) {
			n++
		}
	}
	return n
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestPublishedSeriesWithEpochTimes(t *testing.T) {
	t.Parallel()
	all := publishedInterrupts(t, "pbench-series-22-timestamps-8cpu.txt", 22)
	first, second, last := all[0], all[1], all[21]
	same(t, "first time", first.At.UnixNano(), 1424904529913029452)
	same(t, "last time", last.At.UnixNano(), 1424904593558872222)
	same(t, "LOC, first to last", total(interruptLine(t, last, "LOC"))-total(interruptLine(t, first, "LOC")), 163379)
	same(t, "LOC on CPU 2", onCPU(t, last, "LOC", 2)-onCPU(t, first, "LOC", 2), 47578)
	same(t, "LOC on CPU 4, first to second", onCPU(t, second, "LOC", 4)-onCPU(t, first, "LOC", 4), 3654)
	same(t, "LOC on CPU 5, first to second", onCPU(t, second, "LOC", 5)-onCPU(t, first, "LOC", 5), 722)
	same(t, "LOC is the kernel's", interruptLine(t, first, "LOC").Class, domain.ClassKernel)
	same(t, "ahci on CPU 0", onCPU(t, last, "42", 0)-onCPU(t, first, "42", 0), 4100)
	same(t, "ahci", total(interruptLine(t, last, "42"))-total(interruptLine(t, first, "42")), 4100)
	same(t, "i915 on CPU 5", onCPU(t, last, "44", 5)-onCPU(t, first, "44", 5), 6780)
	same(t, "class of ahci", interruptLine(t, first, "42").Class, domain.ClassStorage)
	same(t, "class of i915", interruptLine(t, first, "44").Class, domain.ClassOther)
	same(t, "class of em1", interruptLine(t, first, "48").Class, domain.ClassNetwork)
}

func TestPublishedHostOf32CPUs(t *testing.T) {
	t.Parallel()
	s := publishedInterrupts(t, "32cpu-2xE5-2640-ixgbe-igb.txt", 1)[0]
	same(t, "CPUs", len(s.CPUs), 32)
	same(t, "numbered lines", numberedLines(s), 166)
	same(t, "time", s.At, time.Time{})
	most := busiest(s)
	same(t, "busiest", most.ID+" "+most.Device+" "+most.Class.String(), "185 eth2 network")
	same(t, "its total", total(most), 4200491038)
	same(t, "on CPU 10", onCPU(t, s, "185", 10), 4200123808)
	same(t, "on CPU 8", onCPU(t, s, "185", 8), 367230)
	same(t, "LOC", total(interruptLine(t, s, "LOC")), 31501469018)
}

func TestPublishedHostOf16CPUsWithTotalsOver32Bits(t *testing.T) {
	t.Parallel()
	s := publishedInterrupts(t, "16cpu-2xE2690-mlx-emulex.txt", 1)[0]
	same(t, "CPUs", len(s.CPUs), 16)
	same(t, "numbered lines", numberedLines(s), 76)
	most := busiest(s)
	same(t, "busiest", most.ID+" "+most.Device+" "+most.Class.String(), "123 eth7 network")
	same(t, "its total", total(most), 8020513669)
	same(t, "on CPU 10", onCPU(t, s, "123", 10), 4090400650)
	same(t, "on CPU 2", onCPU(t, s, "123", 2), 3930010388)
	same(t, "on CPU 0", onCPU(t, s, "123", 0), 102631)
	same(t, "hpsa2-msix0", interruptLine(t, s, "77").Class, domain.ClassStorage)
	same(t, "mlx4-comp-0@pci:0000:04:00.0", interruptLine(t, s, "109").Device, "mlx4@0000:04:00.0")
}

func TestPublishedARMHost(t *testing.T) {
	t.Parallel()
	s := publishedInterrupts(t, "node_exporter-aarch64.txt", 1)[0]
	same(t, "CPUs", len(s.CPUs), 8)
	same(t, "IPI0 on CPU 0", onCPU(t, s, "IPI0", 0), 2768808080)
	same(t, "IPI0", total(interruptLine(t, s, "IPI0")), 22166462124)
	same(t, "IPI0 is the kernel's", interruptLine(t, s, "IPI0").Class, domain.ClassKernel)
	most := busiest(s)
	same(t, "busiest", fmt.Sprint(most.ID, " ", total(most)), "10 26767542953")
	same(t, "arch_timer is no device", most.Device+most.Class.String(), "kernel")
	same(t, "nvme0q1", interruptLine(t, s, "53").Device+" "+interruptLine(t, s, "53").Class.String(), "nvme0 storage")
	same(t, "eth0-Tx-Rx-0", interruptLine(t, s, "58").Device, "eth0")
	same(t, "ena-mgmnt", interruptLine(t, s, "57").Device, "ena@0000:00:05.0")
}

func TestPublishedHostsWithHolesInTheirCPUs(t *testing.T) {
	t.Parallel()
	s := publishedInterrupts(t, "sysstat-root3.txt", 1)[0]
	same(t, "CPUs", fmt.Sprint(s.CPUs), "[0 1 2 3 4 5 7]")
	same(t, "LOC on CPU 7", onCPU(t, s, "LOC", 7), 12540126)
	same(t, "ahci on CPU 2", onCPU(t, s, "24", 2), 221678)
	same(t, "CPUs of root4", fmt.Sprint(publishedInterrupts(t, "sysstat-root4.txt", 1)[0].CPUs), "[0 1 2 3 4 5 7 8]")
	same(t, "CPUs of root2", fmt.Sprint(publishedInterrupts(t, "sysstat-root2.txt", 1)[0].CPUs), "[0 1 2 3 4 5 6 7]")
}

func TestPublishedPairOfSnapshots(t *testing.T) {
	t.Parallel()
	before := publishedInterrupts(t, "series-multinic-4cpu-1.txt", 1)[0]
	after := publishedInterrupts(t, "series-multinic-4cpu-2.txt", 1)[0]
	var moved []string
	for i, l := range after.Lines {
		if d := total(l) - total(before.Lines[i]); numbered(l) && d != 0 {
			moved = append(moved, fmt.Sprint(l.ID, "+", d))
		}
	}
	same(t, "numbered lines that moved", strings.Join(moved, " "),
		"33+6 34+45468 35+51589 36+49704 37+49455 39+44585 40+38908 41+36932 42+35862 44+169")
	for cpu := range 4 {
		same(t, fmt.Sprintf("eth4-TxRx-3 grows on CPU %d", cpu), onCPU(t, after, "37", cpu) > onCPU(t, before, "37", cpu), cpu == 0)
		same(t, fmt.Sprintf("eth4-TxRx-0 grows on CPU %d", cpu), onCPU(t, after, "34", cpu) > onCPU(t, before, "34", cpu), cpu == 3)
	}
	same(t, "eth4-TxRx-0 on CPU 0, from the past", onCPU(t, after, "34", 0), 256407)
}

func TestPublishedOddInterrupts(t *testing.T) {
	t.Parallel()
	multi := publishedInterrupts(t, "insights-int_multi.txt", 1)[0]
	same(t, "line 30 names no device", interruptLine(t, multi, "30").Device, "")
	most := busiest(multi)
	same(t, "busiest", fmt.Sprint(most.ID, " ", most.Device, " ", total(most)), "28 xhci_hcd 4038519")

	old := publishedInterrupts(t, "x-centos5-xtpic-ioapic-level.txt", 1)[0]
	ethernet := interruptLine(t, old, "16")
	same(t, "an old name", ethernet.Device+" "+ethernet.Class.String(), "Intel EtherExpress Pro 10/100 Ethernet network")
	same(t, "its total, 11184294 + 15940594", total(ethernet), 27124888)
	for _, id := range []string{"NMI", "ERR"} {
		same(t, id+" has one value", interruptLine(t, old, id).Counts == nil, true)
	}

	even := publishedInterrupts(t, "8cpu-strange-cpu.txt", 1)[0]
	line := interruptLine(t, even, "61")
	same(t, "line 61", fmt.Sprint(line.Device, " ", total(line)), "eth1 14657528333")
	for i, n := range line.Counts {
		if mean := total(line) / 8; n > mean*101/100 || n < mean*99/100 {
			t.Errorf("line 61 on CPU %d: %d, want about %d", even.CPUs[i], n, mean)
		}
	}

	s390 := publishedInterrupts(t, "2cpu-s390x-tiny.txt", 1)[0]
	same(t, "EXT", fmt.Sprint(interruptLine(t, s390, "EXT").Counts), "[31903 57022]")
	same(t, "I/O", fmt.Sprint(interruptLine(t, s390, "I/O").Counts), "[6989 33457]")
	same(t, "I/O is a class, no device", interruptLine(t, s390, "I/O").Class, domain.ClassKernel)

	publishedInterrupts(t, "jc-linux-proc.txt", 1)
	for _, name := range []string{"insights-int_invalid_1.txt", "x-irqbalance94-grep-prefixed.txt"} {
		if f, _ := recognise(procFormats(), publishedFile(t, "interrupts/"+name)); f != nil {
			t.Errorf("%s: recognised as %s, want it refused", name, f.kind)
		}
	}
}

func TestPublishedSoftirqsAndStat(t *testing.T) {
	t.Parallel()
	rec, in := readPublished(t, "softirqs/jc-linux-proc.txt", KindSoftirqs)
	same(t, "problems", in.bad.count, 0)
	same(t, "columns of softirqs: possible CPUs", len(rec.softirqs[0].CPUs), 128)
	same(t, "names", strings.Join(rec.softirqs[0].Names, " "), "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU")
	same(t, "NET_RX", fmt.Sprint(rec.softirqs[0].Counts[3][:3]), "[61 128016 0]")

	rec, in = readPublished(t, "procstat/sysstat-root3.txt", KindStat)
	same(t, "problems", in.bad.count, 0)
	cpus := rec.cpuTimes[0].CPUs
	same(t, "cpuN rows", len(cpus)-1, 7)
	same(t, "the last row", cpus[len(cpus)-1], domain.CPUTimes{CPU: 7, User: 16395, Nice: 100925, System: 9124, Idle: 586713, IOWait: 7293, IRQ: 2107, SoftIRQ: 981})
	same(t, "ctxt", rec.cpuTimes[0].ContextSwitches, 134044213)
	same(t, "intr", rec.cpuTimes[0].Interrupts, 96974734)
	same(t, "btime", rec.cpuTimes[0].BootTime.Unix(), 1555568347)

	rec, in = readPublished(t, "procstat/jc-stat2.txt", KindStat)
	same(t, "snapshots of two hosts in one file", len(rec.cpuTimes), 1)
	same(t, "the second host is told", in.bad.count, 1)
	same(t, "rows of the first", len(rec.cpuTimes[0].CPUs), 2)
	same(t, "steal on a kernel without it", rec.cpuTimes[0].CPUs[1].Steal, -1)
}

func TestPublishedTopology(t *testing.T) {
	t.Parallel()
	onNode := func(name string, node int) string {
		rec, in := readPublished(t, "lscpu/"+name, KindLscpu)
		if len(rec.topologies) != 1 || in.bad.count != 0 {
			t.Fatalf("%s: %d fragments, problems %q", name, len(rec.topologies), in.bad.first)
		}
		var ids []string
		for _, c := range rec.topologies[0].CPUs {
			if c.Node == node {
				ids = append(ids, strconv.Itoa(c.ID))
			}
		}
		return strings.Join(ids, ",")
	}
	same(t, "node 0", onNode("32cpu-2xE5-2640-ixgbe-igb.lscpu.txt", 0), "0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23")
	same(t, "even CPUs", onNode("12cpu-2xX5650-bnx2-mlx.lscpu.txt", 0), "0,2,4,6,8,10")
	same(t, "node 1 of -p", onNode("12cpu-E5645-ixgbe.lscpu-p.txt", 1), "6,7,8,9,10,11")
	same(t, "node 1", onNode("16cpu-2xE2690-mlx-emulex.lscpu.txt", 1), "8,9,10,11,12,13,14,15")
	same(t, "indented", onNode("insights-lscpu_3.txt", 0), "0,1")
	if f, _ := recognise(procFormats(), publishedFile(t, "lscpu/insights-bad_lscpu.txt")); f != nil {
		t.Errorf("bad lscpu recognised as %s", f.kind)
	}
}

func TestPublishedBonds(t *testing.T) {
	t.Parallel()
	rec, in := readPublished(t, "bonding/insights-bondinfo_mode_4.txt", KindBonding)
	same(t, "mode", rec.topologies[0].Bonds[0].Mode, "IEEE 802.3ad Dynamic link aggregation")
	same(t, "slaves", fmt.Sprint(rec.topologies[0].Bonds[0].Slaves), "[eth1 eth2]")
	same(t, "its name stands nowhere", fmt.Sprint(rec.topologies[0].Bonds[0].Name, in.bad.count), "1")
	rec, _ = readPublished(t, "bonding/insights-bondinfo_1.txt", KindBonding)
	same(t, "mode", rec.topologies[0].Bonds[0].Mode, "load balancing (round-robin)")
	if f, _ := recognise(procFormats(), publishedFile(t, "bonding/insights-bondinfo_corrupt.txt")); f != nil {
		t.Errorf("corrupt bond recognised as %s", f.kind)
	}
}

func TestNoPublishedFileOfAnotherKindIsTakenForOneUnderProc(t *testing.T) {
	t.Parallel()
	folder := sharedFolder(t, "corpus")
	for _, dir := range []string{"ash", "awr", "lgwr", "mpstat", "pidstat"} {
		entries, err := os.ReadDir(filepath.Join(folder, dir))
		if err != nil {
			t.Skipf("SKIPPED: %v (set COREWAIT_SHARED)", err)
		}
		for _, e := range entries {
			f, err := os.Open(filepath.Join(folder, dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			head := make([]byte, probeSize)
			n, err := io.ReadFull(f, head)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got, _ := recognise(procFormats(), head[:n]); got != nil {
				t.Errorf("%s/%s: recognised as %s", dir, e.Name(), got.kind)
			}
		}
	}
}
