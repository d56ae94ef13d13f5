package refcase

import (
	"fmt"
	"sort"
	"strings"
)

// world is everything that happened in a scenario before anyone recorded it.
type world struct {
	*Scenario
	length    float64 // seconds
	machine   *machine
	lightCPUs []int // those that are not heavy

	load     []float64 // by second, mean 1
	traffic  []float64 // by second, mean 1
	pressure map[string][]float64

	instances []*instance
	// herd is the number of sessions that a stall's end woke, by second; held
	// is the share of the second during which some instance's commits were
	// held up.
	herd, held []float64
}

// instance is one database instance on the node.
type instance struct {
	id      int // INST_ID
	name    string
	threads []*thread
	stalls  []stall     // in time order
	waits   []*longWait // in order of their begin
}

// newWorld lets a scenario happen.
func newWorld(s *Scenario) *world {
	n := s.seconds()
	w := &world{Scenario: s, length: float64(n), machine: newMachine(s), pressure: map[string][]float64{}}
	w.load = loadSeries(stream(s.Seed, streamLoad), n, s.Load)
	w.traffic = trafficSeries(stream(s.Seed, streamTraffic), w.load)
	for i, cause := range []string{s.Stalls.Cause, s.Stalls.OtherCause} {
		if e, ok := episodesOf(cause); ok {
			w.pressure[cause] = pressureSeries(stream(s.Seed+uint64(i), streamPressure), n, e)
		}
	}
	heavy := make([]bool, w.machine.cpus)
	for _, cpu := range w.machine.heavyCPUs {
		heavy[cpu] = true
	}
	for cpu := range heavy {
		if !heavy[cpu] {
			w.lightCPUs = append(w.lightCPUs, cpu)
		}
	}
	w.startInstances()
	w.spread()
	return w
}

// startInstances sets up the instances and runs their log writers.
func (w *world) startInstances() {
	for i, name := range []string{w.Instance, w.SecondInstance} {
		if name == "" {
			continue
		}
		salt := uint64(i) * streamSecond * 2
		in := &instance{id: i + 1, name: name, threads: w.writers(name, 18277+4200*i)}
		w.delay(in, salt)
		w.hold(in, salt)
		w.instances = append(w.instances, in)
	}
}

// writers are LGWR and its workers; those that write share the writes evenly.
func (w *world) writers(name string, id int) []*thread {
	share := 1 / float64(1+w.LGWR.ActiveWorkers)
	workers := w.LGWR.ActiveWorkers + w.LGWR.IdleWorkers
	threads := make([]*thread, 0, 1+workers)
	threads = append(threads, &thread{command: "ora_lgwr_" + name, id: id, share: share})
	for i := range workers {
		th := &thread{command: fmt.Sprintf("ora_lg%02d_%s", i, name), id: id + 3 + i}
		if i < w.LGWR.ActiveWorkers {
			th.share = share
		}
		threads = append(threads, th)
	}
	return threads
}

// spread notes, by second, what the stalls did to the host: commits are held
// up during them, and the woken sessions run in the second or two after.
func (w *world) spread() {
	w.herd, w.held = make([]float64, len(w.load)), make([]float64, len(w.load))
	for _, in := range w.instances {
		for s, share := range w.heldBy(in) {
			w.held[s] = min(1, w.held[s]+share)
		}
		for _, lw := range in.waits {
			if lw.session {
				continue
			}
			s := w.second(lw.end)
			w.herd[s]++
			w.herd[min(s+1, len(w.herd)-1)] += 0.4
		}
	}
}

// heldBy is the share of each second during which an instance's commits were
// held up.
func (w *world) heldBy(in *instance) []float64 {
	held := make([]float64, len(w.load))
	for _, st := range in.stalls {
		for t := st.at; t < st.end(); {
			s := w.second(t)
			next := min(st.end(), float64(s+1))
			if next <= t {
				break
			}
			held[s] = min(1, held[s]+next-t)
			t = next
		}
	}
	return held
}

// pressureAt is how hard a cause presses in a second; 0 where it is absent.
func (w *world) pressureAt(cause string, second int) float64 {
	if series := w.pressure[cause]; series != nil {
		return series[second]
	}
	return 0
}

// threads of all instances, as one pidstat names them.
func (w *world) threads() []*thread {
	var all []*thread
	for _, in := range w.instances {
		all = append(all, in.threads...)
	}
	return all
}

// gap is a stretch that was not recorded, in seconds since the start.
type gap struct{ from, to float64 }

// gaps draws stretches of one to four minutes that are missing.
func (w *world) gaps(count int, part uint64) []gap {
	r := stream(w.Seed, part)
	list := make([]gap, 0, count)
	for range count {
		from := between(r, 0.05, 0.9) * w.length
		list = append(list, gap{from, from + between(r, 60, 240)})
	}
	sort.Slice(list, func(a, b int) bool { return list[a].from < list[b].from })
	return list
}

func within(gaps []gap, t float64) bool {
	for _, g := range gaps {
		if t >= g.from && t < g.to {
			return true
		}
	}
	return false
}

// sqlID makes an identifier in Oracle's alphabet for SQL_ID.
func sqlID(number int) string {
	const alphabet = "0123456789abcdfghjkmnpqrstuvwxyz"
	var b strings.Builder
	n := scatter(count(number))
	for range 13 { // 13 characters of 5 bits are 65: the last has what is left
		b.WriteByte(alphabet[n%32])
		n /= 32
	}
	return b.String()
}
