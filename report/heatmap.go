package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"

	"github.com/corewait/corewait/correlate/series"
)

// Size of the heatmap: one picture element per column of time, several per row
// of CPUs; figure units are picture elements.
const (
	heatColumns = 840
	heatRows    = 512  // more CPUs share rows
	heatHeight  = 1020 // picture elements at the most
	heatUsual   = 600
	tallestRow  = 24
	finestRow   = 3 // picture elements, as long as heatHeight has room
)

// heatmap is interrupts by CPU and time, pooled by maximum so that a short
// spike stays visible.
type heatmap struct {
	rows      []heatRow
	groups    []cpuGroup
	groupRow  []int     // first row of each group
	v         []float32 // row by row, heatColumns each; NaN: not observed
	measure   string
	scale     scale
	rowHeight int
	rowOf     map[int]int // CPU to row
}

// heatRow is one row: the CPUs that share it, one as a rule.
type heatRow struct{ cpus []int }

// heatMeasure picks what the heatmap shows: device interrupts, else softirq
// time, else received packets' softirqs; nil where there is none of them.
func heatMeasure(s *series.Series) (m *series.Matrix, measure string, share bool) {
	switch {
	case len(s.Interrupts.Spans) > 0:
		return &s.Interrupts, "device interrupts per second, storage left out", false
	case s.CPU.Interrupts && len(s.CPU.IRQSoftIRQ.Spans) > 0:
		return &s.CPU.IRQSoftIRQ, "share of time in irq and softirq", true
	case len(s.NetRX.Spans) > 0:
		return &s.NetRX, "NET_RX softirqs per second", false
	}
	return nil, "", false
}

// newHeatmap pools a series; nil where there is nothing to show.
func newHeatmap(s *series.Series) *heatmap {
	m, measure, share := heatMeasure(s)
	if m == nil || len(m.CPUs) == 0 || s.Window.To <= s.Window.From {
		return nil
	}
	h := &heatmap{measure: measure, groups: groupCPUs(&s.Topology, m.CPUs), rowOf: map[int]int{}}
	h.layRows(len(m.CPUs))
	h.v = make([]float32, len(h.rows)*heatColumns)
	for i := range h.v {
		h.v[i] = float32(math.NaN())
	}
	for i, sp := range m.Spans {
		from, to := columnsOf(sp, s.Window)
		h.pool(m, i, from, to)
	}
	top := 0.0
	for _, v := range h.v {
		top = math.Max(top, zeroNaN(float64(v)))
	}
	h.scale = newScale(top, share)
	return h
}

// layRows deals CPUs to rows, group by group, so that no row mixes groups.
func (h *heatmap) layRows(cpus int) {
	shared := (cpus + heatRows - 1) / heatRows
	for _, g := range h.groups {
		h.groupRow = append(h.groupRow, len(h.rows))
		for i := 0; i < len(g.cpus); i += shared {
			row := heatRow{g.cpus[i:min(i+shared, len(g.cpus))]}
			for _, c := range row.cpus {
				h.rowOf[c] = len(h.rows)
			}
			h.rows = append(h.rows, row)
		}
	}
	n := max(1, len(h.rows))
	h.rowHeight = min(tallestRow, max(heatUsual/n, min(finestRow, heatHeight/n), 1))
}

// height gives the height of all rows in picture elements.
func (h *heatmap) height() int { return len(h.rows) * h.rowHeight }

// columnsOf gives the columns [from, to) that an interval fills: those whose
// middle lies in it, or, for one that holds no middle, the one that it lies in.
// An interval outside the window fills none.
func columnsOf(sp, w series.Span) (from, to int) {
	if sp.To <= w.From || sp.From >= w.To || sp.To <= sp.From {
		return 0, 0
	}
	perColumn := float64(w.To-w.From) / heatColumns
	a := float64(max(sp.From, w.From)-w.From) / perColumn
	b := float64(min(sp.To, w.To)-w.From) / perColumn
	from, to = int(math.Ceil(a-0.5)), int(math.Ceil(b-0.5))
	if to <= from {
		from = int((a + b) / 2)
		to = from + 1
	}
	return max(from, 0), min(to, heatColumns)
}

// pool takes interval i of the matrix into columns [from, to).
func (h *heatmap) pool(m *series.Matrix, i, from, to int) {
	for c, v := range m.Row(i) {
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		row := h.v[h.rowOf[m.CPUs[c]]*heatColumns:][:heatColumns]
		for k := from; k < to; k++ {
			if !(row[k] >= v) { // NaN gives way
				row[k] = v
			}
		}
	}
}

func zeroNaN(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// unobserved is the palette's colour of what was not observed: transparent, so
// that the figure's hatching shows through. The rest of the palette is the scale.
const unobserved = 0

// png gives the picture: dark is quiet, bright is busy.
func (h *heatmap) png() ([]byte, error) {
	palette := make(color.Palette, 256)
	palette[unobserved] = color.NRGBA{}
	for i := 1; i < len(palette); i++ {
		palette[i] = viridisAt(float64(i-1) / 254)
	}
	img := image.NewPaletted(image.Rect(0, 0, heatColumns, h.height()), palette)
	for r := range h.rows {
		first := img.Pix[r*h.rowHeight*img.Stride:][:heatColumns]
		for c, v := range h.v[r*heatColumns:][:heatColumns] {
			if f := float64(v); !math.IsNaN(f) {
				first[c] = uint8(1 + math.Round(254*h.scale.at(f)))
			}
		}
		for k := 1; k < h.rowHeight; k++ {
			copy(img.Pix[(r*h.rowHeight+k)*img.Stride:], first)
		}
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("encode the heatmap: %w", err)
	}
	return b.Bytes(), nil
}
