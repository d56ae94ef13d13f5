package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// rendered renders findings to HTML.
func rendered(t *testing.T, findings ...Illustrated) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, findings); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hour is a node of 2 sockets with 4 threads each in an hour of ten-second
// readings: CPU 3 is heavy, LGWR visits every CPU, and stalls fall on CPU 3 but
// for one.
func hour() *series.Series {
	s := made{sockets: 2, cores: 2, seconds: 3600, every: 10, rate: func(_, cpu int) float32 {
		if cpu == 3 {
			return 5000
		}
		return 10
	}}.build()
	s.Threads = []series.Thread{lgwr(8, 3600, 4)}
	s.Devices = []series.Device{{Name: "ens3f0", Class: domain.ClassNetwork, IRQs: []int{120}, PerS: map[int]float64{3: 4990}, Total: 4990}}
	s.Topology.Bonds = []domain.Bond{{Name: "bond1", Mode: "fault-tolerance (active-backup)", ActiveSlave: "ens3f0", Slaves: []string{"ens3f0", "ens3f1"}}}
	for i, cpu := range s.Threads[0].CPU {
		if (cpu == 3 && i%4 == 1) || i == 2001 {
			at := s.Threads[0].At[i]
			s.Waits = append(s.Waits, series.Wait{At: at, SampleID: int64(i), TimeWaited: 200_000, Period: series.Second, Event: domain.EventLogFileSync, Session: 7})
			s.Ticks = append(s.Ticks, series.Tick{ID: int64(i), At: at})
		}
	}
	return s
}

func parsed(t *testing.T, text string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// elements gives every element below n.
func elements(n *html.Node) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode {
			out = append(out, d)
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "style" {
			b.WriteString(d.Data + "\n")
		}
	}
	return b.String()
}

func TestThePageRunsNothingAndAsksNobody(t *testing.T) {
	t.Parallel()
	s := hour()
	text := rendered(t, Illustrated{analysed(t, s), s})
	if m := regexp.MustCompile(`(?i)https?:|<script|javascript:|@import|url\(["']?[^#)]`).FindString(text); m != "" {
		t.Errorf("page contains %q", m)
	}
	policy := false
	for _, e := range elements(parsed(t, text)) {
		switch e.Data {
		case "script", "iframe", "object", "embed", "form", "base":
			t.Errorf("page has a %s element", e.Data)
		case "meta":
			policy = policy || attribute(e, "http-equiv") == "Content-Security-Policy" &&
				attribute(e, "content") == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(strings.ToLower(a.Key), "on") {
				t.Errorf("%s has a handler %s", e.Data, a.Key)
			}
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "data:") {
				t.Errorf("%s refers to %q", e.Data, a.Val)
			}
		}
	}
	if !policy {
		t.Error("page lacks its content security policy")
	}
}

var svgElement = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// wellFormed reads every figure of a page as XML and gives how many there are.
func wellFormed(t *testing.T, text string) int {
	t.Helper()
	figures := svgElement.FindAllString(text, -1)
	for _, f := range figures {
		d := xml.NewDecoder(strings.NewReader(f))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("figure is not well-formed: %v in %.200s", err, f)
			}
		}
	}
	return len(figures)
}

func TestEveryFigureIsWellFormedAndNamedForAScreenReader(t *testing.T) {
	t.Parallel()
	s := hour()
	text := rendered(t, Illustrated{analysed(t, s), s})
	// two sockets, their colours and marks, heatmap, ratios, dose, waits, coverage
	if n := wellFormed(t, text); n != 9 {
		t.Errorf("%d figures, want 9", n)
	}
	for _, e := range elements(parsed(t, text)) {
		if e.Data == "svg" && (attribute(e, "role") != "img" || attribute(e, "aria-label") == "") {
			t.Errorf("a figure has no name: %v", e.Attr)
		}
	}
}

func TestAStrangerReadsOnTopWhichCPUsWhichPortAndHowSure(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	if f.Verdict != domain.CauseInterrupts {
		t.Fatalf("verdict %s: %s", f.Verdict, f.Headline)
	}
	var header *html.Node
	for _, e := range elements(parsed(t, rendered(t, Illustrated{f, s}))) {
		if e.Data == "header" {
			header = e
			break
		}
	}
	got := textOf(header)
	// hour's CPU 3 is the one heavy CPU, served by ens3f0 in bond1 at 4,990/s;
	// files give grade B.
	for _, want := range []string{f.Headline, "1 of 8 CPUs", "busiest: CPU 3 with 5000 device interrupts/s", "ens3f0 (bond1)", "4990 interrupts/s on CPUs 3", "✓ supported", "grade B", "p = "} {
		if !strings.Contains(got, want) {
			t.Errorf("top of the page lacks %q:\n%s", want, got)
		}
	}
}

// hostile is a name that tries to be markup, an attribute, a comment, a terminal
// sequence and a right-to-left override.
const hostile = "--><script>alert(1)</script>\"'`{{.}}</svg></style><img src=x onerror=alert(2)>\x1b[31m\u202egnp"

func TestNamesFromInputStayText(t *testing.T) {
	t.Parallel()
	s := hour()
	s.Devices[0].Name, s.Topology.Bonds[0] = hostile, domain.Bond{Name: hostile, Mode: hostile, ActiveSlave: hostile, Slaves: []string{hostile}}
	s.Threads[0].Command = "ora_lgwr_ORDP1"
	f := analysed(t, s)
	bond, zone := hostile, hostile
	f.Node, f.Instance, f.Headline, f.Timezone.Host = hostile, hostile, hostile, &zone
	f.Interrupts.ByDevice[0].Bond = &bond
	f.Warnings, f.NextSteps, f.Coverage.Notes = []string{hostile}, []string{hostile}, []string{hostile}
	f.Inputs = []domain.Input{{Path: hostile, Kind: hostile, Note: hostile, FirstBad: &bond}}
	f.Causes = append(f.Causes, domain.Cause{Cause: hostile, Verdict: hostile, Evidence: []string{hostile}})
	f.Interrupts.DoseMeasure, f.Waits.Event, f.Params = hostile, hostile, map[string]string{hostile: hostile}
	text := rendered(t, Illustrated{f, s})
	wellFormed(t, text)
	for _, e := range elements(parsed(t, text)) {
		if e.Data == "script" || e.Data == "img" {
			t.Errorf("a name became a %s element", e.Data)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("an escape sequence or a right-to-left override got through")
	}
	if n := strings.Count(text, "alert(1)"); n < 12 {
		t.Errorf("the name is shown %d times, want it wherever it was given", n)
	}
}

func TestTheSameFindingGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	first := rendered(t, Illustrated{f, s})
	for range 5 {
		if rendered(t, Illustrated{f, s}) != first {
			t.Fatal("two renderings differ")
		}
	}
}

func TestADayOf256CPUsStaysSmall(t *testing.T) {
	t.Parallel()
	s := day()
	text := rendered(t, Illustrated{analysed(t, s), s})
	if len(text) > 3<<20 {
		t.Errorf("page has %d bytes", len(text))
	}
	if wellFormed(t, text) == 0 {
		t.Error("page has no figure")
	}
}

func TestSeveralFindingsShareAPageWithoutSharingAnchors(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	seen := map[string]bool{}
	articles := 0
	for _, e := range elements(parsed(t, rendered(t, Illustrated{f, s}, Illustrated{f, s}))) {
		if e.Data == "article" {
			articles++
		}
		if id := attribute(e, "id"); id != "" {
			if seen[id] {
				t.Errorf("id %s twice", id)
			}
			seen[id] = true
		}
		if ref, ok := strings.CutPrefix(attribute(e, "href"), "#"); ok && e.Data == "a" && ref == "" {
			t.Error("a link without a target")
		}
	}
	if articles != 2 {
		t.Errorf("%d articles, want 2", articles)
	}
	for _, e := range elements(parsed(t, rendered(t, Illustrated{f, s}, Illustrated{f, s}))) {
		if ref, ok := strings.CutPrefix(attribute(e, "href"), "#"); ok && !seen[ref] {
			t.Errorf("link to %q, which is not there", ref)
		}
	}
}

func TestAFindingWithNothingKnownIsStillAPage(t *testing.T) {
	t.Parallel()
	empty := &series.Series{Watch: domain.WatchLGWR(), Window: span(0, 0)}
	blink := hour()
	blink.Window.To = blink.Window.From + 1
	for name, d := range map[string]Illustrated{
		"no records at all":        {analysed(t, empty), empty},
		"no series":                {analysed(t, hour()), nil},
		"a microsecond":            {analysed(t, blink), blink},
		"a finding of zero values": {&domain.Finding{}, &series.Series{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := rendered(t, d)
			if !strings.Contains(text, "Which CPUs are heavy with interrupts") {
				t.Error("page lacks its head")
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf\"") {
				t.Error("a figure has a coordinate that is no number")
			}
			wellFormed(t, text)
		})
	}
	if err := HTML(io.Discard, nil); err == nil {
		t.Error("a page of no findings was written")
	}
}

func TestRemediesAreShownWithTheirCostOnlyWhereInterruptsAreTheVerdict(t *testing.T) {
	t.Parallel()
	s := hour()
	f := analysed(t, s)
	guilty := textOf(parsed(t, rendered(t, Illustrated{f, s})))
	for _, want := range []string{"change window", "rollback", "ethtool -X ens3f0", "the IRQs of ens3f0 (120)", "cpuset", "802.3ad"} {
		if !strings.Contains(guilty, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	f.Verdict = domain.CauseStorage
	if text := textOf(parsed(t, rendered(t, Illustrated{f, s}))); strings.Contains(text, "rollback") {
		t.Error("a page whose verdict is storage shows how to move interrupts")
	}
}

func TestVerdictsAreToldByWordAndSymbolBesideColour(t *testing.T) {
	t.Parallel()
	f := &domain.Finding{Causes: []domain.Cause{
		{Cause: domain.CauseStorage, Verdict: domain.Supported}, {Cause: domain.CauseCPUSteal, Verdict: domain.Rejected},
		{Cause: domain.CauseSwapping, Verdict: domain.Inconclusive}, {Cause: domain.CauseLogSwitch, Verdict: domain.NotObservable},
	}}
	var got []string
	for _, c := range judgedCauses(f) {
		got = append(got, c.Symbol+" "+c.Verdict)
	}
	if want := []string{"✓ supported", "? inconclusive", "✗ rejected", "– not observable"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
