package files

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// packing is how a file's content is packed, told from its first bytes, never
// from its name.
type packing uint8

const (
	packedNot packing = iota
	packedGzip
	packedZstd
	packedBzip2
	packedXZ
	packedTar
	packedZip
)

// sniffSize is how many first bytes tell a packing: one block of tar.
const sniffSize = 512

// packingOf tells the packing of a file that begins with head.
func packingOf(head []byte) packing {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		return packedGzip
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")), skippableFrame(head):
		return packedZstd
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) >= 10 &&
		(string(head[4:10]) == "1AY&SY" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return packedBzip2
	case bytes.HasPrefix(head, []byte(xzMagic)):
		return packedXZ
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return packedZip
	case tarHeader(head):
		return packedTar
	default:
		return packedNot
	}
}

// skippableFrame says whether a zstd stream begins with a frame of metadata,
// as those of pzstd and of seekable archives do (RFC 8878, 3.1.2).
func skippableFrame(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// tarHeader says whether head is a header block of tar: its checksum holds.
// The magic of POSIX alone would leave out archives of old tars.
func tarHeader(head []byte) bool {
	if len(head) < sniffSize {
		return false
	}
	const from, to = 148, 156 // the checksum's own bytes, summed as blanks
	digits := bytes.Trim(head[from:to], " \x00")
	if len(digits) == 0 {
		return false
	}
	want := 0
	for _, d := range digits {
		if d < '0' || d > '7' {
			return false
		}
		want = want*8 + int(d-'0')
	}
	sum := (to - from) * int(' ')
	for i, b := range head[:sniffSize] {
		if i < from || i >= to {
			sum += int(b)
		}
	}
	return sum == want
}

// unreadPackings are packings that are named but not read.
var unreadPackings = []struct{ magic, name string }{ //nolint:gochecknoglobals // a constant table
	{"7z\xbc\xaf\x27\x1c", "7z archive"},
	{"Rar!\x1a\x07", "RAR archive"},
	{"\x04\x22\x4d\x18", "lz4 file"},
	{"\x1f\x9d", "file of compress (.Z)"},
	{"LZIP", "lzip file"},
}

// The memory that decompression may take. Each compression within another may
// take half of what the one around it may, so that nesting does not multiply.
const (
	maxZstdWindow   = 128 << 20 // zstd --long=27 and all levels need no more
	maxXZDictionary = 256 << 20 // xz -9 needs 64 MiB
)

// decompressor opens a layer of compression; depth is how many lie around it.
func decompressor(p packing, r *bufio.Reader, depth int) (io.Reader, func(), error) {
	nothing := func() {}
	switch p {
	case packedGzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, notEOF(err)
		}
		return z, nothing, nil
	case packedZstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow>>depth))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case packedBzip2:
		return bzip2.NewReader(r), nothing, nil
	case packedXZ:
		z, err := newXZReader(r, maxXZDictionary>>depth)
		if err != nil {
			return nil, nil, err
		}
		return z, nothing, nil
	default:
		return nil, nil, fmt.Errorf("no compression: %d", p)
	}
}
