package series

import (
	"fmt"
	"testing"

	"github.com/corewait/corewait/domain"
)

// wideReading is a reading of so many CPUs and lines, of which one in four is
// storage and one in eight the kernel's.
func wideReading(cpus, lines int) *domain.InterruptSnapshot {
	s := &domain.InterruptSnapshot{At: midnight}
	for cpu := range cpus {
		s.CPUs = append(s.CPUs, cpu)
	}
	for i := range lines {
		l := domain.InterruptLine{ID: fmt.Sprint(40 + i), Device: fmt.Sprintf("eth%d", i/16), Class: domain.ClassNetwork, Counts: make([]uint64, cpus)}
		switch {
		case i%8 == 7:
			l.ID, l.Device, l.Class = fmt.Sprintf("K%02d", i), "", domain.ClassKernel
		case i%4 == 2:
			l.Device, l.Class = fmt.Sprintf("nvme%d", i/16), domain.ClassStorage
		}
		s.Lines = append(s.Lines, l)
	}
	return s
}

// advance makes the reading the one a second later: a line interrupts one CPU
// in four.
func advance(s *domain.InterruptSnapshot) {
	s.At = s.At.Add(1e9)
	for i := range s.Lines {
		counts := s.Lines[i].Counts
		for cpu := i % 4; cpu < len(counts); cpu += 4 {
			counts[cpu] += uint64(100 + i)
		}
	}
}

func BenchmarkInterrupts64CPUs128Lines(b *testing.B) {
	b.ReportAllocs()
	builder := newTestBuilder()
	s := wideReading(64, 128)
	for b.Loop() {
		advance(s)
		if err := builder.Interrupts(s); err != nil {
			b.Fatal(err)
		}
	}
}

// Once warm, a reading costs its share of the matrix and little else.
func TestAReadingOfInterruptsAllocatesLittle(t *testing.T) {
	b := newTestBuilder()
	s := wideReading(64, 128)
	read := func() {
		advance(s)
		must(t, b.Interrupts(s))
	}
	for range 100 {
		read()
	}
	if got := testing.AllocsPerRun(200, read); got > 4 {
		t.Errorf("got %.1f allocations a reading, want at most 4", got)
	}
}
