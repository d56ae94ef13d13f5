package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// write writes a file of the test and gives its path.
func write(t *testing.T, folder, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

// writeCertificate writes a certificate that signs itself, and its key.
func writeCertificate(t *testing.T, folder, name string, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	write(t, folder, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})), 0o600)
}

// secrets makes a folder of files, good and bad.
func secrets(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	token := strings.Repeat("0123456789abcdef", 4)
	write(t, folder, "good", "hunter2\n", 0o600)
	write(t, folder, "group", "hunter2\n", 0o640)
	write(t, folder, "world", "hunter2\n", 0o644)
	write(t, folder, "empty", "\n", 0o600)
	write(t, folder, "lines", "hunter2\nhunter3\n", 0o600)
	write(t, folder, "large", strings.Repeat("hunter2", 10_000), 0o600)
	write(t, folder, "url", "postgres://corewait:hunter2@db/corewait\n", 0o600)
	write(t, folder, "token", token+"\n", 0o600)
	write(t, folder, "short", token[:31], 0o600)
	write(t, folder, "text", "no certificate", 0o600)
	writeCertificate(t, folder, "one", time.Now().Add(24*time.Hour))
	writeCertificate(t, folder, "two", time.Now().Add(24*time.Hour))
	writeCertificate(t, folder, "old", time.Now().Add(-time.Hour))
	return folder
}

func TestCheckLooksAtTheFiles(t *testing.T) {
	t.Parallel()
	folder := secrets(t)
	const database = "database: {url: 'host=db'}\n"
	for name, c := range map[string]struct{ text, want string }{ // want empty: nothing is wrong
		"no database":                    {"{}", "c.yaml: database.url: no database: set database.url"},
		"its address":                    {database, ""},
		"its password":                   {"database: {url: 'host=db', password_file: good}", ""},
		"a password that a group reads":  {"database: {url: 'host=db', password_file: group}", ""},
		"a password that all read":       {"database:\n  url: host=db\n  password_file: world", "c.yaml:3: database.password_file: FOLDER/world can be read or changed by anybody on this host: chmod o-rw it"},
		"a password that is not there":   {"database: {url: 'host=db', password_file: none}", "c.yaml:1: database.password_file: open FOLDER/none: no such file or directory"},
		"an empty password":              {"database: {url: 'host=db', password_file: empty}", "empty is empty"},
		"a password of two lines":        {"database: {url: 'host=db', password_file: lines}", "has several lines"},
		"a password of 70 kB":            {"database: {url: 'host=db', password_file: large}", "too many for a secret"},
		"a folder for a password":        {"database: {url: 'host=db', password_file: .}", "is no regular file"},
		"a password with no address":     {"database: {password_file: good}", "no database"},
		"an address in a file":           {"database: {url_file: url}", ""},
		"an address that all read":       {"database: {url_file: world}", "c.yaml:1: database.url_file: "},
		"two passwords":                  {"database: {url_file: url, password_file: good}", "the address holds a password already"},
		"own Postgres, folder to make":   {"embedded: {dir: none}", ""},
		"own Postgres, folder is a file": {"embedded: {dir: good}", "embedded.dir: FOLDER/good is no folder"},
		"a certificate":                  {database + "agents: {tls: {cert_file: one.crt, key_file: one.key, client_ca_file: two.crt}}", ""},
		"a certificate of another key":   {database + "people:\n  tls:\n    cert_file: one.crt\n    key_file: two.key", "c.yaml:4: people.tls.cert_file: with FOLDER/two.key: tls: private key does not match public key"},
		"a certificate that expired":     {database + "agents: {tls: {cert_file: old.crt, key_file: old.key}}", "old.crt expired at "},
		"a certificate that is none":     {database + "agents: {tls: {cert_file: text, key_file: one.key}}", "agents.tls.cert_file: "},
		"a certificate not there":        {database + "agents: {tls: {cert_file: none, key_file: one.key}}", "agents.tls.cert_file: open FOLDER/none"},
		"a key that all read":            {database + "agents: {tls: {cert_file: one.crt, key_file: world}}", "agents.tls.key_file: FOLDER/world can be read"},
		"an authority that is none":      {database + "agents: {tls: {cert_file: one.crt, key_file: one.key, client_ca_file: text}}", "agents.tls.client_ca_file: FOLDER/text holds no certificate"},
		"a token":                        {database + "people: {token_file: token}", ""},
		"a token of 31 characters":       {database + "people: {token_file: short}", "a token has at least 32 characters"},
		"all that is wrong":              {"people: {token_file: none}\nagents: {tls: {cert_file: none, key_file: none}}", "c.yaml:2: agents.tls.cert_file: open FOLDER/none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := Parse(filepath.Join(folder, "c.yaml"), []byte(c.text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			err = Check(parsed, func(string) string { return "" })
			if c.want == "" {
				if err != nil {
					t.Errorf("wrong: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			told := strings.ReplaceAll(err.Error(), folder+"/c.yaml", "c.yaml")
			told = strings.ReplaceAll(told, folder, "FOLDER")
			if !strings.Contains(told, c.want) {
				t.Errorf("got  %s\nwant %s", told, c.want)
			}
			if strings.Contains(told, "hunter") {
				t.Errorf("a secret is told: %s", told)
			}
		})
	}
}

// TestTheAddressHasThePassword: pgx reads from it what was meant.
func TestTheAddressHasThePassword(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const password = `p'a\s:s/w@o r#d%20`
	write(t, folder, "password", password+"\n", 0o600)
	for address, user := range map[string]string{
		"postgres://corewait@db:5433/corewait?sslmode=disable":       "corewait",
		"postgres://db:5433/corewait?user=corewait&sslmode=disable":  "corewait",
		"host=db port=5433 dbname=corewait user=o'' sslmode=disable": "o''",
		"postgres://a%40b@db:5433/corewait?sslmode=disable":          "a@b",
	} {
		c := Defaults()
		c.Database.URL, c.Database.PasswordFile = address, filepath.Join(folder, "password")
		got, err := c.DatabaseURL(func(string) string { return "host=elsewhere" })
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		parsed, err := pgx.ParseConfig(got)
		if err != nil {
			t.Errorf("%s: pgx cannot read it: %v", address, err)
			continue
		}
		if parsed.Password != password || parsed.Host != "db" || parsed.Port != 5433 || parsed.Database != "corewait" || parsed.User != user {
			t.Errorf("%s: %s@%s:%d/%s with %s", address, parsed.User, parsed.Host, parsed.Port, parsed.Database, parsed.Password)
		}
	}
}

func TestTheEnvironmentCountsWhereTheFileHasNoAddress(t *testing.T) {
	t.Parallel()
	environment := func(name string) string {
		return map[string]string{"COREWAIT_DATABASE_URL": "postgres://corewait:hunter2@env/corewait"}[name]
	}
	for name, c := range map[string]struct {
		text, want string
		none       bool
	}{
		"nothing":            {text: "{}", want: "postgres://corewait:hunter2@env/corewait"},
		"an address":         {text: "database: {url: 'host=db'}", want: "host=db"},
		"a Postgres its own": {text: "embedded: {dir: d}", none: true},
	} {
		parsed, err := Parse("c.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsed.DatabaseURL(environment)
		if got != c.want || errors.Is(err, ErrNoDatabase) != c.none {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
