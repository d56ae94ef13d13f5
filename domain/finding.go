package domain

import (
	"encoding/json"
	"time"
)

// AnalysisSchema names the JSON contract that Finding marshals to; see
// docs/METHOD.md. Fields may be added, never renamed.
const AnalysisSchema = "corewait/analysis/v1"

// AnalysisSetSchema names the JSON contract of AnalysisSet.
const AnalysisSetSchema = "corewait/analysis-set/v1"

// AnalysisSet holds one Finding per node and instance, where the input holds several.
type AnalysisSet struct {
	Schema    string     `json:"schema"`
	Documents []*Finding `json:"documents"`
}

// Finding is what the engine concluded about one instance on one node in one
// window. Pointers are null where the value is unknown; an infinite ratio is
// null with an interval whose end is null.
type Finding struct {
	Schema      string       `json:"schema"`
	Window      Window       `json:"window"`
	Timezone    Timezone     `json:"timezone"`
	Node        string       `json:"node"`
	Instance    string       `json:"instance"`
	Watch       string       `json:"watch"`
	Grade       string       `json:"grade"` // "A": time taken from LGWR was seen; "B": association
	LoadSeries  *string      `json:"load_series"`
	Coverage    Coverage     `json:"coverage"`
	Interrupts  *Interrupts  `json:"interrupts"`
	Placement   *Residence   `json:"placement"`
	Waits       *WaitSummary `json:"waits"`
	Coincidence *Coincidence `json:"coincidence"`
	StallList   []StallMark  `json:"stall_list"` // in order of time, the first ListedStalls
	Decomposed  *Decomposed  `json:"decomposition,omitempty"`
	Causes      []Cause      `json:"causes"`
	Verdict     string       `json:"verdict"`
	Mixed       []string     `json:"mixed"`
	Headline    string       `json:"headline"`
	NextSteps   []string     `json:"next_steps"`
	Warnings    []string     `json:"warnings"`
	Params      any          `json:"params,omitempty"`
	Inputs      []Input      `json:"inputs,omitempty"`
}

// ListedStalls is how many stalls a finding lists one by one.
const ListedStalls = 5000

// StallMark is one stall: what was seen of it, and where the watched process was.
type StallMark struct {
	At        time.Time `json:"at"` // an instant within the stall
	LongestMS float64   `json:"longest_ms"`
	Waiters   int       `json:"waiters"`
	CPUs      []int     `json:"cpus"`     // where the process was; empty where unknown
	Exposure  string    `json:"exposure"` // "heavy", "sibling", "light", "shared" with the partner instance, "unknown"
}

// Window is half-open: [From, To). An end that is not known is the zero time.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// MarshalJSON gives ends that are not known as null.
func (w Window) MarshalJSON() ([]byte, error) {
	known := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return json.Marshal(struct {
		From *time.Time `json:"from"`
		To   *time.Time `json:"to"`
	}{known(w.From), known(w.To)})
}

// Contains says whether t lies in [From, To).
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Duration of the window.
func (w Window) Duration() time.Duration { return w.To.Sub(w.From) }

// Timezone says which zones were taken for times that carry none, and from where.
type Timezone struct {
	DB     *string `json:"db"`
	Host   *string `json:"host"`
	Source *string `json:"source"`
}

// Input is one file that was read.
type Input struct {
	Path     string  `json:"path"`
	Kind     string  `json:"kind"`
	Records  int64   `json:"records"`
	Unread   int64   `json:"unread"`
	Note     string  `json:"note,omitempty"`
	FirstBad *string `json:"first_unread,omitempty"`
}

// Coverage says what was observed.
type Coverage struct {
	PlacementSeconds float64  `json:"placement_seconds"`
	InterruptSeconds float64  `json:"interrupt_seconds"`
	WaitSource       *string  `json:"wait_source"` // "ash", "ash-history", "histogram"
	Waits            int      `json:"waits"`
	UnplacedStalls   int      `json:"unplaced_stalls"`
	Kappa            *float64 `json:"kappa"`
	Notes            []string `json:"notes"`
}

// Interrupts is the interrupt picture of the window.
type Interrupts struct {
	OnlineCPUs          int          `json:"online_cpus"`
	HeavyCPUs           []int        `json:"heavy_cpus"`
	Heavy               []HeavyCPU   `json:"heavy"`
	HeavyCores          *int         `json:"heavy_cores"`
	HeavyCoresAnyThread *int         `json:"heavy_cores_any_thread"`
	Gini                *float64     `json:"gini"`
	GiniCores           *float64     `json:"gini_cores"`
	DoseMeasure         string       `json:"dose_measure"`
	ByCPU               []CPURate    `json:"by_cpu"`
	ByDevice            []DeviceRate `json:"by_device"`
}

// HeavyCPU is a CPU that interrupts keep busy, and by which criterion.
type HeavyCPU struct {
	CPU       int      `json:"cpu"`
	PerS      *float64 `json:"per_s"`
	TimeShare *float64 `json:"time_share"`
	By        []string `json:"by"` // "rate", "time"
}

// CPURate is one CPU's rate of non-storage device interrupts.
type CPURate struct {
	CPU       int      `json:"cpu"`
	PerS      *float64 `json:"per_s"`
	TimeShare *float64 `json:"time_share"`
	Dose      *float64 `json:"dose"`
	NUMANode  *int     `json:"numa_node"`
	Socket    *int     `json:"socket"`
	Core      *int     `json:"core"`
}

// DeviceRate is one device's rate of interrupts and the CPUs that serve it.
type DeviceRate struct {
	Device   string  `json:"device"`
	Class    string  `json:"class"`
	Bond     *string `json:"bond"`
	NUMANode *int    `json:"numa_node"`
	IRQs     []int   `json:"irqs"`
	CPUs     []int   `json:"cpus"`
	PerS     float64 `json:"per_s"`
}

// Residence is where the watched process spent its time.
type Residence struct {
	Processes      []string   `json:"processes"`
	Residence      []CPUShare `json:"residence"`
	HeavyShare     *float64   `json:"heavy_share"`
	SiblingShare   *float64   `json:"sibling_share"`
	Visits         int        `json:"visits"`
	MigrationsPerS *float64   `json:"migrations_per_s"`
	DosePerS       *float64   `json:"dose_weighted"`
}

// CPUShare is the share of wall-clock time spent on a CPU.
type CPUShare struct {
	CPU   int     `json:"cpu"`
	Share float64 `json:"share"`
}

// WaitSummary describes the watched waits. Where waits come from histograms,
// OverThreshold is a bracket and the percentiles are null; so they are where
// some lengths could not be read: the upper end counts those waits.
type WaitSummary struct {
	Event             string   `json:"event"`
	ThresholdMS       float64  `json:"threshold_ms"`
	OverThreshold     *int     `json:"over_threshold"`
	OverThresholdLow  *int     `json:"over_threshold_low"`
	OverThresholdHigh *int     `json:"over_threshold_high"`
	Stalls            int      `json:"stalls"`
	SessionOnly       int      `json:"session_only"`
	P50MS             *float64 `json:"p50_ms"`
	P95MS             *float64 `json:"p95_ms"`
	P99MS             *float64 `json:"p99_ms"`
	MaxMS             *float64 `json:"max_ms"`
}

// Coincidence holds the interrupt test.
type Coincidence struct {
	StallsExposed    int         `json:"stalls_exposed"`
	StallsUnexposed  int         `json:"stalls_unexposed"`
	SecondsExposed   float64     `json:"seconds_exposed"`
	SecondsUnexposed float64     `json:"seconds_unexposed"`
	ExpectedExposed  *float64    `json:"expected_exposed"`
	RelativeRisk     *float64    `json:"relative_risk"`
	RelativeRiskCI   [2]*float64 `json:"relative_risk_ci95"`
	StratifiedRR     *float64    `json:"stratified_relative_risk"`
	StratifiedRRCI   [2]*float64 `json:"stratified_relative_risk_ci95"`
	IncidenceRatio   *float64    `json:"incidence_ratio"`
	PValue           *float64    `json:"p_value"`
	VisitsExposed    int         `json:"visits_exposed"`
	ByCPU            []CPUExcess `json:"by_cpu,omitempty"`
	ByDevice         []DevExcess `json:"by_device,omitempty"`
	DoseResponse     []DoseStep  `json:"dose_response"`
	DoseTrendP       *float64    `json:"dose_trend_p"`
	DoseTrendSocketP *float64    `json:"dose_trend_within_socket_p"`
	PlaceboP         *float64    `json:"placebo_p"`
	DetectableRatio  *float64    `json:"smallest_detectable_ratio"`
}

// CPUExcess compares the stalls seen while the watched process was on one CPU
// with those expected; P is family-wise (maximum statistic).
type CPUExcess struct {
	CPU      int      `json:"cpu"`
	Stalls   int      `json:"stalls"`
	Expected float64  `json:"expected"`
	P        *float64 `json:"p_value"`
}

// DevExcess is CPUExcess over the CPUs that serve one device.
type DevExcess struct {
	Device   string   `json:"device"`
	Stalls   int      `json:"stalls"`
	Expected float64  `json:"expected"`
	P        *float64 `json:"p_value"`
}

// DoseStep is one quintile of dose: stalls per hour of time spent in it.
type DoseStep struct {
	From          float64  `json:"dose_from"`
	To            float64  `json:"dose_to"`
	Stalls        int      `json:"stalls"`
	Hours         float64  `json:"hours"`
	StallsPerHour *float64 `json:"stalls_per_hour"`
}

// Decomposed is where the time of stalls went (agent data only), in seconds.
type Decomposed struct {
	Stalls       int     `json:"stalls"`
	SleepingS    float64 `json:"sleeping_s"`
	QueuedS      float64 `json:"queued_s"`
	StolenS      float64 `json:"stolen_s"`
	StolenHeavyS float64 `json:"stolen_on_heavy_s"`
	UnexplainedS float64 `json:"unexplained_s"`
}

// Verdicts of one cause.
const (
	Supported     = "supported"
	Rejected      = "rejected"
	Inconclusive  = "inconclusive"
	NotObservable = "not-observable"
)

// Causes, as in the JSON contract.
const (
	CauseInterrupts       = "interrupt-collision"
	CauseStorage          = "storage"
	CauseCPUSaturation    = "cpu-saturation"
	CauseCPUSteal         = "cpu-steal"
	CauseSwapping         = "swapping"
	CauseRTPreemption     = "rt-preemption"
	CauseCPULocation      = "cpu-location"
	CauseRACAck           = "rac-acknowledgement"
	CauseDataGuard        = "data-guard-sync"
	CauseForegroundWakeup = "foreground-wakeup"
	CausePostPollSwitch   = "post-poll-switch"
	CauseLogSwitch        = "log-switch"
)

// Overall verdicts beside the causes.
const (
	Undetermined     = "undetermined"
	InsufficientData = "insufficient-data"
)

// Cause is the judgement of one possible cause.
type Cause struct {
	Cause             string      `json:"cause"`
	Verdict           string      `json:"verdict"`
	AttributableShare *float64    `json:"attributable_share"`
	AttributableCI    [2]*float64 `json:"attributable_share_ci95"`
	Evidence          []string    `json:"evidence"`
}
