package files

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // IANA names wherever the tests run

	"github.com/google/go-cmp/cmp"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	if name == "" {
		return nil
	}
	z, err := ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// orNull gives what a pointer points at.
func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestResolveZones(t *testing.T) {
	t.Parallel()
	const (
		bareASH   = "kind=ash first=2026-09-10T09:00:00"
		bareVM    = "kind=vmstat first=2026-09-10T09:00:00"
		seoulPid  = "kind=pidstat zone=+09:00 first=2026-09-10T09:00:00"
		seoulASH  = "kind=ash zone=+09:00 first=2026-09-10T09:00:00"
		utcIRQ    = "kind=interrupts zone=UTC first=2026-09-10T00:00:00"
		epochIRQ  = "kind=interrupts absolute first=2026-09-10T00:00:00"
		summerPid = "kind=pidstat zone=+02:00 first=2026-10-24T09:00:00"
		winterPid = "kind=pidstat zone=+01:00 first=2026-10-26T09:00:00"
		winterASH = "kind=ash first=2026-10-26T10:00:00"
		summerASH = "kind=ash first=2026-10-24T08:00:00"
	)
	for _, tt := range []struct {
		name             string
		files            map[string]string // name to fields
		dbFlag, hostFlag string
		db, host, source string
		read             map[string]string // file to the offset its times are read in
		warns            int
		warning          string
	}{
		{
			name: "flags are taken", files: map[string]string{"ash": bareASH, "vm": bareVM}, dbFlag: "Asia/Seoul", hostFlag: "+09:00",
			db: "Asia/Seoul", host: "+09:00", source: "--db-timezone, --host-timezone", read: map[string]string{"ash": "+09:00", "vm": "+09:00"},
		},
		{
			name: "a zone that host files carry is the database's", files: map[string]string{"ash": bareASH, "dir/pid": seoulPid},
			db: "+09:00", host: "+09:00", source: "pid", read: map[string]string{"ash": "+09:00"},
		},
		{
			name: "a zone that Oracle files carry is the host's", files: map[string]string{"ash": seoulASH, "vm": bareVM},
			db: "+09:00", host: "+09:00", source: "ash", read: map[string]string{"vm": "+09:00"},
		},
		{
			name: "a flag comes before what files carry", files: map[string]string{"ash": bareASH, "vm": bareVM, "pid": seoulPid}, dbFlag: "UTC",
			db: "UTC", host: "+09:00", source: "--db-timezone, pid", read: map[string]string{"ash": "+00:00", "vm": "+09:00", "pid": "+09:00"},
		},
		{
			name: "a file that carries its zone is read in it whatever the flag", files: map[string]string{"pid": seoulPid}, hostFlag: "UTC", dbFlag: "UTC",
			db: "UTC", host: "UTC", source: "--db-timezone, --host-timezone", read: map[string]string{"pid": "+09:00"},
		},
		{
			name: "one unknown zone for all is read as UTC and said", files: map[string]string{"ash": bareASH, "vm": bareVM},
			db: "null", host: "null", source: "null", read: map[string]string{"ash": "+00:00", "vm": "+00:00"},
			warns: 1, warning: "read as UTC",
		},
		{
			name: "epochs need no zone", files: map[string]string{"irq": epochIRQ, "cpu": "kind=lscpu"},
			db: "null", host: "null", source: "null",
		},
		{
			name: "epochs give no zone", files: map[string]string{"irq": epochIRQ, "ash": bareASH},
			db: "null", host: "null", source: "null", read: map[string]string{"ash": "+00:00"}, warns: 1, warning: "ash: times carry no zone",
		},
		{
			name: "the flag of the other clock is better than none", files: map[string]string{"ash": bareASH, "vm": bareVM}, dbFlag: "Asia/Seoul",
			db: "Asia/Seoul", host: "Asia/Seoul", source: "--db-timezone", read: map[string]string{"ash": "+09:00", "vm": "+09:00"},
			warns: 1, warning: "vm: times carry no zone: read in that of --db-timezone",
		},
		{
			name: "UTC stamps do not outvote the host's own offset", files: map[string]string{"irq": utcIRQ, "pid": seoulPid, "ash": bareASH},
			db: "+09:00", host: "+09:00", source: "pid", read: map[string]string{"ash": "+09:00", "irq": "+00:00"},
		},
		{
			name: "UTC stamps alone are taken", files: map[string]string{"irq": utcIRQ, "ash": bareASH},
			db: "UTC", host: "UTC", source: "irq", read: map[string]string{"ash": "+00:00"},
		},
		{
			name:  "of several offsets the one nearest in time is taken and said",
			files: map[string]string{"pid1": summerPid, "pid2": winterPid, "ash1": summerASH, "ash2": winterASH},
			db:    "+02:00", host: "+02:00", source: "pid1", read: map[string]string{"ash1": "+02:00", "ash2": "+01:00"},
			warns: 1, warning: "ash2: times carry no zone and other files carry several (+01:00, +02:00)",
		},
		{
			name:  "a flag ends the choice among several offsets",
			files: map[string]string{"pid1": summerPid, "pid2": winterPid, "ash1": summerASH, "ash2": winterASH}, dbFlag: "Europe/Berlin",
			db: "Europe/Berlin", host: "+02:00", source: "--db-timezone, pid1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content, n := map[string]string{}, 0
			for name, fields := range tt.files {
				n++
				content[name] = toy(fields, n)
			}
			s := scanTree(t, tree(t, content), Limits{})
			zones, said, warnings := s.ResolveZones("", zone(t, tt.dbFlag), zone(t, tt.hostFlag))
			got := []string{orNull(said.DB), orNull(said.Host), orNull(said.Source)}
			if diff := cmp.Diff([]string{tt.db, tt.host, tt.source}, got); diff != "" {
				t.Errorf("db, host, source (-want +got):\n%s", diff)
			}
			if len(warnings) != tt.warns || tt.warning != "" && !strings.Contains(warnings[0], tt.warning) {
				t.Errorf("warnings %q, want %d with %q", warnings, tt.warns, tt.warning)
			}
			for _, src := range s.sources {
				want, ok := tt.read[src.base]
				if got := time.Date(2026, 9, 10, 0, 0, 0, 0, zones.of(src)).Format("-07:00"); ok && got != want {
					t.Errorf("%s is read in %s, want %s", src.base, got, want)
				}
			}
		})
	}
}

func TestZonesOfOneNodeSayNothingOfAnother(t *testing.T) {
	t.Parallel()
	s := scanTree(t, tree(t, map[string]string{
		"a/pid": toy("kind=pidstat host=db1 zone=+09:00 first=2026-09-10T09:00:00", 1),
		"b/pid": toy("kind=pidstat host=db2 first=2026-09-10T09:00:00", 1),
	}), Limits{})
	_, said, warnings := s.ResolveZones("db2", nil, nil)
	if said.Host != nil || len(warnings) != 1 {
		t.Errorf("got %s, warnings %q; want null and one warning", orNull(said.Host), warnings)
	}
}

func TestZonesAreGivenToReaders(t *testing.T) {
	t.Parallel()
	s := scanTree(t, tree(t, map[string]string{"ash": toy("kind=ash first=2026-09-10T09:00:00", 1)}), Limits{})
	zones, _, _ := s.ResolveZones("", zone(t, "Asia/Kolkata"), nil)
	sink := &numbers{}
	if _, err := s.Read(t.Context(), "", zones, sink, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"+05:30"}, sink.zones); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
}

func TestParseZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, name, offset string }{
		{"Asia/Seoul", "Asia/Seoul", "+09:00"},
		{"Japan", "Japan", "+09:00"},
		{"UTC", "UTC", "+00:00"},
		{"utc", "UTC", "+00:00"},
		{"Z", "UTC", "+00:00"},
		{"+09:00", "+09:00", "+09:00"},
		{"+0900", "+09:00", "+09:00"},
		{"+09", "+09:00", "+09:00"},
		{"-03:30", "-03:30", "-03:30"},
		{"+14:00", "+14:00", "+14:00"},
		{"+00:00", "+00:00", "+00:00"},
		{"", "", ""},
		{"Local", "", ""},
		{"KST", "", ""},
		{"Asia/Nowhere", "", ""},
		{"../../etc/passwd", "", ""},
		{"+9", "", ""},
		{"+900", "", ""},
		{"+9:000", "", ""},
		{"+09:0", "", ""},
		{"+15:00", "", ""},
		{"-13:00", "", ""},
		{"+09:60", "", ""},
		{"+0x:10", "", ""},
		{"++9:00", "", ""},
		{"+09:00:00", "", ""},
		{"+", "", ""},
	} {
		t.Run("zone "+tt.in, func(t *testing.T) {
			t.Parallel()
			z, err := ParseZone(tt.in)
			if tt.name == "" {
				if err == nil || !strings.Contains(err.Error(), "Asia/Seoul or +09:00") || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, %v; want one line with an example", z, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Date(2026, 9, 10, 0, 0, 0, 0, z).Format("-07:00"); got != tt.offset || zoneName(z) != tt.name {
				t.Errorf("got %s %s, want %s %s", zoneName(z), got, tt.name, tt.offset)
			}
		})
	}
}

func TestZoneNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone *time.Location
		want string
	}{
		{time.FixedZone("", 9*3600), "+09:00"},
		{time.FixedZone("+0900", 9*3600), "+09:00"},
		{time.FixedZone("KST", 9*3600), "+09:00"},
		{time.FixedZone("", -(3*3600 + 1800)), "-03:30"},
		{time.FixedZone("", 0), "+00:00"},
		{time.UTC, "UTC"},
	} {
		if got := zoneName(tt.zone); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.zone, got, tt.want)
		}
	}
}

func FuzzParseZone(f *testing.F) {
	for _, s := range []string{"Z", "UTC", "Asia/Seoul", "+09:00", "-0330", "+14", "Local", "../etc/passwd", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		zone, err := ParseZone(s)
		if (zone == nil) != (err != nil) || zone == time.Local {
			t.Fatalf("zone %v, error %v", zone, err)
		}
		if zone == nil {
			return
		}
		if _, seconds := time.Unix(0, 0).In(zone).Zone(); max(seconds, -seconds) > int(maxOffset.Seconds()) {
			t.Fatalf("offset of %d s", seconds)
		}
	})
}
