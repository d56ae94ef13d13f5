package refcase

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest"
)

// visit is a stay on one CPU, from at (seconds since the start) to the next.
type visit struct {
	at  float64
	cpu int
}

// thread is LGWR or one of its workers.
type thread struct {
	command string
	id      int
	share   float64 // of the instance's redo writes; 0 for an idle worker
	visits  []visit
}

// end is when the i-th visit ends.
func (t *thread) end(i int, length float64) float64 {
	if i+1 < len(t.visits) {
		return min(t.visits[i+1].at, length)
	}
	return length
}

// idleDwell is how long an idle worker stays where it last ran.
const idleDwell = 900 * time.Second

// roam generates the visits of a thread. A visit's end may be put off by stay:
// a thread that is held up stays on its CPU until it is over.
func (w *world) roam(r *rand.Rand, dwell time.Duration, stay func(v visit, end float64) float64) []visit {
	visits := make([]visit, 0, int(w.length/dwell.Seconds())+16)
	next := visit{0, r.IntN(w.machine.cpus)}
	for next.at < w.length {
		end := next.at + dwellTime(r, dwell.Seconds())
		if stay != nil {
			end = stay(next, end)
		}
		visits = append(visits, next)
		next = visit{end, w.chooseCPU(r, next.cpu, end)}
	}
	return visits
}

// dwellTime mixes short and long stays (two exponentials) around their mean.
func dwellTime(r *rand.Rand, mean float64) float64 {
	scale := 0.4
	if r.Float64() < 0.4 {
		scale = 1.9
	}
	return max(0.005, scale*mean*r.ExpFloat64())
}

// chooseCPU is where the scheduler wakes the thread next. Heavy CPUs pull by
// the scenario's weight: softirqs that wake processes do so near themselves.
func (w *world) chooseCPU(r *rand.Rand, now int, at float64) int {
	m := w.machine
	heavy, all := len(m.heavyCPUs), m.cpus
	pull := w.LGWR.HeavyPull
	if pull == 0 {
		pull = 1
	}
	if w.LGWR.HeavyPullLoad != 0 {
		pull *= math.Pow(w.load[w.second(at)], w.LGWR.HeavyPullLoad)
	}
	total := float64(heavy)*pull + float64(all-heavy)
	for range 4 { // a move that ends where it began is none: draw again
		cpu := now
		if r.Float64()*total < float64(heavy)*pull {
			cpu = m.heavyCPUs[r.IntN(heavy)]
		} else if all > heavy {
			cpu = w.lightCPUs[r.IntN(all-heavy)]
		}
		if cpu != now {
			return cpu
		}
	}
	return (now + 1) % all
}

// second is the index of the second that holds an instant.
func (w *world) second(t float64) int { return max(0, min(int(t), len(w.load)-1)) }

// sendPlacements sends what pidstat prints every second: each thread's CPU,
// read at a phase of the printed second that the print does not show and that
// drifts by some milliseconds a sample.
func (w *world) sendPlacements(to ingest.Sink) error {
	r := stream(w.Seed, streamPlacement+streamSecond)
	drift := between(r, 0.001, 0.004)
	gaps := w.gaps(w.Records.PlacementGaps, streamPlacementGaps)
	threads := w.threads()
	at := make([]int, len(threads))
	t := 1 + r.Float64()
	for first := w.instant(math.Floor(t)); t < w.length; t += 1 + drift {
		if within(gaps, t) {
			continue
		}
		for i, th := range threads {
			for at[i]+1 < len(th.visits) && th.visits[at[i]+1].at <= t {
				at[i]++
			}
			p := w.placement(th, th.visits[at[i]].cpu, t)
			if p.At.After(first) { // the first print does not say since when
				p.Interval = time.Second
			}
			if err := to.Placement(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// placement is one row of pidstat. LGWR that writes all redo takes about a
// tenth of a CPU at mean load.
func (w *world) placement(th *thread, cpu int, t float64) domain.Placement {
	s := w.second(t)
	use, queued := 0.0, 0.0
	if th.share > 0 {
		use = 0.11 * th.share * (0.7 + 0.3*w.load[s])
		queued = 0.003 + 0.5*w.pressureAt(domain.CauseCPUSaturation, s)
	}
	return domain.Placement{
		At: w.instant(math.Floor(t)), Uncertainty: time.Second,
		PID: th.id, TID: th.id, Command: th.command, CPU: cpu,
		CPUShare: roundTo(use, 1e4), WaitShare: roundTo(queued, 1e4),
		Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1, Policy: -1,
	}
}
