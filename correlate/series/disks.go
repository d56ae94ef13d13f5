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
	stored := func(x float64) float64 { return domain.RoundTo(x, 1000) } // microseconds, and requests in 1,000 s
	p := DiskPoint{At: at, Device: b.intern(d.Device), AwaitMS: stored(d.WriteAwaitMS), PerS: stored(d.WritesPerS)}
	if math.IsNaN(p.AwaitMS) || p.PerS == 0 {
		p.AwaitMS, p.PerS = stored(d.ReadAwaitMS), stored(d.ReadsPerS)
	}
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
