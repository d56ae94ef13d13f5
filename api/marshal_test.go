package api_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/corewait/corewait/api"
	"github.com/corewait/corewait/api/corewaitv1"
)

func decode(t *testing.T, body []byte, l api.Limits) (*corewaitv1.Batch, error) {
	t.Helper()
	return api.Unmarshal(bytes.NewReader(body), l)
}

// compressed compresses bytes that need not be a batch.
func compressed(t testing.TB, plain []byte, o ...zstd.EOption) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(plain, nil)
}

// streamed compresses without saying how much it is.
func streamed(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(plain, 1<<10) {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// field gives a length-delimited field of a message.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func TestWhatIsNotABatchIsMalformedAndWhatIsTooMuchTooLarge(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 1<<20)
	// A frame of 1 MiB whose header says 16 bytes: magic, a descriptor of a single
	// segment with one byte of content size, that size (RFC 8878, 3.1.1), then the
	// blocks of the honest frame, whose header has four bytes of it.
	honest := compressed(t, zeros, zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false))
	lying := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 16}, honest[9:]...)
	for _, c := range []struct {
		name string
		body []byte
		l    api.Limits
		want error
	}{
		{"nothing", nil, api.Limits{}, api.ErrMalformed},
		{"text", []byte("hello, is this the place for batches?"), api.Limits{}, api.ErrMalformed},
		{"a cut frame", compressed(t, zeros)[:20], api.Limits{}, api.ErrMalformed},
		{"compressed text", compressed(t, []byte("hello")), api.Limits{}, api.ErrMalformed},
		{"a body over the limit", bytes.Repeat([]byte{1}, 101), api.Limits{Body: 100}, api.ErrTooLarge},
		{"more decompressed than is taken", compressed(t, zeros), api.Limits{Decompressed: 1<<20 - 1}, api.ErrTooLarge},
		{"more than is taken, unsaid", streamed(t, zeros), api.Limits{Decompressed: 1<<20 - 1}, api.ErrTooLarge},
		{"more than the frame says", lying, api.Limits{}, api.ErrTooLarge},
		{"two frames that are more than the first one says", append(compressed(t, field(3, []byte("boot")), zstd.WithSingleSegment(true)), compressed(t, zeros)...), api.Limits{}, api.ErrTooLarge},
		{"empty messages", compressed(t, bytes.Repeat(field(8, nil), 100)), api.Limits{Messages: 100}, api.ErrTooLarge},
		{"messages within messages", compressed(t, field(15, bytes.Repeat(field(2, nil), 100))), api.Limits{Messages: 101}, api.ErrTooLarge},
		{"elements of a packed list", compressed(t, field(8, field(4, make([]byte, 101)))), api.Limits{Elements: 100}, api.ErrTooLarge},
		{"elements of a list that is not packed", compressed(t, field(8, bytes.Repeat([]byte{4 << 3, 0}, 101))), api.Limits{Elements: 100}, api.ErrTooLarge},
		{"strings of a list", compressed(t, field(15, bytes.Repeat(field(6, nil), 101))), api.Limits{Elements: 100}, api.ErrTooLarge},
		{"a text that is not UTF-8", compressed(t, field(4, []byte{0xff})), api.Limits{}, api.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := decode(t, c.body, c.l); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	for _, c := range []struct {
		name string
		body []byte
		l    api.Limits
	}{
		{"a frame that does not say its size", streamed(t, field(3, bytes.Repeat([]byte("b"), 5_000))), api.Limits{}},
		{"as many messages as are taken", compressed(t, bytes.Repeat(field(8, nil), 100)), api.Limits{Messages: 101}}, // and the batch
		{"as many elements as are taken", compressed(t, field(8, field(4, make([]byte, 100)))), api.Limits{Elements: 100}},
		{"fields that a later contract adds", compressed(t, field(1_000, []byte("later"))), api.Limits{}},
	} {
		t.Run(c.name+" is taken", func(t *testing.T) {
			t.Parallel()
			b, err := decode(t, c.body, c.l)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(b.ProtoReflect().GetUnknown()); n != 0 {
				t.Errorf("%d bytes of unknown fields are kept", n)
			}
		})
	}
}

func TestABodyThatCannotBeReadIsNeitherMalformedNorTooLarge(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	_, err := api.Unmarshal(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), api.Limits{})
	if !errors.Is(err, broken) || errors.Is(err, api.ErrMalformed) || errors.Is(err, api.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestABatchThatNobodyWouldTakeIsNotMade(t *testing.T) {
	t.Parallel()
	_, err := api.Marshal(&corewaitv1.Batch{SpoolId: make([]byte, api.MaxDecompressed)})
	if !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	body, err := api.Marshal(exampleBatch())
	if err != nil {
		b.Fatal(err)
	}
	d, err := api.NewDecoder(api.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever bytes come, they are refused or become a batch, within bounds.
func FuzzUnmarshal(f *testing.F) {
	body, err := api.Marshal(exampleBatch())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(compressed(f, field(15, bytes.Repeat(field(2, nil), 100))))
	d, err := api.NewDecoder(api.Limits{Decompressed: 1 << 20, Messages: 1_000, Elements: 10_000})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(d.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := d.Decode(body, nil)
		if err != nil {
			if !errors.Is(err, api.ErrMalformed) && !errors.Is(err, api.ErrTooLarge) {
				t.Errorf("neither malformed nor too large: %v", err)
			}
			return
		}
		if n := len(b.GetInterrupts()) + len(b.GetTopology()) + len(b.GetGaps()); n > 1_000 {
			t.Errorf("%d messages", n)
		}
	})
}
