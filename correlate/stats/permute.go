package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Permutation shuffles the labels of items within strata: items of one
// stratum (say, visits within one load band and five-minute block) are
// exchangeable if the labels have nothing to do with the outcome.
//
// It may be used by one goroutine at a time; make one for each.
type Permutation struct {
	items  int
	order  []int32 // items by stratum, those that are read first
	groups []group
}

// group is one stratum in order: the labels of its first read items are drawn
// anew each round, from all of its items.
type group struct{ from, read, to int32 }

// NewPermutation prepares shuffling within strata; strata[i] is the stratum of
// item i, any number. read[i] says whether the statistic looks at the label of
// item i; nil stands for all. Where only few items have an outcome (visits
// with a stall), a round costs as many draws as there are such items, not as
// there are items.
func NewPermutation(strata []int32, read []bool) (*Permutation, error) {
	if read != nil && len(read) != len(strata) {
		return nil, fmt.Errorf("permutation: %d items but %d read flags", len(strata), len(read))
	}
	if len(strata) > math.MaxInt32 {
		return nil, fmt.Errorf("permutation: %d items are too many", len(strata))
	}
	p := &Permutation{items: len(strata), order: make([]int32, len(strata))}
	for i := range p.order {
		p.order[i] = int32(i)
	}
	isRead := func(int32) bool { return true }
	if read != nil {
		isRead = func(i int32) bool { return read[i] }
	}
	slices.SortFunc(p.order, func(a, b int32) int {
		if c := cmp.Compare(strata[a], strata[b]); c != 0 {
			return c
		}
		if isRead(a) != isRead(b) {
			if isRead(a) {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	for from := 0; from < len(p.order); {
		to, reads := from, from
		for to < len(p.order) && strata[p.order[to]] == strata[p.order[from]] {
			if isRead(p.order[to]) {
				reads++
			}
			to++
		}
		if to-from > 1 && reads > from {
			p.groups = append(p.groups, group{int32(from), int32(reads), int32(to)})
		}
		from = to
	}
	return p, nil
}

// Movable counts the items that are read and lie in a stratum with at least
// two different labels: only these can change. With none, every permutation
// equals what was seen and no p-value can be small.
func (p *Permutation) Movable(labels []int32) int {
	if len(labels) != p.items {
		return 0
	}
	movable := 0
	for _, g := range p.groups {
		for _, i := range p.order[g.from:g.to] {
			if labels[i] != labels[p.order[g.from]] {
				movable += int(g.read - g.from)
				break
			}
		}
	}
	return movable
}

// Shuffle permutes labels in place within strata, so that the labels of the
// items that are read are a uniform draw (a partial Fisher-Yates shuffle).
func (p *Permutation) Shuffle(rng *rand.Rand, labels []int32) {
	for _, g := range p.groups {
		last := g.to - 1 // nothing is left to draw for the last item
		for i := g.from; i < min(g.read, last); i++ {
			j := i + rng.Int32N(g.to-i)
			a, b := p.order[i], p.order[j]
			labels[a], labels[b] = labels[b], labels[a]
		}
	}
}

// MaximumStatistic is the result of a permutation test of several statistics
// at once; slices are by statistic.
type MaximumStatistic struct {
	Observed []float64
	P        []float64 // each statistic by itself
	FamilyP  []float64 // against the largest of all (Westfall and Young)
	Rounds   int
}

// tieTolerance takes values for equal that differ by rounding only, relative
// to their size: a sum in another order must not turn a tie into "smaller".
const tieTolerance = 1e-10

// Test runs the permutation test, large values being evidence against the
// null. statistic writes one value per column into out, which is all zero when
// it is called; it must not keep or change labels. The labels given are not
// changed.
//
// P is (1 + #{T* >= T}) / (1 + rounds), which is valid for any number of
// rounds (Phipson and Smyth, 2010). FamilyP compares each statistic with the
// largest of each round, which holds the chance of any false alarm at the
// level whatever the dependence between columns (Westfall and Young,
// Resampling-Based Multiple Testing, 1993, single step); columns should be on
// a common scale, such as standard scores. A NaN of a round counts as -Inf, an
// observed NaN stays NaN.
func (p *Permutation) Test(
	rng *rand.Rand, rounds int, labels []int32, columns int, statistic func(labels []int32, out []float64),
) (MaximumStatistic, error) {
	if len(labels) != p.items {
		return MaximumStatistic{}, fmt.Errorf("permutation: %d items but %d labels", p.items, len(labels))
	}
	if rounds < 1 || columns < 1 {
		return MaximumStatistic{}, errors.New("permutation: rounds and columns must be positive")
	}
	shuffled := slices.Clone(labels)
	observed, out := make([]float64, columns), make([]float64, columns)
	statistic(shuffled, observed)
	bounds := make([]float64, columns)
	for c, v := range observed {
		bounds[c] = v - tieTolerance*math.Abs(v)
		if math.IsInf(v, 0) {
			bounds[c] = v
		}
	}
	alone, family := make([]int, columns), make([]int, columns)
	for range rounds {
		p.Shuffle(rng, shuffled)
		clear(out)
		statistic(shuffled, out)
		largest := math.Inf(-1)
		for c, v := range out {
			if v >= bounds[c] {
				alone[c]++
			}
			if v > largest {
				largest = v
			}
		}
		for c, bound := range bounds {
			if largest >= bound {
				family[c]++
			}
		}
	}
	return MaximumStatistic{
		Observed: observed, Rounds: rounds,
		P: permutationP(observed, alone, rounds), FamilyP: permutationP(observed, family, rounds),
	}, nil
}

func permutationP(observed []float64, reached []int, rounds int) []float64 {
	p := make([]float64, len(observed))
	for c, v := range observed {
		p[c] = float64(1+reached[c]) / float64(1+rounds)
		if math.IsNaN(v) {
			p[c] = math.NaN()
		}
	}
	return p
}
