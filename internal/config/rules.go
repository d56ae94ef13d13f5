package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/jobs"
	"github.com/corewait/corewait/store"
)

// validate holds the values to their rules.
func (c *Config) validate() Mistakes {
	var found Mistakes
	for _, rules := range []func(func(key, format string, args ...any)){
		c.validateDatabase, c.validateListeners, c.validateLimits, c.validateRetention, c.validateReview, c.validateJobs, c.validateLog,
	} {
		rules(func(key, format string, args ...any) { found = append(found, c.mistake(key, format, args...)) })
	}
	return found
}

func (c *Config) validateDatabase(wrong func(key, format string, args ...any)) {
	d := c.Database
	if d.URL != "" && store.MayHoldPassword(d.URL) {
		wrong("database.url", "holds a password, or cannot be read: write the password into a file of its own and name it in password_file")
	}
	if d.URL != "" && d.URLFile != "" {
		wrong("database.url_file", "url is there too: keep one of them")
	}
	switch d.Timescale {
	case store.TimescaleAuto, store.TimescaleRequire, store.TimescaleOff:
	default:
		wrong("database.timescale", "%q: must be auto, require or off", d.Timescale)
	}
	if c.Embedded.Dir == "" {
		return
	}
	for key, value := range map[string]string{"url": d.URL, "url_file": d.URLFile, "password_file": d.PasswordFile} {
		if value != "" {
			wrong("embedded.dir", "the service has its own Postgres there, and database.%s names another: keep one of them", key)
		}
	}
	if d.Pooler {
		wrong("database.pooler", "the service's own Postgres (embedded.dir) has no pooler before it: remove it")
	}
}

func (c *Config) validateListeners(wrong func(key, format string, args ...any)) {
	listener := func(section, address, certFile, keyFile string) (loopback bool) {
		loopback, err := isLoopback(address)
		if err != nil {
			wrong(section+".listen", "%q: %v: write host:port, such as 127.0.0.1:7740", address, err)
			return true
		}
		switch {
		case certFile == "" && keyFile != "":
			wrong(section+".tls.key_file", "its certificate is missing: set cert_file too")
		case certFile != "" && keyFile == "":
			wrong(section+".tls.cert_file", "its key is missing: set key_file too")
		case !loopback && certFile == "":
			wrong(section+".listen", "%s is reached from other hosts, and there is no TLS: set %s.tls, or listen on 127.0.0.1", address, section)
		}
		return loopback
	}
	listener("agents", c.Agents.Listen, c.Agents.TLS.CertFile, c.Agents.TLS.KeyFile)
	if c.Agents.TLS.ClientCAFile != "" && !c.Agents.TLS.On() {
		wrong("agents.tls.client_ca_file", "agents show certificates over TLS only: set cert_file and key_file too")
	}
	loopback := listener("people", c.People.Listen, c.People.TLS.CertFile, c.People.TLS.KeyFile)
	if !loopback && c.People.TokenFile == "" {
		wrong("people.listen", "%s is reached from other hosts, and anybody could read: set people.token_file, or listen on 127.0.0.1", c.People.Listen)
	}
	if c.Agents.Listen == c.People.Listen && !strings.HasSuffix(c.Agents.Listen, ":0") {
		wrong("people.listen", "%s is where agents push to: each needs its own address", c.People.Listen)
	}
}

// isLoopback says whether only this host reaches an address. A name other than
// localhost may mean any address.
func isLoopback(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("is no address")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, fmt.Errorf("port %q is none", port)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

func (c *Config) validateLimits(wrong func(key, format string, args ...any)) {
	a := c.Agents
	sizes := func(key string, value, least, most Size) {
		if value < least || value > most {
			wrong(key, "must lie between %s and %s", least, most)
		}
	}
	sizes("agents.max_body", a.MaxBody, 64*KiB, 64*MiB)
	sizes("agents.max_decompressed", a.MaxDecompressed, a.MaxBody, 1*GiB)
	sizes("agents.max_in_flight_bytes", a.MaxInFlightBytes, a.MaxDecompressed, 64*GiB)
	if a.MaxInFlight < 1 || a.MaxInFlight > 10_000 {
		wrong("agents.max_in_flight", "must lie between 1 and 10000")
	}
	durations := func(key string, value, least, most time.Duration) {
		if value < least || value > most {
			wrong(key, "must lie between %v and %v", least, most)
		}
	}
	durations("agents.max_clock_offset", a.MaxClockOffset, time.Second, day)
	durations("agents.push_deadline", a.PushDeadline, time.Second, 10*time.Minute)
	durations("review.settle", c.Review.Settle, 0, day)
	durations("review.current_every", c.Review.CurrentEvery, time.Minute, day)
	durations("review.threshold", c.Review.Threshold, time.Millisecond, time.Minute)
	durations("review.incident_gap", c.Review.IncidentGap, time.Second, day)
	sizes("retention.evidence_cap", c.Retention.EvidenceCap, MiB, 1024*GiB)
}

// String writes a size with the greatest unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		unit Size
		name string
	}{{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}} {
		if s >= u.unit && s%u.unit == 0 {
			return fmt.Sprintf("%d%s", s/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}

// daysOfRollupMonth makes months, of which retention of rollups is counted in the
// store, of days: a month is at most that long.
const daysOfRollupMonth = 30.5

// Policy is what the store is told to keep.
func (r Retention) Policy() store.RetentionPolicy {
	p := store.DefaultRetention()
	p.Raw, p.Uncompressed = r.Raw, r.CompressAfter
	p.RollupMonths = int(r.Rollups.Hours() / 24 / daysOfRollupMonth)
	return p
}

func (c *Config) validateRetention(wrong func(key, format string, args ...any)) {
	r := c.Retention
	switch {
	case r.Rollups < 31*day || r.Rollups > 3660*day:
		wrong("retention.rollups", "must lie between 31d and 3660d")
	case r.Raw > r.Rollups:
		wrong("retention.raw", "is longer than rollups are kept")
	default:
		if err := r.Policy().Validate(); err != nil {
			wrong("retention", "%v", err)
		}
	}
}

func (c *Config) validateReview(wrong func(key, format string, args ...any)) {
	r := c.Review
	if _, err := r.Location(); err != nil || r.Zone == "" || r.Zone == "Local" {
		wrong("review.zone", "%q: must be the name of a zone, such as UTC or Asia/Seoul", r.Zone)
	}
	var known []string
	for _, w := range domain.Watches() {
		known = append(known, w.Name)
	}
	if len(r.Watch) == 0 {
		wrong("review.watch", "names none of %s", strings.Join(known, ", "))
	}
	for i, name := range r.Watch {
		switch {
		case !slices.Contains(known, name):
			wrong("review.watch", "%q: is none of %s", name, strings.Join(known, ", "))
		case slices.Contains(r.Watch[:i], name):
			wrong("review.watch", "%q: is there twice", name)
		}
	}
	if r.HeavyPerSecond <= 0 {
		wrong("review.heavy_per_second", "must be positive")
	}
	if r.FDR <= 0 || r.FDR >= 1 {
		wrong("review.fdr", "must lie between 0 and 1, such as 0.01")
	}
}

func (c *Config) validateJobs(wrong func(key, format string, args ...any)) {
	for _, j := range []struct{ key, spec string }{
		{"jobs.review", c.Jobs.Review}, {"jobs.retain", c.Jobs.Retain}, {"jobs.partitions", c.Jobs.Partitions},
	} {
		if j.spec == Off {
			continue
		}
		if _, err := jobs.ParseSchedule(j.spec); err != nil {
			wrong(j.key, "%v; write off for a job that is not to run", err)
		}
	}
}

func (c *Config) validateLog(wrong func(key, format string, args ...any)) {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		wrong("log.level", "%q: must be debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		wrong("log.format", "%q: must be text or json", c.Log.Format)
	}
}
