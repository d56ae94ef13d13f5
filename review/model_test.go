package review

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/store"
)

// model is a store of one instance's stalls and incidents, in memory.
type model struct {
	pass

	t         *testing.T
	stalls    []store.Stall // ascending
	incidents []store.Incident
	made      byte
}

func newModel(t *testing.T) *model {
	t.Helper()
	return &model{t: t, pass: pass{Review: &Review{o: DefaultOptions()}}}
}

// add brings stalls at so many minutes after the begin.
func (m *model) add(minutes ...int) {
	for _, at := range minutes {
		m.stalls = append(m.stalls, store.Stall{At: modelBegin.Add(time.Duration(at) * time.Minute)})
	}
	slices.SortFunc(m.stalls, func(a, b store.Stall) int { return a.At.Compare(b.At) })
	m.stalls = slices.CompactFunc(m.stalls, func(a, b store.Stall) bool { return a.At.Equal(b.At) })
}

var modelBegin = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// review does what a review of some hours does to incidents.
func (m *model) review(hour, hours int) {
	m.t.Helper()
	w := domain.Window{From: modelBegin.Add(time.Duration(hour) * time.Hour), To: modelBegin.Add(time.Duration(hour+hours) * time.Hour)}
	about, known, err := m.about(w, func(w domain.Window) ([]store.Incident, error) {
		touching := slices.DeleteFunc(slices.Clone(m.incidents), func(i store.Incident) bool { return !overlap(i.Window, w) })
		slices.SortFunc(touching, func(a, b store.Incident) int { return a.Window.From.Compare(b.Window.From) })
		return touching, nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	stalls := slices.DeleteFunc(slices.Clone(m.stalls), func(s store.Stall) bool { return !widen(about, m.o.IncidentGap).Contains(s.At) })
	for _, c := range m.plan(stalls, known, about, w) {
		i := slices.IndexFunc(m.incidents, func(i store.Incident) bool { return i.ID == c.incident.ID })
		switch {
		case !c.is:
			m.made++
			c.incident.ID = store.UUID{m.made}
			m.incidents = append(m.incidents, c.incident)
		case c.absorbed:
			m.incidents[i].State, m.incidents[i].Stalls = store.IncidentDismissed, 0
		default:
			m.incidents[i].Window, m.incidents[i].Stalls = c.incident.Window, c.incident.Stalls
		}
	}
}

// text gives the incidents that are open, in order.
func (m *model) text() string {
	open := slices.DeleteFunc(slices.Clone(m.incidents), func(i store.Incident) bool { return i.State != store.IncidentOpen })
	slices.SortFunc(open, func(a, b store.Incident) int { return a.Window.From.Compare(b.Window.From) })
	text := ""
	for _, i := range open {
		text += fmt.Sprintf("%v-%v %d\n", i.Window.From.Sub(modelBegin), i.Window.To.Sub(modelBegin), i.Stalls)
	}
	return text
}

// check holds the incidents to what must be true of them however the stalls came.
func (m *model) check() {
	m.t.Helper()
	for i, a := range m.incidents {
		if a.State != store.IncidentOpen {
			continue
		}
		within := 0
		for _, s := range m.stalls {
			if a.Window.Contains(s.At) {
				within++
			}
		}
		if within != a.Stalls {
			m.t.Fatalf("an incident of %d stalls has %d in its window, %v:\n%s", a.Stalls, within, a.Window, m.text())
		}
		if a.Window.Duration() > longestIncident+2*m.o.IncidentMargin {
			m.t.Fatalf("an incident lasts %v", a.Window.Duration())
		}
		for _, b := range m.incidents[i+1:] {
			if b.State == store.IncidentOpen && overlap(a.Window, b.Window) {
				m.t.Fatalf("two incidents overlap:\n%s", m.text())
			}
		}
	}
	for _, r := range runsOf(m.stalls, m.o.IncidentGap, 1000*time.Hour) {
		if len(r) < m.o.IncidentStalls || r.last().Sub(r.first()) > longestIncident {
			continue
		}
		for _, s := range r {
			if !slices.ContainsFunc(m.incidents, func(i store.Incident) bool { return i.State == store.IncidentOpen && i.Window.Contains(s.At) }) {
				m.t.Fatalf("a run of %d stalls, one of which, at %v, is in no incident:\n%s", len(r), s.At.Sub(modelBegin), m.text())
			}
		}
	}
}

const modelHours = 60

// randomStalls gives the minutes of stalls: loose ones, and stretches up to 20 hours
// in which they follow one another closely.
func randomStalls(r *rand.Rand) []int {
	var minutes []int
	for range 20 {
		minutes = append(minutes, r.IntN(modelHours*60))
	}
	for range 4 {
		step := 1 + r.IntN(14)
		for at, n := r.IntN(modelHours*60), r.IntN(20*60/step); n > 0 && at < modelHours*60; at, n = at+step, n-1 {
			minutes = append(minutes, at)
		}
	}
	return minutes
}

func ofHour(minutes []int, hour int) []int {
	return slices.DeleteFunc(slices.Clone(minutes), func(m int) bool { return m/60 != hour })
}

// However stalls come, late ones and repeats included, incidents do not overlap, hold
// the stalls that they say, leave none out, and stay as they are when their hours are
// reviewed once more.
func TestIncidentsAreSoundInWhateverOrderStallsCome(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(t)
		all := randomStalls(r)
		for _, hour := range r.Perm(modelHours) {
			of := ofHour(all, hour)
			m.add(of[:len(of)/2]...)
			m.review(hour, 1)
			if r.IntN(2) == 0 {
				m.check()
			}
			m.add(of...)
			m.review(hour, 1)
			m.check()
			before := m.text()
			m.review(hour, 1)
			if after := m.text(); after != before {
				t.Fatalf("seed %d: hour %d reviewed again:\n%swas\n%s", seed, hour, after, before)
			}
		}
	}
}

// Stalls that come in order make the same incidents hour by hour, as they do while
// each hour is reviewed several times, and all at once.
func TestIncidentsOfStallsInOrderDoNotDependOnHowManyHoursAreReviewedAtOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		all := randomStalls(r)
		single, some, once := newModel(t), newModel(t), newModel(t)
		for hour := range modelHours {
			of := ofHour(all, hour)
			slices.Sort(of)
			for len(of) > 0 {
				n := 1 + r.IntN(len(of))
				single.add(of[:n]...)
				of = of[n:]
				single.review(hour, 1)
			}
		}
		for hour := 0; hour < modelHours; {
			n := min(1+r.IntN(hoursTogether), modelHours-hour)
			for h := range n {
				some.add(ofHour(all, hour+h)...)
			}
			some.review(hour, n)
			hour += n
		}
		once.add(all...)
		once.review(0, modelHours)
		if a, b, c := single.text(), some.text(), once.text(); a != b || b != c {
			t.Fatalf("seed %d: by the minute\n%sby some hours\n%sat once\n%s", seed, a, b, c)
		}
	}
}
