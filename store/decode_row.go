package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// rowReader reads the columns of a row one after the other, in the binary format
// (PostgreSQL source, src/backend/utils/adt, *send functions). Strings and slices
// that it gives are the caller's. The first column that cannot be read is kept as
// err; what follows reads as unknown.
type rowReader struct {
	values [][]byte
	next   int
	err    error

	unpacker unpacker
}

var errColumnMissing = errors.New("column is missing")

// field gives the next column; nil is NULL.
func (r *rowReader) field() []byte {
	if r.next >= len(r.values) {
		r.fail(errColumnMissing)
		return nil
	}
	r.next++
	return r.values[r.next-1]
}

func (r *rowReader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d: %w", r.next, err)
	}
}

// fixed gives the next column, which has a fixed size; nil where it is NULL.
func (r *rowReader) fixed(size int) []byte {
	b := r.field()
	if b == nil || len(b) == size {
		return b
	}
	r.fail(fmt.Errorf("%d bytes instead of %d", len(b), size))
	return nil
}

func (r *rowReader) bool() bool {
	b := r.fixed(1)
	return b != nil && b[0] != 0
}

// boolOrNil gives nil where the column is NULL.
func (r *rowReader) boolOrNil() *bool {
	b := r.fixed(1)
	if b == nil {
		return nil
	}
	v := b[0] != 0
	return &v
}

func (r *rowReader) int2() int16 {
	if b := r.fixed(2); b != nil {
		return int16(binary.BigEndian.Uint16(b)) //nolint:gosec // the same bits
	}
	return null16
}

func (r *rowReader) int4() int32 {
	if b := r.fixed(4); b != nil {
		return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // the same bits
	}
	return null32
}

func (r *rowReader) int8() int64 {
	if b := r.fixed(8); b != nil {
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the same bits
	}
	return null64
}

// time gives an instant in us since 1970; timeUnknown where it is NULL or
// -infinity.
func (r *rowReader) time() int64 {
	us := r.int8()
	if us == timeUnknown {
		return us
	}
	if us > math.MaxInt64-postgresEpoch {
		r.fail(errors.New("time is infinity"))
		return timeUnknown
	}
	return us + postgresEpoch
}

// text gives a text; empty where it is NULL.
func (r *rowReader) text() string { return string(r.field()) }

// array gives the elements of the next column, which is a one-dimensional array:
// n of them, each with its length before it. null is true where it is NULL.
func (r *rowReader) array() (elements []byte, n int, null bool) {
	b := r.field()
	if b == nil {
		return nil, 0, true
	}
	const headBytes, dimensionBytes = 12, 8
	if len(b) == headBytes && binary.BigEndian.Uint32(b) == 0 {
		return nil, 0, false
	}
	if len(b) < headBytes+dimensionBytes || binary.BigEndian.Uint32(b) != 1 {
		r.fail(errors.New("no array of one dimension"))
		return nil, 0, true
	}
	count := binary.BigEndian.Uint32(b[headBytes:])
	elements = b[headBytes+dimensionBytes:]
	if uint64(count) > uint64(len(elements)/4) {
		r.fail(errors.New("array is cut short"))
		return nil, 0, true
	}
	return elements, int(count), false
}

// element gives the next element of an array and what follows it; nil is NULL.
func (r *rowReader) element(b []byte) (element, rest []byte) {
	if len(b) < 4 {
		r.fail(errors.New("array is cut short"))
		return nil, nil
	}
	length := binary.BigEndian.Uint32(b)
	b = b[4:]
	if length == math.MaxUint32 { // -1
		return nil, b
	}
	if uint64(length) > uint64(len(b)) {
		r.fail(errors.New("array is cut short"))
		return nil, nil
	}
	return b[:length:length], b[length:]
}

// int2s, int4s and int8s give an array in the memory of into where that is large
// enough: nil where it is NULL, empty where it has no elements.
func (r *rowReader) int2s(into []int16) []int16 { return readInts(r, into, null16, 2) }

func (r *rowReader) int4s(into []int32) []int32 { return readInts(r, into, null32, 4) }

// int8s reads elements of int4 as well: counts are that in the live tables.
func (r *rowReader) int8s(into []int64) []int64 { return readInts(r, into, null64, 8) }

// readInts reads elements of at most so many bytes.
func readInts[T int16 | int32 | int64](r *rowReader, into []T, unknown T, widest int) []T {
	elements, n, isNull := r.array()
	if isNull {
		return nil
	}
	if into == nil || cap(into) < n {
		into = make([]T, 0, n)
	}
	into = into[:0]
	var e []byte
	for range n {
		if e, elements = r.element(elements); r.err != nil {
			return nil
		}
		switch {
		case e == nil:
			into = append(into, unknown)
		case len(e) == 2:
			into = append(into, T(int16(binary.BigEndian.Uint16(e)))) //nolint:gosec // the same bits
		case len(e) == 4 && widest >= 4:
			into = append(into, T(int32(binary.BigEndian.Uint32(e)))) //nolint:gosec // the same bits
		case len(e) == 8 && widest >= 8:
			into = append(into, T(int64(binary.BigEndian.Uint64(e)))) //nolint:gosec // the same bits
		default:
			r.fail(fmt.Errorf("element of %d bytes", len(e)))
			return nil
		}
	}
	return into
}

// packedInts gives packed numbers in the memory of into where that is large enough:
// nil where the column is NULL, empty where it has no bytes.
func packedInts[T int16 | int32 | int64](r *rowReader, into []T, unknown T) []T {
	b := r.field()
	if b == nil {
		return nil
	}
	values, err := r.unpacker.unpack(b)
	if err != nil {
		r.fail(err)
		return nil
	}
	if into == nil || cap(into) < len(values) {
		into = make([]T, 0, len(values))
	}
	into = into[:0]
	for _, v := range values {
		n := T(v)
		switch {
		case v == null64:
			n = unknown
		case int64(n) != v || n == unknown:
			r.fail(fmt.Errorf("a packed number of %d", v))
			return nil
		}
		into = append(into, n)
	}
	return into
}

// texts gives an array of texts; nil where there are none.
func (r *rowReader) texts() []string {
	elements, n, _ := r.array()
	var out []string
	var e []byte
	for range n {
		if e, elements = r.element(elements); r.err != nil {
			return nil
		}
		out = append(out, string(e))
	}
	return out
}
