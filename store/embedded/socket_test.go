//go:build linux

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longFolder is a folder whose path leaves no room for a socket's.
func longFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(parentFolder(t), strings.Repeat("long", 25))
	copyCluster(t, dir)
	return dir
}

func TestALongPathHasItsSocketInAShortPrivateFolder(t *testing.T) {
	t.Parallel()
	s := mustStart(t, testOptions(longFolder(t)))
	if got := query(t, s.URL(), "SELECT 1"); got != "1" {
		t.Errorf("read %q", got)
	}
	if strings.HasPrefix(s.socket, s.folder.dir) {
		t.Fatalf("the socket is in %s", s.socket)
	}
	info, err := os.Lstat(s.socket)
	if err != nil || info.Mode() != os.ModeDir|0o700 || ownerOf(info) != s.folder.account.uid {
		t.Errorf("the socket's folder: %v of user id %d (%v)", info.Mode(), ownerOf(info), err)
	}
	mustStop(t, s)
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there after Stop (%v)", s.socket, err)
	}
}

func TestAShortFolderLeftByACrashIsRemovedByTheNextStart(t *testing.T) {
	t.Parallel()
	dir := longFolder(t)
	h := startHolder(t, dir)
	h.kill()
	eventually(t, "the server has ended", func() bool { return len(processesIn(t, dir)) == 0 })
	_, left := readLock(mustOpen(t, filepath.Join(dir, lockName)))
	if _, err := os.Lstat(left); err != nil {
		t.Fatalf("the crash left no folder %q, so this shows nothing: %v", left, err)
	}
	s := mustStart(t, testOptions(dir))
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", left, err)
	}
	if got := query(t, s.URL(), "SELECT 1"); got != "1" {
		t.Errorf("read %q", got)
	}
}

func mustOpen(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestASocketFolderThatIsNotPrivateIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(socket string) error
		want    string
	}{
		"a link elsewhere": {func(socket string) error { return os.Symlink(filepath.Dir(socket), socket) }, "not a folder"},
		"a file":           {func(socket string) error { return os.WriteFile(socket, nil, 0o600) }, "not a folder"},
		"open to others": {func(socket string) error {
			return errors.Join(os.Mkdir(socket, 0o700), os.Chown(socket, testUID(t), -1), os.Chmod(socket, 0o755))
		}, "mode 0755, not 0700"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := begin(t, 0o711, map[string]string{markerName: markerText})
			if err := c.prepare(filepath.Join(dir, socketName)); err != nil {
				t.Fatal(err)
			}
			_, err := Start(t.Context(), testOptions(dir))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// testUID is the user id that testOptions' server runs as.
func testUID(t *testing.T) int {
	t.Helper()
	a, err := accountOf(t.Context(), testOptions("").RunAs)
	if err != nil {
		t.Fatal(err)
	}
	return a.uid
}

func TestOnlySafeFoldersHoldShortOnes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode os.FileMode
		safe bool
	}{
		"the user's own":         {0o700, true},
		"as /tmp":                {0o777 | os.ModeSticky, true},
		"open to others":         {0o777, false},
		"open to a group":        {0o770, false},
		"readable by all others": {0o755, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			if err := checkParent(dir); (err == nil) != c.safe {
				t.Errorf("mode %v: %v, want safe: %v", c.mode, err, c.safe)
			}
		})
	}
}

func TestOnlyOurOwnSocketFolderIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		folder string
		mode   os.FileMode
		file   string
		goes   bool
	}{
		"ours with a socket":     {shortPrefix + "1", 0o700, socketFile, true},
		"ours but with a file":   {shortPrefix + "2", 0o700, "letters.txt", false},
		"of another name":        {"letters", 0o700, socketFile, false},
		"open to others by mode": {shortPrefix + "3", 0o755, socketFile, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), c.folder)
			err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, c.file), nil, 0o600), os.Chmod(path, c.mode))
			if err != nil {
				t.Fatal(err)
			}
			_ = removeShort(path, os.Geteuid())
			if _, err := os.Lstat(filepath.Join(path, c.file)); (err != nil) != c.goes {
				t.Errorf("the file: %v, want it gone: %v", err, c.goes)
			}
		})
	}
	link := filepath.Join(t.TempDir(), shortPrefix+"link")
	target := t.TempDir()
	if err := errors.Join(os.Symlink(target, link), os.WriteFile(filepath.Join(target, socketFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := removeShort(link, os.Geteuid()); err == nil {
		t.Error("a link was followed")
	}
}

func TestSocketPathsEndAtTheKernelsLimit(t *testing.T) {
	t.Parallel()
	// sun_path holds 108 bytes with the closing zero (unix(7)); "/.s.PGSQL.5432" is 14.
	for length, fits := range map[int]bool{93: true, 94: false} {
		if folder := "/" + strings.Repeat("x", length-1); fitsSocket(folder) != fits {
			t.Errorf("a folder of %d bytes fits: %v, want %v", length, !fits, fits)
		}
	}
	if fitsSocket("/srv/a,b") {
		t.Error("a comma separates folders in PostgreSQL's list")
	}
}
