package files

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
)

// Zones says which zone is taken for times of one node that carry none.
type Zones struct {
	DB   *time.Location // for times that Oracle stamped; nil is UTC
	Host *time.Location // for times that the host stamped; nil is UTC
	// Assumed is a file whose times carry no zone and that nothing tells of: they are
	// read as UTC for want of better. "" where there is none.
	Assumed string

	// Zones that the node's files carry, for files that no flag speaks for:
	// where they differ, the one nearest in time is taken.
	db, host []carriedZone
}

// carriedZone is the zone that the times of one file carry.
type carriedZone struct {
	zone  *time.Location
	first time.Time // of the file, an instant; zero unknown
	name  string    // of the file
}

// offset gives the seconds east of UTC at the file's first time.
func (c carriedZone) offset() int {
	_, offset := c.first.In(c.zone).Zone()
	return offset
}

// The names of the flags, as Timezone.Source and warnings print them.
const (
	dbZoneFlag   = "--db-timezone"
	hostZoneFlag = "--host-timezone"
)

// zoneChoice is what was decided for one of the two clocks.
type zoneChoice struct {
	zone   *time.Location // nil unknown
	source string         // base name of a file, or a flag
}

func (c zoneChoice) byFlag() bool { return c.source == dbZoneFlag || c.source == hostZoneFlag }

// ResolveZones decides the zones of one node's times that carry none: what the
// flag says (nil where it was not given); else the zone that the node's other
// files carry, those of the same clock first, since a node and its instance
// share one clock; else what the flag of the other clock says; else all files
// share one unknown zone, which is read as UTC and said in a warning. The zone
// of the machine that runs the program is never looked at.
func (s *Set) ResolveZones(node string, dbFlag, hostFlag *time.Location) (Zones, domain.Timezone, []string) {
	var dbCarried, hostCarried []carriedZone
	var needing []*source // files whose times need a zone
	for _, src := range s.sources {
		if !slices.Contains(src.Nodes, node) || !src.probed.hasTimes {
			continue
		}
		switch {
		case src.Zone == nil:
			if !src.probed.absolute {
				needing = append(needing, src)
			}
		case src.ofOracle():
			dbCarried = append(dbCarried, carriedZone{src.Zone, src.FirstTime, src.Name})
		default:
			hostCarried = append(hostCarried, carriedZone{src.Zone, src.FirstTime, src.Name})
		}
	}
	dbCarried, hostCarried = ofTheHost(dbCarried, hostCarried)

	z := Zones{}
	db := choose(zoneChoice{dbFlag, dbZoneFlag}, zoneChoice{hostFlag, hostZoneFlag}, dbCarried, hostCarried, firstNeeding(needing, true))
	host := choose(zoneChoice{hostFlag, hostZoneFlag}, zoneChoice{dbFlag, dbZoneFlag}, hostCarried, dbCarried, firstNeeding(needing, false))
	z.DB, z.Host = cmp.Or(db.zone, time.UTC), cmp.Or(host.zone, time.UTC)
	if dbFlag == nil {
		z.db = preferred(dbCarried, hostCarried)
	}
	if hostFlag == nil {
		z.host = preferred(hostCarried, dbCarried)
	}
	for _, src := range needing {
		if src.ofOracle() && db.zone == nil || !src.ofOracle() && host.zone == nil {
			z.Assumed = src.Name
			break
		}
	}
	return z, timezone(db, host), z.warnings(needing, db, host)
}

// ofTheHost leaves out UTC where other zones are carried too: scripts stamp UTC
// by choice on any host, and another offset says what the host's own is.
func ofTheHost(db, host []carriedZone) (dbOwn, hostOwn []carriedZone) {
	isUTC := func(c carriedZone) bool { return c.offset() == 0 }
	dbOwn = slices.DeleteFunc(slices.Clone(db), isUTC)
	hostOwn = slices.DeleteFunc(slices.Clone(host), isUTC)
	if len(dbOwn)+len(hostOwn) == 0 {
		return db, host
	}
	return dbOwn, hostOwn
}

// preferred gives the zones that files of the same clock carry, else those of
// the other.
func preferred(own, other []carriedZone) []carriedZone {
	if len(own) > 0 {
		return own
	}
	return other
}

// firstNeeding gives the wall-clock time of the first file of a clock that
// needs a zone; zero where there is none or its time is unknown.
func firstNeeding(needing []*source, oracle bool) time.Time {
	var first time.Time
	for _, src := range needing {
		if src.ofOracle() == oracle && !src.FirstTime.IsZero() && (first.IsZero() || src.FirstTime.Before(first)) {
			first = src.FirstTime
		}
	}
	return first
}

func choose(flag, otherFlag zoneChoice, own, other []carriedZone, at time.Time) zoneChoice {
	if flag.zone != nil {
		return flag
	}
	if c, ok := nearest(preferred(own, other), at); ok {
		return zoneChoice{c.zone, path.Base(c.name)}
	}
	if otherFlag.zone != nil {
		return otherFlag
	}
	return zoneChoice{}
}

// nearest gives the carried zone of the file nearest in time to a wall-clock
// time; the earliest where that is unknown.
func nearest(carried []carriedZone, wall time.Time) (carriedZone, bool) {
	if len(carried) == 0 {
		return carriedZone{}, false
	}
	return slices.MinFunc(carried, func(a, b carriedZone) int {
		if wall.IsZero() {
			return cmp.Or(a.first.Compare(b.first), strings.Compare(a.name, b.name))
		}
		return cmp.Or(cmp.Compare(a.distance(wall), b.distance(wall)), strings.Compare(a.name, b.name))
	}), true
}

// distance is how far the file's first time, as its own clock showed it, lies
// from a wall-clock time.
func (c carriedZone) distance(wall time.Time) time.Duration {
	return c.first.Add(time.Duration(c.offset()) * time.Second).Sub(wall).Abs()
}

// of gives the zone to read a source with.
func (z *Zones) of(src *source) *time.Location {
	if src.Zone != nil {
		return src.Zone
	}
	zone, carried := z.Host, z.host
	if src.ofOracle() {
		zone, carried = z.DB, z.db
	}
	if c, ok := nearest(carried, src.FirstTime); ok && !src.FirstTime.IsZero() {
		return c.zone
	}
	return cmp.Or(zone, time.UTC)
}

// timezone puts a decision into words.
func timezone(db, host zoneChoice) domain.Timezone {
	var t domain.Timezone
	var from []string
	if db.zone != nil {
		name := zoneName(db.zone)
		t.DB, from = &name, append(from, db.source)
	}
	if host.zone != nil {
		name := zoneName(host.zone)
		t.Host = &name
		// Where two files carry the same zone, the first will do.
		repeats := db.zone != nil && zoneName(db.zone) == name && !db.byFlag() && !host.byFlag()
		if !repeats && !slices.Contains(from, host.source) {
			from = append(from, host.source)
		}
	}
	if len(from) > 0 {
		source := strings.Join(from, ", ")
		t.Source = &source
	}
	return t
}

// warnings tells what was assumed about the files that need a zone.
func (z *Zones) warnings(needing []*source, db, host zoneChoice) []string {
	var unknown []string
	var w []string
	for _, c := range []struct {
		oracle         bool
		choice         zoneChoice
		flag, borrowed string
		carried        []carriedZone
	}{{true, db, dbZoneFlag, hostZoneFlag, z.db}, {false, host, hostZoneFlag, dbZoneFlag, z.host}} {
		var names []string
		for _, src := range needing {
			if src.ofOracle() == c.oracle {
				names = append(names, src.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		if c.choice.zone == nil {
			unknown = append(unknown, names...)
		}
		if c.choice.source == c.borrowed {
			w = append(w, fmt.Sprintf("%s: times carry no zone: read in that of %s, since a node and its instance share one clock; else say it with %s",
				fewNames(names), c.borrowed, c.flag))
		}
		if mixed := offsets(c.carried); len(mixed) > 1 {
			w = append(w, fmt.Sprintf("%s: times carry no zone and other files carry several (%s): read in that of the file nearest in time; else say it with %s",
				fewNames(names), strings.Join(mixed, ", "), c.flag))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		w = append(w, fmt.Sprintf("%s: times carry no zone and no other file tells it: read as UTC; say it with %s or %s",
			fewNames(unknown), dbZoneFlag, hostZoneFlag))
	}
	return w
}

// offsets gives the different offsets that files carry.
func offsets(carried []carriedZone) []string {
	var names []string
	for _, c := range carried {
		if name := offsetName(c.offset()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// zoneName gives a zone's name as people write it: an IANA name, or an offset.
func zoneName(zone *time.Location) string {
	name := zone.String()
	if strings.Contains(name, "/") || name == "UTC" {
		return name
	}
	if _, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return name
	}
	_, offset := time.Unix(0, 0).In(zone).Zone() // not IANA: a fixed offset
	return offsetName(offset)
}

// offsetName prints seconds east of UTC: "+09:00".
func offsetName(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
}

// errZone says how zones are written.
var errZone = errors.New("no zone: write an IANA name or an offset, such as Asia/Seoul or +09:00")

// ParseZone reads a zone as flags give it: an IANA name (Asia/Seoul), an
// offset (+09:00, +0900, +09), UTC or Z.
func ParseZone(s string) (*time.Location, error) {
	switch {
	case s == "Z" || strings.EqualFold(s, "UTC"):
		return time.UTC, nil
	case strings.HasPrefix(s, "+"), strings.HasPrefix(s, "-"):
		return parseOffset(s)
	case s == "" || s == "Local":
		return nil, fmt.Errorf("%q: %w", s, errZone)
	}
	zone, err := time.LoadLocation(s)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", s, errZone)
	}
	return zone, nil
}

// parseOffset reads "+09:00", "+0900" and "+09". Offsets in use lie between
// -12:00 and +14:00.
func parseOffset(s string) (*time.Location, error) {
	const earliest, latest = -12 * 60, 14 * 60 // minutes
	digits := strings.Replace(s[1:], ":", "", 1)
	if colon := strings.IndexByte(s, ':'); colon >= 0 && (colon != 3 || len(digits) != 4) || len(digits) != 2 && len(digits) != 4 {
		return nil, fmt.Errorf("%q: %w", s, errZone)
	}
	digits = (digits + "00")[:4]
	n, err := strconv.ParseUint(digits, 10, 16)
	minutes := int(n/100*60 + n%100)
	if s[0] == '-' {
		minutes = -minutes
	}
	if err != nil || n%100 > 59 || minutes < earliest || minutes > latest {
		return nil, fmt.Errorf("%q: %w", s, errZone)
	}
	return time.FixedZone(offsetName(minutes*60), minutes*60), nil
}
