package refcase

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/domain"
)

// beforeStalls is the mean of a per-second series over the seconds that ended
// before each stall of a cause began, and over all seconds.
func beforeStalls(t *testing.T, w *world, cause string, series []float64) (before, overall float64) {
	t.Helper()
	n := 0
	for _, st := range w.instances[0].stalls {
		if s := int(st.at) - 1; st.cause == cause && s >= 0 && s < len(series) {
			before += series[s]
			n++
		}
	}
	if n < 30 {
		t.Fatalf("%d stalls of %s, want enough to judge by", n, cause)
	}
	return before / float64(n), mean(series)
}

func TestARivalShowsInItsOwnRecordsBeforeTheStallsBegin(t *testing.T) {
	t.Parallel()
	cases := []struct {
		cause  string
		series func(r *recorder) []float64 // by second
		least  float64                     // mean before stalls, by the amplitudes in host.go
	}{
		{domain.CauseStorage, func(r *recorder) []float64 {
			return of(r.disks, func(d domain.DiskSample) float64 { return d.WriteAwaitMS })
		}, 3},
		{domain.CauseCPUSaturation, func(r *recorder) []float64 {
			return of(r.system, func(s domain.SystemSample) float64 { return s.RunQueue })
		}, 50},
		{domain.CauseCPUSaturation, func(r *recorder) []float64 {
			return of(r.system, func(s domain.SystemSample) float64 { return s.System })
		}, 0.3},
		{domain.CauseCPUSteal, func(r *recorder) []float64 {
			return of(r.system, func(s domain.SystemSample) float64 { return s.Steal })
		}, 0.12},
		{domain.CauseSwapping, func(r *recorder) []float64 {
			return of(r.system, func(s domain.SystemSample) float64 { return s.SwapInPerS })
		}, 1500},
	}
	for _, c := range cases {
		t.Run(c.cause, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Hours, s.Stalls.Cause, s.Stalls.Count = 1, c.cause, 120
			r, _ := record(t, s)
			before, overall := beforeStalls(t, newWorld(&s), c.cause, c.series(r))
			if before < c.least || before < 1.5*overall {
				t.Errorf("before stalls %.3f, overall %.3f, want at least %.3f and half as much again", before, overall, c.least)
			}
			// The same hour without the cause is healthy.
			s.Stalls.Cause = CauseNone
			calm, _ := record(t, s)
			if x := slices.Max(c.series(calm)); x > before {
				t.Errorf("at most %.3f without the cause, %.3f before stalls with it", x, before)
			}
		})
	}
}

func of[T any](records []T, value func(T) float64) []float64 {
	series := make([]float64, len(records))
	for i := range records {
		series[i] = value(records[i])
	}
	return series
}

func TestACauseShowsInASHUnderItsOwnEvent(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, cause, event, program string
		inflated                    bool
	}{
		{"a slow device in LGWR's write", domain.CauseStorage, "log file parallel write", "(LGWR)", false},
		{"interrupts in LGWR's write where they inflate it", domain.CauseInterrupts, "log file parallel write", "(LGWR)", true},
		{"an acknowledgement in LGWR's wait for it", domain.CauseRACAck, "wait for scn ack", "(LGWR)", false},
		{"a standby in the sender's wait", domain.CauseDataGuard, "SYNC Remote Write", "(NSS2)", false},
		{"a log switch in the sessions' wait", domain.CauseLogSwitch, "log file switch completion", "JDBC", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Hours, s.Stalls.Cause, s.Stalls.Count, s.Stalls.InflatedWrite = 1, c.cause, 120, c.inflated
			if n := longRowsOf(t, s, c.event, c.program); n < 10 {
				t.Errorf("%d long rows of %q, want at least 10", n, c.event)
			}
			s.Stalls.Cause = CauseNone
			if n := longRowsOf(t, s, c.event, c.program); n != 0 {
				t.Errorf("%d long rows of %q without the cause, want none", n, c.event)
			}
		})
	}
}

func longRowsOf(t *testing.T, s Scenario, event, program string) int {
	t.Helper()
	r, _ := record(t, s)
	n := 0
	for i := range r.waits {
		w := &r.waits[i]
		if w.Event == event && w.TimeWaited >= 100*time.Millisecond && strings.Contains(w.Program, program) {
			n++
		}
	}
	return n
}

func TestAcknowledgementsShowInTheirCounters(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours, s.Stalls.Cause, s.Stalls.Count = 1, domain.CauseRACAck, 100
	r, _ := record(t, s)
	rise := map[string]int64{}
	first := map[string]int64{}
	for _, c := range r.counters {
		if _, ok := first[c.Name]; !ok {
			first[c.Name] = c.Value
		}
		rise[c.Name] = c.Value - first[c.Name]
	}
	// 60 us each where nothing presses.
	each := float64(rise["redo write broadcast ack time"]) / float64(rise["redo write broadcast ack count"])
	if each < 90 || math.IsNaN(each) {
		t.Errorf("%.0f us an acknowledgement, want well over 60", each)
	}
}

func TestStallsHappenWhereTheirCauseIs(t *testing.T) {
	t.Parallel()
	share := func(s Scenario, cpus []int) float64 {
		stalls := newWorld(&s).instances[0].stalls
		n := 0
		for _, st := range stalls {
			if slices.Contains(cpus, st.cpu) {
				n++
			}
		}
		return float64(n) / float64(len(stalls))
	}
	s := small()
	s.Hours, s.Stalls.Count = 1, 200
	heavy := []int{4, 5, 6, 7, 12, 13, 14, 15}

	s.Stalls.Cause = domain.CauseInterrupts
	if x := share(s, heavy); x < 0.9 { // the rest are the public port's CPUs, at 100/s each
		t.Errorf("interrupts: %.2f of stalls on heavy CPUs, want nearly all", x)
	}
	s.Stalls.Cause = CauseNone
	if x := share(s, heavy); math.Abs(x-0.5) > 0.15 {
		t.Errorf("nothing: %.2f of stalls on the heavy half of the CPUs, want about half", x)
	}
	// The CPUs 4, 5, 12, 13 have queues; LGWR stalls on all of the socket.
	s.Stalls.Cause, s.Interconnect.HalfSocket = domain.CauseCPULocation, true
	if x := share(s, heavy); x != 1 {
		t.Errorf("socket: %.2f of stalls on it, want all", x)
	}
	if x := share(s, []int{4, 5, 12, 13}); math.Abs(x-0.5) > 0.15 {
		t.Errorf("socket: %.2f of stalls on its heavy half, want about half", x)
	}
	if got := newWorld(&s).machine.heavyCPUs; !slices.Equal(got, []int{4, 5, 12, 13}) {
		t.Errorf("heavy CPUs %v, want half of the socket", got)
	}
}

func TestBothOfTwoCausesMakeAboutHalfOfTheStalls(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours, s.Stalls.Count = 1, 200
	s.Stalls.Cause, s.Stalls.OtherCause = domain.CauseInterrupts, domain.CauseStorage
	n := map[string]int{}
	for _, st := range newWorld(&s).instances[0].stalls {
		n[st.cause]++
	}
	if a, b := n[domain.CauseInterrupts], n[domain.CauseStorage]; a < 60 || b < 60 || a+b < 150 {
		t.Errorf("%v, want about a hundred each", n)
	}
}

func TestConfoundingLoadMovesStallsInterruptsAndLGWRTogether(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours = 4
	s.Load.Wave, s.Load.Wander, s.Load.BurstGain = 0.3, 0.3, 3
	s.Stalls.Count, s.Stalls.LoadPower, s.LGWR.HeavyPullLoad = 800, 2.5, 2
	w := newWorld(&s)
	median := slices.Sorted(slices.Values(w.load))[len(w.load)/2]
	busy, stalls := 0.0, 0.0
	for _, st := range w.instances[0].stalls {
		if w.load[w.second(st.at)] > median {
			busy++
		}
		stalls++
	}
	if x := busy / stalls; x < 0.7 {
		t.Errorf("%.2f of stalls in the busier half of the seconds, want most", x)
	}
	// Stalls do not ask where LGWR is, yet more of them find it on a heavy CPU
	// than of its time: that is the trap.
	heavy := 0.0
	for _, st := range w.instances[0].stalls {
		if slices.Contains(w.machine.heavyCPUs, st.cpu) {
			heavy++
		}
	}
	if x, share := heavy/stalls, w.exposedShare(w.instances[0]); x < share+0.05 {
		t.Errorf("%.2f of stalls on heavy CPUs at %.2f of the time, want clearly more", x, share)
	}
	if x := correlation(w.load, w.traffic); x < 0.9 {
		t.Errorf("traffic correlates with load by %.2f, want over 0.9", x)
	}
}

func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

func TestWokenSessionsRunInTheSecondAfterAStall(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours, s.Stalls.Count, s.Stalls.WaitersMin, s.Stalls.WaitersMax = 1, 100, 40, 60
	r, _ := record(t, s)
	w := newWorld(&s)
	after, n := 0.0, 0.0
	for _, st := range w.instances[0].stalls {
		after += r.system[w.second(st.end())].RunQueue
		n++
	}
	overall := mean(of(r.system, func(s domain.SystemSample) float64 { return s.RunQueue }))
	if after/n < overall+6 { // fifty sessions, a quarter of them met on the queue
		t.Errorf("run queue %.1f when stalls end, %.1f overall, want many more", after/n, overall)
	}
	demand, checked := w.demand(), 0
	for _, st := range w.instances[0].stalls {
		if s := w.second(st.at); w.held[s] > 0.4 && s+1 < len(demand) && w.held[s+1] == 0 && (s == 0 || w.held[s-1] == 0) {
			checked++
			if demand[s] >= 0.7*w.commitsWanted(s) || demand[s+1] <= 1.3*w.commitsWanted(s+1) {
				t.Errorf("second %d: %.0f commits in the stall, %.0f after, of %.0f wanted", s, demand[s], demand[s+1], w.commitsWanted(s))
			}
		}
	}
	if checked == 0 {
		t.Error("no stall of 0.4 s within a second of its own")
	}
}

// commitsWanted is the commits that are wanted in a second.
func (w *world) commitsWanted(second int) float64 { return w.Load.CommitsPerS * w.load[second] }

func TestPidstatReadsTheCPUAtAHiddenPhaseOfThePrintedSecond(t *testing.T) {
	t.Parallel()
	s := small()
	s.Hours = 1
	r, _ := record(t, s)
	w := newWorld(&s)
	visits := w.instances[0].threads[0].visits
	// A row is right if LGWR was on its CPU at some instant of the second.
	i := 0
	for _, p := range r.placements {
		from := p.At.Sub(s.Start).Seconds()
		for i+1 < len(visits) && visits[i+1].at <= from {
			i++
		}
		found := false
		for j := i; j < len(visits) && visits[j].at < from+1; j++ {
			found = found || visits[j].cpu == p.CPU
		}
		if !found {
			t.Fatalf("CPU %d printed for second %.0f, where LGWR never was", p.CPU, from)
		}
		if p.Uncertainty != time.Second || !p.At.Equal(p.At.Truncate(time.Second)) {
			t.Fatalf("%+v is no whole second", p)
		}
	}
	// The phase drifts by 1 to 4 ms a sample: some of 3,600 seconds are skipped.
	if n := len(r.placements); n < 3580 || n > 3597 {
		t.Errorf("%d rows, want 3 to 15 less than an hour's seconds", n)
	}
}

func TestWorkersAndSecondInstancesHaveThreadsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := small()
	s.LGWR.ActiveWorkers, s.LGWR.IdleWorkers, s.SecondInstance = 1, 1, "TST2"
	r, _ := record(t, s)
	use, ids := map[string]float64{}, map[int]string{}
	for _, p := range r.placements {
		use[p.Command] += p.CPUShare
		if name, ok := ids[p.TID]; ok && name != p.Command {
			t.Fatalf("thread %d is %s and %s", p.TID, name, p.Command)
		}
		ids[p.TID] = p.Command
	}
	if len(use) != 6 {
		t.Errorf("threads %v, want LGWR, LG00 and LG01 of two instances", ids)
	}
	for name, x := range use {
		if idle := strings.Contains(name, "lg01"); idle != (x == 0) {
			t.Errorf("%s used %.1f CPU seconds", name, x)
		}
	}
	instances := map[int]int{}
	for i := range r.waits {
		instances[r.waits[i].InstID]++
	}
	if instances[1] == 0 || instances[2] == 0 || len(instances) != 2 {
		t.Errorf("rows by instance %v, want those of 1 and 2", instances)
	}
	want := []domain.Instance{{InstID: 1, Name: "TST1", Host: "db7"}, {InstID: 2, Name: "TST2", Host: "db7"}}
	if !slices.Equal(r.instances, want) {
		t.Errorf("instances %v, want %v", r.instances, want)
	}
}
