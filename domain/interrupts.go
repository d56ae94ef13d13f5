package domain

import "time"

// DeviceClass says what kind of device an interrupt line belongs to.
type DeviceClass uint8

// Device classes. Kernel lines (LOC, RES, IPI0, ...) are not device lines and
// are kept apart: LOC alone exceeds any threshold.
const (
	ClassOther DeviceClass = iota
	ClassNetwork
	ClassStorage
	ClassKernel
)

// String gives the name used in JSON output.
func (c DeviceClass) String() string {
	switch c {
	case ClassNetwork:
		return "network"
	case ClassStorage:
		return "storage"
	case ClassKernel:
		return "kernel"
	case ClassOther:
	}
	return "other"
}

// InterruptLine is one line of /proc/interrupts.
type InterruptLine struct {
	ID          string      // as printed before the colon: "120", "LOC", "IPI0"
	Description string      // the text after the counts: chip, trigger and handlers
	Device      string      // "ens3f0", "nvme0", "qla2xxx1"; empty where no name pattern tells
	Class       DeviceClass // ClassKernel for the kernel's own lines
	// Counts holds one counter per CPU, in the order of InterruptSnapshot.CPUs.
	// It is nil for lines that carry one value for all CPUs (ERR, MIS).
	Counts []uint64
	// Single is the value of a line that has one for all CPUs; else 0.
	Single uint64
}

// InterruptSnapshot is one reading of /proc/interrupts: counters since boot.
//
// Parsers reuse it: it is valid until the next one is read; who keeps it
// copies it with Clone.
type InterruptSnapshot struct {
	At    time.Time // zero where the source carries no time
	CPUs  []int     // ids from the header: online CPUs only, may have holes
	Lines []InterruptLine
}

// Clone gives a copy that does not share memory with s.
func (s *InterruptSnapshot) Clone() *InterruptSnapshot {
	c := &InterruptSnapshot{At: s.At, CPUs: append([]int(nil), s.CPUs...), Lines: append([]InterruptLine(nil), s.Lines...)}
	for i := range c.Lines {
		if c.Lines[i].Counts != nil {
			c.Lines[i].Counts = append([]uint64(nil), c.Lines[i].Counts...)
		}
	}
	return c
}

// SoftirqSnapshot is one reading of /proc/softirqs: counters since boot over
// the possible CPUs (not only those online).
type SoftirqSnapshot struct {
	At     time.Time
	CPUs   []int
	Names  []string   // NET_RX, TIMER, ...
	Counts [][]uint64 // by name, then CPU
}
