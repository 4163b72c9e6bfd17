package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestMain(m *testing.M) { labtest.Parallel = 20; labtest.Main(m, lab.EtcdServer, lab.NetworkTools) }

func dial(tb testing.TB, server *lab.Server) *clientv3.Client {
	return dialEndpoint(tb, server.Address)
}

func dialEndpoint(tb testing.TB, endpoint string) *clientv3.Client {
	tb.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = cli.Close() })
	return cli
}

var promises = locktest.Promises{
	Exclusive: true, Expires: true, Fences: true, Blocks: true,
	Tick: time.Second,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return etcdlock.New(dial(tb, server)) })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	cli := dial(t, labtest.SharedEtcd(t))
	lockers := [2]lock.BlockingLocker{etcdlock.New(cli), etcdlock.New(dial(t, labtest.SharedEtcd(t)))}
	locktest.RunQueue(t, lockers, func(t *testing.T, key string) int { return len(etcdKeys(t, cli, key)) - 1 })
}

func TestOutages(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	locktest.RunOutages(t, server, true, func(tb testing.TB) lock.Locker { return etcdlock.New(dial(tb, server)) })
}

// etcdKeys returns the keys below a lock's prefix, the oldest first.
func etcdKeys(tb testing.TB, cli *clientv3.Client, key string) []string {
	tb.Helper()
	resp, err := cli.Get(tb.Context(), "lock/"+key+" ", append(clientv3.WithLastCreate(), clientv3.WithLimit(0))...)
	check.NoError(tb, err)
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append([]string{string(kv.Key)}, keys...)
	}
	return keys
}

// The key is deleted, and created anew.
func TestDeletedKeyLosesTheLease(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	lease := locktest.MustTryLock(t, etcdlock.New(cli), key, time.Minute)
	etcdKey := etcdKeys(t, cli, key)[0]
	_, err := cli.Delete(t.Context(), etcdKey)
	check.NoError(t, err)
	for _, ttl := range []time.Duration{time.Minute, time.Minute + time.Second} { // the same ttl, and another
		check.ErrorIs(t, lease.Extend(t.Context(), ttl), lock.ErrLost)
	}
	_, err = cli.Put(t.Context(), etcdKey, "created anew")
	check.NoError(t, err)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	if left := etcdKeys(t, cli, key); len(left) != 1 {
		t.Errorf("keys = %v, want the one that was created anew", left)
	}
}

// The client closes the channel of a watch without an error.
func TestClosedClientEndsTheWaitWithoutTheLock(t *testing.T) {
	t.Parallel()
	w := cutOffWhileWaiting(t, labtest.SharedEtcd(t))
	check.NoError(t, w.cli.Close())
	if err := <-w.returned; err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("Lock of a held key with a closed client: %v, want an unknown outcome", err)
	}
}

// A refused TryLock costs one Raft commit, a pair of TryLock and Release two.
func TestEtcdLeasesAreUsedAgain(t *testing.T) {
	t.Parallel()
	const pairs = 20
	server := labtest.Etcd(t)
	cli := dial(t, server)
	l, key := etcdlock.New(cli), labtest.Name(t)
	commits := func(op func()) uint64 {
		t.Helper()
		before, err := cli.Status(t.Context(), server.Address)
		check.NoError(t, err)
		op()
		after, err := cli.Status(t.Context(), server.Address)
		check.NoError(t, err)
		return after.RaftIndex - before.RaftIndex
	}
	pair := func() {
		lease := locktest.MustTryLock(t, l, key, time.Minute)
		check.NoError(t, lease.Release(t.Context()))
	}
	pair() // grants the etcd lease
	if n := commits(func() {
		for range pairs {
			pair()
		}
	}); n > 2*pairs+1 { // etcd may commit something of its own
		t.Errorf("%d Raft commits for %d pairs, want 2 for each", n, pairs)
	}
	locktest.MustTryLock(t, l, key, time.Minute)
	if n := commits(func() {
		for range pairs {
			locktest.WantLocked(t, l, key)
		}
	}); n > pairs+2 {
		t.Errorf("%d Raft commits for %d refusals, want 1 for each", n, pairs)
	}
}

// An etcd lease that is used again has its full ttl, and one that has expired
// meanwhile is replaced.
func TestIdleEtcdLeaseHasItsFullTTL(t *testing.T) {
	t.Parallel()
	cli := dial(t, labtest.SharedEtcd(t))
	l, key := etcdlock.New(cli), labtest.Name(t)
	for _, idle := range []time.Duration{700 * time.Millisecond, 1500 * time.Millisecond} {
		check.NoError(t, locktest.MustTryLock(t, l, key, time.Second).Release(t.Context()))
		time.Sleep(idle)
		inTime(t, time.Second, func() (time.Duration, error) {
			begin := time.Now()
			again := locktest.MustTryLock(t, l, key, time.Second)
			time.Sleep(700 * time.Millisecond)
			err := again.Release(t.Context())
			return time.Since(begin), err
		})
	}
}

// A waiter's etcd lease is kept alive in the queue, and its ttl starts when the
// waiter becomes the holder.
func TestWaiterKeepsItsPlaceBeyondItsTTL(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	inTime(t, time.Second, func() (time.Duration, error) {
		held := locktest.MustTryLock(t, l, key, time.Minute)
		var waiter string
		var released time.Time
		go func() {
			for len(etcdKeys(t, cli, key)) < 2 {
				time.Sleep(time.Millisecond)
			}
			waiter = etcdKeys(t, cli, key)[1]
			time.Sleep(2500 * time.Millisecond)
			released = time.Now()
			_ = held.Release(context.Background())
		}()
		lease, err := l.Lock(t.Context(), key, time.Second)
		check.NoError(t, err)
		if got := etcdKeys(t, cli, key)[0]; got != waiter { // or its etcd lease was kept alive too late
			t.Logf("the holder is %s, want the waiter %s", got, waiter)
			return time.Second, lease.Release(t.Context())
		}
		time.Sleep(800 * time.Millisecond)
		err = lease.Release(t.Context())
		return time.Since(released), err
	})
}

// inTime repeats attempt while it takes limit or longer, as it may on a busy
// machine. An error of one that took less fails the test.
func inTime(t *testing.T, limit time.Duration, attempt func() (took time.Duration, err error)) {
	t.Helper()
	for range 5 {
		if took, err := attempt(); took < limit {
			check.NoError(t, err)
			return
		}
	}
	t.Errorf("five attempts took %s or longer", limit)
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	locktest.MustTryLock(t, etcdlock.New(cli), key, 1100*time.Millisecond)
	resp, err := cli.Get(t.Context(), etcdKeys(t, cli, key)[0])
	check.NoError(t, err)
	etcdLease, err := cli.TimeToLive(t.Context(), clientv3.LeaseID(resp.Kvs[0].Lease))
	if err != nil || etcdLease.GrantedTTL != 2 {
		t.Errorf("%+v, %v, want a ttl of 2 s for one of 1.1 s", etcdLease, err)
	}
}

func TestEnsemble(t *testing.T) {
	t.Parallel()
	ensemble := labtest.EtcdEnsemble(t)
	locktest.RunEnsemble(t, ensemble.Leader, time.Minute, func(t *testing.T, _ *lab.Member) lock.Locker {
		client, err := clientv3.New(clientv3.Config{ // notices a silent member
			Endpoints: ensemble.Addresses(), DialTimeout: 2 * time.Second, DialKeepAliveTime: time.Second,
			DialKeepAliveTimeout: time.Second, Logger: zap.NewNop(),
		})
		check.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return etcdlock.New(client)
	})
}
