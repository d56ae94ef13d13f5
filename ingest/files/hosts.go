package files

import (
	"bytes"
	"fmt"
)

// hostOfFile is the node that a file names, in banners and time lines. A file
// that goes on with another host's lines, as logs put together by mistake do,
// is read up to there.
type hostOfFile struct {
	host  string // the first named
	ended bool   // another host was named: what follows is not this host's
}

// named takes a host's name; "" for a line that names none. The names are those
// of one host if they differ in their domain only.
func (h *hostOfFile) named(in *input, host string) {
	switch key, first := hostKey(host), hostKey(h.host); {
	case first == "":
		if h.host == "" || key != "" {
			h.host = host
		}
	case key != "" && key != first:
		h.ended = true
		in.problem(in.lines.number, fmt.Sprintf("lines of another host begin, %.64q after %.64q: not used, nor what follows", host, h.host))
	}
}

// passOver counts a line after the end as unread.
func (h *hostOfFile) passOver(in *input, line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		in.bad.count++
	}
}
