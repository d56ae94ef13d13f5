package config

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Errors of values with units.
var (
	errDuration = errors.New("write a duration with its unit: 90s, 15m, 36h, 14d")
	errSize     = errors.New("write a size with its unit: 512KiB, 4MiB, 1GiB")
)

var (
	daysPattern = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)
	sizePattern = regexp.MustCompile(`^([0-9]{1,15})(B|KiB|MiB|GiB|TiB)$`)
)

// parseDuration reads durations as Go writes them, with days before them: a day
// is 24 hours.
func parseDuration(text string) (time.Duration, error) {
	var days time.Duration
	rest := text
	if m := daysPattern.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > int(math.MaxInt64/day) {
			return 0, errDuration
		}
		if days, rest = time.Duration(n)*day, m[2]; rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 && days > 0 || d > math.MaxInt64-days {
		return 0, errDuration
	}
	return days + d, nil
}

// parseSize reads a number of bytes. Units of a thousand are not taken: whoever
// writes MB may mean either.
func parseSize(text string) (Size, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, errSize
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := map[string]Size{"B": 1, "KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": 1 << 40}[m[2]]
	if err != nil || n > math.MaxInt64/int64(unit) {
		return 0, errSize
	}
	return Size(n) * unit, nil
}
