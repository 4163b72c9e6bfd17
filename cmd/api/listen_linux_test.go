package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/flashsale/internal/check"
)

// The instance that listens at the path is stopped, and as many clients wait as
// the kernel lets wait.
func TestSocketOfAStoppedInstanceIsNotTaken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "api.sock")
	address := &syscall.SockaddrUnix{Name: path}
	server := socket(t)
	check.NoError(t, syscall.Bind(server, address))
	check.NoError(t, syscall.Listen(server, 0))
	check.NoError(t, syscall.Connect(socket(t), address))
	if l, err := listen("unix:" + path); err == nil {
		_ = l.Close()
		t.Error("the socket was taken")
	}
}

func TestFileIsNotTakenForASocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	check.NoError(t, os.WriteFile(path, nil, 0o600))
	if l, err := listen("unix:" + path); err == nil {
		_ = l.Close()
		t.Error("the file was replaced by a socket")
	}
	_, err := os.Stat(path)
	check.NoError(t, err)
}

func socket(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	check.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return fd
}
