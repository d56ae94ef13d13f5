package report

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// Where the heatmap lies in its figure.
const (
	heatLeft  = 96.0
	heatTop   = 34.0
	heatRight = heatLeft + heatColumns
)

// heatFigure draws the heatmap, LGWR's path and the stalls. The id keeps
// figures of one page apart. It gives nothing where no interrupts are known.
func heatFigure(f *domain.Finding, s *series.Series, id string) (template.HTML, string, error) {
	h := newHeatmap(s)
	if h == nil {
		return "", "", nil
	}
	picture, err := h.png()
	if err != nil {
		return "", "", err
	}
	zone, zoneName := zoneOf(f)
	axis := timeAxis{s.Window, zone, heatLeft, heatRight}
	bottom := heatTop + float64(h.height())
	stalls := shownKinds(f, figureWidth-heatLeft)
	g := newSVG(bottom+136+stallLine*float64(stalls[len(stalls)-1].line), "Heatmap of "+h.measure+" by CPU and time, with the CPU that "+watched(f)+" was on and the stalls")
	g.begin("defs")
	g.hatch(id + "-gap")
	g.end()
	g.hatched(heatLeft, heatTop, heatColumns, float64(h.height()), id+"-gap")
	g.leaf("image", "x", px(heatLeft), "y", px(heatTop), "width", px(heatColumns), "height", px(float64(h.height())),
		"preserveAspectRatio", "none", "class", "heat", "href", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture))
	h.drawRows(g, f)
	h.drawTrace(g, s)
	drawStalls(g, h, f, axis)
	axis.draw(g, bottom)
	g.text(heatLeft, bottom+36, "small muted", "local time ("+zoneName+"), from "+series.ToTime(s.Window.From).In(zone).Format("2006-01-02"))
	h.legend(g, watched(f), id, bottom+54, stalls)
	return g.done(), h.caption(s), nil
}

// caption says how to read the figure.
func (h *heatmap) caption(s *series.Series) string {
	column := time.Duration(s.Window.To-s.Window.From) * time.Microsecond / heatColumns
	text := fmt.Sprintf("Each row is a CPU, each column %s of time: its colour is the greatest value seen within it (%s, %s), so that a short spike stays visible.",
		shortSpan(column), h.measure, h.scale.kind())
	if len(h.rows) > 0 && len(h.rows[0].cpus) > 1 {
		text += fmt.Sprintf(" Up to %d CPUs share a row.", len(h.rows[0].cpus))
	}
	return text + " Hatched is not observed, which is not zero."
}

// shortSpan writes a length of time with about two digits.
func shortSpan(d time.Duration) string {
	switch {
	case d >= 10*time.Minute:
		return strconv.Itoa(int(d.Round(time.Minute)/time.Minute)) + " min"
	case d >= 10*time.Second:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	case d < 100*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'g', 2, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 2, 64) + " s"
}

// labelHeight is the least distance between the labels of two rows.
const labelHeight = 13

// drawRows writes the names of groups and CPUs, sets groups apart and marks
// heavy CPUs at the right.
func (h *heatmap) drawRows(g *svg, f *domain.Finding) {
	height := float64(h.rowHeight)
	for i, group := range h.groups {
		first, next := h.groupRow[i], len(h.rows)
		if i+1 < len(h.groupRow) {
			next = h.groupRow[i+1]
		}
		y := heatTop + float64(first)*height
		if i > 0 {
			g.line(heatLeft, y, heatRight, y, "divide")
		}
		if n := next - first; float64(n)*height >= 12 {
			g.text(4, y+12, "strong", group.name)
		}
		for _, r := range h.labelled(first, next) {
			g.text(heatLeft-7, heatTop+(float64(r)+0.5)*height+4, "small end", strconv.Itoa(h.rows[r].cpus[0]))
		}
	}
	if f.Interrupts == nil {
		return
	}
	for _, c := range f.Interrupts.HeavyCPUs {
		if r, ok := h.rowOf[c]; ok {
			g.rect(heatRight+4, heatTop+float64(r)*height+0.5, 6, height-1, "heavy")
		}
	}
}

// labelled gives the rows from first to next that have room for the number of
// their CPU: the first of each run of numbers, and others at even distances.
func (h *heatmap) labelled(first, next int) []int {
	every := max(1, int(math.Ceil(labelHeight/float64(h.rowHeight))))
	var out []int
	for run := first; run < next; {
		end := run + 1
		for end < next && h.rows[end].cpus[0] == lastOf(h.rows[end-1])+1 {
			end++
		}
		if n := len(out); n > 0 && run-out[n-1] < every {
			out = out[:n-1] // no room for both: a run's first row says more
		}
		for r := run; r < end; r += every {
			if r == first || next-r >= every { // else it meets the next group's first
				out = append(out, r)
			}
		}
		run = end
	}
	return out
}

func lastOf(r heatRow) int { return r.cpus[len(r.cpus)-1] }

// densePath is the number of characters of an outline from which on strokes lie
// so close that it would hide the picture below.
const densePath = 60000

// drawTrace draws where LGWR was.
func (h *heatmap) drawTrace(g *svg, s *series.Series) {
	t := newTrace(h, s)
	paths, outline := t.paths(h, s.Window, heatLeft, heatTop)
	if outline != "" && len(outline) < densePath {
		g.leaf("path", "d", outline, "class", "trace-edge", "stroke-width", px(h.stroke()+2))
	}
	for i, d := range paths {
		if d != "" {
			g.leaf("path", "d", d, "class", "trace trace-"+strconv.Itoa(i), "stroke-width", px(h.stroke()))
		}
	}
}

// stroke is the width of LGWR's path.
func (h *heatmap) stroke() float64 { return min(3.4, max(1.4, float64(h.rowHeight)*0.38)) }

// stallKind is one way in which stalls are marked: by shape, and by colour too.
type stallKind struct {
	exposure, class, text string
	note                  string // beside a CPU's number
	shape                 func(x, y float64) string
}

// stallKinds are in the order in which they are drawn: the heavy ones on top.
var stallKinds = []stallKind{
	{"unknown", "stall-unknown", "its CPU unknown", "", crossAt},
	{"shared", "stall-unknown", "of the partner instance as well, left out", "", plusAt},
	{"light", "stall-light", "on another CPU", "", ringAt},
	{"sibling", "stall-sibling", "beside a heavy sibling", " (beside a heavy sibling)", squareAt},
	{"heavy", "stall-heavy", "on a heavy CPU", " (heavy)", diamondAt},
}

func plusAt(x, y float64) string {
	return "M" + px(x-4) + " " + px(y) + "h8m-4-4v8"
}

func crossAt(x, y float64) string {
	return "M" + px(x-3.5) + " " + px(y-3.5) + "l7 7m0-7l-7 7"
}

func ringAt(x, y float64) string {
	return "M" + px(x-4.5) + " " + px(y) + "a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"
}

func squareAt(x, y float64) string { return "M" + px(x-4) + " " + px(y-4) + "h8v8h-8z" }

func diamondAt(x, y float64) string { return "M" + px(x) + " " + px(y-6) + "l5 6l-5 6l-5-6z" }

// drawStalls marks each stall at its instant and CPU, and all of them in a strip
// above the plot.
func drawStalls(g *svg, h *heatmap, f *domain.Finding, axis timeAxis) {
	ticks := strings.Builder{}
	marks := make([][]byte, len(stallKinds))
	for i := range f.StallList {
		st := &f.StallList[i]
		x := axis.x(series.FromTime(st.At))
		ticks.WriteString("M" + px(x) + " " + px(heatTop-14) + "v10")
		k := kindOf(st)
		if len(st.CPUs) == 0 {
			marks[k] = append(marks[k], stallKinds[k].shape(x, heatTop-20)...)
		}
		for _, c := range st.CPUs {
			if r, ok := h.rowOf[c]; ok {
				marks[k] = append(marks[k], stallKinds[k].shape(x, heatTop+(float64(r)+0.5)*float64(h.rowHeight))...)
			}
		}
	}
	g.text(4, heatTop-6, "small", "stalls")
	g.leaf("path", "d", ticks.String(), "class", "stall-tick")
	for k := range stallKinds {
		if len(marks[k]) > 0 {
			g.leaf("path", "d", string(marks[k]), "class", "stall "+stallKinds[k].class)
		}
	}
}

// kindOf gives the index of a stall's kind; an unheard-of exposure is unknown,
// and so is one without a CPU, which shared stalls have none of.
func kindOf(st *domain.StallMark) int {
	for k := range stallKinds {
		if stallKinds[k].exposure == st.Exposure && (len(st.CPUs) > 0 || st.Exposure == "shared") {
			return k
		}
	}
	return 0
}

// legendKind is a kind of stall in the legend: where its mark stands there.
type legendKind struct {
	*stallKind

	label string
	x     float64
	line  int
}

const (
	stallTitle = 146.0 // room for the title of the stalls' legend
	stallLine  = 22.0
)

// shownKinds lays out the kinds of stalls that a legend of that width explains:
// those that there are, on a heavy and on another CPU in any case.
func shownKinds(f *domain.Finding, width float64) []legendKind {
	counts := make([]int, len(stallKinds))
	for i := range f.StallList {
		counts[kindOf(&f.StallList[i])]++
	}
	var out []legendKind
	x, line := stallTitle, 0
	for k := len(stallKinds) - 1; k >= 0; k-- {
		kind := &stallKinds[k]
		if counts[k] == 0 && kind.exposure != "light" && kind.exposure != "heavy" {
			continue
		}
		label := kind.text + " (" + count(counts[k]) + ")"
		room := 42 + 6.2*float64(len(label))
		if x+room > width {
			x, line = stallTitle, line+1
		}
		out = append(out, legendKind{kind, label, x, line})
		x += room
	}
	return out
}

// legend explains colours and marks.
func (h *heatmap) legend(g *svg, who, id string, y float64, stalls []legendKind) {
	g.text(heatLeft, y+6, "small", h.measure+" ("+h.scale.kind()+")")
	h.scale.bar(g, id+"-heat-scale", heatLeft, y+14, 300)
	x := heatLeft + 350
	g.hatched(x, y+14, 24, 12, id+"-gap")
	g.text(x+30, y+24, "small", "not observed")
	g.rect(x+130, y+14, 6, 12, "heavy")
	g.text(x+142, y+24, "small", "heavy CPU (right edge)")
	g.rect(x+300, y+14, 34, 12, "trace-ground")
	g.leaf("path", "d", "M"+px(x+304)+" "+px(y+20)+"h26", "class", "trace", "stroke-width", "3")
	g.text(x+340, y+24, "small", who+" was here")
	g.text(heatLeft, y+70, "small", "stall while "+who+" was:")
	for _, k := range stalls {
		x, at := heatLeft+k.x, y+66+stallLine*float64(k.line)
		if k.class != "stall-unknown" { // drawn on the picture, not above it
			g.rect(x-9, at-9, 18, 18, "trace-ground")
		}
		g.leaf("path", "d", k.shape(x, at), "class", "stall "+k.class)
		g.text(x+14, at+4, "small", k.label)
	}
}
