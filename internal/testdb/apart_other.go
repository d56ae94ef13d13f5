//go:build !unix

package testdb

import "os/exec"

// apart does nothing where there is no private server that would need it.
func apart(*exec.Cmd) {}

// runAs does nothing, as apart.
func runAs(*exec.Cmd, uint32, uint32) {}
