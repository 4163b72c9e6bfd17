// Package zklock is a lock on ZooKeeper 3.5.3 or later. Each lease is an
// ephemeral sequential node in the lock's directory. The node with the lowest
// sequence number holds the lock. The others are the queue, in which each
// waiter watches only its predecessor.
//
// A lease ends with the session of its locker, not after its ttl: a holder
// that is alive and never releases keeps the lock. The fence is the id of the
// transaction (zxid) that created the node. It rises over all of ZooKeeper's
// data, as long as that data is kept. Directories are container nodes, which
// ZooKeeper deletes some time after they have become empty.
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

// A Locker is one session. It keeps its nodes below /locks.
type Locker struct {
	conn    *zk.Conn
	session session
	closed  chan struct{}
}

// Open starts a session with an ensemble. The ensemble limits the session
// timeout, by default to between 2 and 20 of its ticks. Open does not wait for
// a server; the locker keeps connecting until Close.
func Open(servers []string, timeout time.Duration) (*Locker, error) {
	l := &Locker{session: session{grace: timeout / 4, lost: make(chan struct{})}, closed: make(chan struct{})}
	var err error
	l.conn, _, err = zk.Connect(servers, timeout,
		zk.WithEventCallback(l.session.handleEvent), zk.WithDialer(l.session.dial), zk.WithLogger(discardLogger{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zklock: %w", err)
	}
	return l, nil
}

// Close ends the session and with it all leases of the locker.
func (l *Locker) Close() {
	close(l.closed)
	l.conn.Close()
	l.session.close()
}

// Ping returns an error unless the session is connected and its server replies.
func (l *Locker) Ping(ctx context.Context) error {
	if state := l.conn.State(); state != zk.StateHasSession { // the request would wait in the client
		return fmt.Errorf("zklock: %s", state)
	}
	_, err := await(ctx, func() (bool, error) {
		_, _, err := l.conn.Exists("/")
		return true, err
	})
	return err
}

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// TryLock implements lock.Locker. A key with waiters is refused like a key
// with a holder.
func (l *Locker) TryLock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	return l.acquire(ctx, key, (*lease).tryLock)
}

// Lock implements lock.BlockingLocker. A waiter whose session is lost loses its place
// and joins the queue again at its end.
func (l *Locker) Lock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	for {
		held, err := l.acquire(ctx, key, (*lease).lock)
		if !errors.Is(err, errSessionLost) {
			return held, err
		}
	}
}

var errSessionLost = errors.New("session lost")

func (l *Locker) acquire(ctx context.Context, key string,
	method func(*lease, context.Context) error) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	held := &lease{
		locker: l, key: key, lost: l.session.lostChan(),
		dir: "/locks/=" + url.PathEscape(key), // "=", because ZooKeeper forbids a node called "." or ".."
		id:  "_c_" + rand.Text(),
	}
	err := method(held, ctx)
	if err == nil && isClosed(held.lost) {
		err = errSessionLost
	}
	if err == nil {
		return held, nil
	}
	held.cleanUp(ctx)
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	return nil, fmt.Errorf("zklock: acquire %s: %w", key, err)
}

// await runs op and returns its result, or the cause of ctx if ctx ends first.
// The ZooKeeper client takes no contexts.
func await[T any](ctx context.Context, op func() (T, error)) (T, error) {
	var result T
	done := make(chan error, 1)
	go func() {
		v, err := op()
		if err == nil {
			result = v
		}
		done <- err
	}()
	select {
	case err := <-done:
		return result, err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
