package files

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func TestReadingAheadGivesTheSameBytesAndTheSameEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, size := range []int{0, 1, aheadBlock - 1, aheadBlock, aheadBlock + 1, aheadBlocks*aheadBlock*2 + 7} {
		text := bytes.Repeat([]byte("0123456789\n"), size/11+1)[:size]
		for name, end := range map[string]error{"whole": nil, "broken off": broken} {
			from := io.Reader(bytes.NewReader(text))
			if end != nil {
				from = io.MultiReader(from, iotest.ErrReader(end))
			}
			a := newAheadReader(iotest.HalfReader(from))
			got, err := io.ReadAll(a)
			if !bytes.Equal(got, text) || !errors.Is(err, end) {
				t.Errorf("%d bytes, %s: got %d bytes and %v", size, name, len(got), err)
			}
			a.Close()
		}
	}
}

// endless gives lines for ever and counts how often it is read.
type endless struct{ reads atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.reads.Add(1)
	return copy(b, strings.Repeat("x\n", 512)), nil
}

func TestAfterCloseNothingIsReadAhead(t *testing.T) {
	t.Parallel()
	for range 50 {
		from := &endless{}
		a := newAheadReader(from)
		if _, err := io.ReadFull(a, make([]byte, 3*aheadBlock)); err != nil {
			t.Fatal(err)
		}
		a.Close()
		read := from.reads.Load()
		// Blocks in hand and ahead bound how far it may have run.
		if most := int64((3 + aheadBlocks + 1) * aheadBlock / 1024); read > most {
			t.Errorf("%d reads, at most %d expected", read, most)
		}
		if from.reads.Load() != read {
			t.Error("read after Close")
		}
	}
}

// idle never gives anything, and no error either.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestAReaderThatGivesNothingIsAnError(t *testing.T) {
	t.Parallel()
	a := newAheadReader(idle{})
	defer a.Close()
	if _, err := io.ReadAll(a); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v", err)
	}
}
