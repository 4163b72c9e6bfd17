// Package lab starts private real servers (MariaDB or MySQL, Redis, nginx, the
// service itself) as child processes in a temporary directory.
//
// A Lab is that directory, and the servers that end with it. Each kind of server
// is a type of its own with a function that starts it in a lab: StartRedis returns
// a *Redis.
//
// No server or file outlives the process that opened the lab. Close stops
// every server and removes the directory. If the process is killed instead,
// its servers are killed and the directory is removed soon afterwards.
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
)

// prefix is short because the path of a Unix socket is limited to 104 bytes.
const prefix = "flashlab-"

// A Lab is a temporary directory and the servers that run in it.
type Lab struct {
	dir       string
	stopWatch func() // without removing the directory

	needed     []*Dependency // what the lab may run, if it is restricted
	restricted bool

	mu     sync.Mutex
	closes []func() error
	count  int
}

// removalScript is watcherScript for a directory, in which killed servers may write for a moment.
const removalScript = `read -r line || for _ in 1 2 3; do sleep 1; rm -rf -- "$1"; done`

// Open creates an empty lab.
func Open() (*Lab, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	stopWatch, err := watchParent(removalScript, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Lab{dir: dir, stopWatch: stopWatch}, nil
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
	errs = append(errs, os.RemoveAll(l.dir))
	l.stopWatch()
	return errors.Join(errs...)
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
