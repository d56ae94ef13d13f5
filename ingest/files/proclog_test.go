package files

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// Logs below are written by hand; expected values are read from them by eye.

// readProcText reads text as a file of that name; times without zone are taken
// as those of zone.
func readProcText(t *testing.T, name, text string, zone *time.Location) (*recorder, *input) {
	t.Helper()
	in := &input{name: name, zone: zone, bad: &problems{}}
	in.lines = newLineReader(strings.NewReader(text), func(int) { t.Error("a line is too long") })
	rec := &recorder{}
	if err := readProc(context.Background(), in, rec); err != nil {
		t.Fatalf("readProc: %v", err)
	}
	if sent := len(rec.interrupts) + len(rec.softirqs) + len(rec.cpuTimes) + len(rec.disks) + len(rec.topologies); in.count != int64(sent) {
		t.Errorf("counted %d records, sent %d", in.count, sent)
	}
	return rec, in
}

func interruptBlock(first, second int) string {
	return fmt.Sprintf(`           CPU0       CPU1
 24: %10d %10d  IR-PCI-MSI 1-edge      ens1f0-TxRx-0
LOC:          1          2   Local timer interrupts
ERR:          0
`, first, second)
}

// eth gives what line 24 of each block counts, with its time.
func eth(rec *recorder) string {
	var b strings.Builder
	for _, s := range rec.interrupts {
		fmt.Fprintf(&b, "%s", s.At.Format("15:04:05.999"))
		for _, line := range s.Lines {
			if line.ID == "24" {
				fmt.Fprint(&b, line.Counts)
			}
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

// By eye: the line that names db2, the 4 lines of its block, a time line of db1
// and the 4 lines under it: 10 unread.
func TestALogEndsWhereAnotherHostBegins(t *testing.T) {
	t.Parallel()
	const db1, db2 = "zzz ***Mon Nov 30 11:40:12 UTC 2026 - db1\n", "zzz ***Mon Nov 30 11:40:22 UTC 2026 - db2\n"
	rec, in := readProcText(t, "f", db1+interruptBlock(1, 2)+
		"zzz ***Mon Nov 30 11:40:15 UTC 2026 - DB1.example\n"+interruptBlock(3, 4)+
		db2+interruptBlock(50, 60)+db1+interruptBlock(70, 80), time.UTC)
	if got, want := eth(rec), "11:40:12[1 2] 11:40:15[3 4]"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	if in.bad.count != 10 || len(in.bad.first) != 1 || !strings.Contains(in.bad.first[0], `"db2" after "db1"`) {
		t.Errorf("%d unread: %q", in.bad.count, in.bad.first)
	}
}

func TestTimeLinesOfInterruptLogs(t *testing.T) {
	t.Parallel()
	seoul := time.FixedZone("", 9*3600)
	want := time.Date(2026, 11, 30, 2, 40, 12, 0, time.UTC)
	for _, line := range []string{
		"2026-11-30T11:40:12+09:00",
		"2026-11-30T11:40:12+0900",
		"2026-11-30 11:40:12+09:00",
		"2026-11-30T02:40:12Z",
		"2026-11-30T11:40:12",
		"2026-11-30 11:40:12",
		"1796006412",
		"1796006412000",
		"timestamp: 1796006412",
		"Mon Nov 30 11:40:12 KST 2026",
		"Mon Nov 30 02:40:12 UTC 2026",
		"Mon Nov 30 02:40:12 GMT 2026",
		"Mon Nov 30 11:40:12 2026",
		"Mon Nov 30 11:40:12 AM KST 2026",
		"Mon 30 Nov 2026 11:40:12 AM KST",
		"Mon, 30 Nov 2026 11:40:12 +0900",
		"2026. 11. 30. (월) 11:40:12 KST",
		"zzz ***Mon Nov 30 11:40:12 KST 2026",
		"zzz ***Mon Nov 30 11:40:12 KST 2026 - db1",
		"zzz <11/30/2026 11:40:12> Count:0",
		"=== 2026-11-30 11:40:12 ===",
		"# 2026-11-30T11:40:12",
		"--- Mon Nov 30 11:40:12 KST 2026 ---",
	} {
		rec, in := readProcText(t, "i.log", line+"\n"+interruptBlock(5, 7), seoul)
		if len(rec.interrupts) != 1 || in.bad.count != 0 {
			t.Errorf("%q: %d snapshots, problems %v; want one and none", line, len(rec.interrupts), in.bad.first)
			continue
		}
		if at := rec.interrupts[0].At; !at.Equal(want) {
			t.Errorf("%q: read as %s, want %s", line, at, want)
		}
	}
	rec, _ := readProcText(t, "i.log", "1796006412.913029452\n"+interruptBlock(5, 7), seoul)
	if got := rec.interrupts[0].At; !got.Equal(want.Add(913029452)) {
		t.Errorf("fraction of a second: %s", got)
	}
}

func TestTheHourThatComesTwiceIsTakenInOrder(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("SKIPPED: no time zone data on this machine: ", err)
	}
	// Clocks went back from 3:00 to 2:00 on 2026-10-25.
	var log strings.Builder
	for _, clock := range []string{"01:59:50", "02:30:00", "02:59:50", "02:00:10", "02:30:00", "03:00:10"} {
		fmt.Fprintf(&log, "2026-10-25 %s\n%s", clock, interruptBlock(1, 1))
	}
	rec, _ := readProcText(t, "i.log", log.String(), berlin)
	const want = "23:59:50[1 1] 00:30:00[1 1] 00:59:50[1 1] 01:00:10[1 1] 01:30:00[1 1] 02:00:10[1 1]"
	if got := eth(rec); got != want {
		t.Errorf("instants %s\nwant     %s", got, want)
	}
}

func TestWhatALogGives(t *testing.T) {
	t.Parallel()
	const t1, t2, t3 = "2026-11-30T11:40:00Z\n", "2026-11-30T11:40:05Z\n", "2026-11-30T11:40:10Z\n"
	one, two, three := interruptBlock(1, 2), interruptBlock(3, 4), interruptBlock(5, 6)
	cutRow := two[:strings.Index(two, "LOC")-30] + "\n" // within line 24's counts or name
	for name, tt := range map[string]struct {
		log      string
		eth      string
		problems int64
		why      string // part of the first problem
	}{
		"a snapshot without time line":         {one, "00:00:00[1 2]", 0, ""},
		"three blocks":                         {t1 + one + t2 + two + t3 + three, "11:40:00[1 2] 11:40:05[3 4] 11:40:10[5 6]", 0, ""},
		"blank lines between":                  {t1 + "\n" + one + "\n\n" + t2 + "\n" + two, "11:40:00[1 2] 11:40:05[3 4]", 0, ""},
		"carriage returns":                     {strings.ReplaceAll(t1+one+t2+two, "\n", "\r\n"), "11:40:00[1 2] 11:40:05[3 4]", 0, ""},
		"no newline at the end":                {t1 + one + t2 + strings.TrimSuffix(two, "\n"), "11:40:00[1 2] 11:40:05[3 4]", 0, ""},
		"the first block has no time line":     {one + t2 + two, "11:40:05[3 4]", 1, "without a time line before it"},
		"a block in mid-log has none":          {t1 + one + two + t3 + three, "11:40:00[1 2] 11:40:10[5 6]", 1, "another /proc/interrupts"},
		"two blocks and no time line":          {one + two, "00:00:00[1 2]", 1, "another /proc/interrupts"},
		"a header and no rows":                 {t1 + one + t2 + "           CPU0       CPU1\n" + t3 + three, "11:40:00[1 2] 11:40:10[5 6]", 1, "without a row"},
		"a time line and no block":             {t1 + t2 + two, "11:40:05[3 4]", 0, ""},
		"the last block is cut in a row":       {t1 + one + t2 + cutRow, "11:40:00[1 2]", 2, ""},
		"a block in mid-log is cut in a row":   {t1 + one + t2 + cutRow + t3 + three, "11:40:00[1 2] 11:40:10[5 6]", 2, ""},
		"a cut row swallows the time line":     {t1 + one + t2 + strings.TrimSuffix(cutRow, "\n") + t3 + three, "11:40:00[1 2]", 3, ""},
		"a header is missing":                  {t1 + one + t2 + two[strings.Index(two, "\n")+1:] + t3 + three, "11:40:00[1 2] 11:40:10[5 6]", 3, "belongs to no file"},
		"a time line that is cut":              {t1 + one + t2[:9] + "\n" + two, "11:40:00[1 2]", 2, ""},
		"words of a script":                    {"starting\n" + t1 + one, "11:40:00[1 2]", 1, "belongs to no file"},
		"an announcement by a prompt":          {t1 + "[root@db1 ~]# cat /proc/interrupts\n" + one, "11:40:00[1 2]", 0, ""},
		"a file that is not read, announced":   {t1 + "==> /proc/meminfo <==\nMemTotal: 5 kB\nMemFree: 1 kB\n==> /proc/interrupts <==\n" + one + t2 + "==> /proc/meminfo <==\nMemTotal: 5 kB\n==> /proc/interrupts <==\n" + two, "11:40:00[1 2] 11:40:05[3 4]", 1, "/proc/meminfo is not read here"},
		"a file that is not read, unannounced": {t1 + one + "MemTotal: 5 kB\n" + t2 + two, "11:40:00[1 2] 11:40:05[3 4]", 1, "i.log:6: not a row"},
		"comments and ornaments":               {"# every 5 s\n---\n" + t1 + one + "=====\n" + t2 + two, "11:40:00[1 2] 11:40:05[3 4]", 0, ""},
		"the banner of OSWatcher":              {"Linux OSWbb v8.1.2 db1\nSNAP_INTERVAL 30\nCPU_COUNT 2\n" + t1 + one, "11:40:00[1 2]", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec, in := readProcText(t, "i.log", tt.log, time.UTC)
			if got := eth(rec); got != tt.eth {
				t.Errorf("snapshots %s, want %s", got, tt.eth)
			}
			if in.bad.count != tt.problems || tt.why != "" && !strings.Contains(in.bad.first[0], tt.why) {
				t.Errorf("problems %d %q, want %d, the first saying %q", in.bad.count, in.bad.first, tt.problems, tt.why)
			}
		})
	}
}

func TestCPUsThatComeAndGoInMidLog(t *testing.T) {
	t.Parallel()
	const log = `1796006412
           CPU0       CPU1       CPU2
 24:          1          2          3  IR-PCI-MSI 1-edge      ens1f0-TxRx-0
1796006417
           CPU0       CPU2
 24:          4          6  IR-PCI-MSI 1-edge      ens1f0-TxRx-0
1796006422
           CPU0       CPU1       CPU2
 24:          7          8          9  IR-PCI-MSI 1-edge      ens1f0-TxRx-0
`
	rec, in := readProcText(t, "i.log", log, time.UTC)
	got := make([]string, 0, 3)
	for _, s := range rec.interrupts {
		got = append(got, fmt.Sprint(s.CPUs, s.Lines[0].Counts))
	}
	const want = "[[0 1 2] [1 2 3] [0 2] [4 6] [0 1 2] [7 8 9]]"
	if fmt.Sprint(got) != want || in.bad.count != 0 {
		t.Errorf("%v, want %s; problems %v", got, want, in.bad.first)
	}
}

func TestSeveralFilesUnderOneTimeLine(t *testing.T) {
	t.Parallel()
	const block = `Mon Nov 30 11:40:1%d UTC 2026
           CPU0       CPU1
 24:          1          2  IR-PCI-MSI 1-edge      ens1f0-TxRx-0
ERR:          0
                    CPU0       CPU1       CPU2
          HI:          1          0          0
      NET_RX:         %d1         61          0
cpu  100 0 50 800 5 2 3 0 0 0
cpu0 60 0 30 400 5 1 2 0 0 0
cpu1 40 0 20 400 0 1 1 0 0 0
intr 500 1 2 3
ctxt 12345
btime 1796000000
procs_running 2
procs_blocked 1
   8       0 sda 10 1 20 30 40 5 60 70 0 80 90 0 0 0 0 0 0
 253       0 dm-0 11 1 20 31 41 5 60 71 0 81 91 0 0 0 0 0 0
==> /proc/net/bonding/bond1 <==
Ethernet Channel Bonding Driver: v5.10.0
Bonding Mode: fault-tolerance (active-backup)
Currently Active Slave: ens1f0
MII Status: up

Slave Interface: ens1f0
MII Status: up

Slave Interface: ens2f0
MII Status: up
`
	rec, in := readProcText(t, "all.log", fmt.Sprintf(block, 2, 3)+fmt.Sprintf(block, 7, 4), time.UTC)
	if in.bad.count != 0 {
		t.Fatalf("problems %v", in.bad.first)
	}
	if n := []int{len(rec.interrupts), len(rec.softirqs), len(rec.cpuTimes), len(rec.disks), len(rec.topologies)}; fmt.Sprint(n) != "[2 2 2 2 1]" {
		t.Fatalf("records %v, want two of each, and the bond once since it did not change", n)
	}
	soft := rec.softirqs[1]
	same(t, "softirqs", fmt.Sprint(soft.At.Second(), soft.CPUs, soft.Names, soft.Counts), "17 [0 1 2] [HI NET_RX] [[1 0 0] [41 61 0]]")
	stat := rec.cpuTimes[0]
	same(t, "totals of stat", fmt.Sprint(stat.At.Second(), stat.ContextSwitches, stat.Interrupts, stat.ProcsRunning, stat.ProcsBlocked, stat.BootTime.Unix()), "12 12345 500 2 1 1796000000")
	same(t, "the row of all CPUs", stat.CPUs[0].CPU, domain.AllCPUs)
	same(t, "cpu1", stat.CPUs[2], domain.CPUTimes{CPU: 1, User: 40, System: 20, Idle: 400, IRQ: 1, SoftIRQ: 1})
	same(t, "dm-0", rec.disks[0].Devices[1], domain.DiskCounters{Device: "dm-0", Reads: 11, ReadMS: 31, Writes: 41, WriteMS: 71, BusyMS: 81})
	bond := rec.topologies[0].Bonds[0]
	same(t, "bond", fmt.Sprintf("%s, %s, %s, %v", bond.Name, bond.Mode, bond.ActiveSlave, bond.Slaves), "bond1, fault-tolerance (active-backup), ens1f0, [ens1f0 ens2f0]")
}

func TestTwoHostsInOneStatFileAreNotMixed(t *testing.T) {
	t.Parallel()
	const text = "cpu  10 0 5 80 5 0 0\ncpu0 10 0 5 80 5 0 0\nctxt 111\nbtime 1093631447\n" +
		"cpu  20 0 5 80 5 0 0\ncpu0 12 0 5 80 5 0 0\ncpu1 8 0 5 80 5 0 0\nctxt 222\nbtime 1078711415\n"
	rec, in := readProcText(t, "stat.txt", text, time.UTC)
	if len(rec.cpuTimes) != 1 || len(rec.cpuTimes[0].CPUs) != 2 || rec.cpuTimes[0].ContextSwitches != 111 {
		t.Errorf("snapshots %+v, want the first host's alone", rec.cpuTimes)
	}
	if in.bad.count != 1 || !strings.Contains(in.bad.first[0], "stat.txt:5: another /proc/stat") {
		t.Errorf("problems %d %v, want the second host told once", in.bad.count, in.bad.first)
	}
}

func TestABondIsNamedByItsFileOrTheLineBefore(t *testing.T) {
	t.Parallel()
	const bond = "Ethernet Channel Bonding Driver: v5\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\nSlave Interface: eth1\nMII Status: up\n"
	for name, tt := range map[string]struct {
		file, text string
		bonds      string
		problems   int64
	}{
		"by the file":                     {"proc/net/bonding/bond1", bond, "[bond1]", 0},
		"by a file within an archive":     {"n.tar.gz!proc/net/bonding/bondeth0", bond, "[bondeth0]", 0},
		"by a copy of the file":           {"db1/bond0.txt", bond, "[bond0]", 0},
		"by a file that a script named":   {"proc_net_bonding_bond0.txt", bond, "[bond0]", 0},
		"by tail":                         {"x.log", "==> /proc/net/bonding/bond0 <==\n" + bond + "\n==> /proc/net/bonding/bond1 <==\n" + bond, "[bond0 bond1]", 0},
		"by a prompt":                     {"x.log", "$ cat /proc/net/bonding/bond7\n" + bond, "[bond7]", 0},
		"by a line with its name":         {"x.log", "bond3:\n" + bond, "[bond3]", 0},
		"by nothing":                      {"the bonding of node one.txt", bond, "[]", 1},
		"the second of a file by nothing": {"bond0", bond + bond, "[bond0 ]", 1},
	} {
		rec, in := readProcText(t, tt.file, tt.text, time.UTC)
		names := []string{}
		for _, topology := range rec.topologies {
			names = append(names, topology.Bonds[0].Name)
		}
		if got := fmt.Sprint(names); got != tt.bonds || in.bad.count != tt.problems {
			t.Errorf("%s: bonds %s, problems %v; want %s, %d", name, got, in.bad.first, tt.bonds, tt.problems)
		}
	}
}

func TestADamagedBondIsRefused(t *testing.T) {
	t.Parallel()
	const text = "Ethernet Channel Bonding Driver: v5\nCurrently Active Slave: eth1\nSlave Interface: eth1\n"
	rec, in := readProcText(t, "bond0", text, time.UTC)
	if len(rec.topologies) != 0 || in.bad.count != 1 {
		t.Errorf("read as %+v, problems %v", rec.topologies, in.bad.first)
	}
}

func TestFilesUnderProcAreRecognisedByContent(t *testing.T) {
	t.Parallel()
	seoul := 9 * 3600
	for name, tt := range map[string]struct {
		head string
		kind Kind // "" where it must not be recognised
		want probed
	}{
		"a snapshot": {interruptBlock(1, 2), KindInterrupts, probed{}},
		"a log with a zone": {
			"2026-11-30T11:40:12+09:00\n" + interruptBlock(1, 2), KindInterrupts,
			probed{hasTimes: true, zone: time.FixedZone("", seoul), first: time.Date(2026, 11, 30, 2, 40, 12, 0, time.UTC)},
		},
		"a log without zone": {
			"Mon Nov 30 11:40:12 KST 2026\n" + interruptBlock(1, 2), KindInterrupts,
			probed{hasTimes: true, first: time.Date(2026, 11, 30, 11, 40, 12, 0, time.UTC)},
		},
		"a log by the epoch": {
			"1796006412\n" + interruptBlock(1, 2), KindInterrupts,
			probed{hasTimes: true, absolute: true, first: time.Date(2026, 11, 30, 2, 40, 12, 0, time.UTC)},
		},
		"OSWatcher names the host": {
			"Linux OSWbb v8.1.2 db1\nzzz ***Mon Nov 30 11:40:12 UTC 2026\n" + interruptBlock(1, 2), KindInterrupts,
			probed{host: "db1", hasTimes: true, zone: time.UTC, first: time.Date(2026, 11, 30, 11, 40, 12, 0, time.UTC)},
		},
		"softirqs":                        {"                    CPU0\n          HI:          1\n", KindSoftirqs, probed{}},
		"stat":                            {"cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\nintr 5\n", KindStat, probed{}},
		"diskstats":                       {"   8       0 sda 10 1 20 30 40 5 60 70 0 80 90\n", KindDiskstats, probed{}},
		"a bond":                          {"Ethernet Channel Bonding Driver: v5\nBonding Mode: x\n", KindBonding, probed{}},
		"softirqs before interrupts":      {"                    CPU0\n          HI:          1\n           CPU0\n  1:          1  XT-PIC  a\n", KindInterrupts, probed{}},
		"lscpu":                           {"Architecture:        x86_64\nCPU(s):              2\nOn-line CPU(s) list: 0,1\nThread(s) per core:  1\n", KindLscpu, probed{}},
		"lscpu -p":                        {"# The following is the parsable format\n# CPU,Core,Socket,Node\n0,0,0,0\n", KindLscpu, probed{}},
		"lscpu -e":                        {"CPU NODE SOCKET CORE ONLINE\n  0    0      0    0    yes\n", KindLscpu, probed{}},
		"lscpu -J":                        {"{\n   \"lscpu\": [\n", KindLscpu, probed{}},
		"numactl -H":                      {"available: 1 nodes (0)\nnode 0 cpus: 0 1\n", KindNumactl, probed{}},
		"rows as grep printed them":       {"/proc/interrupts:  85:         55        100\n", "", probed{}},
		"interrupts without header":       {"  0:         45   IO-APIC-edge      timer\n  1:          3   IO-APIC-edge      i8042\n", "", probed{}},
		"the middle of a bond":            {"Link Failure Count: 0\nPermanent HW addr: 00:16:35:5e:02:7e\n", "", probed{}},
		"something like lscpu":            {"Architecture:          x86_64\nCPU op-mode(s) =        32-bit, 64-bit\n", "", probed{}},
		"a time line alone":               {"2026-11-30T11:40:12+09:00\n", "", probed{}},
		"prose":                           {"The CPU was busy.\nSo was cpu 12.\n", "", probed{}},
		"bytes that are no text":          {"CPU\x00\x01\xff\xfe\n\n\x00", "", probed{}},
		"another OSWatcher file":          {"zzz ***Mon Nov 30 11:40:12 UTC 2026\nMemTotal:  1 kB\n", "", probed{}},
		"mpstat's table of interrupts":    {"11:40:12 AM  CPU      0/s      1/s\n11:40:13 AM    0     1.00     2.00\n", "", probed{}},
		"a header alone, as of one block": {"           CPU0       CPU1\n", "", probed{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, got := recognise(procFormats(), []byte(tt.head))
			switch {
			case f == nil && tt.kind == "":
				return
			case f == nil || f.kind != tt.kind:
				t.Fatalf("recognised %+v, want %q", f, tt.kind)
			}
			sameZone := got.zone == tt.want.zone || got.zone != nil && tt.want.zone != nil && offsetAt(got.zone) == offsetAt(tt.want.zone)
			if got.host != tt.want.host || got.hasTimes != tt.want.hasTimes || got.absolute != tt.want.absolute || !got.first.Equal(tt.want.first) || !sameZone {
				t.Errorf("probed %+v, want %+v", got, tt.want)
			}
		})
	}
}

func offsetAt(zone *time.Location) int {
	_, offset := time.Unix(0, 0).In(zone).Zone()
	return offset
}

func TestALogOfAVeryLargeHostIsRecognisedFromItsHeader(t *testing.T) {
	t.Parallel()
	var header bytes.Buffer
	header.WriteString("2026-11-30T11:40:12Z\n     ")
	for c := range 8192 {
		fmt.Fprintf(&header, "%-11s", fmt.Sprint("CPU", c))
	}
	if f, _ := recognise(procFormats(), header.Bytes()[:probeSize]); f == nil || f.kind != KindInterrupts {
		t.Errorf("recognised %+v", f)
	}
}

func BenchmarkInterruptLog(b *testing.B) {
	var log bytes.Buffer
	for block := range 100 {
		fmt.Fprintf(&log, "%d\n    ", 1796006412+block)
		for c := range 64 {
			fmt.Fprintf(&log, "%11s", fmt.Sprint("CPU", c))
		}
		log.WriteByte('\n')
		for row := range 126 {
			fmt.Fprintf(&log, "%4d:", row+100)
			for c := range 64 {
				n := 0
				if c == row%64 || c%8 == row%8 {
					n = row*c*1000 + block*700
				}
				fmt.Fprintf(&log, " %10d", n)
			}
			fmt.Fprintf(&log, "  IR-PCI-MSI %d-edge      ens%df0-TxRx-%d\n", row, row/64, row%64)
		}
		log.WriteString(" ERR:          0\n MIS:          0\n")
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		in := &input{name: "i.log", zone: time.UTC, bad: &problems{}}
		in.lines = newLineReader(bytes.NewReader(log.Bytes()), func(int) {})
		if err := readProc(context.Background(), in, noReadings{}); err != nil || in.count != 100 {
			b.Fatal(err, in.count)
		}
	}
}
