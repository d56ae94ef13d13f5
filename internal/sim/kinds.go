package sim

import (
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
)

// kind is a family of scenarios and how one departs from base.
type kind struct {
	name  string
	shape func(r *rand.Rand, s *refcase.Scenario)
}

// innocent are the kinds in which interrupts have no part in the stalls.
func innocent() []kind {
	return []kind{
		{"none", unexplained},
		{"confounded", confounded},
		{"confounded-noisy", confoundedNoisy},
		{"confounded-unmeasured", confoundedUnmeasured},
		{"confounded-hard", confoundedHard},
		{"storage", storage},
		{"cpu-saturation", saturation},
		{"half-socket-heavy", halfSocket},
		{"interrupts-follow-lgwr", followLGWR},
		{"cpu-steal", rival(domain.CauseCPUSteal)},
		{"swapping", rival(domain.CauseSwapping)},
		{"rac-acknowledgement", acknowledgement},
		{"data-guard-sync", rival(domain.CauseDataGuard)},
		{"log-switch", logSwitch},
		{"none-few-stalls", then(unexplained, few)},
		{"none-short-dwell", then(unexplained, shortDwell)},
		{"none-histogram-only", then(unexplained, histogramOnly)},
		{"none-session-only", then(unexplained, sessionOnly)},
		{"none-damaged", then(unexplained, damaged)},
		{"confounded-short-dwell", then(confounded, shortDwell)},
		{"confounded-histogram-only", then(confounded, histogramOnly)},
		{"storage-polling", then(storage, polling)},
		{"storage-second-instance", then(storage, secondInstance)},
	}
}

// guilty are the kinds in which interrupts make the stalls, or half of them.
func guilty() []kind {
	return []kind{
		{"interrupts", interrupts},
		{"hot-queues", then(interrupts, hotQueues)},
		{"inflated-redo-write", then(interrupts, inflatedWrite)},
		{"polling", then(interrupts, polling)},
		{"placement-follows-load", then(interrupts, placementFollowsLoad)},
		{"idle-workers", then(interrupts, idleWorkers)},
		{"active-workers", then(interrupts, activeWorkers)},
		{"second-instance", then(interrupts, secondInstance)},
		{"histogram-only", then(interrupts, histogramOnly)},
		{"counter-wraps", then(interrupts, nearWrap)},
		{"gaps", then(interrupts, gaps)},
		{"truncated-blocks", then(interrupts, truncated)},
		{"session-only", then(interrupts, sessionOnly)},
		{"few-stalls", then(interrupts, few)},
		{"short-dwell", then(interrupts, shortDwell)},
		{"two-causes", twoCauses},
	}
}

// then applies one departure after another.
func then(shapes ...func(*rand.Rand, *refcase.Scenario)) func(*rand.Rand, *refcase.Scenario) {
	return func(r *rand.Rand, s *refcase.Scenario) {
		for _, shape := range shapes {
			shape(r, s)
		}
	}
}

func interrupts(_ *rand.Rand, s *refcase.Scenario) { s.Stalls.Cause = domain.CauseInterrupts }

func unexplained(r *rand.Rand, s *refcase.Scenario) {
	s.Stalls.Cause, s.Stalls.Count = refcase.CauseNone, logBetween(r, 20, 250)
}

// confounded lets stalls, interrupts and LGWR's place all follow the load,
// which V$SYSSTAT measures well.
func confounded(r *rand.Rand, s *refcase.Scenario) {
	unexplained(r, s)
	s.Stalls.Count = logBetween(r, 60, 250)
	s.Load.Wave, s.Load.Wander = between(r, 0.1, 0.35), between(r, 0.2, 0.4)
	s.Load.BurstGain = between(r, 2, 3.5)
	s.Stalls.LoadPower = between(r, 1.5, 3)
	s.LGWR.HeavyPull, s.LGWR.HeavyPullLoad = between(r, 0.8, 1.2), between(r, 1, 2.5)
	s.Records.SysStat = 10 * time.Second
}

// confoundedNoisy measures the load with noise.
func confoundedNoisy(r *rand.Rand, s *refcase.Scenario) {
	confounded(r, s)
	s.Load.Noise = between(r, 0.3, 0.7)
}

// confoundedUnmeasured leaves vmstat as the only measure of load.
func confoundedUnmeasured(r *rand.Rand, s *refcase.Scenario) {
	confounded(r, s)
	s.Records.SysStat = 0
}

// confoundedHard lets bursts of seconds drive all three far more strongly.
func confoundedHard(r *rand.Rand, s *refcase.Scenario) {
	confounded(r, s)
	s.Stalls.Count, s.Stalls.LoadPower = between(r, 150, 350), between(r, 3, 4)
	s.LGWR.Dwell, s.LGWR.HeavyPullLoad = seconds(logBetween(r, 1, 8)), between(r, 2.5, 4)
	s.Load.BurstGain = between(r, 3, 5)
}

// rival makes another cause the culprit; its stalls may be longer.
func rival(cause string) func(*rand.Rand, *refcase.Scenario) {
	return func(r *rand.Rand, s *refcase.Scenario) {
		s.Stalls.Cause, s.Stalls.Max = cause, seconds(between(r, 0.4, 1.2))
	}
}

func storage(r *rand.Rand, s *refcase.Scenario) {
	rival(domain.CauseStorage)(r, s)
	s.Records.IOStat = time.Second
}

func saturation(r *rand.Rand, s *refcase.Scenario) {
	rival(domain.CauseCPUSaturation)(r, s)
	s.Stalls.WaitersMax += 20
}

func acknowledgement(r *rand.Rand, s *refcase.Scenario) {
	rival(domain.CauseRACAck)(r, s)
	s.Records.SysStat = 10 * time.Second
}

func logSwitch(r *rand.Rand, s *refcase.Scenario) {
	rival(domain.CauseLogSwitch)(r, s)
	s.Stalls.Count = between(r, 25, 70)
	s.Stalls.Min = 200 * time.Millisecond
	s.Stalls.Max = seconds(between(r, 0.8, 1.5))
}

// halfSocket gives queues to half of a socket, while LGWR stalls on all of it.
func halfSocket(_ *rand.Rand, s *refcase.Scenario) {
	s.Interconnect.HalfSocket = true
	s.Stalls.Cause = domain.CauseCPULocation
}

// followLGWR lets the disk's interrupts be high wherever LGWR runs.
func followLGWR(r *rand.Rand, s *refcase.Scenario) {
	unexplained(r, s)
	s.LGWR.WritesPerS = between(r, 3000, 8000)
}

// twoCauses lets interrupts and storage make half of the stalls each.
func twoCauses(r *rand.Rand, s *refcase.Scenario) {
	interrupts(r, s)
	s.Stalls.OtherCause, s.Stalls.Count = domain.CauseStorage, between(r, 150, 300)
	s.Records.IOStat = time.Second
}

// hotQueues lets two or three queues carry most of the traffic; the others are
// heavy too, or far from it.
func hotQueues(r *rand.Rand, s *refcase.Scenario) {
	s.Interconnect.HotQueues = 2 + r.IntN(2)
	s.Interconnect.LowPerS, s.Interconnect.HighPerS = 1050, 1600
	if r.Float64() < 0.5 {
		s.Interconnect.LowPerS, s.Interconnect.HighPerS = 100, 900
	}
}

func inflatedWrite(_ *rand.Rand, s *refcase.Scenario) { s.Stalls.InflatedWrite = true }

func polling(_ *rand.Rand, s *refcase.Scenario) { s.Interconnect.Polling = true }

func placementFollowsLoad(r *rand.Rand, s *refcase.Scenario) {
	s.LGWR.HeavyPullLoad = between(r, 1, 2)
	s.Load.Wave, s.Load.Wander = between(r, 0.1, 0.3), between(r, 0.2, 0.35)
	s.Records.SysStat = 10 * time.Second
}

func idleWorkers(_ *rand.Rand, s *refcase.Scenario) { s.LGWR.IdleWorkers = 4 }

func activeWorkers(r *rand.Rand, s *refcase.Scenario) {
	s.LGWR.ActiveWorkers, s.LGWR.IdleWorkers = 1, 3
	s.Stalls.Count = between(r, 150, 300)
}

func secondInstance(_ *rand.Rand, s *refcase.Scenario) { s.SecondInstance = "ORDP2" }

func histogramOnly(_ *rand.Rand, s *refcase.Scenario) {
	s.Records.ASH, s.Records.Histogram = refcase.ASHNone, time.Second
}

func sessionOnly(r *rand.Rand, s *refcase.Scenario) { s.Stalls.SessionOnly = between(r, 40, 150) }

func nearWrap(_ *rand.Rand, s *refcase.Scenario) { s.Records.NearWrap = true }

func gaps(r *rand.Rand, s *refcase.Scenario) {
	s.Records.InterruptGaps, s.Records.PlacementGaps = 1+r.IntN(4), 1+r.IntN(3)
}

func truncated(r *rand.Rand, s *refcase.Scenario) { s.Records.TruncatedBlocks = 1 + r.IntN(8) }

func damaged(r *rand.Rand, s *refcase.Scenario) {
	nearWrap(r, s)
	gaps(r, s)
	truncated(r, s)
}

// few leaves 5 to 60 stalls, of which samples meet a handful or two.
func few(r *rand.Rand, s *refcase.Scenario) { s.Stalls.Count = logBetween(r, 5, 60) }

// shortDwell lets LGWR move on within the second that pidstat prints.
func shortDwell(r *rand.Rand, s *refcase.Scenario) { s.LGWR.Dwell = seconds(logBetween(r, 0.05, 1)) }
