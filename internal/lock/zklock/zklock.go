// Package zklock is a lock on ZooKeeper 3.5.3 or later, and shares it with
// Java: its nodes are those of Curator's InterProcessMutex with the path
// /locks/KEY. Each lease is an ephemeral sequential node in the lock's
// directory. The node with the lowest sequence number holds the lock. The
// others are the queue, in which each waiter watches only its predecessor.
//
// A lease ends with the session of its locker, not after its ttl: a holder
// that is alive and never releases keeps the lock. The fence is the id of the
// transaction (zxid) that created the node. It rises over all of ZooKeeper's
// data, as long as that data is kept. Directories are container nodes, which
// ZooKeeper deletes some time after they have become empty.
package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A Locker is one session. It keeps its nodes below /locks.
type Locker struct {
	conn      *zk.Conn
	asked     time.Duration // session timeout
	session   *session
	requests  chan struct{} // has an element for each request under way
	abandoned driver.Abandoned
	closed    chan struct{}
	closeOnce sync.Once
}

// maxTimeout is the longest session timeout that a client can ask for.
const maxTimeout = math.MaxInt32 * time.Millisecond

// Open starts a session with an ensemble. The ensemble limits the session
// timeout, by default to between 2 and 20 of its ticks of 2 seconds. Open does
// not wait for a server; the locker keeps connecting until Close.
func Open(servers []string, timeout time.Duration) (*Locker, error) {
	if timeout < time.Millisecond || timeout > maxTimeout {
		return nil, fmt.Errorf("zklock: %w: session timeout of %s, want 1ms to %s", lock.ErrInvalid, timeout, maxTimeout)
	}
	timeout = time.Duration(driver.Milliseconds(timeout)) * time.Millisecond // as the client sends it
	l := &Locker{
		asked: timeout, session: newSession(timeout),
		requests: make(chan struct{}, maxRequests), closed: make(chan struct{}),
	}
	var err error
	l.conn, _, err = zk.Connect(servers, timeout, zk.WithHostProvider(&hosts{lookup: net.DefaultResolver.LookupHost}),
		zk.WithEventCallback(l.session.handleEvent), zk.WithDialer(l.session.dial),
		zk.WithLogger(discardLogger{}), zk.WithLogInfo(false))
	if err != nil {
		l.session.close()
		return nil, fmt.Errorf("zklock: %w", err)
	}
	return l, nil
}

// Close ends the session and with it all leases and waits of the locker. The
// server deletes the session's nodes, at the latest after the session timeout.
func (l *Locker) Close() {
	l.closeOnce.Do(func() {
		close(l.closed)
		l.conn.Close()
		l.session.close()
	})
	l.abandoned.Drain(context.Background()) // it deletes nothing any more
}

// Drain implements lock.Drainer: it deletes the nodes of requests whose outcome
// was unknown.
func (l *Locker) Drain(ctx context.Context) { l.abandoned.Drain(ctx) }

// Ping returns an error unless the session is connected, its server replies, and
// the servers grant the session timeout that Open asked for.
func (l *Locker) Ping(ctx context.Context) error {
	if state := l.conn.State(); state != zk.StateHasSession { // the request would wait for a connection
		return fmt.Errorf("zklock: %s", state)
	}
	_, err := request(ctx, l, func() (bool, error) {
		_, _, err := l.conn.Exists("/")
		return true, err
	})
	return errors.Join(err, l.checkTTL(l.asked))
}

// checkTTL refuses a ttl that a lease would not keep: it ends earlier if the
// session does.
func (l *Locker) checkTTL(ttl time.Duration) error {
	if timeout := l.session.grantedTimeout(); ttl > timeout {
		return fmt.Errorf("%w: ttl of %s, but the servers grant a session timeout of %s (maxSessionTimeout)",
			lock.ErrInvalid, ttl, timeout)
	}
	return nil
}

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// TryLock implements lock.Locker. A key with waiters is refused like a key
// with a holder. While several TryLocks contend for a key that has become free
// meanwhile, all of them may be refused. A ttl longer than the session timeout
// is lock.ErrInvalid.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	return l.acquire(ctx, key, ttl, (*lease).tryLock)
}

// Lock implements lock.BlockingLocker. A waiter whose session is lost loses its
// place and joins the queue again at its end. If the servers do not reply when
// ctx ends, the error is not lock.ErrLocked.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	for {
		held, err := l.acquire(ctx, key, ttl, (*lease).lock)
		if !errors.Is(err, errSessionLost) && !errors.Is(err, errNoSession) {
			return held, err
		}
		if e := l.awaitConnection(ctx); e != nil {
			return nil, fmt.Errorf("%w: %w", err, e)
		}
	}
}

func (l *Locker) acquire(ctx context.Context, key string, ttl time.Duration,
	method func(*lease, context.Context) error) (lock.Lease, error) {
	held, err := l.newLease(ctx, key)
	if err == nil {
		err = held.acquire(ctx, ttl, method)
	}
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("zklock: acquire %s: %w", key, err)
	}
	return held, nil
}

// directory returns the path of a lock. Only what ZooKeeper forbids is escaped, so that
// Java finds it by the rule in docs/locks.md.
func directory(key string) string {
	if key == "." || key == ".." {
		return "/locks/" + strings.ReplaceAll(key, ".", "%2E")
	}
	return "/locks/" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(key)
}
