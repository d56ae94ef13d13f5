package config

import (
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	t.Parallel()
	const tls = ", tls: {cert_file: a, key_file: b}"
	for name, c := range map[string]struct{ text, want string }{ // want empty: it is taken
		"loopback in IPv6":                          {"agents: {listen: '[::1]:7740'}", ""},
		"loopback by name":                          {"agents: {listen: 'localhost:7740'}", ""},
		"loopback of another number":                {"agents: {listen: '127.8.0.1:7740'}", ""},
		"all addresses without a host":              {"agents: {listen: ':7740'}", "agents.listen: :7740 is reached from other hosts"},
		"all addresses in IPv6":                     {"agents: {listen: '[::]:7740'}", "is reached from other hosts"},
		"a name may be any address":                 {"agents: {listen: 'corewait.example:7740'}", "is reached from other hosts"},
		"a number that looks like loopback":         {"agents: {listen: '127.0.0.1.example:7740'}", "is reached from other hosts"},
		"off loopback with TLS":                     {"agents: {listen: ':7740'" + tls + "}", ""},
		"no port":                                   {"agents: {listen: 127.0.0.1}", `agents.listen: "127.0.0.1": is no address`},
		"a port that is none":                       {"agents: {listen: '127.0.0.1:77400'}", `port "77400" is none`},
		"people off loopback without TLS":           {"people: {listen: ':7741', token_file: t}", "there is no TLS: set people.tls"},
		"people off loopback without token":         {"people: {listen: ':7741'" + tls + "}", "set people.token_file"},
		"people off loopback with both":             {"people: {listen: ':7741', token_file: t" + tls + "}", ""},
		"both on one address":                       {"people: {listen: 127.0.0.1:7740}", "each needs its own address"},
		"both on ports that the system chooses":     {"people: {listen: 127.0.0.1:0}\nagents: {listen: 127.0.0.1:0}", ""},
		"a certificate without a key":               {"agents: {tls: {cert_file: a}}", "agents.tls.cert_file: its key is missing"},
		"a key without a certificate":               {"people: {tls: {key_file: a}}", "people.tls.key_file: its certificate is missing"},
		"clients' authority without TLS":            {"agents: {tls: {client_ca_file: a}}", "agents.tls.client_ca_file: "},
		"password in a URL":                         {"database: {url: 'postgres://corewait:hunter2@db/corewait'}", "write the password into a file of its own and name it in password_file"},
		"password in a query":                       {"database: {url: 'postgres://db/corewait?password=hunter2'}", "password_file"},
		"password among pairs":                      {"database: {url: 'host=db password=hunter2'}", "password_file"},
		"two addresses":                             {"database: {url: 'host=db', url_file: u}", "database.url_file: url is there too"},
		"own Postgres and another":                  {"database: {url: 'host=db'}\nembedded: {dir: d}", "embedded.dir: the service has its own Postgres there, and database.url names another"},
		"own Postgres and a pooler":                 {"database: {pooler: true}\nembedded: {dir: d}", "database.pooler: "},
		"own Postgres with TimescaleDB off":         {"database: {timescale: off}\nembedded: {dir: d}", ""},
		"bodies over what they unpack to":           {"agents: {max_body: 64MiB}", "agents.max_decompressed: must lie between 64MiB and 1GiB"},
		"no push at once":                           {"agents: {max_in_flight: 0}", "agents.max_in_flight: "},
		"raw shorter than compression":              {"retention: {raw: 3d}", "retention: retention: raw samples for 72h0m0s is not longer than compression after 96h0m0s"},
		"compression before a spool has come":       {"retention: {compress_after: 72h}", "is not longer than a spool"},
		"rollups shorter than raw":                  {"retention: {raw: 60d, rollups: 50d}", "retention.raw: is longer than rollups are kept"},
		"rollups of days":                           {"retention: {rollups: 30d}", "retention.rollups: must lie between 31d and 3660d"},
		"a zone that is none":                       {"review: {zone: Mars/Olympus}", `review.zone: "Mars/Olympus": must be the name of a zone`},
		"the zone of this machine":                  {"review: {zone: Local}", "review.zone"},
		"the empty zone":                            {"review: {zone: ''}", "review.zone"},
		"a watch that is none":                      {"review: {watch: [lgwr, dbwr]}", `review.watch: "dbwr": is none of lgwr, lms`},
		"a watch twice":                             {"review: {watch: [lgwr, lgwr]}", `review.watch: "lgwr": is there twice`},
		"no watch":                                  {"review: {watch: []}", "review.watch: names none of lgwr, lms"},
		"a negative duration":                       {"review: {settle: -2m}", "review.settle: must lie between 0s and 24h0m0s"},
		"a rate of zero":                            {"review: {heavy_per_second: 0}", "review.heavy_per_second: must be positive"},
		"a job that differs by process":             {"jobs: {review: '@every 1m'}", `jobs.review: schedule "@every 1m": is not five fields`},
		"a job with seconds":                        {"jobs: {review: '0 * * * * *'}", "has 6 fields"},
		"a job in a zone":                           {"jobs: {review: 'TZ=Asia/Seoul 0 9 * * 1'}", "schedules are in UTC"},
		"a job on a day that never comes":           {"jobs: {review: '0 0 30 2 *'}", "never comes"},
		"a job in an hour that there is not":        {"jobs: {review: '0 24 * * *'}", "jobs.review"},
		"no job at all":                             {"jobs: {review: off, retain: off, partitions: off}", ""},
		"an empty schedule is not off":              {"jobs: {review: ''}", "write off for a job that is not to run"},
		"a level in capitals":                       {"log: {level: INFO}", "log.level"},
		"an evidence cap that keeps nothing":        {"retention: {evidence_cap: 0B}", "retention.evidence_cap: must lie between 1MiB and 1024GiB"},
		"a threshold under what is ever a stall":    {"review: {threshold: 1us}", "review.threshold"},
		"all findings false":                        {"review: {fdr: 1}", "review.fdr"},
		"an embedded folder and the rest untouched": {"embedded: {dir: data}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("c.yaml", []byte(c.text+"\n"))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

func TestRollupsAreCountedInWholeMonths(t *testing.T) {
	t.Parallel()
	// 400 days are a year and 35 days: 13 months, the design's.
	if p := Defaults().Retention.Policy(); p.RollupMonths != 13 || p.Raw != 14*day || p.Uncompressed != 4*day {
		t.Errorf("got %+v", p)
	}
	if p := (Retention{Raw: 14 * day, CompressAfter: 4 * day, Rollups: 31 * day}).Policy(); p.RollupMonths != 1 {
		t.Errorf("31 days are %d months", p.RollupMonths)
	}
}

func TestSizesAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0B", "1B", "1023B", "1KiB", "1025B", "4MiB", "1GiB", "1536MiB", "1024GiB"} {
		size, err := parseSize(text)
		if err != nil || size.String() != text {
			t.Errorf("%s: %v, %v", text, size, err)
		}
	}
	for _, text := range []string{"", "MiB", "1 MiB", "-1MiB", "1.5MiB", "999999999999999TiB", "1mib"} {
		if size, err := parseSize(text); err == nil {
			t.Errorf("%q was taken: %v", text, size)
		}
	}
}
