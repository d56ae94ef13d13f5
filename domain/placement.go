package domain

import "time"

// Placement says on which CPU a thread last ran, at one reading.
type Placement struct {
	At time.Time
	// Uncertainty: the CPU was read at an unknown instant in [At, At+Uncertainty).
	// pidstat prints whole seconds, so its rows carry one second; a source
	// with exact times carries 0.
	Uncertainty time.Duration
	Interval    time.Duration // what the shares and deltas below cover; 0 unknown
	PID, TID    int
	Command     string // "ora_lgwr_ORDP1"
	CPU         int
	State       byte // 'R', 'S', 'D', ...; 0 unknown

	// CPUShare and WaitShare are shares of Interval that the thread ran and
	// that it queued for a CPU (pidstat %CPU and %wait); NaN unknown.
	CPUShare, WaitShare float64

	// Deltas over Interval; negative unknown.
	Exec, RunDelay         time.Duration
	Voluntary, Involuntary int64

	// Policy is the scheduling policy (0 other, 1 FIFO, 2 RR); negative unknown.
	Policy int
}
