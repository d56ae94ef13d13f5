package domain

import "time"

// InterruptSample is what the interrupts of devices did on a node over an
// interval.
type InterruptSample struct {
	From, To time.Time
	CPUs     []int // ids of the CPUs online, ascending
	// Counts are interrupts by CPU, of all devices but storage; negative unknown.
	Counts []int64
	// Wrapped is how many counters wrapped at 32 bits in the interval,
	// Implausible how many moved by what cannot be told from a reset or several wraps.
	Wrapped, Implausible int
}

// DeviceSample tells which interrupt lines interrupted which CPUs over a
// stretch of time: one interval, or several in a row.
type DeviceSample struct {
	From, To time.Time
	Observed time.Duration // less than To-From where some of it was not observed
	Gains    []LineGain    // only what gained; ascending by line, then CPU
	// Untracked is how many readings of lines beyond the bound are missing.
	Untracked int
}

// LineGain is how often one line interrupted one CPU.
type LineGain struct {
	Line  Line
	CPU   int
	Count int64
}

// Line names a line of /proc/interrupts: a number may go to another device
// while the node runs.
type Line struct {
	IRQ    string // as printed before the colon
	Device string
	Class  DeviceClass
}

// SoftirqSample is how often one softirq ran on each CPU over an interval.
type SoftirqSample struct {
	From, To time.Time
	Name     string // "NET_RX"
	CPUs     []int  // ids, ascending
	Counts   []int64
	// MaxPerS is the most in any second of the interval; nil where the interval
	// was observed as a whole. Negative is unknown, in Counts as well.
	MaxPerS []int64
}

// Reasons of a Gap.
const (
	GapMissing    = "missing"    // readings are missing between From and To
	GapReset      = "reset"      // counters started anew: the interval is unknown
	GapUntimed    = "untimed"    // a reading without a time; From and To are zero
	GapOverlap    = "overlap"    // a reading of time that was already observed
	GapIncomplete = "incomplete" // a reading that lacks lines its neighbours have
)

// GapInterrupts is the source of gaps in readings of /proc/interrupts.
const GapInterrupts = "interrupts"

// Gap is a stretch of time that a source should have observed and did not, or
// a reading that was left out.
type Gap struct {
	Source   string
	From, To time.Time // equal for a reading that was left out
	Reason   string
}
