package store

import "math/rand/v2"

// Packed gives packed numbers, for rows that tests write by hand.
func Packed(values []int64) []byte {
	p := packer{values: values}
	return p.pack(nil)
}

// Unknown is NULL among the numbers of Packed.
const Unknown = null64

// NumbersOfAllKinds gives lists that look like columns, and some that do not.
func NumbersOfAllKinds(r *rand.Rand) [][]int64 {
	var all [][]int64
	for range 300 {
		values := make([]int64, r.IntN(100))
		unit, base := int64(1+r.IntN(30)), r.Int64N(200)-100
		width, zeros, nulls := r.IntN(61), r.Float64(), r.IntN(3) == 0
		for i := range values {
			switch {
			case r.Float64() < zeros:
			case nulls && r.IntN(4) == 0:
				values[i] = null64
			default:
				values[i] = (base + r.Int64N(1<<width)) * unit
				if values[i] <= -packedLimit || values[i] >= packedLimit {
					values[i] = 1
				}
			}
		}
		all = append(all, values)
	}
	const most = packedLimit - 1
	return append(all, []int64{null64}, []int64{null64, null64, 0}, []int64{most, -most}, []int64{-most, most, -most, null64}, []int64{-most}, []int64{1<<30 - 1, 1 << 30},
		make([]int64, 5_000))
}
