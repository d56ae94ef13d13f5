package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/testdb"
	"github.com/corewait/corewait/store"
)

// An hour of a node of 64 CPUs as an agent records it: interrupts every second,
// CPU times every 5 s, devices every 10 s, three threads 20 times a second.
const (
	benchCPUs = 64
	benchHour = 3_600
)

func hourOf(b *store.Batch, begin time.Time) error {
	random := rand.New(rand.NewPCG(1, 1))
	at := func(sec int) time.Time { return begin.Add(time.Duration(sec) * time.Second) }
	s := domain.InterruptSample{Counts: make([]int64, benchCPUs)}
	for cpu := range benchCPUs {
		s.CPUs = append(s.CPUs, cpu)
	}
	for sec := range benchHour {
		for i := range s.Counts {
			s.Counts[i] = random.Int64N(1_000)
		}
		s.From, s.To = at(sec), at(sec+1)
		if err := b.InterruptSample(&s); err != nil {
			return err
		}
		if err := secondOf(b, sec, at, random); err != nil {
			return err
		}
	}
	return nil
}

// secondOf gives what a second has beside interrupts.
func secondOf(b *store.Batch, sec int, at func(int) time.Time, random *rand.Rand) error {
	for cpu := -1; cpu < benchCPUs && sec%5 == 4; cpu++ {
		if err := b.CPU(domain.CPUSample{At: at(sec + 1), Interval: 5 * time.Second, CPU: cpu, User: random.Float64() / 2, Idle: 0.5}); err != nil {
			return err
		}
	}
	if sec%10 == 9 {
		d := domain.DeviceSample{From: at(sec - 9), To: at(sec + 1), Observed: 10 * time.Second}
		for i := range 100 {
			d.Gains = append(d.Gains, domain.LineGain{Line: domain.Line{IRQ: fmt.Sprint(i), Device: "eth0", Class: domain.ClassNetwork}, CPU: i % benchCPUs, Count: random.Int64N(10_000)})
		}
		if err := b.DeviceSample(&d); err != nil {
			return err
		}
	}
	for tid := range 3 {
		cpu := random.IntN(benchCPUs)
		for i := range 20 {
			p := domain.Placement{
				At: at(sec).Add(time.Duration(i*50_000+random.IntN(200)) * time.Microsecond), TID: tid, Command: "ora_lgwr_A", CPU: cpu, State: 'S',
				Exec: time.Duration(random.IntN(10)) * time.Microsecond, Voluntary: -1, Involuntary: -1,
			}
			if err := b.Placement(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func BenchmarkFeedAnHour(b *testing.B) {
	d := openStore(b, store.Options{URL: testdb.New(b)})
	begin := time.Now().UTC().Truncate(time.Hour).Add(-24 * time.Hour)
	batch := store.NewBatch()
	if err := hourOf(batch, begin); err != nil {
		b.Fatal(err)
	}
	node := d.node("db1")
	if err := d.Upsert(b.Context(), node, batch); err != nil {
		b.Fatal(err)
	}
	w := window(begin, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Feed(b.Context(), store.Source{Node: node}, w, series.NewBuilder(domain.WatchLGWR(), w)); err != nil {
			b.Fatal(err)
		}
	}
}
