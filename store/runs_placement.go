package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// placementRun is a row of placement_samples: samples of one thread, sample i
// read at at + i*periodUS + jitterUS[i]. Columns by sample are nil where no
// sample has the value, and empty where it is zero in all.
type placementRun struct {
	command       string
	tid           int32
	at, until     int64 // us since 1970; until is the last sample's
	uncertaintyUS int32
	periodUS      int32
	jitterUS      []int16 // nil: none

	runSamples, runCPU []int16 // CPUs, run-length encoded
	states             []int16 // by sample: see stateCode

	policy                  int16 // null16 unknown
	intervalUS              []int64
	firstIntervalUS         int64 // null64: see intervalUS; else each other one is the time since the sample before
	cpuShareBP, waitShareBP []int16
	execUS, runDelayUS      []int32
	voluntary, involuntary  []int32
}

// periodOver is over how many distances between samples their period is taken.
const periodOver = 64

// placementRuns makes rows of the samples of one thread, which may come in any
// order; the slice is reordered. Of samples of one instant the first counts, as
// in series; its uncertainty is the greatest of them. What a row cannot hold is
// left out: samples without a CPU, or of CPUs and threads beyond any that Linux
// numbers.
func placementRuns(samples []domain.Placement) []placementRun {
	samples = slices.DeleteFunc(samples, func(p domain.Placement) bool {
		return p.At.IsZero() || p.CPU < 0 || p.CPU > math.MaxInt16 || p.TID < 0 || p.TID > math.MaxInt32
	})
	slices.SortStableFunc(samples, func(a, b domain.Placement) int { return cmp.Compare(micros(a.At), micros(b.At)) })
	samples = firstOfEach(samples, func(a, b *domain.Placement) bool {
		if micros(a.At) != micros(b.At) {
			return false
		}
		a.Uncertainty = max(a.Uncertainty, b.Uncertainty)
		return true
	})
	var runs []placementRun
	for len(samples) > 0 {
		period := usualDistance(samples[:min(len(samples), periodOver+1)])
		n := 1
		for n < len(samples) && continuesRun(samples, n, period) {
			n++
		}
		runs = append(runs, newPlacementRun(samples[:n], period))
		samples = samples[n:]
	}
	return runs
}

// usualDistance gives the median distance between samples, in us.
func usualDistance(samples []domain.Placement) int64 {
	distances := make([]int64, 0, periodOver)
	for i := 1; i < len(samples); i++ {
		distances = append(distances, micros(samples[i].At)-micros(samples[i-1].At))
	}
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}

// continuesRun says whether sample n is of the run that samples[0] began.
func continuesRun(samples []domain.Placement, n int, period int64) bool {
	first, before, p := &samples[0], &samples[n-1], &samples[n]
	begin, at := micros(first.At), micros(p.At)
	missed := 2*(at-micros(before.At)) >= 3*period
	jitter := at - begin - int64(n)*period
	return n < mostInRun && at-begin <= longestRun && !missed && jitter >= -math.MaxInt16 && jitter <= math.MaxInt16 &&
		policyOf(p) == policyOf(first) && uncertaintyOf(p) == uncertaintyOf(first)
}

func policyOf(p *domain.Placement) int16 {
	if p.Policy < 0 || p.Policy > math.MaxInt16 {
		return null16
	}
	return int16(p.Policy)
}

func uncertaintyOf(p *domain.Placement) int32 {
	return int32(min(max(p.Uncertainty.Microseconds(), 0), math.MaxInt32))
}

func newPlacementRun(samples []domain.Placement, period int64) placementRun {
	n := len(samples)
	if n == 1 {
		period = 0
	}
	first := &samples[0]
	r := placementRun{
		command: first.Command, tid: int32(first.TID), at: micros(first.At), until: micros(samples[n-1].At), //nolint:gosec // checked by placementRuns
		uncertaintyUS: uncertaintyOf(first), periodUS: int32(period), policy: policyOf(first),
	}
	jitter, interval := make([]int16, n), make([]int64, n)
	cpuShare, waitShare := make([]int16, n), make([]int16, n)
	states := make([]int16, n)
	exec, runDelay, voluntary, involuntary := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	jittery := false
	for i := range samples {
		p := &samples[i]
		jitter[i] = int16(micros(p.At) - r.at - int64(i)*period) //nolint:gosec // checked by continuesRun
		jittery = jittery || jitter[i] != 0
		interval[i] = null64
		if us := p.Interval.Microseconds(); us > 0 {
			interval[i] = us
		}
		cpuShare[i], waitShare[i] = basisPoints(p.CPUShare), basisPoints(p.WaitShare)
		exec[i], runDelay[i] = roundedMicros(p.Exec), roundedMicros(p.RunDelay)
		voluntary[i], involuntary[i] = delta(p.Voluntary), delta(p.Involuntary)
		states[i] = stateCode(p.State)
		r.addPlace(int16(p.CPU)) //nolint:gosec // checked by placementRuns
	}
	if jittery {
		r.jitterUS = jitter
	}
	r.states = perSample(states, null16)
	r.firstIntervalUS = null64
	if sinceSampleBefore(samples, interval) {
		r.firstIntervalUS = interval[0]
	} else {
		r.intervalUS = perSample(interval, null64)
	}
	r.cpuShareBP, r.waitShareBP = perSample(cpuShare, null16), perSample(waitShare, null16)
	r.execUS, r.runDelayUS = perSample(exec, null32), perSample(runDelay, null32)
	r.voluntary, r.involuntary = perSample(voluntary, null32), perSample(involuntary, null32)
	return r
}

// sinceSampleBefore says whether the interval of each sample but the first, whose
// interval is known, is the time since the sample before.
func sinceSampleBefore(samples []domain.Placement, interval []int64) bool {
	for i := 1; i < len(samples); i++ {
		if interval[i] != micros(samples[i].At)-micros(samples[i-1].At) {
			return false
		}
	}
	return interval[0] != null64
}

// addPlace adds where the next sample was.
func (r *placementRun) addPlace(cpu int16) {
	if n := len(r.runCPU); n > 0 && r.runCPU[n-1] == cpu {
		r.runSamples[n-1]++
		return
	}
	r.runSamples, r.runCPU = append(r.runSamples, 1), append(r.runCPU, cpu)
}

// usualStates are the states whose code is their place here, so that two bits
// hold them: most threads sleep, run, or wait for I/O. The code of any other is
// that of its letter.
const usualStates = "SRD"

func stateCode(letter byte) int16 {
	if int(letter) < len(usualStates) { // no letter: unknown
		return null16
	}
	if i := strings.IndexByte(usualStates, letter); i >= 0 {
		return int16(i) //nolint:gosec // under 3
	}
	return int16(letter)
}

// stateLetter gives the letter of a state; 0 where it is unknown.
func stateLetter(code int16) byte {
	switch {
	case code < 0 || code > math.MaxUint8:
		return 0
	case int(code) < len(usualStates):
		return usualStates[code]
	}
	return byte(code)
}

// basisPoints gives a share in hundredths of a percent, as domain.RoundShare
// rounds it.
func basisPoints(share float64) int16 {
	share = domain.RoundShare(share)
	if math.IsNaN(share) {
		return null16
	}
	return int16(math.Round(share * 10_000))
}

// share gives the share of basis points.
func share(bp int16) float64 {
	if bp == null16 {
		return math.NaN()
	}
	return float64(bp) / 10_000
}

// roundedMicros gives a duration rounded to microseconds, as series round it.
func roundedMicros(d time.Duration) int32 {
	if d < 0 {
		return null32
	}
	return delta(d.Round(time.Microsecond).Microseconds())
}

func microsDuration(us int32) time.Duration {
	if us == null32 {
		return -1
	}
	return time.Duration(us) * time.Microsecond
}

// check says what is wrong with a row whose columns do not fit together.
func (r *placementRun) check() (samples int, err error) {
	if len(r.runCPU) != len(r.runSamples) {
		return 0, fmt.Errorf("run of %d lengths has %d CPUs", len(r.runSamples), len(r.runCPU))
	}
	for _, n := range r.runSamples {
		if n <= 0 {
			return 0, fmt.Errorf("run of %d samples", n)
		}
		samples += int(n)
	}
	if r.firstIntervalUS != null64 && r.intervalUS != nil {
		return 0, errors.New("interval_us is given beside first_interval_us")
	}
	for _, c := range []struct {
		name string
		len  int
	}{
		{"states", len(r.states)}, {"jitter_us", len(r.jitterUS)}, {"interval_us", len(r.intervalUS)}, {"cpu_share_bp", len(r.cpuShareBP)},
		{"wait_share_bp", len(r.waitShareBP)}, {"exec_us", len(r.execUS)}, {"run_delay_us", len(r.runDelayUS)},
		{"voluntary", len(r.voluntary)}, {"involuntary", len(r.involuntary)},
	} {
		if c.len != 0 && c.len != samples {
			return 0, fmt.Errorf("%s has %d elements for %d samples", c.name, c.len, samples)
		}
	}
	return samples, nil
}

// each gives the samples in order. Their PID is not stored.
func (r *placementRun) each(give func(domain.Placement) error) error {
	if _, err := r.check(); err != nil {
		return err
	}
	p := domain.Placement{
		Uncertainty: time.Duration(r.uncertaintyUS) * time.Microsecond, TID: int(r.tid), Command: r.command, Policy: -1,
	}
	if r.policy != null16 {
		p.Policy = int(r.policy)
	}
	i := 0
	for k, n := range r.runSamples {
		p.CPU = int(r.runCPU[k])
		for range n {
			r.fill(&p, i)
			if err := give(p); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// readAt gives the time of sample i.
func (r *placementRun) readAt(i int) int64 {
	at := r.at + int64(i)*int64(r.periodUS)
	if len(r.jitterUS) > 0 {
		at += int64(r.jitterUS[i])
	}
	return at
}

// interval gives over how long the values of sample i are.
func (r *placementRun) interval(i int) int64 {
	switch {
	case r.firstIntervalUS == null64:
		return sampleOf(r.intervalUS, i, null64)
	case i == 0:
		return r.firstIntervalUS
	}
	return r.readAt(i) - r.readAt(i-1)
}

// fill gives sample i its time and values.
func (r *placementRun) fill(p *domain.Placement, i int) {
	p.At = instant(r.readAt(i))
	p.State = stateLetter(sampleOf(r.states, i, null16))
	p.Interval = 0
	if us := r.interval(i); us != null64 {
		p.Interval = time.Duration(us) * time.Microsecond
	}
	p.CPUShare, p.WaitShare = share(sampleOf(r.cpuShareBP, i, null16)), share(sampleOf(r.waitShareBP, i, null16))
	p.Exec, p.RunDelay = microsDuration(sampleOf(r.execUS, i, null32)), microsDuration(sampleOf(r.runDelayUS, i, null32))
	p.Voluntary, p.Involuntary = orNegative(sampleOf(r.voluntary, i, null32)), orNegative(sampleOf(r.involuntary, i, null32))
}
