package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// namesOf gives the names of sources, the folder stripped.
func namesOf(dir string, s *Set) []string {
	var names []string
	for _, src := range s.Sources() {
		names = append(names, below(dir, src.Name))
	}
	return names
}

func reasonsOf(dir string, s *Set) map[string]string {
	reasons := map[string]string{}
	for _, u := range s.Unknown() {
		reasons[below(dir, u.Name)] = u.Reason
	}
	return reasons
}

func TestFoldersAreWalkedInOrderOfNames(t *testing.T) {
	t.Parallel()
	file := toy("kind=interrupts", 1)
	dir := tree(t, map[string]string{
		"b": file + "2\n", "a/z": file + "3\n", "a/a": file + "4\n", ".hidden": file + "5\n", ".git/objects/x": file, "empty": "", "README": "read me\n",
	})
	s := scanTree(t, dir, Limits{})
	if diff := cmp.Diff([]string{".hidden", "a/a", "a/z", "b"}, namesOf(dir, s)); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	want := map[string]string{".git": "hidden folder: not walked", "empty": "empty", "README": "text of no known kind"}
	if diff := cmp.Diff(want, reasonsOf(dir, s)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func TestLinksAndDevicesAreNotFollowed(t *testing.T) {
	t.Parallel()
	file := toy("kind=interrupts", 1)
	dir := tree(t, map[string]string{"in/a": file, "in/sub/b": file + "2\n", "out/secret": file})
	for link, target := range map[string]string{
		"in/out-file": "../out/secret", "in/out-folder": "../out", "in/within": "sub/b", "in/loop": ".", "in/sub/up": "..", "in/nowhere": "gone",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "in/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := scanTree(t, filepath.Join(dir, "in"), Limits{})
	if diff := cmp.Diff([]string{"in/a", "in/sub/b"}, namesOf(dir, s)); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	const leadsOut = "symbolic link that leads out of the folder: not followed"
	want := map[string]string{
		"in/out-file": leadsOut, "in/out-folder": leadsOut, "in/nowhere": "symbolic link that leads nowhere", "in/pipe": "not a regular file",
	}
	if diff := cmp.Diff(want, reasonsOf(dir, s)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func TestALinkGivenAsPathIsFollowed(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"real/a": toy("kind=interrupts", 1)})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"link/a"}, namesOf(dir, scanTree(t, link, Limits{}))); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestAPathGivenTwiceIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": toy("kind=interrupts", 1)})
	s, err := scan(t.Context(), []string{dir, filepath.Join(dir, "a"), dir + "/../" + filepath.Base(dir)}, Limits{}, toyFormats(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Sources()) != 1 {
		t.Errorf("sources %v, want one", s.Sources())
	}
}

func TestPathsThatCannotBeReadEndTheScan(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "", "b": ""})
	pipe := filepath.Join(dir, "sub-pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path, want string
		limits           Limits
	}{
		{"a path that does not exist", filepath.Join(dir, "gone"), "gone: no such file or directory", Limits{}},
		{"a pipe", pipe, "sub-pipe: not a regular file: it is read twice, so save it to a file first", Limits{}},
		{"more files than allowed", dir, ": more than 2 files in all: leave it out, or unpack it and give the files that matter", Limits{MaxFiles: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := scan(t.Context(), []string{tt.path}, tt.limits, toyFormats(), nil)
			if err == nil || below(dir, err.Error()) != strings.TrimPrefix(tt.want, "/") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestAFileWithoutPermissionIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every file")
	}
	dir := tree(t, map[string]string{"a": toy("kind=interrupts", 1)})
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	if got := reasonsOf(dir, scanTree(t, dir, Limits{}))["a"]; got != "cannot be opened: permission denied" {
		t.Errorf("got %q", got)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": toy("kind=interrupts", 1)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scan(ctx, []string{dir}, Limits{}, toyFormats(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancelled", err)
	}
}
