package report

import (
	"math"
	"strings"

	"github.com/corewait/corewait/correlate/series"
)

// trace is where the watched process was, on the heatmap's rows and columns:
// seconds in each.
type trace struct {
	columns [][]float32 // by row; nil where it never was
	seconds float64
}

// newTrace places the threads' samples. A sample speaks for the time up to the
// next one, for one and a half periods at the longest. Workers count only where
// they ran since their sample before.
func newTrace(h *heatmap, s *series.Series) *trace {
	t := &trace{columns: make([][]float32, len(h.rows))}
	for i := range s.Threads {
		th := &s.Threads[i]
		for k, sp := range sampleSpans(th) {
			if row, ok := h.rowOf[int(th.CPU[k])]; ok && (!th.Worker || workerRan(th, k)) {
				t.add(row, sp, s.Window)
			}
		}
	}
	return t
}

// sampleSpans gives the time that each sample of a thread speaks for.
func sampleSpans(t *series.Thread) []series.Span {
	period := t.Period()
	out := make([]series.Span, len(t.At))
	for i, at := range t.At {
		end := at + max(period, 1)
		if i+1 < len(t.At) && t.At[i+1]-at <= period+period/2 {
			end = t.At[i+1]
		}
		out[i] = series.Span{From: at, To: end}
	}
	return out
}

func workerRan(t *series.Thread, i int) bool {
	if t.Exec[i] >= 0 {
		return t.Exec[i] > 0
	}
	share := float64(t.CPUShare[i])
	return math.IsNaN(share) || share > 0
}

func (t *trace) add(row int, sp, w series.Span) {
	from, to := max(sp.From, w.From), min(sp.To, w.To)
	if to <= from {
		return
	}
	if t.columns[row] == nil {
		t.columns[row] = make([]float32, heatColumns)
	}
	perColumn := float64(w.To-w.From) / heatColumns
	second := float64(series.Second)
	a, b := float64(from-w.From)/perColumn, float64(to-w.From)/perColumn
	for c := int(a); c < heatColumns && float64(c) < b; c++ {
		d := (math.Min(b, float64(c+1)) - math.Max(a, float64(c))) * perColumn / second
		t.columns[row][c] += float32(d)
		t.seconds += d
	}
}

// traceLevels are the parts of a column's time that a mark stands for, from the
// strongest mark to the faintest.
var traceLevels = []float64{0.5, 0.1, 0}

// paths gives one SVG path per level: strokes along rows, as long as the stay;
// and one of all strokes, a little longer, to be drawn below as their outline.
// x0 and y0 are the plot's corner.
func (t *trace) paths(h *heatmap, w series.Span, x0, y0 float64) (levels []string, outline string) {
	var edge strings.Builder
	perColumn := float64(w.To-w.From) / float64(series.Second) / heatColumns
	strokes := make([][]byte, len(traceLevels))
	for r, columns := range t.columns {
		y := y0 + (float64(r)+0.5)*float64(h.rowHeight)
		for c := 0; c < len(columns); {
			level := traceLevel(float64(columns[c]) / perColumn)
			n := 1
			for c+n < len(columns) && traceLevel(float64(columns[c+n])/perColumn) == level {
				n++
			}
			if level >= 0 {
				strokes[level] = append(strokes[level], "M"+px(x0+float64(c))+" "+px(y)+"h"+px(float64(n))...)
				edge.WriteString("M" + px(x0+float64(c)-1) + " " + px(y) + "h" + px(float64(n+2)))
			}
			c += n
		}
	}
	levels = make([]string, len(strokes))
	for i := range strokes {
		levels[i] = string(strokes[i])
	}
	return levels, edge.String()
}

// traceLevel gives the level of a part of a column's time, -1 for none.
func traceLevel(part float64) int {
	for i, least := range traceLevels {
		if part > 0 && part >= least {
			return i
		}
	}
	return -1
}
