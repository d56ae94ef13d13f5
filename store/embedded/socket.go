//go:build linux

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// socketFile is what PostgreSQL calls the socket of its default port.
	socketFile = ".s.PGSQL.5432"
	// socketPathLimit is the longest path of a Unix socket, in bytes: sun_path
	// of unix(7) holds 108 with the closing zero.
	socketPathLimit = 107
	// shortPrefix begins the names of socket folders outside of Dir.
	shortPrefix = "corewait-postgres-"
)

// makeSocketFolder gives the folder for the socket: within Dir, or where that
// path is too long, one of a name that cannot be foretold in the user's runtime
// folder or the one for temporary files.
func (f *folder) makeSocketFolder() (path string, outside bool, err error) {
	path = f.path(socketName)
	if fitsSocket(path) {
		err = os.Mkdir(path, 0o700)
		if err == nil {
			err = f.account.give(path)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return "", false, fmt.Errorf("embedded postgres: %w", err)
		}
		return path, false, checkPrivate(path, f.account.uid)
	}
	for _, parent := range f.shortParents() {
		if !fitsSocket(filepath.Join(parent, shortPrefix+"0123456789")) || checkParent(parent) != nil {
			continue
		}
		path, err = os.MkdirTemp(parent, shortPrefix)
		if err != nil {
			continue
		}
		if err = f.account.give(path); err == nil {
			err = checkPrivate(path, f.account.uid)
		}
		if err == nil {
			err = f.writeLock(path)
		}
		if err != nil {
			_ = os.Remove(path)
			return "", false, fmt.Errorf("embedded postgres: %w", err)
		}
		return path, true, nil
	}
	return "", false, fmt.Errorf("embedded postgres: %s: path too long for a socket (%d bytes), and no other folder is safe for it: use a shorter path", f.dir, socketPathLimit)
}

// shortParents are the folders in which a short path is looked for.
func (f *folder) shortParents() []string {
	parents := make([]string, 0, 3)
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && !f.account.changed() {
		parents = append(parents, filepath.Clean(runtime))
	}
	return append(parents, filepath.Clean(os.TempDir()), "/tmp")
}

// fitsSocket says whether a socket in that folder has a path that the kernel,
// PostgreSQL's list of folders and the client's list of hosts can all take.
func fitsSocket(folder string) bool {
	return len(folder)+1+len(socketFile) <= socketPathLimit && !strings.ContainsAny(folder, ",\"\n")
}

// checkPrivate makes sure that a folder is one, belongs to the user and lets
// nobody else in.
func checkPrivate(path string, uid int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("embedded postgres: %s: not a folder", path)
	}
	if owner := ownerOf(info); owner != uid {
		return fmt.Errorf("embedded postgres: %s: belongs to user id %d, not %d", path, owner, uid)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		return fmt.Errorf("embedded postgres: %s: mode %04o, not 0700", path, mode)
	}
	return nil
}

// checkParent refuses folders in which others could put another folder in the
// place of ours: those that others may write to and that are not sticky.
func checkParent(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner := ownerOf(info)
	switch {
	case !info.IsDir():
		return errors.New("not a folder")
	case owner != 0 && owner != os.Geteuid():
		return errors.New("belongs to another user")
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0:
		return errors.New("others may write to it")
	}
	return nil
}

// removeShort removes a socket folder outside of Dir. The path comes from the
// lock file: only a folder that bears our name, mode and owner is touched, and
// in it only the socket.
func removeShort(path string, uid int) error {
	if path == "" || !filepath.IsAbs(path) || !strings.HasPrefix(filepath.Base(path), shortPrefix) {
		return nil
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0) //nolint:gosec // checked before and after
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	info, err := folder.Stat()
	if err != nil {
		return err
	}
	if ownerOf(info) != uid || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s: not our folder any more", path)
	}
	for _, name := range []string{socketFile, socketFile + ".lock"} {
		if err := syscall.Unlinkat(int(folder.Fd()), name); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
	}
	return os.Remove(path)
}
