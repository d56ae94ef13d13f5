package config

import (
	"time"

	"github.com/corewait/corewait/store"
)

// Config is what `corewait serve` is told. Load gives paths that are absolute or
// relative to the working folder; in the file they are relative to the file.
type Config struct {
	Database  Database  `yaml:"database"`
	Embedded  Embedded  `yaml:"embedded"`
	Agents    Agents    `yaml:"agents"`
	People    People    `yaml:"people"`
	Retention Retention `yaml:"retention"`
	Review    Review    `yaml:"review"`
	Jobs      Jobs      `yaml:"jobs"`
	Log       Log       `yaml:"log"`

	file  string
	lines map[string]int // of keys, such as "agents.tls.cert_file"
}

// Database says where Postgres is. DatabaseURL puts it together.
type Database struct {
	URL          string          `yaml:"url"`
	URLFile      string          `yaml:"url_file"`
	PasswordFile string          `yaml:"password_file"`
	Pooler       bool            `yaml:"pooler"`
	Timescale    store.Timescale `yaml:"timescale"`
}

// Embedded is a private Postgres of the service.
type Embedded struct {
	Dir string `yaml:"dir"` // empty: none
}

// Agents is the listener that agents push to, and its limits.
type Agents struct {
	Listen           string        `yaml:"listen"`
	TLS              AgentsTLS     `yaml:"tls"`
	MaxBody          Size          `yaml:"max_body"`
	MaxDecompressed  Size          `yaml:"max_decompressed"`
	MaxInFlight      int           `yaml:"max_in_flight"`
	MaxInFlightBytes Size          `yaml:"max_in_flight_bytes"`
	MaxClockOffset   time.Duration `yaml:"max_clock_offset"`
	PushDeadline     time.Duration `yaml:"push_deadline"`
}

// TLS is a listener's certificate; both files or none.
type TLS struct {
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// On says whether the listener speaks TLS.
func (t TLS) On() bool { return t.CertFile != "" }

// AgentsTLS may ask agents for certificates too.
type AgentsTLS struct {
	CertFile     string `yaml:"cert_file"`
	KeyFile      string `yaml:"key_file"`
	ClientCAFile string `yaml:"client_ca_file"` // of the authority of agents' certificates; empty: tokens
}

// On says whether the listener speaks TLS.
func (t AgentsTLS) On() bool { return t.CertFile != "" }

// People is the listener for health, metrics and findings.
type People struct {
	Listen    string `yaml:"listen"`
	TLS       TLS    `yaml:"tls"`
	TokenFile string `yaml:"token_file"`
	// Hosts are the names, beside loopback's, by which browsers may reach it.
	Hosts []string `yaml:"hosts"`
}

// Retention says how long and how much is kept.
type Retention struct {
	Raw           time.Duration `yaml:"raw"`
	CompressAfter time.Duration `yaml:"compress_after"`
	Rollups       time.Duration `yaml:"rollups"`
	EvidenceCap   Size          `yaml:"evidence_cap"` // of an incident and node
	DiskBudget    Size          `yaml:"disk_budget"`  // of the database, for doctor; 0: none
}

// Review says how stored data is judged.
type Review struct {
	Zone           string        `yaml:"zone"` // of days and weeks: a name of the IANA database
	Settle         time.Duration `yaml:"settle"`
	CurrentEvery   time.Duration `yaml:"current_every"`
	Watch          []string      `yaml:"watch"`
	Threshold      time.Duration `yaml:"threshold"`
	HeavyPerSecond float64       `yaml:"heavy_per_second"`
	IncidentGap    time.Duration `yaml:"incident_gap"`
	FDR            float64       `yaml:"fdr"`
}

// Location is the zone of days and weeks.
func (r Review) Location() (*time.Location, error) { return time.LoadLocation(r.Zone) }

// Jobs are the schedules of the service's jobs, as jobs.ParseSchedule takes them;
// Off for a job that is not to run.
type Jobs struct {
	Review     string `yaml:"review"`
	Retain     string `yaml:"retain"`
	Partitions string `yaml:"partitions"`
}

// Off is the schedule of a job that is not to run.
const Off = "off"

// Log says what is logged.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // text, json
}

// Size is a number of bytes.
type Size int64

// Sizes.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

const day = 24 * time.Hour

// Defaults are the values of what the file does not say.
func Defaults() *Config {
	return &Config{
		Database: Database{Timescale: store.TimescaleAuto},
		Agents: Agents{
			Listen:  "127.0.0.1:7740",
			MaxBody: 4 * MiB, MaxDecompressed: 32 * MiB,
			MaxInFlight: 64, MaxInFlightBytes: 256 * MiB,
			MaxClockOffset: 5 * time.Minute, PushDeadline: 30 * time.Second,
		},
		People:    People{Listen: "127.0.0.1:7741"},
		Retention: Retention{Raw: 14 * day, CompressAfter: 4 * day, Rollups: 400 * day, EvidenceCap: 512 * MiB},
		Review: Review{
			Zone: "UTC", Settle: 2 * time.Minute, CurrentEvery: 5 * time.Minute, Watch: []string{"lgwr"},
			Threshold: 100 * time.Millisecond, HeavyPerSecond: 1000, IncidentGap: 15 * time.Minute, FDR: 0.01,
		},
		Jobs: Jobs{Review: "* * * * *", Retain: "17 2 * * *", Partitions: "35 * * * *"},
		Log:  Log{Level: "info", Format: "text"},
	}
}
