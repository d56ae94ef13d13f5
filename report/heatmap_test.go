package report

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

var pngData = regexp.MustCompile(`data:image/png;base64,([A-Za-z0-9+/=]+)`)

// picture decodes the heatmap within a page.
func picture(t *testing.T, text string) image.Image {
	t.Helper()
	m := pngData.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("page has no heatmap")
	}
	raw, err := base64.StdEncoding.DecodeString(m[1])
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func heatPicture(t *testing.T, s *series.Series) image.Image {
	t.Helper()
	figure, _, err := heatFigure(&domain.Finding{}, s, "f1")
	if err != nil {
		t.Fatal(err)
	}
	return picture(t, string(figure))
}

func colourAt(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

func TestTheBusiestCPUIsTheBrightestRow(t *testing.T) {
	t.Parallel()
	// 2 sockets of 2 cores, 8 CPUs: rows are 0 1 4 5 (socket 0), 2 3 6 7 (socket
	// 1), 24 picture elements each; CPU 6 takes 5,000/s, so row 6 must be the
	// end of the scale and every other its begin.
	s := made{sockets: 2, cores: 2, seconds: 900, every: 10, rate: func(_, cpu int) float32 {
		if cpu == 6 {
			return 5000
		}
		return 0
	}}.build()
	img := heatPicture(t, s)
	if got, want := img.Bounds().Size(), image.Pt(840, 8*24); got != want {
		t.Fatalf("size %v, want %v", got, want)
	}
	for row := range 8 {
		for _, x := range []int{0, 419, 839} {
			got, want := colourAt(img, x, row*24+12), viridis[0]
			if row == 6 {
				want = viridis[9]
			}
			if got != want {
				t.Errorf("row %d column %d is %v, want %v", row, x, got, want)
			}
		}
	}
}

func TestAGapIsHatchedAndZeroIsNot(t *testing.T) {
	t.Parallel()
	// 15 minutes, no readings from 300 s to 600 s: columns 280 to 560 of 840.
	s := made{sockets: 1, cores: 2, seconds: 900, every: 10, rate: func(int, int) float32 { return 0 }}.build()
	var spans []series.Span
	for _, sp := range s.Interrupts.Spans {
		if sp.To <= span(300, 300).From || sp.From >= span(600, 600).From {
			spans = append(spans, sp)
		}
	}
	s.Interrupts.Spans, s.Interrupts.V = spans, s.Interrupts.V[:len(spans)*4]
	figure, _, err := heatFigure(&domain.Finding{}, s, "f1")
	if err != nil {
		t.Fatal(err)
	}
	img := picture(t, string(figure))
	for x, want := range map[int]uint8{0: 255, 279: 255, 280: 0, 420: 0, 559: 0, 560: 255, 839: 255} {
		if got := colourAt(img, x, 1).A; got != want {
			t.Errorf("column %d has opacity %d, want %d", x, got, want)
		}
	}
	hatch := strings.Index(string(figure), `fill="url(#f1-gap)"`)
	if hatch < 0 || hatch > strings.Index(string(figure), "<image") {
		t.Error("no hatching below the picture")
	}
}

func TestAnUnknownValueIsHatchedToo(t *testing.T) {
	t.Parallel()
	s := made{sockets: 1, cores: 1, seconds: 840, every: 1, rate: func(i, cpu int) float32 {
		if cpu == 1 && i < 420 { // offline in the first half
			return float32(math.NaN())
		}
		return 100
	}}.build()
	img := heatPicture(t, s)
	if a, b := colourAt(img, 419, 30).A, colourAt(img, 420, 30).A; a != 0 || b != 255 {
		t.Errorf("opacity of CPU 1 is %d while offline and %d online, want 0 and 255", a, b)
	}
	if a := colourAt(img, 0, 3).A; a != 255 {
		t.Errorf("opacity of CPU 0 is %d, want 255", a)
	}
}

func TestAOneSecondSpikeInADayStaysVisible(t *testing.T) {
	t.Parallel()
	// Second 43,200 of 86,400 is the middle: column 420 of 840.
	s := made{sockets: 1, cores: 2, seconds: 86400, every: 1, rate: func(i, cpu int) float32 {
		if i == 43200 && cpu == 2 {
			return 9000
		}
		return 1
	}}.build()
	img := heatPicture(t, s)
	if got := colourAt(img, 420, 2*24+1); got != viridis[9] {
		t.Errorf("the spike is %v, want %v", got, viridis[9])
	}
	if got := colourAt(img, 421, 2*24+1); got == viridis[9] {
		t.Error("the spike spreads over its neighbours")
	}
}

func TestThePictureIsBoundedWhateverTheNumberOfCPUs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ cores, rows, height int }{ // threads = 2 x cores; by hand from the constants
		"64 CPUs":   {32, 64, 9},
		"256 CPUs":  {128, 256, 3},
		"512 CPUs":  {256, 512, 1},
		"2000 CPUs": {1000, 500, 2}, // four share a row
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := made{sockets: 1, cores: tc.cores, seconds: 60, every: 60, rate: func(_, cpu int) float32 { return float32(cpu) }}.build()
			got := heatPicture(t, s).Bounds().Size()
			if got != image.Pt(840, tc.rows*tc.height) || got.Y > 1024 {
				t.Errorf("size %v, want 840 x %d", got, tc.rows*tc.height)
			}
		})
	}
}

func TestStallsAreToldApartByShape(t *testing.T) {
	t.Parallel()
	s := made{sockets: 1, cores: 2, seconds: 840, every: 10, rate: func(int, int) float32 { return 1 }}.build()
	at := func(sec int64) time.Time { return series.ToTime(span(sec, sec).From) }
	f := &domain.Finding{StallList: []domain.StallMark{
		{At: at(100), CPUs: []int{0}, Exposure: "heavy"},
		{At: at(200), CPUs: []int{1}, Exposure: "light"},
		{At: at(300), CPUs: []int{2}, Exposure: "sibling"},
		{At: at(400), Exposure: "unknown"},
		{At: at(500), CPUs: []int{3}, Exposure: "what no engine says"},
	}}
	figure, _, err := heatFigure(f, s, "f1")
	if err != nil {
		t.Fatal(err)
	}
	// One second is one column here; the plot begins at x 96, y 34; rows are 24 high.
	for class, want := range map[string]string{
		"stall-heavy":   `d="M196 40l5 6l-5 6l-5-6z"`,
		"stall-light":   `d="M291.5 70a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"`,
		"stall-sibling": `d="M392 90h8v8h-8z"`,
		"stall-unknown": `d="M492.5 10.5l7 7m0-7l-7 7M592.5 114.5l7 7m0-7l-7 7"`,
	} {
		if !strings.Contains(string(figure), want+` class="stall `+class+`"`) {
			t.Errorf("no %s at %s", class, want)
		}
	}
	for _, want := range []string{"on a heavy CPU (1)", "on another CPU (1)", "beside a heavy sibling (1)", "its CPU unknown (2)"} {
		if !strings.Contains(string(figure), want) {
			t.Errorf("legend lacks %q", want)
		}
	}
}

func TestThePathLiesOnTheRowsWhereLGWRWas(t *testing.T) {
	t.Parallel()
	s := made{sockets: 1, cores: 2, seconds: 840, every: 10, rate: func(int, int) float32 { return 1 }}.build()
	s.Threads = []series.Thread{lgwr(4, 840, 210)} // CPUs 0, 3, 2, 1 for 210 s each (7i mod 4)
	h := newHeatmap(s)
	levels, outline := newTrace(h, s).paths(h, s.Window, 0, 0)
	// Rows are 24 high, one second is one column.
	if want := "M0 12h210M630 36h210M420 60h210M210 84h210"; levels[0] != want {
		t.Errorf("path %q, want %q", levels[0], want)
	}
	if levels[1] != "" || levels[2] != "" || !strings.HasPrefix(outline, "M-1 12h212") {
		t.Errorf("faint strokes %q %q, outline %q", levels[1], levels[2], outline)
	}
}

func TestThePathStopsWherePlacementIsUnknown(t *testing.T) {
	t.Parallel()
	s := made{sockets: 1, cores: 1, seconds: 840, every: 10, rate: func(int, int) float32 { return 1 }}.build()
	th := lgwr(1, 840, 1)
	cut := func(from, to int) {
		th.At = append(th.At[:from:from], th.At[to:]...)
		th.CPU = th.CPU[:len(th.At)]
	}
	cut(100, 300)
	s.Threads = []series.Thread{th}
	h := newHeatmap(s)
	levels, _ := newTrace(h, s).paths(h, s.Window, 0, 0)
	if want := "M0 12h100M300 12h540"; levels[0] != want {
		t.Errorf("path %q, want %q", levels[0], want)
	}
}

func TestAnIdleWorkerIsNotOnThePath(t *testing.T) {
	t.Parallel()
	s := made{sockets: 1, cores: 1, seconds: 840, every: 10, rate: func(int, int) float32 { return 1 }}.build()
	idle := lgwr(1, 840, 1)
	idle.Worker = true
	for i := range idle.Exec {
		idle.Exec[i] = 0
	}
	s.Threads = []series.Thread{idle}
	if tr := newTrace(newHeatmap(s), s); tr.seconds != 0 {
		t.Errorf("%v s of an idle worker are drawn", tr.seconds)
	}
}

func TestTheScaleIsOrderedByLightness(t *testing.T) {
	t.Parallel()
	before := -1.0
	for i := range 101 {
		l := luminance(viridisAt(float64(i) / 100))
		if l <= before {
			t.Fatalf("position %d is not lighter than the one before", i)
		}
		before = l
	}
	// WCAG 2.1: white 1, black 0.
	if w, b := luminance(color.NRGBA{255, 255, 255, 255}), luminance(color.NRGBA{A: 255}); math.Abs(w-1) > 1e-9 || b != 0 {
		t.Errorf("luminance of white %v, of black %v", w, b)
	}
}

func TestTheLogarithmicScaleStatesItsDecades(t *testing.T) {
	t.Parallel()
	s := newScale(9999, false)
	// ln(1+99)/ln(1+9999) = ln 100/ln 10000 = 1/2
	if got := s.at(99); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("99 of 9,999 lies at %v, want 0.5", got)
	}
	if got := newScale(0.4, true).at(0.1); math.Abs(got-0.5) > 1e-12 { // sqrt(1/4)
		t.Errorf("10 %% of 40 %% lies at %v, want 0.5", got)
	}
	for _, v := range []float64{math.NaN(), math.Inf(-1), -1} {
		if s.at(v) != 0 {
			t.Errorf("%v lies at %v, want 0", v, s.at(v))
		}
	}
	if newScale(math.NaN(), false).top != 1 || newScale(math.Inf(1), true).top != 1 {
		t.Error("a scale without a finite top")
	}
}
