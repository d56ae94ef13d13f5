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
	p.AwaitMS, p.PerS = domain.RoundTo(p.AwaitMS, 1000), domain.RoundTo(p.PerS, 1000)
	if p.PerS > 0 && !math.IsNaN(p.AwaitMS) {
		b.disks = append(b.disks, p)
	}
	return nil
}

func sortDisks(d []DiskPoint) []DiskPoint {
	slices.SortStableFunc(d, func(a, b DiskPoint) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.At, b.At))
	})
	return slices.CompactFunc(d, func(a, b DiskPoint) bool { return a.Device == b.Device && a.At == b.At })
}
