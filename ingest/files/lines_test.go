package files

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	for _, tt := range []struct {
		name, text string
		want       []string
		tooLong    []int
	}{
		{"an empty file has no lines", "", nil, nil},
		{"lines are given without their ends", "a\nb\n", []string{"a", "b"}, nil},
		{"carriage returns are part of the end", "a\r\nb\r\n", []string{"a", "b"}, nil},
		{"a missing last newline is tolerated", "a\nb", []string{"a", "b"}, nil},
		{"blank lines are lines", "\n\na\n\n", []string{"", "", "a", ""}, nil},
		{"a byte order mark is not part of the first line", "\xef\xbb\xbfa\n\xef\xbb\xbfb\n", []string{"a", "\xef\xbb\xbfb"}, nil},
		{"a line longer than the buffer is whole", long[:maxLine/2] + "\nb\n", []string{long[:maxLine/2], "b"}, nil},
		{"a line over the limit is told and passed over", "a\n" + long + "y\nb\n", []string{"a", "b"}, []int{2}},
		{"an over-long last line without newline is told", "a\n" + long + long, []string{"a"}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var tooLong []int
			l := newLineReader(strings.NewReader(tt.text), func(line int) { tooLong = append(tooLong, line) })
			for {
				line, err := l.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.tooLong, tooLong); diff != "" {
				t.Errorf("too long (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineReaderGivesNoPartOfALineThatBreaksOff(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	l := newLineReader(io.MultiReader(strings.NewReader("4210\n42"), iotest.ErrReader(broken)), nil)
	line, err := l.next()
	if string(line) != "4210" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	if line, err = l.next(); line != nil || !errors.Is(err, broken) {
		t.Errorf("got %q, %v; want no line and the cause", line, err)
	}
}
