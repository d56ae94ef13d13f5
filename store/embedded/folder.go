//go:build linux

package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// What the folder holds. Only data and socket are the account's; the rest
// belongs to the caller, so that a caller who is root never writes where
// another user could have left a link.
const (
	markerName = "corewait-postgres" // says that the folder is a private server's
	lockName   = "lock"              // held while a process uses the folder
	dataName   = "data"              // the cluster
	newName    = "new"               // a cluster that initdb has not finished
	socketName = "socket"
	logName    = "log"
	hbaName    = "hba.conf"
	identName  = "ident.conf"
)

// markerText is the content of the marker: the layout that this package knows.
const markerText = "private PostgreSQL of corewait, layout 1\n"

// folder is Dir, locked by this process.
type folder struct {
	dir     string // absolute, without links
	account account
	lock    *os.File
	made    bool // Dir did not exist
	fresh   bool // no cluster yet
	// leftover is the socket's folder of an earlier process that did not end
	// well, where it lay outside Dir; else empty.
	leftover string
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// openFolder makes or checks Dir and takes its lock.
func openFolder(dir string, a account) (*folder, error) {
	if dir == "" {
		return nil, errors.New("embedded postgres: no folder given")
	}
	f := &folder{account: a}
	if err := f.makeDir(dir); err != nil {
		return nil, fmt.Errorf("embedded postgres: %w", err)
	}
	if err := f.claim(); err != nil {
		f.discardMade()
		return nil, err
	}
	return f, nil
}

// makeDir makes the folder where it does not exist, and finds its true path.
func (f *folder) makeDir(dir string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	err = os.Mkdir(absolute, 0o700)
	switch {
	case err == nil:
		f.made = true
		if f.account.changed() { // it must reach data and socket below
			err = os.Chmod(absolute, 0o711) //nolint:gosec // to pass through, not to look inside
		}
	case errors.Is(err, os.ErrExist):
		err = nil
	}
	if err != nil {
		return err
	}
	f.dir, err = filepath.EvalSymlinks(absolute)
	return err
}

// claim checks that the folder is ours alone and takes the lock.
func (f *folder) claim() error {
	if err := f.checkDir(); err != nil {
		return fmt.Errorf("embedded postgres: %s: %w", f.dir, err)
	}
	if err := f.checkContent(); err != nil {
		return fmt.Errorf("embedded postgres: %s: %w", f.dir, err)
	}
	if err := f.takeLock(); err != nil {
		return err
	}
	if err := f.mark(); err != nil {
		_ = f.lock.Close()
		return fmt.Errorf("embedded postgres: %w", err)
	}
	return nil
}

func (f *folder) checkDir() error {
	info, err := os.Lstat(f.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a folder")
	}
	if owner := ownerOf(info); owner != os.Geteuid() {
		return fmt.Errorf("belongs to user id %d, not to the caller", owner)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("mode %04o: others may write to it", info.Mode().Perm())
	}
	return nil
}

// checkContent refuses a folder with things in it that this package did not
// put there. Two processes may begin on the same empty folder: the lock and the
// marker may be there already.
func (f *folder) checkContent() error {
	marker, err := readSmall(f.path(markerName))
	if err == nil && marker == markerText {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); name != lockName && (name != markerName || marker != "") {
			return ErrForeign
		}
	}
	return nil
}

// mark writes the marker and finds out whether there is a cluster.
func (f *folder) mark() error {
	if err := os.WriteFile(f.path(markerName), []byte(markerText), 0o600); err != nil {
		return err
	}
	_, err := os.Lstat(f.path(dataName))
	if errors.Is(err, os.ErrNotExist) {
		f.fresh = true
		return nil
	}
	return err
}

// lockTries bounds how often a lock file is found removed behind its lock.
const lockTries = 10

// takeLock locks the lock file for as long as this process keeps it open. The
// kernel gives the lock back when the process ends, however it ends.
func (f *folder) takeLock() error {
	path := f.path(lockName)
	for range lockTries {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // within Dir
		if err != nil {
			return fmt.Errorf("embedded postgres: %w", err)
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			pid, _ := readLock(file)
			_ = file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return &InUseError{Dir: f.dir, PID: livePID(pid)}
			}
			return fmt.Errorf("embedded postgres: %s: %w", path, err)
		}
		if !isFileAt(file, path) { // its holder removed it before letting go
			_ = file.Close()
			continue
		}
		_, f.leftover = readLock(file)
		f.lock = file
		return f.writeLock(f.leftover)
	}
	return fmt.Errorf("embedded postgres: %s: removed by others again and again", path)
}

// writeLock notes who holds the folder and where the socket lies, if outside.
func (f *folder) writeLock(socketFolder string) error {
	if err := f.lock.Truncate(0); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	if _, err := f.lock.WriteAt(fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), socketFolder), 0); err != nil {
		return fmt.Errorf("embedded postgres: %w", err)
	}
	return nil
}

func readLock(file *os.File) (pid int, socketFolder string) {
	lines := bufio.NewScanner(io.NewSectionReader(file, 0, smallLimit))
	if lines.Scan() {
		pid, _ = strconv.Atoi(lines.Text())
	}
	if lines.Scan() {
		socketFolder = lines.Text()
	}
	return pid, socketFolder
}

// livePID is the id if such a process runs, else 0: the lock's holder may not
// have written its own yet.
func livePID(pid int) int {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}

func isFileAt(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// release lets the folder go.
func (f *folder) release() error {
	return errors.Join(f.lock.Truncate(0), f.lock.Close())
}

// discard removes what a start left that made no cluster, and lets go.
func (f *folder) discard() error {
	if !f.fresh {
		return f.release()
	}
	var errs []error
	for _, name := range []string{newName, dataName, socketName, logName, logName + ".1", hbaName, identName, markerName, lockName} {
		errs = append(errs, os.RemoveAll(f.path(name)))
	}
	errs = append(errs, f.lock.Close())
	f.discardMade()
	return errors.Join(errs...)
}

// discardMade removes Dir if this call made it and it is empty.
func (f *folder) discardMade() {
	if f.made {
		_ = os.Remove(f.dir)
	}
}

// smallLimit bounds what is read of the small files of the folder, in bytes.
const smallLimit = 8 << 10

// readSmall reads a small file that is no link.
func readSmall(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // within Dir
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, smallLimit))
	return string(text), err
}

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// clusterVersion is the major version that made the cluster; 0: no cluster.
func (f *folder) clusterVersion() (int, error) {
	if f.fresh {
		return 0, nil
	}
	path := filepath.Join(f.path(dataName), "PG_VERSION")
	text, err := readSmall(path)
	if err != nil {
		return 0, fmt.Errorf("embedded postgres: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || major <= 0 {
		return 0, fmt.Errorf("embedded postgres: %s: %q is no version", path, text)
	}
	return major, nil
}
