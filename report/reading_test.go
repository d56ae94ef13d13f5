package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
)

// cardsOf gives the cards on a page by their question.
func cardsOf(t *testing.T, d Illustrated) (byQuestion map[string]string, order []string) {
	t.Helper()
	byQuestion = map[string]string{}
	for _, e := range elements(parsed(t, rendered(t, d))) {
		if e.Data != "section" || attribute(e, "class") != "card" {
			continue
		}
		question, rest, _ := strings.Cut(textOf(e), "\n")
		byQuestion[question] = strings.ReplaceAll(rest, "\n", "")
		order = append(order, question)
	}
	return byQuestion, order
}

func TestTheTopSaysWhatToDoFirstAndWhatItCosts(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	got, order := cardsOf(t, Illustrated{f, s})
	for question, wants := range map[string][]string{
		"What to do first, and what it costs":  {"Spread the IRQs of ens3f0 (120) over CPUs of several sockets", "change window: no", "risk: ", "rollback: "},
		"Which port interrupts them":           {"bond1 is bonded as fault-tolerance (active-backup): of ens3f0 and ens3f1 only ens3f0 is active", "IRQs 120"},
		"Which CPUs are heavy with interrupts": {"over 1000 device interrupts/s, or over 10 % of their time"},
		// p = 1/(1 + 400 draws), which significant writes with two digits.
		"How sure is it": {"p = 0.0025: of 400 random draws none put as many there"},
	} {
		for _, want := range wants {
			if !strings.Contains(got[question], want) {
				t.Errorf("the card %q lacks %q: %s", question, want, got[question])
			}
		}
	}
	if order[0] != "Which CPUs are heavy with interrupts" {
		t.Errorf("cards begin with %q", order[0])
	}
}

func TestAnotherCauseStandsBeforeTheInterrupts(t *testing.T) {
	t.Parallel()
	share := 0.9
	f := &domain.Finding{Verdict: domain.CauseCPUSteal, NextSteps: []string{"Take the steal times to the hypervisor's owner: reserve CPUs."}, Causes: []domain.Cause{
		{Cause: domain.CauseInterrupts, Verdict: domain.Rejected, Evidence: []string{"few stalls"}},
		{Cause: domain.CauseCPUSteal, Verdict: domain.Supported, AttributableShare: &share, Evidence: []string{"steal over 5 %"}},
	}}
	got, order := cardsOf(t, Illustrated{f, nil})
	if want := "How sure is it"; order[0] != want {
		t.Errorf("cards begin with %q, want %q", order[0], want)
	}
	for _, want := range []string{"✓ CPU steal: supported", "explains 90.0 % of the stalls", "steal over 5 %", "✗ rejected"} {
		if !strings.Contains(got["How sure is it"], want) {
			t.Errorf("the card lacks %q: %s", want, got["How sure is it"])
		}
	}
	if card := got["What to do first, and what it costs"]; !strings.Contains(card, "Take the steal times to the hypervisor's owner") || !strings.Contains(card, "then: reserve CPUs.") {
		t.Errorf("first step: %s", card)
	}
}

// The reference case's heavy CPUs are a whole socket: that must not be hidden
// below what looks like certainty.
func TestACaveatStandsBesideTheVerdict(t *testing.T) {
	t.Parallel()
	const caveat = "the heavy CPUs are the whole socket: not distinguished from the socket itself"
	f := &domain.Finding{Verdict: domain.CauseInterrupts, Grade: "B", Watch: "lgwr", Coincidence: &domain.Coincidence{}, Interrupts: &domain.Interrupts{},
		Causes: []domain.Cause{{Cause: domain.CauseInterrupts, Verdict: domain.Supported, Evidence: []string{"80 of 82", caveat}}}}
	got, _ := cardsOf(t, Illustrated{f, nil})
	if card := got["How sure is it"]; !strings.Contains(card, "caveat: "+caveat) || strings.Contains(card, "caveat: 80") {
		t.Errorf("card: %s", card)
	}
}

func TestChanceIsToldInDraws(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		p    *float64
		prm  any
		want string
	}{ // p = (1 + as extreme)/(1 + 2,000)
		"none":                        {at(1.0 / 2001), correlate.DefaultParams(), "p = 0.0005: of 2000 draws none put as many there"},
		"one":                         {at(2.0 / 2001), correlate.DefaultParams(), "p = 0.001: of 2000 draws 1 put as many there"},
		"all":                         {at(1), correlate.DefaultParams(), "p = 1.00: of 2000 draws 2000 put as many there"},
		"p is not known":              {nil, correlate.DefaultParams(), "p = -"},
		"how many draws is not known": {at(0.5), nil, "p = 0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &domain.Finding{Params: tc.prm, Coincidence: &domain.Coincidence{PValue: tc.p}}
			if got := chanceText(f, "draws"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryParameterHasAMeaning(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(correlate.DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if parameterMeanings[name] == "" {
			t.Errorf("%s has no meaning", name)
		}
	}
	if len(parameterMeanings) != len(all) {
		t.Errorf("%d meanings for %d parameters", len(parameterMeanings), len(all))
	}
	for in, want := range map[[2]string][]string{
		{"heavy_window_ns", "3600000000000"}:     {"heavy window", "1 h"},
		{"block_ns", "300000000000"}:             {"block", "5 min"},
		{"threshold_ns", "100000000"}:            {"threshold", "100 ms"},
		{"onset_window_ns", "90000000000"}:       {"onset window", "90 s"},
		{"main_share_low", "0.3333333333333333"}: {"main share low", "0.333"},
		{"heavy_per_second", "1000"}:             {"heavy per second", "1000"},
		{"seed", "18446744073709551615"}:         {"seed", "18446744073709551615"},
	} {
		if got := parameterRow(in[0], in[1]); !slices.Equal(got[:2], want) {
			t.Errorf("%v became %v, want %v", in, got[:2], want)
		}
	}
}

func TestRangesOfCPUsStayTogetherAndTextStaysText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"CPUs 24-31,56-63, which": `CPUs <span class="range">24-31</span>,<wbr><span class="range">56-63</span>,<wbr> which`,
		"38,799 interrupts/s":     "38,799 interrupts/s",
		"<b>1-2</b>":              `&lt;b&gt;<span class="range">1-2</span>&lt;/b&gt;`,
		"\"&'":                    "&#34;&amp;&#39;",
		"1\x1b[31m":               "1?[31m",
	} {
		if got := string(unbroken(in)); got != want {
			t.Errorf("%q became %s, want %s", in, got, want)
		}
	}
}

// rowOf gives the cells of the row that begins with a CPU's number.
func rowOf(t *testing.T, f *domain.Finding, cpu string) []string {
	t.Helper()
	for _, b := range cpus(f) {
		if b.Table == nil {
			continue
		}
		for _, r := range b.Table.Rows {
			if r[0] == cpu {
				return r
			}
		}
	}
	t.Fatalf("CPU %s is not listed", cpu)
	return nil
}

func TestACPUWithoutStallsIsZeroOnlyWhereAllStallsAreKnown(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{
		Interrupts:  &domain.Interrupts{ByCPU: []domain.CPURate{{CPU: 0}, {CPU: 1}, {CPU: 2}}, HeavyCPUs: []int{1}},
		Waits:       &domain.WaitSummary{Stalls: 3},
		StallList:   []domain.StallMark{{CPUs: []int{1}, Exposure: "heavy"}, {CPUs: []int{1}, Exposure: "heavy"}, {CPUs: []int{2}, Exposure: "light"}},
		Coincidence: &domain.Coincidence{ByCPU: []domain.CPUExcess{{CPU: 1, Stalls: 2, Expected: 0.5}}}, // the list is cut short
	}
	for cpu, want := range map[string][]string{"0": {"", "0", "-"}, "1": {"heavy", "2", "0.5"}, "2": {"", "1", "-"}} {
		if got := rowOf(t, f, cpu)[1:4]; !slices.Equal(got, want) {
			t.Errorf("CPU %s: %q, want %q", cpu, got, want)
		}
	}
	f.Waits.Stalls = 4 // one more than are listed
	for cpu, want := range map[string][]string{"0": {"", "-", "-"}, "1": {"heavy", "2", "0.5"}, "2": {"", "-", "-"}} {
		if got := rowOf(t, f, cpu)[1:4]; !slices.Equal(got, want) {
			t.Errorf("CPU %s where not all stalls are listed: %q, want %q", cpu, got, want)
		}
	}
}

func TestEveryHeavyCPUIsListedAndSomeOthers(t *testing.T) {
	t.Parallel()
	in := &domain.Interrupts{}
	for c := range 256 {
		in.ByCPU = append(in.ByCPU, domain.CPURate{CPU: c, PerS: at(float64(c))})
		if c < 40 {
			in.HeavyCPUs = append(in.HeavyCPUs, c)
		}
	}
	table := cpus(&domain.Finding{Interrupts: in})[1].Table
	if len(table.Rows) != 48 || len(table.Marks) != 40 { // eight beside the heavy ones
		t.Errorf("%d rows, %d of them heavy, want 48 and 40", len(table.Rows), len(table.Marks))
	}
	if want := "208 more CPUs with fewer stalls or interrupts are in --json"; table.Note != want {
		t.Errorf("note %q, want %q", table.Note, want)
	}
}

func TestWhatIsNotKnownOfWaitsIsLeftOut(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{Waits: &domain.WaitSummary{Event: "log file sync", ThresholdMS: 100, OverThresholdLow: new(int), OverThresholdHigh: new(int), Stalls: 1}}
	if got, want := waits(f)[0].Items, []string{"log file sync: 0 to 0 waits over 100 ms in 1 stall"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Waits.MaxMS, f.Waits.SessionOnly = at(598), 2
	want := []string{"log file sync: 0 to 0 waits over 100 ms in 1 stall; 2 waits of a single session among others that did not wait, counted apart", "longest 598 ms"}
	if got := waits(f)[0].Items; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAStallsLengthFromAHistogramIsALowerBound(t *testing.T) {
	t.Parallel()
	source := "histogram"
	f := &domain.Finding{StallList: []domain.StallMark{{LongestMS: 524.288, CPUs: []int{28}, Exposure: "heavy"}, {LongestMS: 100, Exposure: "unknown"}}}
	f.Coverage.WaitSource = &source
	table := longestStalls(f)[0].Table
	if got, want := table.Columns[1].Name, "longest, ms or more"; got != want {
		t.Errorf("column %q, want %q", got, want)
	}
	if got, want := table.Rows[0][3], "28 (heavy)"; got != want {
		t.Errorf("CPU %q, want %q", got, want)
	}
	if got, want := table.Rows[1][3], "-"; got != want {
		t.Errorf("CPU %q, want %q", got, want)
	}
}

func TestAStallSharedWithThePartnerIsNotCalledUnknown(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{StallList: []domain.StallMark{
		{Exposure: "shared"}, {Exposure: "unknown"}, {Exposure: "heavy", CPUs: []int{1}}, {Exposure: "heavy"}, {Exposure: "sibling", CPUs: []int{1}},
	}}
	var got []string
	last := legendKind{}
	for _, k := range shownKinds(f, 700) {
		got = append(got, k.label)
		if k.line == last.line && k.x <= last.x {
			t.Errorf("%q stands upon what is before it", k.label)
		}
		if k.x+6.2*float64(len(k.label)) > 700 {
			t.Errorf("%q ends beyond the legend", k.label)
		}
		last = k
	}
	want := []string{"on a heavy CPU (1)", "beside a heavy sibling (1)", "on another CPU (0)", "of the partner instance as well, left out (1)", "its CPU unknown (2)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRowsAreNamedWhereANewRunOfCPUsBegins(t *testing.T) {
	t.Parallel()
	h := &heatmap{rowHeight: 5} // 13 units for a label: every third row
	for _, c := range []int{0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36} {
		h.rows = append(h.rows, heatRow{[]int{c}})
	}
	var got []int
	for _, r := range h.labelled(0, 13) {
		got = append(got, h.rows[r].cpus[0])
	}
	// 0 and 3; 6 would meet 32, which begins a run; 35 would meet what follows.
	if want := []int{0, 3, 32}; !slices.Equal(got, want) {
		t.Errorf("rows named %v, want %v", got, want)
	}
}

func TestLabelsOfAnAxisStayWithinTheFigureAndApart(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{Coincidence: &domain.Coincidence{RelativeRisk: at(510), RelativeRiskCI: [2]*float64{at(15), at(7140)}}}
	figure, _ := ratioFigure(f)
	if text := string(figure); strings.Contains(text, "e+0") || !strings.Contains(text, ">1000<") {
		t.Errorf("a thousand is not written as people do: %s", text)
	}
	g := newSVG(20, "axis")
	timeAxis{span(0, 2*86400), start.Location(), 96, 936}.draw(g, 0)
	for _, e := range elements(parsed(t, string(g.done()))) {
		if e.Data == "text" && attribute(e, "x") == "936" {
			t.Errorf("%q is centred on the last tick and cut at the edge", e.FirstChild.Data)
		}
	}
}

func TestInputsNameTheirCommonFolderOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		paths []string
		want  string
	}{
		"one folder":               {[]string{"/data/incident/ash.csv", "/data/incident/db1/x"}, "/data/incident/"},
		"the folder above":         {[]string{"/data/incident/db1/a", "/data/incident/db2/b"}, "/data/incident/"},
		"a name is no folder":      {[]string{"/data/incident/ab", "/data/incident/abc"}, "/data/incident/"},
		"nothing in common":        {[]string{"incident/one/a", "other/one/b"}, ""},
		"a file alone keeps it":    {[]string{"/data/incident/ash.csv"}, ""},
		"a short one is not worth": {[]string{"in/a", "in/b"}, ""},
		"no folder":                {[]string{"a", "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := make([]domain.Input, 0, len(tc.paths))
			for _, p := range tc.paths {
				files = append(files, domain.Input{Path: p})
			}
			if got := commonFolder(files); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestALongListOfCPUsBreaksAfterACommaInATerminal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		width int
		want  []string
	}{
		{"0-1,3-7,9-11,13", 9, []string{"0-1,3-7,", "9-11,13"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{",,,,", 2, []string{",,", ",,"}},
		{"ab\xffcdef", 3, []string{"ab\ufffd", "cde", "f"}},
	} {
		if got := wrap(tc.text, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("%q at %d: %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

func TestThePageNamesTheProcessThatIsWatched(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	f.Watch = "lms"
	f.Headline, f.Causes, f.NextSteps, f.Coverage.Notes = "", nil, nil, nil
	var b bytes.Buffer
	if err := HTML(&b, []Illustrated{{f, s}}); err != nil {
		t.Fatal(err)
	}
	text := textOf(parsed(t, b.String()))
	if i := strings.Index(text, "LGWR"); i >= 0 {
		t.Errorf("a page on LMS speaks of LGWR: %q", text[max(0, i-60):min(len(text), i+60)])
	}
	for _, e := range elements(parsed(t, b.String())) {
		if label := attribute(e, "aria-label"); strings.Contains(label, "LGWR") {
			t.Errorf("a figure on LMS is named %q", label)
		}
	}
}

func TestWordsOfTheFieldAreExplained(t *testing.T) {
	t.Parallel()
	s := hour()
	var terms []string
	for _, e := range elements(parsed(t, rendered(t, Illustrated{analysed(t, s), s}))) {
		if e.Data == "dt" && e.Parent.Parent.Type == html.ElementNode && attribute(e.Parent.Parent, "class") == "words" {
			terms = append(terms, e.FirstChild.Data)
		}
	}
	for _, want := range []string{"stall", "heavy CPU", "expected", "p", "grade", "dose"} {
		if !slices.Contains(terms, want) {
			t.Errorf("%q is not explained", want)
		}
	}
}

func TestAWindowThatIsNotKnownIsNotADate(t *testing.T) {
	t.Parallel()
	if got, want := title(&domain.Finding{Instance: "ORDP1", Node: "db1"}), "ORDP1 on db1"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}
