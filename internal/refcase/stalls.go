package refcase

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/corewait/corewait/domain"
)

// siblingCost is how much of its dose a CPU passes on to the other thread of
// its core: they share execution units, not the interrupt itself.
const siblingCost = 0.15

// stall is one delay of a thread that writes redo.
type stall struct {
	at, length float64 // seconds since the start
	cause      string
	cpu        int
}

func (s stall) end() float64 { return s.at + s.length }

// hazard is one thing that delays a thread: how strongly, in what unit does
// not matter, while it is on a CPU in a second; scale turns it into stalls/s.
type hazard struct {
	cause string
	count float64 // stalls wanted over the window, from one thread with share 1
	rate  func(cpu, second int) float64
	scale float64
}

// hazards lists what delays LGWR in this scenario.
func (w *world) hazards() []hazard {
	count := w.Stalls.Count
	if w.Stalls.OtherCause != "" {
		count /= 2
	}
	list := []hazard{
		{cause: w.Stalls.Cause, count: count, rate: w.rateOf(w.Stalls.Cause)},
		{cause: CauseNone, count: w.Stalls.Background * w.Hours, rate: func(int, int) float64 { return 1 }},
	}
	if w.Stalls.OtherCause != "" {
		list = append(list, hazard{cause: w.Stalls.OtherCause, count: count, rate: w.rateOf(w.Stalls.OtherCause)})
	}
	return list
}

// rateOf gives a cause's relative hazard.
func (w *world) rateOf(cause string) func(cpu, second int) float64 {
	m := w.machine
	switch cause {
	case domain.CauseInterrupts:
		dose := make([]float64, m.cpus)
		for cpu := range dose {
			dose[cpu] = m.softirq[cpu]
			if m.sibling[cpu] >= 0 {
				dose[cpu] += siblingCost * m.softirq[m.sibling[cpu]]
			}
		}
		return func(cpu, second int) float64 { return dose[cpu] * w.traffic[second] }
	case domain.CauseCPULocation:
		return func(cpu, _ int) float64 {
			if m.socket[cpu] == w.Interconnect.Socket {
				return 1
			}
			return 0
		}
	case CauseNone:
		return func(_, second int) float64 { return math.Pow(w.load[second], w.Stalls.LoadPower) }
	default:
		pressure := w.pressure[cause]
		return func(_, second int) float64 { return pressure[second] }
	}
}

// calibrate sets the scales so that a thread that roams as these visits do
// suffers the wanted number of stalls.
func (w *world) calibrate(hazards []hazard, visits []visit) {
	sums := make([]float64, len(hazards))
	th := thread{visits: visits}
	for i, v := range visits {
		end := th.end(i, w.length)
		for t := v.at; t < end; {
			s := w.second(t)
			next := min(end, float64(s+1))
			if next <= t {
				break
			}
			for h := range hazards {
				sums[h] += hazards[h].rate(v.cpu, s) * (next - t)
			}
			t = next
		}
	}
	for h := range hazards {
		hazards[h].scale = 0
		if sums[h] > 0 {
			hazards[h].scale = hazards[h].count / sums[h]
		}
	}
}

// delays makes the stalls of one thread while it roams.
type delays struct {
	w       *world
	r       *rand.Rand
	hazards []hazard
	share   float64
	budget  float64 // of accumulated hazard until the next stall
	stalls  []stall
}

// during lets a visit pass and gives its end, put off by the stalls in it.
func (d *delays) during(v visit, end float64) float64 {
	for t := v.at; t < end && t < d.w.length; {
		s := d.w.second(t)
		next := min(end, float64(s+1))
		if next <= t {
			break
		}
		total := d.total(v.cpu, s)
		if total*(next-t) < d.budget {
			d.budget -= total * (next - t)
			t = next
			continue
		}
		t += d.budget / total
		st := stall{
			at: t, length: logBetween(d.r, d.w.Stalls.Min.Seconds(), d.w.Stalls.Max.Seconds()),
			cause: d.which(v.cpu, s, total), cpu: v.cpu,
		}
		d.budget = d.r.ExpFloat64()
		if st.end() < d.w.length {
			d.stalls = append(d.stalls, st)
		}
		t = st.end()
		end = max(end+st.length, t)
	}
	return end
}

func (d *delays) total(cpu, second int) float64 {
	sum := 0.0
	for i := range d.hazards {
		sum += d.hazards[i].scale * d.hazards[i].rate(cpu, second)
	}
	return sum * d.share
}

// which draws the cause of a stall by what each contributed.
func (d *delays) which(cpu, second int, total float64) string {
	left := d.r.Float64() * total
	for i := range d.hazards {
		left -= d.share * d.hazards[i].scale * d.hazards[i].rate(cpu, second)
		if left <= 0 {
			return d.hazards[i].cause
		}
	}
	return d.hazards[len(d.hazards)-1].cause
}

// delay runs every writing thread of an instance through the window.
func (w *world) delay(in *instance, salt uint64) {
	hazards := w.hazards()
	for i, th := range in.threads {
		seed := w.Seed + uint64(i)*1_000_003
		if th.share == 0 {
			th.visits = w.roam(stream(seed, streamPlacement+salt), idleDwell, nil)
			continue
		}
		trial := w.roam(stream(seed, streamPlacement+salt), w.LGWR.Dwell, nil)
		w.calibrate(hazards, trial)
		r := stream(seed, streamStalls+salt)
		d := delays{w: w, r: r, hazards: hazards, share: th.share, budget: r.ExpFloat64()}
		th.visits = w.roam(stream(seed, streamPlacement+salt), w.LGWR.Dwell, d.during)
		in.stalls = append(in.stalls, d.stalls...)
	}
	sort.SliceStable(in.stalls, func(a, b int) bool { return in.stalls[a].at < in.stalls[b].at })
}
