package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What every labelled case holds is told in words by the README beside them:
// one node, Asia/Seoul, files of these kinds, and no line that is not right.
func TestLabelledCasesAreRecognisedAndReadWhole(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(sharedFolder(t, "cases"), "case-*", "ash.csv"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	kinds := map[string]Kind{
		"ash.csv": KindASH, "interrupts.log.gz": KindInterrupts, "iostat.txt.gz": KindIostat, "lscpu.txt": KindLscpu, "mpstat.txt.gz": KindMpstat,
		"pidstat_lgwr.txt.gz": KindPidstat, "sysstat.csv": KindSysstat, "vmstat.txt.gz": KindVmstat,
	}
	for _, ash := range folders {
		dir := filepath.Dir(ash)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]Kind{}, map[string]Kind{}
			for _, e := range entries {
				want[e.Name()] = kinds[e.Name()]
			}
			s, err := Scan(t.Context(), []string{dir}, Limits{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, src := range s.Sources() {
				got[below(dir, src.Name)] = src.Kind
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if len(s.Nodes()) != 1 || s.Nodes()[0].Name != "db1" || len(s.Warnings()) != 0 {
				t.Fatalf("nodes %v, warnings %q; want db1", s.Nodes(), s.Warnings())
			}
			zones, said, warnings := s.ResolveZones("db1", nil, nil)
			if orNull(said.DB) != "+09:00" || orNull(said.Host) != "+09:00" || len(warnings) != 0 {
				t.Errorf("zones %s and %s, warnings %q; want +09:00", orNull(said.DB), orNull(said.Host), warnings)
			}
			report, err := s.Read(t.Context(), "db1", zones, nothing{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range report.Inputs {
				if in.Records == 0 || in.Unread != 0 || in.Note != "" {
					t.Errorf("%+v, first %s", in, orNull(in.FirstBad))
				}
			}
		})
	}
}

// No two formats may claim the same file: every format's own file is shown to
// all of them.
func TestOneFormatAtMostClaimsAFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"interrupts": "           CPU0       CPU1\n 24:         10         20   PCI-MSI 1 edge      ens3f0-TxRx-0\nLOC:        100        200   Local timer interrupts\n",
		"softirqs":   "                    CPU0       CPU1\n          HI:          0          1\n       TIMER:    1234567    2345678\n      NET_TX:          5          6\n      NET_RX:         70         80\n",
		"stat":       "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\nintr 100 1 2\nctxt 1000\nbtime 1757462400\nprocesses 100\nprocs_running 1\nprocs_blocked 0\n",
		"diskstats":  " 259       0 nvme0n1 100 0 800 50 200 0 1600 100 0 120 150\n   8       0 sda 100 0 800 50 200 0 1600 100 0 120 150\n",
		"bonding":    "Ethernet Channel Bonding Driver: v4.18.0\n\nBonding Mode: fault-tolerance (active-backup)\nPrimary Slave: None\nCurrently Active Slave: ens3f0\nMII Status: up\n\nSlave Interface: ens3f0\nMII Status: up\nLink Failure Count: 0\n",
		"lscpu":      "Architecture:        x86_64\nCPU(s):              2\nOn-line CPU(s) list: 0,1\nThread(s) per core:  1\nCore(s) per socket:  2\nSocket(s):           1\nNUMA node(s):        1\nNUMA node0 CPU(s):   0,1\n",
		"numactl":    "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 4096 MB\nnode 0 free: 1024 MB\nnode distances:\nnode   0\n  0:  10\n",
		"pidstat":    "Linux 4.18.0 (db1) \t2026-09-10 \t_x86_64_\t(2 CPU)\n\n09:15:01+0900   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n09:15:02+0900 54321     18277    7.00    4.00    0.00    0.00   11.00     1  ora_lgwr_ORDP1\n",
		"mpstat":     "Linux 4.18.0 (db1) \t2026-09-10 \t_x86_64_\t(2 CPU)\n\n09:15:01+0900  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n09:15:02+0900  all   10.00    0.00    4.00    0.00    0.00   10.00    0.00    0.00    0.00   76.00\n",
		"vmstat": "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 KST\n" +
			" 1  0      0 182736  20421  90214    0    0   120  1805 1655 3084  9  4 87  0  0 2026-09-10 09:15:01\n",
		"iostat": "Linux 4.18.0 (db1) \t2026-09-10 \t_x86_64_\t(2 CPU)\n\n2026-09-10T09:15:01+0900\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n" +
			"nvme0n1          0.00      0.00     0.00   0.00    0.00     0.00  704.80   5638.40     0.00   0.00    0.48     8.00    0.34  33.86\n",
		"ps":              "2026-09-10T09:15:01+0900\n    PID     TID PSR STAT CLS COMMAND\n  18277   18277   1 Ss   TS  ora_lgwr_ORDP1\n2026-09-10T09:15:02+0900\n    PID     TID PSR STAT CLS COMMAND\n  18277   18277   0 Ss   TS  ora_lgwr_ORDP1\n",
		"ash":             "SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,EVENT,SESSION_STATE,TIME_WAITED\n1,2026-09-10 09:15:01.000,1,10,100,log file sync,WAITING,120000\n",
		"event-histogram": "SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n2026-09-10 09:15:01.000,1,log file sync,65536,10\n2026-09-10 09:15:01.000,1,log file sync,131072,2\n",
		"system-event":    "SNAP_TIME,INST_ID,EVENT,TOTAL_WAITS,TIME_WAITED_MICRO\n2026-09-10 09:15:01.000,1,log file sync,1000,2000000\n",
		"sysstat":         "SNAP_TIME,INST_ID,NAME,VALUE\n2026-09-10 09:15:01.000,1,user commits,1000\n",
	}
	for want, text := range files {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var claims []string
			for _, f := range knownFormats() {
				if _, ok := f.probe([]byte(text)); ok {
					claims = append(claims, string(f.kind))
				}
			}
			if len(claims) != 1 || claims[0] != want {
				t.Errorf("claimed by %q, want %s alone", claims, want)
			}
		})
	}
}

func TestEveryKindHasAFormat(t *testing.T) {
	t.Parallel()
	formats := map[Kind]bool{}
	for _, f := range knownFormats() {
		formats[f.kind] = true
	}
	for _, k := range []Kind{
		KindInterrupts, KindSoftirqs, KindStat, KindDiskstats, KindBonding, KindLscpu, KindNumactl, KindSysfs, KindPidstat, KindMpstat, KindVmstat,
		KindIostat, KindPs, KindASH, KindEventHistogram, KindSystemEvent, KindSysstat, KindInstance, KindInterconnects,
	} {
		if !formats[k] {
			t.Errorf("no format reads %s", k)
		}
	}
}

func TestNamesAreShownFitForATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain/name.txt": "plain/name.txt", "\x1b[2Jx": "?[2Jx", "a\nb\tc": "a?b?c", "\xff": "?", "커밋.log": "커밋.log", "a\u202eb": "a?b",
		strings.Repeat("x", maxShown+1): strings.Repeat("x", maxShown),
	} {
		if got := shown(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
