package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/corewait/corewait/domain"
)

var nan = math.NaN()

// clock gives an instant of the tests' day in us.
func clock(us int64) time.Time {
	return time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(us) * time.Microsecond)
}

const ms, sec = 1_000, 1_000_000 // in us

func placement(at int64, cpu int, state byte) domain.Placement {
	return domain.Placement{
		At: clock(at), TID: 77, Command: "ora_lgwr_A", CPU: cpu, State: state, Policy: -1, CPUShare: nan, WaitShare: nan,
		Exec: -1, RunDelay: -1, Voluntary: -1, Involuntary: -1,
	}
}

// By hand: 20 samples a second, the third 40 us late.
func TestASecondOfPlacementIsOneRow(t *testing.T) {
	t.Parallel()
	var samples []domain.Placement
	for i := range 20 {
		p := placement(int64(i)*50*ms, 3, 'S')
		p.Exec, p.RunDelay = 0, 0
		samples = append(samples, p)
	}
	samples[2].At = samples[2].At.Add(40 * time.Microsecond)
	samples[5].CPU, samples[5].State, samples[5].Exec, samples[5].CPUShare = 7, 'R', 1499*time.Nanosecond, 0.12345
	runs := placementRuns(samples)
	jitter, exec, share := make([]int16, 20), make([]int32, 20), slices.Repeat([]int16{null16}, 20)
	states := make([]int16, 20)
	states[5] = 1                              // R
	jitter[2], exec[5], share[5] = 40, 1, 1235 // 12.345 % rounds to 12.35 %
	want := []placementRun{{
		command: "ora_lgwr_A", tid: 77, at: clock(0).UnixMicro(), until: clock(950 * ms).UnixMicro(), periodUS: 50 * ms, jitterUS: jitter,
		runSamples: []int16{5, 1, 14}, runCPU: []int16{3, 7, 3}, states: states, policy: null16, firstIntervalUS: null64,
		cpuShareBP: share, execUS: exec, runDelayUS: []int32{},
	}}
	if diff := cmp.Diff(want, runs, cmp.AllowUnexported(placementRun{})); diff != "" {
		t.Error(diff)
	}
}

// By hand: each interval is the time since the sample before, the first one 49 ms;
// but for the last row of samples, where one is not.
func TestIntervalsThatAreDistancesAreNotStored(t *testing.T) {
	t.Parallel()
	samples := []domain.Placement{placement(0, 3, 'S'), placement(50*ms+7, 3, 'S'), placement(100*ms-2, 3, 'S')}
	samples[0].Interval, samples[1].Interval, samples[2].Interval = 49*time.Millisecond, 50_007*time.Microsecond, 49_991*time.Microsecond
	for _, c := range []struct {
		name     string
		change   func()
		first    int64
		interval []int64
	}{
		{"all are", func() {}, 49_000, nil},
		{"one is a microsecond off", func() { samples[2].Interval += time.Microsecond }, null64, []int64{49_000, 50_007, 49_992}},
		{"the first is unknown", func() { samples[2].Interval -= time.Microsecond; samples[0].Interval = 0 }, null64, []int64{null64, 50_007, 49_991}},
		{"none is known", func() { samples[1].Interval, samples[2].Interval = 0, 0 }, null64, nil},
	} {
		c.change()
		runs := placementRuns(slices.Clone(samples))
		if len(runs) != 1 || runs[0].firstIntervalUS != c.first || !slices.Equal(runs[0].intervalUS, c.interval) {
			t.Errorf("%s: %+v", c.name, runs)
		}
		if diff := cmp.Diff(samples, decodedPlacements(t, slices.Clone(samples)), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestARunOfPlacementEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(i int, p *domain.Placement)
		count  int
		want   []int // samples of each run
	}{
		{"where a tick was missed", func(i int, p *domain.Placement) {
			if i >= 4 {
				p.At = p.At.Add(50 * time.Millisecond)
			}
		}, 10, []int{4, 6}},
		{"where the policy changes", func(i int, p *domain.Placement) { p.Policy = i / 7 }, 10, []int{7, 3}},
		{"where the uncertainty changes", func(i int, p *domain.Placement) { p.Uncertainty = time.Duration(i/3) * time.Second }, 6, []int{3, 3}},
		{"where a sample is too late for the row", func(i int, p *domain.Placement) {
			if i == 5 { // 70 ms after the one before and before the next: no tick is missed
				p.At = p.At.Add(20 * time.Millisecond)
			}
			if i > 5 {
				p.At = p.At.Add(40 * time.Millisecond)
			}
		}, 10, []int{6, 4}},
		{"after a minute", func(i int, p *domain.Placement) { p.At = clock(int64(i) * sec) }, 100, []int{61, 39}},
		{"after 1,200 samples", func(i int, p *domain.Placement) { p.At = clock(int64(i) * 10 * ms) }, 1_300, []int{1_200, 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var samples []domain.Placement
			for i := range c.count {
				p := placement(int64(i)*50*ms, 1, 'S')
				c.change(i, &p)
				samples = append(samples, p)
			}
			var got []int
			for _, r := range placementRuns(samples) {
				n, err := r.check()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got runs of %v samples, want %v", got, c.want)
			}
		})
	}
}

func TestOfPlacementsOfOneInstantTheFirstCounts(t *testing.T) {
	t.Parallel()
	second := placement(1*sec, 8, 'S')
	second.Uncertainty = time.Second
	nowhere := placement(1*sec, -1, 'S')
	got := decodedPlacements(t, []domain.Placement{placement(2*sec, 2, 'S'), nowhere, placement(1*sec, 1, 'R'), second, placement(0, 0, 0)})
	first := placement(1*sec, 1, 'R')
	first.Uncertainty = time.Second // the greater of both, as in series
	want := []domain.Placement{placement(0, 0, 0), first, placement(2*sec, 2, 'S')}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func decodedPlacements(t *testing.T, samples []domain.Placement) []domain.Placement {
	t.Helper()
	var got []domain.Placement
	for _, r := range placementRuns(samples) {
		if r.until-r.at > longestRun || len(r.runSamples) > mostInRun {
			t.Fatalf("a run of %d us and %d places", r.until-r.at, len(r.runSamples))
		}
		if err := r.each(func(p domain.Placement) error { got = append(got, p); return nil }); err != nil {
			t.Fatal(err)
		}
		if last := got[len(got)-1].At.UnixMicro(); last != r.until {
			t.Fatalf("the last sample is of %d, until is %d", last, r.until)
		}
	}
	return got
}

func TestPlacementsComeBackAsTheyAreStored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		samples := randomPlacements(random)
		got := decodedPlacements(t, slices.Clone(samples))
		want := map[int64]domain.Placement{}
		for _, p := range samples {
			at := p.At.UnixMicro()
			if old, ok := want[at]; ok {
				old.Uncertainty = max(old.Uncertainty, p.Uncertainty)
				want[at] = old
				continue
			}
			p.At, p.PID = time.UnixMicro(at).UTC(), 0
			p.CPUShare, p.WaitShare = domain.RoundShare(p.CPUShare), domain.RoundShare(p.WaitShare)
			for _, d := range []*time.Duration{&p.Exec, &p.RunDelay} {
				if *d >= 0 { // negative is unknown
					*d = d.Round(time.Microsecond)
				}
			}
			want[at] = p
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d samples of %d instants", seed, len(got), len(want))
		}
		for i, p := range got {
			if i > 0 && !p.At.After(got[i-1].At) {
				t.Fatalf("seed %d: sample %d is not after the one before", seed, i)
			}
			if diff := cmp.Diff(want[p.At.UnixMicro()], p, cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("seed %d, sample %d: %s", seed, i, diff)
			}
		}
	}
}

// randomPlacements gives samples of a thread at some pace, with what disturbs it.
func randomPlacements(random *rand.Rand) []domain.Placement {
	period := []int64{1 * ms, 10 * ms, 50 * ms, 1 * sec, 10 * sec}[random.IntN(5)]
	var samples []domain.Placement
	at := int64(0)
	p := placement(0, 0, 0)
	known := random.IntN(4)
	for range 1 + random.IntN(3_000) {
		switch random.IntN(100) {
		case 0:
			at += random.Int64N(10 * period)
		case 1:
			at -= random.Int64N(4 * period)
		case 2:
			p.Policy = random.IntN(4) - 1
		case 3:
			p.Uncertainty = time.Duration(random.IntN(2)) * time.Second
		case 4, 5, 6:
			p.CPU, p.State = random.IntN(256), []byte{0, 'R', 'S', 'D'}[random.IntN(4)]
		}
		at += period
		p.At = clock(at + random.Int64N(200)*int64(random.IntN(2)))
		if known > 0 {
			p.Interval = time.Duration(random.Int64N(3)*period) * time.Microsecond
			p.Exec, p.RunDelay = time.Duration(random.Int64N(1e9)), time.Duration(random.Int64N(3)-1)
			p.Voluntary, p.Involuntary = random.Int64N(100)-1, 0
			p.CPUShare, p.WaitShare = random.Float64()*1.2, []float64{0, nan, 0.5}[random.IntN(3)]
		}
		samples = append(samples, p)
	}
	return samples
}

func TestAPlacementRowThatDoesNotFitTogetherIsAnError(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]placementRun{
		"states":  {runSamples: []int16{1}, runCPU: []int16{1}, states: []int16{1, 2}},
		"CPUs":    {runSamples: []int16{1}},
		"samples": {runSamples: []int16{-1}, runCPU: []int16{1}},
		"jitter":  {runSamples: []int16{3}, runCPU: []int16{1}, jitterUS: []int16{1, 2}},
		"exec":    {runSamples: []int16{3}, runCPU: []int16{1}, execUS: []int32{1, 2, 3, 4}},
	} {
		if err := r.each(func(domain.Placement) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func histogram(at int64, buckets ...domain.HistogramBucket) domain.HistogramSnapshot {
	return domain.HistogramSnapshot{At: clock(at), InstID: 1, Event: domain.EventLogFileSync, Buckets: buckets}
}

func bucket(below time.Duration, count uint64, last int64) domain.HistogramBucket {
	b := domain.HistogramBucket{Below: below, Count: count}
	if last > 0 {
		b.LastUpdate = clock(last)
	}
	return b
}

// By hand: three readings, of which the second brings one more wait of the
// second bucket and the third none; a fourth has a new bucket.
func TestHistogramsAreStoredByWhatChanges(t *testing.T) {
	t.Parallel()
	a, b := bucket(1024*time.Microsecond, 10, 5*sec), bucket(2048*time.Microsecond, 4, 6*sec)
	b2 := bucket(2048*time.Microsecond, 5, 11*sec)
	got := histogramRuns([]domain.HistogramSnapshot{
		histogram(13*sec, a, b2, bucket(4096*time.Microsecond, 1, 0)), histogram(10*sec, a, b), histogram(11*sec, a, b2), histogram(12*sec, a, b2),
	})
	at := func(us int64) int64 { return clock(us).UnixMicro() }
	want := []histogramRun{{
		instID: 1, event: "log file sync", at: at(10 * sec), until: at(12 * sec), belowUS: []int64{1024, 2048}, counts: []int64{10, 4},
		lastUpdateUS: []int64{at(5 * sec), at(6 * sec)}, readingUS: []int32{1 * sec, 2 * sec},
		changeReading: []int16{0}, changeBucket: []int16{1}, changeCounts: []int64{5}, changeLastUpdateUS: []int64{at(11 * sec)},
	}, {
		instID: 1, event: "log file sync", at: at(13 * sec), until: at(13 * sec), belowUS: []int64{1024, 2048, 4096}, counts: []int64{10, 5, 1},
		lastUpdateUS: []int64{at(5 * sec), at(11 * sec), 0},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(histogramRun{})); diff != "" {
		t.Error(diff)
	}
}

func TestHistogramsComeBackAsTheyAreStored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		readings := randomHistograms(random)
		want := slices.Clone(readings)
		slices.SortStableFunc(want, func(a, b domain.HistogramSnapshot) int { return a.At.Compare(b.At) })
		want = slices.CompactFunc(want, func(a, b domain.HistogramSnapshot) bool { return a.At.Equal(b.At) })
		var got []domain.HistogramSnapshot
		for _, r := range histogramRuns(readings) {
			if r.until-r.at > longestRun || len(r.readingUS) >= mostInRun {
				t.Fatalf("seed %d: a run of %d us and %d readings", seed, r.until-r.at, len(r.readingUS))
			}
			err := r.each(func(s *domain.HistogramSnapshot) error {
				c := *s
				c.Buckets = slices.Clone(s.Buckets)
				got = append(got, c)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// randomHistograms gives readings of a second's distance: counts that rise,
// start anew or are cut short.
func randomHistograms(random *rand.Rand) []domain.HistogramSnapshot {
	counts, last := make([]uint64, 6), make([]int64, 6)
	at := int64(0)
	var readings []domain.HistogramSnapshot
	for range 1 + random.IntN(200) {
		at += []int64{1 * sec, 1 * sec, 1 * sec, 0, -3 * sec, 100 * sec, 100 * ms}[max(0, random.IntN(60)-53)]
		for i := range counts {
			if random.IntN(4) == 0 {
				counts[i] += random.Uint64N(5)
				last[i] = max(0, at)
			}
		}
		if random.IntN(50) == 0 {
			clear(counts)
			counts[0] = math.MaxUint64 - 1000
		}
		shown := len(counts) - max(0, random.IntN(20)-17)
		s := histogram(at)
		for i := range shown {
			s.Buckets = append(s.Buckets, bucket(time.Microsecond<<i, counts[i], last[i]))
		}
		if shown == 0 {
			s.Buckets = []domain.HistogramBucket{}
		}
		readings = append(readings, s)
	}
	return readings
}

func TestAHistogramRowThatDoesNotFitTogetherIsAnError(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]histogramRun{
		"counts":      {belowUS: []int64{1, 2}, counts: []int64{1}},
		"last update": {belowUS: []int64{1, 2}, counts: []int64{1, 2}, lastUpdateUS: []int64{1}},
		"changes":     {belowUS: []int64{1}, counts: []int64{1}, readingUS: []int32{1}, changeReading: []int16{0}, changeBucket: []int16{0}},
		"bucket":      {belowUS: []int64{1}, counts: []int64{1}, readingUS: []int32{1}, changeReading: []int16{0}, changeBucket: []int16{1}, changeCounts: []int64{1}},
		"reading":     {belowUS: []int64{1}, counts: []int64{1}, changeReading: []int16{0}, changeBucket: []int16{0}, changeCounts: []int64{1}},
	} {
		if err := r.each(func(*domain.HistogramSnapshot) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// recorded keeps counters and events as they come.
type recorded struct {
	counters []domain.Counter
	events   []domain.SystemEvent
}

func (r *recorded) Counter(c domain.Counter) error { r.counters = append(r.counters, c); return nil }

func (r *recorded) SystemEvent(e domain.SystemEvent) error {
	r.events = append(r.events, e)
	return nil
}

const always = math.MaxInt64

// By hand: two counters read twice, and one event whose time is unknown at first.
func TestCountersAreStoredByDifference(t *testing.T) {
	t.Parallel()
	at := clock(0).UnixMicro()
	points := []counterPoint{
		{1, at + 5*sec, "user commits", 130}, {1, at, "user commits", 100}, {1, at, "redo size", 7_000}, {1, at + 5*sec, "redo size", 6_000},
		{1, at + 5*sec, "redo size", 1}, // of one instant: the first counts
	}
	points = pointsOfEvent(points, &domain.SystemEvent{At: clock(7 * sec), InstID: 1, Event: "log file sync", TotalWaits: 3, TimeWaited: -1})
	points = pointsOfEvent(points, &domain.SystemEvent{At: clock(8 * sec), InstID: 1, Event: "log file sync", TotalWaits: 4, TimeWaited: 90 * time.Microsecond})
	runs := counterRuns(points)
	want := []counterRun{
		{instID: 1, at: at, until: at + 5*sec, names: []string{"redo size", "user commits"}, readingUS: []int32{5 * sec}, values: []int64{7_000, 100, -1_000, 30}},
		{instID: 1, at: at + 7*sec, until: at + 7*sec, names: []string{"event:log file sync:waits"}, values: []int64{3}},
		{instID: 1, at: at + 8*sec, until: at + 8*sec, names: []string{"event:log file sync:time_us", "event:log file sync:waits"}, values: []int64{90, 4}},
	}
	if diff := cmp.Diff(want, runs, cmp.AllowUnexported(counterRun{})); diff != "" {
		t.Fatal(diff)
	}
	var got recorded
	for i := range runs {
		if err := runs[i].each(at+1, at+8*sec, &got); err != nil {
			t.Fatal(err)
		}
	}
	wanted := recorded{
		counters: []domain.Counter{{At: clock(5 * sec), InstID: 1, Name: "redo size", Value: 6_000}, {At: clock(5 * sec), InstID: 1, Name: "user commits", Value: 130}},
		events:   []domain.SystemEvent{{At: clock(7 * sec), InstID: 1, Event: "log file sync", TotalWaits: 3, TimeWaited: -1}},
	}
	if diff := cmp.Diff(wanted, got, cmp.AllowUnexported(recorded{})); diff != "" {
		t.Error(diff)
	}
}

func TestCountersComeBackAsTheyAreStored(t *testing.T) {
	t.Parallel()
	type key struct {
		inst int
		at   int64
		name string
	}
	names := []string{"user commits", "redo size", "event:", "event::waits", "event::time_us", "event:x:time_us", "user calls"}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 4))
		var points []counterPoint
		want := map[key]int64{}
		wantEvents := map[key]domain.SystemEvent{}
		for range random.IntN(400) {
			at, inst := random.Int64N(300)*sec, random.IntN(3)-1
			if random.IntN(4) == 0 {
				e := domain.SystemEvent{At: clock(at), InstID: inst, Event: "log file sync", TotalWaits: random.Int64N(1000), TimeWaited: time.Duration(random.Int64N(100)-1) * time.Microsecond}
				e.TimeWaited = max(e.TimeWaited, -1)
				if k := (key{inst, at, e.Event}); wantEvents[k].At.IsZero() {
					wantEvents[k] = e
					points = pointsOfEvent(points, &e)
				}
				continue
			}
			c := domain.Counter{At: clock(at), InstID: inst, Name: names[random.IntN(len(names))], Value: random.Int64()}
			if random.IntN(2) == 0 {
				c.Value = -c.Value // so that differences pass 2^63
			}
			points = append(points, pointOfCounter(&c))
			k := key{inst, at, c.Name}
			if _, known := want[k]; !known {
				want[k] = c.Value
			}
		}
		var got recorded
		for _, r := range counterRuns(points) {
			if r.until-r.at > longestRun || len(r.values) > valuesInRun {
				t.Fatalf("seed %d: a run of %d us and %d values", seed, r.until-r.at, len(r.values))
			}
			if err := r.each(math.MinInt64, always, &got); err != nil {
				t.Fatal(err)
			}
		}
		gotValues, gotEvents := map[key]int64{}, map[key]domain.SystemEvent{}
		for _, c := range got.counters {
			gotValues[key{c.InstID, c.At.Sub(clock(0)).Microseconds(), c.Name}] = c.Value
		}
		for _, e := range got.events {
			gotEvents[key{e.InstID, e.At.Sub(clock(0)).Microseconds(), e.Event}] = e
		}
		if diff := cmp.Diff(want, gotValues); diff != "" || len(got.counters) != len(want) {
			t.Fatalf("seed %d, %d records for %d: %s", seed, len(got.counters), len(want), diff)
		}
		if diff := cmp.Diff(wantEvents, gotEvents); diff != "" || len(got.events) != len(wantEvents) {
			t.Fatalf("seed %d, %d events for %d: %s", seed, len(got.events), len(wantEvents), diff)
		}
	}
}

func TestACounterWithoutABeginStaysUnknown(t *testing.T) {
	t.Parallel()
	r := counterRun{names: []string{"a", "b"}, readingUS: []int32{1, 2}, values: []int64{null64, 5, 1, null64, 1, 2}}
	var got recorded
	if err := r.each(0, always, &got); err != nil {
		t.Fatal(err)
	}
	want := []domain.Counter{{At: instant(0), Name: "b", Value: 5}, {At: instant(2), Name: "b", Value: 7}}
	if diff := cmp.Diff(want, got.counters); diff != "" {
		t.Error(diff)
	}
	r.values = r.values[1:]
	if err := r.each(0, always, &got); err == nil {
		t.Error("no error for a row that lacks a value")
	}
}

// By hand: FNV-1a of 00 00 00 01 (published offset basis 2166136261, prime 16777619).
func TestSetsOfCountersHaveHashes(t *testing.T) {
	t.Parallel()
	h := uint32(2166136261)
	for _, b := range []byte{0, 0, 0, 1} {
		h = (h ^ uint32(b)) * 16777619
	}
	if got := setHash([]int32{1}); uint32(got) != h {
		t.Errorf("got %d, want %d", uint32(got), h)
	}
	if setHash([]int32{1, 2}) == setHash([]int32{2, 1}) {
		t.Error("the order of names does not count")
	}
}
