package embedded

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// binaries is a folder with initdb and postgres of one major version.
type binaries struct {
	dir   string
	major int
}

// versionPatience bounds how long `postgres --version` may take.
const versionPatience = 10 * time.Second

// packaged are the folders of Debian's and of the PostgreSQL project's packages.
var packaged = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"}

// findBinaries chooses what to run: BinDir where it is given, else what is on
// the machine. An existing cluster needs its own major version (0: there is no
// cluster), a new one takes the highest.
func findBinaries(ctx context.Context, o Options, dir string, cluster int) (binaries, error) {
	folders := []string{o.BinDir}
	if o.BinDir == "" {
		folders = machineFolders(packaged)
	}
	found := readVersions(ctx, folders)
	if ctx.Err() != nil { // then nothing told its version
		return binaries{}, fmt.Errorf("embedded postgres: %w", context.Cause(ctx))
	}
	if len(found) == 0 && o.BinDir != "" {
		return binaries{}, fmt.Errorf("embedded postgres: %s: no initdb and postgres of PostgreSQL %d or later", o.BinDir, oldestMajor)
	}
	if len(found) == 0 {
		return binaries{}, ErrNoBinaries
	}
	if cluster == 0 {
		return found[0], nil
	}
	for _, b := range found {
		if b.major == cluster {
			return b, nil
		}
	}
	return binaries{}, &VersionError{Dir: dir, Cluster: cluster, Found: found[0].major}
}

// machineFolders are the folders that may hold PostgreSQL, that of PATH first.
func machineFolders(patterns []string) []string {
	var folders []string
	if postgres, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(postgres); err == nil { // where the rest of it is
			folders = append(folders, filepath.Dir(target))
		}
	}
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		folders = append(folders, matches...)
	}
	return folders
}

// readVersions keeps the folders that hold both programs in a version that can
// be used, highest first and otherwise in the order given.
func readVersions(ctx context.Context, folders []string) []binaries {
	found := make([]binaries, 0, len(folders))
	for _, dir := range folders {
		dir, err := filepath.Abs(dir)
		if err != nil || slices.ContainsFunc(found, func(b binaries) bool { return b.dir == dir }) {
			continue
		}
		if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		if major := readMajor(ctx, filepath.Join(dir, "postgres")); major >= oldestMajor {
			found = append(found, binaries{dir: dir, major: major})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].major > found[j].major })
	return found
}

// readMajor asks the program for its major version; 0 where it gives none.
func readMajor(ctx context.Context, postgres string) int {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0
	}
	return parseMajor(string(out))
}

// parseMajor reads "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)" or
// "postgres (PostgreSQL) 19beta1"; 0 where the text is another.
func parseMajor(version string) int {
	_, number, ok := strings.Cut(version, "(PostgreSQL) ")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(number)
	}
	major, err := strconv.Atoi(number[:end])
	if err != nil {
		return 0
	}
	return major
}
