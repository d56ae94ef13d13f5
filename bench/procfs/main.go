// Command procfs times corewait's parser of /proc/interrupts against that of
// prometheus/procfs on the same file, by turns, and prints the ratio.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/prometheus/procfs"

	"github.com/corewait/corewait/bench/interruptlog"
	"github.com/corewait/corewait/bench/measure"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/procfmt"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "procfs:", err)
		os.Exit(1)
	}
}

func run() error {
	rounds := flag.Int("rounds", 21, "rounds to measure")
	repeat := flag.Int("repeat", 20, "snapshots a side parses in a round")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	dir, err := os.MkdirTemp("", "bench-procfs-")
	if err != nil {
		return fmt.Errorf("make a tree: %w", err)
	}
	defer os.RemoveAll(dir)

	sparse, err := compare(dir, 16, *rounds, *repeat)
	if err != nil {
		return err
	}
	// The other extreme: no host has every CPU take every interrupt.
	if _, err := compare(dir, 1, *rounds, *repeat); err != nil {
		return err
	}
	if err := large(dir); err != nil {
		return err
	}
	fmt.Printf("ratio procfs %.1f\n", sparse.Median)
	return nil
}

// compare measures both sides on 256 CPUs x 300 lines of which each interrupts
// one CPU in so many as every says.
func compare(dir string, every, rounds, repeat int) (measure.Spread, error) {
	none := measure.Spread{}
	b, err := newBench(dir, 256, 300, every, repeat)
	if err != nil {
		return none, err
	}
	if err := b.sameCounts(); err != nil {
		return none, err
	}
	fmt.Printf("/proc/interrupts of 256 CPUs x 300 lines, %d bytes, %s; %d rounds of %d snapshots a side, one thread\n", b.size, zeros(every), rounds, repeat)
	costs, err := measure.Rounds(rounds, b.procfs, b.ours, b.procfsRead, b.oursParse)
	if err != nil {
		return none, err
	}
	for i, side := range []string{"procfs, file read and parsed", "corewait, file read and parsed", "procfs, file read alone", "corewait, parsed alone"} {
		fmt.Printf("  %-32s %s ms CPU\n", side, measure.CPUMillis(costs[i]))
	}
	if err := b.allocations(); err != nil {
		return none, err
	}
	parse := make([]measure.Cost, rounds)
	for i := range parse {
		parse[i].CPU = costs[0][i].CPU - costs[2][i].CPU
	}
	ratio := measure.Ratios(costs[0], costs[1])
	fmt.Printf("  ratio of CPU time                %s\n", ratio)
	fmt.Printf("  ratio of wall time               %s\n", measure.WallRatios(costs[0], costs[1]))
	fmt.Printf("  ratio without reading the file   %s\n", measure.Ratios(parse, costs[3]))
	return ratio, nil
}

// zeros says how many counts are zero.
func zeros(every int) string {
	if every == 1 {
		return "no count is zero"
	}
	return fmt.Sprintf("one count in %d is not zero", every)
}

// bench holds a tree with one file, interrupts, and the two readers of it.
type bench struct {
	path   string
	size   int
	repeat int
	proc   procfs.Proc // its file is the whole host's, whatever the process
	parser procfmt.InterruptParser
	text   []byte // of the file, reused
}

func newBench(dir string, cpus, lines, every, repeat int) (*bench, error) {
	b := &bench{path: filepath.Join(dir, "interrupts"), repeat: repeat}
	l := interruptlog.New(cpus, lines, every)
	for range 100 {
		l.Next()
	}
	text := l.Next()
	b.size = len(text)
	if err := os.WriteFile(b.path, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the snapshot: %w", err)
	}
	// procfs finds a process by its folder.
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o750); err != nil {
		return nil, fmt.Errorf("make a process: %w", err)
	}
	fs, err := procfs.NewFS(dir)
	if err != nil {
		return nil, fmt.Errorf("procfs: %w", err)
	}
	if b.proc, err = fs.Proc(1); err != nil {
		return nil, fmt.Errorf("procfs: %w", err)
	}
	return b, nil
}

// procfs reads the file as its users do.
func (b *bench) procfs() error {
	for range b.repeat {
		if _, err := b.proc.Interrupts(); err != nil {
			return fmt.Errorf("procfs: %w", err)
		}
	}
	return nil
}

// procfsRead reads the file as procfs does before it parses: at most 1 MiB.
func (b *bench) procfsRead() error {
	for range b.repeat {
		f, err := os.Open(b.path)
		if err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
		_, err = io.ReadAll(io.LimitReader(f, 1<<20))
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("read the snapshot: %w", err)
		}
	}
	return nil
}

// ours reads the file into memory that is kept, and parses it.
func (b *bench) ours() error {
	for range b.repeat {
		if err := b.read(); err != nil {
			return err
		}
		if _, err := b.parser.Parse(b.text); err != nil {
			return fmt.Errorf("corewait: %w", err)
		}
	}
	return nil
}

func (b *bench) oursParse() error {
	for range b.repeat {
		if _, err := b.parser.Parse(b.text); err != nil {
			return fmt.Errorf("corewait: %w", err)
		}
	}
	return nil
}

// read fills text with the file.
func (b *bench) read() error {
	f, err := os.Open(b.path)
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	buffer := bytes.NewBuffer(b.text[:0])
	_, err = buffer.ReadFrom(f)
	b.text = buffer.Bytes()
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	return nil
}

// sameCounts checks that both sides read the same numbers.
func (b *bench) sameCounts() error {
	theirs, err := b.proc.Interrupts()
	if err != nil {
		return fmt.Errorf("procfs: %w", err)
	}
	if err := b.read(); err != nil {
		return err
	}
	snap, err := b.parser.Parse(b.text)
	if err != nil {
		return fmt.Errorf("corewait: %w", err)
	}
	if len(theirs) != len(snap.Lines) {
		return fmt.Errorf("procfs gives %d lines, corewait %d", len(theirs), len(snap.Lines))
	}
	for i := range snap.Lines {
		if err := sameLine(theirs[snap.Lines[i].ID], &snap.Lines[i]); err != nil {
			return err
		}
	}
	return nil
}

func sameLine(theirs procfs.Interrupt, l *domain.InterruptLine) error {
	if len(theirs.Values) != len(l.Counts) {
		return fmt.Errorf("interrupt %s: procfs gives %d counts, corewait %d", l.ID, len(theirs.Values), len(l.Counts))
	}
	for c, text := range theirs.Values {
		if n, err := strconv.ParseUint(text, 10, 64); err != nil || n != l.Counts[c] {
			return fmt.Errorf("interrupt %s: procfs gives %q, corewait %d", l.ID, text, l.Counts[c])
		}
	}
	return nil
}
