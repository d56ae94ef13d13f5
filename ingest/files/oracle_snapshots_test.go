package files

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

func TestEventHistogramSnapshots(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	at := instant(t, "2026-09-15T00:33:52.5Z")
	tests := []struct {
		name    string
		text    string
		want    []domain.HistogramSnapshot
		bad     int64
		problem string
	}{
		{
			name: "the micro view's edges are microseconds, one snapshot for each reading and event",
			text: "SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT,LAST_UPDATE_TIME\n" +
				"2026-09-15T09:33:52.500+09:00,1,log file sync,131072,7,15-SEP-26 09.33.51.900000 AM +09:00\n" +
				"2026-09-15T09:33:52.500+09:00,1,log file sync,65536,9,\n" +
				"2026-09-15T09:33:52.500+09:00,1,log file parallel write,65536,3,\n" +
				"2026-09-15T09:33:53.500+09:00,1,log file sync,131072,8,\n",
			want: []domain.HistogramSnapshot{
				{At: at, InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{
					{Below: 65536 * us, Count: 9},
					{Below: 131072 * us, Count: 7, LastUpdate: instant(t, "2026-09-15T00:33:51.9Z")},
				}},
				{At: at, InstID: 1, Event: "log file parallel write", Buckets: []domain.HistogramBucket{{Below: 65536 * us, Count: 3}}},
			},
			bad: 1, problem: "f:5: the reading at the end of the file lacks buckets",
		},
		{
			name: "the milli view's are milliseconds",
			text: "COLLECTED_AT;INST_ID;EVENT;WAIT_TIME_MILLI;WAIT_COUNT\n" +
				"2026-09-15 09:33:52.5;2;log file sync;1;7\n2026-09-15 09:33:52.5;2;log file sync;128;9\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: 2, Event: "log file sync", Milli: true, Buckets: []domain.HistogramBucket{
				{Below: time.Millisecond, Count: 7}, {Below: 128 * time.Millisecond, Count: 9},
			}}},
		},
		{
			name: "without INST_ID the instance is unknown",
			text: "SYSTIMESTAMP,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n15-SEP-26 09.33.52.500000 AM +09:00,log file sync,1,7\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
		},
		{
			name: "one unreadable row spoils its snapshot and no other",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:51.5,log file sync,1,7\n2026-09-15 09:33:51.5,log file sync,2,####\n2026-09-15 09:33:51.5,log file sync,4,7\n" +
				"2026-09-15 09:33:52.5,log file sync,1,7\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
			bad:  1, problem: "f:3: WAIT_COUNT: printed as #",
		},
		{
			name: "a row that may be of either neighbour spoils both",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:50.5,log file sync,1,7\nbroken\n2026-09-15 09:33:51.5,log file sync,1,7\n2026-09-15 09:33:52.5,log file sync,1,7\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
			bad:  1, problem: "f:3: 1 values under 4 headings",
		},
		{
			name: "a row without its time within a snapshot spoils that one only",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:51.5,log file sync,1,7\n,log file sync,2,7\n2026-09-15 09:33:51.5,log file sync,4,7\n" +
				"2026-09-15 09:33:52.5,log file sync,1,7\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
			bad:  1, problem: "f:3: time of the reading: no time",
		},
		{
			name: "rows by bucket instead of by reading are refused",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:52.5,log file sync,1,7\n2026-09-15 09:33:53.5,log file sync,1,8\n2026-09-15 09:33:52.5,log file sync,2,9\n",
			want: []domain.HistogramSnapshot{
				{At: at, InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}},
				{At: at.Add(time.Second), InstID: -1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 8}}},
			},
			bad: 1, problem: "f:4: the rows of one reading are not together",
		},
		{
			name: "rows of one reading may mix instances and events, as GV$ views do",
			text: "SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:52.5,1,log file sync,1,7\n2026-09-15 09:33:52.5,2,log file sync,1,8\n" +
				"2026-09-15 09:33:52.5,1,gc cr request,1,9\n" +
				"2026-09-15 09:33:52.5,1,log file sync,2,10\n2026-09-15 09:33:52.5,2,log file sync,2,11\n" +
				"2026-09-15 09:33:53.5,2,log file sync,2,12\n2026-09-15 09:33:53.5,1,log file sync,2,10\n" +
				"2026-09-15 09:33:53.5,1,log file sync,1,7\n2026-09-15 09:33:53.5,2,log file sync,1,8\n",
			want: []domain.HistogramSnapshot{
				{At: at, InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}, {Below: 2 * us, Count: 10}}},
				{At: at, InstID: 2, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 8}, {Below: 2 * us, Count: 11}}},
				{At: at, InstID: 1, Event: "gc cr request", Buckets: []domain.HistogramBucket{{Below: us, Count: 9}}},
				{At: at.Add(time.Second), InstID: 2, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 8}, {Below: 2 * us, Count: 12}}},
				{At: at.Add(time.Second), InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}, {Below: 2 * us, Count: 10}}},
			},
		},
		{
			name: "a bucket twice withdraws its own snapshot only",
			text: "SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:52.5,2,log file sync,1,8\n2026-09-15 09:33:52.5,1,log file sync,1,7\n2026-09-15 09:33:52.5,2,log file sync,1,9\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
			bad:  1, problem: "f:4: the same bucket twice",
		},
		{
			name: "a row that names no event may be of any snapshot of its reading",
			text: "SNAP_TIME,INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n" +
				"2026-09-15 09:33:51.5,1,log file sync,1,7\n2026-09-15 09:33:51.5,2,log file sync,1,7\n2026-09-15 09:33:51.5,1,,2,7\n" +
				"2026-09-15 09:33:52.5,1,log file sync,1,7\n",
			want: []domain.HistogramSnapshot{{At: at, InstID: 1, Event: "log file sync", Buckets: []domain.HistogramBucket{{Below: us, Count: 7}}}},
			bad:  1, problem: "f:4: EVENT: no name",
		},
		{
			name: "a count that no instance reaches",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n2026-09-15 09:33:52.5,log file sync,4,4611686018427387905\n",
			bad:  1, problem: "f:2: WAIT_COUNT: number out of range", // 2^62 + 1
		},
		{
			name: "an edge that is no power of two is no bucket",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n2026-09-15 09:33:52.5,log file sync,100000,7\n",
			bad:  1, problem: "not the edge of a bucket",
		},
		{
			name: "a bucket twice",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n2026-09-15 09:33:52.5,log file sync,4,7\n2026-09-15 09:33:52.5,log file sync,4,8\n",
			bad:  1, problem: "f:3: the same bucket twice",
		},
		{
			name: "without the time of the reading nothing can be said",
			text: "INST_ID,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n1,log file sync,4,7\n1,log file sync,8,7\n",
			bad:  1, problem: "f:1: event-histogram rows without the time of their reading",
		},
		{
			name: "a DATE printed without time of day is no time",
			text: "SNAP_TIME,EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n15-SEP-26,log file sync,4,7\n",
			bad:  1, problem: "without time of day",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, test.text, seoul(t))
			wantProblems(t, in, test.bad, test.problem)
			if diff := cmp.Diff(test.want, records.histograms); diff != "" {
				t.Error(diff)
			}
			if in.count != int64(len(test.want)) {
				t.Errorf("counted %d, want %d", in.count, len(test.want))
			}
		})
	}
}

func TestAHistogramSnapshotGoesOnOverAPageBreak(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"2026-09-15 09:33:52", "log file sync", "1", "7"},
		{"2026-09-15 09:33:52", "log file sync", "2", "8"},
		{"2026-09-15 09:33:52", "log file sync", "4", "9"},
		{"2026-09-15 09:33:53", "log file sync", "1", "7"},
		{"2026-09-15 09:33:53", "log file sync", "2", "8"},
		{"2026-09-15 09:33:53", "log file sync", "4", "10"},
	}
	columns := []spoolColumn{{"SNAP_TIME", 19, false}, {"EVENT", 64, false}, {"WAIT_TIME_MICRO", 15, true}, {"WAIT_COUNT", 10, true}}
	for _, linesize := range []int{200, 80} {
		records, in := readOracleText(t, printSpool(columns, rows, spoolOptions{linesize: linesize, pagesize: 9, title: true}), time.UTC)
		wantProblems(t, in, 0, "")
		if len(records.histograms) != 2 || len(records.histograms[0].Buckets) != 3 || len(records.histograms[1].Buckets) != 3 {
			t.Errorf("linesize %d: %+v", linesize, records.histograms)
		}
	}
}

func TestCounterReadings(t *testing.T) {
	t.Parallel()
	at := instant(t, "2026-09-15T00:33:52Z")
	tests := []struct {
		name     string
		text     string
		events   []domain.SystemEvent
		counters []domain.Counter
		bad      int64
		problem  string
	}{
		{
			name:   "V$SYSTEM_EVENT in microseconds",
			text:   "SNAP_TIME,INST_ID,EVENT,TOTAL_WAITS,TIME_WAITED,TIME_WAITED_MICRO\n2026-09-15 09:33:52,1,log file sync,100,5,52345\n",
			events: []domain.SystemEvent{{At: at, InstID: 1, Event: "log file sync", TotalWaits: 100, TimeWaited: 52345 * time.Microsecond}},
		},
		{
			name:   "V$SYSTEM_EVENT in centiseconds",
			text:   "SAMPLE_TIME,EVENT,TOTAL_WAITS,TIME_WAITED\n2026-09-15 09:33:52,log file sync,100,5\n",
			events: []domain.SystemEvent{{At: at, InstID: -1, Event: "log file sync", TotalWaits: 100, TimeWaited: 50 * time.Millisecond}},
		},
		{
			name:     "V$SYSSTAT",
			text:     "SNAP_TIME,INST_ID,NAME,VALUE\n2026-09-15 09:33:52,1,redo size,25110002616400\n2026-09-15 09:33:52,1,a gauge,-3\n",
			counters: []domain.Counter{{At: at, InstID: 1, Name: "redo size", Value: 25110002616400}, {At: at, InstID: 1, Name: "a gauge", Value: -3}},
		},
		{
			name: "a value that SQL*Plus rounded is not a counter",
			text: "SNAP_TIME,NAME,VALUE\n2026-09-15 09:33:52,redo size,2.5110E+13\n",
			bad:  1, problem: "f:2: VALUE: printed rounded",
		},
		{
			name:     "of several containers one is read",
			text:     "SNAP_TIME,CON_ID,NAME,VALUE\n2026-09-15 09:33:52,0,user commits,10\n2026-09-15 09:33:52,3,user commits,4\n",
			counters: []domain.Counter{{At: at, InstID: -1, Name: "user commits", Value: 10}},
			bad:      1, problem: "f:3: of another container",
		},
		{
			name: "counters without the time of their reading",
			text: "INST_ID,NAME,VALUE\n1,user commits,10\n1,user calls,12\n",
			bad:  1, problem: "f:1: sysstat rows without the time of their reading",
		},
		{
			name: "an event's time that overflows",
			text: "SNAP_TIME,EVENT,TOTAL_WAITS,TIME_WAITED\n2026-09-15 09:33:52,log file sync,100,9223372036854775807\n",
			bad:  1, problem: "out of range",
		},
		{
			name:     "UTC by the column's name",
			text:     "SNAP_TIME_UTC,NAME,VALUE\n2026-09-15 00:33:52,user commits,10\n",
			counters: []domain.Counter{{At: at, InstID: -1, Name: "user commits", Value: 10}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, test.text, seoul(t))
			wantProblems(t, in, test.bad, test.problem)
			if diff := cmp.Diff(test.events, records.events); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.counters, records.counters); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstancesAndInterconnects(t *testing.T) {
	t.Parallel()
	records, in := readOracleText(t, ""+
		"INSTANCE_NUMBER INSTANCE_NAME    HOST_NAME\n"+
		"--------------- ---------------- --------------------\n"+
		"              1 ORDP1            db1.example\n"+
		"              2 ORDP2            db2.example\n"+
		"\n"+
		"NAME            IP_ADDRESS       IS_ SOURCE\n"+
		"--------------- ---------------- --- -------------------------------\n"+
		"bond1:1         169.254.11.7     NO\n"+
		"bond2:1         169.254.99.7     NO\n"+
		"bond0           10.20.30.40      YES Oracle Cluster Repository\n"+
		"\n"+
		"3 rows selected.\n", time.UTC)
	wantProblems(t, in, 0, "")
	if diff := cmp.Diff([]domain.Instance{{InstID: 1, Name: "ORDP1", Host: "db1.example"}, {InstID: 2, Name: "ORDP2", Host: "db2.example"}}, records.instances); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]domain.Topology{{Interconnects: []string{"bond1", "bond2"}}}, records.topologies); diff != "" {
		t.Error(diff)
	}
}
