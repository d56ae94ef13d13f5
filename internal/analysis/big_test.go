package analysis_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/corewait/corewait/ingest/files"
	"github.com/corewait/corewait/internal/analysis"
)

// The big log is one of /proc/interrupts on a host of bigCPUs, read once a second.
const (
	bigCPUs    = 64
	bigDevices = 20 // lines of network queues, one CPU each
	bigKernel  = 60 // lines that stay as they are
)

// bigLog writes a log of at least size bytes, compressed, and gives its path
// and how many readings it holds. The text is never in memory nor on disk as a
// whole: one reading is made in place from the one before.
func bigLog(t *testing.T, size int64) (path string, readings int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "interrupts.log.zst")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(z, 1<<20)
	block, counts := bigReading()
	start := time.Date(2026, 6, 16, 0, 0, 0, 0, time.UTC)
	for written := int64(0); written < size; readings++ {
		for d, at := range counts { // device d gains 1,500+d interrupts in this second
			copy(block[at:], fmt.Sprintf("%10d", (1500+d)*readings%(1<<32)))
		}
		n, err := w.WriteString(start.Add(time.Duration(readings)*time.Second).Format(time.RFC3339) + "\n")
		if err != nil {
			t.Fatal(err)
		}
		m, err := w.Write(block)
		if err != nil {
			t.Fatal(err)
		}
		written += int64(n + m)
	}
	if err := errors.Join(w.Flush(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, readings
}

// bigReading gives the text of one reading, and where in it each device's
// counter stands.
func bigReading() (block []byte, counts []int) {
	line := func(id, tail string, moving int) {
		block = fmt.Appendf(block, "%4s:", id)
		for cpu := range bigCPUs {
			if cpu == moving {
				counts = append(counts, len(block)+1)
			}
			block = fmt.Appendf(block, " %10d", 0)
		}
		block = append(block, "   "+tail+"\n"...)
	}
	block = append(block, "    "...)
	for cpu := range bigCPUs {
		block = fmt.Appendf(block, " %10s", "CPU"+strconv.Itoa(cpu))
	}
	block = append(block, '\n')
	for d := range bigDevices {
		line(strconv.Itoa(100+d), fmt.Sprintf("PCI-MSI %d-edge      ens3f0-TxRx-%d", d, d), d)
	}
	for k := range bigKernel {
		line(strconv.Itoa(200+k), fmt.Sprintf("PCI-MSI %d-edge      unused%d", k, k), -1)
	}
	return block, counts
}

// heapPeak samples the heap until stop is called, which gives the largest.
func heapPeak() (stop func() uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var peak uint64
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() uint64 {
		close(done)
		wait.Wait()
		return peak
	}
}

// What is kept of each reading is a float32 for each CPU and a span of 16
// bytes. Growing a slice holds it one and a quarter times again; the finding
// copies them once more at most. As much again may wait for the garbage
// collector, which runs when the heap has doubled. The rest is what reading
// takes whatever the size: buffers of some MiB and the window of zstd.
func bigBound(readings int) uint64 {
	kept := uint64(readings) * (bigCPUs*4 + 16)
	const reading = 24 << 20
	return 2 * (3*kept + kept/4 + reading)
}

// The gigabytes come from COREWAIT_BIG: it is not parallel, since it measures
// the memory of the whole program.
func TestMemoryDoesNotGrowWithTheLogBeyondItsSeries(t *testing.T) {
	sizes := map[string]int64{"256 MB": 256e6}
	if os.Getenv("COREWAIT_BIG") == "1" {
		sizes["10 GB"] = 10e9
	}
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			path, readings := bigLog(t, size)
			debug.FreeOSMemory()
			stop := heapPeak()
			begin := time.Now()
			res, err := analysis.Run(t.Context(), options(path))
			took := time.Since(begin)
			peak, bound := stop(), bigBound(readings)
			if err != nil {
				t.Fatal(err)
			}
			f := res.Findings[0]
			if n := f.Inputs[0].Records; n != int64(readings) || f.Inputs[0].Unread != 0 {
				t.Errorf("%d of %d readings read, %d lines unread", n, readings, f.Inputs[0].Unread)
			}
			// Device d gains 1,500+d in each second, on CPU d alone.
			for d := range bigDevices {
				if got := f.Interrupts.ByCPU[d].PerS; got == nil || math.Abs(*got-float64(1500+d)) > 0.01 {
					t.Errorf("CPU %d: %v interrupts/s", d, got)
				}
			}
			t.Logf("%d readings, heap at most %d MiB of %d MiB allowed, %.0f MB/s", readings, peak>>20, bound>>20, float64(size)/1e6/took.Seconds())
			if peak > bound {
				t.Errorf("heap of %d MiB for %d readings, bound %d MiB", peak>>20, readings, bound>>20)
			}
		})
	}
	if len(sizes) == 1 {
		t.Run("10 GB", func(t *testing.T) { t.Skip("SKIPPED: set COREWAIT_BIG=1 to analyse a log of 10 GB") })
	}
}

func TestCancellingInTheMiddleOfALogEndsWithinASecond(t *testing.T) {
	t.Parallel()
	path, _ := bigLog(t, 256e6)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(path)
	var asked time.Time
	o.Progress = func(stage files.Stage, done, total int64, _ string) {
		if asked.IsZero() && stage == files.StageRead && done > total/4 {
			asked = time.Now()
			cancel()
		}
	}
	_, err := analysis.Run(ctx, o)
	if took := time.Since(asked); !errors.Is(err, context.Canceled) || asked.IsZero() || took > time.Second {
		t.Errorf("error %v, %v after it was cancelled", err, took)
	}
}
