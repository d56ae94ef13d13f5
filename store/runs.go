package store

import (
	"math"
	"slices"
	"time"
)

// A run is a row that holds several readings of one source in a row: what the
// placement of a thread, a histogram and a set of counters are stored as. It is
// bounded in time, so that a key range finds all rows that reach into a window,
// and in readings. Rows of interrupts are runs of intervals, with bounds of their
// own (runs_interrupts.go).
const (
	longestRun = 60 * 1_000_000 // us between the first reading and the last
	mostInRun  = 1_200          // readings: 20 a second for a minute
)

// Unknown elements of columns, NULL in the tables. No value that is stored has
// these: what would is unknown too.
const (
	null16 int16 = math.MinInt16
	null32 int32 = math.MinInt32
	null64 int64 = math.MinInt64
)

// micros gives an instant as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// instant gives the time of an instant.
func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// perSample gives the column of a run whose samples have these values: nil (NULL)
// where all are unknown, empty where all are zero.
func perSample[T int16 | int32 | int64](values []T, null T) []T {
	unknown, zero := true, true
	for _, v := range values {
		unknown = unknown && v == null
		zero = zero && v == 0
	}
	switch {
	case unknown:
		return nil
	case zero:
		return []T{}
	}
	return values
}

// sampleOf gives the value of a sample from a column that perSample made.
func sampleOf[T int16 | int32 | int64](column []T, i int, null T) T {
	switch {
	case column == nil:
		return null
	case len(column) == 0:
		return 0
	}
	return column[i]
}

// delta gives a count or a number of microseconds that a column of int4 takes;
// unknown where it is negative or too large.
func delta(v int64) int32 {
	if v < 0 || v > math.MaxInt32 {
		return null32
	}
	return int32(v)
}

// orNegative gives a value of which negative is unknown.
func orNegative(v int32) int64 {
	if v == null32 {
		return -1
	}
	return int64(v)
}

// firstOfEach keeps the first of elements in order that are the same reading.
func firstOfEach[T any](in []T, same func(a, b *T) bool) []T {
	n := 0
	for i := range in {
		if n == 0 || !same(&in[n-1], &in[i]) {
			in[n] = in[i]
			n++
		}
	}
	return slices.Delete(in, n, len(in))
}
