//go:build unix

package testdb

import (
	"os/exec"
	"syscall"
)

// apart puts a process in a session of its own, where a terminal's signals to
// the tests do not reach it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// runAs lets a process that is put apart run as another user.
func runAs(cmd *exec.Cmd, uid, gid uint32) {
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
}
