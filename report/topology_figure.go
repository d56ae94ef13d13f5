package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
)

// How the topology map is laid out.
const (
	boxGap     = 20.0
	cellMargin = 6.0  // leaves room for the outline of LGWR's residence
	cellStep   = 28.0 // from cell to cell, at least
	widestStep = 54.0
	cellHeight = 18.0
	threadStep = 24.0
	coreGap    = 7.0
	chipHeight = 20.0
	boxHead    = 24.0
)

// topologyFigure draws sockets, cores and threads, coloured by dose, with the
// residence of the watched process outlined and the ports that interrupt each
// socket below it. Each socket is an element of its own: beside each other where
// the page is wide, below each other where it is not.
func topologyFigure(f *domain.Finding, s *series.Series, id string) (template.HTML, string) {
	m := newNodeMap(f, s)
	if m == nil {
		return "", ""
	}
	class, width := "boxes", (figureWidth-boxGap)/2
	if len(m.boxes) == 1 {
		class, width = "boxes single", figureWidth
	}
	out := template.HTML(`<div class="` + class + `">`) //nolint:gosec // one of two constants
	for i := range m.boxes {
		b := &m.boxes[i]
		g := newSVGOf(width, b.height(width), b.title()+" with the interrupt dose of each CPU, the residence of "+watched(f)+" and the ports that interrupt it")
		m.drawBox(g, b, width)
		out += g.done()
	}
	return out + m.legend(watched(f), id) + "</div>", m.caption(watched(f))
}

// caption says how to read the map, and what is not known.
func (m *nodeMap) caption(who string) string {
	text := "Colour: what interrupts take of each CPU (" + doseText(m.measure) + ", " + m.scale.kind() + ")."
	if m.measure == "" {
		text = "What interrupts take of each CPU is not known."
	}
	if m.cores {
		text += " Threads of a core stand above one another."
	}
	text += " The thicker the outline, the longer " + who + " was there; a corner marks heavy CPUs."
	switch {
	case !m.known && !m.cores:
		text += " How CPUs are grouped into sockets and cores is not known: this is a plain grid by CPU number (lscpu -p or -e would tell)."
	case !m.known:
		text += " Sockets are not known (lscpu -p or -e would tell)."
	case !m.cores:
		text += " Cores are not known: each cell is a CPU (lscpu -p or -e would tell)."
	case m.inferred:
		text += " Cores are inferred from the order of CPU numbers."
	}
	return text + m.bondText()
}

// step is the distance from core to core: wide where there are few.
func (b *socketBox) step(width float64) float64 {
	return math.Min(widestStep, math.Max(cellStep, (width-20)/math.Max(1, float64(len(b.cores)))))
}

func (b *socketBox) perRow(width float64) int { return max(1, int((width-20)/b.step(width)+0.001)) }

// threads gives the most threads that a core of the box has.
func (b *socketBox) threads() int {
	n := 1
	for i := range b.cores {
		n = max(n, len(b.cores[i].threads))
	}
	return n
}

func (b *socketBox) cellsHeight(width float64) float64 {
	rows := (len(b.cores) + b.perRow(width) - 1) / b.perRow(width)
	return float64(rows) * (float64(b.threads())*threadStep + coreGap)
}

// height gives the height of a box with the ports below it.
func (b *socketBox) height(width float64) float64 {
	h := boxHead + b.cellsHeight(width) + 4
	if n := len(b.ports); n > 0 {
		h += 14 + float64(n)*(chipHeight+6)
	}
	return h
}

func (m *nodeMap) drawBox(g *svg, b *socketBox, width float64) {
	height := boxHead + b.cellsHeight(width) + 4
	g.rect(0.5, 0.5, width-1, height-1, "box")
	g.text(10, 17, "strong", b.title())
	step := b.step(width)
	for i := range b.cores {
		cx := 13 + float64(i%b.perRow(width))*step
		cy := boxHead + 4 + float64(i/b.perRow(width))*(float64(b.threads())*threadStep+coreGap)
		for k, t := range b.cores[i].threads {
			m.drawThread(g, t, cx, cy+float64(k)*threadStep, step-cellMargin)
		}
	}
	for i, p := range b.ports {
		cy := height + 12 + float64(i)*(chipHeight+6)
		g.leaf("path", "d", "M14 "+px(height)+"V"+px(cy+chipHeight/2)+"h10", "class", "wire", "stroke-width", px(1+math.Min(4, math.Log10(1+p.perS))))
		class := "chip"
		if p.bond != "" {
			class = "chip bonded"
		}
		text := p.text()
		g.rect(24, cy, math.Min(width-26, 20+6.6*float64(len(text))), chipHeight, class)
		g.text(32, cy+14, "small", text)
	}
}

func (b *socketBox) title() string {
	switch {
	case b.name == "":
		return "CPUs by number"
	case len(b.nodes) == 1:
		return b.name + " (NUMA node " + strconv.Itoa(b.nodes[0]) + ")"
	case len(b.nodes) > 1:
		return fmt.Sprintf("%s (NUMA nodes %d to %d)", b.name, b.nodes[0], b.nodes[len(b.nodes)-1])
	}
	return b.name
}

// drawThread draws one CPU.
func (m *nodeMap) drawThread(g *svg, t threadCell, x, y, cellWidth float64) {
	class := "small middle "
	if math.IsNaN(t.dose) {
		g.rect(x, y, cellWidth, cellHeight, "cell-unknown")
	} else {
		c := viridisAt(m.scale.at(t.dose))
		g.leaf("rect", "x", px(x), "y", px(y), "width", px(cellWidth), "height", px(cellHeight), "fill", hex(c))
		class += "on-dark"
		if luminance(c) > 0.2 { // above it black has the better contrast
			class = "small middle on-light"
		}
	}
	if t.lgwr > 0 && m.top > 0 {
		w := 1 + 3*t.lgwr/m.top
		g.leaf("rect", "x", px(x-w/2), "y", px(y-w/2), "width", px(cellWidth+w), "height", px(cellHeight+w), "class", "residence", "stroke-width", px(w))
	}
	if t.heavy {
		g.leaf("path", "d", "M"+px(x+cellWidth)+" "+px(y)+"v8l-8-8z", "class", "heavy-corner")
	}
	g.text(x+cellWidth/2, y+13, class, strconv.Itoa(t.cpu))
}

// legend explains colours and marks.
func (m *nodeMap) legend(who, id string) template.HTML {
	const width, cellWidth = (figureWidth - boxGap) / 2, cellStep - cellMargin
	colours := newSVGOf(width, 50, "Scale of colours")
	if m.measure != "" {
		colours.text(0, 12, "small", doseText(m.measure))
		m.scale.bar(colours, id+"-dose-scale", 0, 18, 300)
	}
	marks := newSVGOf(width, 50, "Marks of CPUs")
	marks.rect(4, 2, cellWidth, cellHeight, "cell-unknown")
	marks.leaf("path", "d", "M"+px(4+cellWidth)+" 2v8l-8-8z", "class", "heavy-corner")
	marks.text(38, 16, "small", "heavy CPU")
	marks.rect(4, 28, cellWidth, cellHeight, "cell-unknown")
	marks.leaf("rect", "x", "2", "y", "26", "width", px(cellWidth+4), "height", px(cellHeight+4), "class", "residence", "stroke-width", "4")
	label := who + " was never seen on any of them"
	if m.top > 0 {
		label = who + "'s longest residence on one CPU: " + percent(&m.top) + " of the time"
	}
	marks.text(38, 42, "small", label)
	return colours.done() + marks.done()
}
