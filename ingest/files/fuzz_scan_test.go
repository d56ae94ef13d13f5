package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// nothing is a sink that keeps nothing.
type nothing struct{}

func (nothing) Interrupts(*domain.InterruptSnapshot) error { return nil }
func (nothing) Softirqs(*domain.SoftirqSnapshot) error     { return nil }
func (nothing) CPUTimes(*domain.CPUTimesSnapshot) error    { return nil }
func (nothing) Disks(*domain.DiskSnapshot) error           { return nil }
func (nothing) Topology(domain.Topology) error             { return nil }
func (nothing) CPU(domain.CPUSample) error                 { return nil }
func (nothing) System(domain.SystemSample) error           { return nil }
func (nothing) Disk(domain.DiskSample) error               { return nil }
func (nothing) Placement(domain.Placement) error           { return nil }
func (nothing) Wait(domain.Wait) error                     { return nil }
func (nothing) Histogram(*domain.HistogramSnapshot) error  { return nil }
func (nothing) SystemEvent(domain.SystemEvent) error       { return nil }
func (nothing) Counter(domain.Counter) error               { return nil }
func (nothing) Instance(domain.Instance) error             { return nil }

// FuzzXZ opens the container of .xz files, which is read here; FuzzScan opens
// the others too, whose readers are libraries.
func FuzzXZ(f *testing.F) {
	plain := toy("kind=interrupts host=db1", 1, 2, 3)
	for _, seed := range []string{xzed(f, plain), xzed(f, ""), xzed(f, plain) + "\x00\x00\x00\x00" + xzed(f, plain), xzMagic, xzed(f, plain)[:40]} {
		f.Add([]byte(seed))
	}
	const room = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() (string, error) {
			z, err := newXZReader(bufio.NewReader(bytes.NewReader(data)), room)
			if err != nil {
				return "", err
			}
			content, err := io.ReadAll(io.LimitReader(z, room))
			return string(content), err
		}
		content, err := read()
		if errors.Is(err, io.EOF) {
			t.Error("an end where none may be is no io.EOF")
		}
		if again, _ := read(); again != content {
			t.Errorf("read %q, then %q", content, again)
		}
	})
}

// FuzzScan scans a file of any bytes and reads what is found in it with the
// readers of real files: neither may panic, and errors are limits only.
func FuzzScan(f *testing.F) {
	interrupts := "2026-09-10T09:00:00+09:00\n           CPU0       CPU1\n 24:         10         20   PCI-MSI 1 edge      ens3f0-TxRx-0\n"
	plain := toy("kind=interrupts host=db1", 1, 2, 3)
	for _, seed := range []string{
		"", "hello\n", interrupts, gzipped(f, interrupts), zstandard(f, plain), xzed(f, plain), fixture(f, "toy.tar.bz2"),
		tarred(f, entry{"dir/interrupts", interrupts}), zipped(f, entry{"dir/interrupts", interrupts}),
		gzipped(f, tarred(f, entry{"a.zip", zipped(f, entry{"interrupts", interrupts})})),
	} {
		f.Add([]byte(seed))
	}
	formats := append(toyFormats(), knownFormats()...)
	limits := Limits{MaxDecompressed: 8 << 20, MaxMembers: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		tooLong(t)
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := scan(t.Context(), []string{path}, limits, formats, nil)
		var limit *LimitError
		if errors.As(err, &limit) {
			return
		}
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		for _, node := range s.Nodes() {
			zones, _, _ := s.ResolveZones(node.Name, nil, time.UTC)
			if _, err := s.Read(t.Context(), node.Name, zones, nothing{}, nil); err != nil && !errors.As(err, &limit) {
				t.Fatalf("read: %v", err)
			}
		}
	})
}
