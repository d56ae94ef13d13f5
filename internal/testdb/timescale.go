package testdb

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// timescaleFiles name the exact versions, with their checksums, and the server.
//
//go:embed timescale/package.json timescale/package-lock.json timescale/server.mjs
var timescaleFiles embed.FS

const (
	// installPatience bounds the one download of 40 MB; a registry that does not
	// answer is given up by npm's own limits below.
	installPatience = 5 * time.Minute
	// timescalePatience bounds the start: two seconds on an idle machine.
	timescalePatience = 2 * time.Minute
	// timescaleAtOnce bounds the servers of one test binary: each takes a few
	// hundred MB.
	timescaleAtOnce = 2
)

// unavailable says why there is no TimescaleDB here.
type unavailable struct{ reason string }

func (u *unavailable) Error() string { return u.reason }

// timescaleFolder is where the packages are installed: asked for once in a test
// binary, since an absent registry takes long to say so.
var timescaleFolder = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), installPatience)
	defer cancel()
	return installTimescale(ctx)
})

// timescaleSlots are taken by the servers that run.
var timescaleSlots = make(chan struct{}, timescaleAtOnce)

// Timescale gives the address of a fresh, empty database that can have the
// extension timescaledb, which migrations make where they find it available; on a
// server of its own, which ends with the test. The server is a build of
// PostgreSQL 17 and TimescaleDB for WebAssembly: it serves one connection at a
// time, keeps the session's settings and prepared statements when the next client
// comes, has no background workers and does not take large COPYs. The address
// holds pgx to one connection and to unnamed statements. The test is skipped, and
// says so, where Node.js or its packages cannot be had.
func Timescale(t testing.TB) string {
	t.Helper()
	folder, err := timescaleFolder()
	var missing *unavailable
	if errors.As(err, &missing) {
		t.Skipf("SKIPPED: needs TimescaleDB: %v", err)
	}
	if err != nil {
		t.Fatalf("testdb: timescaledb: %v", err)
	}
	timescaleSlots <- struct{}{}
	t.Cleanup(func() { <-timescaleSlots })
	port, err := startTimescale(t, folder)
	if err != nil {
		t.Fatalf("testdb: timescaledb: %v", err)
	}
	return fmt.Sprintf("postgres://postgres:postgres@127.0.0.1:%d/postgres?sslmode=disable&pool_max_conns=1&default_query_exec_mode=cache_describe", port)
}

// installTimescale gives the folder in the user's cache that holds the packages,
// after installing them there if they are not. Test binaries that install at the
// same time do so apart: the first whose rename succeeds has done it for all.
func installTimescale(ctx context.Context) (string, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", &unavailable{program + " is not installed"}
		}
	}
	files, sum, err := readTimescaleFiles()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &unavailable{"no folder for a cache: " + err.Error()}
	}
	parent := filepath.Join(cache, "corewait-test")
	folder := filepath.Join(parent, "timescale-"+sum)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(parent, 0o750); err != nil {
		return "", &unavailable{"no folder for a cache: " + err.Error()}
	}
	apart, err := os.MkdirTemp(parent, "install-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(apart) }() // gone already where it was renamed
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(apart, name), text, 0o600); err != nil {
			return "", err
		}
	}
	if err := npmInstall(ctx, apart); err != nil {
		return "", err
	}
	if err := os.Rename(apart, folder); err != nil {
		if _, missing := os.Stat(folder); missing != nil {
			return "", err
		}
	}
	return folder, nil
}

// readTimescaleFiles gives the files, and a name for just these versions of them.
func readTimescaleFiles() (map[string][]byte, string, error) {
	files := map[string][]byte{}
	sum := sha256.New()
	entries, err := fs.ReadDir(timescaleFiles, "timescale") // in the order of names
	if err != nil {
		return nil, "", err
	}
	for _, entry := range entries {
		text, err := timescaleFiles.ReadFile("timescale/" + entry.Name())
		if err != nil {
			return nil, "", err
		}
		files[entry.Name()] = text
		fmt.Fprintf(sum, "%s %d\n%s", entry.Name(), len(text), text)
	}
	return files, hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

func npmInstall(ctx context.Context, folder string) error {
	c := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund",
		"--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000", "--loglevel=error")
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err == nil {
		return nil
	}
	// The first lines name the cause, those after it advise.
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return &unavailable{fmt.Sprintf("npm ci: %v: %s", err, strings.Join(lines[:min(len(lines), 3)], "; "))}
}

// startTimescale starts a server and gives its port. It holds the server's
// standard input open, and closes it when the test ends.
func startTimescale(t testing.TB, folder string) (int, error) {
	t.Helper()
	c := exec.CommandContext(context.Background(), "node", "server.mjs")
	c.Dir = folder
	input, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	output, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var complaints strings.Builder
	c.Stderr = &complaints
	if err := c.Start(); err != nil {
		return 0, err
	}
	late := time.AfterFunc(timescalePatience, func() { _ = c.Process.Kill() })
	port := readPort(output)
	late.Stop()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, output)
	}()
	t.Cleanup(func() {
		_ = input.Close()
		_ = c.Process.Kill() // nothing of it is kept
		<-drained
		_ = c.Wait()
	})
	if port == 0 {
		_ = c.Process.Kill()
		<-drained
		_ = c.Wait()
		return 0, fmt.Errorf("node server.mjs ended, or was ended after %s, before it listened: %s", timescalePatience, complaints.String())
	}
	return port, nil
}

// readPort waits for the line that names the port; 0 where the output ends first.
func readPort(output io.Reader) int {
	r := bufio.NewReader(output)
	for {
		line, err := r.ReadString('\n')
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "listening "); ok {
			port, err := strconv.Atoi(number)
			if err == nil {
				return port
			}
		}
		if err != nil {
			return 0
		}
	}
}
