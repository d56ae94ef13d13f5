package series

import (
	"cmp"
	"math"
	"slices"

	"github.com/corewait/corewait/domain"
)

// Disk takes one row of iostat. The await of writes is what LGWR sees; where
// the device wrote nothing, that of reads tells of the device at least.
func (b *Builder) Disk(d domain.DiskSample) error {
	at := FromTime(d.At)
	if d.At.IsZero() || b.endsOutside(at) {
		return nil
	}
	p := DiskPoint{At: at, Device: b.intern(d.Device), AwaitMS: d.WriteAwaitMS, PerS: d.WritesPerS}
	if math.IsNaN(p.AwaitMS) || p.PerS == 0 {
		p.AwaitMS, p.PerS = d.ReadAwaitMS, d.ReadsPerS
	}
	if p.PerS > 0 && !math.IsNaN(p.AwaitMS) {
		b.disks = append(b.disks, p)
	}
	return nil
}

// Disks takes a reading of /proc/diskstats; await of the interval since the
// reading before is time spent over requests completed.
func (b *Builder) Disks(s *domain.DiskSnapshot) error {
	if s.At.IsZero() {
		return nil
	}
	before := b.diskBefore
	keep := *s
	keep.Devices = slices.Clone(s.Devices)
	b.diskBefore = &keep
	if before == nil || !s.At.After(before.At) || b.endsOutside(FromTime(s.At)) {
		return nil
	}
	sec := s.At.Sub(before.At).Seconds()
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
		n, ms := now.Writes-old.Writes, now.WriteMS-old.WriteMS
		if n == 0 {
			n, ms = now.Reads-old.Reads, now.ReadMS-old.ReadMS
		}
		if n == 0 {
			continue
		}
		b.disks = append(b.disks, DiskPoint{
			At: FromTime(s.At), Device: b.intern(now.Device), AwaitMS: float64(ms) / float64(n), PerS: float64(n) / sec,
		})
	}
	return nil
}

func sortDisks(d []DiskPoint) []DiskPoint {
	slices.SortStableFunc(d, func(a, b DiskPoint) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.At, b.At))
	})
	return slices.CompactFunc(d, func(a, b DiskPoint) bool { return a.Device == b.Device && a.At == b.At })
}
