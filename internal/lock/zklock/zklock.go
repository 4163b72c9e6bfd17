// Package zklock is a lock on ZooKeeper 3.5.3 or later: an ephemeral sequential
// node for each lease, below the lock's directory; the first in sequence holds.
// Waiters stand in line, each watching only the one before it.
//
// A lease ends with its locker's session, and not by its ttl: a holder that is
// alive and forgets to release keeps it. The fence is the id of the
// transaction that made the node, which rises over all of ZooKeeper's data as
// long as it keeps them. Directories are container nodes, which ZooKeeper
// removes some time after they are empty.
package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
)

// A Locker is one session, and keeps its nodes below /locks.
type Locker struct {
	conn    *zk.Conn
	session session
	closed  chan struct{}
}

// Open begins a session with an ensemble, which may settle for another timeout
// than the one that is asked for: by default it allows 2 to 20 of its ticks.
// Open does not wait for a server to answer; the locker keeps trying until
// Close.
func Open(servers []string, timeout time.Duration) (*Locker, error) {
	l := &Locker{session: session{grace: timeout / 4, lost: make(chan struct{})}, closed: make(chan struct{})}
	var err error
	l.conn, _, err = zk.Connect(servers, timeout,
		zk.WithEventCallback(l.session.observe), zk.WithDialer(l.session.dial), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zklock: %w", err)
	}
	return l, nil
}

// Close ends the session, and with it all its leases.
func (l *Locker) Close() {
	close(l.closed)
	l.conn.Close()
	l.session.close()
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// TryLock implements lock.Locker. Those who wait in line count as holders.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	return l.obtain(ctx, key, ttl, (*lease).try)
}

// Lock implements lock.BlockingLocker. Whoever loses the place in line, with the
// session, stands in line again.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	for {
		held, err := l.obtain(ctx, key, ttl, (*lease).wait)
		if !errors.Is(err, errSession) {
			return held, err
		}
	}
}

var errSession = errors.New("the session was lost")

func (l *Locker) obtain(ctx context.Context, key string, ttl time.Duration,
	get func(*lease, context.Context) error) (lock.Lease, error) {
	if err := errors.Join(lock.CheckKey(key), lock.CheckTTL(ttl), ctx.Err()); err != nil {
		return nil, err
	}
	held := &lease{
		locker: l, key: key, lost: l.session.current(),
		dir: "/locks/=" + url.PathEscape(key), // "." alone is no name
		id:  "_c_" + rand.Text(),
	}
	err := get(held, ctx)
	if err == nil && isClosed(held.lost) {
		err = errSession
	}
	if err == nil {
		return held, nil
	}
	held.abandon()
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	return nil, fmt.Errorf("zklock: take %s: %w", key, err)
}

// await returns when op has, or when ctx has ended; the client knows no
// contexts.
func await[T any](ctx context.Context, op func() (T, error)) (T, error) {
	var got T
	done := make(chan error, 1)
	go func() {
		v, err := op()
		if err == nil {
			got = v
		}
		done <- err
	}()
	select {
	case err := <-done:
		return got, err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
