// Package lab starts private real servers (MariaDB or MySQL, Redis, nginx, the
// service itself) as child processes in a temporary directory of their own.
//
// It promises that nothing outlives its process: Close stops every child and
// removes the directory; if the process is killed instead, the kernel ends the
// children with it, and the next lab sweeps up the directory. Servers listen
// on Unix sockets, or on a free loopback port where a client needs TCP.
//
// The variables LAB_MYSQLD and LAB_REDIS, each the absolute path of a server's
// executable, choose the servers over what is found on PATH.
//
// It is for tests and for loadtest; a test keeps it out of the service.
package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// prefix is short because a Unix socket's path may have only 104 bytes.
const prefix = "flashlab-"

// lockFile is held by the process that a lab belongs to.
const lockFile = "lab.lock"

// A Lab is a temporary directory and the servers that live in it.
type Lab struct {
	dir  string
	held *os.File

	mu      sync.Mutex
	servers []*Server
	count   int
}

// Open makes an empty lab, after removing what killed labs left behind.
func Open() (*Lab, error) {
	sweep()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	held, err := claim(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Lab{dir: dir, held: held}, nil
}

// claim puts the lock file into dir. It is locked before it gets its name:
// under that name, a lab that opens at this moment would take it for a dead
// one's.
func claim(dir string) (*os.File, error) {
	making := filepath.Join(dir, "making")
	f, err := hold(making, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return f, os.Rename(making, filepath.Join(dir, lockFile))
}

// Close stops the servers, the youngest first, and removes all they wrote.
func (l *Lab) Close() error {
	l.mu.Lock()
	servers := l.servers
	l.servers = nil
	l.mu.Unlock()
	var errs []error
	for i := len(servers) - 1; i >= 0; i-- {
		errs = append(errs, servers[i].Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir), l.held.Close())...)
}

// Dir makes a new empty directory in the lab.
func (l *Lab) Dir(name string) (string, error) {
	l.mu.Lock()
	l.count++
	dir := filepath.Join(l.dir, fmt.Sprintf("%s%d", name, l.count))
	l.mu.Unlock()
	return dir, os.Mkdir(dir, 0o755)
}

// hold takes the file lock that tells a living lab from a dead one.
func hold(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, create|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes the directories of labs whose process is gone. A directory
// without a lock file may be one that is just being made, and is left alone.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range dirs {
		// Not created: a lab that closes at this moment could not remove it.
		if f, err := hold(filepath.Join(dir, lockFile), 0); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}
