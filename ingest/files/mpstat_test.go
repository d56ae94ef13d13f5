package files

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// used is a row of mpstat with the columns of version 12, in percent.
func used(at time.Time, interval time.Duration, cpu int, percent ...float64) domain.CPUSample {
	for len(percent) < 9 {
		percent = append(percent, math.NaN())
	}
	p := func(i int) float64 { return percent[i] / 100 }
	return domain.CPUSample{
		At: at, Interval: interval, CPU: cpu,
		User: p(0), Nice: p(1), System: p(2), IOWait: p(3), IRQ: p(4), SoftIRQ: p(5), Steal: p(6), Guest: p(7), Idle: p(8),
	}
}

func offline(at time.Time, interval time.Duration, cpu int) domain.CPUSample {
	s := used(at, interval, cpu)
	s.Offline = true
	return s
}

// The fixtures were written for these tests; expected values were read in them
// by eye.
func TestMpstatSamples(t *testing.T) {
	t.Parallel()
	const banner = "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(2 CPU)\n\n"
	const columns = "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
	nan := math.NaN()
	tests := []struct {
		name     string
		text     string
		want     []domain.CPUSample
		problems []string
	}{
		{
			name: "each CPU and the host, and the interval from the time of the heading",
			text: banner + "10:00:00" + columns +
				"10:00:02  all    5.00    1.00    2.00    0.50    0.25    8.25    3.00    4.00    0.00   76.00\n" +
				"10:00:02    0    0.00    0.00    0.00    0.00    0.00   40.00    0.00    0.00    0.00   60.00\n" +
				"10:00:02   17    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n\n" +
				"Average:" + columns +
				"Average:  all    9.00    9.00    9.00    9.00    9.00    9.00    9.00    9.00    9.00   19.00\n",
			want: []domain.CPUSample{
				used(utc(10, 0, 2), 2*time.Second, domain.AllCPUs, 5, 1, 2, 0.5, 0.25, 8.25, 3, 4, 76),
				used(utc(10, 0, 2), 2*time.Second, 0, 0, 0, 0, 0, 0, 40, 0, 0, 60),
				offline(utc(10, 0, 2), 2*time.Second, 17),
			},
		},
		{
			name: "AM and PM, and columns of an old version that prints interrupts beside",
			text: "Linux 2.6.18 (db1) \t11/30/2026\n\n" +
				"11:59:59 AM  CPU   %user   %nice    %sys %iowait    %irq   %soft  %steal   %idle    intr/s\n" +
				"12:00:00 PM  all    5.00    0.00    2.00    0.50    0.00    1.50    0.00   91.00   1000.00\n" +
				"12:00:00 PM    1    5.00    0.00    2.00    0.50    0.00    1.50    0.00   91.00      0.00\n",
			want: []domain.CPUSample{
				used(utc(12, 0, 0), time.Second, domain.AllCPUs, 5, 0, 2, 0.5, 0, 1.5, 0, nan, 91),
				used(utc(12, 0, 0), time.Second, 1, 5, 0, 2, 0.5, 0, 1.5, 0, nan, 91),
			},
		},
		{
			name: "sar prints fewer columns, those it lacks are unknown",
			text: banner + "10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n" +
				"10:10:00          3      5.00      0.00      2.00      0.50      0.00     92.50\n",
			want: []domain.CPUSample{used(utc(10, 10, 0), 10*time.Minute, 3, 5, 0, 2, 0.5, nan, nan, 0, nan, 92.5)},
		},
		{
			name: "decimal commas, and Korean times of three fields",
			text: "Linux 6.1.0 (db1) \t2026년 11월 30일 \t_x86_64_\t(2 CPU)\n\n" +
				"10시 00분 00초" + columns +
				"10시 00분 01초  all    5,00    0,00    2,00    0,00    0,00    0,00    0,00    0,00    0,00   93,00\n" +
				"평균 :" + columns +
				"평균 :  all    5,00    0,00    2,00    0,00    0,00    0,00    0,00    0,00    0,00   93,00\n",
			want: []domain.CPUSample{used(utc(10, 0, 1), time.Second, domain.AllCPUs, 5, 0, 2, 0, 0, 0, 0, 0, 93)},
		},
		{
			name: "reports of NUMA nodes and of interrupts yield nothing",
			text: banner + "10:00:00 NODE    %usr   %idle\n" +
				"10:00:01  all    1.00   99.00\n" +
				"10:00:01    0    1.00   99.00\n\n" +
				"10:00:00  CPU    intr/s\n" +
				"10:00:01  all   3563.37\n\n" +
				"10:00:00  CPU         0/s        24/s\n" +
				"10:00:01    0        0.00       16.83\n\n" +
				"10:00:00  CPU       HI/s    TIMER/s\n" +
				"10:00:01    0       0.00      16.83\n\n" +
				"10:00:00" + columns +
				"10:00:01    0    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n",
			want: []domain.CPUSample{used(utc(10, 0, 1), time.Second, 0, 5, 0, 2, 0, 0, 0, 0, 0, 93)},
		},
		{
			name: "a lone report at the time of its heading averages since boot",
			text: banner + "10:00:01" + columns +
				"10:00:01  all    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n",
			problems: []string{"f:4: the only report averages since boot: run mpstat with an interval"},
		},
		{
			name: "a first report at the time of its heading is a sample when others follow",
			text: banner + "10:00:01" + columns +
				"10:00:01    0    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n\n" +
				"10:00:31" + columns +
				"10:00:31    0    6.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   92.00\n",
			want: []domain.CPUSample{
				used(utc(10, 0, 1), 0, 0, 5, 0, 2, 0, 0, 0, 0, 0, 93),
				used(utc(10, 0, 31), 30*time.Second, 0, 6, 0, 2, 0, 0, 0, 0, 0, 92),
			},
		},
		{
			name: "the first report after midnight belongs to the next day",
			text: "Linux 4.18.0 (db1) \t2026-11-29 \t_x86_64_\t(2 CPU)\n\n" +
				"23:59:30" + columns +
				"23:59:40    0    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n\n" +
				"23:59:40" + columns +
				"00:00:10    0    6.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   92.00\n",
			want: []domain.CPUSample{
				used(utc(0, 0, 0).Add(-20*time.Second), 10*time.Second, 0, 5, 0, 2, 0, 0, 0, 0, 0, 93),
				used(utc(0, 0, 10), 30*time.Second, 0, 6, 0, 2, 0, 0, 0, 0, 0, 92),
			},
		},
		{
			name: "lines that cannot be read are told and the rest is read",
			text: banner + "10:00:00    0    5.00\n" +
				"10:00:00" + columns +
				"10:00:01    0    5.00    0.00\n" +
				"10:00:01    x    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n" +
				"10:00:01    1    5.00    0.00    2..0    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n" +
				"interrupted\n" +
				"10:00:01    2    5.00    0.00    2.00    0.00    0.00    0.00    0.00    0.00    0.00   93.00\n",
			want: []domain.CPUSample{used(utc(10, 0, 1), time.Second, 2, 5, 0, 2, 0, 0, 0, 0, 0, 93)},
			problems: []string{
				"f:3: row before any heading",
				"f:5: row is cut short: 3 of 11 columns",
				`f:6: column CPU: "x" cannot be read`,
				`f:7: column %sys: "2..0" cannot be read`,
				"f:8: no row of mpstat",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindMpstat)
			got := readWith(t, readMpstat, tt.text, time.UTC)
			sameRecords(t, got.cpus, tt.want)
			sameProblems(t, got, tt.problems...)
		})
	}
}

// mpstatDocument is what mpstat -o JSON prints, in its shape, with two reports.
const mpstatDocument = `{"sysstat": {
	"hosts": [
		{
			"nodename": "db1",
			"sysname": "Linux",
			"release": "4.18.0",
			"machine": "x86_64",
			"number-of-cpus": 2,
			"date": "11/30/26",
			"statistics": [
				{
					"timestamp": "23:59:59",
					"cpu-load": [
						{"cpu": "all", "usr": 2.50, "nice": 0.00, "sys": 1.00, "iowait": 0.10, "irq": 0.30, "soft": 0.20, "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": 95.90},
						{"cpu": "1", "usr": 0.00, "nice": 0.00, "sys": 0.00, "iowait": 0.00, "irq": 0.00, "soft": 0.00, "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": 0.00}
					],
					"node-load": [
						{"node": "all", "usr": 2.50, "idle": 97.50}
					],
					"sum-interrupts": [
						{"cpu": "all", "intr": 35525.06}
					],
					"individual-interrupts": [
						{"cpu": "0", "intr": [
							{"name": "24", "value": 0.50}
						] }
					]
				},
				{
					"timestamp": "00:00:09",
					"cpu-load": [
						{"cpu": "0", "usr": 4.00, "nice": 0.00, "sys": 1.00, "iowait": 0.00, "irq": 0.00, "soft": 5.00, "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": 90.00}
					]
				}
			]
		}
	]
}}
`

func TestMpstatJSON(t *testing.T) {
	t.Parallel()
	first := []domain.CPUSample{
		used(utc(23, 59, 59), 0, domain.AllCPUs, 2.5, 0, 1, 0.1, 0.3, 0.2, 0, 0, 95.9),
		offline(utc(23, 59, 59), 0, 1),
	}
	both := append(slices.Clone(first), used(utc(24, 0, 9), 10*time.Second, 0, 4, 0, 1, 0, 0, 5, 0, 0, 90))
	second := strings.Index(mpstatDocument, `					"timestamp": "00:00:09"`)
	tests := []struct {
		name     string
		text     string
		want     []domain.CPUSample
		problems []string
	}{
		{name: "as mpstat prints it", text: mpstatDocument, want: both},
		{
			name: "two documents in one file", text: mpstatDocument[:strings.LastIndex(mpstatDocument, "]\n}}")] + "]}}\n" + mpstatDocument,
			want: append(slices.Clone(both), both...),
		},
		{name: "on one line", text: strings.NewReplacer("\n", "", "\t", "").Replace(mpstatDocument), want: both},
		{
			name: "cut off gives what stood before", text: mpstatDocument[:second], want: first,
			problems: []string{"f:29: JSON breaks off here"},
		},
		{
			name: "a value that is no number spoils its row only",
			text: strings.Replace(mpstatDocument, `"usr": 2.50, "nice": 0.00, "sys": 1.00`, `"usr": -2.50, "nice": 0.00, "sys": 1.00`, 1),
			want: both[1:], problems: []string{`f:14: column usr: "-2.50" cannot be read`},
		},
		{
			name: "rows without a time, a CPU or a number are told",
			text: `{"sysstat": {"hosts": [{"nodename": "db1", "date": "2026-11-30", "statistics": [
{"timestamp": "10:00:00", "cpu-load": [{"cpu": "x", "idle": 95.00}]},
{"timestamp": "10:00:01", "cpu-load": [{"cpu": "0", "idle": "95.00"}]},
{"timestamp": "soon", "cpu-load": [{"cpu": "0", "idle": 95.00}]},
{"timestamp": "10:00:03", "cpu-load": [{"cpu": 0, "idle": 95.00}]}]}]}}`,
			problems: []string{
				`f:2: column cpu: "x" cannot be read`, `f:3: column idle: "95.00" cannot be read`,
				`f:4: column timestamp: "soon" cannot be read`, `f:4: no timestamp before cpu-load`, `f:5: column cpu: "0" cannot be read`,
			},
		},
		{
			name: "a single report may average since boot, which is said",
			text: `{"sysstat": {"hosts": [{"nodename": "db1", "date": "2026-11-30", "statistics": [{"timestamp": "10:00:00", "cpu-load": [{"cpu": "0", "usr": 5.00, "idle": 95.00}]}]}]}}`,
			want: []domain.CPUSample{used(utc(10, 0, 0), 0, 0, 5, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), 95)},
			problems: []string{
				"f:1: a single report: unless mpstat ran with an interval, it averages since boot",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindMpstat)
			p, ok := probeMpstat([]byte(tt.text))
			if !ok || p.host != "db1" || !p.hasTimes || p.zone != nil {
				t.Errorf("probe gave %+v, %v", p, ok)
			}
			got := readWith(t, readMpstat, tt.text, time.UTC)
			sameRecords(t, got.cpus, tt.want)
			sameProblems(t, got, tt.problems...)
		})
	}
}

func TestMpstatRefusesJSONOfAnotherShape(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"of another tool":           `{"sysstat": {"hosts": [{"nodename": "db1", "statistics": [{"avg-cpu": {"user": 1.00}}]}]}}`,
		"of lscpu":                  `{"lscpu": [{"field": "Architecture:", "data": "x86_64"}]}`,
		"cpu-load that is no array": `{"cpu-load": 7}`,
		"broken at once":            `{"`,
	} {
		if p, ok := probeMpstat([]byte(text)); ok {
			t.Errorf("%s: recognised as %+v", name, p)
		}
	}
	deep := `{"cpu-load": [{"x": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}]}`
	got := readWith(t, readMpstat, deep, time.UTC)
	sameProblems(t, got, "f:1: JSON cannot be read on: not the shape of mpstat's JSON")
}

// Values of EXPECTED.md, section "pidstat, mpstat".
func TestMpstatOfTheCorpus(t *testing.T) {
	t.Parallel()
	corpus := sharedFolder(t, "corpus")
	t.Run("CPUs 10, 15 and 20 of the 24 are offline in all three reports", func(t *testing.T) {
		t.Parallel()
		got := readWith(t, readMpstat, sharedText(t, filepath.Join(corpus, "mpstat", "pbench-24cpu-3offline.txt")), time.UTC)
		sameProblems(t, got)
		day := time.Date(2019, time.May, 24, 0, 0, 0, 0, time.UTC)
		reports := map[string]int{}
		for _, s := range got.cpus {
			reports[s.At.Sub(day).String()]++
			if want := s.CPU == 10 || s.CPU == 15 || s.CPU == 20; s.Offline != want {
				t.Errorf("CPU %d at %v: offline %v", s.CPU, s.At, s.Offline)
			}
			if s.CPU == 11 && s.Idle != 1 {
				t.Errorf("CPU 11 at %v: idle %v", s.At, s.Idle)
			}
			if s.Offline && !math.IsNaN(s.Idle) {
				t.Errorf("CPU %d at %v: idle %v though offline", s.CPU, s.At, s.Idle)
			}
		}
		for _, at := range []string{"20h23m17s", "20h23m22s", "20h23m27s"} {
			if reports[at] != 25 {
				t.Errorf("%d rows at %s, want 25", reports[at], at)
			}
		}
	})
	t.Run("the averages of the German file are of its samples and are none themselves", func(t *testing.T) {
		t.Parallel()
		got := readWith(t, readMpstat, sharedText(t, filepath.Join(corpus, "mpstat", "local-v12.7.9-de_DE-PALL.txt")), time.UTC)
		sameProblems(t, got)
		if len(got.cpus) != 6 {
			t.Fatalf("%d samples, want 6", len(got.cpus))
		}
		// The file's own averages: all %idle 36,54; CPU 1 %soft 0,99. They weigh
		// by ticks, the mean of two samples does not: equal within 0.3.
		if idle := (got.cpus[0].Idle + got.cpus[3].Idle) * 50; math.Abs(idle-36.54) > 0.3 {
			t.Errorf("mean idle of the host %.2f %%", idle)
		}
		if soft := (got.cpus[2].SoftIRQ + got.cpus[5].SoftIRQ) * 50; math.Abs(soft-0.99) > 0.01 {
			t.Errorf("mean softirq of CPU 1 %.2f %%", soft)
		}
		if !got.cpus[0].At.Equal(utc(10, 37, 14)) {
			t.Errorf("first sample at %v", got.cpus[0].At)
		}
	})
	t.Run("interrupt reports alone yield no sample", func(t *testing.T) {
		t.Parallel()
		for _, file := range []string{"local-v12.7.9-ko_KR-I.txt", "sysstat-mpstat-I.txt"} {
			got := readWith(t, readMpstat, sharedText(t, filepath.Join(corpus, "mpstat", file)), time.UTC)
			if len(got.cpus) != 0 || got.unread != 0 {
				t.Errorf("%s: %d samples, problems %q", file, len(got.cpus), got.problems)
			}
		}
	})
}
