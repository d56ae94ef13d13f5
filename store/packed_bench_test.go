package store

import (
	"math/rand/v2"
	"testing"
)

// Ten seconds of interrupts of 64 CPUs, of which every fourth is busy.
func BenchmarkPack(b *testing.B) {
	draw := rand.New(rand.NewPCG(1, 64))
	values := make([]int64, 640)
	for i := range values {
		if i/10%4 == 0 {
			values[i] = 2_000 + draw.Int64N(300)
		}
	}
	var p packer
	var packed []byte
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			p.values = append(p.values[:0], values...)
			packed = p.pack(packed[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		var u unpacker
		for b.Loop() {
			if _, err := u.unpack(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
