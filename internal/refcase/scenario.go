package refcase

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corewait/corewait/domain"
)

// Causes of stalls beside those that domain names.
const (
	CauseNone  = "none"  // nothing that the records show explains the stalls
	CauseMixed = "mixed" // two causes, about half of the stalls each
)

// Scenario is one node for one stretch of time. Rates named PerS are means
// over that time. The zero value of a field that is not explained otherwise
// switches that part off.
type Scenario struct {
	Seed     uint64
	Node     string
	Instance string // its LGWR is ora_lgwr_<Instance>
	// SecondInstance names another instance on the same node; it has INST_ID 2.
	SecondInstance string
	Start          time.Time // its location is the zone of the files
	Hours          float64

	Machine      Machine
	Load         Load
	Interconnect Interconnect
	LGWR         LGWR
	Stalls       Stalls
	Records      Records
}

// Machine is how the node is built: NUMA node and socket are the same, CPU n
// and n + cores are threads of one core.
type Machine struct {
	Sockets, CoresPerSocket, ThreadsPerCore int
}

// Load is the demand on the instance: a slow wave, an autocorrelated part and
// bursts of a few seconds, on a logarithmic scale around CommitsPerS.
type Load struct {
	CommitsPerS   float64
	Wave          float64 // amplitude of the slow wave, natural logarithm
	WavePeak      float64 // where in the window the wave is highest, 0 to 1
	Wander        float64 // standard deviation of the autocorrelated part
	WanderSeconds float64 // its correlation time
	BurstsPerHour float64
	BurstGain     float64 // factor on load within a burst
	// Noise is the standard deviation (natural logarithm) by which the
	// instance's own counters miss the activity of the host.
	Noise float64
	// Busy is the share of the host's CPU time in user mode at mean load.
	Busy float64
}

// Interconnect is the bond whose interrupts land on the CPUs of one socket.
type Interconnect struct {
	Socket int
	// HalfSocket gives queues to half of the socket's cores only.
	HalfSocket bool
	// HotQueues is how many queues carry most of the traffic; 0 spreads it
	// between LowPerS and HighPerS.
	HotQueues         int
	LowPerS, HighPerS float64
	// QueuesPerS gives each queue's rate outright, in the order of its CPUs.
	QueuesPerS []float64
	// Polling makes hot queues poll (NAPI): the interrupt rate falls below
	// 1,000/s, and falls further as traffic rises, while softirq time is high.
	Polling bool
}

// LGWR is how the log writer and its workers move and write.
type LGWR struct {
	Dwell time.Duration // mean stay on a CPU
	// HeavyPull is how much more often than another CPU a heavy one is chosen,
	// at mean load; it grows with load to the power HeavyPullLoad.
	HeavyPull, HeavyPullLoad float64
	WritesPerS               float64
	IdleWorkers              int // LGnn that sit somewhere and do nothing
	ActiveWorkers            int // LGnn that write in turn with LGWR
}

// Stalls are the delays of LGWR that hold up commits.
type Stalls struct {
	Cause string  // a domain.Cause..., CauseNone
	Count float64 // expected number that the cause makes
	// OtherCause makes half of Count instead of Cause.
	OtherCause  string
	LoadPower   float64 // the rate of stalls of CauseNone grows with load to this power
	Background  float64 // per hour, of no cause
	Min, Max    time.Duration
	WaitersMin  int
	WaitersMax  int
	SessionOnly float64 // per hour: one session's own slow wait, LGWR not delayed
	// InflatedWrite makes LGWR's own `log file parallel write` contain the
	// time that interrupts took from it.
	InflatedWrite bool
}

// ASH says which rows of the active session history were kept.
type ASH uint8

// Kinds of ASH spool.
const (
	ASHNone     ASH = iota
	ASHFiltered     // rows of TIME_WAITED >= 100 ms only
	ASHFull
)

// Records says what was collected and how it was damaged. An interval of 0
// means not collected.
type Records struct {
	Interrupts, MPStat, IOStat, SysStat, Histogram time.Duration
	ASH                                            ASH
	Cores                                          bool // lscpu -p; without it no record tells which CPUs share a core
	Bond                                           bool // /proc/net/bonding
	NearWrap                                       bool // counters wrap at 2^32 within the window
	InterruptGaps, PlacementGaps                   int  // stretches of minutes that are missing
	TruncatedBlocks                                int  // blocks of the interrupt log cut short, in files only
}

// Truth is what really happened.
type Truth struct {
	Cause  string   // domain.Cause..., CauseNone, CauseMixed
	Accept []string // overall verdicts that are right
	Null   bool     // interrupts are innocent
	// HeavyCPUs handled over 1,000 network interrupts/s, or spent over a tenth
	// of their time on them.
	HeavyCPUs []int
	Stalls    int
	// StallTicks are the ASH samples at which a commit wait of 0.1 s and more
	// that LGWR caused was seen.
	StallTicks   int
	ExposedShare float64 // of LGWR's time, on heavy CPUs
}

// Bounds of what a scenario may ask for.
const (
	minSeconds = 60
	maxHours   = 24
	maxCPUs    = 1024
	maxWorkers = 100
)

// validate tells what of a scenario cannot be generated.
func (s *Scenario) validate() error {
	switch {
	case s.Node == "" || s.Instance == "":
		return errors.New("scenario: node and instance need names")
	case s.Start.IsZero():
		return errors.New("scenario: start is not set")
	case math.IsNaN(s.Hours) || s.seconds() < minSeconds || s.Hours > maxHours:
		return fmt.Errorf("scenario: %g hours, want at least a minute and at most %d hours", s.Hours, maxHours)
	case s.LGWR.Dwell < 10*time.Millisecond:
		return errors.New("scenario: LGWR stays under 10 ms on a CPU")
	case s.LGWR.IdleWorkers < 0 || s.LGWR.ActiveWorkers < 0 || s.LGWR.IdleWorkers+s.LGWR.ActiveWorkers > maxWorkers:
		return fmt.Errorf("scenario: LGWR has workers LG00 to LG%d", maxWorkers-1)
	}
	if err := s.Machine.validate(s.Interconnect); err != nil {
		return err
	}
	return s.Stalls.validate()
}

func (m Machine) validate(ic Interconnect) error {
	switch {
	case m.Sockets < 1 || m.CoresPerSocket < 1 || m.ThreadsPerCore < 1 || m.ThreadsPerCore > 2:
		return errors.New("scenario: machine needs sockets, cores, and 1 or 2 threads per core")
	case m.Sockets > maxCPUs || m.CoresPerSocket > maxCPUs || m.cpus() < 2 || m.cpus() > maxCPUs:
		return fmt.Errorf("scenario: want 2 to %d CPUs", maxCPUs)
	case ic.Socket < 0 || ic.Socket >= m.Sockets:
		return fmt.Errorf("scenario: interconnect on socket %d of %d", ic.Socket, m.Sockets)
	}
	return nil
}

func (st Stalls) validate() error {
	switch {
	case st.Min <= 0 || st.Max < st.Min:
		return errors.New("scenario: lengths of stalls are not a range")
	case st.WaitersMin < 1 || st.WaitersMax < st.WaitersMin || st.WaitersMax > sessions:
		return fmt.Errorf("scenario: waiters are not a range within 1 to %d", sessions)
	}
	known := []string{
		CauseNone, domain.CauseInterrupts, domain.CauseCPULocation, domain.CauseStorage, domain.CauseCPUSaturation,
		domain.CauseCPUSteal, domain.CauseSwapping, domain.CauseRACAck, domain.CauseDataGuard, domain.CauseLogSwitch,
	}
	if !slices.Contains(known, st.Cause) {
		return fmt.Errorf("scenario: no model of cause %q", st.Cause)
	}
	if st.OtherCause != "" && !slices.Contains(known, st.OtherCause) {
		return fmt.Errorf("scenario: no model of cause %q", st.OtherCause)
	}
	return nil
}

func (s *Scenario) seconds() int { return int(s.Hours * 3600) }

// instant gives the time that lies so many seconds after the start.
func (s *Scenario) instant(seconds float64) time.Time {
	return s.Start.Add(time.Duration(seconds * float64(time.Second))).UTC()
}

// guilty says whether interrupts make any of the stalls.
func (s *Scenario) guilty() bool {
	return s.Stalls.Cause == domain.CauseInterrupts || s.Stalls.OtherCause == domain.CauseInterrupts
}
