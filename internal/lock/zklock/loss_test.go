package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/zklock"
)

// The client declares its leases lost before the server, which receives no
// pings either, can grant them to another client.
func TestSilentServerLosesTheLeaseWithinTheTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	l, proxy := openThroughProxy(t, labtest.SharedZooKeeper(t), timeout)
	key := labtest.Name(t)
	lease := locktest.MustTryLock(t, l, key, ttl)
	time.Sleep(timeout / 2) // let the client send pings
	proxy.Partition()
	paused := time.Now()
	for lost := false; !lost; {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		lost = errors.Is(lease.Extend(ctx, ttl), lock.ErrLost)
		cancel()
	}
	if took := time.Since(paused); took > timeout {
		t.Errorf("lease lost %s after the last reply, want within the session timeout of %s", took, timeout)
	}
	proxy.Heal()
	check.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	check.Eventually(t, "the session to return", func() bool {
		next, err := l.TryLock(t.Context(), key, ttl)
		return err == nil && next.Extend(t.Context(), ttl) == nil
	})
}

func TestDeletedNodeLosesTheLease(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, key := connect(t, server), labtest.Name(t)
	lease := locktest.MustTryLock(t, open(t, server, 5*time.Second), key, ttl)
	check.NoError(t, conn.Delete("/locks/"+key+"/"+nodes(t, conn, key)[0], -1))
	check.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
}

func TestCloseLosesAllLeases(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, err := zklock.Open([]string{server.Address}, 30*time.Second)
	check.NoError(t, err)
	lease := locktest.MustTryLock(t, l, key, ttl)
	l.Close()
	check.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrLost)
	locktest.MustTryLock(t, open(t, server, 5*time.Second), key, ttl)
}
