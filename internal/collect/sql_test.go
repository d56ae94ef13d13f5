package collect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
	"github.com/corewait/corewait/ingest/files"
)

// licensedView tells the objects of the Diagnostics Pack by their names
// (Oracle Database Licensing Information): in the default mode none of them
// may so much as be named.
var licensedView = regexp.MustCompile(`(?i)active_session_history|dba_hist|dbms_workload|dbms_addm|awr_|\bash\b`)

func TestTheDefaultScriptNamesNothingThatNeedsALicence(t *testing.T) {
	t.Parallel()
	text, err := SQL(SQLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found := licensedView.FindAllString(text, -1); len(found) > 0 {
		t.Errorf("named: %q", found)
	}
}

func TestTheASHScriptFailsClosed(t *testing.T) {
	t.Parallel()
	text, err := SQL(SQLOptions{ASH: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][2]string{
		{"-- LICENCE:", "set echo off"},
		{"prompt This script reads V$ACTIVE_SESSION_HISTORY", "whenever sqlerror exit failure"},
		{"whenever sqlerror exit failure", "'&corewait_diagnostics_pack'"},
		{"'&corewait_diagnostics_pack'", "raise_application_error(-20001"},
		{"control_management_pack_access", "raise_application_error(-20002"},
		{"raise_application_error(-20002", "whenever sqlerror continue"},
		{"whenever sqlerror continue", "from   v$active_session_history"},
	} {
		first, second := strings.Index(text, order[0]), strings.Index(text, order[1])
		if first < 0 || second < 0 || first > second {
			t.Errorf("%q (at %d) must come before %q (at %d)", order[0], first, order[1], second)
		}
	}
	if regexp.MustCompile(`(?im)^\s*def(ine)?\s+corewait`).MatchString(text) {
		t.Error("the script itself declares the licence")
	}
}

func TestSQLOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		duration       time.Duration
		seconds, total string
		runs           int
	}{
		{"a quarter of an hour is fifteen runs of a minute", 0, ":= 60;", "takes 900 seconds", 15},
		{"less than a minute is one run", 20 * time.Second, ":= 20;", "takes 20 seconds", 1},
		{"whole minutes only", 90 * time.Second, ":= 60;", "takes 120 seconds", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text, err := SQL(SQLOptions{Duration: test.duration})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, "block_seconds constant pls_integer "+test.seconds) || !strings.Contains(text, test.total) {
				t.Errorf("want %q and %q in\n%s", test.seconds, test.total, text)
			}
			if runs := strings.Count(text, "\n/"); runs != test.runs {
				t.Errorf("the block runs %d times, want %d", runs, test.runs)
			}
		})
	}
	for _, o := range []SQLOptions{{Duration: -time.Second}, {Duration: time.Millisecond}, {Duration: 8 * 24 * time.Hour}} {
		if _, err := SQL(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// SQL*Plus reads a line that begins with $, ! or # while it is asked for a
// command as one of its own, ends a statement at a blank line and in a comment
// that ends with a terminator, and goes on with the next line after a hyphen at
// the end of a command.
func TestTheScriptsHoldNoLineThatSQLPlusTakesForItsOwn(t *testing.T) {
	t.Parallel()
	for _, ash := range []bool{false, true} {
		text, err := SQL(SQLOptions{ASH: ash})
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(text, "\n") {
			if why := misread(line); why != "" {
				t.Errorf("line %d: %s: %s", i+1, why, line)
			}
		}
		for _, statement := range regexp.MustCompile(`(?ms)^select .*?;$`).FindAllString(text, -1) {
			if regexp.MustCompile(`\n\s*\n`).MatchString(statement) {
				t.Errorf("blank line within a statement: %s", statement)
			}
		}
		if ampersands := strings.Count(text, "&"); ash && ampersands != 2 || !ash && ampersands != 0 {
			t.Errorf("ash %v: %d ampersands", ash, ampersands)
		}
	}
}

// misread says why SQL*Plus would take a line for something else; "" if not.
func misread(line string) string {
	switch {
	case line == "":
		return ""
	case strings.ContainsRune("$!#", rune(line[0])):
		return "begins like a command of its own"
	case strings.HasSuffix(line, "-"):
		return "goes on with the next line"
	case strings.Contains(line, "{{") || strings.Contains(line, "\t"):
		return "left over from the template"
	case strings.HasPrefix(strings.TrimSpace(line), "--") && (strings.HasSuffix(line, ";") || strings.HasSuffix(line, "/")):
		return "a comment that ends like a statement"
	default:
		return ""
	}
}

// sample is written by hand in the form that the script prints.
const sample = `INST_ID,INSTANCE_NAME,HOST_NAME
2,"ORDP2","db2"

NAME,IP_ADDRESS,IS_PUBLIC,SOURCE
"bond1:1","169.254.20.3","NO",""

SNAP_TIME,INST_ID,NAME,VALUE
2026-09-15T09:33:52.104211+09:00,2,"user commits",8100000844
2026-09-15T09:33:52.104211+09:00,2,"redo synch time overhead count (  2ms)",41
SNAP_TIME,INST_ID,EVENT,TOTAL_WAITS,TIME_WAITED_MICRO
2026-09-15T09:33:52.106900+09:00,2,"log file sync",8100000844,9111222333444
2026-09-15T09:33:52.106900+09:00,2,"latch: shared pool",12,3456
SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT,LAST_UPDATE_TIME
2026-09-15T09:33:52.108000+09:00,2,"log file parallel write",1024,77,"15-SEP-26 09.33.51.900000 AM +09:00"
2026-09-15T09:33:52.108000+09:00,2,"log file sync",1024,70,"15-SEP-26 09.33.51.900100 AM +09:00"
2026-09-15T09:33:52.108000+09:00,2,"log file sync",131072,3,""
2026-09-15T09:33:53.108000+09:00,2,"log file parallel write",1024,79,"15-SEP-26 09.33.52.900000 AM +09:00"
2026-09-15T09:33:53.108000+09:00,2,"log file sync",1024,72,"15-SEP-26 09.33.52.900100 AM +09:00"
2026-09-15T09:33:53.108000+09:00,2,"log file sync",131072,4,"15-SEP-26 09.33.52.910000 AM +09:00"
SNAP_TIME,INST_ID,NAME,VALUE
2026-09-15T09:34:02.104211+09:00,2,"user commits",8100000944
SNAP_TIME,INST_ID,EVENT,TOTAL_WAITS,TIME_WAITED_MICRO
2026-09-15T09:34:02.106900+09:00,2,"log file sync",8100000944,9111222444555
SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT,LAST_UPDATE_TIME
2026-09-15T09:34:02.108000+09:00,2,"log file parallel write",1024,80,"15-SEP-26 09.34.01.900000 AM +09:00"
2026-09-15T09:34:02.108000+09:00,2,"log file sync",1024,75,"15-SEP-26 09.34.01.900100 AM +09:00"
2026-09-15T09:34:02.108000+09:00,2,"log file sync",131072,4,"15-SEP-26 09.33.52.910000 AM +09:00"

SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,SESSION_TYPE,SQL_ID,EVENT,WAIT_CLASS,SESSION_STATE,TIME_WAITED,P1,P2,P3,PROGRAM,MODULE,MACHINE,SERVICE_HASH
4711001,2026-09-15T09:33:52.212+09:00,2,862,1015,FOREGROUND,8dq0v1mjngj7t,"log file sync","Commit",WAITING,144142,3264,90000006,0,"order ""fast"" api","orders","app3",3427055676
4711001,2026-09-15T09:33:52.212+09:00,2,5,1,BACKGROUND,,"","",ON CPU,0,1,2,3,"oracle@db2 (LGWR)","","db2",165959219
`

// gathered counts what a folder's files hold.
type gathered struct {
	ingest.Sink
	waits      []domain.Wait
	histograms []string
	events     []string
	counters   []string
	instances  []domain.Instance
	topologies []domain.Topology

	interrupts, softirqs, cpuTimes, disks, system int
	placements                                    []domain.Placement
}

func (g *gathered) Wait(w domain.Wait) error { g.waits = append(g.waits, w); return nil }

func (g *gathered) Histogram(h *domain.HistogramSnapshot) error {
	g.histograms = append(g.histograms, h.At.Format("05.000 ")+h.Event+strings.Repeat(" bucket", len(h.Buckets)))
	return nil
}

func (g *gathered) SystemEvent(e domain.SystemEvent) error {
	g.events = append(g.events, e.Event)
	return nil
}

func (g *gathered) Counter(c domain.Counter) error {
	g.counters = append(g.counters, c.Name)
	return nil
}

func (g *gathered) Instance(i domain.Instance) error {
	g.instances = append(g.instances, i)
	return nil
}

func (g *gathered) Topology(t domain.Topology) error {
	g.topologies = append(g.topologies, t)
	return nil
}

func (g *gathered) Interrupts(*domain.InterruptSnapshot) error { g.interrupts++; return nil }
func (g *gathered) Softirqs(*domain.SoftirqSnapshot) error     { g.softirqs++; return nil }
func (g *gathered) CPUTimes(*domain.CPUTimesSnapshot) error    { g.cpuTimes++; return nil }
func (g *gathered) Disks(*domain.DiskSnapshot) error           { g.disks++; return nil }
func (g *gathered) CPU(domain.CPUSample) error                 { return nil }
func (g *gathered) System(domain.SystemSample) error           { g.system++; return nil }
func (g *gathered) Disk(domain.DiskSample) error               { return nil }

func (g *gathered) Placement(p domain.Placement) error {
	g.placements = append(g.placements, p)
	return nil
}

// read reads a folder or archive that holds files of one node.
func read(t *testing.T, path string) (*gathered, *files.Set, *files.Report) {
	t.Helper()
	ctx := context.Background()
	set, err := files.Scan(ctx, []string{path}, files.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nodes := set.Nodes()
	if len(nodes) != 1 {
		t.Fatalf("nodes: %+v", nodes)
	}
	zones, _, _ := set.ResolveZones(nodes[0].Name, nil, nil)
	g := &gathered{}
	report, err := set.Read(ctx, nodes[0].Name, zones, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g, set, report
}

// The expected records are those of the sample, counted by eye.
func TestWhatTheSQLScriptPrintsIsReadWithoutLoss(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "corewait_oracle.csv"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	g, set, report := read(t, folder)
	if len(report.Problems) > 0 || len(set.Unknown()) > 0 {
		t.Fatalf("problems %q, unknown %v", report.Problems, set.Unknown())
	}
	source := set.Sources()[0]
	if source.Kind != files.KindASH || source.Host != "db2" || source.Instance != "ORDP2" || source.Zone == nil {
		t.Errorf("told: %+v", source)
	}
	want := &gathered{
		waits: []domain.Wait{
			{
				At: time.Date(2026, 9, 15, 0, 33, 52, 212e6, time.UTC), SampleID: 4711001, InstID: 2, SessionID: 862, Serial: 1015,
				Waiting: true, Event: "log file sync", TimeWaited: 144142 * time.Microsecond, Period: time.Second,
				SQLID: "8dq0v1mjngj7t", Program: `order "fast" api`, Module: "orders", Machine: "app3", Service: "3427055676",
				P1: 3264, P2: 90000006,
			},
			{
				At: time.Date(2026, 9, 15, 0, 33, 52, 212e6, time.UTC), SampleID: 4711001, InstID: 2, SessionID: 5, Serial: 1,
				Background: true, Period: time.Second, Program: "oracle@db2 (LGWR)", Machine: "db2", Service: "165959219",
				P1: 1, P2: 2, P3: 3,
			},
		},
		histograms: []string{
			"52.108 log file parallel write bucket", "52.108 log file sync bucket bucket",
			"53.108 log file parallel write bucket", "53.108 log file sync bucket bucket",
			"02.108 log file parallel write bucket", "02.108 log file sync bucket bucket",
		},
		events:     []string{"log file sync", "latch: shared pool", "log file sync"},
		counters:   []string{"user commits", "redo synch time overhead count (  2ms)", "user commits"},
		instances:  []domain.Instance{{InstID: 2, Name: "ORDP2", Host: "db2"}},
		topologies: []domain.Topology{{Interconnects: []string{"bond1"}}},
	}
	if diff := cmp.Diff(want, g, cmp.AllowUnexported(gathered{})); diff != "" {
		t.Error(diff)
	}
}

// The headings that the script prints are those of the sample.
func TestTheSampleHasTheScriptsHeadings(t *testing.T) {
	t.Parallel()
	text, err := SQL(SQLOptions{ASH: true})
	if err != nil {
		t.Fatal(err)
	}
	headings := 0
	for line := range strings.Lines(sample) {
		if line = strings.TrimSpace(line); line == "" || line[0] < 'A' || line[0] > 'Z' {
			continue
		}
		headings++
		if !strings.Contains(text, "prompt "+line+"\n") && !strings.Contains(text, "put_line('"+line+"')") {
			t.Errorf("the script does not print %q", line)
		}
	}
	if headings != 9 {
		t.Errorf("%d headings in the sample, 9 by eye", headings)
	}
}

func TestWhatTheShellScriptGathersIsReadWithoutLoss(t *testing.T) {
	t.Parallel()
	pid := standIn(t, "ora_lgwr_READ1")
	outdir := t.TempDir()
	c := exec.Command("sh", writeScript(t), "-d", "3", "-i", "1", "-o", outdir, "-p", "ora_lgwr_READ1")
	if _, said, status := run(t, c, outdir); status != 0 {
		t.Fatalf("status %d: %s", status, said)
	}
	g, set, report := read(t, outdir)
	if len(report.Problems) > 0 {
		t.Errorf("problems: %q", report.Problems)
	}
	for _, u := range set.Unknown() {
		// errors.txt holds what the tools complained of, say of a process that
		// ended meanwhile: it is for people, so its words are shown here.
		archive, member, _ := strings.Cut(u.Name, "!")
		if filepath.Base(member) != "errors.txt" {
			t.Errorf("unknown: %+v", u)
			continue
		}
		said, err := exec.Command("tar", "-xzOf", archive, member).CombinedOutput()
		t.Logf("SKIPPED file errors.txt: the tools said %q (%v)", said, err)
	}
	if g.interrupts < 2 || g.softirqs < 2 || g.cpuTimes < 2 {
		t.Errorf("interrupts %d, softirqs %d, stat %d: want at least 2 readings of each", g.interrupts, g.softirqs, g.cpuTimes)
	}
	if seen := placed(t, g.placements, pid, "ora_lgwr_READ1"); seen < 2 {
		t.Errorf("process %d was placed %d times, want at least 2", pid, seen)
	}
}

// placed counts the placements of a process' main thread and checks that all
// are of that process, and exact.
func placed(t *testing.T, placements []domain.Placement, pid int, command string) int {
	t.Helper()
	seen := 0
	for _, p := range placements {
		if p.PID != pid || p.Command != command || p.CPU < 0 || p.Uncertainty != 0 {
			t.Errorf("placement %+v", p)
		}
		if p.TID == pid {
			seen++
		}
	}
	return seen
}
