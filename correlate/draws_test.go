package correlate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewait/corewait/correlate/series"
)

// oneStratum gives a path of stays of a second, on places 0 and 1 by turns, all
// in one stratum, and which of them are exposed: those on place 1.
func oneStratum(visits int) (p *path, st *strata, exposed []float64) {
	cpus := make([]int32, visits)
	exposed = make([]float64, visits)
	for i := range cpus {
		cpus[i], exposed[i] = int32(i%2), float64(i%2)
	}
	p = newPath([]series.Thread{lgwr(cpus...)}, span(0, 1000))
	prm := DefaultParams()
	prm.Block = 1000e9
	return p, newStrata(p, noLoad(), span(0, float64(2*visits)), prm), exposed
}

// By hand: each visit is exposed with a chance of a half. Three stalls in three
// visits are all exposed in 1 of 8 draws, in one visit in 1 of 2. Of two
// assignments to two visits of their own, one or both are all exposed in
// 1 - (3/4)^2 = 7/16.
func TestPValuesOfTheMostExposedStallsByHand(t *testing.T) {
	t.Parallel()
	const rounds = 50_000
	_, st, exposed := oneStratum(20)
	if len(st.list) != 1 {
		t.Fatalf("%d strata, want 1", len(st.list))
	}
	for _, tt := range []struct {
		name       string
		candidates [][]int32
		best       int
		want       float64
	}{
		{"in three visits", [][]int32{{1, 3, 5}}, 0, 1.0 / 8},
		{"in one visit", [][]int32{{1, 1, 1}}, 0, 1.0 / 2},
		{"beside one that lies in no visit", [][]int32{{1, -1, 3}}, 0, 1.0 / 4},
		{"not exposed", [][]int32{{2, 4}}, 0, 1},
		{"in the better of two assignments", [][]int32{{2, 4}, {7, 9}}, 1, 7.0 / 16},
		{"in the first of two equal ones", [][]int32{{1, 3}, {7, 9}}, 0, 7.0 / 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			best, p := maximum(tt.candidates, exposed, st, []float64{0.5}, newLabelSource(2026, 1), rounds)
			if best != tt.best {
				t.Errorf("assignment %d, want %d", best, tt.best)
			}
			// Five standard deviations of a share of the draws, and the one that is added.
			near(t, "p", p, tt.want, 5*math.Sqrt(tt.want*(1-tt.want)/rounds)+1.0/rounds)
		})
	}
	if _, p := maximum([][]int32{{-1}}, exposed, st, []float64{0.5}, newLabelSource(2026, 1), rounds); !math.IsNaN(p) {
		t.Errorf("p without a placed stall is %v", p)
	}
}

// A draw keeps the stalls of a visit together and has as many as were seen; so
// many are asked for as are made, whatever number is made side by side.
func TestPlacesAreDrawnForWholeVisits(t *testing.T) {
	t.Parallel()
	p, st, _ := oneStratum(20)
	for _, rounds := range []int{1, sideBySide, sideBySide + 3} {
		seen := map[int32]int{}
		done := 0
		newExchange(p, st, []int32{4, 4, 4, 9, -1}).eachDraw(newLabelSource(1, 1), rounds, func(onPlace []int32) {
			done++
			if len(onPlace) != 2 || onPlace[0]+onPlace[1] != 4 {
				t.Fatalf("stalls by place = %v", onPlace)
			}
			seen[onPlace[0]]++
		})
		if done != rounds {
			t.Errorf("%d draws, want %d", done, rounds)
		}
		if seen[2] != 0 {
			t.Errorf("%d draws part the stalls of a visit", seen[2])
		}
		if rounds > 1 {
			// All four on one place or the other, or three and one: a quarter each.
			for _, n := range []int32{0, 1, 3, 4} {
				near(t, "share of draws", float64(seen[n])/float64(rounds), 0.25, 5*math.Sqrt(0.25*0.75/float64(rounds)))
			}
		}
	}
}

// A path of very many places is drawn fewer times side by side; the draws are
// as many.
func TestAPathOfManyPlacesIsDrawnAsOften(t *testing.T) {
	t.Parallel()
	p, st, _ := oneStratum(20)
	p.places = append(p.places, make([][]int32, 50_000)...)
	var got []int32
	newExchange(p, st, []int32{4}).eachDraw(newLabelSource(1, 1), 5, func(onPlace []int32) {
		got = append(got, onPlace[0]+onPlace[1])
	})
	if d := cmp.Diff([]int32{1, 1, 1, 1, 1}, got); d != "" {
		t.Errorf("stalls drawn differ (-want +got):\n%s", d)
	}
}
