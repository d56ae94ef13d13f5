package files

import (
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// The fixtures were written for these tests; expected values were read in them
// by eye.
func TestIostatSamples(t *testing.T) {
	t.Parallel()
	const banner = "Linux 4.18.0 (db1) \t2026-11-30 \t_x86_64_\t(8 CPU)\n\n"
	const cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           9.79    0.00    4.12    0.00    0.00   86.08\n\n"
	const columns = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n"
	const rest = "     0.00      0.00     0.00   0.00    0.00     0.00"
	nan := math.NaN()
	sample := func(at time.Time, interval time.Duration, device string, r, w, rAwait, wAwait, queue, util float64) domain.DiskSample {
		return domain.DiskSample{
			At: at, Interval: interval, Device: device, ReadsPerS: r, WritesPerS: w,
			ReadAwaitMS: rAwait, WriteAwaitMS: wAwait, QueueSize: queue, Utilisation: util / 100,
		}
	}
	tests := []struct {
		name     string
		text     string
		want     []domain.DiskSample
		problems []string
	}{
		{
			name: "the report after a banner averages since boot and is dropped; no requests have no await",
			text: banner + "2026-11-30T09:00:00+0900\n" + cpu + columns +
				"nvme0n1          1.00      0.00     0.00   0.00    9.00     0.00    1.00      0.00     0.00   0.00    9.00     0.00" + rest + "    9.00    9.00    9.00   9.00\n\n" +
				"2026-11-30T09:00:05+0900\n" + cpu + columns +
				"nvme0n1        100.00    800.00     0.00   0.00    0.40     8.00  200.50   1600.00     0.00   0.00    1.25     8.00" + rest + "    2.00    0.10    0.34  33.50\n" +
				"dm-10            0.00      0.00     0.00   0.00    0.00     0.00    3.00     24.00     0.00   0.00    0.00     8.00" + rest + "    0.00    0.00    0.00   0.10\n\n",
			want: []domain.DiskSample{
				sample(utc(0, 0, 5), 5*time.Second, "nvme0n1", 100, 200.5, 0.4, 1.25, 0.34, 33.5),
				sample(utc(0, 0, 5), 5*time.Second, "dm-10", 0, 3, nan, 0, 0, 0.1),
			},
		},
		{
			name: "old columns have one await for reads and writes; times in the American way",
			text: "11/30/2026 10:00:00 AM\n" + cpu +
				"Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n" +
				"sda               0.00     5.00    1.00    2.00     8.00    16.00    16.00     0.05    7.50   1.00   0.30\n\n" +
				"11/30/2026 12:00:00 PM\n" +
				"Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n" +
				"sda               0.00     5.00    1.00    2.00     8.00    16.00    16.00     0.05    7.50    2.50   10.00   1.00   0.30\n",
			want: []domain.DiskSample{
				sample(utc(10, 0, 0), 0, "sda", 1, 2, 7.5, 7.5, 0.05, 0.3),
				sample(utc(12, 0, 0), 2*time.Hour, "sda", 1, 2, 2.5, 10, 0.05, 0.3),
			},
		},
		{
			name: "times alone take the date of the banner and go on after midnight",
			text: "Linux 2.6.18 (db1) \t11/29/2026\n\nTime: 11:59:50 PM\n" + cpu +
				"Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n" +
				"sda               0.00     5.00    1.00    2.00     8.00    16.00    16.00     0.05    7.50   1.00   0.30\n\n" +
				"Time: 12:00:00 AM\n" + cpu +
				"Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n" +
				"sda               0.00     5.00    0.00    0.00     8.00    16.00    16.00     0.05    0.00   1.00   0.30\n",
			want: []domain.DiskSample{sample(utc(0, 0, 0), 10*time.Second, "sda", 0, 0, nan, nan, 0.05, 0.3)},
		},
		{
			name: "German and Korean times, and a decimal comma",
			text: "30.11.2026 10:00:00\n" +
				"Device            r/s     rkB/s r_await     w/s w_await  aqu-sz  %util\n" +
				"sda              1,00      8,00    0,50    2,00    0,25    0,05   0,30\n\n" +
				"2026년 11월 30일 10시 00분 02초\n" +
				"Device            r/s     rkB/s r_await     w/s w_await  aqu-sz  %util\n" +
				"sda              1,00      8,00    0,50    2,00    0,25    0,05   0,30\n",
			want: []domain.DiskSample{
				sample(utc(10, 0, 0), 0, "sda", 1, 2, 0.5, 0.25, 0.05, 0.3),
				sample(utc(10, 0, 2), 2*time.Second, "sda", 1, 2, 0.5, 0.25, 0.05, 0.3),
			},
		},
		{
			name: "the decimal comma of the CPU report tells that the day stands before the month",
			text: "03/05/2026 10:00:00\n" +
				"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           9,79    0,00    4,12    0,00    0,00   86,08\n\n" +
				"Device            r/s     rkB/s r_await     w/s w_await  aqu-sz  %util\n" +
				"sda                 1         8       1       2       1       1      1\n",
			want: []domain.DiskSample{sample(time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC), 0, "sda", 1, 2, 1, 1, 1, 1)},
		},
		{
			name: "with --pretty a device comes last and in several tables",
			text: "2026-11-30T10:00:00+0000\n" +
				"     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device\n" +
				"    1.00     14.1k     0.00   0.0%    0.50    16.0k sda\n" +
				"    0.00      0.0k     0.00   0.0%    0.00     0.0k sdb\n\n" +
				"     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device\n" +
				"    2.00     14.1k     0.00   0.0%    0.25    16.0k sda\n" +
				"    4.00     14.1k     0.00   0.0%    0.75    16.0k sdb\n\n" +
				"     f/s f_await  aqu-sz  %util Device\n" +
				"    0.00    0.00    0.05   0.3% sda\n" +
				"    0.00    0.00    0.06  10.5% sdb\n",
			want: []domain.DiskSample{
				sample(utc(10, 0, 0), 0, "sda", 1, 2, 0.5, 0.25, 0.05, 0.3),
				sample(utc(10, 0, 0), 0, "sdb", 0, 4, nan, 0.75, 0.06, 10.5),
			},
		},
		{
			name: "short output has one await and one rate",
			text: "2026-11-30T10:00:00+0000\n" +
				"Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n" +
				"sda               3.00     14.00     0.00    0.50    16.00    0.05   0.30\n" +
				"sdb               0.00      0.00     0.00    0.00     0.00    0.00   0.00\n",
			want: []domain.DiskSample{
				sample(utc(10, 0, 0), 0, "sda", nan, nan, 0.5, 0.5, 0.05, 0.3),
				sample(utc(10, 0, 0), 0, "sdb", nan, nan, nan, nan, 0, 0),
			},
		},
		{
			name: "without times, or without -x, rows are useless, which is said once",
			text: cpu + "Device            r/s     rkB/s r_await     w/s w_await  aqu-sz  %util\n" +
				"sda              1.00      8.00    0.50    2.00    0.25    0.05   0.30\n" +
				"sda              1.00      8.00    0.50    2.00    0.25    0.05   0.30\n" +
				"Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n" +
				"sda              10.00        20.00        30.00         0.00        200        300          0\n" +
				"sda              10.00        20.00        30.00         0.00        200        300          0\n",
			problems: []string{
				"f:5: no timestamps: run iostat -xt",
				"f:8: no await and no use of the device: run iostat -xt",
			},
		},
		{
			name: "lines that cannot be read are told and the rest is read",
			text: "sda 1.00\n2026-11-30T10:00:00+0000\n" +
				"Device            r/s     rkB/s r_await     w/s w_await  aqu-sz  %util\n" +
				"sda              1.00      8.00    0.50\n" +
				"sdb              1.00      8.00    -nan    2.00    0.25    0.05   0.30\n" +
				"sdc              1.00      8.00    0.50    2.00    0.25    0.05   0.30   0.30\n" +
				"Linux\n" +
				"Linux without a host\n" +
				"sdd              1.00      8.00    0.50    2.00    0.25    0.05   0.30\n",
			want: []domain.DiskSample{sample(utc(10, 0, 0), 0, "sdd", 1, 2, 0.5, 0.25, 0.05, 0.3)},
			problems: []string{
				"f:1: row before any heading",
				"f:4: row is cut short: 4 of 8 columns",
				`f:5: column r_await: "-nan" cannot be read`,
				"f:6: row has more columns than its heading",
				"f:7: row is cut short: 1 of 8 columns",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			takenFor(t, tt.text, KindIostat)
			p, ok := probeIostat([]byte(tt.text))
			if !ok || p.hasTimes != (len(tt.want) > 0) {
				t.Errorf("probe gave %+v, %v", p, ok)
			}
			got := readWith(t, readIostat, tt.text, time.UTC)
			sameRecords(t, got.diskSamples, tt.want)
			sameProblems(t, got, tt.problems...)
		})
	}
}
