package etcdlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.EtcdServer, lab.NetworkTools) }

func dial(tb testing.TB, server *lab.Server) *clientv3.Client {
	return dialEndpoint(tb, server.Address)
}

func dialEndpoint(tb testing.TB, endpoint string) *clientv3.Client {
	tb.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cli.Close() })
	return cli
}

var promises = locktest.Promises{
	Exclusive: true, Expires: true, Fences: true, Blocks: true, Watches: true,
	Tick: time.Second,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return etcdlock.New(dial(tb, server)) })
}

func mustTryLock(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// etcdKeys returns the keys below a lock's prefix, the oldest first.
func etcdKeys(tb testing.TB, cli *clientv3.Client, key string) []string {
	tb.Helper()
	resp, err := cli.Get(tb.Context(), "lock/"+key+" ", append(clientv3.WithLastCreate(), clientv3.WithLimit(0))...)
	if err != nil {
		tb.Fatal(err)
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append([]string{string(kv.Key)}, keys...)
	}
	return keys
}

func mustReceive(tb testing.TB, ch <-chan struct{}, what string) {
	tb.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		tb.Fatalf("timed out waiting for %s", what)
	}
}

func TestDeletedKeyLosesTheLease(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	lease := mustTryLock(t, etcdlock.New(cli), key, time.Minute)
	lost := lease.(lock.WatchedLease).Lost()
	if _, err := cli.Delete(t.Context(), etcdKeys(t, cli, key)[0]); err != nil {
		t.Fatal(err)
	}
	mustReceive(t, lost, "Lost after the key was deleted")
	for _, ttl := range []time.Duration{time.Minute, time.Minute + time.Second} { // the same ttl, and another
		if err := lease.Extend(t.Context(), ttl); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Extend to %s: %v, want ErrLost", ttl, err)
		}
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
}

func TestExpiryLosesTheLease(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t), time.Second)
	mustReceive(t, lease.(lock.WatchedLease).Lost(), "Lost after the ttl")
}

func TestReleaseDoesNotCloseLost(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t), time.Minute)
	lost := lease.(lock.WatchedLease).Lost()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
		t.Error("Lost was closed by Release")
	case <-time.After(200 * time.Millisecond):
	}
}

func TestReleaseDeletesNoKeyCreatedAnew(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	lease := mustTryLock(t, etcdlock.New(cli), key, time.Minute)
	etcdKey := etcdKeys(t, cli, key)[0]
	_, err := cli.Delete(t.Context(), etcdKey)
	if err == nil {
		_, err = cli.Put(t.Context(), etcdKey, "created anew")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	if left := etcdKeys(t, cli, key); len(left) != 1 {
		t.Errorf("keys = %v, want the one that was created anew", left)
	}
}

func TestNoKeysAreLeft(t *testing.T) {
	t.Parallel()
	cli := dial(t, labtest.Etcd(t))
	l, key := etcdlock.New(cli), labtest.Name(t)
	held := mustTryLock(t, l, key, time.Minute)
	if _, err := l.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("TryLock: %v, want ErrLocked", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Lock(ctx, key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("Lock: %v, want ErrLocked", err)
	}
	if err := held.Extend(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := etcdKeys(t, cli, key); len(left) != 0 {
		t.Errorf("left are keys %v, want none", left)
	}
}

// The client closes the channel of a watch without an error.
func TestClosedClientEndsTheWaitWithoutTheLock(t *testing.T) {
	t.Parallel()
	w := cutOffWhileWaiting(t, labtest.SharedEtcd(t))
	if err := w.cli.Close(); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		op()
		after, err := cli.Status(t.Context(), server.Address)
		if err != nil {
			t.Fatal(err)
		}
		return after.RaftIndex - before.RaftIndex
	}
	pair := func() {
		lease := mustTryLock(t, l, key, time.Minute)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	pair() // grants the etcd lease
	if n := commits(func() {
		for range pairs {
			pair()
		}
	}); n > 2*pairs+1 { // etcd may commit something of its own
		t.Errorf("%d Raft commits for %d pairs, want 2 for each", n, pairs)
	}
	mustTryLock(t, l, key, time.Minute)
	if n := commits(func() {
		for range pairs {
			if _, err := l.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
				t.Errorf("TryLock: %v, want ErrLocked", err)
			}
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
		if err := mustTryLock(t, l, key, time.Second).Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(idle)
		inTime(t, time.Second, func() (time.Duration, error) {
			begin := time.Now()
			again := mustTryLock(t, l, key, time.Second)
			time.Sleep(700 * time.Millisecond)
			err := again.Release(t.Context())
			return time.Since(begin), err
		})
	}
}

// No key's prefix contains another key, even if that begins with it and a slash.
func TestKeysWithSlashesAreIndependent(t *testing.T) {
	t.Parallel()
	l, key := etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t)
	for _, key := range []string{key + "/b", key, key + "/", key + "/b/c"} {
		mustTryLock(t, l, key, time.Minute)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	held := mustTryLock(t, l, key, time.Minute)
	const n = 5
	served := make(chan int, n)
	var waiting sync.WaitGroup
	for i := range n {
		waiting.Go(func() {
			lease, err := l.Lock(t.Context(), key, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			served <- i
			time.Sleep(10 * time.Millisecond) // gives a waiter that is out of order the time to show
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for len(etcdKeys(t, cli, key)) < i+2 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	for want := range n {
		if got := <-served; got != want {
			t.Errorf("waiter %d was served in place %d", got, want)
		}
	}
}

// A waiter's etcd lease is kept alive in the queue, and its ttl starts when the
// waiter becomes the holder.
func TestWaiterKeepsItsPlaceBeyondItsTTL(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	inTime(t, time.Second, func() (time.Duration, error) {
		held := mustTryLock(t, l, key, time.Minute)
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
		if err != nil {
			t.Fatal(err)
		}
		if got := etcdKeys(t, cli, key)[0]; got != waiter {
			t.Errorf("the holder is %s, want the waiter %s", got, waiter)
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
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("five attempts took %s or longer", limit)
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	mustTryLock(t, etcdlock.New(cli), key, 1100*time.Millisecond)
	resp, err := cli.Get(t.Context(), etcdKeys(t, cli, key)[0])
	if err != nil {
		t.Fatal(err)
	}
	etcdLease, err := cli.TimeToLive(t.Context(), clientv3.LeaseID(resp.Kvs[0].Lease))
	if err != nil || etcdLease.GrantedTTL != 2 {
		t.Errorf("%+v, %v, want a ttl of 2 s for one of 1.1 s", etcdLease, err)
	}
}

// When a waiter in the middle of the queue is cancelled, its successor
// continues to wait for the holder.
func TestCancelledWaiterGrantsNothingToItsSuccessor(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	held := mustTryLock(t, l, key, time.Minute)
	queued := func(n int) {
		for len(etcdKeys(t, cli, key)) != n {
			time.Sleep(time.Millisecond)
		}
	}
	middle, cancelMiddle := context.WithCancel(t.Context())
	go func() { _, _ = l.Lock(middle, key, time.Minute) }()
	queued(2)
	last, cancelLast := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		_, err := l.Lock(last, key, time.Minute)
		returned <- err
	}()
	queued(3)
	cancelMiddle()
	queued(2)
	select {
	case err := <-returned:
		t.Fatalf("Lock behind a cancelled waiter returned %v while the key was held", err)
	case <-time.After(200 * time.Millisecond):
	}
	cancelLast()
	if err := <-returned; !errors.Is(err, lock.ErrLocked) {
		t.Errorf("Lock behind a cancelled waiter: %v, want ErrLocked", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLeaseSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	l, key := etcdlock.New(dial(t, server)), labtest.Name(t)
	lease := mustTryLock(t, l, key, time.Minute)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := l.TryLock(ctx, labtest.Name(t), time.Minute); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock without a server: %v, want an unknown outcome", err)
	}
	if err := lease.Extend(ctx, time.Minute); err == nil || errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend without a server: %v, want an unknown outcome", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock after the restart: %v, want ErrLocked", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release after the restart: %v", err)
	}
}
