package collect

import (
	_ "embed" // the script's text
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed collect.sh
var script string

// Defaults of both scripts.
const (
	DefaultDuration = 15 * time.Minute
	DefaultInterval = 5 * time.Second
)

// Bounds of both scripts: a week, and an hour between readings.
const (
	longestDuration = 7 * 24 * time.Hour
	longestInterval = time.Hour
)

// ScriptOptions are the values that a shell script takes where its own flags
// do not say otherwise. Zero values are the defaults.
type ScriptOptions struct {
	Duration time.Duration // how long it gathers; whole seconds
	Interval time.Duration // between readings of interrupts and CPU time; whole seconds
	Pattern  string        // extended regular expression of the processes to follow; "" is LGWR, LGnn and LMS
}

// Script gives the POSIX shell script that gathers on a node what analyze
// reads, and leaves it in one archive. It fails where an option is out of range.
func Script(o ScriptOptions) (string, error) {
	duration, err := seconds("duration", o.Duration, DefaultDuration, longestDuration)
	if err != nil {
		return "", err
	}
	interval, err := seconds("interval", o.Interval, DefaultInterval, longestInterval)
	if err != nil {
		return "", err
	}
	if interval > duration {
		return "", errors.New("interval: longer than the duration")
	}
	text := replaceLine(script, "duration=", strconv.Itoa(duration))
	text = replaceLine(text, "interval=", strconv.Itoa(interval))
	if o.Pattern == "" {
		return text, nil
	}
	if strings.ContainsAny(o.Pattern, "'\x00\r\n") {
		return "", errors.New("pattern: quotes and line ends are not allowed")
	}
	return replaceLine(text, "pattern=", "'"+o.Pattern+"'"), nil
}

// seconds gives a duration in whole seconds.
func seconds(name string, value, byDefault, longest time.Duration) (int, error) {
	if value == 0 {
		value = byDefault
	}
	if value < time.Second || value > longest || value%time.Second != 0 {
		return 0, fmt.Errorf("%s: %v: whole seconds from 1s to %v", name, value, longest)
	}
	return int(value / time.Second), nil
}

// replaceLine puts a value behind the first line that begins with assign.
func replaceLine(text, assign, value string) string {
	before, rest, found := strings.Cut(text, "\n"+assign)
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\n" + assign + value + "\n" + after
}
