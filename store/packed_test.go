package store

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func packedBytes(values ...int64) []byte {
	p := packer{values: append([]int64(nil), values...)}
	return p.pack(nil)
}

// By hand, after the description in packed.go.
func TestNumbersArePackedAsDescribed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		values []int64
		want   string
	}{
		{"none", nil, ""},
		{"zero", []int64{0, 0, 0}, "02 00"},
		// Eight numbers of three bits: 001 010 011 100 101 110 111 000.
		{"one group", []int64{1, 2, 3, 4, 5, 6, 7, 0}, "07 03 29 cb b8"},
		// The unit is 20; 3 and 1 are 11 01 0...
		{"multiples", []int64{60, 20}, "11 14 02 d0 00"},
		// NULL is 1; 0 stays 0; 1 is 2: 01 00 10.
		{"NULL", []int64{null64, 0, 1}, "0a 02 48 00"},
		// The base is -2, zigzag 3; they are 0 and 1: 0 1.
		{"below zero", []int64{-2, -1}, "21 03 01 40"},
		// 32 numbers, of which three are not zero: after 2, 7 and 7 zeros come 9, 14
		// and 11. 010 111 111 0..., 1001 1110 1011 0...
		{"sparse", append([]int64{0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 11}, make([]int64, 13)...), "42 20 03 5f 80 00 04 9e b0 00 00"},
		// Steps of 1001 and then 1: above a base of 1 (zigzag 2) with a unit of
		// 1000 they are 1 0 0 ...; the first of 16 is the only one, 0 after none.
		{"steps", []int64{1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008}, "b7 e8 07 02 01 80"},
	} {
		if got := hex.EncodeToString(packedBytes(c.values...)); got != string(bytes.ReplaceAll([]byte(c.want), []byte(" "), nil)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPackedNumbersReadAsTheyWere(t *testing.T) {
	t.Parallel()
	var p packer
	var u unpacker
	for _, want := range NumbersOfAllKinds(rand.New(rand.NewPCG(13, 8))) {
		p.values = append(p.values[:0], want...)
		got, err := u.unpack(p.pack(nil))
		if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
			t.Fatalf("%v: got %v, %v", want, got, err)
		}
	}
	p.values = []int64{packedLimit, -packedLimit, math.MaxInt64, 7}
	if got, err := u.unpack(p.pack(nil)); err != nil || !cmp.Equal(got, []int64{null64, null64, null64, 7}) {
		t.Errorf("got %v, %v, want what is beyond the limit as unknown", got, err)
	}
}

func TestPackedNumbersThatAreDamagedAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, bytes string }{
		{"no group", "00"},
		{"no unit", "10"},
		{"a unit that never ends", "10 ff ff ff ff ff ff ff ff ff ff ff 01 80"},
		{"no base", "20"},
		{"no count", "40"},
		{"a count beyond the bound", "40 81 80 80 02 01 00 01 80"},
		{"a group cut short", "07 03 29 cb"},
		{"a shared byte with one group of two", "07 23 29 cb b8"},
		{"distances without numbers", "41 14 03 54 00 00"},
		{"a number past the last", "41 07 03 54 00 00 04 9e 00 00 00"},
		{"a distance past the last", "40 07 05 f8 00 00 00 00 04 90 00 00 00"},
	} {
		b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(c.bytes), []byte(" "), nil)))
		if err != nil {
			t.Fatal(c.name, err)
		}
		var u unpacker
		if got, err := u.unpack(b); err == nil {
			t.Errorf("%s: got %v and no error", c.name, got)
		}
	}
	many := []byte{0}
	for range mostPacked/packedGroup/packedGroup + 2 {
		many = append(many, 0xe0)
	}
	var u unpacker
	if got, err := u.unpack(many); err == nil {
		t.Errorf("%d numbers and no error", len(got))
	}
}

func FuzzUnpack(f *testing.F) {
	for _, values := range NumbersOfAllKinds(rand.New(rand.NewPCG(1, 1)))[:40] {
		f.Add(packedBytes(values...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var u unpacker
		values, err := u.unpack(b)
		if err != nil {
			return
		}
		for i, v := range values { // those beyond the limit are not packed
			if v <= -packedLimit || v >= packedLimit {
				values[i] = null64
			}
		}
		want := append([]int64(nil), values...)
		got, err := u.unpack(packedBytes(want...))
		if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
			t.Errorf("%v packed and read: %v, %v", want, got, err)
		}
	})
}
