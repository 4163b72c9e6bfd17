// Package lab starts private real servers (MariaDB or MySQL, Redis, nginx, the
// service itself) as child processes in a temporary directory.
//
// A Lab is that directory, and the servers that end with it. Each kind of server
// is a type of its own with a function that starts it in a lab: StartRedis returns
// a *Redis.
//
// No server or file outlives the process that opened the lab. Close stops
// every server and removes the directory. If the process is killed instead,
// its servers are killed, and the next Open removes the directory.
//
// Servers listen on Unix sockets, or on a free loopback port where a client
// needs TCP or the deployed service uses it.
//
// The environment variables LAB_MYSQLD and LAB_REDIS, each the absolute path of
// an executable, override the servers found on PATH.
//
// Only tests and the load tests may import lab; a test checks that the service
// does not.
package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// prefix is short because the path of a Unix socket is limited to 104 bytes.
const prefix = "flashlab-"

// lockName is the name of the file that the process of a lab keeps locked.
const lockName = "lab.lock"

// A Lab is a temporary directory and the servers that run in it.
type Lab struct {
	dir  string
	lock *os.File

	needed     []*Dependency // what the lab may run, if it is restricted
	restricted bool

	mu     sync.Mutex
	closes []func() error
	count  int
}

// Open creates an empty lab. It first removes the directories of labs whose
// process was killed.
func Open() (*Lab, error) {
	removeAbandoned()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	lock, err := createLock(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Lab{dir: dir, lock: lock}, nil
}

// createLock creates the lock file of dir. It locks the file before renaming
// it to lockName: a file of that name that is not locked marks an abandoned
// lab, which another process may remove at any time.
func createLock(dir string) (*os.File, error) {
	temporary := filepath.Join(dir, lockName+".new")
	f, err := flock(temporary, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return f, os.Rename(temporary, filepath.Join(dir, lockName))
}

// Close stops the servers and what else was started, the last first, and removes the directory.
func (l *Lab) Close() error {
	l.mu.Lock()
	closes := l.closes
	l.closes = nil
	l.mu.Unlock()
	var errs []error
	for _, closeIt := range slices.Backward(closes) {
		errs = append(errs, closeIt())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir), l.lock.Close())...)
}

// onClose makes Close call f.
func (l *Lab) onClose(f func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closes = append(l.closes, f)
}

// Dir creates a new empty directory in the lab. Its name begins with name.
func (l *Lab) Dir(name string) (string, error) {
	l.mu.Lock()
	l.count++
	dir := filepath.Join(l.dir, fmt.Sprintf("%s%d", name, l.count))
	l.mu.Unlock()
	return dir, os.Mkdir(dir, 0o755)
}

// flock opens the file at path with the additional flag and locks it. It fails
// if another process has locked the file.
func flock(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeAbandoned removes the directories of labs whose process has ended. A
// directory without a lock file stays: Open may be creating it.
func removeAbandoned() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range dirs {
		// Without O_CREATE: a new file would make the RemoveAll of a lab that is
		// closing fail.
		if f, err := flock(filepath.Join(dir, lockName), 0); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}
