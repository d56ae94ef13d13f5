package refcase

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// Shares of the host's CPU time at mean load, beside user time (Load.Busy).
const (
	systemShare = 0.042
	waitShare   = 0.003
)

// use is how a CPU's time of one second was spent; idle is the rest.
type use struct{ user, system, ioWait, softIRQ, steal float64 }

// host is the use of a CPU without its interrupts in a second: under every
// pressure the shares stay within the CPU's time.
func (w *world) host(second int) use {
	load := w.load[second]
	saturation, steal := w.pressureAt(domain.CauseCPUSaturation, second), w.pressureAt(domain.CauseCPUSteal, second)
	storage, swap := w.pressureAt(domain.CauseStorage, second), w.pressureAt(domain.CauseSwapping, second)
	u := use{
		user:   w.Load.Busy*load + 0.08*saturation,
		system: systemShare*(0.4+0.6*load) + 0.62*saturation + 0.05*swap,
		ioWait: waitShare + 0.03*storage + 0.05*swap,
		steal:  0.35 * steal,
	}
	if sum := u.user + u.system + u.ioWait + u.steal; sum > 0.97 {
		u.user, u.system, u.ioWait, u.steal = u.user/sum*0.97, u.system/sum*0.97, u.ioWait/sum*0.97, u.steal/sum*0.97
	}
	return u
}

// meanSoftIRQ is the share of all CPUs' time that network softirqs take in a
// second.
func (w *world) meanSoftIRQ(second int) float64 {
	sum := 0.0
	for _, x := range w.machine.softirq {
		sum += x
	}
	return sum / float64(w.machine.cpus) * w.traffic[second]
}

// sendTopology sends what lscpu and the bond's file say.
func (w *world) sendTopology(to ingest.Sink) error {
	if err := to.Topology(w.machine.topology(w.Records.Cores)); err != nil {
		return err
	}
	if !w.Records.Bond {
		return nil
	}
	return to.Topology(domain.Topology{Bonds: []domain.Bond{bond()}})
}

// sendCPUs sends the intervals of mpstat -P ALL, the whole host first.
func (w *world) sendCPUs(to ingest.Sink) error {
	step := int(w.Records.MPStat.Seconds())
	if step <= 0 {
		return nil
	}
	for from := 0; from+step <= len(w.load); from += step {
		base, traffic := w.meanUse(from, from+step)
		mean := 0.0
		rows := make([]domain.CPUSample, 0, w.machine.cpus+1)
		rows = append(rows, domain.CPUSample{})
		for cpu := range w.machine.cpus {
			u := base
			u.softIRQ = min(w.machine.softirq[cpu]*traffic, 1-u.user-u.system-u.ioWait-u.steal)
			mean += u.softIRQ / float64(w.machine.cpus)
			rows = append(rows, w.cpuSample(cpu, from, step, u))
		}
		base.softIRQ = mean
		rows[0] = w.cpuSample(domain.AllCPUs, from, step, base)
		for i := range rows {
			if err := to.CPU(rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// meanUse is the mean of host and of traffic over a stretch of seconds.
func (w *world) meanUse(from, to int) (u use, traffic float64) {
	n := float64(to - from)
	for s := from; s < to; s++ {
		h := w.host(s)
		u.user += h.user / n
		u.system += h.system / n
		u.ioWait += h.ioWait / n
		u.steal += h.steal / n
		traffic += w.traffic[s] / n
	}
	return u, traffic
}

// cpuSample is a row of mpstat, which prints hundredths of a percent.
func (w *world) cpuSample(cpu, from, step int, u use) domain.CPUSample {
	c := domain.CPUSample{
		At: w.instant(float64(from + step)), CPU: cpu,
		User: roundTo(u.user, 1e4), System: roundTo(u.system, 1e4), IOWait: roundTo(u.ioWait, 1e4),
		SoftIRQ: roundTo(u.softIRQ, 1e4), Steal: roundTo(u.steal, 1e4),
	}
	if from > 0 { // the first print does not say since when
		c.Interval = time.Duration(step) * time.Second
	}
	c.Idle = roundTo(max(0, 1-c.User-c.System-c.IOWait-c.SoftIRQ-c.Steal), 1e4)
	return c
}

// sendSystem sends vmstat's rows, one a second; the first averages since boot.
func (w *world) sendSystem(to ingest.Sink) error {
	r := stream(w.Seed, streamHost)
	rate := 0.0
	for _, l := range w.machine.lines {
		if l.driver == driverKernel {
			rate += l.perS * float64(w.machine.cpus)
		}
	}
	for s := range w.load {
		row := w.systemSample(r, s, rate)
		if s == 0 {
			row.SinceBoot, row.Interval = true, 0
		}
		if err := to.System(row); err != nil {
			return err
		}
	}
	return nil
}

// systemSample is a second as vmstat prints it: whole numbers, and system time
// with interrupts and softirqs in it.
func (w *world) systemSample(r *rand.Rand, s int, kernelPerS float64) domain.SystemSample {
	u, load := w.host(s), w.load[s]
	saturation, swap := w.pressureAt(domain.CauseCPUSaturation, s), w.pressureAt(domain.CauseSwapping, s)
	steal, storage := w.pressureAt(domain.CauseCPUSteal, s), w.pressureAt(domain.CauseStorage, s)
	row := domain.SystemSample{
		At: w.instant(float64(s + 1)), Interval: time.Second,
		RunQueue:            math.Round(float64(poisson(r, 4*load)) + 0.5*w.herd[s]*r.Float64() + 150*saturation*between(r, 0.7, 1.2) + 12*steal),
		Blocked:             float64(poisson(r, 0.3*load+4*storage+9*swap)),
		SwapInPerS:          math.Round(4200 * swap * between(r, 0.6, 1.4)),
		SwapOutPerS:         math.Round(2800 * swap * between(r, 0.6, 1.4)),
		InterruptsPerS:      math.Round((kernelPerS*0.5 + kernelPerS*0.5*load) * between(r, 0.98, 1.02)),
		ContextSwitchesPerS: math.Round((48_000*load + 400*w.herd[s] + 130_000*saturation) * (1 - 0.3*w.held[s]) * between(r, 0.97, 1.03)),
		User:                roundTo(u.user, 100), System: roundTo(u.system+w.meanSoftIRQ(s), 100),
		IOWait: roundTo(u.ioWait, 100), Steal: roundTo(u.steal, 100),
		RunQueueMax: math.NaN(), TimeSqueeze: math.NaN(), PSICPU: -1, PSIIO: -1, PSIMemory: -1,
	}
	row.Idle = roundTo(max(0, 1-row.User-row.System-row.IOWait-row.Steal), 100)
	return row
}

// sendDisks sends iostat's rows of the device that holds the redo logs.
func (w *world) sendDisks(to ingest.Sink) error {
	step := int(w.Records.IOStat.Seconds())
	if step <= 0 {
		return nil
	}
	r := stream(w.Seed, streamHost+streamSecond)
	slow := w.slowWrites()
	for from := 0; from+step <= len(w.load); from += step {
		load, await := 0.0, 0.0
		for s := from; s < from+step; s++ {
			load += w.load[s] / float64(step)
			await += (0.45 + 0.05*w.load[s] + slow[s]) / float64(step)
		}
		writes := roundTo(w.LGWR.WritesPerS*load*between(r, 0.97, 1.03), 100)
		await = roundTo(await*between(r, 0.93, 1.07), 100)
		reads := roundTo(140*load*between(r, 0.9, 1.1), 100)
		row := domain.DiskSample{
			At: w.instant(float64(from + step)), Interval: time.Duration(step) * time.Second, Device: "nvme0n1",
			ReadsPerS: reads, WritesPerS: writes, ReadAwaitMS: roundTo(0.4*between(r, 0.9, 1.1), 100), WriteAwaitMS: await,
			QueueSize: roundTo((writes*await+reads*0.4)/1000, 100), Utilisation: roundTo(1-math.Exp(-(writes+reads)*0.00045), 1e4),
		}
		if err := to.Disk(row); err != nil {
			return err
		}
	}
	return nil
}

// slowWrites is what storage trouble adds to the mean write time of a second,
// in ms: a steady part while an episode lasts, and for each stalled write what
// those behind it waited, on average half of its length.
func (w *world) slowWrites() []float64 {
	series := make([]float64, len(w.load))
	for s := range series {
		series[s] = 9 * w.pressureAt(domain.CauseStorage, s)
	}
	for _, in := range w.instances {
		for _, st := range in.stalls {
			if st.cause == domain.CauseStorage {
				series[w.second(st.end())] += 1000 * st.length * st.length / 2
			}
		}
	}
	return series
}
