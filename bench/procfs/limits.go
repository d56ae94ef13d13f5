package main

import (
	"errors"
	"fmt"
	"runtime"
)

// allocations prints what a snapshot costs in allocations once both sides are warm.
func (b *bench) allocations() error {
	procfs, err := allocationsOf(b.procfs)
	if err != nil {
		return err
	}
	ours, err := allocationsOf(b.oursParse)
	if err != nil {
		return err
	}
	fmt.Printf("  allocations per snapshot         procfs %.0f, corewait %.0f\n", procfs/float64(b.repeat), ours/float64(b.repeat))
	if ours != 0 {
		return errors.New("corewait's parser allocates although it is warm")
	}
	return nil
}

func allocationsOf(f func() error) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), err
}

// large tries a file over 1 MiB on both sides.
func large(dir string) error {
	b, err := newBench(dir, 256, 400, 16, 1)
	if err != nil {
		return err
	}
	if err := b.read(); err != nil {
		return err
	}
	snap, err := b.parser.Parse(b.text)
	if err != nil {
		return fmt.Errorf("corewait: 256 CPUs x 400 lines: %w", err)
	}
	if len(snap.Lines) != 400 {
		return fmt.Errorf("corewait: read %d of 400 lines", len(snap.Lines))
	}
	fmt.Printf("  256 CPUs x 400 lines, %d bytes: corewait reads all %d lines; procfs %s\n", b.size, len(snap.Lines), b.procfsOnLarge())
	return nil
}

// procfsOnLarge tells how procfs fares, which stops reading at 1 MiB.
func (b *bench) procfsOnLarge() (fares string) {
	defer func() {
		if r := recover(); r != nil {
			fares = fmt.Sprint("panics: ", r)
		}
	}()
	i, err := b.proc.Interrupts()
	if err != nil {
		return "fails: " + err.Error()
	}
	return fmt.Sprintf("reads %d", len(i))
}
