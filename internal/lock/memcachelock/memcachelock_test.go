package memcachelock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/memcachelock"
)

func TestMain(m *testing.M) { labtest.Main(m) }

func dial(tb testing.TB, server *lab.Memcached) *memcache.Client {
	mc := memcache.New(server.Address)
	mc.Timeout = 5 * time.Second
	tb.Cleanup(func() { _ = mc.Close() })
	return mc
}

var promises = locktest.Promises{Exclusive: true, Expires: true, Tick: 2 * time.Second}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedMemcached(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return memcachelock.New(dial(tb, server)) })
}

func TestFaults(t *testing.T) {
	t.Parallel()
	locktest.RunFaults(t, promises, false, "unix", labtest.SharedMemcached(t).Address, func(tb testing.TB, hostport string) lock.Locker {
		mc := memcache.New(hostport)
		mc.Timeout = 250 * time.Millisecond
		tb.Cleanup(func() { _ = mc.Close() })
		return memcachelock.New(mc)
	})
}

func take(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// Eviction and restart look the same: the key is not there.
func TestForgottenKeyIsLost(t *testing.T) {
	t.Parallel()
	server := labtest.Memcached(t)
	l, key := memcachelock.New(dial(t, server)), labtest.Name(t)
	lease := take(t, l, key, time.Minute)
	server.Kill()
	if err := lease.Extend(t.Context(), time.Minute); err == nil || errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend without a server: %v, want an unknown outcome", err)
	}
	if _, err := l.TryLock(t.Context(), key, time.Minute); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock without a server: %v, want an unknown outcome", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := lease.Extend(t.Context(), time.Minute); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend after a restart: %v, want ErrLost", err)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release after a restart: %v, want ErrLost", err)
	}
	take(t, l, key, time.Minute)
}

// A reply that never comes leaves no key behind.
func TestLostReplyIsLetGo(t *testing.T) {
	t.Parallel()
	server := labtest.SharedMemcached(t)
	mc, key := dial(t, server), labtest.Name(t)
	var lose atomic.Bool
	mc.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &deaf{Conn: conn, lose: &lose}, err
	}
	lose.Store(true)
	_, err := memcachelock.New(mc).TryLock(t.Context(), key, time.Minute)
	if err == nil || errors.Is(err, lock.ErrLocked) {
		t.Fatalf("TryLock whose reply is lost: %v, want an unknown outcome", err)
	}
	take(t, memcachelock.New(dial(t, server)), key, time.Minute)
}

// A deaf connection loses one reply, after the server has sent it.
type deaf struct {
	net.Conn
	lose *atomic.Bool
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if d.lose.CompareAndSwap(true, false) {
		return 0, errors.New("connection reset")
	}
	return n, err
}

// Whoever looked while the lease was ours, and stores when it is another's,
// stores nothing.
func TestSlowExtendSparesNextHolder(t *testing.T) {
	t.Parallel()
	server := labtest.SharedMemcached(t)
	slow, key := dial(t, server), labtest.Name(t)
	slow.MaxIdleConns = 1
	lease := take(t, memcachelock.New(slow), key, time.Minute)
	other := dial(t, server)
	var next lock.Lease
	slow.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &interrupted{Conn: conn, before: func() {
			if err := other.Delete(key); err != nil {
				t.Error(err)
			}
			next = take(t, memcachelock.New(other), key, time.Minute)
		}}, err
	}
	_ = slow.Close() // dial anew
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Errorf("the next holder's Release: %v", err)
	}
}

// An interrupted connection is overtaken before its second write.
type interrupted struct {
	net.Conn
	writes int
	before func()
}

func (c *interrupted) Write(b []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		c.before()
	}
	return c.Conn.Write(b)
}

func TestOverlongTTLIsRefused(t *testing.T) {
	t.Parallel()
	l := memcachelock.New(dial(t, labtest.SharedMemcached(t)))
	if _, err := l.TryLock(t.Context(), labtest.Name(t), 31*24*time.Hour); err == nil {
		t.Error("memcached would take the ttl for a date, and the key for expired")
	}
}
