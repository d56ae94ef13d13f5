// Package series holds the columnar series of one node and of the instance on
// it, and their builder, which implements ingest.Sink. It is the only place
// that turns counters into rates, joins overlaps and marks gaps. It does no
// I/O and knows nothing of files or databases.
package series

import (
	"math"
	"sort"
	"time"

	"github.com/corewait/corewait/domain"
)

// Micros is an instant in microseconds since the Unix epoch, UTC.
type Micros = int64

// Second is one second in Micros.
const Second Micros = 1_000_000

// FromTime gives the instant of t.
func FromTime(t time.Time) Micros { return t.UnixMicro() }

// ToTime gives the time of an instant, in UTC.
func ToTime(us Micros) time.Time { return time.UnixMicro(us).UTC() }

// Span is a half-open stretch of time, [From, To).
type Span struct{ From, To Micros }

// Seconds gives the length of the span.
func (s Span) Seconds() float64 { return float64(s.To-s.From) / float64(Second) }

// Contains says whether t lies in [From, To).
func (s Span) Contains(t Micros) bool { return t >= s.From && t < s.To }

// Matrix holds one value per interval and CPU, row by row. Intervals ascend
// and do not overlap; what lies between them was not observed. NaN is unknown.
type Matrix struct {
	CPUs  []int // ids of the columns, ascending
	Spans []Span
	V     []float32
}

// Row gives the values of interval i, in the order of CPUs.
func (m *Matrix) Row(i int) []float32 {
	n := len(m.CPUs)
	return m.V[i*n : (i+1)*n]
}

// Column gives the column of a CPU id, or -1.
func (m *Matrix) Column(cpu int) int {
	i := sort.SearchInts(m.CPUs, cpu)
	if i < len(m.CPUs) && m.CPUs[i] == cpu {
		return i
	}
	return -1
}

// At gives the interval that holds t, or -1.
func (m *Matrix) At(t Micros) int {
	i := sort.Search(len(m.Spans), func(i int) bool { return m.Spans[i].To > t })
	if i < len(m.Spans) && m.Spans[i].From <= t {
		return i
	}
	return -1
}

// Seconds gives the time observed.
func (m *Matrix) Seconds() float64 {
	var s float64
	for _, sp := range m.Spans {
		s += sp.Seconds()
	}
	return s
}

// Device is what one device's interrupt lines did in the window.
type Device struct {
	Name  string
	Class domain.DeviceClass
	IRQs  []int           // numbered lines, ascending
	PerS  map[int]float64 // mean rate per CPU id; only CPUs that it interrupted
	Total float64         // mean rate over all CPUs
}

// CPUTime holds shares of CPU time per CPU and for the host as a whole.
type CPUTime struct {
	IRQSoftIRQ Matrix // irq + softirq share of each CPU
	Steal      Matrix // steal share of each CPU
	Busy       Matrix // 1 - idle - iowait of each CPU
	Host       []HostTime
	// Interrupts is false where the irq and softirq columns read zero
	// throughout: then they say nothing.
	Interrupts bool
	// IRQAccounted: the irq column moved, so the kernel accounts interrupt
	// time (CONFIG_IRQ_TIME_ACCOUNTING) and takes it off the tasks' own.
	IRQAccounted bool
}

// HostTime is the use of all CPUs over an interval, shares 0 to 1, NaN unknown.
type HostTime struct {
	Span
	User, System, IRQSoftIRQ, Steal, Idle, IOWait float64
}

// SystemPoint is the host over the interval that ends at At; NaN unknown.
type SystemPoint struct {
	At                                             Micros
	RunQueue, Blocked, SwapPerS                    float64
	ContextSwitchesPerS, User, System, Steal, Idle float64
}

// DiskPoint is one device over the interval that ends at At; NaN unknown.
type DiskPoint struct {
	At      Micros
	Device  string
	AwaitMS float64 // of writes where told apart, else of all
	PerS    float64 // requests of the kind that AwaitMS covers
}

// Thread is the placement of one watched thread. Slices have equal length and
// ascend by At.
type Thread struct {
	TID         int
	Command     string
	Worker      bool
	Uncertainty Micros // the CPU was read somewhere in [At, At+Uncertainty)
	At          []Micros
	CPU         []int32
	CPUShare    []float32 // share of the interval that it ran; NaN unknown
	WaitShare   []float32 // share that it queued for a CPU; NaN unknown
	State       []byte    // 0 unknown
	Exec        []int64   // ns since the sample before; negative unknown
	RunDelay    []int64   // ns since the sample before; negative unknown
}

// Period gives the usual distance between samples, 0 where there are under two.
func (t *Thread) Period() Micros {
	if len(t.At) < 2 {
		return 0
	}
	d := make([]Micros, 0, min(len(t.At)-1, 1001))
	step := max(1, (len(t.At)-1)/1000)
	for i := 1; i < len(t.At); i += step {
		d = append(d, t.At[i]-t.At[i-1])
	}
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return d[len(d)/2]
}

// UnknownLength is the TimeWaited of a wait whose length could not be read.
const UnknownLength Micros = -1

// Wait is one wait of the watched events or of a rival's, as one ASH row told.
type Wait struct {
	At         Micros
	SampleID   int64  // negative unknown
	TimeWaited Micros // 0 not fixed up, UnknownLength
	Period     Micros
	Event      string
	Background bool
	Session    int
	Who        string // service, module, machine or program: what the row gives first
}

// HistogramStep is what a histogram gained between two readings.
type HistogramStep struct {
	Span
	Event string
	Steps []BucketStep // only buckets that gained
}

// BucketStep is the gain of one bucket: waits shorter than Below and not
// shorter than half of it.
type BucketStep struct {
	Below      Micros
	Gained     int64
	LastUpdate Micros // 0 unknown
}

// Rate is a demand or other counter as a rate per second over an interval.
type Rate struct {
	Span
	PerS float64
}

// Series is everything known of one node and one instance in a window.
type Series struct {
	Node, Instance string
	InstID         int // AnyInstID, NoInstID, or Oracle's
	Watch          domain.Watch
	Window         Span
	Topology       domain.Topology
	Online         []int // CPU ids seen online, ascending

	Interrupts Matrix // non-storage device interrupts/s
	NetRX      Matrix // NET_RX softirqs/s
	Devices    []Device
	CPU        CPUTime
	System     []SystemPoint
	Disks      []DiskPoint

	Threads    []Thread
	Waits      []Wait // the watched events, ascending by At
	OwnWaits   []Wait // the watched process's own wait
	OtherWaits []Wait // every other event's waits, as far as kept
	Partner    []Wait // the watched events of other instances
	Ticks      []Tick // ASH samples seen, any event
	Filtered   bool   // the spool holds only rows over some length
	History    bool   // from DBA_HIST: one sample in ten
	Histograms []HistogramStep
	Counters   map[string][]Rate // V$SYSSTAT by name, and "event:NAME:waits", "event:NAME:time_us"

	Notes    []string
	Warnings []string
}

// Tick is one ASH sample: its id (negative unknown) and instant.
type Tick struct {
	ID int64
	At Micros
}

var nan = math.NaN()
