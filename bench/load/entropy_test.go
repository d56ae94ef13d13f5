package main

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// columns gathers what a node sees by column ("placement.exec") and within it by
// series: of a CPU, a line, a device or a thread.
type columns struct {
	*store.Batch

	of map[string]map[string][]int64
}

func (c *columns) add(column, series string, values ...int64) {
	if c.of[column] == nil {
		c.of[column] = map[string][]int64{}
	}
	c.of[column][series] = append(c.of[column][series], values...)
}

// late notes by how many microseconds an instant misses its grid.
func (c *columns) late(table, series string, at time.Time, grid time.Duration) {
	c.add(table+".instant", series, at.Sub(at.Truncate(grid)).Microseconds())
}

func (c *columns) InterruptSample(s *domain.InterruptSample) error {
	c.late("interrupts", "", s.To, time.Second)
	for i, n := range s.Counts {
		c.add("interrupts.counts", fmt.Sprint(i), n)
	}
	return nil
}

func (c *columns) DeviceSample(s *domain.DeviceSample) error {
	c.late("devices", "", s.From, time.Second)
	c.late("devices", "", s.To, time.Second)
	gains := map[string]int64{}
	for _, g := range s.Gains {
		gains[g.Line.IRQ] = g.Count
	}
	for irq := 100; irq < 200; irq++ {
		c.add("devices.counts", fmt.Sprint(irq), gains[fmt.Sprint(irq)])
	}
	return nil
}

func (c *columns) SoftirqSample(s *domain.SoftirqSample) error {
	c.late("softirqs", "", s.From, time.Second)
	c.late("softirqs", "", s.To, time.Second)
	for i := range s.Counts {
		c.add("softirqs.counts", fmt.Sprint(i), s.Counts[i])
		c.add("softirqs.max", fmt.Sprint(i), s.MaxPerS[i])
	}
	return nil
}

// CPU leaves idle out: it is what the others leave.
func (c *columns) CPU(s domain.CPUSample) error {
	units, table := 1e4, "cpu"
	if s.CPU == domain.AllCPUs {
		units, table = 1e6, "host"
	}
	put := func(column string, share float64) {
		c.add(table+"."+column, fmt.Sprint(s.CPU), int64(math.Round(share*units)))
	}
	put("user", s.User)
	put("system", s.System)
	put("softirq", s.SoftIRQ)
	put("iowait", s.IOWait)
	if s.Peaks != nil {
		put("irq_softirq_max", s.Peaks.IRQSoftIRQ)
		put("busy_max", s.Peaks.Busy)
	}
	return nil
}

func (c *columns) Disk(s domain.DiskSample) error {
	for column, v := range map[string]float64{
		"reads": s.ReadsPerS, "writes": s.WritesPerS, "read_await": s.ReadAwaitMS, "write_await": s.WriteAwaitMS,
		"queue": s.QueueSize, "utilisation": 10 * s.Utilisation,
	} {
		c.add("disks."+column, s.Device, int64(math.Round(v*1_000)))
	}
	return nil
}

func (c *columns) System(s domain.SystemSample) error {
	for column, v := range map[string]float64{
		"run_queue": s.RunQueue, "blocked": s.Blocked, "interrupts": s.InterruptsPerS, "context_switches": s.ContextSwitchesPerS,
		"user": 1e6 * s.User, "system": 1e6 * s.System, "idle": 1e6 * s.Idle, "iowait": 1e6 * s.IOWait,
	} {
		c.add("system."+column, "", int64(math.Round(v)))
	}
	return nil
}

func (c *columns) Placement(p domain.Placement) error {
	c.late("placement", p.Command, p.At, placementTick)
	for column, v := range map[string]int64{
		"exec": p.Exec.Microseconds(), "run_delay": p.RunDelay.Microseconds(), "voluntary": p.Voluntary, "involuntary": p.Involuntary,
		"state": int64(p.State),
	} {
		c.add("placement."+column, p.Command, v)
	}
	return nil
}

// entropy gives the bits of values that are drawn one by one, with Miller's and
// Madow's correction for values that were not seen.
func entropy(values []int64) float64 {
	seen := map[int64]float64{}
	for _, v := range values {
		seen[v]++
	}
	bits, n := float64(len(seen)-1)/2/math.Ln2, float64(len(values))
	for _, k := range seen {
		bits -= k * math.Log2(k/n)
	}
	return bits
}

// planes gives values byte by byte: all low bytes, then the next ones. It is what a
// compressor of bytes makes most of.
func planes(values []int64) []byte {
	all := make([]byte, 0, 8*len(values))
	for shift := 0; shift < 64; shift += 8 {
		for _, v := range values {
			all = append(all, binary.LittleEndian.AppendUint64(nil, uint64(v))[shift/8])
		}
	}
	return all
}

// BenchmarkEntropy says what a day of one node is worth: for each column the sum of
// its series' entropies hour by hour (values are drawn one by one, about a load that
// changes with the hour), and what zstd's best makes of the same. No coding that
// loses nothing takes less than the first.
func BenchmarkEntropy(b *testing.B) {
	for b.Loop() {
		c := &columns{Batch: store.NewBatch(), of: map[string]map[string][]int64{}}
		n := newNode(0)
		for i := range pushesOfDay {
			if err := n.push(c, yesterday().Add(time.Duration(i)*pushEvery)); err != nil {
				b.Fatal(err)
			}
		}
		best, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			b.Fatal(err)
		}
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "column\tvalues\tentropy MB\tzstd MB\t\n")
		row := func(name string, values, least, packed float64) {
			fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t\n", name, values, least, packed)
		}
		const mb = 1e6
		var all [2]float64
		tables := map[string]*[3]float64{}
		for _, column := range slices.Sorted(maps.Keys(c.of)) {
			var sum [3]float64
			for _, values := range c.of[column] {
				for hour := range slices.Chunk(values, (len(values)+23)/24) {
					sum[1] += entropy(hour) / 8 / mb
				}
				sum[0] += float64(len(values))
				sum[2] += float64(len(best.EncodeAll(planes(values), nil))) / mb
			}
			row(column, sum[0], sum[1], sum[2])
			table, _, _ := strings.Cut(column, ".")
			if tables[table] == nil {
				tables[table] = &[3]float64{}
			}
			for i, v := range sum {
				tables[table][i] += v
			}
			all[0], all[1] = all[0]+sum[1], all[1]+sum[2]
		}
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			row(table, tables[table][0], tables[table][1], tables[table][2])
		}
		row("all", 0, all[0], all[1])
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(all[0], "MB/day")
	}
}
