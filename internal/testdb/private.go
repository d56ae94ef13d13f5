package testdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/corewait/corewait/store/embedded"
)

// settings keep a test's server small, since `go test ./...` runs several, and
// quick. Commits stay synchronous: with the kernel alive, what was acknowledged
// survives the death of the server even without fsync.
var settings = map[string]string{
	"max_connections":                 "100",
	"shared_buffers":                  "32MB",
	"autovacuum":                      "off", // it would hold a template that is copied
	"jit":                             "off",
	"wal_level":                       "minimal",
	"max_wal_senders":                 "0",
	"min_wal_size":                    "32MB",
	"max_wal_size":                    "256MB",
	"max_parallel_workers_per_gather": "0",
}

// unprivileged is the user that root's tests run the server as.
const unprivileged = "nobody"

// longestTemporary is the longest folder for temporary files, in bytes, in which
// the path of a socket still fits.
const longestTemporary = 50

// private is a server in a temporary folder.
type private struct {
	*embedded.Server
	folder  string
	options embedded.Options
	watcher *watcher
}

// startPrivate starts a server in a new temporary folder.
func startPrivate(ctx context.Context, o Options) (*private, error) {
	parent := os.TempDir()
	if len(parent) > longestTemporary {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "corewait-test-")
	if err != nil {
		return nil, err
	}
	p := &private{folder: folder}
	if p.watcher, err = watch(folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	p.options = embedded.Options{Dir: filepath.Join(folder, "postgres"), NoFsync: !o.Fsync, AnyRole: true, Settings: maps.Clone(settings)}
	maps.Copy(p.options.Settings, o.Settings)
	if os.Geteuid() == 0 {
		p.options.RunAs = unprivileged
		err = os.Chmod(folder, 0o711) //nolint:gosec // the server's user passes through
	}
	if err == nil {
		p.Server, err = embedded.Start(ctx, p.options)
	}
	if err != nil {
		return nil, errors.Join(err, p.removeFolder())
	}
	return p, nil
}

// remove ends the server and removes its folder.
func (p *private) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	return errors.Join(p.Stop(ctx), p.removeFolder())
}

func (p *private) removeFolder() error {
	return errors.Join(os.RemoveAll(p.folder), p.watcher.stop())
}

// watcher is a process that removes a folder once this one has ended, which
// nothing within this process could do after a panic, a timeout or a kill.
type watcher struct {
	cmd  *exec.Cmd
	hold io.Closer
}

// watchScript waits for the end of its input, then for the server, which dies
// with the test's process too, and removes the folder.
const watchScript = `
trap '' INT TERM HUP QUIT
read -r _
left=100
while [ -e "$1/postgres/data/postmaster.pid" ] && [ $left -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
while [ -e "$1" ] && [ $left -gt 0 ]; do rm -rf -- "$1" 2>/dev/null || sleep 0.1; left=$((left - 1)); done
rm -rf -- "$1"
`

// watch starts a watcher. Its input is a pipe that nobody writes to and that
// ends when this process does.
func watch(folder string) (*watcher, error) {
	cmd := exec.Command("/bin/sh", "-c", watchScript, "sh", folder) //nolint:gosec,noctx // our own folder; it must outlive this process
	cmd.Dir = "/"
	apart(cmd)
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watcher of %s: %w", folder, err)
	}
	return &watcher{cmd: cmd, hold: hold}, nil
}

// stop ends the watcher, which finds the folder gone.
func (w *watcher) stop() error {
	return errors.Join(w.hold.Close(), w.cmd.Wait())
}
