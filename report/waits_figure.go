package report

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// waitBuckets counts the watched waits by length in Oracle's buckets: below a
// power of two and not shorter than half of it.
type waitBuckets struct {
	buckets []waitBucket // ascending by below
	counted bool         // every wait, by the event's histogram
	note    string
}

type waitBucket struct {
	below series.Micros
	waits float64
}

// mostBuckets bounds a histogram that hostile input made absurd.
const mostBuckets = 48

// newWaitBuckets takes the event's histogram where there is one, for it counts
// every wait; else the waits that samples saw.
func newWaitBuckets(s *series.Series) *waitBuckets {
	counted := map[series.Micros]float64{}
	for i := range s.Histograms {
		h := &s.Histograms[i]
		if !slices.Contains(s.Watch.Events, h.Event) || !s.Window.Contains(h.From) {
			continue
		}
		for _, b := range h.Steps {
			if b.Gained > 0 && b.Below > 0 {
				counted[b.Below] += float64(b.Gained)
			}
		}
	}
	if len(counted) > 0 {
		return &waitBuckets{sortBuckets(counted), true, "From the event's histogram, which counts every wait."}
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		if w.TimeWaited > 0 && s.Window.Contains(w.At) {
			counted[bucketOf(w.TimeWaited)] += math.Max(1, float64(w.Period)/float64(w.TimeWaited))
		}
	}
	if len(counted) == 0 {
		return nil
	}
	note := "Estimated from ASH samples: each row stands for as many waits of its length as one sample period holds."
	if s.Filtered {
		note = "The spool holds long waits only: nothing is known here of the shorter ones. " + note
	}
	return &waitBuckets{sortBuckets(counted), false, note}
}

// bucketOf gives the bucket of a wait: the least power of two, in microseconds,
// that is longer.
func bucketOf(wait series.Micros) series.Micros {
	below := series.Micros(1)
	for below <= wait && below < math.MaxInt64/4 {
		below *= 2
	}
	return below
}

// sortBuckets gives the buckets in order, the empty ones between them included.
func sortBuckets(counted map[series.Micros]float64) []waitBucket {
	out := make([]waitBucket, 0, len(counted))
	for below, n := range counted {
		out = append(out, waitBucket{below, n})
	}
	slices.SortFunc(out, func(a, b waitBucket) int { return cmp.Compare(a.below, b.below) })
	for i := 0; i+1 < len(out) && len(out) < mostBuckets; i++ {
		if next := out[i].below * 2; next < out[i+1].below {
			out = slices.Insert(out, i+1, waitBucket{below: next})
		}
	}
	return out[max(0, len(out)-mostBuckets):]
}

// waitFigure draws the distribution on a logarithmic count axis, with the
// buckets over the threshold set apart and the one that holds it marked.
func waitFigure(f *domain.Finding, s *series.Series, id string) (template.HTML, string) {
	w := newWaitBuckets(s)
	if w == nil {
		return "", ""
	}
	threshold := math.Inf(1)
	if f.Waits != nil {
		threshold = f.Waits.ThresholdMS * 1000
	}
	const bottom, height = 200.0, 160.0
	g := newSVG(bottom+62, "Distribution of the waits by length")
	g.begin("defs")
	g.hatch(id + "-edge")
	g.end()
	top := 1.0
	for _, b := range w.buckets {
		top = math.Max(top, b.waits)
	}
	step := math.Min(60, (figureWidth-20)/float64(len(w.buckets)))
	straddles := false
	for i, b := range w.buckets {
		x := 10 + float64(i)*step
		h := height * math.Log1p(b.waits) / math.Log1p(top)
		class := "bar quiet"
		switch low := float64(b.below) / 2; {
		case low >= threshold:
			class = "bar slow"
		case float64(b.below) > threshold:
			class, straddles = "bar straddle", true
		}
		g.rect(x+1, bottom-h, step-2, h, class)
		if class == "bar straddle" && h > 0 {
			g.hatched(x+1, bottom-h, step-2, h, id+"-edge")
			g.leaf("rect", "x", px(x+1), "y", px(bottom-h), "width", px(step-2), "height", px(h), "class", "bar-outline")
		}
		if b.waits > 0 {
			g.text(x+step/2, bottom-h-5, "tiny middle", compact(b.waits))
		}
		if step >= 34 || i%2 == 0 {
			g.text(x+step/2, bottom+15, "tiny middle", "<"+shortWait(b.below))
		}
	}
	g.line(10, bottom, 10+step*float64(len(w.buckets)), bottom, "axis")
	w.legend(g, bottom+44, id, threshold, straddles)
	note := w.note
	if source := f.Coverage.WaitSource; w.counted && source != nil && *source != "histogram" {
		note += " The stalls come from " + sourceText(*source) + ", which meets only those waits that are on at the instant of a sample."
	}
	return g.done(), note + " Buckets double in length; heights are on a logarithmic scale."
}

func (w *waitBuckets) legend(g *svg, y float64, id string, threshold float64, straddles bool) {
	if math.IsInf(threshold, 1) {
		return
	}
	limit := shortWait(series.Micros(threshold))
	g.rect(10, y-10, 18, 12, "bar quiet")
	g.text(34, y, "small", "under "+limit)
	g.rect(180, y-10, 18, 12, "bar slow")
	g.text(204, y, "small", limit+" and more")
	if straddles {
		g.hatched(350, y-10, 18, 12, id+"-edge")
		g.text(374, y, "small", "holds "+limit+": some of these waits may be shorter, some longer")
	}
}

// shortWait writes a wait's length with three digits.
func shortWait(us series.Micros) string {
	v := float64(us)
	switch {
	case v < 1e3:
		return strconv.FormatInt(us, 10) + " µs"
	case v < 1e6:
		return withUnit(v/1e3, " ms")
	}
	return withUnit(v/1e6, " s")
}

// compact writes a count in little room.
func compact(v float64) string {
	switch {
	case v >= 1e9:
		return withUnit(v/1e9, "G")
	case v >= 1e6:
		return withUnit(v/1e6, "M")
	case v >= 1e4:
		return withUnit(v/1e3, "k")
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func withUnit(v float64, unit string) string { return significant(&v) + unit }
