package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/corewait/corewait/store"
)

// URLVariable is the environment's address of the database. It counts where the
// file has none.
const URLVariable = "COREWAIT_DATABASE_URL"

// ErrNoDatabase says that nothing tells where the database is.
var ErrNoDatabase = errors.New("no database: set database.url or database.url_file, or " + URLVariable + " in the environment, or embedded.dir")

// DatabaseURL puts the address of the database together, with its password: it
// must not be shown. getenv is os.Getenv. With embedded.dir there is no address,
// and ErrNoDatabase is the error.
func (c *Config) DatabaseURL(getenv func(string) string) (string, error) {
	address, err := c.databaseAddress(getenv)
	if err != nil || c.Database.PasswordFile == "" {
		return address, err
	}
	password, err := ReadSecret(c.Database.PasswordFile)
	if err != nil {
		return "", c.mistake("database.password_file", "%v", err)
	}
	if store.MayHoldPassword(address) {
		return "", c.mistake("database.password_file", "the address holds a password already, or cannot be read: keep one of them")
	}
	return store.WithPassword(address, password)
}

func (c *Config) databaseAddress(getenv func(string) string) (string, error) {
	switch {
	case c.Database.URL != "":
		return c.Database.URL, nil
	case c.Database.URLFile != "":
		address, err := ReadSecret(c.Database.URLFile)
		if err != nil {
			return "", c.mistake("database.url_file", "%v", err)
		}
		return address, nil
	case c.Embedded.Dir == "" && getenv(URLVariable) != "":
		return getenv(URLVariable), nil
	}
	return "", ErrNoDatabase
}

// longestSecret bounds a secret and a key, in bytes.
const longestSecret = 64 << 10

// othersMay are the permission bits by which anybody on the host may read or
// change a file.
const othersMay = 0o006

// readPrivate reads a file that others on the host must not be able to read.
func readPrivate(path string) ([]byte, error) {
	return readRegular(path, longestSecret, true)
}

// readRegular reads a file of at most so many bytes. What is no file, such as a pipe
// that nobody writes to, is not waited for.
func readRegular(path string, most int64, private bool) ([]byte, error) {
	what := "certificates"
	if private {
		what = "a secret"
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case private && info.Mode().Perm()&othersMay != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("%s can be read or changed by anybody on this host: chmod o-rw it", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s has over %d bytes, too many for %s", path, most, what)
	}
	return text, err
}

// longestCertificates bounds a file of certificates, in bytes.
const longestCertificates = 1 << 20

// ReadCertificates reads a file of certificates.
func ReadCertificates(path string) ([]byte, error) {
	return readRegular(path, longestCertificates, false)
}

// ReadKey reads a private key, which others on the host must not be able to read.
func ReadKey(path string) ([]byte, error) { return readPrivate(path) }

// ReadSecret reads a secret from a file of one line, which others on the host must
// not be able to read. The error names the file and never holds what is in it.
func ReadSecret(path string) (string, error) {
	text, err := readPrivate(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(text), "\r\n")
	switch {
	case secret == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(secret, "\r\n\x00"):
		return "", fmt.Errorf("%s has several lines: a secret is one", path)
	}
	return secret, nil
}

// leastToken is how long the token of people must be, in bytes: a hexadecimal
// number of 128 bits is.
const leastToken = 32

// PeopleToken gives the token that readers must show; empty: none is asked for.
func (c *Config) PeopleToken() (string, error) {
	if c.People.TokenFile == "" {
		return "", nil
	}
	token, err := ReadSecret(c.People.TokenFile)
	if err != nil {
		return "", c.mistake("people.token_file", "%v", err)
	}
	if len(token) < leastToken || strings.ContainsAny(token, " \t") {
		return "", c.mistake("people.token_file", "%s: a token has at least %d characters and no blank: make one with `openssl rand -hex 32`", c.People.TokenFile, leastToken)
	}
	return token, nil
}
