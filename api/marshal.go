package api

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/corewait/corewait/api/corewaitv1"
)

// Reasons why a body is not taken. An error that is neither is the reader's own:
// the body could not be read to its end.
var (
	ErrMalformed = errors.New("malformed")
	ErrTooLarge  = errors.New("too large")
)

// compressor makes the one encoder, which keeps nothing from one call to the next
// and may be used by several at once. Its window is that of a push and its tables
// are small: an agent has little memory.
var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20),
		zstd.WithSingleSegment(true)) // which says how much it holds, however little
})

// Marshal gives the body of a push, and a record of an agent's file. The bytes of a
// batch are the same each time.
func Marshal(b *corewaitv1.Batch) ([]byte, error) {
	plain, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("marshal a batch: %w", err)
	}
	z, err := compressor()
	if err != nil {
		return nil, fmt.Errorf("compress a batch: %w", err)
	}
	body := z.EncodeAll(plain, nil)
	if len(body) > MaxBody || len(plain) > MaxDecompressed {
		return nil, fmt.Errorf("batch of %d bytes, %d compressed: %w: at most %d and %d are taken", len(plain), len(body), ErrTooLarge, MaxDecompressed, MaxBody)
	}
	return body, nil
}

// Limits bound what a body may take. What is 0 has its usual bound.
type Limits struct {
	Body         int64 // bytes, compressed; MaxBody
	Decompressed int64 // bytes; MaxDecompressed
	// Messages and Elements bound how many messages and elements of lists a batch
	// holds. A push of a node with 1,024 CPUs holds some ten thousand messages and
	// some hundred thousand elements; either takes a hundred times as much memory
	// as bytes in the body.
	Messages, Elements int // 100,000 and 2,000,000
}

func (l Limits) withDefaults() Limits {
	if l.Body <= 0 {
		l.Body = MaxBody
	}
	if l.Decompressed <= 0 {
		l.Decompressed = MaxDecompressed
	}
	if l.Messages <= 0 {
		l.Messages = 30_000
	}
	if l.Elements <= 0 {
		l.Elements = 1_000_000
	}
	return l
}

// Decoder takes batches out of bodies. It is safe for concurrent use.
type Decoder struct {
	limits Limits
	zstd   *zstd.Decoder
	plain  sync.Pool // of *[]byte
}

// NewDecoder makes a Decoder of these limits.
func NewDecoder(l Limits) (*Decoder, error) {
	l = l.withDefaults()
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(l.Decompressed)), //nolint:gosec // positive
		// DecodeAll needs no window beside what it decodes into.
		zstd.WithDecoderMaxWindow(max(uint64(l.Decompressed), zstd.MinWindowSize))) //nolint:gosec // positive
	if err != nil {
		return nil, fmt.Errorf("decompress batches: %w", err)
	}
	return &Decoder{limits: l, zstd: z}, nil
}

// Close ends what the decoder holds.
func (d *Decoder) Close() { d.zstd.Close() }

// Read reads a body to its end, and no more of it than the limits allow.
func (d *Decoder) Read(body io.Reader) ([]byte, error) {
	compressed, err := io.ReadAll(io.LimitReader(body, d.limits.Body+1))
	if err != nil {
		return nil, fmt.Errorf("read a batch: %w", err)
	}
	if int64(len(compressed)) > d.limits.Body {
		return nil, fmt.Errorf("body: %w: at most %d bytes are taken", ErrTooLarge, d.limits.Body)
	}
	return compressed, nil
}

// Size gives how many bytes a body says that it holds; the limit where it does
// not say. Decode needs as much, and refuses a body that holds more.
func (d *Decoder) Size(compressed []byte) (int64, error) {
	var h zstd.Header
	if err := h.Decode(compressed); err != nil || h.Skippable {
		return 0, fmt.Errorf("zstd: no frame: %w", ErrMalformed)
	}
	if !h.HasFCS {
		return d.limits.Decompressed, nil
	}
	if h.FrameContentSize > uint64(d.limits.Decompressed) { //nolint:gosec // positive
		return 0, fmt.Errorf("decompressed: %w: at most %d bytes are taken", ErrTooLarge, d.limits.Decompressed)
	}
	return int64(h.FrameContentSize), nil //nolint:gosec // bounded in the line above
}

// pooledBytes bounds the memory that is kept from one batch for the next.
const pooledBytes = 1 << 20

// Decode takes the batch out of what Read gave. Before it takes memory for it, it
// tells reserve, which may be nil, about how many bytes that and its rows will be; an
// error of reserve is given as it is.
func (d *Decoder) Decode(compressed []byte, reserve func(bytes int64) error) (*corewaitv1.Batch, error) {
	size, err := d.Size(compressed)
	if err != nil {
		return nil, err
	}
	pooled, _ := d.plain.Get().(*[]byte)
	if pooled == nil {
		pooled = new([]byte)
	}
	defer d.plain.Put(pooled)
	into := *pooled
	if int64(cap(into)) < size {
		into = make([]byte, 0, size)
		if size <= pooledBytes {
			*pooled = into
		}
	}
	plain, err := d.zstd.DecodeAll(compressed, into[:0:size])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, fmt.Errorf("decompressed: %w: more than its %d bytes", ErrTooLarge, size)
	case err != nil:
		return nil, fmt.Errorf("zstd: %w: %w", ErrMalformed, err)
	}
	cost, err := d.limits.check(plain)
	if err == nil && reserve != nil {
		err = reserve(cost)
	}
	if err != nil {
		return nil, err
	}
	b := new(corewaitv1.Batch)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(plain, b); err != nil {
		return nil, fmt.Errorf("protobuf: %w: %w", ErrMalformed, err)
	}
	return b, nil
}

// Unmarshal reads one body and takes the batch out of it, within limits.
func Unmarshal(body io.Reader, l Limits) (*corewaitv1.Batch, error) {
	d, err := NewDecoder(l)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	compressed, err := d.Read(body)
	if err != nil {
		return nil, err
	}
	return d.Decode(compressed, nil)
}
