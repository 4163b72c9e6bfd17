package rig

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"example.com/flashsale/internal/lab"
)

// A Stack is a database server and a Redis server in a lab of their own, with
// the secret that signs tokens.
type Stack struct {
	*lab.Lab
	MySQL  *lab.MySQL
	Redis  *lab.Redis
	Secret string
	sales  atomic.Int64

	mu      sync.Mutex
	started map[string][]string // the settings that name more servers, by what needs them
}

// LargeDatabase sizes the database server for a long sale: the indexes fit in
// memory, and the redo log needs no checkpoint in the middle of a burst. MySQL
// and MariaDB differ here; each ignores the loose settings that it does not know.
var LargeDatabase = []string{
	"--max-connections=2000", "--innodb-buffer-pool-size=1G",
	"--loose-innodb-log-file-size=512M", "--loose-innodb-redo-log-capacity=1G",
}

// redisDatabases is how many sales have a Redis database each. The next ones share
// them with the first, whose instances have ended.
const redisDatabases = 1000

// required is what stacks may run; nil is everything.
var required []*lab.Dependency

// Require lets the stacks of this process run only what needed lists. If something of
// it is not installed, Start says so, before a server starts. Require must be called
// before Start.
func Require(needed ...*lab.Dependency) { required = needed }

// OpenLab opens a lab that may run what is required, without a server.
func OpenLab() (*lab.Lab, error) {
	if err := checkDisk(os.TempDir(), leastDisk); err != nil {
		return nil, err
	}
	l, err := lab.Open()
	if err != nil || required == nil {
		return l, err
	}
	if err := l.Require(required...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// leastDisk is what the servers of an experiment write at most, about.
const leastDisk = 4 << 30

// checkDisk returns an error if dir has less space than the servers need. A server
// that finds the disk full only says that it cannot start.
func checkDisk(dir string, need uint64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return err
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < need {
		return fmt.Errorf("%s has %d MB left, and the servers may write %d MB: TMPDIR names another directory",
			dir, free>>20, need>>20)
	}
	return nil
}

// Start starts an empty stack. Its database server shows no commit that is not on disk: it has a binary
// log. databaseArgs are added to its command line. Close stops the stack with everything that was
// started in it.
func Start(databaseArgs ...string) (*Stack, error) {
	l, err := OpenLab()
	if err != nil {
		return nil, err
	}
	s, err := StartIn(l, databaseArgs...)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// StartIn is Start in a lab that is open, with which the stack is stopped.
func StartIn(l *lab.Lab, databaseArgs ...string) (*Stack, error) {
	return startIn(l, rand.Text()+rand.Text(), databaseArgs)
}

// Another starts an empty stack in the lab of s, with the same secret. It is stopped
// with s.
func (s *Stack) Another(databaseArgs ...string) (*Stack, error) {
	return startIn(s.Lab, s.Secret, databaseArgs)
}

func startIn(l *lab.Lab, secret string, databaseArgs []string) (s *Stack, err error) {
	s = &Stack{Lab: l, Secret: secret}
	if s.MySQL, err = lab.StartMySQL(l, append([]string{"--log-bin=log"}, databaseArgs...)...); err != nil {
		return nil, err
	}
	s.Redis, err = lab.StartRedis(l, "--databases", strconv.Itoa(redisDatabases))
	return s, err
}

// With runs job on a new stack and closes the stack afterwards.
func With(job func(*Stack) error, databaseArgs ...string) error {
	s, err := Start(databaseArgs...)
	if err != nil {
		return err
	}
	return errors.Join(job(s), s.Close())
}
