package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
)

// maxSeed keeps seeds short: mutations then hit what they hold.
const maxSeed = 3 << 10

// seeds gives texts of a kind: those written here, which show its variants,
// and what the generator of cases writes.
func seeds(t testing.TB, kind Kind) []string {
	t.Helper()
	return append(writtenSeeds(kind), generatedSeeds(t, kind)...)
}

// generatedSeeds gives the files of a kind that a minute of a small node leaves.
func generatedSeeds(t testing.TB, kind Kind) []string {
	t.Helper()
	dir := t.TempDir()
	s := refcase.Scenario{
		Seed: 1, Node: "db1", Instance: "ORDP1", Hours: 1.0 / 60,
		Start:        time.Date(2026, time.June, 16, 9, 0, 0, 0, time.FixedZone("KST", 9*60*60)),
		Machine:      refcase.Machine{Sockets: 2, CoresPerSocket: 2, ThreadsPerCore: 1},
		Load:         refcase.Load{CommitsPerS: 100, WanderSeconds: 10, Wander: 0.1, Busy: 0.1},
		Interconnect: refcase.Interconnect{Socket: 1, QueuesPerS: []float64{4000, 50}},
		LGWR:         refcase.LGWR{Dwell: 2 * time.Second, HeavyPull: 1.5, WritesPerS: 100},
		Stalls: refcase.Stalls{
			Cause: domain.CauseInterrupts, Count: 5, Min: 110 * time.Millisecond, Max: 400 * time.Millisecond, WaitersMin: 2, WaitersMax: 3,
		},
		Records: refcase.Records{
			Interrupts: 10 * time.Second, MPStat: 20 * time.Second, IOStat: 20 * time.Second, SysStat: 10 * time.Second,
			Histogram: 10 * time.Second, ASH: refcase.ASHFull, Cores: true, Bond: true,
		},
	}
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
	var texts []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if of, _ := recognise(knownFormats(), text[:min(len(text), probeSize)]); of == nil || of.kind != kind {
			continue
		}
		if len(text) > maxSeed {
			text = text[:bytes.LastIndexByte(text[:maxSeed], '\n')+1]
		}
		texts = append(texts, string(text))
	}
	return texts
}

// Parts of logs of /proc.
const (
	seedInterrupts = "           CPU0       CPU2\n 24:         10         20   PCI-MSI 1 edge      ens3f0-TxRx-0\n" +
		" 25: 4294967290          0   IR-PCI-MSI 2-edge      nvme0q1, eth1\nLOC:        100        200   Local timer interrupts\nERR:          0\n"
	seedSoftirqs = "                    CPU0       CPU1\n          HI:          0          1\n       TIMER:    1234567    2345678\n      NET_RX:         70         80\n"
	seedStat     = "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\nintr 100 1 2\nctxt 1000\nbtime 1757462400\nprocesses 100\nprocs_running 1\nprocs_blocked 0\n"
	seedDisks    = " 259       0 nvme0n1 100 0 800 50 200 0 1600 100 0 120 150\n   8       0 sda 100 0 800 50 200 0 1600 100 0 120 150\n"
	seedBond     = "Ethernet Channel Bonding Driver: v4.18.0\n\nBonding Mode: fault-tolerance (active-backup)\nPrimary Slave: None\n" +
		"Currently Active Slave: ens3f0\nMII Status: up\n\nSlave Interface: ens3f0\nMII Status: up\nLink Failure Count: 0\n"
)

// twice puts a block under two time lines.
func twice(block string) string {
	return "1796006412\n" + block + "2026-11-30T11:40:17+09:00\n" + block
}

// writtenSeeds gives short texts that show the variants of a kind.
func writtenSeeds(kind Kind) []string {
	const iso = "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(2 CPU)\n\n"
	switch kind {
	case KindInterrupts:
		return []string{
			seedInterrupts, twice(seedInterrupts), "zzz ***Mon Nov 30 11:40:12 UTC 2026 - db1\n" + seedInterrupts + seedStat + seedSoftirqs + seedDisks + seedBond,
			"1796006412\n" + seedInterrupts + "Mon Nov 30 11:40:22 KST 2026\n           CPU0\n 24:      5   x\nIPI0:   7  Rescheduling interrupts\n",
			strings.ReplaceAll(twice(seedInterrupts), "\n", "\r\n"), "\xef\xbb\xbf" + twice(seedInterrupts)[:300],
		}
	case KindSoftirqs:
		return []string{seedSoftirqs, twice(seedSoftirqs), "1796006412.5\n" + seedSoftirqs + "1796006413.5\n" + seedSoftirqs[:60]}
	case KindStat:
		return []string{seedStat, twice(seedStat), "1796006412\ncpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 5\n1796006413\ncpu  1 2 3\n"}
	case KindDiskstats:
		return []string{seedDisks, twice(seedDisks), "1796006412\n8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"}
	case KindBonding:
		return []string{seedBond, "==> /proc/net/bonding/bond0 <==\n" + seedBond + "==> /proc/net/bonding/bond1 <==\n" + strings.ReplaceAll(seedBond, "ens3f0", "eth1")}
	case KindLscpu:
		return []string{
			"CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-1,2-3\n",
			"# CPU,Core,Socket,Node\n0,0,0,0\n1,0,0,0\n", "CPU NODE SOCKET CORE ONLINE\n  0    0      0    0    yes\n",
			`{"lscpu":[{"field":"CPU(s):","data":"2","children":[{"field":"On-line CPU(s) list:","data":"0,1"}]}]}`,
			`{"cpus":[{"cpu":0,"node":0,"socket":0,"core":0,"online":true}]}`,
		}
	case KindNumactl:
		return []string{"available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 4096 MB\nnode 1 cpus:\nnode distances:\nnode   0\n  0:  10\n"}
	case KindSysfs:
		return []string{
			"/sys/class/net/ens3f0/device/numa_node: 3\n/sys/class/net/ens3f0/device/msi_irqs: 122 120 121\n/proc/irq/120/effective_affinity_list: 24\n/proc/irq/121/effective_affinity_list: 25-26,30\n",
			"/proc/irq/9/effective_affinity_list:\n/sys/class/net/eth1/device/numa_node: -1\n",
		}
	case KindPidstat:
		return []string{
			iso + "10:00:00 PM   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01 PM   500         -      4712    4.00    1.00    0.00    0.00    5.00     3  |__ora_lgwr_X\n",
			iso + "# Time UID PID %usr %system %CPU CPU Command\n1796032802 0 1 1.00 2.00 3.00 4 x\n",
			"Linux x (db1) \t2026년 11월 30일\n오후 10시 37분 21초 UID PID %CPU CPU Command\n오후 10시 37분 22초 0 1 1,00 - x\n",
			iso + "09:15:01+0900   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n09:15:02+0900 54321     18277    7.00    4.00    0.00    0.00   11.00     1  ora_lgwr_ORDP1\n",
		}
	case KindMpstat:
		return []string{
			iso + "10:00:00  CPU    %usr   %idle\n10:00:02  all    5.00    95.00\n10:00:02  0 0,00 0,00\n", mpstatDocument,
			"10:00:00 CPU intr/s 0/s\n10:00:00 all 1 2\n10:00:00 AM CPU %idle\n10:00:00 AM 0 100.00\n",
		}
	case KindVmstat:
		return []string{
			"procs ---memory---\n r b swpd free si so in cs us sy id wa st KST\n 1 0 0 1 0 0 5 6 1 1 98 0 0 2026-11-30 18:00:01\n",
			" r b cs us +03\n 1 0 6 1 2026-11-30 18:00:01 UTC\n r b cs us\n 1 2 3 4\n",
		}
	case KindIostat:
		return []string{
			"Linux 4.18.0 (db1) \t11/30/2026\n\n11/30/2026 10:00:00 AM\navg-cpu: %user\n 1.00\nDevice r/s r_await w/s w_await aqu-sz %util\nsda 1.00 2.00 3.00 4.00 5.00 6.00\n",
			"2026-11-30T10:00:00+0000\n f/s f_await aqu-sz %util Device\n 0.00 0.00 0,05 0.3% sda\nTime: 10:00:00\nDevice: await tps %util\nsda 0 0 0\n",
		}
	case KindPs:
		return []string{
			"Mon Nov 30 18:00:01 KST 2026\nPID TID PSR STAT CLS RTPRIO COMMAND\n1 2 3 S TS - x y\n",
			"zzz ***2026-11-30T10:00:02.5Z - db1\nPID COMMAND PSR S\n1 a b 5 S\n1796032802\nLWP CPUID CMD\n1 2 x\n",
			"1796032802.25\nPID TID PSR S CLS EXEC_NS WAIT_NS COMMAND\n1 2 3 S TS 100 50 x\n1 3 3 R TS - - y\n" +
				"1796032802.42\nPID TID PSR S CLS EXEC_NS WAIT_NS COMMAND\n1 2 3 R TS 900 18446744073709551615 x\n1 3 3 R TS 7 8 y\n",
		}
	default:
		return writtenOracleSeeds(kind)
	}
}

func writtenOracleSeeds(kind Kind) []string {
	switch kind {
	case KindASH:
		return []string{
			"SAMPLE_TIME,EVENT,TIME_WAITED\n2026-09-15 09:33:52.212,log file sync,434142\n",
			"SAMPLE_TIME                         EVENT         TIME_WAITED\n----------------------------------- ------------- -----------\n15-SEP-26 09.33.52.212 AM           log file sync      434142\n",
			"\"SAMPLE_TIME\"\t\"EVENT\"\t\"TIME_WAITED\"\r\n\"15-9월 -26 09.33.52.212000 오전\"\t\"log\nfile sync\"\t1\r\n",
			"EVENT\n-----\nSAMPLE_TIME TIME_WAITED\n----------- -----------\nlog\n2026-09-15 1\n",
		}
	case KindEventHistogram:
		return []string{
			"SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n2026-09-15 09:33:52,log file sync,1,7\n2026-09-15 09:33:53,log file sync,1,8\n",
			"SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MILLI,WAIT_COUNT,LAST_UPDATE_TIME\n2026-09-15 09:33:52,1,log file sync,1,7,2026-09-15 09:33:51\n2026-09-15 09:33:52,1,log file sync,2,9,\n",
		}
	case KindSystemEvent:
		return []string{
			"SNAP_TIME|EVENT|TOTAL_WAITS|TIME_WAITED\n2026-09-15 09:33:52|log file sync|1|7\n",
			"SNAP_TIME;INST_ID;EVENT;TOTAL_WAITS;TIME_WAITED_MICRO\n2026-09-15T09:33:52Z;1;log file parallel write;5;9000\n",
		}
	case KindSysstat:
		return []string{
			"SNAP_TIME,CON_ID,NAME,VALUE\n2026-09-15 09:33:52,0,user commits,10\n2026-09-15 09:33:53,0,user commits,12\n",
			"SNAP_TIME           NAME              VALUE\n------------------- ------------ ----------\n2026-09-15 09:33:52 redo size          1E+10\n",
		}
	case KindInstance:
		return []string{"INST_ID,INSTANCE_NAME,HOST_NAME\n1,ORDP1,db1\n\nNAME,IP_ADDRESS,IS_PUBLIC\nbond1:1,10.0.0.1,NO\n"}
	case KindInterconnects:
		return []string{"NAME,IP_ADDRESS,IS_PUBLIC,SOURCE\nbond1:1,10.0.0.1,NO,\neth2,10.0.0.2,NO,\n", "NAME            IP_ADDRESS       IS_\n--------------- ---------------- ---\nens3f0          192.0.2.1        NO\n"}
	default:
		return nil
	}
}
