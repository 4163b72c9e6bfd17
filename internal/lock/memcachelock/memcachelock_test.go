package memcachelock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/memcachelock"
)

func TestMain(m *testing.M) { labtest.Parallel = 20; labtest.Main(m, lab.MemcachedServer) }

func dial(tb testing.TB, server *lab.Server) *memcache.Client {
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
	locktest.RunFaults(t, promises, false, labtest.SharedMemcached(t).Address,
		func(tb testing.TB, hostport string) lock.Locker {
			mc := memcache.New(hostport)
			mc.Timeout = time.Second // longer than a busy machine delays a reply
			tb.Cleanup(func() { _ = mc.Close() })
			return memcachelock.New(mc)
		})
}

// An eviction has the same effect as the restart here: the key is missing.
func TestOutages(t *testing.T) {
	t.Parallel()
	server := labtest.Memcached(t)
	locktest.RunOutages(t, server, false, func(tb testing.TB) lock.Locker {
		mc := dial(tb, server)
		mc.Timeout = 300 * time.Millisecond
		return memcachelock.New(mc)
	})
}

func TestOrderOfTheServersDoesNotMatter(t *testing.T) {
	t.Parallel()
	a, b := labtest.SharedMemcached(t).Address, labtest.Memcached(t).Address
	open := func(addresses ...string) lock.Locker {
		return memcachelock.New(memcache.NewFromSelector(memcachelock.Servers(addresses...)))
	}
	lockers := []lock.Locker{open(a, b), open(b, a), open(b, a, b)}
	for i := range 30 {
		key := fmt.Sprint(labtest.Name(t), i)
		locktest.MustTryLock(t, lockers[0], key, time.Minute)
		for _, l := range lockers {
			locktest.WantLocked(t, l, key)
		}
	}
}

// The dialer looks it up.
func TestNameOfAServerIsDialled(t *testing.T) {
	t.Parallel()
	mc := memcache.NewFromSelector(memcachelock.Servers("None.invalid:11211"))
	mc.DialContext = func(_ context.Context, _, address string) (net.Conn, error) { return nil, errors.New(address) }
	if err := mc.Ping(); err == nil || err.Error() != "none.invalid:11211" {
		t.Errorf("dialled %v", err)
	}
}

// Release reads the key and then stores it. If another lease has been stored
// in between, Release changes nothing.
func TestReleaseKeepsALeaseAcquiredAfterItsRead(t *testing.T) {
	t.Parallel()
	server := labtest.SharedMemcached(t)
	mc, key := dial(t, server), labtest.Name(t)
	mc.MaxIdleConns = 1
	lease := locktest.MustTryLock(t, memcachelock.New(mc), key, time.Minute)
	other := dial(t, server)
	var next lock.Lease
	mc.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &hookedConn{Conn: conn, beforeSecondWrite: func() {
			check.NoError(t, other.Delete(key))
			next = locktest.MustTryLock(t, memcachelock.New(other), key, time.Minute)
		}}, err
	}
	_ = mc.Close() // the next request dials again
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	check.NoError(t, next.Release(t.Context()))
}

// A hookedConn is a connection that calls a function before its second write.
type hookedConn struct {
	net.Conn
	writes            int
	beforeSecondWrite func()
}

func (c *hookedConn) Write(b []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		c.beforeSecondWrite()
	}
	return c.Conn.Write(b)
}

// memcached reads such a ttl as a date, and the key would have expired.
func TestTTLBeyondAMonthIsInvalid(t *testing.T) {
	t.Parallel()
	l := memcachelock.New(dial(t, labtest.SharedMemcached(t)))
	if _, err := l.TryLock(t.Context(), labtest.Name(t), 30*24*time.Hour); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// memcached's clock ticks once a second, at whatever time a key is locked.
func TestLeaseLastsForItsTTLWhereverTheClockTicks(t *testing.T) {
	t.Parallel()
	mc := dial(t, labtest.SharedMemcached(t))
	holder, next := memcachelock.New(mc), memcachelock.New(dial(t, labtest.SharedMemcached(t)))
	const ttl, phases = time.Second, 10
	for i := range phases {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			time.Sleep(time.Duration(i) * time.Second / phases)
			key := labtest.Name(t)
			start := time.Now()
			locktest.MustTryLock(t, holder, key, ttl)
			for errors.Is(tryLock(t, next, key), lock.ErrLocked) {
				time.Sleep(time.Millisecond)
			}
			if lasted := time.Since(start); lasted < ttl {
				t.Errorf("a lease of %s has lasted for %s", ttl, lasted)
			}
		})
	}
}

func tryLock(t *testing.T, l lock.Locker, key string) error {
	t.Helper()
	_, err := l.TryLock(t.Context(), key, time.Minute)
	return err
}
