package store

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rowOf gives a reader of the columns that write wrote.
func rowOf(write func(*rowBuffer)) *rowReader {
	var b rowBuffer
	write(&b)
	r := &rowReader{}
	for rest := b.b; len(rest) > 0; {
		n := int(int32(uint32(rest[0])<<24 | uint32(rest[1])<<16 | uint32(rest[2])<<8 | uint32(rest[3])))
		rest = rest[4:]
		if n < 0 {
			r.values = append(r.values, nil)
			continue
		}
		r.values = append(r.values, rest[:n:n])
		rest = rest[n:]
	}
	return r
}

func TestARowReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	r := rowOf(func(b *rowBuffer) {
		b.int2(-7)
		b.int2(null16)
		b.int4(math.MaxInt32)
		b.int8(math.MinInt64 + 1)
		b.bool(true)
		b.null()
		b.time(1_772_495_700_000_001)
		b.time(timeUnknown)
		b.text("log file sync")
		b.textOrNull("")
		b.int2s([]int16{1, null16, -3})
		b.int2s([]int16{})
		b.int2s(nil)
		b.int4s([]int32{null32, 5})
		b.int8s([]int64{1 << 40, null64})
		packedList(b, []int16{3, null16, -1}, null16)
		packedList(b, []int64{}, null64)
		packedList[int64](b, nil, null64)
	})
	got := []any{
		r.int2(), r.int2(), r.int4(), r.int8(), r.bool(), r.bool(), r.time(), r.time(), r.text(), r.text(),
		r.int2s(nil), r.int2s(nil), r.int2s(nil), r.int4s(nil), r.int8s(make([]int64, 9)),
		packedInts(r, []int16{9}, null16), packedInts[int64](r, nil, null64), packedInts[int64](r, nil, null64),
	}
	want := []any{
		int16(-7), null16, int32(math.MaxInt32), int64(math.MinInt64 + 1), true, false, int64(1_772_495_700_000_001), int64(timeUnknown), "log file sync", "",
		[]int16{1, null16, -3}, []int16{}, []int16(nil), []int32{null32, 5}, []int64{1 << 40, null64},
		[]int16{3, null16, -1}, []int64{}, []int64(nil),
	}
	if diff := cmp.Diff(want, got); diff != "" || r.err != nil {
		t.Error(r.err, diff)
	}
	if r.int2(); r.err == nil {
		t.Error("no error for a column that the row lacks")
	}
}

// By hand, after PostgreSQL's array_send: one dimension, flag 0, type 21, two
// elements from 1, each with its length.
func TestArraysThatAreDamagedAreErrors(t *testing.T) {
	t.Parallel()
	whole := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0, 0, 2, 1, 0}
	read := func(b []byte) ([]int16, error) {
		r := &rowReader{values: [][]byte{b}}
		return r.int2s(nil), r.err
	}
	if got, err := read(whole); err != nil || !cmp.Equal(got, []int16{9, 256}) {
		t.Fatalf("got %v, %v", got, err)
	}
	for n := range len(whole) {
		if got, err := read(whole[:n:n]); err == nil || got != nil {
			t.Errorf("cut after %d bytes: %v, %v", n, got, err)
		}
	}
	for name, at := range map[string]struct {
		index int
		value byte
	}{
		"two dimensions":             {3, 2},
		"more elements than bytes":   {12, 255},
		"an element of three bytes":  {23, 3},
		"an element past the end":    {29, 200},
		"an element of no bytes":     {29, 0},
		"an element of eight bytes":  {23, 8},
		"three elements, two follow": {15, 3},
	} {
		b := append([]byte(nil), whole...)
		b[at.index] = at.value
		if got, err := read(b); err == nil {
			t.Errorf("%s: got %v and no error", name, got)
		}
	}
	r := &rowReader{values: [][]byte{{1, 2, 3}, {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}}
	if r.int4(); r.err == nil {
		t.Error("no error for an int4 of three bytes")
	}
	r.err = nil
	if r.time(); r.err == nil {
		t.Error("no error for a time of infinity")
	}
}

func TestCPUsAreNumberedFromZeroWhereTheyAreNotNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpus []int16
		n    int
		want []int
		ok   bool
	}{
		{nil, 3, []int{0, 1, 2}, true},
		{nil, 0, []int{}, true},
		{[]int16{0, 2}, 2, []int{0, 2}, true},
		{[]int16{0, 2}, 3, nil, false},
		{[]int16{0, -2}, 2, nil, false},
	} {
		got, err := cpuIDs([]int{9}, c.cpus, c.n)
		if (err == nil) != c.ok || !cmp.Equal(got, c.want) {
			t.Errorf("%v of %d: got %v, %v; want %v", c.cpus, c.n, got, err, c.want)
		}
	}
}
