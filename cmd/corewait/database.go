package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/corewait/corewait/store"
)

// Environment variables that address the store.
const (
	databaseEnv         = "COREWAIT_DATABASE_URL"
	databasePasswordEnv = "COREWAIT_DATABASE_PASSWORD_FILE" //nolint:gosec // the name of a variable
)

// database is the flag that addresses the store.
type database struct{ flag string }

func (d *database) register(c *cobra.Command) {
	c.PersistentFlags().StringVar(&d.flag, "database", "", "address of the store, without a password (default: $"+databaseEnv+")")
}

// open connects to the store.
func (d *database) open(ctx context.Context) (*store.Store, error) {
	address, err := d.address()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{URL: address})
}

// address gives the store's address: the flag's, else the environment's. A flag
// shows in the list of processes and in the shell's history, so that it must
// not hold a password.
func (d *database) address() (string, error) {
	address := d.flag
	switch {
	case address == "":
		address = os.Getenv(databaseEnv)
	case store.MayHoldPassword(address):
		return "", fmt.Errorf("%w: --database holds a password, which others can see: put the address into %s, or the password into PGPASSFILE, a service file or the file that %s names", errFlags, databaseEnv, databasePasswordEnv)
	}
	if address == "" {
		return "", fmt.Errorf("%w: no database: set %s or name one with --database", errFlags, databaseEnv)
	}
	file := os.Getenv(databasePasswordEnv)
	if file == "" {
		return address, nil
	}
	password, err := readPassword(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", databasePasswordEnv, err)
	}
	if address, err = store.WithPassword(address, password); err != nil {
		return "", fmt.Errorf("%w: %w", errFlags, err)
	}
	return address, nil
}

// longestPassword bounds what is read from a password file, in bytes.
const longestPassword = 4096

// readPassword gives the first line of a file.
func readPassword(file string) (string, error) {
	f, err := os.Open(filepath.Clean(file)) //nolint:gosec // the operator names it
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestPassword+1))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || len(line) > longestPassword {
		return "", fmt.Errorf("%s: no password of 1 to %d bytes in its first line", file, longestPassword)
	}
	return line, nil
}
