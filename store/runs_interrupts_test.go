package store

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/domain"
)

// interruptsFrom gives intervals of so many us, one after the other.
func interruptsFrom(at int64, lengths ...int64) []domain.InterruptSample {
	samples := make([]domain.InterruptSample, 0, len(lengths))
	for i, us := range lengths {
		samples = append(samples, domain.InterruptSample{From: clock(at), To: clock(at + us), CPUs: []int{0, 1}, Counts: []int64{int64(i), -1}})
		at += us
	}
	return samples
}

// takenInterrupts gives the samples to a batch.
func takenInterrupts(t *testing.T, samples []domain.InterruptSample) *Batch {
	t.Helper()
	b := NewBatch()
	for i := range samples {
		if err := b.InterruptSample(&samples[i]); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestARunOfInterruptsEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		samples []domain.InterruptSample
		change  func(s []domain.InterruptSample)
		want    []int // intervals of each run
	}{
		{"where the next 10 s begin", interruptsFrom(7*sec, sec, sec, sec, sec, sec), nil, []int{3, 2}},
		{"where the next 10 s begin, before 1970 too", []domain.InterruptSample{
			{From: time.UnixMicro(-2 * sec), To: time.UnixMicro(-sec), CPUs: []int{0}, Counts: []int64{1}},
			{From: time.UnixMicro(-sec), To: time.UnixMicro(0), CPUs: []int{0}, Counts: []int64{1}},
			{From: time.UnixMicro(0), To: time.UnixMicro(sec), CPUs: []int{0}, Counts: []int64{1}},
		}, nil, []int{2, 1}},
		{"not where an interval reaches into the next 10 s", interruptsFrom(8*sec+120, sec, sec, sec), nil, []int{2, 1}},
		{"where seconds are missing", slices.Concat(interruptsFrom(0, sec, sec), interruptsFrom(3*sec, sec)), nil, []int{2, 1}},
		{"where seconds are there twice", slices.Concat(interruptsFrom(0, sec, sec), interruptsFrom(sec, sec)), nil, []int{2, 1}},
		{"where another CPU is online", interruptsFrom(0, sec, sec, sec), func(s []domain.InterruptSample) { s[2].CPUs = []int{0, 2} }, []int{2, 1}},
		{"where fewer CPUs are online", interruptsFrom(0, sec, sec, sec), func(s []domain.InterruptSample) { s[2].CPUs, s[2].Counts = []int{0}, []int64{1} }, []int{2, 1}},
		{"around a wrap", interruptsFrom(0, sec, sec, sec), func(s []domain.InterruptSample) { s[1].Wrapped = 1 }, []int{1, 1, 1}},
		{"around what is implausible", interruptsFrom(0, sec, sec, sec), func(s []domain.InterruptSample) { s[1].Implausible = 1 }, []int{1, 1, 1}},
		{"around an interval of no length", interruptsFrom(0, sec, 0, sec), nil, []int{1, 1, 1}},
		{"around intervals longer than 10 s", interruptsFrom(0, sec, 10*sec+1, sec), nil, []int{1, 1, 1}},
		{"around intervals without a CPU", interruptsFrom(0, sec, sec), func(s []domain.InterruptSample) {
			s[0].CPUs, s[0].Counts, s[1].CPUs, s[1].Counts = nil, nil, nil, nil
		}, []int{1, 1}},
		{"after 100 intervals", interruptsFrom(0, slices.Repeat([]int64{ms}, 150)...), nil, []int{100, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.change != nil {
				c.change(c.samples)
			}
			b := takenInterrupts(t, c.samples)
			var got []int
			for rest := b.interrupts; len(rest) > 0; rest = rest[got[len(got)-1]:] {
				got = append(got, interruptRun(rest))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got runs of %v intervals, want %v", got, c.want)
			}
		})
	}
}

// gathered keeps interrupt samples.
type gathered struct {
	*Batch

	samples []domain.InterruptSample
}

func (g *gathered) InterruptSample(s *domain.InterruptSample) error {
	kept := *s
	kept.CPUs, kept.Counts = slices.Clone(s.CPUs), slices.Clone(s.Counts)
	g.samples = append(g.samples, kept)
	return nil
}

// Rows that are written and read back are the intervals that they were made of.
func TestInterruptsAreReadAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	given := slices.Concat(interruptsFrom(0, sec, sec+7, sec-3, sec), interruptsFrom(20*sec, 5*sec, 5*sec, 3600*sec), interruptsFrom(4000*sec, slices.Repeat([]int64{31 * ms}, 400)...))
	given[2].Wrapped, given[3].Implausible = 3, 4
	given[5].CPUs = []int{7, 4095}
	for i := range 200 {
		given[100+i].Counts[1] = 1<<31 - 1
	}
	for _, collection := range []CollectionID{0, 1} {
		got := &gathered{Batch: NewBatch()}
		m := interruptMerge{to: got}
		for rest := takenInterrupts(t, given).interrupts; len(rest) > 0; {
			n := interruptRun(rest)
			if err := m.row(&rowReader{values: copiedRun(rest[:n], collection)}); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := m.giveBefore(math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(given, got.samples); diff != "" {
			t.Errorf("collection %d: %s", collection, diff)
		}
	}
}

// copiedRun gives the columns that a run is copied as, from at on: each is sent
// with its length before it, -1 for NULL (PostgreSQL documentation, COPY).
func copiedRun(run []interruptRow, collection CollectionID) [][]byte {
	c := &copier{open: true}
	encoder{c, &target{node: 1, collection: collection}}.interrupts(run)
	var values [][]byte
	for b := c.b[2:]; len(b) > 0; {
		length := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if length < 0 {
			values = append(values, nil)
			continue
		}
		values, b = append(values, b[:length]), b[length:]
	}
	return values[len(values)-len(interruptSamples.columns)+1:]
}
