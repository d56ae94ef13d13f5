package domain

import (
	"math"
	"time"
)

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

// RoundSampled gives what is kept of the instant at which an agent read a thread's
// placement, and of that at which the sample's interval begins: whole milliseconds.
// It reads every 50, and stalls are of 100 or more; by how many microseconds a
// timer was late is noise, and most of what a day of placement would take (ADR 16).
// What a file prints finer is kept.
func RoundSampled(at time.Time) time.Time { return at.Truncate(time.Millisecond) }

// RoundTo rounds to the given fractions of one: RoundTo(x, 1000) keeps
// thousandths. NaN stays NaN.
func RoundTo(x, fractions float64) float64 { return math.Round(x*fractions) / fractions }
