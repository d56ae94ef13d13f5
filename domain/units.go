package domain

import "math"

// What is kept of a share: hundredths of a percent for a CPU or a thread, as
// mpstat and pidstat print them; millionths for a whole host.
const (
	basisPoints = 10_000
	millionths  = 1_000_000
)

// RoundShare rounds a CPU's or a thread's share of time to hundredths of a
// percent; NaN where it is unknown or over 327.67 %.
func RoundShare(share float64) float64 {
	if v := math.Round(share * basisPoints); math.Abs(v) <= math.MaxInt16 {
		return v / basisPoints
	}
	return math.NaN()
}

// RoundHostShare rounds a host's share of time to millionths.
func RoundHostShare(share float64) float64 { return RoundTo(share, millionths) }

// RoundTo rounds to the given fractions of one: RoundTo(x, 1000) keeps
// thousandths. NaN stays NaN.
func RoundTo(x, fractions float64) float64 { return math.Round(x*fractions) / fractions }
