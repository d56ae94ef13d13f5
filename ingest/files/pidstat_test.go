package files

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// placed is a placement as pidstat tells it.
func placed(at time.Time, interval time.Duration, pid, tid int, command string, cpu int, cpuShare, waitShare float64) domain.Placement {
	return domain.Placement{
		At: at, Uncertainty: time.Second, Interval: interval, PID: pid, TID: tid, Command: command, CPU: cpu,
		CPUShare: cpuShare, WaitShare: waitShare,
		Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: -1,
	}
}

// The fixtures were written for these tests; expected values were read in them
// by eye.
func TestPidstatPlacements(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	seoul := time.FixedZone("", 9*3600)
	tests := []struct {
		name     string
		text     string
		zone     *time.Location
		want     []domain.Placement
		problems []string
	}{
		{
			name: "rows of processes are placements without -t, and times of 24 hours take the zone given",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"18:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"18:00:01    54321      4711   10.00    2.50    0.00    1.50   12.50     3  ora_lgwr_PROD1\n" +
				"18:00:02    54321      4711   11.00    2.00    0.00    0.00   13.00     5  ora_lgwr_PROD1\n",
			zone: seoul,
			want: []domain.Placement{
				placed(utc(9, 0, 1), time.Second, 4711, 4711, "ora_lgwr_PROD1", 3, 0.125, 0.015),
				placed(utc(9, 0, 2), time.Second, 4711, 4711, "ora_lgwr_PROD1", 5, 0.13, 0),
			},
		},
		{
			name: "with -t rows of threads are placements and rows of their groups are not",
			text: "Linux 4.18.0 (db1) \t11/30/2026 \t_x86_64_\t(8 CPU)\n\n" +
				"11:59:58 AM   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"12:00:00 PM   500      4711         -   60.00    0.00    0.00    0.00   60.00     3  oracle\n" +
				"12:00:00 PM   500         -      4711   20.00    0.00    0.00    0.00   20.00     3  |__oracle\n" +
				"12:00:00 PM   500         -      4712   40.00    0.00    0.00    0.00   40.00     4  |__ora lg00 (a) b\n" +
				"12:00:02 PM   500      4711         -    0.00    0.00    0.00    0.00    0.00     3  oracle\n" +
				"12:00:02 PM   500         -      4711    0.00    0.00    0.00    0.00    0.00     3  |__oracle\n" +
				"Average:      500      4711         -   30.00    0.00    0.00    0.00   30.00     -  oracle\n" +
				"Average:      500         -      4711   10.00    0.00    0.00    0.00   10.00     -  |__oracle\n",
			want: []domain.Placement{
				placed(utc(12, 0, 0), 2*time.Second, 4711, 4711, "oracle", 3, 0.20, 0),
				placed(utc(12, 0, 0), 2*time.Second, 4711, 4712, "ora lg00 (a) b", 4, 0.40, 0),
				placed(utc(12, 0, 2), 2*time.Second, 4711, 4711, "oracle", 3, 0, 0),
			},
		},
		{
			name: "half past midnight is 12:30 AM",
			text: "Linux 4.18.0 (db1) \t11/30/2026 \t_x86_64_\t(8 CPU)\n\n" +
				"12:30:00 AM   UID       PID    %usr %system  %guest    %CPU   CPU  Command\n" +
				"12:30:01 AM     0         7    1.00    1.00    0.00    2.00     0  lms0\n",
			want: []domain.Placement{placed(utc(0, 30, 1), time.Second, 7, 7, "lms0", 0, 0.02, nan)},
		},
		{
			name: "Korean times take three fields and the Korean average is none",
			text: "Linux 6.1.0 (db1) \t2026년 11월 30일 \t_x86_64_\t(2 CPU)\n\n" +
				"09시 59분 59초   UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10시 00분 00초     0       901         -    5.00    0.00    0.00    0.00    5.00     1  x\n" +
				"10시 00분 00초     0         -       901    5.00    0.00    0.00    0.00    5.00     1  |__x\n" +
				"평균 :         0         -       901    5.00    0.00    0.00    0.00    5.00     -  |__x\n" +
				"평균:         0         -       901    5.00    0.00    0.00    0.00    5.00     -  |__x\n",
			want: []domain.Placement{placed(utc(10, 0, 0), time.Second, 901, 901, "x", 1, 0.05, 0)},
		},
		{
			name: "Chinese and Japanese times and dates",
			text: "Linux 6.1.0 (db1) \t2026年11月30日 \t_x86_64_\t(2 CPU)\n\n" +
				"14时05分26秒   UID       PID    %usr %system  %guest    %CPU   CPU  Command\n" +
				"14时05分27秒     0       901    5.00    0.00    0.00    5.00     1  x\n" +
				"14時05分28秒     0       901    5.00    0.00    0.00    5.00     2  x\n" +
				"下午 02时05分29秒     0       901    5.00    0.00    0.00    5.00     3  x\n" +
				"平均时间:     0       901    5.00    0.00    0.00    5.00     -  x\n",
			want: []domain.Placement{
				placed(utc(14, 5, 27), time.Second, 901, 901, "x", 1, 0.05, nan),
				placed(utc(14, 5, 28), time.Second, 901, 901, "x", 2, 0.05, nan),
				placed(utc(14, 5, 29), time.Second, 901, 901, "x", 3, 0.05, nan),
			},
		},
		{
			name: "German dates and decimal commas",
			text: "Linux 6.1.0 (db1) \t30.11.2026 \t_x86_64_\t(2 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01        0       901   96,00    0,25    0,00    3,00   96,25     1  x\n" +
				"Durchschn.:     0       901   96,00    0,25    0,00    3,00   96,25     -  x\n",
			want: []domain.Placement{placed(utc(10, 0, 1), time.Second, 901, 901, "x", 1, 0.9625, 0.03)},
		},
		{
			name: "a decimal comma tells that the day stands before the month",
			text: "Linux 6.1.0 (db1) \t03/05/2026 \t_x86_64_\t(2 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01        0       901   96,00    0,25    0,00    3,00   96,25     1  x\n" +
				"Moyenne :       0       901   96,00    0,25    0,00    3,00   96,25     -  x\n",
			want: []domain.Placement{placed(time.Date(2026, 5, 3, 10, 0, 1, 0, time.UTC), time.Second, 901, 901, "x", 1, 0.9625, 0.03)},
		},
		{
			name: "AM and PM beside a year of four digits tell that the month stands first",
			text: "Linux 6.1.0 (db1) \t03/05/2026 \t_x86_64_\t(2 CPU)\n\n" +
				"10:00:00 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01 AM     0       901   96.00    0.25    0.00    3.00   96.25     1  x\n",
			want: []domain.Placement{placed(time.Date(2026, 3, 5, 10, 0, 1, 0, time.UTC), time.Second, 901, 901, "x", 1, 0.9625, 0.03)},
		},
		{
			name: "a date that nothing decides is read as the C locale writes it, and that is said",
			text: "Linux 6.1.0 (db1) \t03/05/26 \t_x86_64_\t(2 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01        0       901   96.00    0.25    0.00    3.00   96.25     1  x\n",
			want:     []domain.Placement{placed(time.Date(2026, 3, 5, 10, 0, 1, 0, time.UTC), time.Second, 901, 901, "x", 1, 0.9625, 0.03)},
			problems: []string{`f:1: date can be 2026-03-05 or 2026-05-03: taken as the former, as the "C" locale writes the month first`},
		},
		{
			name: "a day over 12 decides by itself",
			text: "Linux 6.1.0 (db1) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01        0       901   96.00    0.25    0.00    3.00   96.25     1  x\n",
			want: []domain.Placement{placed(utc(10, 0, 1), time.Second, 901, 901, "x", 1, 0.9625, 0.03)},
		},
		{
			name: "an offset beside the time is taken and the zone given is not",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"09:00:01+0900   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"09:00:01+0900   500      4711   10.00    2.50    0.00    1.50   12.50     3  x\n" +
				"09:00:02+0900   500      4711   10.00    2.50    0.00    1.50   12.50     3  x\n",
			zone: time.FixedZone("", -5*3600),
			want: []domain.Placement{
				placed(utc(0, 0, 1), 0, 4711, 4711, "x", 3, 0.125, 0.015),
				placed(utc(0, 0, 2), time.Second, 4711, 4711, "x", 3, 0.125, 0.015),
			},
		},
		{
			name: "with -H and -h times count from 1970 and one row has the columns of all reports",
			text: "Linux 4.18.0 (db1) \t11/30/26 \t_x86_64_\t(8 CPU)\n\n" +
				"# Time        UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s     VSZ     RSS   %MEM   kB_rd/s   kB_wr/s kB_ccwr/s iodelay   cswch/s nvcswch/s  prio policy  Command\n" +
				"1796032802    500      4711         -    4.00    1.00    0.00    0.00    5.00     3      0.00      0.00  100000    5000   0.10      0.00      0.00      0.00       0     10.00      2.00    20 NORMAL  ora_lgwr_P x=1\n" +
				"1796032802    500         -      4711    4.00    1.00    0.00    0.00    5.00     3      0.00      0.00  100000    5000   0.10      0.00      0.00      0.00       0     10.00      2.00    50 RR  |__ora_lgwr_P x=1\n",
			// date -u -d @1796032802 prints Mon Nov 30 10:00:02 UTC 2026.
			want: []domain.Placement{func() domain.Placement {
				p := placed(utc(10, 0, 2), 0, 4711, 4711, "ora_lgwr_P x=1", 3, 0.05, 0)
				p.Policy = 2
				return p
			}()},
		},
		{
			name: "with -h alone the heading names the time only by word",
			text: "Linux 4.18.0 (db1) \t11/30/2026 \t_x86_64_\t(8 CPU)\n\n" +
				"#      Time       UID       PID    %usr %system  %guest    %CPU   CPU  Command\n" +
				" 10:00:01 AM      500      4711    4.00    1.00    0.00    5.00     3  x\n\n" +
				"#      Time       UID       PID    %usr %system  %guest    %CPU   CPU  Command\n" +
				" 10:00:04 AM      500      4711    4.00    1.00    0.00    5.00     6  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 1), 0, 4711, 4711, "x", 3, 0.05, nan),
				placed(utc(10, 0, 4), 3*time.Second, 4711, 4711, "x", 6, 0.05, nan),
			},
		},
		{
			name: "reports of -w, -d and -r between are no placements and do not move the interval",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:05      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n\n" +
				"10:00:00      UID       PID   cswch/s nvcswch/s  Command\n" +
				"10:00:05      500      4711     10.00      1.00  x\n\n" +
				"10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n" +
				"10:00:05      500      4711     -1.00     -1.00     -1.00       4  x\n\n" +
				"10:00:05      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:10      500      4711    4.00    1.00    0.00    0.00    5.00     4  x\n\n" +
				"10:00:05      UID       PID  minflt/s  majflt/s     VSZ     RSS   %MEM  Command\n" +
				"10:00:10      500      4711      1.00      0.00     100     100   0.01  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 5), 5*time.Second, 4711, 4711, "x", 3, 0.05, 0),
				placed(utc(10, 0, 10), 5*time.Second, 4711, 4711, "x", 4, 0.05, 0),
			},
		},
		{
			name: "times go on after midnight, heading of the first report included",
			text: "Linux 4.18.0 (db1) \t2026-11-29 \t_x86_64_\t(8 CPU)\n\n" +
				"23:59:59      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"00:00:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n" +
				"00:00:01      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n",
			want: []domain.Placement{
				placed(utc(0, 0, 0), time.Second, 4711, 4711, "x", 3, 0.05, 0),
				placed(utc(0, 0, 1), time.Second, 4711, 4711, "x", 3, 0.05, 0),
			},
		},
		{
			name: "a clock that is set back by an hour does not make a new day",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n" +
				"09:00:01      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 1), time.Second, 4711, 4711, "x", 3, 0.05, 0),
				placed(utc(9, 0, 1), 0, 4711, 4711, "x", 3, 0.05, 0),
			},
		},
		{
			name: "a second banner starts over with its own date",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n" +
				"Linux 4.18.0 (db1) \t2026-12-02 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 1), time.Second, 4711, 4711, "x", 3, 0.05, 0),
				placed(utc(10, 0, 1).AddDate(0, 0, 2), 0, 4711, 4711, "x", 3, 0.05, 0),
			},
		},
		{
			name: "a capped %CPU gives way to the sum of its parts",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      500      4711  100.00    1.00    0.00    0.00  100.00     3  x\n" +
				"10:00:02      500      4711   33.33   33.33    0.00    0.00   66.67     3  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 1), time.Second, 4711, 4711, "x", 3, 1.01, 0),
				placed(utc(10, 0, 2), time.Second, 4711, 4711, "x", 3, 0.6667, 0),
			},
		},
		{
			name: "old columns, and names of users with -U",
			text: "Linux 2.6.18 (db1) \t11/30/2026\n\n" +
				"10:00:00 AM       PID   %user %system    %CPU   CPU  Command\n" +
				"10:00:01 AM      4711    4.00    1.00    5.00     3  x\n" +
				"10:00:01 AM     USER       PID   %usr %system  %guest    %CPU   CPU  Command\n" +
				"10:00:02 AM   oracle      4711    4.00    1.00    0.00    5.00     6  x\n",
			want: []domain.Placement{
				placed(utc(10, 0, 1), time.Second, 4711, 4711, "x", 3, 0.05, nan),
				placed(utc(10, 0, 2), time.Second, 4711, 4711, "x", 6, 0.05, nan),
			},
		},
		{
			name: "rows of threads whose group was filtered away have no group",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      500      4711         -    4.00    1.00    0.00    0.00    5.00     3  x\n" +
				"10:00:02      500         -      4712    4.00    1.00    0.00    0.00    5.00     3  |__x\n",
			want: []domain.Placement{placed(utc(10, 0, 2), time.Second, -1, 4712, "x", 3, 0.05, 0)},
		},
		{
			name: "lines that cannot be read are told and the rest is read",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\r\n\r\n" +
				"10:00:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\r\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\r\n" +
				"10:00:01      500      4711    4.00    1.00    0.00    0.00     nan     3  x\r\n" +
				"10:00:02      500      4711    4.00    1.00\r\n" +
				"10:00:03      500      4711    4.00    1.00    0.00    0.00    5.00     3\r\n" +
				"connection closed\r\n" +
				"10:00:04      500      4711    4.00    1.00    0.00    0.00    5.00     7  x",
			want: []domain.Placement{placed(utc(10, 0, 4), time.Second, 4711, 4711, "x", 7, 0.05, 0)},
			problems: []string{
				"f:3: row before any heading",
				`f:5: column %CPU: "nan" cannot be read`,
				"f:6: row is cut short: 4 of 9 columns",
				"f:7: row is cut short: no command",
				"f:8: no row of pidstat",
			},
		},
		{
			name: "a line that only resembles a heading does not disturb the columns",
			text: "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n" +
				"10:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"10:00:01      UID CPU %usr Command\n" +
				"10:00:02      500      4711    4.00    1.00    0.00    0.00    5.00     7  x\n",
			want:     []domain.Placement{placed(utc(10, 0, 2), time.Second, 4711, 4711, "x", 7, 0.05, 0)},
			problems: []string{`f:4: column PID: "CPU" cannot be read`},
		},
		{
			name: "without a banner records have no time and that is said",
			text: "23:59:59      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n" +
				"00:00:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n",
			want:     []domain.Placement{placed(time.Time{}, time.Second, 4711, 4711, "x", 3, 0.05, 0)},
			problems: []string{"f:2: no date: no banner tells the day that times of day belong to"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			zone := tt.zone
			if zone == nil {
				zone = time.UTC
			}
			takenFor(t, tt.text, KindPidstat)
			got := readWith(t, readPidstat, tt.text, zone)
			sameRecords(t, got.placements, tt.want)
			sameProblems(t, got, tt.problems...)
			if got.count != int64(len(tt.want)) {
				t.Errorf("counted %d records, want %d", got.count, len(tt.want))
			}
		})
	}
}

// In New York clocks went from 01:59:59 EDT back to 01:00:00 EST on 1 November
// 2026 (tz database); the first 01:30:00 is 05:30:00 UTC, the second 06:30:00.
func TestPidstatTellsTheTwoPassesOfTheRepeatedHourApart(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skipf("SKIPPED: no zone database: %v", err)
	}
	got := readWith(t, readPidstat, "Linux 4.18.0 (db1) \t2026-11-01 \t_x86_64_\t(8 CPU)\n\n"+
		"01:20:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"+
		"01:30:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n"+
		"01:00:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n"+
		"01:30:00      500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n", newYork)
	first := time.Date(2026, time.November, 1, 5, 30, 0, 0, time.UTC)
	sameRecords(t, got.placements, []domain.Placement{
		placed(first, 10*time.Minute, 4711, 4711, "x", 3, 0.05, 0),
		placed(first.Add(30*time.Minute), 30*time.Minute, 4711, 4711, "x", 3, 0.05, 0),
		placed(first.Add(time.Hour), 30*time.Minute, 4711, 4711, "x", 3, 0.05, 0),
	})
}

func TestPidstatProbe(t *testing.T) {
	t.Parallel()
	const heading = "UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
	const row = "500      4711    4.00    1.00    0.00    0.00    5.00     3  x\n"
	tests := []struct {
		name     string
		text     string
		ok       bool
		host     string
		offset   int // of the zone carried; -1 none
		first    time.Time
		hasTimes bool
		absolute bool
	}{
		{"an offset is the zone of the file", "Linux 4.18.0 (db1.example.com) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n10:00:00+0900 " + heading + "10:00:01+0900 " + row, true, "db1.example.com", 9 * 3600, utc(1, 0, 0), true, false},
		{"times of day carry no zone", "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n10:00:00 " + heading + "10:00:01 " + row, true, "db1", -1, utc(10, 0, 0), true, false},
		{"seconds since 1970 carry no zone of the node", "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n# Time  " + heading + "1796032802 " + row, true, "db1", -1, utc(10, 0, 2), true, true},
		{"times without a date are none", "10:00:00 " + heading + "10:00:01 " + row, true, "", -1, time.Time{}, false, false},
		{"a banner alone tells nothing", "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n", false, "db1", -1, time.Time{}, false, false},
		{"the heading of another tool is not taken", "10:00:00 CPU    %usr   %nice    %sys   %idle\n10:00:01 all 1.00 1.00 1.00 97.00\n", false, "", -1, time.Time{}, false, false},
		{"nothing is no pidstat", "", false, "", -1, time.Time{}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, ok := probePidstat([]byte(tt.text))
			if ok != tt.ok || p.host != tt.host || !p.first.Equal(tt.first) || p.hasTimes != tt.hasTimes || p.absolute != tt.absolute {
				t.Errorf("probe gave %+v, %v", p, ok)
			}
			offset := -1
			if p.zone != nil {
				_, offset = p.first.In(p.zone).Zone()
			}
			if offset != tt.offset {
				t.Errorf("offset %d, want %d", offset, tt.offset)
			}
		})
	}
}

// Values of EXPECTED.md, section "pidstat, mpstat".
func TestPidstatOfTheCorpus(t *testing.T) {
	t.Parallel()
	corpus := sharedFolder(t, "corpus")
	of := func(p domain.Placement) string {
		return fmt.Sprintf("%s %d/%d %q CPU %d %.2f %%", p.At.Format("2006-01-02 15:04:05"), p.PID, p.TID, p.Command, p.CPU, p.CPUShare*100)
	}
	tests := []struct {
		file     string
		rows     int
		holds    []string
		problems int64
	}{
		{"x-issue344-zh-24h-t.txt", 6, []string{
			`0001-01-01 00:00:00 219296/219299 "pigz" CPU 55 100.00 %`,
			`0001-01-01 00:00:00 219296/219302 "pigz" CPU 24 101.00 %`,
		}, 1},
		{"local-v12.7.9-ko_KR-t.txt", 6, []string{`2026-11-30 10:36:52 1271/1274 "ora lg01 (x)" CPU 1 33.00 %`}, 0},
		{"local-v12.7.9-ko_KR-ISO-t.txt", 6, []string{`2026-11-30 10:37:07 1271/1273 "ora_lg00_ORCL" CPU 0 32.00 %`}, 0},
		{"local-v12.7.9-de_DE-t.txt", 6, []string{`2026-11-30 10:36:50 1271/1271 "ora_lgwr_ORCL" CPU 1 35.00 %`}, 0},
		{"local-v12.7.9-fr_FR-t.txt", 6, []string{`2026-11-30 10:36:59 1271/1271 "ora_lgwr_ORCL" CPU 0 23.00 %`}, 0},
		{"local-v12.7.9-en_US-t.txt", 6, []string{`2026-11-30 10:36:48 1271/1274 "ora lg01 (x)" CPU 1 30.00 %`}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			got := readWith(t, readPidstat, sharedText(t, filepath.Join(corpus, "pidstat", tt.file)), time.UTC)
			rows := make([]string, 0, len(got.placements))
			for _, p := range got.placements {
				rows = append(rows, of(p))
			}
			all := strings.Join(rows, "\n")
			if len(rows) != tt.rows {
				t.Errorf("%d placements, want %d:\n%s", len(rows), tt.rows, all)
			}
			for _, want := range tt.holds {
				if !strings.Contains(all, want) {
					t.Errorf("no %s in\n%s", want, all)
				}
			}
			if got.unread != tt.problems {
				t.Errorf("problems: %q", got.problems)
			}
		})
	}
}

// The rows of thread groups carry values of their own (TGID 1271, 92.00 % on
// CPU 0 in the Korean file, 96.0 user on CPU 1 in the German one); they are
// read like others where -t is absent, so they are shown here as such.
func TestPidstatRowsOfGroupsOfTheCorpus(t *testing.T) {
	t.Parallel()
	corpus := sharedFolder(t, "corpus")
	tests := []struct {
		file, row string
		at        time.Time
		cpu       int
		cpuShare  float64
	}{
		{"local-v12.7.9-ko_KR-t.txt", "1271         -", utc(10, 36, 52), 0, 0.92},
		{"local-v12.7.9-de_DE-t.txt", "1271         -", utc(10, 36, 50), 1, 1.00},
	}
	for _, tt := range tests {
		text := sharedText(t, filepath.Join(corpus, "pidstat", tt.file))
		var only []string
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "|__") {
				line = strings.Replace(line, "TGID       TID", "PID", 1)
				only = append(only, strings.Replace(line, tt.row, "1271", 1))
			}
		}
		got := readWith(t, readPidstat, strings.Join(only, ""), time.UTC)
		if len(got.placements) != 2 {
			t.Fatalf("%s: %d placements, problems %q", tt.file, len(got.placements), got.problems)
		}
		p := got.placements[0]
		if !p.At.Equal(tt.at) || p.CPU != tt.cpu || math.Abs(p.CPUShare-tt.cpuShare) > 1e-9 {
			t.Errorf("%s: %+v", tt.file, p)
		}
	}
}

func BenchmarkPidstat(b *testing.B) {
	var text bytes.Buffer
	text.WriteString("Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(32 CPU)\n\n")
	text.WriteString("09:00:00      UID      TGID       TID    %usr %system  %guest   %wait    %CPU   CPU  Command\n")
	for s := range 36000 {
		at := utc(9, 0, s%36000).Format(time.TimeOnly)
		fmt.Fprintf(&text, "%s    54321     18277         -    7.44    4.29    0.00    0.30   11.74    %2d  ora_lgwr_PROD1\n", at, s%32)
		fmt.Fprintf(&text, "%s    54321         -     18277    7.44    4.29    0.00    0.30   11.74    %2d  |__ora_lgwr_PROD1\n", at, s%32)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		in := &input{name: "f", zone: time.UTC, bad: &problems{}}
		in.lines = newLineReader(bytes.NewReader(text.Bytes()), func(int) {})
		if err := readPidstat(context.Background(), in, noRecords{}); err != nil || in.count != 36000 {
			b.Fatal(in.count, err)
		}
	}
}
