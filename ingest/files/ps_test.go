package files

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// The fixtures were written for these tests; expected values were read in them
// by eye.
func TestPsPlacements(t *testing.T) {
	t.Parallel()
	row := func(at time.Time, uncertainty time.Duration, pid, tid, cpu int, state byte, policy int, command string) domain.Placement {
		return domain.Placement{
			At: at, Uncertainty: uncertainty, PID: pid, TID: tid, CPU: cpu, State: state, Policy: policy, Command: command,
			CPUShare: math.NaN(), WaitShare: math.NaN(), Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1,
		}
	}
	tests := []struct {
		name     string
		text     string
		want     []domain.Placement
		problems []string
		host     string
		carries  bool // a zone
		absolute bool
	}{
		{
			name: "threads with class and state after a time line of whole seconds",
			text: "Mon Nov 30 18:00:01 KST 2026\n" +
				"    PID     TID PSR STAT CLS RTPRIO COMMAND\n" +
				"   4711    4711  28 Ss    TS      - ora_lgwr_PROD1\n" +
				"   4712    4713   3 R<   RR      1 ora_lms0_PROD1\n" +
				"   4714    4715   4 D     FF     50 a b (c)\n" +
				"   4716    4717   - Z     -      - gone\n\n" +
				"Mon Nov 30 18:00:02 KST 2026\n" +
				"    PID     TID PSR STAT CLS RTPRIO COMMAND\n" +
				"   4711    4711  29 ?     ?      - ora_lgwr_PROD1\n",
			want: []domain.Placement{
				row(utc(9, 0, 1), time.Second, 4711, 4711, 28, 'S', 0, "ora_lgwr_PROD1"),
				row(utc(9, 0, 1), time.Second, 4712, 4713, 3, 'R', 2, "ora_lms0_PROD1"),
				row(utc(9, 0, 1), time.Second, 4714, 4715, 4, 'D', 1, "a b (c)"),
				row(utc(9, 0, 2), time.Second, 4711, 4711, 29, 0, -1, "ora_lgwr_PROD1"),
			},
		},
		{
			name: "ps -eLF after seconds since 1970 with a fraction, which are exact",
			text: "1796032802.250000000\n" +
				"UID        PID  PPID   LWP  C NLWP    SZ   RSS PSR STIME TTY          TIME CMD\n" +
				"oracle    4711     1  4711  0    1 11085 13528   1 11:39 ?        00:00:05 ora_lgwr_PROD1\n" +
				"oracle    4712     1  4713  0    2 11085 13528   0 Nov29 ?        00:00:05 oraclePROD1 (LOCAL=NO)\n",
			want: []domain.Placement{
				row(utc(10, 0, 2).Add(250*time.Millisecond), 0, 4711, 4711, 1, 0, -1, "ora_lgwr_PROD1"),
				row(utc(10, 0, 2).Add(250*time.Millisecond), 0, 4712, 4713, 0, 0, -1, "oraclePROD1 (LOCAL=NO)"),
			},
			absolute: true,
		},
		{
			name: "processes only, the command in the middle, after an OSWatcher line that names the node",
			text: "Linux OSWbb v8.1.2 db1\nzzz ***Mon Nov 30 10:00:02 UTC 2026\n" +
				"  PID COMMAND         PSR S\n" +
				" 4711 my prog 1         5 S\n",
			want:    []domain.Placement{row(utc(10, 0, 2), time.Second, 4711, 4711, 5, 'S', -1, "my prog 1")},
			host:    "db1",
			carries: true,
		},
		{
			name: "threads without their process, after ISO 8601 with an offset and among ornaments",
			text: "# of db1\n# 2026-11-30T10:00:02.500+01:00\n LWP PSR CMD\n 99 7 x\n=== 1796032802 ===\n LWP PSR CMD\n 99 8 x\n",
			want: []domain.Placement{
				row(utc(9, 0, 2).Add(500*time.Millisecond), 0, -1, 99, 7, 0, -1, "x"),
				row(utc(10, 0, 2), time.Second, -1, 99, 8, 0, -1, "x"),
			},
			carries: true,
		},
		{
			name: "a block without a time line of its own is refused, which is said once a block",
			text: "  PID PSR COMMAND\n 1 0 x\n 2 0 y\n" +
				"2026-11-30 18:00:02\n  PID PSR COMMAND\n 1 3 x\n" +
				"  PID PSR COMMAND\n 1 4 x\n 2 4 y\n",
			want: []domain.Placement{row(utc(9, 0, 2), time.Second, 1, 1, 3, 0, -1, "x")},
			problems: []string{
				"f:2: no time line before this block: print the time before each ps",
				"f:8: no time line before this block: print the time before each ps",
			},
		},
		{
			name: "lines that cannot be read are told and the rest is read",
			text: "2026-11-30 18:00:02\nstray\n  PID PSR S COMMAND\n 1 3\n 1 -3 S x\n 1 3 ! x\n 1 3 S\n 2 3 S y\n",
			want: []domain.Placement{row(utc(9, 0, 2), time.Second, 2, 2, 3, 'S', -1, "y")},
			problems: []string{
				"f:2: row before any heading",
				"f:4: row is cut short: fewer than 4 columns",
				`f:5: column PSR: "-3" cannot be read`,
				`f:6: column S: "!" cannot be read`,
				"f:7: row is cut short: no command",
			},
		},
		{
			name: "a line that only resembles a heading does not disturb the columns",
			text: "2026-11-30 18:00:02\n  PID COMMAND PSR\n 1 x 3\n CPUID 1 2 3\n 2 y 4\n",
			want: []domain.Placement{
				row(utc(9, 0, 2), time.Second, 1, 1, 3, 0, -1, "x"),
				row(utc(9, 0, 2), time.Second, 2, 2, 4, 0, -1, "y"),
			},
			problems: []string{`f:4: column PID: "CPUID" cannot be read`},
		},
		{
			name: "a column of several words is refused",
			text: "2026-11-30 18:00:02\n  PID STARTED PSR COMMAND\n 1 Mon Nov 30 11:40:12 2026 3 x\n",
			problems: []string{
				"f:2: column STARTED is of several words: run ps without lstart and start",
				"f:3: row before any heading",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindPs)
			p, ok := probePs([]byte(tt.text))
			if !ok || !p.hasTimes || p.host != tt.host || (p.zone != nil) != tt.carries || p.absolute != tt.absolute {
				t.Errorf("probe gave %+v, %v", p, ok)
			}
			got := readWith(t, readPs, tt.text, time.FixedZone("", 9*3600))
			sameRecords(t, got.placements, tt.want)
			sameProblems(t, got, tt.problems...)
		})
	}
}

// psDelta is what a placement tells beside the place.
type psDelta struct {
	second                float64 // after 10:00
	pid, tid              int
	interval, exec, delay time.Duration
}

// The fixtures were written for these tests; the differences were taken by hand.
func TestPsTimesOfThreads(t *testing.T) {
	t.Parallel()
	const (
		heading = "PID TID PSR S CLS EXEC_NS WAIT_NS COMMAND\n"
		at02    = "2026-11-30T10:00:02.00Z\n" + heading
		at0217  = "2026-11-30T10:00:02.17Z\n" + heading
		at0234  = "2026-11-30T10:00:02.34Z\n" + heading
	)
	tests := []struct {
		name     string
		text     string
		want     []psDelta
		problems []string
	}{
		{
			name: "what a thread ran and queued since its previous row, each thread by itself",
			text: at02 + "1 1 28 S TS 5000000000 70000000 lgwr\n1 2 3 S TS 900 800 lg00\n" +
				at0217 + "1 1 28 R TS 5120000000 71500000 lgwr\n1 2 3 S TS 900 800 lg00\n" +
				at0234 + "1 2 3 S TS 901 800 lg00\n1 1 29 S TS 5120000007 71500000 lgwr\n",
			want: []psDelta{
				{2, 1, 1, 0, -1, -1},
				{2, 1, 2, 0, -1, -1},
				{2.17, 1, 1, 170 * time.Millisecond, 120 * time.Millisecond, 1500 * time.Microsecond},
				{2.17, 1, 2, 170 * time.Millisecond, 0, 0},
				{2.34, 1, 2, 170 * time.Millisecond, 1, 0},
				{2.34, 1, 1, 170 * time.Millisecond, 7, 0},
			},
		},
		{
			name: "a thread of the same number in another process is another thread",
			text: at02 + "1 9 0 S TS 100 100 x\n" + at0217 + "2 9 0 S TS 200 200 x\n",
			want: []psDelta{{2, 1, 9, 0, -1, -1}, {2.17, 2, 9, 0, -1, -1}},
		},
		{
			name: "a time that fell is of another thread, and both are unknown until its next row",
			text: at02 + "1 1 0 S TS 500 500 x\n" + at0217 + "1 1 0 S TS 400 600 x\n" + at0234 + "1 1 0 S TS 410 620 x\n" +
				"2026-11-30T10:00:02.50Z\n" + heading + "1 1 0 S TS 411 619 x\n",
			want: []psDelta{
				{2, 1, 1, 0, -1, -1},
				{2.17, 1, 1, 0, -1, -1},
				{2.34, 1, 1, 170 * time.Millisecond, 10, 20},
				{2.5, 1, 1, 0, -1, -1},
			},
		},
		{
			name: "more time on a CPU than has passed is of another thread",
			text: at02 + "1 1 0 S TS 500 500 x\n" + at0217 + "1 1 0 S TS 1170000501 600 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 0, -1, -1}},
		},
		{
			name: "a wait that ended is told whole, be it longer than the interval",
			text: at02 + "1 1 0 R TS 500 500 x\n" + at0217 + "1 1 0 R TS 600 400000500 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 170 * time.Millisecond, 100, 400 * time.Millisecond}},
		},
		{
			name: "a time that the kernel does not give is unknown, as is its next",
			text: at02 + "1 1 0 S TS 500 500 x\n" + at0217 + "1 1 0 S TS - - x\n" + at0234 + "1 1 0 S TS 700 700 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 0, -1, -1}, {2.34, 1, 1, 0, -1, -1}},
		},
		{
			name: "one of the two times does without the other",
			text: at02 + "1 1 0 S TS 500 - x\n1 2 0 S TS - 500 x\n" + at0217 + "1 1 0 S TS 600 700 x\n1 2 0 S TS 600 700 x\n",
			want: []psDelta{
				{2, 1, 1, 0, -1, -1},
				{2, 1, 2, 0, -1, -1},
				{2.17, 1, 1, 170 * time.Millisecond, 100, -1},
				{2.17, 1, 2, 170 * time.Millisecond, -1, 200},
			},
		},
		{
			name: "a kernel that counts nothing prints zeros, which are unknown",
			text: at02 + "1 1 0 S TS 0 0 x\n" + at0217 + "1 1 0 S TS 0 0 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 0, -1, -1}},
		},
		{
			name: "a previous row counts up to 10 s away",
			text: at02 + "1 1 0 S TS 500 500 x\n2 2 0 S TS 500 500 x\n" +
				"2026-11-30T10:00:12.00Z\n" + heading + "1 1 0 S TS 600 700 x\n" +
				"2026-11-30T10:00:12.01Z\n" + heading + "2 2 0 S TS 600 700 x\n",
			want: []psDelta{
				{2, 1, 1, 0, -1, -1},
				{2, 2, 2, 0, -1, -1},
				{12, 1, 1, 10 * time.Second, 100, 200},
				{12.01, 2, 2, 0, -1, -1},
			},
		},
		{
			name: "nothing is known of a second row at the same time or of one before it",
			text: at0217 + "1 1 0 S TS 500 500 x\n1 1 0 S TS 600 600 x\n" + at02 + "1 1 0 S TS 700 700 x\n" + at0234 + "1 1 0 S TS 800 800 x\n",
			want: []psDelta{
				{2.17, 1, 1, 0, -1, -1},
				{2.17, 1, 1, 0, -1, -1},
				{2, 1, 1, 0, -1, -1},
				{2.34, 1, 1, 340 * time.Millisecond, 100, 100},
			},
		},
		{
			name: "the columns are known by name, wherever they are",
			text: "2026-11-30T10:00:02.00Z\nWAIT_NS COMMAND PSR PID EXEC_NS\n50 a b 3 1 100\n" +
				"2026-11-30T10:00:02.17Z\nPSR EXEC_NS PID WAIT_NS COMMAND\n3 101 1 52 a b\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 170 * time.Millisecond, 1, 2}},
		},
		{
			name: "the largest counts that the kernel can print are read",
			text: at02 + "1 1 0 S TS 18446744073709551614 1 x\n" + at0217 + "1 1 0 S TS 18446744073709551615 18446744073709551615 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.17, 1, 1, 170 * time.Millisecond, 1, -1}},
		},
		{
			name: "a time that cannot be read is told, and the next row counts from the one before",
			text: at02 + "1 1 0 S TS 500 500 x\n" +
				at0217 + "1 1 0 S TS 5x 600 x\n1 1 0 S TS 600 -1 x\n1 1 0 S TS 600 18446744073709551616 x\n1 1 0 S TS 6\n" +
				at0234 + "1 1 0 S TS 600 700 x\n",
			want: []psDelta{{2, 1, 1, 0, -1, -1}, {2.34, 1, 1, 340 * time.Millisecond, 100, 200}},
			problems: []string{
				`f:6: column EXEC_NS: "5x" cannot be read`,
				`f:7: column WAIT_NS: "-1" cannot be read`,
				`f:8: column WAIT_NS: "18446744073709551616" cannot be read`,
				"f:9: row is cut short: fewer than 8 columns",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindPs)
			got := readWith(t, readPs, tt.text, time.UTC)
			sameProblems(t, got, tt.problems...)
			if len(got.placements) != len(tt.want) {
				t.Fatalf("%d placements, want %d", len(got.placements), len(tt.want))
			}
			for i, p := range got.placements {
				w := tt.want[i]
				d := psDelta{w.second, p.PID, p.TID, p.Interval, p.Exec, p.RunDelay}
				if d != w || math.Abs(p.At.Sub(utc(10, 0, 0)).Seconds()-w.second) > 1e-6 {
					t.Errorf("placement %d: %+v, want %+v", i, p, w)
				}
			}
		})
	}
}

func TestPsRemembersNoMoreThreadsThanItsBound(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for block := range 2 {
		fmt.Fprintf(&text, "179603280%d\nPID PSR EXEC_NS WAIT_NS COMMAND\n", block)
		for pid := range maxPsThreads + 2 {
			fmt.Fprintf(&text, "%d 0 %d 1 x\n", pid, 1+block)
		}
	}
	got := readWith(t, readPs, text.String(), time.UTC)
	// The row that is one too many follows a time line, a heading and 65,536 rows.
	sameProblems(t, got, "f:65539: more than 65536 threads: what the others ran and queued is unknown")
	known := 0
	for _, p := range got.placements {
		if p.Exec >= 0 {
			known++
		}
	}
	if len(got.placements) != 2*65538 || known != 65536 {
		t.Errorf("%d placements, %d with deltas", len(got.placements), known)
	}
}

func TestPsIsNotTakenForWhatHasNoPSR(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"UID        PID  PPID  C STIME TTY          TIME CMD\nroot 1 0 0 Nov29 ? 00:00:05 init\n",
		"CPUID is a column of nothing\n",
		"",
	} {
		if p, ok := probePs([]byte(text)); ok {
			t.Errorf("%q is recognised as %+v", text, p)
		}
	}
}

func TestPsKeepsNoMoreNamesThanItsBound(t *testing.T) {
	t.Parallel()
	names := commandNames{}
	long := strings.Repeat("x", 3*maxCommand)
	for i := range 3 * maxCommands {
		if got := names.name([]byte(long[i%7:] + strings.Repeat("y", i%5))); len(got) != maxCommand {
			t.Fatalf("a name of %d bytes", len(got))
		}
		if got := names.name([]byte{byte(i), byte(i >> 8), byte(i >> 16)}); len(got) != 3 {
			t.Fatalf("name %q", got)
		}
		if len(names) > maxCommands {
			t.Fatalf("%d names kept", len(names))
		}
	}
}
