package review_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
	"github.com/corewait/corewait/review"
	"github.com/corewait/corewait/store"
)

// weeksVariable says how many weeks the campaign generates.
const weeksVariable = "COREWAIT_WEEKS"

const (
	aDay  = 24 * time.Hour
	aWeek = 7 * aDay
)

// cluster is a two-node RAC whose days arrive one after the other in a store, each
// reviewed when it is over.
type cluster struct {
	*hostile

	from  time.Time // midnight of a Monday, UTC
	shape func(day, node int) refcase.Scenario
	nodes int

	days  []reviewedDay
	ticks int // ASH samples that show a stall, by the generator's own word
}

// reviewedDay is what the review after a day came to, and what it cost.
type reviewedDay struct {
	done  review.Done
	took  time.Duration
	steps int64 // of the store
}

// newCluster makes a cluster in a database of its own that keeps so many weeks.
func newCluster(t *testing.T, weeks int) *cluster {
	t.Helper()
	o := review.DefaultOptions()
	o.Quiet, o.Raw = 0, time.Duration(weeks+3)*aWeek
	return &cluster{hostile: openHostile(t, o), from: monday().Add(-time.Duration(weeks-1) * aWeek), nodes: 2}
}

// live lets days arrive and reviews each ten minutes after its end.
func (c *cluster) live(days int) {
	c.t.Helper()
	for day := range days {
		for node := range c.nodes {
			s := c.shape(day, node)
			c.ticks += c.arrive(&s).StallTicks
		}
		began, steps := time.Now(), newFuse(c.t.Context(), 0)
		done, err := c.Run(steps, c.from.Add(time.Duration(day+1)*aDay+10*time.Minute))
		if err != nil {
			c.t.Fatal(err)
		}
		c.days = append(c.days, reviewedDay{done, time.Since(began), steps.steps.Load()})
	}
}

// arrive puts what a scenario's node tells beside what is there.
func (c *cluster) arrive(s *refcase.Scenario) refcase.Truth {
	c.t.Helper()
	to, err := c.ImportLive(c.t.Context(), s.Node)
	if err != nil {
		c.t.Fatal(err)
	}
	intervals := series.NewIntervals(to)
	truth, err := s.Generate(intervals)
	if err == nil {
		err = intervals.Flush()
	}
	if err == nil {
		err = to.Flush(c.t.Context())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return truth
}

// smallNode is a day on a node of 16 CPUs, five of which handle most of the
// interconnect's interrupts. Its load is five times as high in the afternoon as at
// night. Records are coarse, so that a month is affordable: a day is some 200,000.
func smallNode(from time.Time, day, node int, r *rand.Rand) refcase.Scenario {
	return refcase.Scenario{
		Seed: r.Uint64(), Node: fmt.Sprint("db", node+1), Instance: fmt.Sprint("ORDP", node+1),
		Start: from.Add(time.Duration(day) * aDay), Hours: 24,
		Machine: refcase.Machine{Sockets: 2, CoresPerSocket: 4, ThreadsPerCore: 2},
		Load: refcase.Load{
			CommitsPerS: between(r, 300, 900), Wave: between(r, 0.6, 0.9), WavePeak: between(r, 0.5, 0.7),
			Wander: between(r, 0.2, 0.4), WanderSeconds: between(r, 30, 120), BurstsPerHour: between(r, 20, 60), BurstGain: between(r, 2, 4),
			Busy: 0.12,
		},
		Interconnect: refcase.Interconnect{Socket: 1, QueuesPerS: []float64{ // CPUs 4 to 7, then 12 to 15
			4200, 1900, 2600, 350, 1500, 300, 3100, 250,
		}},
		LGWR: refcase.LGWR{Dwell: 4 * time.Second, HeavyPull: 1, WritesPerS: 500},
		Stalls: refcase.Stalls{
			Cause: refcase.CauseNone, Min: 110 * time.Millisecond, Max: 600 * time.Millisecond, WaitersMin: 3, WaitersMax: 12, SessionOnly: 1,
		},
		Records: refcase.Records{
			Interrupts: 30 * time.Second, MPStat: time.Minute, IOStat: 10 * time.Second, SysStat: 10 * time.Second,
			ASH: refcase.ASHFiltered, Cores: true, Bond: true,
		},
	}
}

// draw gives the random numbers of a day on a node.
func draw(seed uint64, day, node int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(day)*1000+uint64(node)))
}

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// innocentDay is a day whose stalls have no cause that the records show, in the way
// that is hardest to tell from interrupts: stalls, interrupts and LGWR's stay on the
// CPUs that they hit all grow with the load, by the hour and in bursts of seconds.
func innocentDay(from time.Time, seed uint64) func(day, node int) refcase.Scenario {
	return func(day, node int) refcase.Scenario {
		r := draw(seed, day, node)
		s := smallNode(from, day, node, r)
		s.Stalls.Count = 30 * math.Exp(r.Float64()*math.Log(12)) // 30 to 360, of which ASH meets a third
		s.Stalls.LoadPower = between(r, 1.5, 4)
		s.LGWR.Dwell = time.Duration(between(r, 1.5, 6) * float64(time.Second))
		s.LGWR.HeavyPull, s.LGWR.HeavyPullLoad = between(r, 0.7, 1.2), between(r, 1, 2.5)
		if r.Float64() < 0.3 {
			s.Load.Noise = between(r, 0.3, 0.7)
		}
		return s
	}
}

// guiltyDay is a day on which interrupts make the stalls.
func guiltyDay(from time.Time, seed uint64) func(day, node int) refcase.Scenario {
	return func(day, node int) refcase.Scenario {
		r := draw(seed, day, node)
		s := smallNode(from, day, node, r)
		s.Stalls.Cause, s.Stalls.Background = domain.CauseInterrupts, 0.5
		s.Stalls.Count = 60 * math.Exp(r.Float64()*math.Log(6)) // 60 to 360
		s.LGWR.Dwell = time.Duration(between(r, 1.5, 6) * float64(time.Second))
		s.LGWR.HeavyPull, s.LGWR.HeavyPullLoad = between(r, 0.7, 1.2), between(r, 0, 1.5)
		return s
	}
}

// verdicts counts the findings of a scope.
type verdicts struct {
	all    int
	judged int // those that had data enough to say anything
	// blaming say that interrupts are the cause, or one of the causes.
	blaming  int
	accepted int // those that name interrupts as the cause and hold in the fleet
}

// judged gives the verdicts of a scope that stand.
func (c *cluster) judged(scope store.Scope) (v verdicts) {
	c.t.Helper()
	for after := store.Cursor(""); ; {
		heads, next, err := c.Findings(c.t.Context(), store.FindingFilter{Scope: scope}, store.Page{After: after})
		if err != nil {
			c.t.Fatal(err)
		}
		for i := range heads {
			c.judge(&heads[i], &v)
		}
		if after = next; after == "" {
			return v
		}
	}
}

func (c *cluster) judge(h *store.FindingHead, v *verdicts) {
	c.t.Helper()
	f, err := c.Finding(c.t.Context(), h.Node, h.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	v.all++
	if h.Verdict != domain.InsufficientData {
		v.judged++
	}
	blames := h.Verdict == domain.CauseInterrupts || slices.ContainsFunc(f.Document.Causes, func(cause domain.Cause) bool {
		return cause.Cause == domain.CauseInterrupts && cause.Verdict == domain.Supported
	})
	if blames {
		v.blaming++
	}
	if h.Verdict == domain.CauseInterrupts && h.Fleet != nil && h.Fleet.Accepted {
		v.accepted++
	}
}

// outcome is the verdicts of all scopes.
type outcome struct{ incident, day, week verdicts }

func (c *cluster) outcome() outcome {
	c.t.Helper()
	return outcome{c.judged(store.ScopeIncident), c.judged(store.ScopeDay), c.judged(store.ScopeWeek)}
}

func (o outcome) blaming() int { return o.incident.blaming + o.day.blaming + o.week.blaming }
func (o outcome) judged() int  { return o.incident.judged + o.day.judged + o.week.judged }

func (o outcome) String() string {
	text := func(v verdicts) string {
		return fmt.Sprintf("%d (%d with data enough, %d blame interrupts, %d hold in the fleet)", v.all, v.judged, v.blaming, v.accepted)
	}
	return fmt.Sprintf("incidents %s, days %s, weeks %s", text(o.incident), text(o.day), text(o.week))
}

// weeks reads how many the campaign generates.
func weeks(t *testing.T) int {
	t.Helper()
	text := os.Getenv(weeksVariable)
	if text == "" {
		t.Skipf("SKIPPED: takes minutes: set %s=4, or run make campaign", weeksVariable)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 20 {
		t.Fatalf("%s: %q is not a number of weeks up to 20", weeksVariable, text)
	}
	return n
}

// mostFalse is the share of verdicts on innocent interrupts that may blame them.
const mostFalse = 0.01

// TestInnocentWeeks counts false findings over weeks of a cluster whose stalls have
// no cause that the records show. Verdicts that say that there is too little data
// are no part of what the share is taken of: they could not be false.
func TestInnocentWeeks(t *testing.T) {
	n := weeks(t)
	c := newCluster(t, n)
	c.shape = innocentDay(c.from, numberOf(t, seedVariable, 1))
	c.live(7 * n)
	o := c.outcome()
	t.Logf("null weeks: %d days, %d weeks, %d incidents: %d false verdicts, %d accepted in the fleet; %d ASH samples show a stall; %v",
		o.day.all, o.week.all, o.incident.all, o.blaming(), o.day.accepted+o.week.accepted, c.ticks, o)
	if days := c.nodes * 7 * n; o.day.all != days || o.week.all != c.nodes*n {
		t.Errorf("%d days and %d weeks were lived: some have no verdict", days, c.nodes*n)
	}
	if o.day.judged < o.day.all*3/4 || o.week.judged < o.week.all {
		t.Error("too many days or weeks had too few stalls to be judged: the campaign says nothing")
	}
	if float64(o.blaming()) > mostFalse*float64(o.judged()) {
		t.Errorf("%d of %d verdicts are false, over %v %%", o.blaming(), o.judged(), 100*mostFalse)
	}
	c.wantCostOfNewData(n)
}

// wantCostOfNewData holds the review after each day to the windows of that day, and
// tells what it cost in the first and in the last week. Those hold other data, other
// incidents above all: TestAReviewCostsTheSameHoweverMuchWasBefore compares the same
// days, and by what the database does. Days that end a week are left out: they judge it as well.
func (c *cluster) wantCostOfNewData(weeks int) {
	c.t.Helper()
	for day, d := range c.days {
		want := review.Done{Hours: c.nodes * 24, Incidents: d.done.Incidents, Days: c.nodes, Fleet: 1}
		if day%7 == 6 {
			want.Weeks, want.Fleet = c.nodes, 2
		}
		if d.done != want {
			c.t.Errorf("the review after day %d did %v, want %v", day, d.done, want)
		}
	}
	for _, week := range slices.Compact([]int{0, weeks - 1}) {
		d := c.cost(week)
		c.t.Logf("null weeks: the review of a new day of week %d took %.2f s, %d steps of the store, for %d incidents (means)",
			week+1, d.took.Seconds(), d.steps, d.done.Incidents)
	}
}

// cost gives the mean of what the reviews after the days of a week took, but for the
// last one.
func (c *cluster) cost(week int) reviewedDay {
	var sum reviewedDay
	days := c.days[7*week : 7*week+6]
	for _, d := range days {
		sum.took, sum.steps = sum.took+d.took, sum.steps+d.steps
		sum.done.Incidents += d.done.Incidents
	}
	n := int64(len(days))
	return reviewedDay{done: review.Done{Incidents: sum.done.Incidents / len(days)}, took: sum.took / time.Duration(n), steps: sum.steps / n}
}

// TestGuiltyWeeks shows that the same cluster, records and review find interrupts
// where they are the cause: else the count of false findings would say nothing.
func TestGuiltyWeeks(t *testing.T) {
	n := (weeks(t) + 1) / 2
	c := newCluster(t, n)
	c.shape = guiltyDay(c.from, numberOf(t, seedVariable, 1))
	c.live(7 * n)
	o := c.outcome()
	t.Logf("guilty weeks: %d days, %d weeks, %d incidents: interrupts found in %d days, %d weeks and %d incidents; %d ASH samples show a stall; %v",
		o.day.all, o.week.all, o.incident.all, o.day.blaming, o.week.blaming, o.incident.blaming, c.ticks, o)
	if o.day.blaming*10 < o.day.all*7 || o.week.blaming < o.week.all {
		t.Errorf("want 7 of 10 days, and all weeks")
	}
}

// seedVariable gives other weeks.
const seedVariable = "COREWAIT_SEED"

func numberOf(t *testing.T, variable string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestTwoDaysOfTwoNodes is the campaign in short: mornings of two days with about as
// many stalls as a day of the campaign has.
func TestTwoDaysOfTwoNodes(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]func(time.Time, uint64) func(int, int) refcase.Scenario{"innocent": innocentDay, "guilty": guiltyDay} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			day := shape(c.from, 1)
			c.shape = func(number, node int) refcase.Scenario {
				s := day(number, node)
				s.Start, s.Hours, s.Stalls.Count = s.Start.Add(7*time.Hour), 3, 150
				return s
			}
			c.live(2)
			o := c.outcome()
			t.Log(o)
			if o.day.judged != 4 || o.incident.judged == 0 {
				t.Errorf("too little was judged: %v", o)
			}
			if guilty := name == "guilty"; guilty && (o.day.blaming < 3 || o.day.accepted < 3) || !guilty && o.blaming() > 0 {
				t.Errorf("interrupts are %s: %v", name, o)
			}
		})
	}
}
