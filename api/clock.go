package api

import (
	"errors"
	"fmt"
	"math/bits"
	"sort"
	"time"

	"github.com/corewait/corewait/api/corewaitv1"
)

// Times that are believed: 200 years of CLOCK_BOOTTIME, and the years 1 to 9999.
const (
	maxBoottimeUS = 200 * 366 * 24 * 3600 * 1_000_000
	minUTCUS      = -62_135_596_800 * 1_000_000
	maxUTCUS      = 253_402_300_800*1_000_000 - 1
)

// StepUS is by how much two readings of a clock may disagree with CLOCK_BOOTTIME
// on the time that passed between them; over it the clock was stepped.
const StepUS = 100_000

// maxReadings bounds the readings of one batch, which covers some seconds.
const maxReadings = 10_000

// Clock says which UTC an instant of CLOCK_BOOTTIME was, as the node's clock told
// it. See corewaitv1.ClockReading.
type Clock struct{ readings []reading }

type reading struct{ boottime, utc int64 } // us

// NewClock takes the readings of a batch.
func NewClock(readings []*corewaitv1.ClockReading) (Clock, error) {
	if len(readings) == 0 {
		return Clock{}, errors.New("clock: no reading")
	}
	if len(readings) > maxReadings {
		return Clock{}, fmt.Errorf("clock: %d readings, at most %d are taken", len(readings), maxReadings)
	}
	c := Clock{readings: make([]reading, len(readings))}
	for i, r := range readings {
		c.readings[i] = reading{r.GetBoottimeUs(), r.GetUtcUs()}
		switch now := c.readings[i]; {
		case now.boottime < 0 || now.boottime > maxBoottimeUS:
			return Clock{}, fmt.Errorf("clock[%d]: boottime_us %d out of range", i, now.boottime)
		case now.utc < minUTCUS || now.utc > maxUTCUS:
			return Clock{}, fmt.Errorf("clock[%d]: utc_us %d out of range", i, now.utc)
		case i > 0 && now.boottime <= c.readings[i-1].boottime:
			return Clock{}, fmt.Errorf("clock[%d]: boottime_us %d is not after that of the reading before", i, now.boottime)
		}
	}
	return c, nil
}

// stepTo gives by how much the clock was stepped between a reading and the next
// one; 0 where they agree on the time that passed.
func (r reading) stepTo(next reading) int64 {
	off := (next.utc - r.utc) - (next.boottime - r.boottime)
	if off >= -StepUS && off <= StepUS {
		return 0
	}
	return off
}

// At gives the UTC of an instant of CLOCK_BOOTTIME in microseconds.
func (c Clock) At(boottimeUS int64) time.Time {
	next := sort.Search(len(c.readings), func(i int) bool { return c.readings[i].boottime > boottimeUS })
	if next == 0 {
		return utc(c.readings[0].utc - (c.readings[0].boottime - boottimeUS))
	}
	r := c.readings[next-1]
	since := boottimeUS - r.boottime
	if next == len(c.readings) || r.stepTo(c.readings[next]) != 0 {
		return utc(r.utc + since)
	}
	n := c.readings[next]
	passed := n.boottime - r.boottime
	return utc(r.utc + since + portion((n.utc-r.utc)-passed, since, passed))
}

// portion gives whole*part/of, rounded towards zero; 0 <= part <= of.
func portion(whole, part, of int64) int64 {
	negative := whole < 0
	if negative {
		whole = -whole
	}
	high, low := bits.Mul64(uint64(whole), uint64(part)) //nolint:gosec // neither is negative
	q, _ := bits.Div64(high, low, uint64(of))            //nolint:gosec // positive, and part <= of: the quotient is at most whole
	if negative {
		return -int64(q) //nolint:gosec // at most whole
	}
	return int64(q) //nolint:gosec // at most whole
}

func utc(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Step is a step of the node's clock.
type Step struct {
	BoottimeUS int64         // of the first reading after it
	By         time.Duration // negative: back
}

// Steps gives the steps between readings, in order. One over 292 years is told as
// such.
func (c Clock) Steps() []Step {
	var steps []Step
	for i := 1; i < len(c.readings); i++ {
		if by := c.readings[i-1].stepTo(c.readings[i]); by != 0 {
			const most = int64(1<<63-1) / 1000
			by = max(min(by, most), -most)
			steps = append(steps, Step{c.readings[i].boottime, time.Duration(by) * time.Microsecond})
		}
	}
	return steps
}

// FarthestFrom gives the greatest distance, in microseconds, between what the
// clock's readings say and another clock's word on the same instants.
func (c Clock) FarthestFrom(at func(boottimeUS int64) time.Time) time.Duration {
	var farthest time.Duration
	for _, r := range c.readings {
		farthest = max(farthest, utc(r.utc).Sub(at(r.boottime)).Abs())
	}
	return farthest
}
