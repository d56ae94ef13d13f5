package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// oracleRecords keeps what the readers of result sets send.
type oracleRecords struct {
	ingest.Sink
	waits      []domain.Wait
	histograms []domain.HistogramSnapshot
	events     []domain.SystemEvent
	counters   []domain.Counter
	instances  []domain.Instance
	topologies []domain.Topology
}

func (r *oracleRecords) Wait(w domain.Wait) error { r.waits = append(r.waits, w); return nil }

func (r *oracleRecords) Histogram(h *domain.HistogramSnapshot) error {
	c := *h
	c.Buckets = append([]domain.HistogramBucket(nil), h.Buckets...)
	r.histograms = append(r.histograms, c)
	return nil
}

func (r *oracleRecords) SystemEvent(e domain.SystemEvent) error {
	r.events = append(r.events, e)
	return nil
}

func (r *oracleRecords) Counter(c domain.Counter) error {
	r.counters = append(r.counters, c)
	return nil
}

func (r *oracleRecords) Instance(i domain.Instance) error {
	r.instances = append(r.instances, i)
	return nil
}

func (r *oracleRecords) Topology(t domain.Topology) error {
	r.topologies = append(r.topologies, t)
	return nil
}

// readOracleText reads a file's text, with times without zone in zone.
func readOracleText(t testing.TB, text string, zone *time.Location) (*oracleRecords, *input) {
	t.Helper()
	records := &oracleRecords{}
	in := &input{name: "f", zone: zone, bad: &problems{}}
	in.lines = newLineReader(strings.NewReader(text), func(line int) { in.problem(line, "too long") })
	if err := readOracle(context.Background(), in, records); err != nil {
		t.Fatalf("reading: %v", err)
	}
	return records, in
}

// wantProblems checks how many lines were unreadable and what was said of the first.
func wantProblems(t *testing.T, in *input, count int64, first string) {
	t.Helper()
	if in.bad.count != count {
		t.Fatalf("problems: got %d %q, want %d", in.bad.count, in.bad.first, count)
	}
	if count > 0 && !strings.Contains(in.bad.first[0], first) {
		t.Errorf("first problem: got %q, want %q in it", in.bad.first[0], first)
	}
}

// oracleCases gives the labelled cases' files of that name.
func oracleCases(t testing.TB, name string) []string {
	t.Helper()
	folder := os.Getenv("COREWAIT_SHARED")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared")
	}
	found, err := filepath.Glob(filepath.Join(folder, "cases", "case-*", name))
	if err != nil || len(found) == 0 {
		t.Skipf("SKIPPED: no labelled cases: folder %s/cases is missing (set COREWAIT_SHARED)", folder)
	}
	return found
}

func seoul(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// instant parses RFC 3339.
func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestProbeOracle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		text     string
		kind     Kind
		zone     string // offset; "" none
		first    string
		host     string
		instance string
		absolute bool
	}{
		{
			name:  "ASH without zone",
			text:  "SAMPLE_TIME,EVENT,TIME_WAITED\n2026-09-15 09:33:52.212,log file sync,434142\n",
			kind:  KindASH,
			first: "2026-09-15T09:33:52.212Z",
		},
		{
			name:  "ASH with offsets",
			text:  "event;time_waited;sample_time\nlog file sync;434142;2026-09-15T09:33:52.212+09:00\n",
			kind:  KindASH,
			zone:  "+09:00",
			first: "2026-09-15T00:33:52.212Z",
		},
		{
			name:     "a UTC column says instants but not the zone of other files",
			text:     "SAMPLE_TIME_UTC,EVENT,TIME_WAITED\n2026-09-15 00:33:52.212,log file sync,434142\n",
			kind:     KindASH,
			first:    "2026-09-15T00:33:52.212Z",
			absolute: true,
		},
		{
			name:  "UTC beside local time gives the zone",
			text:  "SAMPLE_TIME,SAMPLE_TIME_UTC,EVENT,TIME_WAITED\n2026-09-15 09:33:52.212,2026-09-15 00:33:52.212,log file sync,434142\n",
			kind:  KindASH,
			zone:  "+09:00",
			first: "2026-09-15T00:33:52.212Z",
		},
		{
			name: "several result sets are named after what tells most of commits",
			text: "\"INST_ID\",\"INSTANCE_NAME\",\"HOST_NAME\"\n1,\"ORDP1\",\"db1\"\n\n" +
				"\"SNAP_TIME\",\"INST_ID\",\"NAME\",\"VALUE\"\n\"2026-09-15T09:33:52+09:00\",1,\"user commits\",10\n\n" +
				"\"SNAP_TIME\",\"INST_ID\",\"EVENT\",\"WAIT_TIME_MICRO\",\"WAIT_COUNT\"\n\"2026-09-15T09:33:53+09:00\",1,\"log file sync\",2,10\n",
			kind:     KindEventHistogram,
			zone:     "+09:00",
			first:    "2026-09-15T00:33:52Z",
			host:     "db1",
			instance: "ORDP1",
		},
		{
			name: "several instances name no host",
			text: "INST_ID,INSTANCE_NAME,HOST_NAME\n1,ORDP1,db1\n2,ORDP2,db2\n",
			kind: KindInstance,
		},
		{
			name: "counters without time are known for what they are",
			text: "EVENT,WAIT_TIME_MILLI,WAIT_COUNT\nlog file sync,1,10\n",
			kind: KindEventHistogram,
		},
		{name: "interconnects", text: "NAME,IP_ADDRESS,IS_PUBLIC,SOURCE\nbond1,10.0.0.1,NO,\n", kind: KindInterconnects},
		{name: "a CSV of something else", text: "TIME,HOST,LOAD\n2026-09-15,db1,3\n"},
		{name: "waits of single sessions are not the system's", text: "SNAP_TIME,SID,EVENT,TOTAL_WAITS,TIME_WAITED\n2026-09-15 09:00:00,12,log file sync,10,3\n"},
		{name: "parameters are not statistics", text: "NAME,TYPE,VALUE\nprocesses,3,1500\n"},
		{name: "a statement that names columns", text: "insert into p (TASK_ID,NAME,DATATYPE,VALUE,FLAGS\n) values (:1)\n"},
		{name: "/proc/interrupts", text: "           CPU0       CPU1\n 24:          1          0  IO-APIC   5-edge  EVENT\n"},
		{name: "empty", text: ""},
		{name: "binary", text: "EVENT,TIME_WAITED,SAMPLE_TIME\n\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kinds, told := probeAll(test.text)
			if test.kind == "" {
				if len(kinds) > 0 {
					t.Fatalf("recognised as %v, want none", kinds)
				}
				return
			}
			if len(kinds) != 1 || kinds[0] != test.kind {
				t.Fatalf("recognised as %v, want %s alone", kinds, test.kind)
			}
			if zone := offsetOf(told); zone != test.zone || told.absolute != test.absolute {
				t.Errorf("got zone %q absolute %v, want %q %v", zone, told.absolute, test.zone, test.absolute)
			}
			if told.host != test.host || told.instance != test.instance {
				t.Errorf("got host %q instance %q, want %q %q", told.host, told.instance, test.host, test.instance)
			}
			if told.hasTimes != (test.first != "") {
				t.Errorf("hasTimes %v", told.hasTimes)
			}
			if test.first != "" && !told.first.Equal(instant(t, test.first)) {
				t.Errorf("first time: got %v, want %s", told.first, test.first)
			}
		})
	}
}

// probeAll gives the kinds that recognise a text and what the last of them told.
func probeAll(text string) (kinds []Kind, told probed) {
	for _, f := range oracleFormats() {
		if p, ok := f.probe([]byte(text)); ok {
			kinds, told = append(kinds, f.kind), p
		}
	}
	return kinds, told
}

// offsetOf gives the offset of a file's times; "" where they carry none.
func offsetOf(p probed) string {
	if p.zone == nil {
		return ""
	}
	return p.first.In(p.zone).Format("-07:00")
}
