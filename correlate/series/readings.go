package series

import (
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// readings turns readings of counters into what intervals gained.
type readings struct {
	to         ingest.IntervalSink
	interrupts interruptGains
	netRX      counterGains
	stat       *domain.CPUTimesSnapshot // the reading of /proc/stat before
	disks      *domain.DiskSnapshot     // the reading of /proc/diskstats before
}

func newReadings(to ingest.IntervalSink) readings {
	return readings{to: to, interrupts: interruptGains{to: to, end: noFrom}, netRX: counterGains{to: to, name: netRX, end: noFrom}}
}

// Interrupts takes a reading of /proc/interrupts.
func (r *readings) Interrupts(s *domain.InterruptSnapshot) error { return r.interrupts.add(s) }

// Softirqs takes a reading of /proc/softirqs; NET_RX is kept.
func (r *readings) Softirqs(s *domain.SoftirqSnapshot) error {
	if i := slices.Index(s.Names, netRX); i >= 0 && !s.At.IsZero() {
		return r.netRX.add(FromTime(s.At), s.CPUs, s.Counts[i])
	}
	return nil
}

// flush ends the readings.
func (r *readings) flush() error { return r.interrupts.flush() }

// CPUTimes takes a reading of /proc/stat: the use of each CPU and of the host
// since the reading before.
func (r *readings) CPUTimes(s *domain.CPUTimesSnapshot) error {
	if s.At.IsZero() {
		return nil
	}
	b := r.stat
	keep := *s
	keep.CPUs = slices.Clone(s.CPUs)
	r.stat = &keep
	if b == nil || !s.At.After(b.At) {
		return nil
	}
	interval := s.At.Sub(b.At)
	host := domain.SystemSample{
		At: s.At, Interval: interval, RunQueue: known(s.ProcsRunning), Blocked: known(s.ProcsBlocked), SwapInPerS: nan, SwapOutPerS: nan,
		InterruptsPerS: nan, ContextSwitchesPerS: nan, User: nan, System: nan, Idle: nan, IOWait: nan, Steal: nan,
		RunQueueMax: nan, TimeSqueeze: nan, PSICPU: -1, PSIIO: -1, PSIMemory: -1,
	}
	if s.ContextSwitches >= 0 && b.ContextSwitches >= 0 && s.ContextSwitches >= b.ContextSwitches {
		host.ContextSwitchesPerS = float64(s.ContextSwitches-b.ContextSwitches) / interval.Seconds()
	}
	for i := range s.CPUs {
		now := &s.CPUs[i]
		k := slices.IndexFunc(b.CPUs, func(o domain.CPUTimes) bool { return o.CPU == now.CPU })
		if k < 0 {
			continue
		}
		shares, ok := sharesBetween(&b.CPUs[k], now)
		if !ok {
			continue
		}
		if err := r.to.CPU(shares.sample(now.CPU, Span{FromTime(b.At), FromTime(s.At)})); err != nil {
			return err
		}
		if now.CPU == domain.AllCPUs {
			host.User, host.System, host.Steal, host.Idle, host.IOWait = shares.user, shares.system, shares.steal, shares.idle, shares.iowait
		}
	}
	return r.to.System(host)
}

// sample gives the shares as a record.
func (s *cpuShares) sample(cpu int, span Span) domain.CPUSample {
	at := ToTime(span.To)
	return domain.CPUSample{
		At: at, Interval: at.Sub(ToTime(span.From)), CPU: cpu, User: s.user, Nice: nan, System: s.system, IOWait: s.iowait,
		IRQ: s.irq, SoftIRQ: s.softirq, Steal: s.steal, Guest: nan, Idle: s.idle,
	}
}

func known(v int64) float64 {
	if v < 0 {
		return nan
	}
	return float64(v)
}

// sharesBetween gives the shares of CPU time between two readings of a cpuN
// row. guest is contained in user and guest_nice in nice (proc_stat(5)), so
// they are not added. ok is false where a counter fell or nothing moved.
func sharesBetween(b, s *domain.CPUTimes) (cpuShares, bool) {
	now := [...]int64{s.User, s.Nice, s.System, s.Idle, s.IOWait, s.IRQ, s.SoftIRQ, s.Steal}
	was := [...]int64{b.User, b.Nice, b.System, b.Idle, b.IOWait, b.IRQ, b.SoftIRQ, b.Steal}
	var d [8]float64
	var sum float64
	for i := range now {
		if now[i] < 0 || was[i] < 0 {
			d[i] = nan
			continue
		}
		if now[i] < was[i] && i != 4 { // iowait may fall (proc_stat(5))
			return cpuShares{}, false
		}
		d[i] = float64(max(0, now[i]-was[i]))
		sum += d[i]
	}
	if sum == 0 {
		return cpuShares{}, false
	}
	return cpuShares{
		user: addKnown(d[0], d[1]) / sum, system: d[2] / sum, idle: d[3] / sum, iowait: d[4] / sum,
		irq: d[5] / sum, softirq: d[6] / sum, steal: d[7] / sum,
	}, true
}

// Disks takes a reading of /proc/diskstats: await of the interval since the
// reading before is time spent over requests completed.
func (r *readings) Disks(s *domain.DiskSnapshot) error {
	if s.At.IsZero() {
		return nil
	}
	before := r.disks
	keep := *s
	keep.Devices = slices.Clone(s.Devices)
	r.disks = &keep
	if before == nil || !s.At.After(before.At) {
		return nil
	}
	was := make(map[string]*domain.DiskCounters, len(before.Devices))
	for i := range before.Devices {
		was[before.Devices[i].Device] = &before.Devices[i]
	}
	for i := range s.Devices {
		now := &s.Devices[i]
		old := was[now.Device]
		if old == nil || now.Writes < old.Writes || now.WriteMS < old.WriteMS || now.Reads < old.Reads || now.ReadMS < old.ReadMS {
			continue
		}
		if err := r.to.Disk(diskBetween(old, now, s.At, s.At.Sub(before.At))); err != nil {
			return err
		}
	}
	return nil
}

func diskBetween(old, now *domain.DiskCounters, at time.Time, interval time.Duration) domain.DiskSample {
	await := func(ms, n uint64) float64 {
		if n == 0 {
			return nan
		}
		return float64(ms) / float64(n)
	}
	reads, writes := now.Reads-old.Reads, now.Writes-old.Writes
	d := domain.DiskSample{
		At: at, Interval: interval, Device: now.Device,
		ReadsPerS: float64(reads) / interval.Seconds(), WritesPerS: float64(writes) / interval.Seconds(),
		ReadAwaitMS: await(now.ReadMS-old.ReadMS, reads), WriteAwaitMS: await(now.WriteMS-old.WriteMS, writes),
		QueueSize: nan, Utilisation: nan,
	}
	if now.BusyMS >= old.BusyMS {
		d.Utilisation = float64(now.BusyMS-old.BusyMS) / float64(interval.Milliseconds())
	}
	return d
}
