package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// parkingRoom bounds what members of archives may take, compressed, while they
// wait for their turn: logs shrink twenty times and more. Parts that are read at
// the same time have equal shares of it.
const parkingRoom = 64 << 20

// parkedContent is a member held in memory, compressed.
type parkedContent struct {
	data   []byte
	broken error // what the member broke off with; nil where it is whole
}

func (p *parkedContent) size() int64 { return int64(cap(p.data)) }

// reader gives the content again, and behind it what broke it.
func (p *parkedContent) reader() (io.Reader, func(), error) {
	z, err := zstd.NewReader(bytes.NewReader(p.data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, err
	}
	if p.broken == nil {
		return z, z.Close, nil
	}
	return io.MultiReader(z, brokenReader{p.broken}), z.Close, nil
}

// brokenReader gives an error.
type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// errNoRoom says that a member does not fit where it would be parked.
var errNoRoom = errors.New("no room")

// boundedBuffer holds what is written up to a bound.
type boundedBuffer struct {
	bytes.Buffer
	bound int64
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.bound {
		return 0, errNoRoom
	}
	return b.Buffer.Write(p)
}

// park holds a member until its turn. One for which there is no room stays
// where it is, to be met in a later pass.
func (r *partReading) park(src *source, content io.Reader) error {
	if r.room <= 0 {
		return nil
	}
	held := &boundedBuffer{bound: r.room}
	z, err := zstd.NewWriter(held, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return fmt.Errorf("%s: %w", src.Name, err)
	}
	stream := &watchedStream{ctx: r.ctx, r: content}
	_, err = io.Copy(z, stream)
	if fatal(err) {
		return err
	}
	full := errors.Is(err, errNoRoom)
	if err := z.Close(); full || err != nil {
		return nil //nolint:nilerr // met again in a later pass
	}
	p := &parkedContent{data: held.Bytes(), broken: stream.broken}
	r.room -= p.size()
	r.parked[src] = p
	return nil
}
