package files

import (
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

func FuzzPs(f *testing.F) {
	f.Add([]byte("Mon Nov 30 18:00:01 KST 2026\nPID TID PSR STAT CLS RTPRIO COMMAND\n1 2 3 S TS - x y\n"))
	f.Add([]byte("zzz ***2026-11-30T10:00:02.5Z - db1\nPID COMMAND PSR S\n1 a b 5 S\n1796032802\nLWP CPUID CMD\n1 2 x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzTool(t, text, probePs, readPs)
	})
}
