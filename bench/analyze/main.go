// Command analyze times `corewait analyze --json` as a whole, on one core, on
// logs of /proc/interrupts of two sizes that it writes to a temporary folder,
// and prints throughput and peak memory.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/corewait/corewait/bench/interruptlog"
	"github.com/corewait/corewait/bench/measure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "analyze:", err)
		os.Exit(1)
	}
}

const (
	cpus  = 64
	lines = 128
	every = 16 // one count in so many is not zero
)

func run() error {
	program := flag.String("corewait", "bin/corewait", "the program to measure")
	size := flag.Int64("size", 512, "size of the larger log in MB; the smaller has a quarter")
	rounds := flag.Int("rounds", 5, "runs of each size")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench-analyze-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	fmt.Printf("corewait analyze --json on logs of /proc/interrupts, %d CPUs x %d lines, GOMAXPROCS=1, %d runs each\n", cpus, lines, *rounds)
	var throughput measure.Spread
	for _, bytes := range []int64{*size * 1e6 / 4, *size * 1e6} {
		if throughput, err = one(*program, dir, bytes, *rounds); err != nil {
			return err
		}
	}
	fmt.Printf("analyze %.0f MB/s\n", throughput.Median)
	return nil
}

// one measures a log of one size and gives MB a second of CPU time.
func one(program, dir string, size int64, rounds int) (measure.Spread, error) {
	path := filepath.Join(dir, "interrupts.log")
	readings, written, err := write(path, size)
	if err != nil {
		return measure.Spread{}, err
	}
	var perCPU, perWall, peak []float64
	for range rounds + 1 { // the first brings the log into the page cache
		c, err := analyze(program, path, readings)
		if err != nil {
			return measure.Spread{}, err
		}
		perCPU = append(perCPU, float64(written)/1e6/c.CPU.Seconds())
		perWall = append(perWall, float64(written)/1e6/c.Wall.Seconds())
		peak = append(peak, float64(c.resident)/(1<<20))
	}
	throughput := measure.SpreadOf(perCPU[1:])
	// What the series keeps of a reading: a rate for each CPU and its interval.
	kept := float64(readings) * (cpus*4 + 16) / (1 << 20)
	fmt.Printf("  %4.0f MB, %5d readings: %s MB/s of CPU time, %s MB/s of wall time; peak resident %s MiB, of which the series keeps %.1f\n",
		float64(written)/1e6, readings, throughput, measure.SpreadOf(perWall[1:]), measure.SpreadOf(peak[1:]), kept)
	return throughput, nil
}

func write(path string, size int64) (readings int, written int64, err error) {
	f, err := os.Create(path) //nolint:gosec // in the temporary folder
	if err != nil {
		return 0, 0, fmt.Errorf("write the log: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	readings, written, err = interruptlog.New(cpus, lines, every).Write(w, size)
	return readings, written, errors.Join(err, w.Flush(), f.Close())
}

// cost is what one run of the program took.
type cost struct {
	measure.Cost
	resident int64 // peak, bytes
}

// analyze runs the program on the log and checks that it read all of it.
func analyze(program, path string, readings int) (cost, error) {
	c := exec.Command(program, "analyze", "--json", path) //nolint:gosec,noctx // the program to measure
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	var out, trouble bytes.Buffer
	c.Stdout, c.Stderr = &out, &trouble
	start := time.Now()
	if err := c.Run(); err != nil {
		return cost{}, fmt.Errorf("%s analyze: %w: %s", program, err, trouble.Bytes())
	}
	wall := time.Since(start)
	var finding struct {
		Inputs []struct {
			Records int `json:"records"`
			Unread  int `json:"unread"`
		} `json:"inputs"`
	}
	if err := json.Unmarshal(out.Bytes(), &finding); err != nil {
		return cost{}, fmt.Errorf("read the finding: %w", err)
	}
	if len(finding.Inputs) != 1 || finding.Inputs[0].Records != readings || finding.Inputs[0].Unread != 0 {
		return cost{}, fmt.Errorf("the finding tells of %+v, the log has %d readings", finding.Inputs, readings)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("no resource usage of a child on this system")
	}
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return cost{measure.Cost{Wall: wall, CPU: cpu}, usage.Maxrss << 10}, nil
}
