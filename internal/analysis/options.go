package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/ingest/files"
)

// Options say what to analyse.
type Options struct {
	Paths        []string
	From, To     string // RFC 3339, or local with Timezone; "" none
	Timezone     string // of From and To where they carry none
	DBTimezone   string // of Oracle's times that carry none
	HostTimezone string // of host times that carry none
	Node         string
	Instance     string
	InstID       int    // negative: not chosen
	Watch        string // "lgwr" (default) or "lms"
	Params       correlate.Params
	Limits       files.Limits
	Progress     files.Progress // may be nil
}

// ErrUsage marks errors of options: exit status 2.
var ErrUsage = errors.New("wrong usage")

// ErrInput marks input that cannot be used: exit status 3.
var ErrInput = errors.New("input unusable")

// options are Options that passed Validate.
type options struct {
	Options
	from, to time.Time
	db, host *time.Location
	watch    domain.Watch
}

// validateFiles is validate for what reads files.
func (o Options) validateFiles() (*options, error) {
	if len(o.Paths) == 0 {
		return nil, usage("no files: name files or folders")
	}
	return o.validate()
}

// validate checks the options and reads times and zones.
func (o Options) validate() (*options, error) {
	v := &options{Options: o}
	if o.Params.Threshold <= 0 {
		return nil, usage("--threshold %v: must be over zero, as 100ms", o.Params.Threshold)
	}
	if !(o.Params.HeavyPerSecond > 0) || math.IsInf(o.Params.HeavyPerSecond, 0) {
		return nil, usage("--heavy-per-second %v: must be a number over zero", o.Params.HeavyPerSecond)
	}
	var known bool
	if v.watch, known = domain.WatchNamed(cmp.Or(o.Watch, "lgwr")); !known {
		return nil, usage("--watch %q: lgwr or lms", o.Watch)
	}
	var err error
	if v.db, err = zone("--db-timezone", o.DBTimezone); err != nil {
		return nil, err
	}
	if v.host, err = zone("--host-timezone", o.HostTimezone); err != nil {
		return nil, err
	}
	local, err := zone("--timezone", o.Timezone)
	if err != nil {
		return nil, err
	}
	if v.from, err = instant("--from", o.From, local); err != nil {
		return nil, err
	}
	if v.to, err = instant("--to", o.To, local); err != nil {
		return nil, err
	}
	if !v.from.IsZero() && !v.to.IsZero() && !v.from.Before(v.to) {
		return nil, usage("--from %s is not before --to %s", o.From, o.To)
	}
	return v, nil
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

func zone(flag, name string) (*time.Location, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no flag, no zone: a state of its own
	}
	z, err := files.ParseZone(name)
	if err != nil {
		return nil, usage("%s: %v", flag, err)
	}
	return z, nil
}

// instant reads a time of a flag; the zero time where there is none.
func instant(flag, s string, local *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := readInstant(flag, s, local)
	if err == nil && (t.Year() < firstYear || t.Year() > lastYear) {
		return time.Time{}, usage("%s %s: out of range: years from %d to %d", flag, s, firstYear, lastYear)
	}
	return t, err
}

// The years, in UTC, that a window may lie in.
const (
	firstYear = 1970
	lastYear  = 2200
)

func readInstant(flag, s string, local *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if _, err := time.Parse(layout, s); err != nil {
			continue
		}
		if local == nil {
			return time.Time{}, usage("%s %s carries no zone: write 2026-09-15T09:33:00+09:00, or name the zone with --timezone", flag, s)
		}
		t, err := time.ParseInLocation(layout, s, local)
		return t.UTC(), err
	}
	return time.Time{}, usage("%s %q is no time: write 2026-09-15T09:33:00+09:00", flag, s)
}

// Instant reads a time that a flag gives: RFC 3339, or local in the zone of that
// name; the zero time where s is empty. Its error wraps ErrUsage.
func Instant(flag, s, timezone string) (time.Time, error) {
	local, err := zone("--timezone", timezone)
	if err != nil {
		return time.Time{}, err
	}
	return instant(flag, s, local)
}
