package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// The tests of walking, unpacking and placing use a format of their own, so
// that they say what they mean and hold whatever the readers of real files do.
// A toy file begins with a line such as
//
//	toy kind=interrupts clock=host host=db1 zone=+09:00 first=2026-09-10T09:00:00
//
// and each further line is a number, which is sent as the value of a Counter.

// toy writes a toy file: the fields of its first line, then its numbers.
func toy(fields string, numbers ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "toy %s\n", fields)
	for _, n := range numbers {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func toyFormats() []format {
	kinds := []struct {
		kind  Kind
		clock clock
	}{
		{KindInterrupts, clockHost}, {KindVmstat, clockHost}, {KindPidstat, clockHost}, {KindBonding, clockNone},
		{KindLscpu, clockNone}, {KindASH, clockDB}, {KindSysstat, clockDB}, {KindInstance, clockDB},
	}
	formats := make([]format, 0, len(kinds))
	for _, k := range kinds {
		formats = append(formats, format{kind: k.kind, clock: k.clock, read: readToy, probe: func(head []byte) (probed, bool) {
			return probeToy(head, k.kind, k.clock)
		}})
	}
	return formats
}

func probeToy(head []byte, kind Kind, c clock) (probed, bool) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 2 || words[0] != "toy" || words[1] != "kind="+string(kind) {
		return probed{}, false
	}
	p := probed{hasTimes: c != clockNone}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "host":
			p.host = value
		case "instance":
			p.instance = value
		case "zone":
			p.zone, _ = ParseZone(value)
		case "absolute":
			p.absolute = true
		case "first":
			zone := time.UTC
			if p.zone != nil {
				zone = p.zone
			}
			p.first, _ = time.ParseInLocation("2006-01-02T15:04:05", value, zone)
		}
	}
	return p, true
}

func readToy(_ context.Context, in *input, to ingest.Sink) error {
	for {
		line, err := in.lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if in.lines.number == 1 {
			continue
		}
		if string(line) == "unreadable from here" {
			return errors.New("it says so")
		}
		n, err := strconv.ParseInt(string(line), 10, 64)
		if err != nil {
			in.problem(in.lines.number, "not a number")
			continue
		}
		if err := to.Counter(domain.Counter{Name: in.name, Value: n, At: time.Date(2026, 9, 10, 9, 0, 0, 0, in.zone)}); err != nil {
			return err
		}
		in.count++
	}
}

// numbers is a sink that keeps what toy files send.
type numbers struct {
	ingest.Sink
	got   []int64
	zones []string // offsets of the zones they were read in
	each  func() error
}

func (n *numbers) Counter(c domain.Counter) error {
	n.got = append(n.got, c.Value)
	n.zones = append(n.zones, c.At.Format("-07:00"))
	if n.each != nil {
		return n.each()
	}
	return nil
}

// tree writes files below a new folder and gives it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// scanTree scans a folder with the toy formats.
func scanTree(t *testing.T, dir string, limits Limits) *Set {
	t.Helper()
	s, err := scan(t.Context(), []string{dir}, limits, toyFormats(), nil)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return s
}

// readNode reads a node with zones unknown.
func readNode(t *testing.T, s *Set, node string) ([]int64, *Report) {
	t.Helper()
	sink := &numbers{}
	report, err := s.Read(t.Context(), node, Zones{}, sink, nil)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return sink.got, report
}

// below strips the folder from names, so that they can be compared.
func below(dir, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}
