// Package embedded runs a private PostgreSQL in a folder, for small sites, the
// demo and tests. It owns the folder: who may use it, who uses it now, the
// cluster inside, and the server's life. It must not know the schema.
//
// Everything that decides about safety is on the server's command line, which
// neither postgresql.conf nor ALTER SYSTEM can override: no TCP, one Unix
// socket in a folder of mode 0700, and the two files that say who may log in.
package embedded

import (
	"errors"
	"fmt"
)

// Options say where a private server lives. Dir alone is enough.
type Options struct {
	// Dir is the folder that holds cluster, socket, log and lock. It is made if
	// it does not exist. Nobody else may be able to write to it.
	Dir string
	// BinDir is the folder of initdb and postgres. Empty: found on the machine.
	BinDir string
	// RunAs names the user that the server runs as when the caller is root,
	// which PostgreSQL refuses to run as. Folders above Dir must let it through.
	RunAs string
	// NoFsync keeps the kernel from being asked to write to disk: faster, and
	// the cluster is lost with the machine's power. For tests only.
	NoFsync bool
	// AnyRole lets whoever can open the socket log in as any role, as tests of
	// roles must. Otherwise the caller's user logs in as Owner and nobody else.
	AnyRole bool
	// Settings are further parameters of postgresql.conf, by name.
	Settings map[string]string
}

// Owner is the role that owns the cluster, and Database the database that
// Start creates in it.
const (
	Owner    = "corewait"
	Database = "corewait"
)

// oldestMajor is the first major version of PostgreSQL that the store runs on.
const oldestMajor = 15

var (
	// ErrRoot says that root asked for a server without naming a user to run it.
	ErrRoot = errors.New("embedded postgres: root may not run PostgreSQL: start as an unprivileged user")
	// ErrNoBinaries says that no PostgreSQL was found that could be run.
	ErrNoBinaries = errors.New("embedded postgres: no PostgreSQL 15 or later found: install the package postgresql-15 (Debian, Ubuntu) or postgresql15-server (RHEL)")
	// ErrForeign says that a folder holds something that is not a private server's.
	ErrForeign = errors.New("is not empty and holds no private PostgreSQL of corewait: name another folder")
	// ErrUnsupported says that this operating system has no private server.
	ErrUnsupported = errors.New("embedded postgres: needs Linux: name a PostgreSQL server instead")
)

// InUseError says that a running process holds the folder.
type InUseError struct {
	Dir string
	PID int // of the process that called Start; 0 is unknown
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("embedded postgres: %s: in use by another process", e.Dir)
	}
	return fmt.Sprintf("embedded postgres: %s: in use by process %d", e.Dir, e.PID)
}

// VersionError says that the cluster is of a major version of PostgreSQL that
// the machine does not have.
type VersionError struct {
	Dir     string
	Cluster int // major version that made the cluster
	Found   int // highest major version on the machine
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("embedded postgres: %s: made by PostgreSQL %d, but PostgreSQL %d was found: install PostgreSQL %d, or bring the folder to %d with pg_upgrade",
		e.Dir, e.Cluster, e.Found, e.Cluster, e.Found)
}
