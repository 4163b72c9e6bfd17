package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// The instance that listens at the path is stopped, and as many clients wait as
// the kernel lets wait.
func TestSocketOfAStoppedInstanceIsNotTaken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "api.sock")
	address := &syscall.SockaddrUnix{Name: path}
	server := socket(t)
	if err := syscall.Bind(server, address); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(server, 0); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Connect(socket(t), address); err != nil {
		t.Fatal(err)
	}
	if l, err := listen("unix:" + path); err == nil {
		_ = l.Close()
		t.Error("the socket was taken")
	}
}

func socket(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return fd
}
