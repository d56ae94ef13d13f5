package files

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// The container of .xz files is read here and only its LZMA2 content by the
// library: the library's own container reader takes whatever dictionary a
// block asks for, up to 4 GiB.
//
// Source: The .xz File Format, version 1.2.1, tukaani.org/xz/xz-file-format.txt.
const (
	xzHeaderSize = 12
	xzFooterSize = 12
	xzLZMA2      = 0x21 // filter id
	xzMagic      = "\xfd7zXZ\x00"
	xzFooter     = "YZ"
)

var (
	errXZCorrupt = errors.New("xz: corrupted")
	errXZFilter  = errors.New("xz: a filter other than LZMA2 is not read")
)

// xzReader gives the content of the streams of an .xz file.
type xzReader struct {
	r       *bufio.Reader
	maxDict int64
	check   byte          // of the stream: 0 none, 1 CRC32, 4 CRC64, 10 SHA-256
	block   *lzma.Reader2 // nil between blocks
	packed  *countedBytes // of the block
	sum     hash.Hash     // of the block; nil where the stream has no check that is known
	err     error         // the first, given ever after
}

// countedBytes counts what a block takes from the stream, for its padding.
type countedBytes struct {
	r *bufio.Reader
	n int64
}

func (c *countedBytes) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *countedBytes) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func newXZReader(r *bufio.Reader, maxDict int64) (*xzReader, error) {
	x := &xzReader{r: r, maxDict: maxDict}
	if err := x.streamHeader(); err != nil {
		return nil, notEOF(err)
	}
	return x, nil
}

// Read gives content, and io.EOF only behind a complete last stream.
func (x *xzReader) Read(b []byte) (n int, err error) {
	for n == 0 && x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err = x.block.Read(b)
		if x.sum != nil {
			x.sum.Write(b[:n])
		}
		if errors.Is(err, io.EOF) {
			err = x.endBlock()
		}
		x.err = notEOF(err)
	}
	return n, x.err
}

// next goes to the next block, in this stream or in one behind it. It gives
// io.EOF where the file ends between streams.
func (x *xzReader) next() error {
	for {
		size, err := x.r.ReadByte()
		if err != nil {
			return notEOF(err)
		}
		if size != 0 {
			return notEOF(x.blockHeader(size))
		}
		if err := x.endStream(); err != nil {
			return notEOF(err)
		}
		if err := x.skipPadding(); err != nil {
			return err
		}
		if err := x.streamHeader(); err != nil {
			return notEOF(err)
		}
	}
}

func (x *xzReader) streamHeader() error {
	var h [xzHeaderSize]byte
	if _, err := io.ReadFull(x.r, h[:]); err != nil {
		return err
	}
	if string(h[:6]) != xzMagic || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) || h[6] != 0 || h[7] > 15 {
		return errXZCorrupt
	}
	x.check = h[7]
	return nil
}

func (x *xzReader) blockHeader(size byte) error {
	h := make([]byte, (int(size)+1)*4)
	h[0] = size
	if _, err := io.ReadFull(x.r, h[1:]); err != nil {
		return err
	}
	body := h[:len(h)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(h[len(body):]) {
		return errXZCorrupt
	}
	dict, err := dictionarySize(body[1:])
	if err != nil {
		return err
	}
	if dict > x.maxDict {
		return fmt.Errorf("xz: needs a dictionary of %s, more than %s", bytesInWords(dict), bytesInWords(x.maxDict))
	}
	x.packed = &countedBytes{r: x.r}
	x.block, err = lzma.Reader2Config{DictCap: int(max(dict, lzma.MinDictCap))}.NewReader2(x.packed)
	x.sum = newXZCheck(x.check)
	return err
}

// dictionarySize reads a block header behind its size byte.
func dictionarySize(h []byte) (int64, error) {
	r := bytes.NewReader(h)
	flags, err := r.ReadByte()
	if err != nil || flags&0x3c != 0 {
		return 0, errXZCorrupt
	}
	if flags&0x03 != 0 {
		return 0, errXZFilter
	}
	for _, given := range []bool{flags&0x40 != 0, flags&0x80 != 0} { // packed and unpacked size
		if given {
			if _, err := binary.ReadUvarint(r); err != nil {
				return 0, errXZCorrupt
			}
		}
	}
	filter, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, errXZCorrupt
	}
	if filter != xzLZMA2 {
		return 0, errXZFilter
	}
	properties, err := binary.ReadUvarint(r)
	if err != nil || properties != 1 {
		return 0, errXZCorrupt
	}
	bits, err := r.ReadByte()
	if err != nil || bits > 40 {
		return 0, errXZCorrupt
	}
	if bits == 40 {
		return 1<<32 - 1, nil
	}
	return int64(2|bits&1) << (bits/2 + 11), nil
}

// endBlock reads a block's padding and compares its check.
func (x *xzReader) endBlock() error {
	x.block = nil
	pad := make([]byte, (4-x.packed.n%4)%4)
	if _, err := io.ReadFull(x.r, pad); err != nil {
		return notEOF(err)
	}
	want := make([]byte, xzCheckSize(x.check))
	if _, err := io.ReadFull(x.r, want); err != nil {
		return notEOF(err)
	}
	if x.sum == nil {
		return nil
	}
	got := x.sum.Sum(nil)
	if x.check != 10 { // CRCs are stored with the low byte first
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: check differs", errXZCorrupt)
	}
	return nil
}

// endStream reads the index, whose indicator was read, and the footer. The
// index repeats what the blocks said; it is passed over.
func (x *xzReader) endStream() error {
	c := &countedBytes{r: x.r, n: 1}
	records, err := binary.ReadUvarint(c)
	if err != nil {
		return err
	}
	for range records {
		for range 2 {
			if _, err := binary.ReadUvarint(c); err != nil {
				return err
			}
		}
	}
	rest := make([]byte, (4-c.n%4)%4+4+xzFooterSize)
	if _, err := io.ReadFull(x.r, rest); err != nil {
		return notEOF(err)
	}
	if string(rest[len(rest)-2:]) != xzFooter {
		return errXZCorrupt
	}
	return nil
}

// skipPadding passes over the zero bytes between streams. It gives io.EOF at
// the end of the file.
func (x *xzReader) skipPadding() error {
	for {
		b, err := x.r.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return x.r.UnreadByte()
		}
	}
}

func newXZCheck(id byte) hash.Hash {
	switch id {
	case 1:
		return crc32.NewIEEE()
	case 4:
		return crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		return sha256.New()
	default:
		return nil
	}
}

// xzCheckSize is the size of a check, also of those that are reserved.
func xzCheckSize(id byte) int {
	return [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[id&15]
}

// notEOF turns an end where none may be into io.ErrUnexpectedEOF.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
