package correlate

import "math"

// maximum gives the candidate assignment of stalls to visits with the most
// exposed stalls beyond expectation, and the p-value of that greatest excess.
// Labels of whole visits are drawn within their stratum in proportion to the
// time spent, so that a long stay counts for what it is; all stalls of a visit
// share its label. exposed, by visit, is 0 or 1; share is its mean, by stratum:
// it describes wholly what is drawn. p is NaN where no stall lies in a visit.
func maximum(candidates [][]int32, exposed []float64, st *strata, share []float64, source *labelSource, rounds int) (best int, p float64) {
	d := newDraws(candidates, st, share)
	if len(d.visits) == 0 {
		return 0, math.NaN()
	}
	best, seen := d.greatestSeen(exposed)
	atLeast := 0
	for done := 0; done < rounds; done += lanes {
		greatest := d.greatestDrawn(source)
		for _, excess := range greatest[:min(lanes, rounds-done)] {
			if excess >= seen-roundingError {
				atLeast++
			}
		}
	}
	return best, float64(1+atLeast) / float64(1+rounds)
}

// roundingError: sums that differ by less are taken as equal.
const roundingError = 1e-9

// draws holds the visits that any candidate puts a stall in.
type draws struct {
	visits []int32
	chance []uint64  // by position in visits: of being exposed
	hits   []uint64  // by position in visits: exposed or not, in 64 draws
	index  [][]int32 // by candidate: the position in visits of each stall's
	expect []float64 // by candidate: exposed stalls
}

func newDraws(candidates [][]int32, st *strata, share []float64) *draws {
	d := &draws{index: make([][]int32, len(candidates)), expect: make([]float64, len(candidates))}
	position := make([]int32, len(st.of)) // 1 more than that in visits
	for _, c := range candidates {
		for _, v := range c {
			if v >= 0 {
				position[v] = 1
			}
		}
	}
	for v, taken := range position {
		if taken > 0 {
			d.visits = append(d.visits, int32(v))
			d.chance = append(d.chance, chance(share[st.of[v]]))
			position[v] = int32(len(d.visits)) //nolint:gosec // as above
		}
	}
	for k, c := range candidates {
		for _, v := range c {
			if v >= 0 {
				d.index[k] = append(d.index[k], position[v]-1)
				d.expect[k] += share[st.of[v]]
			}
		}
	}
	d.hits = make([]uint64, len(d.visits))
	return d
}

// greatestSeen gives the candidate with the greatest excess of exposed stalls;
// the first of equals.
func (d *draws) greatestSeen(exposed []float64) (candidate int, excess float64) {
	excess = math.Inf(-1)
	for k, index := range d.index {
		sum := -d.expect[k]
		for _, i := range index {
			sum += exposed[d.visits[i]]
		}
		if sum > excess+roundingError {
			candidate, excess = k, sum
		}
	}
	return candidate, excess
}

// greatestDrawn draws the visits' labels 64 times and gives the greatest excess
// over the candidates of each draw.
func (d *draws) greatestDrawn(source *labelSource) [lanes]float64 {
	for i, t := range d.chance {
		d.hits[i] = source.hits(t)
	}
	var greatest [lanes]float64
	for k, index := range d.index {
		var exposed tally
		for _, i := range index {
			exposed.add(d.hits[i])
		}
		for draw := range greatest {
			excess := float64(exposed.count(draw)) - d.expect[k]
			if k == 0 || excess > greatest[draw] {
				greatest[draw] = excess
			}
		}
	}
	return greatest
}

// exchange draws places for the visits that hold stalls: each may be exchanged
// with those of its stratum.
type exchange struct {
	places int
	pools  []pool
}

// pool is a stratum that holds stalls.
type pool struct {
	places []int32 // of its visits, once for each of their samples: a draw from them goes by time
	stalls []int32 // of each visit that holds any
}

// newExchange takes the visit of each stall; what lies in none, or in no
// stratum, takes no part.
func newExchange(p *path, st *strata, visitOfStall []int32) *exchange {
	x := &exchange{places: len(p.places)}
	stalls := make([]int32, len(p.visits))
	for _, v := range visitOfStall {
		if v >= 0 {
			stalls[v]++
		}
	}
	for k := range st.list {
		var held []int32
		for _, v := range st.list[k].visits {
			if stalls[v] > 0 {
				held = append(held, stalls[v])
			}
		}
		if len(held) > 0 {
			x.pools = append(x.pools, pool{st.list[k].placesBySample(p), held})
		}
	}
	return x
}

// sideBySide is the most draws that are made side by side: beyond that they
// would no longer fit into a processor's nearest caches. It is even, as pick wants.
const sideBySide = 256

// drawSize bounds the counts of draws made side by side, for paths of many places.
const drawSize = 1 << 16

// eachDraw draws places anew, as many rounds as asked, and calls use with the
// stalls on each place; the slice is reused. A pool serves many draws at a time,
// while its places are at hand.
func (x *exchange) eachDraw(source *labelSource, rounds int, use func(onPlace []int32)) {
	at := min(sideBySide, max(2, drawSize/max(1, x.places)&^1))
	counts, drawn := make([]int32, at*x.places), make([]int32, at)
	for done := 0; done < rounds; done += at {
		clear(counts)
		for k := range x.pools {
			for _, stalls := range x.pools[k].stalls {
				source.pick(x.pools[k].places, drawn)
				for draw, place := range drawn {
					counts[draw*x.places+int(place)] += stalls
				}
			}
		}
		for draw := range min(at, rounds-done) {
			use(counts[draw*x.places : (draw+1)*x.places])
		}
	}
}
