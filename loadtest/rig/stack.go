package rig

import (
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"

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

// Start starts an empty stack. databaseArgs are added to the command line of the
// database server. Close stops the stack with everything that was started in it.
func Start(databaseArgs ...string) (*Stack, error) {
	l, err := lab.Open()
	if err != nil {
		return nil, err
	}
	s := &Stack{Lab: l, Secret: rand.Text() + rand.Text()}
	if s.MySQL, err = lab.StartMySQL(l, databaseArgs...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if s.Redis, err = lab.StartRedis(l, "--databases", strconv.Itoa(redisDatabases)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// With runs job on a new stack and closes the stack afterwards.
func With(job func(*Stack) error, databaseArgs ...string) error {
	s, err := Start(databaseArgs...)
	if err != nil {
		return err
	}
	return errors.Join(job(s), s.Close())
}
