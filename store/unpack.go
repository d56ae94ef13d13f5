package store

import (
	"encoding/binary"
	"math"
)

// unpacker reads packed numbers, and keeps its memory for the next ones.
type unpacker struct {
	values []int64 // what was read; null64 is NULL
	codes  []uint64
}

// packedHead is what stands before the groups.
type packedHead struct {
	flags byte
	last  int // numbers in the last group
	unit  int64
	base  int64
	count int // if packedSparse
}

// unpack reads the numbers of a column, which are valid until the next ones are
// read. It takes any bytes: those that pack did not write are an error, or some
// numbers.
func (u *unpacker) unpack(b []byte) ([]int64, error) {
	u.values = u.values[:0]
	if len(b) == 0 {
		return u.values, nil
	}
	head, b, ok := readPackedHead(b)
	if !ok || !u.readGroups(b) || len(u.codes) == 0 {
		return nil, errPacked
	}
	if head.flags&packedSparse == 0 {
		for _, k := range u.codes[:len(u.codes)-packedGroup+head.last] {
			u.values = append(u.values, head.number(k))
		}
	} else if !u.spread(head) {
		return nil, errPacked
	}
	if head.flags&packedSteps != 0 {
		for i := 1; i < len(u.values); i++ {
			u.values[i] += u.values[i-1]
		}
	}
	return u.values, nil
}

func readPackedHead(b []byte) (head packedHead, rest []byte, ok bool) {
	head = packedHead{flags: b[0], last: int(b[0]&(packedGroup-1)) + 1, unit: 1}
	b = b[1:]
	if head.flags&packedUnit != 0 {
		unit, n := binary.Uvarint(b)
		if n <= 0 || unit > math.MaxInt64 {
			return head, nil, false
		}
		head.unit, b = int64(unit), b[n:]
	}
	if head.flags&packedBase != 0 {
		base, n := binary.Varint(b)
		if n <= 0 {
			return head, nil, false
		}
		head.base, b = base, b[n:]
	}
	if head.flags&packedSparse != 0 {
		count, n := binary.Uvarint(b)
		if n <= 0 || count > mostPacked {
			return head, nil, false
		}
		head.count, b = int(count), b[n:]
	}
	return head, b, true
}

// number gives the number that k in a group means.
func (h *packedHead) number(k uint64) int64 {
	if h.flags&packedNulls != 0 && k > 0 {
		if k == 1 {
			return null64
		}
		k--
	}
	return h.base + int64(k)*h.unit //nolint:gosec // wraps where pack did not write it
}

// readGroups reads all groups into codes; false where they are cut short or too
// many.
func (u *unpacker) readGroups(b []byte) bool {
	u.codes = u.codes[:0]
	for len(b) > 0 {
		width, share := uint(b[0]&packedWide), int(b[0]>>5)+1
		if width == packedWide {
			width = 64
		}
		b = b[1:]
		if len(b) < share*int(width) || len(u.codes) > mostPacked {
			return false
		}
		for range share {
			u.readGroup(b[:width], width)
			b = b[width:]
		}
	}
	return true
}

func (u *unpacker) readGroup(b []byte, width uint) {
	switch width {
	case 0:
		u.codes = append(u.codes, 0, 0, 0, 0, 0, 0, 0, 0)
		return
	case 64:
		for ; len(b) > 0; b = b[8:] {
			u.codes = append(u.codes, binary.BigEndian.Uint64(b))
		}
		return
	}
	held, n, mask := uint64(0), uint(0), uint64(1)<<width-1
	for range packedGroup {
		for ; n < width; n += 8 {
			held = held<<8 | uint64(b[0])
			b = b[1:]
		}
		n -= width
		u.codes = append(u.codes, held>>n&mask)
	}
}

// spread puts the numbers that are not base where they belong; false where they
// are not as many as their distances, or beyond the last.
func (u *unpacker) spread(head packedHead) bool {
	half := len(u.codes) / 2
	if len(u.codes)%(2*packedGroup) != 0 {
		return false
	}
	zero := head.number(0)
	for range head.count {
		u.values = append(u.values, zero)
	}
	at := uint64(0)
	for i := range half - packedGroup + head.last {
		if u.codes[i] >= uint64(head.count) { //nolint:gosec // not negative
			return false
		}
		at += u.codes[i]
		if at >= uint64(head.count) { //nolint:gosec // not negative
			return false
		}
		u.values[at] = head.number(u.codes[half+i])
		at++
	}
	return true
}
