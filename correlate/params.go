// Package correlate is the engine: series of one node and its instance in, a
// finding out. It is pure: no I/O, no clock, no SQL; the same series and Params
// give the same finding, random draws included. docs/METHOD.md tells the
// method and how well it does.
package correlate

import "time"

// Params holds every threshold of the method. They are stored with each finding.
type Params struct {
	Threshold      time.Duration `json:"threshold_ns"`     // a wait at least this long is slow
	HeavyPerSecond float64       `json:"heavy_per_second"` // non-storage device interrupts/s of a heavy CPU
	HeavyTimeShare float64       `json:"heavy_time_share"` // irq+softirq share of a heavy CPU
	HeavyWindow    time.Duration `json:"heavy_window_ns"`  // longest stretch over which a heavy set is fixed

	LoadFrom    time.Duration `json:"load_from_ns"` // load of an instant is the mean over [t-LoadFrom, t-LoadTo)
	LoadTo      time.Duration `json:"load_to_ns"`
	LoadStrata  int           `json:"load_strata"`
	BurstFrom   time.Duration `json:"burst_from_ns"` // as LoadFrom and LoadTo, for bursts of seconds
	BurstTo     time.Duration `json:"burst_to_ns"`
	BurstStrata int           `json:"burst_strata"`
	Block       time.Duration `json:"block_ns"` // shortest time block within which labels are exchanged

	Permutations int    `json:"permutations"`
	Bootstraps   int    `json:"bootstraps"`
	Seed         uint64 `json:"seed"`

	SupportedP      float64 `json:"supported_p"`      // p at most
	SupportedRatio  float64 `json:"supported_ratio"`  // stratified ratio's lower bound at least
	SupportedStalls int     `json:"supported_stalls"` // exposed stalls at least
	SupportedVisits int     `json:"supported_visits"` // visits that hold them at least
	RejectedRatio   float64 `json:"rejected_ratio"`   // upper bound under
	CoarseKappa     float64 `json:"coarse_kappa"`     // under: placement carries no verdict
	RejectedKappa   float64 `json:"rejected_kappa"`   // at least, to reject
	ExposedLow      float64 `json:"exposed_low"`      // outside [low, high] of time exposed only dose counts
	ExposedHigh     float64 `json:"exposed_high"`

	MainShare   float64       `json:"main_share"`      // attributable share of a cause, at least, for the overall verdict
	MainLow     float64       `json:"main_share_low"`  // and its interval's lower end, at least
	RivalShare  float64       `json:"rival_share"`     // a rival that explains more of the same stalls spoils it
	MinStalls   int           `json:"min_stalls"`      // fewer: insufficient data
	OnsetWindow time.Duration `json:"onset_window_ns"` // how far before a stall's onset a rival is looked for

	// Over these an indicator of a rival is raised. They are loose on purpose: an
	// indicator accuses nobody unless it coincides with stalls.
	ManyTimes   float64 `json:"many_times"`    // times the median that count as out of the ordinary
	SlowAwaitMS float64 `json:"slow_await_ms"` // and ManyTimes the device's median
	StealShare  float64 `json:"steal_share"`   // of all CPUs' time
	SystemShare float64 `json:"system_share"`  // of all CPUs' time
	SwapKiBPerS float64 `json:"swap_kib_per_s"`
}

// DefaultParams are the defaults of DESIGN; ADRs say why some differ.
func DefaultParams() Params {
	return Params{
		Threshold: 100 * time.Millisecond, HeavyPerSecond: 1000, HeavyTimeShare: 0.10, HeavyWindow: time.Hour,
		LoadFrom: 30 * time.Second, LoadTo: 2 * time.Second, LoadStrata: 3, BurstFrom: 2 * time.Second, BurstTo: 0, BurstStrata: 3, Block: 5 * time.Minute,
		Permutations: 2000, Bootstraps: 1000, Seed: 1,
		SupportedP: 0.005, SupportedRatio: 2, SupportedStalls: 8, SupportedVisits: 5,
		RejectedRatio: 1.5, CoarseKappa: 0.5, RejectedKappa: 0.7, ExposedLow: 0.02, ExposedHigh: 0.90,
		MainShare: 0.5, MainLow: 1.0 / 3, RivalShare: 0.25, MinStalls: 5, OnsetWindow: 4 * time.Second,
		ManyTimes: 4, SlowAwaitMS: 5, StealShare: 0.05, SystemShare: 0.25, SwapKiBPerS: 256,
	}
}

func micros(d time.Duration) int64 { return d.Microseconds() }
