package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/corewait/corewait/store"
)

// Check looks at the files that a configuration names: that they are there, can
// be read, hold what they should, and that secrets can not be read by others. The
// error is nil or Mistakes. getenv is os.Getenv.
func Check(c *Config, getenv func(string) string) error {
	var found Mistakes
	note := func(key string, err error) {
		if m := (*Mistake)(nil); errors.As(err, &m) {
			found = append(found, m)
		} else if err != nil {
			found = append(found, c.mistake(key, "%v", err))
		}
	}
	if c.Embedded.Dir == "" {
		address, err := c.DatabaseURL(getenv)
		if err == nil {
			err = store.CheckAddress(address)
		}
		note("database.url", err)
	} else {
		note("embedded.dir", checkFolder(c.Embedded.Dir))
	}
	note("agents.tls", c.checkCertificate("agents.tls", c.Agents.TLS.CertFile, c.Agents.TLS.KeyFile))
	note("agents.tls.client_ca_file", checkAuthority(c.Agents.TLS.ClientCAFile))
	note("people.tls", c.checkCertificate("people.tls", c.People.TLS.CertFile, c.People.TLS.KeyFile))
	_, err := c.PeopleToken()
	note("people.token_file", err)
	return found.orNil()
}

// checkFolder takes a folder that is there, or can be made.
func checkFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", path)
	}
	return nil
}

func (c *Config) checkCertificate(section, certFile, keyFile string) error {
	if certFile == "" {
		return nil
	}
	cert, err := ReadCertificates(certFile)
	if err != nil {
		return c.mistake(section+".cert_file", "%v", err)
	}
	key, err := readPrivate(keyFile)
	if err != nil {
		return c.mistake(section+".key_file", "%v", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return c.mistake(section+".cert_file", "with %s: %v", keyFile, err)
	}
	if pair.Leaf != nil && time.Now().After(pair.Leaf.NotAfter) {
		return c.mistake(section+".cert_file", "%s expired at %s", certFile, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

func checkAuthority(path string) error {
	if path == "" {
		return nil
	}
	text, err := ReadCertificates(path)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return nil
}
