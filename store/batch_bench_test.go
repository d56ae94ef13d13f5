package store

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// fillPush gives a batch what a node of 64 CPUs pushes every 10 s: interrupts
// each second, CPU time and softirqs every 5 s, devices every 10 s, and LGWR with
// two workers at 20 Hz.
func fillPush(b *Batch, from time.Time) error {
	cpus, counts := make([]int, 64), make([]int64, 64)
	for i := range cpus {
		cpus[i], counts[i] = i, int64(i*i)
	}
	for i := range 10 {
		at := from.Add(time.Duration(i) * time.Second)
		if err := b.InterruptSample(&domain.InterruptSample{From: at, To: at.Add(time.Second), CPUs: cpus, Counts: counts}); err != nil {
			return err
		}
	}
	device := domain.DeviceSample{From: from, To: from.Add(10 * time.Second), Observed: 10 * time.Second}
	for i := range 128 {
		line := domain.Line{IRQ: string(rune('0'+i/10)) + string(rune('0'+i%10)), Device: "ens3f0", Class: domain.ClassNetwork}
		device.Gains = append(device.Gains, domain.LineGain{Line: line, CPU: i % 64, Count: int64(i) * 100})
	}
	if err := b.DeviceSample(&device); err != nil {
		return err
	}
	for i := range 2 {
		end := from.Add(time.Duration(i+1) * 5 * time.Second)
		for _, cpu := range append([]int{domain.AllCPUs}, cpus...) {
			s := domain.CPUSample{At: end, Interval: 5 * time.Second, CPU: cpu, User: 0.1, Nice: math.NaN(), System: 0.0577, IRQ: 0, SoftIRQ: 0.01, Idle: 0.8, Peaks: &domain.CPUPeaks{Busy: 0.3}}
			if err := b.CPU(s); err != nil {
				return err
			}
		}
		err := b.SoftirqSample(&domain.SoftirqSample{From: end.Add(-5 * time.Second), To: end, Name: "NET_RX", CPUs: cpus, Counts: counts, MaxPerS: counts})
		if err != nil {
			return err
		}
		if err := b.System(domain.SystemSample{At: end, Interval: 5 * time.Second, RunQueue: 3.5}); err != nil {
			return err
		}
	}
	for thread := range 3 {
		for i := range 200 {
			p := domain.Placement{
				At: from.Add(time.Duration(i)*50*time.Millisecond + time.Duration(i%7)*time.Microsecond), TID: 1000 + thread, Command: "ora_lgwr_ORDP1",
				CPU: i / 20, State: 'S', CPUShare: math.NaN(), WaitShare: math.NaN(), Exec: time.Duration(i%3) * 100 * time.Microsecond,
			}
			if err := b.Placement(p); err != nil {
				return err
			}
		}
	}
	return nil
}

var pushTime = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// BenchmarkBatch builds the batch of a push: 776 records.
func BenchmarkBatch(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := fillPush(NewBatch(), pushTime); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows builds a push's rows and writes them as COPYs, to nowhere.
func BenchmarkRows(b *testing.B) {
	batch := NewBatch()
	if err := fillPush(batch, pushTime); err != nil {
		b.Fatal(err)
	}
	c := &copier{out: io.Discard, ahead: math.MaxInt, message: -1}
	b.ReportAllocs()
	for b.Loop() {
		sections := batch.sections()
		to := &target{node: 1, names: make([]NameID, len(batch.texts.list)), lines: make([]int32, len(batch.lines.list))}
		copySections(c, to, sections)
		c.endCopy()
		b.SetBytes(int64(len(c.b)))
		c.b, c.sent = c.b[:0], c.sent[:0]
	}
}
