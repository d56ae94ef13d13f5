package series

import "slices"

// maxWidenings bounds how often CPUs that were never seen before come online in
// mid-log: far more often than hotplug does it.
const maxWidenings = 64

// end gives the end of the last interval; before all time where there is none.
func (m *Matrix) end() Micros {
	if len(m.Spans) == 0 {
		return noFrom
	}
	return m.Spans[len(m.Spans)-1].To
}

// widen adds columns for CPUs that the matrix does not have yet; what it holds
// of earlier intervals is unknown for them. Each time costs a copy, so they are
// counted: it gives false where CPUs would be added once more than maxWidenings.
func (m *Matrix) widen(cpus []int, widenings *int) bool {
	missing := false
	for _, c := range cpus {
		if m.Column(c) < 0 {
			missing = true
			break
		}
	}
	if !missing {
		return true
	}
	if *widenings >= maxWidenings {
		return false
	}
	*widenings++
	wide := append(slices.Clone(m.CPUs), cpus...)
	slices.Sort(wide)
	wide = slices.Compact(wide)
	v := make([]float32, 0, len(m.Spans)*len(wide))
	for i := range m.Spans {
		row := m.Row(i)
		for _, c := range wide {
			if k := m.Column(c); k >= 0 {
				v = append(v, row[k])
			} else {
				v = append(v, float32(nan))
			}
		}
	}
	m.CPUs, m.V = wide, v
	return true
}

// addCounts adds an interval's counts as rates; negative counts are unknown. It
// gives false where the interval was left out for its CPUs (see widen).
func (m *Matrix) addCounts(span Span, cpus []int, counts []int64, widenings *int) bool {
	if !m.widen(cpus, widenings) {
		return false
	}
	begin := len(m.V)
	for range m.CPUs {
		m.V = append(m.V, float32(nan))
	}
	sec := span.Seconds()
	for j, cpu := range cpus {
		if counts[j] >= 0 {
			m.V[begin+m.Column(cpu)] = float32(float64(counts[j]) / sec)
		}
	}
	m.Spans = append(m.Spans, span)
	return true
}
