package series

import "math"

// plausiblePerS is the highest rate of one line on one CPU that is believed of
// a counter that rose.
const plausiblePerS = 2_000_000

// wrapPerS is the highest rate that is believed of a counter that fell and whose
// usual rate is not known: a wrap of 32 bits lies below it, a reset above.
const wrapPerS = 300_000

// wrapTimesUsual is how many times its usual rate a counter that fell may have
// had for a wrap to be believed.
const wrapTimesUsual = 20

// usualAfter is from how many intervals on a usual rate is known; usualOver is
// over about how many of the latest it is taken.
const (
	usualAfter = 3
	usualOver  = 8
)

// resetShare: where at least this share of the counters that moved fell at
// once, they were reset (reboot, driver reload) rather than wrapped.
const resetShare = 0.5

// severalFell: so many counters do not wrap in the same interval. It tells a
// reset in a log whose readings lie so far apart that a wrap is plausible.
const severalFell = 3

// usualRate is the rate that a line's busiest CPU had of late.
type usualRate struct {
	perS      float64
	intervals int
}

func (u *usualRate) follow(perS float64) {
	u.intervals = min(u.intervals+1, usualOver)
	u.perS += (perS - u.perS) / float64(u.intervals)
}

// gain gives now - was of a counter that is 32 bits wide in the kernel and wraps
// (kernel/irq/proc.c prints %10u); ok is false where neither a gain nor a wrap
// is plausible, or where several wraps are possible. Sums over 32 bits never
// wrap here.
func (u usualRate) gain(was, now uint64, sec float64) (int64, bool) {
	known := u.intervals >= usualAfter
	if known && u.perS*sec > 1<<32 {
		return 0, false
	}
	if now >= was {
		return bounded(now-was, plausiblePerS*max(sec, 1))
	}
	if was >= 1<<32 {
		return 0, false
	}
	most := float64(wrapPerS)
	if known {
		most = wrapTimesUsual * u.perS
	}
	return bounded(now+1<<32-was, most*max(sec, 1))
}

// bounded gives a gain that is no more than believed.
func bounded(gain uint64, believed float64) (int64, bool) {
	if float64(gain) > min(believed, math.MaxInt64/2) {
		return 0, false
	}
	return int64(gain), true //nolint:gosec // bounded above
}

// falls counts the counters that moved between two readings, and those that
// fell.
type falls struct{ moved, fell, implausible int }

func (f *falls) note(was, now uint64, sec float64, usual usualRate) {
	if now == was {
		return
	}
	f.moved++
	if now > was {
		return
	}
	f.fell++
	if _, ok := usual.gain(was, now, sec); !ok {
		f.implausible++
	}
}

// areReset says whether the counters started anew: many of those that moved
// fell, by more than a wrap explains or too many at once for wraps.
func (f *falls) areReset() bool {
	many := resetShare * float64(f.moved)
	return f.implausible > 0 && float64(f.implausible) >= many || f.fell >= severalFell && float64(f.fell) >= many
}

// wentOn says whether most counters that moved rose.
func (f *falls) wentOn() bool { return f.moved > 2*f.fell }
