package batches

import (
	"math"
	"time"

	"github.com/corewait/corewait/api/corewaitv1"
	"github.com/corewait/corewait/domain"
)

// placement passes on the samples of a run.
func (f *feed) placement(m *corewaitv1.PlacementRun) error {
	if err := checkRun(m); err != nil {
		return err
	}
	first, err := f.firstBefore(m)
	if err != nil {
		return err
	}
	p := domain.Placement{
		PID: int(m.GetPid()), TID: int(m.GetTid()), Command: m.GetCommand(), CPUShare: math.NaN(), WaitShare: math.NaN(),
		Uncertainty: time.Duration(m.GetUncertaintyUs()) * time.Microsecond, //nolint:gosec // checkRun
	}
	us := m.GetFirstUs()
	for i, after := range m.GetAfterUs() {
		before := us
		us += int64(after) //nolint:gosec // checkRun
		at, err := f.instant(us)
		if err != nil {
			return err
		}
		p.At, p.Interval = domain.RoundSampled(at), 0
		switch {
		case i > 0:
			from, to, err := f.interval(before, us)
			if err != nil {
				return err
			}
			p.Interval = domain.RoundSampled(to).Sub(domain.RoundSampled(from))
		case m.GetFirstIntervalUs() > 0:
			p.Interval = p.At.Sub(domain.RoundSampled(first))
		}
		fill(&p, m, i)
		if err := f.to.Placement(p); err != nil {
			return err
		}
	}
	return nil
}

// firstBefore gives when the interval of the first sample began.
func (f *feed) firstBefore(m *corewaitv1.PlacementRun) (time.Time, error) {
	if m.GetFirstIntervalUs() == 0 {
		return time.Time{}, nil
	}
	if m.GetFirstIntervalUs() > uint64(longestInterval/time.Microsecond) {
		return time.Time{}, wrong("first_interval_us %d", m.GetFirstIntervalUs())
	}
	from, _, err := f.interval(m.GetFirstUs()-int64(m.GetFirstIntervalUs()), m.GetFirstUs()) //nolint:gosec // checked above
	return from, err
}

// checkRun holds the lists of a run to its samples, and its values to what Linux
// can give.
func checkRun(m *corewaitv1.PlacementRun) error {
	n := len(m.GetAfterUs())
	switch {
	case n == 0 || n > mostItems:
		return wrong("%d samples, want 1 to %d", n, mostItems)
	case m.GetAfterUs()[0] != 0:
		return wrong("after_us begins with %d, want 0", m.GetAfterUs()[0])
	case len(m.GetCpu()) != n:
		return wrong("%d samples and %d CPUs", n, len(m.GetCpu()))
	case m.GetCommand() == "":
		return wrong("no command")
	case m.GetPid() > math.MaxInt32 || m.GetTid() > math.MaxInt32:
		return wrong("PID %d, thread %d", m.GetPid(), m.GetTid())
	case m.GetUncertaintyUs() > uint64(longestInterval/time.Microsecond):
		return wrong("uncertainty_us %d", m.GetUncertaintyUs())
	case len(m.GetPolicy()) > 1 && len(m.GetPolicy()) != n:
		return wrong("%d samples and %d policies", n, len(m.GetPolicy()))
	}
	for _, l := range []struct {
		name string
		len  int
	}{
		{"states", len(m.GetState())}, {"exec_us", len(m.GetExecUs())}, {"run_delay_us", len(m.GetRunDelayUs())},
		{"voluntary", len(m.GetVoluntary())}, {"involuntary", len(m.GetInvoluntary())},
	} {
		if l.len != 0 && l.len != n {
			return wrong("%d samples and %d %s", n, l.len, l.name)
		}
	}
	for _, after := range m.GetAfterUs() {
		if after > uint64(longestInterval/time.Microsecond) {
			return wrong("after_us %d", after)
		}
	}
	return checkValues(m)
}

// checkValues bounds the values of a run.
func checkValues(m *corewaitv1.PlacementRun) error {
	for _, cpu := range m.GetCpu() {
		if cpu >= mostCPUs {
			return wrong("CPU %d", cpu)
		}
	}
	for _, state := range m.GetState() {
		if state != 0 && (state < 'A' || state > 'Z') && (state < 'a' || state > 'z') {
			return wrong("state %q, want a letter", state)
		}
	}
	for _, policy := range m.GetPolicy() {
		if policy > math.MaxInt16 {
			return wrong("policy %d", policy)
		}
	}
	for _, list := range [][]int64{m.GetExecUs(), m.GetRunDelayUs(), m.GetVoluntary(), m.GetInvoluntary()} {
		for _, v := range list {
			if v > math.MaxInt32 {
				return wrong("a value of %d", v)
			}
		}
	}
	return text(m.GetCommand())
}

// fill gives sample i its values. Those of a first one that cover no known time
// are unknown.
func fill(p *domain.Placement, m *corewaitv1.PlacementRun, i int) {
	p.CPU, p.State, p.Policy = int(m.GetCpu()[i]), 0, -1
	if len(m.GetState()) != 0 {
		p.State = m.GetState()[i]
	}
	switch policies := m.GetPolicy(); len(policies) {
	case 0:
	case 1:
		p.Policy = int(max(policies[0], -1))
	default:
		p.Policy = int(max(policies[i], -1))
	}
	of := func(list []int64) int64 {
		if len(list) == 0 || p.Interval == 0 {
			return -1
		}
		return max(list[i], -1)
	}
	p.Voluntary, p.Involuntary = of(m.GetVoluntary()), of(m.GetInvoluntary())
	p.Exec, p.RunDelay = duration(of(m.GetExecUs())), duration(of(m.GetRunDelayUs()))
}

func duration(us int64) time.Duration {
	if us < 0 {
		return -1
	}
	return time.Duration(us) * time.Microsecond
}
