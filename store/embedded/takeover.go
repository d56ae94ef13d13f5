//go:build linux

package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// fastPatience is how long a fast shutdown may take: it writes a checkpoint.
	fastPatience = time.Minute
	// immediatePatience is how long an immediate one may: the postmaster itself
	// kills sessions that have not ended after 5 s.
	immediatePatience = 15 * time.Second
	// pollInterval is how often a state that cannot be waited for is looked at.
	pollInterval = 10 * time.Millisecond
)

// takeOver stops a server that an earlier process left running in the cluster;
// this process holds the folder's lock, so nobody uses it. It gives the process
// id in postmaster.pid where that is now another program's; else 0.
//
// No pid file is ever removed here. PostgreSQL removes a stale one itself, after
// it has made sure that no session of the old server lives on.
func takeOver(ctx context.Context, data string) (reused int, err error) {
	pid, _ := readPostmaster(data)
	if pid <= 0 {
		return 0, nil
	}
	left, err := os.FindProcess(pid) // from here on, the same process or none
	if err != nil || !isPostmaster(pid, data) {
		return pid, nil
	}
	defer func() { _ = left.Release() }()
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGINT, fastPatience}, {syscall.SIGQUIT, immediatePatience}} {
		if err := left.Signal(step.signal); err != nil && isPostmaster(pid, data) {
			return 0, fmt.Errorf("embedded postgres: %s: server %d left by an earlier process: %w", data, pid, err)
		}
		if poll(ctx, step.patience, func() bool { return !isPostmaster(pid, data) }) {
			return 0, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return 0, fmt.Errorf("embedded postgres: %s: server %d left by an earlier process does not stop", data, pid)
}

// statusLine is where postmaster.pid has the server's status, counted from 0
// (LOCK_FILE_LINE_PM_STATUS in PostgreSQL's src/include/utils/pidfile.h).
const statusLine = 7

// readPostmaster reads the server's process id and status from postmaster.pid;
// 0 and "" where it has none. A server for a single session writes its id with a
// minus.
func readPostmaster(data string) (pid int, status string) {
	text, err := readSmall(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(text, "\n")
	if pid, err = strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(lines[0]), "-")); err != nil {
		return 0, ""
	}
	if len(lines) > statusLine {
		status = strings.TrimSpace(lines[statusLine])
	}
	return pid, status
}

// isPostmaster says whether the process is a server of that cluster: process
// ids are used again, after a restart of the machine most of all.
func isPostmaster(pid int, data string) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	line, err := os.ReadFile(filepath.Join(proc, "cmdline")) //nolint:gosec // of /proc
	if err != nil || len(line) == 0 {                        // gone, or ended and not yet waited for
		return false
	}
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if program := filepath.Base(args[0]); program != "postgres" && program != "postmaster" {
		return false
	}
	if i := slices.Index(args, "-D"); i >= 0 && i+1 < len(args) && args[i+1] == data {
		return true
	}
	return sameFolder(filepath.Join(proc, "cwd"), data) // where a postmaster works
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// poll looks at a condition until it holds, at most so long.
func poll(ctx context.Context, patience time.Duration, holds func() bool) bool {
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return holds()
		case <-end.C:
			return holds()
		case <-tick.C:
		}
	}
	return true
}
