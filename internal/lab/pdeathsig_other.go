//go:build !linux

package lab

import "syscall"

// pdeathsig cannot set a death signal: only Linux has one. Every child gets a
// parentWatch instead. The parent watch is tested on Linux; this package has
// not been run on other systems.
func pdeathsig(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const needsParentWatch = true

// awaitStop does nothing: a stop takes effect within milliseconds, and only
// Linux reports when.
func awaitStop(int) {}
