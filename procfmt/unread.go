package procfmt

import (
	"bytes"
	"fmt"
)

// UnreadRows says that some rows of a text could not be read and are not part
// of the snapshot.
type UnreadRows struct {
	Count int
	Line  int   // of the first, from 1
	First error // why
}

func (u *UnreadRows) Error() string {
	return fmt.Sprintf("%d rows could not be read, the first in line %d: %v", u.Count, u.Line, u.First)
}

func (u *UnreadRows) Unwrap() error { return u.First }

// err gives a copy: the one that is counted in stays off the heap.
func (u *UnreadRows) err() error {
	told := *u
	return &told
}

func (u *UnreadRows) note(line int, err error) {
	if err == nil {
		return
	}
	if u.Count == 0 {
		u.Line, u.First = line, err
	}
	u.Count++
}

// cutLine splits off the first line of data.
func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}
