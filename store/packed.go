package store

import (
	"encoding/binary"
	"errors"
	"math"
	mathbits "math/bits"
)

// Packed numbers are what columns hold that have a number for each CPU, line,
// device or sample: a bytea, which the SQL function corewait_numbers gives as
// int8[] (migrations/00004_samples.sql). ADR 16 says why, and what it saves.
//
// The empty list is no bytes. Else:
//
//	head     bits 0 to 2: how many numbers the last group holds, less 1; the others
//	         are the flags below
//	unit     varint, if packedUnit
//	base     zigzag varint, if packedBase
//	count    varint, if packedSparse
//	groups   to the end
//
// A group is 8 numbers of w bits each, so w bytes, the first number in the high
// bits of the first byte. Before it stands a byte: bits 0 to 4 are w (31 means
// 64), bits 5 to 7 for how many groups that is, less 1.
//
// A number k in a group means base + k*unit. If packedNulls, 1 means NULL and
// k > 1 means base + (k-1)*unit. If packedSparse, the first half of the groups are
// distances: how many numbers that are base lie before the next one that is not;
// the other half are those. All that follow, up to count, are base. If packedSteps,
// what this gives is how much each number is above the one before.
const (
	packedNulls  = 1 << 3
	packedUnit   = 1 << 4
	packedBase   = 1 << 5
	packedSparse = 1 << 6
	packedSteps  = 1 << 7

	packedGroup = 8
	packedWide  = 31 // stands for 64 bits, which are for what 30 do not hold

	// mostPacked bounds the numbers of a column: the longest run of interrupts of
	// the most CPUs that there can be has fewer.
	mostPacked = 1 << 22

	// packedLimit bounds what is packed, so that no sum of two passes int8. No
	// count, time or rate comes near; beyond it they are unknown.
	packedLimit = 1 << 62
)

var errPacked = errors.New("packed numbers are damaged")

// packer packs numbers, and keeps its memory for the next ones.
type packer struct {
	values     []int64 // to be packed; null64 is NULL
	steps      []int64
	coded      []uint64 // what the groups hold
	gaps, rest []uint64 // likewise, if sparse
	plans      [2][]grouping
	head, best []byte
}

// grouping is how the groups from one on are to be written.
type grouping struct {
	width uint8 // of this group's numbers
	bytes int   // of this and all later groups
	share uint8 // how many groups share its byte
}

// pack appends the numbers in the shortest of the forms that it tries: dense or
// sparse, above zero or above the least, by themselves or in steps.
func (p *packer) pack(b []byte) []byte {
	if len(p.values) == 0 {
		return b
	}
	p.best = p.best[:0]
	nulls := false
	for i, v := range p.values {
		if v <= -packedLimit || v >= packedLimit {
			p.values[i] = null64
			nulls = true
		}
	}
	p.tryBases(p.values, 0, nulls)
	if !nulls && len(p.values) > 1 {
		p.steps = append(p.steps[:0], p.values[0])
		for i := 1; i < len(p.values); i++ {
			p.steps = append(p.steps, p.values[i]-p.values[i-1])
		}
		p.tryBases(p.steps, packedSteps, false)
	}
	return append(b, p.best...)
}

// tryBases packs numbers above zero and above the least of them.
func (p *packer) tryBases(values []int64, head byte, nulls bool) {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range values {
		if v != null64 {
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case least > most: // all are NULL
		p.try(values, 0, head, nulls)
		return
	case least >= 0:
		p.try(values, 0, head, nulls)
	}
	if least != 0 && most-least >= 0 { // that does not overflow
		p.try(values, least, head, nulls)
	}
}

// try packs numbers above a base, and keeps that if nothing before was shorter.
func (p *packer) try(values []int64, base int64, head byte, nulls bool) {
	unit, filled := p.code(values, base, nulls)
	if nulls {
		head |= packedNulls
	}
	p.begin(head, unit, base, len(p.coded))
	p.keepShorter(p.coded)
	if filled == 0 || 2*filled >= len(p.coded) {
		return
	}
	p.gaps, p.rest = p.gaps[:0], p.rest[:0]
	gap := uint64(0)
	for _, k := range p.coded {
		if k == 0 {
			gap++
			continue
		}
		p.gaps, p.rest = append(p.gaps, gap), append(p.rest, k)
		gap = 0
	}
	p.begin(head|packedSparse, unit, base, filled)
	p.head = binary.AppendUvarint(p.head, uint64(len(p.coded)))
	p.keepShorter(p.gaps, p.rest)
}

// code makes what groups hold of numbers, and says how many are not zero.
func (p *packer) code(values []int64, base int64, nulls bool) (unit uint64, filled int) {
	for _, v := range values {
		if v != null64 && unit != 1 {
			unit = greatestDivisor(unit, uint64(v-base)) //nolint:gosec // base is the least, or 0
		}
	}
	unit = max(unit, 1)
	p.coded = p.coded[:0]
	for _, v := range values {
		k := uint64(1)
		if v != null64 {
			k = uint64(v - base) //nolint:gosec // as above
			if unit > 1 {
				k /= unit
			}
			if nulls && k > 0 {
				k++
			}
		}
		if k != 0 {
			filled++
		}
		p.coded = append(p.coded, k)
	}
	return unit, filled
}

// begin writes what stands before the groups.
func (p *packer) begin(head byte, unit uint64, base int64, inGroups int) {
	if unit > 1 {
		head |= packedUnit
	}
	if base != 0 {
		head |= packedBase
	}
	p.head = append(p.head[:0], head|byte((inGroups-1)%packedGroup)) //nolint:gosec // under 8
	if unit > 1 {
		p.head = binary.AppendUvarint(p.head, unit)
	}
	if base != 0 {
		p.head = binary.AppendVarint(p.head, base)
	}
}

// keepShorter writes what begin began, with these groups, if that is shorter than
// the best.
func (p *packer) keepShorter(lists ...[]uint64) {
	size := len(p.head)
	for i, list := range lists {
		p.plans[i] = plan(p.plans[i][:0], list)
		size += p.plans[i][0].bytes
	}
	if len(p.best) > 0 && size >= len(p.best) {
		return
	}
	p.best = append(p.best[:0], p.head...)
	for i, list := range lists {
		p.groups(list, p.plans[i])
	}
}

// plan finds which groups had best share a byte, from the last one to the first.
// It appends one grouping for each, and one past the last.
func plan(into []grouping, values []uint64) []grouping {
	for i := 0; i < len(values); i += packedGroup {
		into = append(into, grouping{width: widthOf(values[i:min(len(values), i+packedGroup)])})
	}
	n := len(into)
	into = append(into, grouping{})
	for i := n - 1; i >= 0; i-- {
		g, width := &into[i], uint8(0)
		for k := 1; k <= min(packedGroup, n-i); k++ {
			width = max(width, into[i+k-1].width)
			if size := 1 + k*int(width) + into[i+k].bytes; k == 1 || size < g.bytes {
				g.bytes, g.share = size, uint8(k)
			}
		}
	}
	return into
}

// groups writes numbers in groups as planned.
func (p *packer) groups(values []uint64, planned []grouping) {
	for i := 0; i < len(planned)-1; {
		share, width := int(planned[i].share), uint8(0)
		for _, g := range planned[i : i+share] {
			width = max(width, g.width)
		}
		p.best = append(p.best, min(width, packedWide)|byte(share-1)<<5) //nolint:gosec // at most 7
		for end := i + share; i < end; i++ {
			p.group(values[i*packedGroup:min(len(values), (i+1)*packedGroup)], uint(width))
		}
	}
}

// widthOf gives how many bits each number of a group takes.
func widthOf(group []uint64) uint8 {
	all := uint64(0)
	for _, v := range group {
		all |= v
	}
	if w := mathbits.Len64(all); w < packedWide {
		return uint8(w) //nolint:gosec // at most 30
	}
	return 64
}

// group writes the numbers of one group; those that the last one lacks are 0.
func (p *packer) group(values []uint64, width uint) {
	held, n := uint64(0), uint(0) // bits that are not a whole byte yet
	for i := range packedGroup {
		v := uint64(0)
		if i < len(values) {
			v = values[i]
		}
		if width == 64 {
			p.best = binary.BigEndian.AppendUint64(p.best, v)
			continue
		}
		held = held<<width | v
		for n += width; n >= 8; {
			n -= 8
			p.best = append(p.best, byte(held>>n)) //nolint:gosec // the low byte of it
		}
	}
}

// greatestDivisor gives the greatest common divisor.
func greatestDivisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
