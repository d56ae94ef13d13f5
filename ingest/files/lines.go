package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line: 2,000 CPUs of /proc/interrupts make one of 22 KiB.
const maxLine = 1 << 20

// lineReader gives a file's lines without their ends, and without a leading
// byte order mark. Lines over maxLine are passed over whole and told through
// tooLong; memory stays bounded whatever the input.
type lineReader struct {
	r       *bufio.Reader
	number  int // of the line given last, from 1
	long    []byte
	tooLong func(line int)
}

func newLineReader(r io.Reader, tooLong func(line int)) *lineReader {
	size := 256 << 10
	// What is in memory, as the beginnings that formats are shown, needs no
	// larger buffer than itself.
	if m, ok := r.(interface{ Len() int }); ok {
		size = min(size, m.Len()+1)
	}
	return &lineReader{r: bufio.NewReaderSize(r, size), tooLong: tooLong}
}

// next gives the next line, valid until the call after it, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		l.number++
		if errors.Is(err, bufio.ErrBufferFull) {
			var ok bool
			line, ok, err = l.rest(line)
			if err == nil && !ok {
				l.tooLong(l.number)
				continue
			}
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("line %d: %w", l.number, err)
			}
			l.number--
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if l.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, nil
	}
}

// rest gathers a line that outgrew the buffer; ok is false where it outgrew
// maxLine as well and was dropped.
func (l *lineReader) rest(begin []byte) (line []byte, ok bool, err error) {
	l.long = append(l.long[:0], begin...)
	ok = true
	for {
		part, err := l.r.ReadSlice('\n')
		if ok && len(l.long)+len(part) > maxLine {
			ok = false
		}
		if ok {
			l.long = append(l.long, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil // the next call meets the end again
		}
		return l.long, ok, err
	}
}
