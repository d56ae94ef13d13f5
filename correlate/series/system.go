package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// mergeSystem orders samples. Those of one instant (vmstat beside /proc/stat)
// become one: each fills what the other does not know.
func mergeSystem(samples []domain.SystemSample) []domain.SystemSample {
	slices.SortStableFunc(samples, func(a, b domain.SystemSample) int { return cmp.Compare(FromTime(a.At), FromTime(b.At)) })
	n := 0
	for k := range samples {
		if n > 0 && FromTime(samples[n-1].At) == FromTime(samples[k].At) {
			fillSystem(&samples[n-1], &samples[k])
			continue
		}
		samples[n] = samples[k]
		n++
	}
	return samples[:n]
}

// fillSystem takes from o what s does not know.
func fillSystem(s, o *domain.SystemSample) {
	to := [...]*float64{
		&s.RunQueue, &s.RunQueueMax, &s.Blocked, &s.InterruptsPerS, &s.ContextSwitchesPerS,
		&s.User, &s.System, &s.Idle, &s.IOWait, &s.Steal, &s.TimeSqueeze,
	}
	from := [...]float64{
		o.RunQueue, o.RunQueueMax, o.Blocked, o.InterruptsPerS, o.ContextSwitchesPerS,
		o.User, o.System, o.Idle, o.IOWait, o.Steal, o.TimeSqueeze,
	}
	for k := range to {
		if math.IsNaN(*to[k]) {
			*to[k] = from[k]
		}
	}
	if math.IsNaN(s.SwapInPerS + s.SwapOutPerS) { // of one source, or their sum means nothing
		s.SwapInPerS, s.SwapOutPerS = o.SwapInPerS, o.SwapOutPerS
	}
	for _, psi := range [...]struct {
		to   *time.Duration
		from time.Duration
	}{{&s.PSICPU, o.PSICPU}, {&s.PSIIO, o.PSIIO}, {&s.PSIMemory, o.PSIMemory}} {
		if *psi.to < 0 {
			*psi.to = psi.from
		}
	}
	s.Interval = max(s.Interval, o.Interval)
}

// systemPoints makes points of samples, as exactly as they are stored.
func systemPoints(samples []domain.SystemSample) []SystemPoint {
	if len(samples) == 0 {
		return nil
	}
	share := domain.RoundHostShare
	points := make([]SystemPoint, len(samples))
	for k, s := range samples {
		points[k] = SystemPoint{
			At: FromTime(s.At), RunQueue: processes(s.RunQueue), Blocked: processes(s.Blocked),
			SwapPerS: math.Round(s.SwapInPerS) + math.Round(s.SwapOutPerS), ContextSwitchesPerS: math.Round(s.ContextSwitchesPerS),
			User: share(s.User), System: share(s.System), Steal: share(s.Steal), Idle: share(s.Idle),
		}
	}
	return points
}

// processes rounds a mean number of processes to hundredths, which are stored in 32
// bits: more is unknown.
func processes(n float64) float64 {
	if n = domain.RoundTo(n, 100); n > math.MaxInt32/100 {
		return nan
	}
	return n
}
