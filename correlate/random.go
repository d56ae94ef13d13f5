package correlate

import "math/rand/v2"

// labelSource gives the random numbers of the permutations, SplitMix64 (Steele,
// Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
// Labels are drawn tens of millions of times: it is the quickest generator that
// passes the usual batteries of tests, and is compiled into the loops that use
// it, while calls of math/rand/v2 would cost more than all else in them.
type labelSource struct{ state uint64 }

// newLabelSource begins a stream of its own.
func newLabelSource(seed, stream uint64) *labelSource {
	return &labelSource{state: rand.NewPCG(seed, stream).Uint64()}
}

func (s *labelSource) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// pick fills drawn, of even length, with labels of a list, each place of which
// is as likely as any other. Half a number of 64 bits decides each: the chances
// of places differ by the list's length in 2^32 at most, which thousands of
// draws from a list of under a million cannot tell from none.
func (s *labelSource) pick(labels, drawn []int32) {
	const half = 32
	n := uint64(len(labels))
	for i := 0; i+1 < len(drawn); i += 2 {
		x := s.next()
		drawn[i] = labels[x>>half*n>>half]
		drawn[i+1] = labels[x&(1<<half-1)*n>>half]
	}
}

// lanes is how many draws hits makes at a time: the bits of a word.
const lanes = 64

// chanceBits is how many bits a probability has: those of a float64's fraction.
const chanceBits = 53

// chance gives a probability as hits takes it: in units of 2^-53, rounded up.
func chance(probability float64) uint64 {
	// Exact: a power of two only moves the exponent. Numbers under a fraction
	// are those under the next whole number.
	t := probability * (1 << chanceBits)
	whole := uint64(t)
	if float64(whole) < t {
		whole++
	}
	return whole
}

// hits makes 64 draws at once, each a hit with the chance given, and gives those
// that hit as bits. In each draw a random number is compared with the chance,
// from the highest bit on: where the two differ for the first time, the draw is
// decided. Half of the draws are decided by each bit, so that all are after
// eight or so; most of the numbers' bits are never needed.
func (s *labelSource) hits(chance uint64) uint64 {
	if chance >= 1<<chanceBits {
		return 1<<lanes - 1
	}
	var hit uint64
	open := uint64(1<<lanes - 1)
	for bit := chanceBits - 1; bit >= 0 && open != 0; bit-- {
		random := s.next()
		if chance>>bit&1 == 1 {
			hit |= open &^ random // a 0 under the chance's 1: less
			open &= random
		} else {
			open &^= random // a 1 over the chance's 0: more
		}
	}
	return hit
}

// tally counts in 64 draws at once: bit k of digit n is the binary digit n of
// what was counted in draw k. Adding a stall to all draws then takes a few
// operations on words, as adding by hand does: digit by digit, with a carry.
type tally struct{ digits [32]uint64 }

// add counts a stall in those draws whose bit is set.
func (t *tally) add(carry uint64) {
	for n := 0; n < len(t.digits) && carry != 0; n++ {
		t.digits[n], carry = t.digits[n]^carry, t.digits[n]&carry
	}
}

// count gives what was counted in one draw.
func (t *tally) count(draw int) int {
	sum := 0
	for n, digit := range t.digits {
		sum += int(digit>>draw&1) << n
	}
	return sum
}
