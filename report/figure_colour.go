package report

import (
	"fmt"
	"image/color"
	"math"
)

// viridis holds ten evenly spaced colours of the scale of that name (Nathaniel
// Smith and Stéfan van der Walt, 2015, public domain): lightness rises evenly,
// so that order survives colour blindness and grey paper.
var viridis = [...]color.NRGBA{
	{0x44, 0x01, 0x54, 0xff}, {0x48, 0x28, 0x78, 0xff}, {0x3e, 0x49, 0x89, 0xff}, {0x31, 0x68, 0x8e, 0xff}, {0x26, 0x82, 0x8e, 0xff},
	{0x1f, 0x9e, 0x89, 0xff}, {0x35, 0xb7, 0x79, 0xff}, {0x6e, 0xce, 0x58, 0xff}, {0xb5, 0xde, 0x2b, 0xff}, {0xfd, 0xe7, 0x25, 0xff},
}

// viridisAt gives the colour at a position from 0 to 1.
func viridisAt(position float64) color.NRGBA {
	if !(position > 0) { // NaN as well
		return viridis[0]
	}
	if position >= 1 {
		return viridis[len(viridis)-1]
	}
	p := position * float64(len(viridis)-1)
	i := int(p)
	a, b, t := viridis[i], viridis[i+1], p-float64(i)
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + (float64(y)-float64(x))*t)) }
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// hex writes a colour as SVG does.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// luminance is the relative luminance of a colour (WCAG 2.1), 0 to 1.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// scale maps values from 0 to top onto colours.
type scale struct {
	top   float64
	share bool // a share of time on a square root scale, else a rate on a logarithmic one
}

// newScale gives the scale whose top is the greatest value; a top that is no
// positive number counts as 1.
func newScale(top float64, share bool) scale {
	if !(top > 0) || math.IsInf(top, 0) {
		top = 1
	}
	return scale{top, share}
}

// at gives the position of a value, 0 to 1.
func (s scale) at(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	v = math.Min(v, s.top)
	if s.share {
		return math.Sqrt(v / s.top)
	}
	return math.Log1p(v) / math.Log1p(s.top)
}

// ticks gives the values that a legend names, ascending from 0 to the top.
func (s scale) ticks() []float64 {
	out := []float64{0}
	if s.share {
		for _, v := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
			if s.at(v)-s.at(out[len(out)-1]) > 0.13 && s.at(v) < 0.87 {
				out = append(out, v)
			}
		}
		return append(out, s.top)
	}
	for v := 1.0; v < s.top && len(out) < 12; v *= 10 {
		if p := s.at(v); p > 0.1 && p < 0.84 {
			out = append(out, v)
		}
	}
	return append(out, s.top)
}

// name writes a value of the scale, whole numbers without decimals.
func (s scale) name(v float64) string {
	unit := ""
	if s.share {
		v, unit = math.Round(v*1e6)/1e4, " %"
	}
	if v == math.Trunc(v) {
		return number(&v, 0) + unit
	}
	return significant(&v) + unit
}

// kind says which scale it is.
func (s scale) kind() string {
	if s.share {
		return "square root scale"
	}
	return "logarithmic scale"
}

// bar draws the scale from left to right with its ticks below.
func (s scale) bar(g *svg, id string, x, y, width float64) {
	g.begin("linearGradient", "id", id)
	const steps = 18
	for i := range steps + 1 {
		p := float64(i) / steps
		g.leaf("stop", "offset", px(100*p)+"%", "stop-color", hex(viridisAt(p)))
	}
	g.end()
	g.leaf("rect", "x", px(x), "y", px(y), "width", px(width), "height", "12", "fill", "url(#"+id+")")
	for i, v := range s.ticks() {
		at := x + width*s.at(v)
		g.line(at, y+12, at, y+16, "axis")
		class := "small middle"
		if i == 0 {
			class = "small"
			at = x
		}
		g.text(at, y+28, class, s.name(v))
	}
}
