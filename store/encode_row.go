package store

import (
	"encoding/binary"
	"math"
)

// Types of elements, as pg_type numbers them.
const (
	oidInt8 = 20
	oidInt2 = 21
	oidInt4 = 23
	oidText = 25
)

// postgresEpoch is 2000-01-01 in microseconds since 1970: what a binary
// timestamptz counts from.
const postgresEpoch = 946_684_800_000_000

// timeUnknown stands for a time that is unknown where the column is part of a
// key; it is written as -infinity.
const timeUnknown = math.MinInt64

// rowBuffer holds rows in the binary format of COPY (PostgreSQL documentation,
// COPY, Binary Format). Its methods write one column each.
type rowBuffer struct {
	b      []byte
	packer packer
}

func (r *rowBuffer) null() { r.b = append(r.b, 0xff, 0xff, 0xff, 0xff) }

func (r *rowBuffer) int2(v int16) {
	if v == null16 {
		r.null()
		return
	}
	r.b = append(r.b, 0, 0, 0, 2, byte(v>>8), byte(v)) //nolint:gosec // the same bits
}

func (r *rowBuffer) int4(v int32) {
	if v == null32 {
		r.null()
		return
	}
	r.b = append(r.b, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v)) //nolint:gosec // the same bits
}

// int4Key writes any int4: in a key nothing is unknown.
func (r *rowBuffer) int4Key(v int32) {
	r.b = append(r.b, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v)) //nolint:gosec // the same bits
}

func (r *rowBuffer) int8(v int64) {
	if v == null64 {
		r.null()
		return
	}
	r.b = append(r.b, 0, 0, 0, 8)
	r.b = binary.BigEndian.AppendUint64(r.b, uint64(v)) //nolint:gosec // the same bits
}

func (r *rowBuffer) bool(v bool) {
	bit := byte(0)
	if v {
		bit = 1
	}
	r.b = append(r.b, 0, 0, 0, 1, bit)
}

// time writes an instant given in microseconds since 1970.
func (r *rowBuffer) time(us int64) {
	r.b = append(r.b, 0, 0, 0, 8)
	if us != timeUnknown {
		us -= postgresEpoch
	}
	r.b = binary.BigEndian.AppendUint64(r.b, uint64(us)) //nolint:gosec // the same bits
}

func (r *rowBuffer) text(s string) {
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(len(s))) //nolint:gosec // storable bounds it
	r.b = append(r.b, s...)
}

// textOrNull writes "" as NULL.
func (r *rowBuffer) textOrNull(s string) {
	if s == "" {
		r.null()
		return
	}
	r.text(s)
}

// beginArray writes the head of a one-dimensional array of n elements that are
// size bytes long, and gives where the field's length stands.
func (r *rowBuffer) beginArray(n int, oid uint32) (start int) {
	start = len(r.b)
	r.b = append(r.b, 0, 0, 0, 0) // length of the field, set by endField
	dimensions := byte(1)
	if n == 0 {
		dimensions = 0
	}
	r.b = append(r.b, 0, 0, 0, dimensions, 0, 0, 0, 1) // elements may be NULL
	r.b = binary.BigEndian.AppendUint32(r.b, oid)
	if n > 0 {
		r.b = binary.BigEndian.AppendUint32(r.b, uint32(n)) //nolint:gosec // far under 2^31
		r.b = append(r.b, 0, 0, 0, 1)                       // the first index
	}
	return start
}

func (r *rowBuffer) endField(start int) {
	binary.BigEndian.PutUint32(r.b[start:], uint32(len(r.b)-start-4)) //nolint:gosec // far under 2^31
}

// int2s, int4s and int8s write arrays; nil is NULL, an empty one '{}'.
func (r *rowBuffer) int2s(v []int16) {
	if v == nil {
		r.null()
		return
	}
	start := r.beginArray(len(v), oidInt2)
	for _, e := range v {
		r.int2(e)
	}
	r.endField(start)
}

func (r *rowBuffer) int4s(v []int32) {
	if v == nil {
		r.null()
		return
	}
	start := r.beginArray(len(v), oidInt4)
	for _, e := range v {
		r.int4(e)
	}
	r.endField(start)
}

func (r *rowBuffer) int8s(v []int64) {
	if v == nil {
		r.null()
		return
	}
	start := r.beginArray(len(v), oidInt8)
	for _, e := range v {
		r.int8(e)
	}
	r.endField(start)
}

// packed writes n packed numbers; null64 is NULL.
func (r *rowBuffer) packed(n int, of func(int) int64) {
	r.packer.values = r.packer.values[:0]
	for i := range n {
		r.packer.values = append(r.packer.values, of(i))
	}
	start := len(r.b)
	r.b = r.packer.pack(append(r.b, 0, 0, 0, 0))
	r.endField(start)
}

// cells writes n packed numbers: NULL where none is known.
func (r *rowBuffer) cells(n int, of func(int) int64) {
	for i := range n {
		if of(i) != null64 {
			r.packed(n, of)
			return
		}
	}
	r.null()
}

// packedList writes packed numbers; nil is NULL.
func packedList[T int16 | int32 | int64](r *rowBuffer, v []T, unknown T) {
	if v == nil {
		r.null()
		return
	}
	r.packed(len(v), func(i int) int64 { return widened(v[i], unknown) })
}

// widened gives a value as int8.
func widened[T int16 | int32 | int64](v, unknown T) int64 {
	if v == unknown {
		return null64
	}
	return int64(v)
}

// narrow gives a value as int4; unknown where that cannot hold it.
func narrow(v int64) int32 {
	if v <= math.MinInt32 || v > math.MaxInt32 {
		return null32
	}
	return int32(v)
}
