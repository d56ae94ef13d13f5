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
	g := newSVG(bottom+136, "Heatmap of "+h.measure+" by CPU and time, with the CPU that LGWR was on and the commit stalls")
	g.begin("defs")
	g.hatch(id + "-gap")
	g.end()
	g.hatched(heatLeft, heatTop, heatColumns, float64(h.height()), id+"-gap")
	g.leaf("image", "x", px(heatLeft), "y", px(heatTop), "width", px(heatColumns), "height", px(float64(h.height())),
		"preserveAspectRatio", "none", "class", "heat", "href", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture))
	h.drawRows(g, f)
	h.drawTrace(g, s)
	marks := drawStalls(g, h, f, axis)
	axis.draw(g, bottom)
	g.text(heatLeft, bottom+36, "small muted", "local time ("+zoneName+"), from "+series.ToTime(s.Window.From).In(zone).Format("2006-01-02"))
	h.legend(g, id, bottom+54, marks)
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
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 2, 64) + " s"
}

// labelHeight is the least distance between the labels of two rows.
const labelHeight = 13

// drawRows writes the names of groups and CPUs, sets groups apart and marks
// heavy CPUs at the right.
func (h *heatmap) drawRows(g *svg, f *domain.Finding) {
	height := float64(h.rowHeight)
	every := max(1, int(math.Ceil(labelHeight/height)))
	for i, group := range h.groups {
		first, next := h.groupRow[i], len(h.rows)
		if i+1 < len(h.groupRow) {
			next = h.groupRow[i+1]
		}
		y := heatTop + float64(first)*height
		if i > 0 {
			g.line(4, y, heatRight+12, y, "divide")
		}
		if n := next - first; float64(n)*height >= 12 {
			g.text(4, y+12, "strong", group.name)
		}
		for r := first; r < next; r += every {
			if r == first || next-r >= every { // else it meets the next group's first
				g.text(heatLeft-7, heatTop+(float64(r)+0.5)*height+4, "small end", strconv.Itoa(h.rows[r].cpus[0]))
			}
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
	shape                 func(x, y float64) string
}

// stallKinds are in the order in which they are drawn: the heavy ones on top.
var stallKinds = []stallKind{
	{"unknown", "stall-unknown", "its CPU unknown", crossAt},
	{"light", "stall-light", "on another CPU", ringAt},
	{"sibling", "stall-sibling", "beside a heavy sibling", squareAt},
	{"heavy", "stall-heavy", "on a heavy CPU", diamondAt},
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
// above the plot. It gives the number of marks by kind.
func drawStalls(g *svg, h *heatmap, f *domain.Finding, axis timeAxis) []int {
	ticks := strings.Builder{}
	marks := make([][]byte, len(stallKinds))
	counts := make([]int, len(stallKinds))
	for i := range f.StallList {
		st := &f.StallList[i]
		x := axis.x(series.FromTime(st.At))
		ticks.WriteString("M" + px(x) + " " + px(heatTop-14) + "v10")
		k := kindOf(st)
		counts[k]++
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
	return counts
}

// kindOf gives the index of a stall's kind; an unheard-of exposure is unknown.
func kindOf(st *domain.StallMark) int {
	for k := range stallKinds {
		if stallKinds[k].exposure == st.Exposure && len(st.CPUs) > 0 {
			return k
		}
	}
	return 0
}

// legend explains colours and marks.
func (h *heatmap) legend(g *svg, id string, y float64, stalls []int) {
	g.text(heatLeft, y+6, "small", h.measure+" ("+h.scale.kind()+")")
	h.scale.bar(g, id+"-heat-scale", heatLeft, y+14, 300)
	x := heatLeft + 350
	g.hatched(x, y+14, 24, 12, id+"-gap")
	g.text(x+30, y+24, "small", "not observed")
	g.rect(x+130, y+14, 6, 12, "heavy")
	g.text(x+142, y+24, "small", "heavy CPU (right edge)")
	g.rect(x+300, y+14, 34, 12, "trace-ground")
	g.leaf("path", "d", "M"+px(x+304)+" "+px(y+20)+"h26", "class", "trace", "stroke-width", "3")
	g.text(x+340, y+24, "small", "LGWR was here")
	x = heatLeft
	y += 66
	g.text(x, y+4, "small", "stall while LGWR was:")
	x += 146
	for k := len(stallKinds) - 1; k >= 0; k-- {
		if stalls[k] == 0 && k != 1 && k != 3 {
			continue
		}
		if k > 0 {
			g.rect(x-9, y-9, 18, 18, "trace-ground")
		}
		g.leaf("path", "d", stallKinds[k].shape(x, y), "class", "stall "+stallKinds[k].class)
		label := stallKinds[k].text + " (" + count(stalls[k]) + ")"
		g.text(x+14, y+4, "small", label)
		x += 42 + 6.2*float64(len(label))
	}
}
