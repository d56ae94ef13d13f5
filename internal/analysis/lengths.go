package analysis

import (
	"fmt"
	"slices"

	"github.com/corewait/corewait/correlate/series"
)

// build gives the series of a choice: from ASH where there are rows of it,
// unless no length in them tells of a stall, some could not be read, and
// histograms count the same waits. What a spool's narrow column hides is the
// longest waits, and the histograms have them.
func (v *options) build(b *series.Builder, c series.Choice) *series.Series {
	s := b.Build(c)
	unread := v.lengthsHidden(s)
	if unread == 0 {
		return s
	}
	all := len(s.Waits)
	s = b.BuildFromHistograms(c)
	s.Warnings = append(s.Warnings, fmt.Sprintf("%d of %d waits in ASH rows have a length that could not be read, and no other reaches %v: the histograms are used instead",
		unread, all, v.Params.Threshold))
	return s
}

// lengthsHidden gives how many waits have a length that could not be read,
// where the series had better be made of histograms; else 0.
func (v *options) lengthsHidden(s *series.Series) (unread int) {
	if !slices.ContainsFunc(s.Histograms, func(h series.HistogramStep) bool { return slices.Contains(v.watch.Events, h.Event) }) {
		return 0
	}
	for i := range s.Waits {
		switch waited := s.Waits[i].TimeWaited; {
		case waited == series.UnknownLength:
			unread++
		case waited >= v.Params.Threshold.Microseconds():
			return 0
		}
	}
	return unread
}
