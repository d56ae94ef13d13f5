package refcase

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// writeOne lets a writer write some records and gives one file's text.
func writeOne(t *testing.T, name string, write func(w *FileWriter) error) string {
	t.Helper()
	dir := t.TempDir()
	w, err := NewFileWriter(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The wanted texts were set by hand after what the tools print: sysstat 12,
// procps 3.3.15, util-linux 2.32, SQL*Plus 19 with `set markup csv on`.
func TestFilesLookAsTheToolsPrintThem(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.May, 4, 5, 0, 1, 0, time.UTC) // 14:00:01 in the files' zone
	cases := []struct {
		file  string
		write func(w *FileWriter) error
		want  string
	}{
		{filePidstat, func(w *FileWriter) error {
			return w.Placement(domain.Placement{At: at, PID: 18277, TID: 18277, Command: "ora_lgwr_TST1", CPU: 7, CPUShare: 0.1, WaitShare: 0.003})
		}, "Linux 4.18.0-553.el8_10.x86_64 (db7) \t2026-05-04 \t_x86_64_\t(16 CPU)\n" +
			"\n14:00:01+0900   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
			"14:00:01+0900 54321     18277         -    6.40    3.60    0.00     0.30   10.00     7  ora_lgwr_TST1\n" +
			"14:00:01+0900 54321         -     18277    6.40    3.60    0.00     0.30   10.00     7  |__ora_lgwr_TST1\n"},
		{fileMpstat, func(w *FileWriter) error {
			all := domain.CPUSample{At: at, CPU: domain.AllCPUs, User: 0.1, System: 0.05, IOWait: 0.002, SoftIRQ: 0.0341, Idle: 0.8139}
			one := all
			one.CPU = 12
			return errors.Join(w.CPU(all), w.CPU(one))
		}, "Linux 4.18.0-553.el8_10.x86_64 (db7) \t2026-05-04 \t_x86_64_\t(16 CPU)\n" +
			"\n14:00:01+0900  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n" +
			"14:00:01+0900  all   10.00    0.00    5.00    0.20    0.00    3.41    0.00    0.00    0.00   81.39\n" +
			"14:00:01+0900   12   10.00    0.00    5.00    0.20    0.00    3.41    0.00    0.00    0.00   81.39\n"},
		{fileVmstat, func(w *FileWriter) error {
			return w.System(domain.SystemSample{
				At: at, RunQueue: 3, SwapInPerS: 64, InterruptsPerS: 26199, ContextSwitchesPerS: 48827,
				User: 0.10, System: 0.04, Idle: 0.85, Steal: 0.01,
			})
		}, "procs -----------------------memory---------------------- ---swap-- -----io---- -system-- --------cpu-------- -----timestamp-----\n" +
			"   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st                 KST\n" +
			"   3    0            0     21334912       188044     87120336   64    0  1120  5200 26199 48827  10   4  85   0   1 2026-05-04 14:00:01\n"},
		{fileIostat, func(w *FileWriter) error {
			return w.Disk(domain.DiskSample{At: at, Interval: time.Second, Device: "nvme0n1", ReadsPerS: 10, WritesPerS: 764, ReadAwaitMS: 0.4, WriteAwaitMS: 0.42, QueueSize: 0.32, Utilisation: 0.3236})
		}, "Linux 4.18.0-553.el8_10.x86_64 (db7) \t2026-05-04 \t_x86_64_\t(16 CPU)\n" +
			"\n2026-05-04T14:00:00+0900\n" +
			"Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n" +
			"nvme0n1         96.20    769.60     0.00   0.00    0.41     8.00  310.50   2484.00     0.00   0.00    0.49     8.00    0.19  16.00\n" +
			"\n2026-05-04T14:00:01+0900\n" +
			"Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n" +
			"nvme0n1         10.00     80.00     0.00   0.00    0.40     8.00  764.00   6112.00     0.00   0.00    0.42     8.00    0.32  32.36\n"},
		{fileLscpu, func(w *FileWriter) error {
			s := small()
			return w.Topology(newMachine(&s).topology(false))
		}, "Architecture:        x86_64\nCPU op-mode(s):      32-bit, 64-bit\nByte Order:          Little Endian\n" +
			"CPU(s):              16\nOn-line CPU(s) list: 0-15\nThread(s) per core:  2\nCore(s) per socket:  4\nSocket(s):           2\n" +
			"NUMA node(s):        2\nVendor ID:           GenuineIntel\nCPU family:          6\nModel:               85\nStepping:            4\n" +
			"CPU MHz:             3200.000\nNUMA node0 CPU(s):   0-3,8-11\nNUMA node1 CPU(s):   4-7,12-15\n"},
		{fileLscpuList, func(w *FileWriter) error {
			return w.Topology(domain.Topology{CPUs: []domain.CPU{{ID: 0, Online: true}, {ID: 13, Core: 5, Socket: 1, Node: 1, Online: true}}})
		}, "# The following is the parsable format, which can be fed to other\n# programs. Each different item in every column has an unique ID\n" +
			"# starting from zero.\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n13,5,1,1,,5,5,5,1\n"},
		{"bond1", func(w *FileWriter) error { return w.Topology(domain.Topology{Bonds: []domain.Bond{bond()}}) },
			"Ethernet Channel Bonding Driver: v4.18.0-553.el8_10.x86_64\n\n" +
				"Bonding Mode: fault-tolerance (active-backup)\nPrimary Slave: None\nCurrently Active Slave: ens3f0\n" +
				"MII Status: up\nMII Polling Interval (ms): 100\nUp Delay (ms): 0\nDown Delay (ms): 0\nPeer Notification Delay (ms): 0\n" +
				"\nSlave Interface: ens3f0\nMII Status: up\nSpeed: 25000 Mbps\nDuplex: full\nLink Failure Count: 0\nPermanent HW addr: 02:00:5e:10:00:10\nSlave queue ID: 0\n" +
				"\nSlave Interface: ens3f1\nMII Status: up\nSpeed: 25000 Mbps\nDuplex: full\nLink Failure Count: 0\nPermanent HW addr: 02:00:5e:10:00:11\nSlave queue ID: 0\n"},
		{fileASH, func(w *FileWriter) error {
			wait := domain.Wait{
				At: at.Add(212 * time.Millisecond), SampleID: 4811053, InstID: 1, SessionID: 862, Serial: 1015, Waiting: true, SQLID: "8dq0v1mjngj7t",
				Event: "log file sync", TimeWaited: 434142 * time.Microsecond, P1: 3264, P2: 90000006, Program: `say "x"`, Module: "order-entry", Machine: "app1",
			}
			busy := domain.Wait{At: at, SampleID: 4811052, InstID: 1, SessionID: 5, Serial: 1, Background: true}
			return errors.Join(w.Wait(wait), w.Wait(busy))
		}, "\n" + `"SAMPLE_ID","SAMPLE_TIME","INST_ID","SESSION_ID","SESSION_SERIAL#","SESSION_TYPE","SQL_ID","EVENT","WAIT_CLASS","SESSION_STATE","TIME_WAITED","P1","P2","P3","PROGRAM","MODULE","MACHINE"` + "\n" +
			`4811053,"2026-05-04 14:00:01.212",1,862,1015,"FOREGROUND","8dq0v1mjngj7t","log file sync","Commit","WAITING",434142,3264,90000006,0,"say ""x""","order-entry","app1"` + "\n" +
			`4811052,"2026-05-04 14:00:01.000",1,5,1,"BACKGROUND",,,,"ON CPU",0,0,0,0,,,` + "\n"},
		{fileSysstat, func(w *FileWriter) error {
			return w.Counter(domain.Counter{At: at, InstID: 1, Name: "user commits", Value: 8_100_000_938})
		}, "\n" + `"SNAP_TIME","INST_ID","NAME","VALUE"` + "\n" + `"2026-05-04 14:00:01.000",1,"user commits",8100000938` + "\n"},
		{fileHistogram, func(w *FileWriter) error {
			return w.Histogram(&domain.HistogramSnapshot{At: at, InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{
				{Below: time.Microsecond}, {Below: 131_072 * time.Microsecond, Count: 17, LastUpdate: at.Add(-1500 * time.Microsecond)},
			}})
		}, "\n" + `"SNAP_TIME","INST_ID","EVENT","WAIT_TIME_MICRO","WAIT_COUNT","LAST_UPDATE_TIME"` + "\n" +
			`"2026-05-04 14:00:01.000",1,"log file sync",1,0,` + "\n" +
			`"2026-05-04 14:00:01.000",1,"log file sync",131072,17,"04-MAY-26 02.00.00.998500 PM +09:00"` + "\n"},
		{fileInstance, func(w *FileWriter) error {
			return w.Instance(domain.Instance{InstID: 2, Name: "TST2", Host: "db7"})
		}, "\n" + `"INST_ID","INSTANCE_NAME","HOST_NAME"` + "\n" + `2,"TST2","db7"` + "\n"},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			if got := writeOne(t, c.file, c.write); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestPidstatRepeatsItsHeadingEveryTwentySeconds(t *testing.T) {
	t.Parallel()
	text := writeOne(t, filePidstat, func(w *FileWriter) error {
		for i := range 60 {
			p := domain.Placement{At: small().Start.Add(time.Duration(i) * time.Second), PID: 1, TID: 1, Command: "ora_lgwr_TST1"}
			if err := w.Placement(p); err != nil {
				return err
			}
		}
		return nil
	})
	if n := strings.Count(text, "Command\n"); n != 3 {
		t.Errorf("%d headings in a minute, want 3", n)
	}
}

func TestRecordsWithoutAFileAreRefused(t *testing.T) {
	t.Parallel()
	w, err := NewFileWriter(t.TempDir(), small())
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"softirqs":      w.Softirqs(&domain.SoftirqSnapshot{}),
		"CPU times":     w.CPUTimes(&domain.CPUTimesSnapshot{}),
		"disk counters": w.Disks(&domain.DiskSnapshot{}),
		"system events": w.SystemEvent(domain.SystemEvent{}),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: error %v, want that it is unsupported", name, err)
		}
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFileWriter(filepath.Join(file, "under"), small()); err == nil {
		t.Error("a folder was made under a file")
	}
}

func TestAFileThatCannotBeMadeEndsTheGeneration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, fileVmstat), 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := NewFileWriter(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small().Generate(w); err == nil {
		t.Error("generated over a folder of vmstat's name")
	}
	if err := w.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
