package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// BlockScheme says how the blocks of a bootstrap are drawn.
type BlockScheme uint8

const (
	// MovingBlocks have one length (Kuensch, Annals of Statistics 17, 1989;
	// circular, so that the ends count as often as the middle: Politis and
	// Romano 1992). Of the two schemes it covers slightly better.
	MovingBlocks BlockScheme = iota
	// StationaryBlocks have geometric lengths around the mean (Politis and
	// Romano, The stationary bootstrap, JASA 89, 1994): the result depends less
	// on the length chosen.
	StationaryBlocks
)

// Bootstrap describes a block bootstrap of a series of Items consecutive
// parts (say, the tallies of five-minute blocks). Items further apart than
// Block should be nearly independent; a Block of 1 takes the items for
// independent.
type Bootstrap struct {
	Items  int
	Block  int // length, or mean length, of a block in items
	Rounds int
	Scheme BlockScheme
}

// undefinedShare is the share of rounds whose statistic may be NaN (say, no
// exposed time drawn) before the interval is given up.
const undefinedShare = 0.05

// Interval is the 95 % percentile interval of a statistic, widened for the
// number of blocks: statistic is called once a round with the indices of the
// items drawn, a slice that is reused and must not be kept. Rounds that give
// NaN are left out; beyond 5 % of them the interval is NaN. It is NaN as well
// under two blocks, which say nothing of how blocks vary. Ends may be infinite.
func (b Bootstrap) Interval(rng *rand.Rand, statistic func(index []int) float64) (low, high float64, err error) {
	if b.Items < 1 || b.Block < 1 || b.Rounds < 1 {
		return math.NaN(), math.NaN(), errors.New("block bootstrap: items, block and rounds must be positive")
	}
	index := make([]int, b.Items)
	values := make([]float64, 0, b.Rounds)
	for range b.Rounds {
		b.draw(rng, index)
		if v := statistic(index); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if float64(b.Rounds-len(values)) > undefinedShare*float64(b.Rounds) {
		return math.NaN(), math.NaN(), nil
	}
	slices.Sort(values)
	tail := b.tail()
	return Quantile(values, tail), Quantile(values, 1-tail), nil
}

// tail is the share of rounds to cut off at either end. Percentiles at alpha/2
// are too narrow for few blocks; Hesterberg's expanded percentile interval
// (What teachers should know about the bootstrap, The American Statistician
// 69, 2015, section 5) cuts at P(Z >= t sqrt(n/(n-1))) instead, t Student's
// quantile with n-1 degrees of freedom, here of n blocks.
func (b Bootstrap) tail() float64 {
	n := float64(b.Items) / float64(b.Block)
	if n < 2 {
		return math.NaN()
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - alpha/2)
	return normalTail(student * math.Sqrt(n/(n-1)))
}

// draw fills index with whole blocks, the last one cut.
func (b Bootstrap) draw(rng *rand.Rand, index []int) {
	if b.Block == 1 { // the same draws as below, in a shorter loop
		for i := range index {
			index[i] = rng.IntN(b.Items)
		}
		return
	}
	for filled := 0; filled < len(index); {
		at := rng.IntN(b.Items)
		for range min(b.length(rng), len(index)-filled) {
			index[filled] = at
			filled++
			at = (at + 1) % b.Items
		}
	}
}

func (b Bootstrap) length(rng *rand.Rand) int {
	if b.Scheme == MovingBlocks || b.Block == 1 {
		return b.Block
	}
	// A geometric length with mean Block, by inversion.
	u := 1 - rng.Float64() // in (0, 1]
	length := 1 + math.Floor(math.Log(u)/math.Log1p(-1/float64(b.Block)))
	return int(min(length, float64(b.Items)))
}
