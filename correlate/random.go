package correlate

import (
	"math/bits"
	"math/rand/v2"
)

// labelSource draws the same numbers as rand.Rand would from its generator.
// Labels are drawn a hundred million times: calls through an interface, and a
// floating-point division each, would make up a third of the whole analysis.
type labelSource struct{ generator rand.PCG }

// newLabelSource begins the stream that newRand would.
func newLabelSource(seed, stream uint64) *labelSource {
	return &labelSource{generator: *rand.NewPCG(seed, stream)}
}

// below gives a number from 0 up to n, without n, as rand.Rand.Uint64N: by
// multiplication and rejection (Lemire 2019, ACM TOMACS 29:1).
func (s *labelSource) below(n uint64) uint64 {
	if n&(n-1) == 0 { // a power of two: the lowest bits
		return s.generator.Uint64() & (n - 1)
	}
	high, low := bits.Mul64(s.generator.Uint64(), n)
	if low < n {
		for least := -n % n; low < least; {
			high, low = bits.Mul64(s.generator.Uint64(), n)
		}
	}
	return high
}

// floatBits is how many bits a number of rand.Rand.Float64 has: it is a
// multiple of 2^-53.
const floatBits = 53

// threshold gives what hit compares with.
func threshold(probability float64) uint64 {
	// Exact: a power of two only moves the exponent. Numbers under a fraction
	// are those under the next whole number.
	t := probability * (1 << floatBits)
	whole := uint64(t)
	if float64(whole) < t {
		whole++
	}
	return whole
}

// hit gives 1 where rand.Rand.Float64 would be under the probability of the
// threshold, else 0. A branch could not be foreseen by the processor.
func (s *labelSource) hit(threshold uint64) uint64 {
	return (s.generator.Uint64()&(1<<floatBits-1) - threshold) >> 63
}
