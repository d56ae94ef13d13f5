package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// intake is one reading of one file on disk: it counts what comes out, stops
// at the limits and when the context ends.
type intake struct {
	ctx      context.Context //nolint:containedctx // lives as long as one reading of one file
	name     string          // as shown to people
	limits   Limits
	unpacked int64
	members  int
	onRead   func(offset int64) // told how far into the file on disk reading got; may be nil
}

// member counts one more member of an archive.
func (in *intake) member() error {
	in.members++
	if in.members > in.limits.MaxMembers {
		return &LimitError{File: in.name, Limit: fmt.Sprintf("more than %d members", in.limits.MaxMembers)}
	}
	return nil
}

// packedFile is the file on disk, read in order or at offsets.
type packedFile struct {
	in     *intake
	f      *os.File
	offset int64
	// room is how many bytes may still be read at offsets; negative for any number.
	room int64
}

// errDirectoryTooLarge is told by ReadAt when room is used up.
var errDirectoryTooLarge = errors.New("its directory is too large")

func (p *packedFile) Read(b []byte) (int, error) {
	if err := p.in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.f.Read(b)
	p.offset += int64(n)
	p.told(p.offset)
	return n, bareRead(err)
}

func (p *packedFile) ReadAt(b []byte, offset int64) (int, error) {
	if err := p.in.ctx.Err(); err != nil {
		return 0, err
	}
	if p.room >= 0 {
		if int64(len(b)) > p.room {
			return 0, errDirectoryTooLarge
		}
		p.room -= int64(len(b))
	}
	n, err := p.f.ReadAt(b, offset)
	if p.room < 0 { // a directory lies at the end and says nothing of how far reading got
		p.told(offset + int64(n))
	}
	return n, bareRead(err)
}

func (p *packedFile) told(offset int64) {
	if p.in.onRead != nil {
		p.in.onRead(offset)
	}
}

// bareRead strips the path, which the reader of the error knows, but keeps
// io.EOF comparable.
func bareRead(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return bare(err)
}

// unpackedStream is the output of one layer of packing.
type unpackedStream struct {
	in *intake
	r  io.Reader
}

func (u *unpackedStream) Read(b []byte) (int, error) {
	if err := u.in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := u.r.Read(b)
	u.in.unpacked += int64(n)
	if u.in.unpacked > u.in.limits.MaxDecompressed {
		return 0, &LimitError{File: u.in.name, Limit: "unpacks to more than " + bytesInWords(u.in.limits.MaxDecompressed)}
	}
	return n, err
}

// fatal says whether an error ends the whole reading, not just one file's: the
// caller gave up, or a limit is exceeded.
func fatal(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
