package interruptlog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/corewait/corewait/procfmt"
)

func TestAReadingIsReadBackWhole(t *testing.T) {
	t.Parallel()
	l := New(8, 12, 16)
	l.Next()
	var p procfmt.InterruptParser
	snap, err := p.Parse(l.Next())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.CPUs) != 8 || len(snap.Lines) != 12 {
		t.Fatalf("%d CPUs and %d lines, want 8 and 12", len(snap.CPUs), len(snap.Lines))
	}
	// By hand: line 3 interrupts CPU 3 alone (3 modulo 16), by
	// 50 + (1*10 + 3*13) and 50 + (2*10 + 3*13) in two readings.
	if got, want := snap.Lines[3].Counts[3], uint64(50+49+50+59); got != want {
		t.Errorf("count %d, want %d", got, want)
	}
	if got := snap.Lines[3].Counts[2]; got != 0 {
		t.Errorf("another CPU counts %d, want 0", got)
	}
	if got := snap.Lines[11].ID; got != "TLB" {
		t.Errorf("last line %s, want TLB", got)
	}
}

func TestALogEndsWithTheReadingThatFillsIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	readings, written, err := New(4, 6, 16).Write(&out, 5000)
	if err != nil {
		t.Fatal(err)
	}
	if int64(out.Len()) != written || written < 5000 {
		t.Errorf("%d bytes told, %d written, want 5000 at least", written, out.Len())
	}
	if got := strings.Count(out.String(), "CPU0"); got != readings {
		t.Errorf("%d headers, want %d", got, readings)
	}
	if !strings.HasPrefix(out.String(), "2026-01-05T00:00:01Z\n") {
		t.Errorf("begins with %.30q", out.String())
	}
}
