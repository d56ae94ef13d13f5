package files

import (
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// The fixtures were written for these tests; expected values were read in them
// by eye.
func TestVmstatSamples(t *testing.T) {
	t.Parallel()
	const heading1 = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
	const heading2 = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 "
	seoul := time.FixedZone("", 9*3600)
	nan := math.NaN()
	sample := func(at time.Time, interval time.Duration, r, b, si, so, in, cs, us, sy, id, wa, st float64) domain.SystemSample {
		return domain.SystemSample{
			At: at, Interval: interval, RunQueue: r, Blocked: b, SwapInPerS: si, SwapOutPerS: so,
			InterruptsPerS: in, ContextSwitchesPerS: cs,
			User: us / 100, System: sy / 100, Idle: id / 100, IOWait: wa / 100, Steal: st / 100,
			RunQueueMax: nan, TimeSqueeze: nan, PSICPU: -1, PSIIO: -1, PSIMemory: -1,
		}
	}
	boot := func(s domain.SystemSample) domain.SystemSample {
		s.SinceBoot = true
		return s
	}
	tests := []struct {
		name     string
		text     string
		want     []domain.SystemSample
		zone     int // seconds east that the file carries; -1 none
		problems []string
	}{
		{
			name: "the name of a local zone does not count, the zone given does; the first row is since boot",
			text: heading1 + heading2 + "KST\n" +
				" 3  1      0 182736 204212 902144    5    7   120  1805 16551 30846  9  4 85  1  2 2026-11-30 18:00:01\n" +
				"12  0      0 182736 204212 902144    0    0   120  4784 43860 81740 12  5 83  0  0 2026-11-30 18:00:02\n",
			want: []domain.SystemSample{
				boot(sample(utc(9, 0, 1), 0, 3, 1, 5, 7, 16551, 30846, 9, 4, 85, 1, 2)),
				sample(utc(9, 0, 2), time.Second, 12, 0, 0, 0, 43860, 81740, 12, 5, 83, 0, 0),
			},
			zone: -1,
		},
		{
			name: "UTC in the heading is the zone of the file",
			text: heading1 + heading2 + "UTC\n" +
				" 3  1      0 182736 204212 902144    5    7   120  1805 16551 30846  9  4 85  1  2 2026-11-30 18:00:01\n",
			want: []domain.SystemSample{boot(sample(utc(18, 0, 1), 0, 3, 1, 5, 7, 16551, 30846, 9, 4, 85, 1, 2))},
			zone: 0,
		},
		{
			name: "a zone without a name of its own prints its offset",
			text: heading1 + heading2 + "+03\n" +
				" 3  1      0 182736 204212 902144    5    7   120  1805 16551 30846  9  4 85  1  2 2026-11-30 18:00:01\n",
			want: []domain.SystemSample{boot(sample(utc(15, 0, 1), 0, 3, 1, 5, 7, 16551, 30846, 9, 4, 85, 1, 2))},
			zone: 3 * 3600,
		},
		{
			name: "old versions print the zone in every row and no steal",
			text: "procs -----------memory---------- ---swap-- -----io---- --system-- ----cpu---- ---timestamp---\n" +
				" r  b   swpd   free   buff  cache   si   so    bi    bo   in    cs us sy id wa\n" +
				" 3  1      0 182736 204212 902144    5    7   120  1805 16551 30846  9  4 85  2 2026-11-30 18:00:01 GMT\n",
			want: []domain.SystemSample{boot(sample(utc(18, 0, 1), 0, 3, 1, 5, 7, 16551, 30846, 9, 4, 85, 2, nan))},
			zone: 0,
		},
		{
			name: "wide rows with guest time, and headings that return with each page",
			text: "--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu---------- -----timestamp-----\n" +
				"   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st  gu                 KST\n" +
				"   1    0            0     24363672         1464       217908    0    0   535  1149  295  525  15   9  76   0   0   0 2026-11-30 18:00:00\n" +
				"   2    0            0     24363672         1464       217908    0    0   535  1149  295  525  15   9  76   0   0   0 2026-11-30 18:00:10\n" +
				"--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu---------- -----timestamp-----\n" +
				"   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st  gu                 KST\n" +
				"   3    0            0     24363672         1464       217908    0    0   535  1149  295  525  15   9  76   0   0   0 2026-11-30 18:00:20\n",
			want: []domain.SystemSample{
				boot(sample(utc(9, 0, 0), 0, 1, 0, 0, 0, 295, 525, 15, 9, 76, 0, 0)),
				sample(utc(9, 0, 10), 10*time.Second, 2, 0, 0, 0, 295, 525, 15, 9, 76, 0, 0),
				sample(utc(9, 0, 20), 10*time.Second, 3, 0, 0, 0, 295, 525, 15, 9, 76, 0, 0),
			},
			zone: -1,
		},
		{
			name: "a heading that comes before its page is full begins a program anew",
			text: heading1 + heading2 + "KST\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:01\n" +
				" 2  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:02\n" +
				heading1 + heading2 + "KST\n" +
				" 3  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:03\n" +
				heading1 + heading2 + "KST\n" +
				" 4  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:05:00\n",
			want: []domain.SystemSample{
				boot(sample(utc(9, 0, 1), 0, 1, 0, 0, 0, 1, 1, 0, 0, 100, 0, 0)),
				sample(utc(9, 0, 2), time.Second, 2, 0, 0, 0, 1, 1, 0, 0, 100, 0, 0),
				sample(utc(9, 0, 3), time.Second, 3, 0, 0, 0, 1, 1, 0, 0, 100, 0, 0),
				boot(sample(utc(9, 5, 0), 0, 4, 0, 0, 0, 1, 1, 0, 0, 100, 0, 0)),
			},
			zone: -1,
		},
		{
			name: "without times rows are useless, which is said once",
			text: "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n" +
				" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0\n",
			zone:     -1,
			problems: []string{"f:3: no timestamps: run vmstat -t"},
		},
		{
			name: "lines that cannot be read are told and the rest is read",
			text: " 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:01\n" +
				heading1 + heading2 + "KST\n" +
				" 1  0      0 1 1 1    0\n" +
				" 1  0      0 1 1 -1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:01\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-02-30 18:00:01\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:01 KST x\n" +
				" r  b   none of these\n" +
				" 1  0      0 1 1 1    0    0   0  0 1 1  0  0 100  0  0 2026-11-30 18:00:05\n",
			want: []domain.SystemSample{boot(sample(utc(9, 0, 5), 0, 1, 0, 0, 0, 1, 1, 0, 0, 100, 0, 0))},
			zone: -1,
			problems: []string{
				"f:1: row before any heading",
				"f:4: row is cut short: 7 of 17 columns",
				`f:5: column cache: "-1" cannot be read`,
				`f:6: column timestamp: "2026-02-30 18:00:01" cannot be read`,
				`f:7: column timestamp: "2026-11-30 18:00:01 KST x" cannot be read`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindVmstat)
			p, ok := probeVmstat([]byte(tt.text))
			if !ok || p.hasTimes != (len(tt.want) > 0) {
				t.Errorf("probe gave %+v, %v", p, ok)
			}
			offset := -1
			if p.zone != nil {
				_, offset = time.Time{}.In(p.zone).Zone()
			}
			if offset != tt.zone {
				t.Errorf("file carries offset %d, want %d", offset, tt.zone)
			}
			got := readWith(t, readVmstat, tt.text, seoul)
			sameRecords(t, got.systems, tt.want)
			sameProblems(t, got, tt.problems...)
		})
	}
}
