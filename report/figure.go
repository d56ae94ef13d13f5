package report

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// figureWidth is the width of every figure in its own units. A page scales
// figures to its column, paper to its width.
const figureWidth = 960

// svg builds one SVG element. Markup is written here alone: whatever is set as
// text or as an attribute's value is cleaned and escaped on its way.
type svg struct {
	b    strings.Builder
	open []string // names of elements not yet closed
}

// newSVG begins a figure of figureWidth and the height. The label is what a
// screen reader says of it.
func newSVG(height float64, label string) *svg { return newSVGOf(figureWidth, height, label) }

// newSVGOf begins a figure of another width.
func newSVGOf(width, height float64, label string) *svg {
	g := &svg{}
	g.begin("svg", "viewBox", "0 0 "+px(width)+" "+px(height), "role", "img", "aria-label", label)
	return g
}

// begin opens an element; attributes come as name, value, name, value.
func (g *svg) begin(name string, attributes ...string) {
	g.tag(name, attributes, ">")
	g.open = append(g.open, name)
}

// end closes the element opened last.
func (g *svg) end() {
	last := len(g.open) - 1
	g.b.WriteString("</" + g.open[last] + ">")
	g.open = g.open[:last]
}

// leaf writes an element without content.
func (g *svg) leaf(name string, attributes ...string) { g.tag(name, attributes, "/>") }

func (g *svg) tag(name string, attributes []string, ending string) {
	g.b.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		g.b.WriteString(" " + attributes[i] + `="` + html.EscapeString(Clean(attributes[i+1])) + `"`)
	}
	g.b.WriteString(ending)
}

// text writes a line of text; the class says how it looks and where its anchor is.
func (g *svg) text(x, y float64, class, s string) {
	g.tag("text", []string{"x", px(x), "y", px(y), "class", class}, ">")
	g.b.WriteString(html.EscapeString(Clean(s)))
	g.b.WriteString("</text>")
}

func (g *svg) rect(x, y, width, height float64, class string) {
	g.leaf("rect", "x", px(x), "y", px(y), "width", px(math.Max(width, 0)), "height", px(math.Max(height, 0)), "class", class)
}

func (g *svg) line(x1, y1, x2, y2 float64, class string) {
	g.leaf("line", "x1", px(x1), "y1", px(y1), "x2", px(x2), "y2", px(y2), "class", class)
}

// hatch defines the pattern that stands for "not observed" under the id.
func (g *svg) hatch(id string) {
	g.begin("pattern", "id", id, "width", "7", "height", "7", "patternUnits", "userSpaceOnUse", "patternTransform", "rotate(45)")
	g.rect(0, 0, 7, 7, "hatch-ground")
	g.rect(0, 0, 2.5, 7, "hatch-line")
	g.end()
}

// hatched fills a rectangle with the pattern of that id.
func (g *svg) hatched(x, y, width, height float64, id string) {
	g.leaf("rect", "x", px(x), "y", px(y), "width", px(width), "height", px(height), "fill", "url(#"+id+")", "class", "gap")
}

// done closes what is open and gives the figure.
func (g *svg) done() template.HTML {
	for len(g.open) > 0 {
		g.end()
	}
	return template.HTML(g.b.String()) //nolint:gosec // every value was escaped by tag or text
}

// px writes a coordinate with at most one decimal.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
