//go:build !linux

package lab

import "syscall"

// mortal: no kernel but Linux sends a signal when a parent dies, so every
// child is tied to this process by a watcher (see tie). The watcher is tested
// on Linux; nothing in this package has been run on another system yet.
func mortal(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const tied = true

// awaitStop cannot tell elsewhere: a pause takes effect within moments.
func awaitStop(int) {}
