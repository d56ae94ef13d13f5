//go:build linux

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMajorVersions(t *testing.T) {
	t.Parallel()
	// What `postgres --version` of the packages prints, and what it may not.
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 17.6\n":                           17,
		"postgres (PostgreSQL) 19beta1\n":                        19,
		"postgres (PostgreSQL) 9.6.24\n":                         9,
		"postgres (PostgreSQL) 18":                               18,
		"postgres (PostgreSQL) devel\n":                          0,
		"postgres (PostgreSQL) 99999999999999999999\n":           0,
		"psql: error\n":                                          0,
		"":                                                       0,
	} {
		if got := parseMajor(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// install writes programs that say that they are PostgreSQL of a version.
func install(t *testing.T, root, name, version string) string {
	t.Helper()
	bin := filepath.Join(root, name, "bin")
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	err := errors.Join(os.MkdirAll(bin, 0o755),
		os.WriteFile(filepath.Join(bin, "postgres"), []byte(script), 0o755),
		os.WriteFile(filepath.Join(bin, "initdb"), []byte(script), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestTheHighestVersionIsChosenAndOldOnesAreNot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	install(t, root, "9.6", "9.6.24")
	install(t, root, "14", "14.19")
	highest := install(t, root, "100", "100.1")
	second := install(t, root, "15", "15.14")
	found := readVersions(t.Context(), machineFolders([]string{root + "/*/bin"}))
	if len(found) < 2 || found[0] != (binaries{highest, 100}) {
		t.Fatalf("found %v", found)
	}
	for _, b := range found {
		if b.major < 15 || b.major == 15 && b.dir != second && strings.HasPrefix(b.dir, root) {
			t.Errorf("found %v", b)
		}
	}
}

func TestAFolderOfBinariesCountsAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	bin := install(t, root, "16", "16.2")
	for name, c := range map[string]struct {
		cluster int
		want    string // of the error; empty: found
	}{
		"for a new cluster":                {0, ""},
		"for a cluster of this version":    {16, ""},
		"for a cluster of another version": {15, "embedded postgres: /srv/x: made by PostgreSQL 15, but PostgreSQL 16 was found: install PostgreSQL 15, or bring the folder to 16 with pg_upgrade"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := findBinaries(t.Context(), Options{BinDir: bin}, "/srv/x", c.cluster)
			if c.want == "" && (err != nil || b != binaries{bin, 16}) {
				t.Errorf("got %v (%v)", b, err)
			}
			if c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	empty := t.TempDir()
	_, err := findBinaries(t.Context(), Options{BinDir: empty}, "/srv/x", 0)
	if err == nil || !strings.Contains(err.Error(), empty+": no initdb and postgres") {
		t.Errorf("an empty folder: %v", err)
	}
}

// Not parallel: the search path is the process's.
func TestMissingBinariesNameThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if found := readVersions(t.Context(), machineFolders(nil)); len(found) != 0 {
		t.Fatalf("found %v where there is nothing", found)
	}
	text := ErrNoBinaries.Error()
	for _, want := range []string{"postgresql-15 (Debian", "postgresql15-server (RHEL)"} {
		if !strings.Contains(text, want) || strings.Contains(text, "\n") {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
