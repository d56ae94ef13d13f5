package domain

import "time"

// AllCPUs is the CPU id of a row that covers the whole host.
const AllCPUs = -1

// CPUTimes are the counters of one cpuN row of /proc/stat, in USER_HZ ticks
// since boot. Columns that an old kernel lacks are negative.
type CPUTimes struct {
	CPU                                                                     int // AllCPUs for the "cpu" row
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal, Guest, GuestNice int64
}

// CPUTimesSnapshot is one reading of /proc/stat.
type CPUTimesSnapshot struct {
	At              time.Time
	CPUs            []CPUTimes
	ContextSwitches int64     // ctxt since boot; negative unknown
	Interrupts      int64     // first value of intr; negative unknown
	ProcsRunning    int64     // negative unknown
	ProcsBlocked    int64     // negative unknown
	BootTime        time.Time // btime; zero unknown
}

// CPUSample is the use of one CPU over an interval as a tool printed it
// (mpstat), or as derived from two CPUTimesSnapshots. Shares are of one CPU's
// time, 0 to 1; NaN where unknown.
type CPUSample struct {
	At       time.Time     // end of the interval
	Interval time.Duration // 0 where the source does not say: then since the sample before
	CPU      int           // AllCPUs for the host
	Offline  bool          // every column printed zero: the CPU was not there

	User, Nice, System, IOWait, IRQ, SoftIRQ, Steal, Guest, Idle float64

	// Peaks are the greatest shares in any second of the interval; nil where it
	// was observed as a whole.
	Peaks *CPUPeaks
}

// CPUPeaks are the greatest shares of a CPU's time in any second of an interval.
type CPUPeaks struct{ IRQSoftIRQ, Steal, Busy float64 }

// SystemSample is the state of the host over an interval, as vmstat prints it
// or as derived from /proc. NaN where unknown.
type SystemSample struct {
	At       time.Time     // end of the interval
	Interval time.Duration // 0 where the source does not say
	// SinceBoot marks the first report of a vmstat, which averages since boot.
	SinceBoot bool

	RunQueue            float64 // processes runnable (vmstat r), an instant's count
	RunQueueMax         float64 // the most at any reading within the interval
	Blocked             float64 // in uninterruptible sleep (vmstat b)
	SwapInPerS          float64 // KiB/s as vmstat prints them
	SwapOutPerS         float64
	InterruptsPerS      float64
	ContextSwitchesPerS float64

	User, System, Idle, IOWait, Steal float64 // shares of all CPUs' time, 0 to 1

	// TimeSqueeze is how often in the interval softnet gave up on packets for lack
	// of time, on all CPUs (/proc/net/softnet_stat, third column).
	TimeSqueeze float64
	// PSICPU, PSIIO and PSIMemory are for how long within the interval some task
	// stalled for that resource (/proc/pressure, "some"); negative unknown.
	PSICPU, PSIIO, PSIMemory time.Duration
}

// DiskSample is one device over an interval, as iostat -x prints it or as
// derived from /proc/diskstats. NaN where unknown.
type DiskSample struct {
	At                        time.Time // end of the interval
	Interval                  time.Duration
	Device                    string
	ReadsPerS, WritesPerS     float64
	ReadAwaitMS, WriteAwaitMS float64
	QueueSize                 float64
	Utilisation               float64 // 0 to 1
}

// DiskCounters are the counters of one device in /proc/diskstats since boot.
type DiskCounters struct {
	Device                                 string
	Reads, ReadMS, Writes, WriteMS, BusyMS uint64
}

// DiskSnapshot is one reading of /proc/diskstats.
type DiskSnapshot struct {
	At      time.Time
	Devices []DiskCounters
}
