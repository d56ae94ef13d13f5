package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestValuesAreReadWithTheirUnits(t *testing.T) {
	t.Parallel()
	got, err := Parse("/etc/corewait/corewait.yaml", []byte(`
database: {url: "postgres://corewait@db/corewait", password_file: secrets/db, pooler: true, timescale: off}
agents:
  listen: "0.0.0.0:7740"
  tls: {cert_file: /etc/tls/agents.crt, key_file: agents.key}
  max_body: 2MiB
  max_in_flight: 8
  push_deadline: 1m30s
retention: {raw: 7d, compress_after: 3d1h, evidence_cap: 1GiB}
review:
  watch:
    - lgwr
    - lms
  heavy_per_second: 1500.5
  fdr: 5e-2
  zone: Asia/Seoul
jobs: {retain: off, partitions: 7 */2 * * *}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Database = Database{
		URL: "postgres://corewait@db/corewait", PasswordFile: "/etc/corewait/secrets/db", Pooler: true, Timescale: "off",
	}
	want.Agents.Listen = "0.0.0.0:7740"
	want.Agents.TLS = AgentsTLS{CertFile: "/etc/tls/agents.crt", KeyFile: "/etc/corewait/agents.key"}
	want.Agents.MaxBody, want.Agents.MaxInFlight, want.Agents.PushDeadline = 2<<20, 8, 90*time.Second
	want.Retention.Raw, want.Retention.CompressAfter, want.Retention.EvidenceCap = 168*time.Hour, 73*time.Hour, 1<<30
	want.Review.Watch, want.Review.HeavyPerSecond, want.Review.FDR, want.Review.Zone = []string{"lgwr", "lms"}, 1500.5, 0.05, "Asia/Seoul"
	want.Jobs.Retain, want.Jobs.Partitions = "off", "7 */2 * * *"
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// TestMistakesHaveTheirLines: the lines are counted by eye in each text.
func TestMistakesHaveTheirLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown section":            {"log:\n  level: info\nagent:\n  listen: a\n", `c.yaml:3: agent: is no key of a configuration; agents is`},
		"unknown key":                {"agents:\n  lisen: 127.0.0.1:1\n", `c.yaml:2: agents.lisen: is no key of a configuration; listen is`},
		"unknown key unlike any":     {"agents:\n  colour: red\n", `c.yaml:2: agents.colour: is no key of a configuration; corewait.example.yaml has them all`},
		"the struct's own name":      {"agents:\n  Listen: 127.0.0.1:1\n", `c.yaml:2: agents.Listen: is no key of a configuration; listen is`},
		"unexported state":           {"lines: {}\n", `c.yaml:1: lines: is no key of a configuration; corewait.example.yaml has them all`},
		"key twice":                  {"log:\n  level: info\n  level: warn\n", `c.yaml:3: is no YAML: mapping key "level" already defined at [2:3]`},
		"section twice":              {"log: {level: info}\nreview: {}\nlog: {format: json}\n", `c.yaml:3: is no YAML: mapping key "log" already defined at [1:1]`},
		"word for a number":          {"agents:\n  max_in_flight: many\n", `c.yaml:2: agents.max_in_flight: "many": must be a whole number`},
		"fraction for a number":      {"agents:\n  max_in_flight: 6.5\n", `c.yaml:2: agents.max_in_flight: "6.5": must be a whole number`},
		"list for a value":           {"log:\n  level: [info]\n", `c.yaml:2: log.level: must be one plain value`},
		"block text for a value":     {"log:\n  level: |\n    info\n", `c.yaml:2: log.level: must be one plain value`},
		"value for a list":           {"review:\n  watch: lgwr\n", `c.yaml:2: review.watch: must be a list: [one, another]`},
		"value for a section":        {"review: lgwr\n", `c.yaml:1: review: must hold keys, such as zone`},
		"list for a section":         {"review:\n  - zone: UTC\n", `c.yaml:2: review: must hold keys, such as zone`},
		"list for all":               {"- a\n", `c.yaml:1: must hold keys, such as database`},
		"yes for true":               {"database:\n  pooler: yes\n", `c.yaml:2: database.pooler: "yes": must be true or false`},
		"duration without unit":      {"review:\n  settle: 120\n", `c.yaml:2: review.settle: "120": write a duration with its unit: 90s, 15m, 36h, 14d`},
		"duration in words":          {"review:\n  settle: 2 minutes\n", `c.yaml:2: review.settle: "2 minutes": write a duration with its unit: 90s, 15m, 36h, 14d`},
		"days that overflow":         {"retention:\n  raw: 999999d\n", `c.yaml:2: retention.raw: "999999d": write a duration with its unit: 90s, 15m, 36h, 14d`},
		"size without unit":          {"agents:\n  max_body: 4194304\n", `c.yaml:2: agents.max_body: "4194304": write a size with its unit: 512KiB, 4MiB, 1GiB`},
		"size of a thousand":         {"agents:\n  max_body: 4MB\n", `c.yaml:2: agents.max_body: "4MB": write a size with its unit: 512KiB, 4MiB, 1GiB`},
		"NaN":                        {"review:\n  fdr: .nan\n", `c.yaml:2: review.fdr: ".nan": must be a number`},
		"anchor and alias":           {"log: &a\n  level: info\n", `c.yaml:1: log: must hold keys, such as level`},
		"second document":            {"log:\n  level: info\n---\nlog: {}\n", `c.yaml:4: a second document begins: a configuration is one`},
		"schedule without quotes":    {"jobs:\n  retain: 5 * * * *\n  review: * * * * *\n", `c.yaml:3: `},
		"tab":                        {"log:\n\tlevel: info\n", `c.yaml:2: is no YAML: `},
		"all that is wrong at once":  {"log:\n  level: loud\n  format: xml\n", "c.yaml:2: log.level: \"loud\": must be debug, info, warn or error\nc.yaml:3: log.format: \"xml\": must be text or json"},
		"in the order of the lines":  {"review:\n  fdr: 1\ndatabase:\n  timescale: maybe\n", "c.yaml:2: review.fdr: must lie between 0 and 1, such as 0.01\nc.yaml:4: database.timescale: \"maybe\": must be auto, require or off"},
		"a rule of what is not said": {"agents:\n  listen: 0.0.0.0:7740\n", `c.yaml:2: agents.listen: 0.0.0.0:7740 is reached from other hosts, and there is no TLS: set agents.tls, or listen on 127.0.0.1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("c.yaml", []byte(c.text))
			if err == nil {
				t.Fatal("it was taken")
			}
			if whole := !strings.HasSuffix(c.want, " "); whole && err.Error() != c.want || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if lines := strings.Count(err.Error(), "\n"); lines != strings.Count(c.want, "\n") {
				t.Errorf("%d line ends: %s", lines, err)
			}
		})
	}
}

func TestScheduleWithoutQuotesIsToldToHaveThem(t *testing.T) {
	t.Parallel()
	_, err := Parse("c.yaml", []byte("jobs:\n  review: * * * * *\n"))
	if err == nil || !strings.Contains(err.Error(), "quotes") {
		t.Errorf("got %v", err)
	}
}

func TestFilesThatCannotBeReadAreToldApart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := Load(filepath.Join(folder, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a folder: %v", err)
	}
	large := filepath.Join(folder, "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# long\n", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "65536 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

// FuzzParse: whatever a file holds, it is a configuration that keeps the rules or
// an error of its lines.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"database: {url: 'host=db', pooler: true, timescale: off}\nreview: {watch: [lgwr, lms], fdr: 0.05}\n",
		"agents:\n  listen: 127.0.0.1:1\n  max_body: 1MiB # comment\n  tls:\n    cert_file: a\n    key_file: \"b\"\n",
	} {
		f.Add([]byte(text))
	}
	for _, text := range []string{"a: &b {<<: *b}\n", "log: !!map {}\n", "? [a]\n: b\n", "log: {level: |\n", "- - - -\n", "review: {watch: [[]]}\n", "\x00", "%YAML 1.1\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("c.yaml", text)
		if err == nil {
			if found := c.validate(); len(found) > 0 {
				t.Errorf("taken against the rules: %v", found)
			}
			return
		}
		var mistakes Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) == 0 {
			t.Errorf("no mistakes: %v", err)
		}
	})
}
