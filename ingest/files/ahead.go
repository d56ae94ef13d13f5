package files

import (
	"io"
	"sync"
)

// How far unpacking may run ahead of reading.
const (
	aheadBlock  = 128 << 10
	aheadBlocks = 8
)

// aheadReader unpacks in a goroutine of its own what is about to be read, a
// bounded number of blocks ahead. Close ends and awaits the goroutine: after it
// nothing touches the reader that lies below.
type aheadReader struct {
	filled chan aheadPart
	empty  chan []byte
	stop   chan struct{}
	done   sync.WaitGroup

	part aheadPart
	rest []byte // of part, not read yet
}

// aheadPart is one block as it was filled, and what ended the filling.
type aheadPart struct {
	block []byte
	err   error
}

func newAheadReader(from io.Reader) *aheadReader {
	a := &aheadReader{filled: make(chan aheadPart, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	for range aheadBlocks {
		a.empty <- nil // made when first needed
	}
	a.done.Go(func() { a.fill(from) })
	return a
}

// fill reads blocks until an error, or until Close.
func (a *aheadReader) fill(from io.Reader) {
	for {
		var block []byte
		select {
		case block = <-a.empty:
		case <-a.stop:
			return
		}
		if block == nil {
			block = make([]byte, aheadBlock)
		}
		n, err := readFull(from, block[:aheadBlock], a.stop)
		a.filled <- aheadPart{block[:n], err} // never blocks: there are no more blocks than room
		if err != nil {
			return
		}
	}
}

// readFull fills the block, unless an error or stop ends it before.
func readFull(from io.Reader, block []byte, stop <-chan struct{}) (n int, err error) {
	for empty := 0; n < len(block) && err == nil; {
		select {
		case <-stop:
			return n, io.ErrClosedPipe
		default:
		}
		var m int
		m, err = from.Read(block[n:])
		n += m
		if m > 0 {
			empty = 0
		} else if empty++; empty >= 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

func (a *aheadReader) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.part.err != nil {
			return 0, a.part.err
		}
		if a.part.block != nil {
			a.empty <- a.part.block // never blocks, as above
		}
		a.part = <-a.filled
		a.rest = a.part.block
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the goroutine and waits for it. Nothing may be read afterwards.
func (a *aheadReader) Close() {
	close(a.stop)
	a.done.Wait()
}
