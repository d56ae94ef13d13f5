package store

import (
	"errors"
	"net/url"
	"strings"
)

// WithPassword adds a password to an address, in either of the forms that libpq
// takes. The result must not be shown.
func WithPassword(address, password string) (string, error) {
	if !strings.Contains(address, "://") {
		return address + " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'", nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("address of the database: cannot be read") // the error quotes it
	}
	if u.User != nil {
		u.User = url.UserPassword(u.User.Username(), password)
		return u.String(), nil
	}
	// libpq takes a + for itself, not for a blank. What is there stays as it is.
	escaped := "password=" + strings.ReplaceAll(url.QueryEscape(password), "+", "%20")
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+escaped, "&")
	return u.String(), nil
}
