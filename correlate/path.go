package correlate

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/correlate/stats"
)

// path is where the watched process was: one place per sample. A place is the
// set of CPUs of the threads that ran: one CPU as a rule, several where workers
// share the job.
type path struct {
	at          []series.Micros
	place       []int32
	places      [][]int32 // CPU ids of a place, ascending
	period      series.Micros
	uncertainty series.Micros
	visits      []visit
	visitOf     []int32 // sample to visit
	commands    []string
}

// visit is an unbroken stay at one place, as far as samples tell.
type visit struct {
	series.Span
	place int32
	first int32 // its first sample
}

// newPath merges the threads of a watch. Workers count only where they ran
// since their last sample; the process itself counts unless it did not run
// while workers did.
func newPath(threads []series.Thread, window series.Span) *path {
	p := &path{}
	main, workers := splitThreads(threads)
	if main == nil {
		return p
	}
	p.period, p.uncertainty = main.Period(), main.Uncertainty
	p.commands = append(p.commands, main.Command)
	for _, w := range workers {
		p.commands = append(p.commands, w.Command)
	}
	p.at, p.place = make([]series.Micros, 0, len(main.At)), make([]int32, 0, len(main.At))
	placeNumber := p.numberPlaces()
	cursor := make([]int, len(workers))
	var ids []int32
	n := int32(-1)
	for i, at := range main.At {
		if !window.Contains(at) {
			continue
		}
		ids = ids[:0]
		for k, w := range workers {
			cursor[k] = nearest(w.At, at, cursor[k])
			if j := cursor[k]; j < len(w.At) && abs(w.At[j]-at) <= p.period/2 && surelyRan(w, j) {
				ids = append(ids, w.CPU[j])
			}
		}
		if len(ids) == 0 || ran(main, i) {
			ids = append(ids, main.CPU[i])
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		// Most samples find the process where the one before did.
		if n < 0 || !slices.Equal(p.places[n], ids) {
			n = placeNumber(ids)
		}
		p.at, p.place = append(p.at, at), append(p.place, n)
	}
	p.findVisits()
	return p
}

// numberPlaces gives what numbers the sets of CPUs in order of appearance.
func (p *path) numberPlaces() func(ids []int32) int32 {
	index := map[string]int32{}
	var key []byte
	return func(ids []int32) int32 {
		key = key[:0]
		for _, c := range ids {
			key = binary.LittleEndian.AppendUint32(key, uint32(c)) //nolint:gosec // only an identity
		}
		n, ok := index[string(key)]
		if !ok {
			n = int32(len(p.places)) //nolint:gosec // bounded by the number of samples
			index[string(key)] = n
			p.places = append(p.places, slices.Clone(ids))
		}
		return n
	}
}

// splitThreads gives the process itself, the one with most samples where it
// was restarted in the window, and its workers.
func splitThreads(threads []series.Thread) (*series.Thread, []*series.Thread) {
	var main *series.Thread
	var workers []*series.Thread
	for i := range threads {
		t := &threads[i]
		switch {
		case t.Worker:
			workers = append(workers, t)
		case main == nil || len(t.At) > len(main.At):
			main = t
		}
	}
	if main == nil && len(workers) > 0 {
		main, workers = workers[0], workers[1:]
	}
	return main, workers
}

// ran says whether the thread ran since its sample before; where that is
// unknown it is taken to have run.
func ran(t *series.Thread, i int) bool {
	if t.Exec[i] >= 0 {
		return t.Exec[i] > 0
	}
	s := float64(t.CPUShare[i])
	return math.IsNaN(s) || s > 0
}

// surelyRan says whether there is a sign that a worker ran since its sample
// before: an idle worker keeps the CPU where it last ran, and must not speak
// for where the job is done.
func surelyRan(t *series.Thread, i int) bool {
	if t.Exec[i] >= 0 || !math.IsNaN(float64(t.CPUShare[i])) {
		return ran(t, i)
	}
	return t.State[i] == 'R' || t.State[i] == 'D' || i > 0 && t.CPU[i] != t.CPU[i-1]
}

// nearest gives the index of the sample nearest to t; from is a hint that must
// not be past it.
func nearest(at []series.Micros, t series.Micros, from int) int {
	i := from
	for i+1 < len(at) && abs(at[i+1]-t) <= abs(at[i]-t) {
		i++
	}
	return i
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// reach is how long a sample speaks for the time after it. A tool that prints
// whole seconds skips one now and then, when its phase passes the second's end.
func (p *path) reach() series.Micros { return p.period + max(p.period/2, p.uncertainty*5/4) }

func (p *path) findVisits() {
	if p.period == 0 { // a single reading tells of no stay
		p.at, p.place = nil, nil
		return
	}
	p.visitOf = make([]int32, len(p.at))
	moves := 0
	for i := 1; i < len(p.place); i++ {
		if p.place[i] != p.place[i-1] {
			moves++
		}
	}
	p.visits = make([]visit, 0, moves+1) // gaps add a few
	for i := range p.at {
		end := p.at[i] + p.period
		if i+1 < len(p.at) && p.at[i+1]-p.at[i] <= p.reach() {
			end = p.at[i+1]
		}
		n := len(p.visits)
		if n > 0 && p.visits[n-1].place == p.place[i] && p.visits[n-1].To == p.at[i] {
			p.visits[n-1].To = end
		} else {
			p.visits = append(p.visits, visit{series.Span{From: p.at[i], To: end}, p.place[i], int32(i)})
		}
		p.visitOf[i] = int32(len(p.visits) - 1) //nolint:gosec // index of a visit
	}
}

// samplesOf gives how many samples a visit has.
func (p *path) samplesOf(visit int32) int {
	end := len(p.at)
	if int(visit)+1 < len(p.visits) {
		end = int(p.visits[visit+1].first)
	}
	return end - int(p.visits[visit].first)
}

// seconds gives the time for which the place is known.
func (p *path) seconds() float64 {
	var s float64
	for i := range p.visits {
		s += p.visits[i].Seconds()
	}
	return s
}

// secondsByPlace gives the time spent at each place.
func (p *path) secondsByPlace() []float64 {
	s := make([]float64, len(p.places))
	for i := range p.visits {
		s[p.visits[i].place] += p.visits[i].Seconds()
	}
	return s
}

// sampleAt gives the sample that tells the place at t, when samples were read
// offset after the time they carry; -1 where none is near enough.
func (p *path) sampleAt(t, offset series.Micros) int {
	t -= offset
	i := sort.Search(len(p.at), func(i int) bool { return p.at[i] > t })
	if i > 0 && (i == len(p.at) || t-p.at[i-1] <= p.at[i]-t) {
		i--
	}
	if i >= len(p.at) || abs(p.at[i]-t) > p.period*3/4+p.uncertainty/4 {
		return -1
	}
	return i
}

// distance is how far an instant lies from the sample that tells its place, as
// a rule: a quarter of the period where samples come at exact times or their
// phase was fitted.
func (p *path) distance() series.Micros { return p.period / 4 }

// kappa is the agreement (Cohen) between the exposure at an instant and that
// gap later, from the path itself. Gaps under the sampling period are
// interpolated as if moves were memoryless: agreement falls geometrically.
func (p *path) kappa(exposed []bool, gap series.Micros) float64 {
	if p.period == 0 || len(p.at) < 10 {
		return math.NaN()
	}
	lag := max(1, int((gap+p.period/2)/p.period))
	k := p.kappaAtLag(exposed, lag)
	if gap >= p.period || math.IsNaN(k) {
		return k
	}
	if k <= 0 {
		return 0
	}
	return math.Pow(k, float64(gap)/float64(p.period))
}

func (p *path) kappaAtLag(exposed []bool, lag int) float64 {
	var n11, n10, n01, n00 float64
	for i := 0; i+lag < len(p.at); i++ {
		if p.at[i+lag]-p.at[i] > int64(lag+1)*p.period {
			continue
		}
		switch a, b := exposed[p.place[i]], exposed[p.place[i+lag]]; {
		case a && b:
			n11++
		case a:
			n10++
		case b:
			n01++
		default:
			n00++
		}
	}
	return stats.Kappa(n11, n10, n01, n00)
}
