//go:build unix

package testdb

import (
	"os/exec"
	"syscall"
)

// apart puts a process in a session of its own, where a terminal's signals to
// the tests do not reach it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
