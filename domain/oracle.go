package domain

import "time"

// Events that the shipped watches and rivals look at, as Oracle names them.
const (
	EventLogFileSync          = "log file sync"
	EventLogFileParallelWrite = "log file parallel write"
	EventSYNCRemoteWrite      = "SYNC Remote Write"
	EventWaitForSCNAck        = "wait for scn ack"
)

// Wait is one session's wait as one ASH row shows it: at At the session was
// inside a wait that, once fixed up, lasted TimeWaited. The wait contains At
// and lies within [At-TimeWaited, At+TimeWaited].
type Wait struct {
	At         time.Time // SAMPLE_TIME
	SampleID   int64     // negative unknown
	InstID     int       // negative unknown
	SessionID  int
	Serial     int
	Background bool
	Waiting    bool          // SESSION_STATE = WAITING; true where the column is absent
	Event      string        // empty while ON CPU
	TimeWaited time.Duration // 0: not fixed up yet, or not the wait's last sample; negative: could not be read
	Period     time.Duration // what one row stands for: 1 s for V$, 10 s for DBA_HIST; 0 unknown

	SQLID, Program, Module, Machine, Service string
	P1, P2, P3                               int64
}

// HistogramBucket counts waits shorter than Below (and not shorter than half
// of it, except in the first bucket), since instance start.
type HistogramBucket struct {
	Below      time.Duration
	Count      uint64
	LastUpdate time.Time // end of the bucket's last wait; zero unknown
}

// HistogramSnapshot is one reading of V$EVENT_HISTOGRAM[_MICRO] for one event.
type HistogramSnapshot struct {
	At      time.Time
	InstID  int // negative unknown
	Event   string
	Milli   bool              // from the milli view: edges 1, 2, 4, ... ms
	Buckets []HistogramBucket // ascending by Below
}

// SystemEvent is one row of V$SYSTEM_EVENT at a reading: totals since
// instance start.
type SystemEvent struct {
	At         time.Time
	InstID     int
	Event      string
	TotalWaits int64
	TimeWaited time.Duration // negative unknown
}

// Counter is one row of V$SYSSTAT at a reading: a total since instance start.
type Counter struct {
	At     time.Time
	InstID int
	Name   string // "user commits", "user calls", "redo size", ...
	Value  int64
}

// Instance is what V$INSTANCE says: it maps INST_ID to name and host.
type Instance struct {
	InstID     int
	Name, Host string
}
