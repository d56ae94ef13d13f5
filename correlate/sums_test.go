package correlate

import (
	"math"
	"testing"

	"github.com/corewait/corewait/correlate/series"
)

// By hand, of intervals of 1, 2, 1 and 4 s; the process is on CPU 3 for the
// first 3 s and on CPU 8, which the matrix lacks, afterwards.
//
//	CPU 3: 10, 20, unknown, 50: (10*1 + 20*2 + 50*4)/7, away 50
//	CPU 5: unknown, 4, 8, unknown: (4*2 + 8*1)/3
//	CPU 6: never known
func TestSumsOverStretchesThatOverlap(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	m := &series.Matrix{
		CPUs: []int{3, 5, 6}, Spans: []series.Span{span(0, 1), span(1, 3), span(3, 4), span(4, 8)},
		V: []float32{10, nan, nan, 20, 4, nan, nan, 8, nan, 50, nan, nan},
	}
	all, late := span(0, 8), span(3.5, 8) // late takes intervals from a second before on
	p := newPath([]series.Thread{lgwr(3, 3, 3, 8, 8, 8, 8, 8)}, all)
	s := sumMatrix(m, p, []series.Span{all, late})
	for _, tt := range []struct {
		name string
		got  map[int]float64
		want map[int]float64
	}{
		{"all", s.means(all), map[int]float64{3: 250.0 / 7, 5: 16.0 / 3, 6: math.NaN()}},
		{"all, away", s.awayMeans(all), map[int]float64{3: 50, 5: 16.0 / 3, 6: math.NaN()}},
		{"late", s.means(late), map[int]float64{3: 50, 5: 8, 6: math.NaN()}},
	} {
		for cpu, want := range tt.want {
			near(t, tt.name, tt.got[cpu], want, 1e-12)
		}
	}
}

// A CPU that interrupts reach only while the process is there has no dose at
// all: what is left over by rounding would give it a rank of its own.
func TestNoInterruptsWithoutTheProcessAreExactlyNone(t *testing.T) {
	t.Parallel()
	m := &series.Matrix{CPUs: []int{1, 2}}
	cpus := make([]int32, 300)
	for k := range 300 {
		cpus[k] = int32(1 + k%2)
		row := []float32{0, 0}
		row[k%2] = 0.1 + float32(k)/7
		from := float64(k) + 0.001*float64(k%3)
		m.Spans, m.V = append(m.Spans, span(from, float64(k)+0.9)), append(m.V, row...)
	}
	w := span(0, 300)
	s := sumMatrix(m, newPath([]series.Thread{lgwr(cpus...)}, w), []series.Span{w})
	for cpu, dose := range s.awayMeans(w) {
		if dose != 0 {
			t.Errorf("dose of CPU %d is %v, want 0", cpu, dose)
		}
	}
}
