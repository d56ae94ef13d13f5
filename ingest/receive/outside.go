package receive

import (
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// gapOutside is the reason of a gap of what came too late, or from too far in the
// future, to be kept.
const gapOutside = "outside-retention"

// keptMargin is kept away from both ends of what the store keeps, which move on
// between one attempt and the next.
const keptMargin = time.Minute

// inside passes on the records that the store keeps, and declares a gap for those
// that it does not.
type inside struct {
	*store.Batch

	from, to time.Time
	left     map[outsideOf]*extent
	order    []outsideOf
	records  int // left out
}

// outsideOf is one source, before or after what is kept.
type outsideOf struct {
	source string
	after  bool
}

type extent struct{ from, to time.Time }

func newInside(from, to time.Time) *inside {
	return &inside{Batch: store.NewBatch(), from: from.Add(keptMargin), to: to.Add(-keptMargin), left: map[outsideOf]*extent{}}
}

// keeps says whether a record is kept; else it is part of a gap.
func (i *inside) keeps(source string, from, to time.Time) bool {
	if !from.Before(i.from) && from.Before(i.to) {
		return true
	}
	i.records++
	k := outsideOf{source, !from.Before(i.to)}
	e := i.left[k]
	if e == nil {
		e = &extent{from, to}
		i.left[k] = e
		i.order = append(i.order, k)
	}
	if from.Before(e.from) {
		e.from = from
	}
	if to.After(e.to) {
		e.to = to
	}
	return false
}

// declare adds the gaps.
func (i *inside) declare() error {
	for _, k := range i.order {
		e := i.left[k]
		if err := i.Gap(domain.Gap{Source: k.source, From: e.from, To: e.to, Reason: gapOutside}); err != nil {
			return err
		}
	}
	return nil
}

// InterruptSample passes on a sample that is kept.
func (i *inside) InterruptSample(s *domain.InterruptSample) error {
	if !i.keeps("interrupts", s.From, s.To) {
		return nil
	}
	return i.Batch.InterruptSample(s)
}

// DeviceSample passes on a sample that is kept.
func (i *inside) DeviceSample(s *domain.DeviceSample) error {
	if !i.keeps("devices", s.From, s.To) {
		return nil
	}
	return i.Batch.DeviceSample(s)
}

// SoftirqSample passes on a sample that is kept.
func (i *inside) SoftirqSample(s *domain.SoftirqSample) error {
	if !i.keeps("softirqs", s.From, s.To) {
		return nil
	}
	return i.Batch.SoftirqSample(s)
}

// CPU passes on a sample that is kept.
func (i *inside) CPU(s domain.CPUSample) error {
	if !i.keeps("cpu", s.At.Add(-s.Interval), s.At) {
		return nil
	}
	return i.Batch.CPU(s)
}

// System passes on a sample that is kept.
func (i *inside) System(s domain.SystemSample) error {
	if !i.keeps("system", s.At.Add(-s.Interval), s.At) {
		return nil
	}
	return i.Batch.System(s)
}

// Disk passes on a sample that is kept.
func (i *inside) Disk(d domain.DiskSample) error {
	if !i.keeps("disks", d.At.Add(-d.Interval), d.At) {
		return nil
	}
	return i.Batch.Disk(d)
}

// Placement passes on a sample that is kept.
func (i *inside) Placement(p domain.Placement) error {
	if !i.keeps("placement", p.At, p.At) {
		return nil
	}
	return i.Batch.Placement(p)
}
