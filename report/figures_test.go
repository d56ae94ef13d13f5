package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

func at(v float64) *float64 { return &v }

func TestRatiosAreDrawnAgainstOneAndTheThreshold(t *testing.T) {
	t.Parallel()
	// The axis runs from 0.5 to 50 over 570 units from x 190: 1 lies at
	// ln 2/ln 100, 2 at ln 4/ln 100, 5 at half of it.
	f := &domain.Finding{Params: correlate.DefaultParams(), Coincidence: &domain.Coincidence{
		StratifiedRR: at(5), StratifiedRRCI: [2]*float64{at(3), at(50 / 1.3)},
	}}
	figure, note := ratioFigure(f)
	for what, x := range map[string]float64{`class="reference"`: 1, `class="threshold"`: 2} {
		want := px(190 + 570*math.Log(x/0.5)/math.Log(100))
		if !strings.Contains(string(figure), `<line x1="`+want+`"`) || !strings.Contains(string(figure), what) {
			t.Errorf("no %s at x %s", what, want)
		}
	}
	if want := `<rect x="470" y="31" width="10" height="10" class="interval-fill"/>`; !strings.Contains(string(figure), want) {
		t.Errorf("no mark of the ratio, want %s in %s", want, figure)
	}
	if !strings.Contains(note, "The dashed line is 2:") {
		t.Errorf("note %q does not say where the threshold lies", note)
	}
}

func TestAnUnboundedRatioEndsInAnArrow(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{Coincidence: &domain.Coincidence{RelativeRiskCI: [2]*float64{at(9), nil}}}
	figure, _ := ratioFigure(f)
	for _, want := range []string{"l-8-5v10z", "infinite (9.00 or more)"} {
		if !strings.Contains(string(figure), want) {
			t.Errorf("figure lacks %q: %s", want, figure)
		}
	}
	if strings.Contains(string(figure), "threshold") {
		t.Error("a threshold is drawn that no parameters tell")
	}
}

func TestDoseBarsCarryTheirCounts(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{Interrupts: &domain.Interrupts{DoseMeasure: doseTimeShare}, Coincidence: &domain.Coincidence{DoseResponse: []domain.DoseStep{
		{From: 0, To: 0, Stalls: 1, Hours: 0.5, StallsPerHour: at(2)},
		{From: 0.1, To: 0.32, Stalls: 10, Hours: 0.25, StallsPerHour: at(40)},
	}}}
	figure, _ := doseFigure(f)
	// The longest bar has 510 units (760-190-60); 2 of 40 has 25.5.
	for _, want := range []string{`width="510"`, `width="25.5"`, "2.00 (1 stall in 0.50 h)", "40.0 (10 stalls in 0.25 h)", "10 % to 32 %"} {
		if !strings.Contains(string(figure), want) {
			t.Errorf("figure lacks %q", want)
		}
	}
}

func TestWaitsFallIntoOraclesBuckets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ wait, below series.Micros }{
		"a power of two opens its bucket":          {131072, 262144},
		"one below it closes the bucket before":    {131071, 131072},
		"the shortest":                             {1, 2},
		"a tenth of a second":                      {100_000, 131072},
		"a length that no wait has does not hang":  {math.MaxInt64, 1 << 61},
		"an hour and nine minutes (2^32 us) fits":  {1 << 32, 1 << 33},
		"a second lies between 0.52 and 1.05 s":    {1_000_000, 1_048_576},
		"65.5 ms is the edge that brackets 0.1 s":  {65_536, 131_072},
		"just under it is surely under 0.1 s":      {65_535, 65_536},
		"a wait of 600 ms as the reference has it": {600_000, 1_048_576},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bucketOf(tc.wait); got != tc.below {
				t.Errorf("bucket below %d, want %d", got, tc.below)
			}
		})
	}
}

func TestAHistogramIsTakenBeforeSamples(t *testing.T) {
	t.Parallel()
	s := &series.Series{Watch: domain.WatchLGWR(), Window: span(0, 100)}
	s.Waits = []series.Wait{{At: span(5, 5).From, TimeWaited: 250_000, Period: series.Second}}
	s.Histograms = []series.HistogramStep{
		{Span: span(0, 10), Event: domain.EventLogFileSync, Steps: []series.BucketStep{{Below: 1024, Gained: 5}}},
		{Span: span(10, 20), Event: domain.EventLogFileSync, Steps: []series.BucketStep{{Below: 1024, Gained: 2}, {Below: 8192, Gained: 1}, {Below: 0, Gained: 9}}},
		{Span: span(10, 20), Event: "db file sequential read", Steps: []series.BucketStep{{Below: 1024, Gained: 99}}},
		{Span: span(100, 110), Event: domain.EventLogFileSync, Steps: []series.BucketStep{{Below: 1024, Gained: 99}}},
	}
	// 5 + 2 below 1,024 us, 1 below 8,192 us, the two buckets between empty.
	want := []waitBucket{{1024, 7}, {2048, 0}, {4096, 0}, {8192, 1}}
	if d := cmp.Diff(want, newWaitBuckets(s).buckets, cmp.AllowUnexported(waitBucket{})); d != "" {
		t.Error(d)
	}
	s.Histograms = nil
	// One row of 0.25 s at a period of 1 s stands for four waits.
	if d := cmp.Diff([]waitBucket{{262144, 4}}, newWaitBuckets(s).buckets, cmp.AllowUnexported(waitBucket{})); d != "" {
		t.Error(d)
	}
}

func TestAFilteredSpoolSaysThatItHoldsLongWaitsOnly(t *testing.T) {
	t.Parallel()
	s := hour()
	s.Filtered = true
	text := textOf(parsed(t, rendered(t, Illustrated{analysed(t, s), s})))
	for _, want := range []string{"holds long waits only: nothing is known here of the shorter ones", "quiet time and gaps cannot be told apart"} {
		if !strings.Contains(text, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

func TestTheBucketThatHoldsTheThresholdIsNeitherShortNorLong(t *testing.T) {
	t.Parallel()
	s := &series.Series{Watch: domain.WatchLGWR(), Window: span(0, 100), Histograms: []series.HistogramStep{
		{Span: span(0, 10), Event: domain.EventLogFileSync, Steps: []series.BucketStep{{Below: 65536, Gained: 1}, {Below: 131072, Gained: 1}, {Below: 262144, Gained: 1}}},
	}}
	figure, _ := waitFigure(&domain.Finding{Waits: &domain.WaitSummary{ThresholdMS: 100}}, s, "f1")
	for class, want := range map[string]int{`class="bar quiet"`: 2, `class="bar straddle"`: 1, `class="bar slow"`: 2} { // one in the legend but for straddle
		if got := strings.Count(string(figure), class); got != want {
			t.Errorf("%d of %s, want %d", got, class, want)
		}
	}
	if !strings.Contains(string(figure), "holds 100 ms: some of these waits may be shorter, some longer") {
		t.Error("the legend does not say what the hatched bar is")
	}
}

func TestPortsHangBelowTheSocketThatTheyInterrupt(t *testing.T) {
	t.Parallel()
	s := hour()
	s.Devices = append(s.Devices,
		series.Device{Name: "eno1", Class: domain.ClassNetwork, PerS: map[int]float64{0: 60, 2: 40}, Total: 100},
		series.Device{Name: "nvme0", Class: domain.ClassStorage, PerS: map[int]float64{0: 900}, Total: 900})
	m := newNodeMap(analysed(t, s), s)
	got := map[string][]string{}
	for _, b := range m.boxes {
		for _, p := range b.ports {
			got[b.name] = append(got[b.name], p.text())
		}
	}
	// CPU 3 is a thread of core 3 on socket 1; CPU 0 is on socket 0, CPU 2 on socket 1.
	want := map[string][]string{
		"socket 0": {"eno1: 60/s, 60.0 % of its interrupts"},
		"socket 1": {"ens3f0 (bond1, active port): 4990/s", "eno1: 40/s, 40.0 % of its interrupts"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if want := " bond1 is bonded as fault-tolerance (active-backup)."; m.bondText() != want {
		t.Errorf("bonds: %q, want %q", m.bondText(), want)
	}
}

func TestThreadsOfACoreStandTogether(t *testing.T) {
	t.Parallel()
	s := hour() // CPUs n and n+4 share core n; socket 0 has cores 0 and 1
	m := newNodeMap(analysed(t, s), s)
	var got [][]int
	for _, c := range m.boxes[0].cores {
		var ids []int
		for _, th := range c.threads {
			ids = append(ids, th.cpu)
		}
		got = append(got, ids)
	}
	if d := cmp.Diff([][]int{{0, 4}, {1, 5}}, got); d != "" {
		t.Error(d)
	}
}

func TestAnUnknownTopologyIsAPlainGridThatSaysSo(t *testing.T) {
	t.Parallel()
	s := hour()
	s.Topology = domain.Topology{}
	f := analysed(t, s)
	_, caption := topologyFigure(f, s, "f1")
	if !strings.Contains(caption, "is not known: this is a plain grid by CPU number") {
		t.Errorf("caption %q", caption)
	}
	m := newNodeMap(f, s)
	if len(m.boxes) != 1 || len(m.boxes[0].cores) != 8 {
		t.Errorf("%d boxes, want one of 8 cells", len(m.boxes))
	}
}

func TestCPUsAreGroupedBySocketElseByNodeElseNotAtAll(t *testing.T) {
	t.Parallel()
	top := func(socket, node func(int) int) *domain.Topology {
		t := &domain.Topology{}
		for id := range 4 {
			t.CPUs = append(t.CPUs, domain.CPU{ID: id, Socket: socket(id), Node: node(id), Core: -1})
		}
		return t
	}
	unknown, odd, half := func(int) int { return -1 }, func(i int) int { return i % 2 }, func(i int) int { return i / 2 }
	for name, tc := range map[string]struct {
		top  *domain.Topology
		want map[string][]int
	}{
		"sockets are known":      {top(odd, half), map[string][]int{"socket 0": {0, 2}, "socket 1": {1, 3}}},
		"only nodes are known":   {top(unknown, half), map[string][]int{"NUMA node 0": {0, 1}, "NUMA node 1": {2, 3}}},
		"nothing is known":       {top(unknown, unknown), map[string][]int{"": {0, 1, 2, 3}}},
		"one CPU is not in them": {&domain.Topology{CPUs: top(odd, half).CPUs[:3]}, map[string][]int{"socket 0": {0, 2}, "socket 1": {1}, "elsewhere": {3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string][]int{}
			for _, g := range groupCPUs(tc.top, []int{0, 1, 2, 3}) {
				got[g.name] = g.cpus
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGapsAreListedAndShortJitterIsNone(t *testing.T) {
	t.Parallel()
	w := span(0, 100)
	merged := mergeSpans([]series.Span{span(50, 60), span(-10, 10), span(10, 20), {From: span(20, 20).From + 300_000, To: span(30, 30).From}, span(90, 200), span(70, 70)}, w)
	if d := cmp.Diff([]series.Span{span(0, 30), span(50, 60), span(90, 100)}, merged); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]series.Span{span(30, 50), span(60, 90)}, gaps(merged, w)); d != "" {
		t.Error(d)
	}
	if got := gaps(nil, w); !slices.Equal(got, []series.Span{w}) {
		t.Errorf("gaps of nothing %v, want the window", got)
	}
}

func TestCoverageNamesTheLongestGap(t *testing.T) {
	t.Parallel()
	s := &series.Series{Window: span(0, 3600)}
	k := observed{name: "interrupts", spans: []series.Span{span(0, 600), span(660, 1800), span(1980, 3600)}}
	// 600 + 1,140 + 1,620 s observed; gaps of 60 s and, from 00:30:00, of 180 s.
	if got, want := k.text(s, time.UTC), "interrupts: 3360 of 3600 s; 2 gaps, the longest of 180 s from 00:30:00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (observed{name: "CPU time"}).text(s, time.UTC), "CPU time: no records"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTimesAreTheNodesOwn(t *testing.T) {
	t.Parallel()
	name := func(s string) *string { return &s }
	for what, tc := range map[string]struct {
		zone   domain.Timezone
		offset int
		name   string
	}{
		"the host's zone first":                {domain.Timezone{DB: name("UTC"), Host: name("Asia/Seoul")}, 9 * 3600, "Asia/Seoul"},
		"the database's where that is unknown": {domain.Timezone{DB: name("+05:30")}, 19800, "+05:30"},
		"UTC where nothing is known":           {domain.Timezone{}, 0, "UTC"},
		"never the zone of this machine":       {domain.Timezone{Host: name("Local")}, 0, "UTC"},
		"nonsense is passed over":              {domain.Timezone{Host: name("../etc"), DB: name("-03:00")}, -10800, "-03:00"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			zone, got := zoneOf(&domain.Finding{Timezone: tc.zone})
			if _, offset := start.In(zone).Zone(); offset != tc.offset || got != tc.name {
				t.Errorf("%s at %d s, want %s at %d s", got, offset, tc.name, tc.offset)
			}
		})
	}
}

func TestAxesHaveAFewTicksAtRoundLocalTimes(t *testing.T) {
	t.Parallel()
	seoul := time.FixedZone("+09:00", 9*3600)
	for name, tc := range map[string]struct {
		from, to    int64
		first       string
		least, most int
	}{
		"a minute":               {0, 60, ">09:00:00<", 5, 11},
		"15 minutes from 00:07":  {420, 1320, ">09:08<", 5, 11},
		"an hour from a second":  {1, 3601, ">09:10<", 5, 11},
		"a day":                  {0, 86400, ">09:00<", 5, 11},
		"two days carry dates":   {0, 2 * 86400, ">2 Mar 12:00<", 3, 11},
		"a year, 37 days a tick": {0, 365 * 86400, ">8 Apr 00:00<", 3, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newSVG(20, "axis")
			timeAxis{span(tc.from, tc.to), seoul, 0, 800}.draw(g, 0)
			text := string(g.done())
			if n := strings.Count(text, "<text"); n < tc.least || n > tc.most {
				t.Errorf("%d ticks, want %d to %d", n, tc.least, tc.most)
			}
			if i := strings.Index(text, "<text"); !strings.Contains(text[i:min(len(text), i+80)], tc.first) {
				t.Errorf("first tick %.80s, want %s", text[i:], tc.first)
			}
		})
	}
}

func TestAnUnreadableWindowDrawsNoTimeAxis(t *testing.T) {
	t.Parallel()
	s := hour()
	s.Window = series.Span{}
	if newHeatmap(s) != nil {
		t.Error("a heatmap over no time")
	}
	if figure, _ := coverageFigure(&domain.Finding{}, s, "f1"); figure != "" {
		t.Error("coverage of no time")
	}
}

func TestAFigureEscapesTextAndAttributes(t *testing.T) {
	t.Parallel()
	g := newSVG(10, hostile)
	g.text(1, 2, "small", hostile)
	figure := string(g.done())
	if n := wellFormed(t, figure); n != 1 {
		t.Fatalf("%d figures, want 1", n)
	}
	var tags []string
	for _, e := range elements(parsed(t, figure)) {
		tags = append(tags, e.Data)
		if e.Data == "svg" && !strings.HasPrefix(attribute(e, "aria-label"), "--><script>alert(1)</script>\"'`") {
			t.Errorf("the name became %q", attribute(e, "aria-label"))
		}
	}
	if want := []string{"html", "head", "body", "svg", "text"}; !slices.Equal(tags, want) {
		t.Errorf("elements %v, want %v", tags, want)
	}
}
