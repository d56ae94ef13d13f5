//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account is the user that the server runs as.
type account struct {
	uid, gid int
	caller   string // name of the user that calls Start
	// credential is what the server's processes change to; nil: the caller's own.
	credential *syscall.Credential
}

// accountOf decides who runs the server. PostgreSQL refuses root, and so does
// this package, unless root names somebody else.
func accountOf(ctx context.Context, runAs string) (account, error) {
	own := os.Geteuid()
	if own == 0 && runAs == "" {
		return account{}, ErrRoot
	}
	caller, err := userName(ctx, own)
	if err != nil {
		return account{}, err
	}
	if runAs == "" {
		return account{uid: own, gid: os.Getegid(), caller: caller}, nil
	}
	named, err := user.Lookup(runAs)
	if err != nil {
		return account{}, fmt.Errorf("embedded postgres: user %q: %w", runAs, err)
	}
	uid, uidErr := parseID(named.Uid)
	gid, gidErr := parseID(named.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("embedded postgres: user %q: %w", runAs, err)
	}
	switch {
	case uid == 0:
		return account{}, ErrRoot
	case int(uid) == own:
		return account{uid: own, gid: os.Getegid(), caller: caller}, nil
	case own != 0:
		return account{}, fmt.Errorf("embedded postgres: user %q: only root can run the server as another user", runAs)
	}
	return account{uid: int(uid), gid: int(gid), caller: caller, credential: &syscall.Credential{Uid: uid, Gid: gid}}, nil
}

func parseID(text string) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == math.MaxUint32 {
		return 0, fmt.Errorf("id %q: not a user's or group's", text)
	}
	return uint32(id), nil
}

// userName is the name that PostgreSQL will see for a user id. Without cgo,
// os/user reads /etc/passwd only; users of a directory service are asked from id.
func userName(ctx context.Context, uid int) (string, error) {
	if found, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return found.Username, nil
	}
	out, err := exec.CommandContext(ctx, "id", "-un").Output()
	if err != nil {
		return "", fmt.Errorf("embedded postgres: user id %d has no name, which PostgreSQL asks for", uid)
	}
	return strings.TrimSpace(string(out)), nil
}

// changed says whether the server runs as another user than the caller.
func (a account) changed() bool { return a.credential != nil }

// give hands a path to the account, never what a link points to.
func (a account) give(path string) error {
	if !a.changed() {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
