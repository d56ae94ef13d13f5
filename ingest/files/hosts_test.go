package files

import (
	"testing"
	"time"
)

// By eye: of db2 there are the line that names it, two headings and a row, of
// which the line itself tells why.
func TestAToolsFileEndsWhereAnotherHostBegins(t *testing.T) {
	t.Parallel()
	const heading = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n" +
		" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
	const row = " 3  1      0 182736 204212 902144    5    7   120  1805 16551 30846  9  4 85  1  2 2026-11-30 18:00:01\n"
	got := readWith(t, readVmstat, "zzz ***Mon Nov 30 18:00:00 UTC 2026 - db1\n"+heading+row+
		"zzz ***Mon Nov 30 18:00:00 UTC 2026 - db2\n"+heading+row, time.UTC)
	if len(got.systems) != 1 || got.unread != 4 {
		t.Errorf("%d samples, %d unread; want 1 and 4", len(got.systems), got.unread)
	}
	sameProblems(t, got, `f:5: lines of another host begin, "db2" after "db1": not used, nor what follows`)
}

func TestAPidstatFileEndsAtTheBannerOfAnotherHost(t *testing.T) {
	t.Parallel()
	const heading = "\n09:00:00      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
	const lgwr = "09:00:01    54321       100    7.00    4.00    0.00    0.30   11.00     3  ora_lgwr_ORDP1\n"
	for _, tt := range []struct {
		name, second string
		placements   int
		unread       int64
	}{
		{"another host", "db2", 1, 3}, // the banner, the heading, the row
		{"the same host, started anew", "db1", 2, 0},
		{"the same host with its domain", "DB1.example.com", 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := readWith(t, readPidstat, "Linux 5.15.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n"+heading+lgwr+
				"Linux 5.15.0 ("+tt.second+") \t2026-11-30 \t_x86_64_\t(8 CPU)\n"+heading+lgwr, time.UTC)
			if len(got.placements) != tt.placements || got.unread != tt.unread {
				t.Errorf("%d placements, %d unread (%q); want %d and %d", len(got.placements), got.unread, got.problems, tt.placements, tt.unread)
			}
		})
	}
}
