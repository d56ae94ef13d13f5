package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

// The rows of each case are counted as wc -l does, less the heading.
func TestLabelledCasesAreReadWithoutLoss(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ash.csv", "sysstat.csv"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range oracleCases(t, name) {
				text, err := os.ReadFile(filepath.Clean(path))
				if err != nil {
					t.Fatal(err)
				}
				records, in := readOracleText(t, string(text), seoul(t))
				want := bytes.Count(text, []byte("\n")) - 1
				got := len(records.waits) + len(records.counters)
				if in.bad.count != 0 || got != want || in.count != int64(want) {
					t.Errorf("%s: %d records (counted %d), want %d; problems %q", path, got, in.count, want, in.bad.first)
				}
			}
		})
	}
}

func TestASHRowHoldsWhatItsColumnsSay(t *testing.T) {
	t.Parallel()
	records, in := readOracleText(t,
		`"SAMPLE_ID","SAMPLE_TIME","INST_ID","SESSION_ID","SESSION_SERIAL#","SESSION_TYPE","SQL_ID","EVENT","WAIT_CLASS","SESSION_STATE","TIME_WAITED","P1","P2","P3","PROGRAM","MODULE","MACHINE","SERVICE_HASH"
4711001,"2026-09-15 09:33:52.212",2,862,1015,"FOREGROUND","8dq0v1mjngj7t","log file sync","Commit","WAITING",434142,3264,90000006,0,"order, ""fast""@app3","orders","app3",3427055676
`, seoul(t))
	wantProblems(t, in, 0, "")
	want := []domain.Wait{{
		At: instant(t, "2026-09-15T00:33:52.212Z"), SampleID: 4711001, InstID: 2, SessionID: 862, Serial: 1015,
		Waiting: true, Event: "log file sync", TimeWaited: 434142 * time.Microsecond, Period: time.Second,
		SQLID: "8dq0v1mjngj7t", Program: `order, "fast"@app3`, Module: "orders", Machine: "app3", Service: "3427055676",
		P1: 3264, P2: 90000006, P3: 0,
	}}
	if diff := cmp.Diff(want, records.waits); diff != "" {
		t.Error(diff)
	}
}

func TestASHRows(t *testing.T) {
	t.Parallel()
	const at = "2026-09-15 09:33:52.212"
	tests := []struct {
		name    string
		heading string
		row     string
		want    domain.Wait // At and unknown numbers are filled in
		problem string
	}{
		{
			name:    "the fewest columns leave the rest unknown",
			heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: at + ",log file sync,434142",
			want: domain.Wait{Waiting: true, Event: "log file sync", TimeWaited: 434142 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "a printed 0 is a wait that is not fixed up",
			heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: at + ",log file sync,0",
			want: domain.Wait{Waiting: true, Event: "log file sync", Period: time.Second},
		},
		{
			name:    "on CPU there is no event and no time waited",
			heading: "SAMPLE_TIME,SESSION_STATE,EVENT,TIME_WAITED", row: at + ",ON CPU,,",
			want: domain.Wait{Period: time.Second},
		},
		{
			name:    "on CPU is told by the missing event as well",
			heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: at + ",,0",
			want: domain.Wait{Period: time.Second},
		},
		{
			name:    "background processes are kept",
			heading: "SAMPLE_TIME,SESSION_TYPE,EVENT,TIME_WAITED", row: at + ",BACKGROUND,log file parallel write,80123",
			want: domain.Wait{Background: true, Waiting: true, Event: "log file parallel write", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "LGWR is a background process by its program",
			heading: "SAMPLE_TIME,PROGRAM,EVENT,TIME_WAITED", row: at + ",oracle@db1 (LGWR),log file parallel write,80123",
			want: domain.Wait{Background: true, Program: "oracle@db1 (LGWR)", Waiting: true, Event: "log file parallel write", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "a parallel server is not",
			heading: "SAMPLE_TIME,PROGRAM,EVENT,TIME_WAITED", row: at + ",oracle@db1 (P003),log file sync,80123",
			want: domain.Wait{Program: "oracle@db1 (P003)", Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "the history has one row in ten seconds",
			heading: "SNAP_ID,DBID,INSTANCE_NUMBER,SAMPLE_ID,SAMPLE_TIME,EVENT,TIME_WAITED", row: "7,99,2,4711000," + at + ",log file sync,80123",
			want: domain.Wait{SampleID: 4711000, InstID: 2, Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: 10 * time.Second},
		},
		{
			name:    "USECS_PER_ROW says the period",
			heading: "SNAP_ID,SAMPLE_TIME,EVENT,TIME_WAITED,USECS_PER_ROW", row: "7," + at + ",log file sync,80123,5000000",
			want: domain.Wait{Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: 5 * time.Second},
		},
		{
			name:    "whole numbers printed as floating point",
			heading: "SAMPLE_TIME,EVENT,TIME_WAITED,SESSION_ID", row: at + ",log file sync,80123.0,12.0",
			want: domain.Wait{SessionID: 12, Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "parameters too large for a number are unknown, the wait is kept",
			heading: "SAMPLE_TIME,EVENT,TIME_WAITED,P1", row: at + ",log file sync,80123,18446744073709551615",
			want: domain.Wait{Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{
			name:    "conversions in the heading",
			heading: `"TO_CHAR(H.SAMPLE_TIME,'YYYY-MM-DD HH24:MI:SS.FF3')",h.event,h.TIME_WAITED`, row: `"` + at + `",log file sync,80123`,
			want: domain.Wait{Waiting: true, Event: "log file sync", TimeWaited: 80123 * time.Microsecond, Period: time.Second},
		},
		{name: "waiting for nothing", heading: "SAMPLE_TIME,SESSION_STATE,EVENT,TIME_WAITED", row: at + ",WAITING,,80123", problem: "EVENT"},
		{name: "unknown state", heading: "SAMPLE_TIME,SESSION_STATE,EVENT,TIME_WAITED", row: at + ",DREAMING,log file sync,80123", problem: "SESSION_STATE"},
		{name: "no time", heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: ",log file sync,80123", problem: "SAMPLE_TIME: no time"},
		{name: "a DATE without time of day", heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: "15-SEP-26,log file sync,80123", problem: "without time of day"},
		{name: "a value too few", heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: at + ",log file sync", problem: "2 values under 3 headings"},
		{name: "a value too many", heading: "SAMPLE_TIME,EVENT,TIME_WAITED", row: at + ",log file sync,1,2", problem: "4 values under 3 headings"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, test.heading+"\n"+test.row+"\n", seoul(t))
			if test.problem != "" {
				wantProblems(t, in, 1, "f:2: ")
				wantProblems(t, in, 1, test.problem)
				if len(records.waits) > 0 {
					t.Errorf("sent %+v", records.waits)
				}
				return
			}
			wantProblems(t, in, 0, "")
			want := test.want
			want.At = instant(t, "2026-09-15T00:33:52.212Z")
			for _, n := range []struct {
				column string
				value  *int64
			}{{"SAMPLE_ID", &want.SampleID}, {"P1,", &want.P1}, {"P2", &want.P2}, {"P3", &want.P3}} {
				if !strings.Contains(test.heading, n.column) {
					*n.value = -1
				}
			}
			if want.InstID == 0 {
				want.InstID = -1
			}
			if want.SessionID == 0 {
				want.SessionID = -1
			}
			want.Serial = -1
			if diff := cmp.Diff([]domain.Wait{want}, records.waits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What SQL*Plus prints as # in a narrow column is the long waits: a reading
// that dropped such rows would hold the short ones only.
func TestAWaitWhoseLengthCannotBeReadIsKeptWithoutIt(t *testing.T) {
	t.Parallel()
	const at = "2026-09-15 09:33:52.212"
	tests := []struct{ name, waited, problem string }{
		{"an empty time waited is not 0", "", "TIME_WAITED: no value"},
		{"overflow is not 0", "######", "TIME_WAITED: printed as #"},
		{"rounded numbers are not taken", "2.5E+05", "rounded"},
		{"group separators are not guessed", "434,142", "group separators"},
		{"negative", "-5", "out of range"},
		{"longer than a year", "31536000000001", "TIME_WAITED: longer than a year"},
		{"beyond 64 bits", "99999999999999999999", "out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			records, in := readOracleText(t, "SAMPLE_TIME;SESSION_ID;EVENT;TIME_WAITED\n"+at+";12;log file sync;"+test.waited+"\n", seoul(t))
			wantProblems(t, in, 1, "f:2: ")
			wantProblems(t, in, 1, test.problem)
			want := []domain.Wait{{
				At: instant(t, "2026-09-15T00:33:52.212Z"), SampleID: -1, InstID: -1, SessionID: 12, Serial: -1,
				Waiting: true, Event: "log file sync", TimeWaited: -1, Period: time.Second, P1: -1, P2: -1, P3: -1,
			}}
			if diff := cmp.Diff(want, records.waits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func BenchmarkASH(b *testing.B) {
	var text strings.Builder
	text.WriteString("SAMPLE_ID,SAMPLE_TIME,INST_ID,SESSION_ID,SESSION_SERIAL#,SESSION_TYPE,SQL_ID,EVENT,WAIT_CLASS,SESSION_STATE,TIME_WAITED,P1,P2,P3,PROGRAM\n")
	for i := range 100_000 {
		second := time.Date(2026, 9, 15, 9, 0, i/20, 212_000_000, time.UTC).Format("2006-01-02 15:04:05.000")
		text.WriteString("4811053," + second + ",1,862,1015,FOREGROUND,,log file sync,Commit,WAITING,434142,3264,90000006,0,order-api@app3\n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		in := &input{zone: time.UTC, bad: &problems{}, lines: newLineReader(strings.NewReader(text.String()), func(int) {})}
		if err := readOracle(b.Context(), in, &oracleProbe{}); err != nil || in.count != 100_000 {
			b.Fatal(in.count, err, in.bad.first)
		}
	}
}
