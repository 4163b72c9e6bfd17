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

func TestMain(m *testing.M) { labtest.Main(m) }

func dial(tb testing.TB, server *lab.Etcd) *clientv3.Client {
	tb.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint}, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cli.Close() })
	return cli
}

var promises = locktest.Promises{
	Exclusive: true, Expires: true, Fences: true, Waits: true, Watches: true,
	Tick: time.Second,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return etcdlock.New(dial(tb, server)) })
}

func take(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// names are the keys of a lock, the oldest first.
func names(tb testing.TB, cli *clientv3.Client, key string) []string {
	tb.Helper()
	resp, err := cli.Get(tb.Context(), "lock/"+key+" ", append(clientv3.WithLastCreate(), clientv3.WithLimit(0))...)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, kv := range resp.Kvs {
		names = append([]string{string(kv.Key)}, names...)
	}
	return names
}

func within(tb testing.TB, ch <-chan struct{}, what string) {
	tb.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		tb.Fatal("in vain: " + what)
	}
}

func TestDeletedKeyIsLost(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	lease := take(t, etcdlock.New(cli), key, time.Minute)
	lost := lease.(lock.Watched).Lost()
	if _, err := cli.Delete(t.Context(), names(t, cli, key)[0]); err != nil {
		t.Fatal(err)
	}
	within(t, lost, "waited to hear of the loss")
	for ttl := range 2 { // the same ttl, and another
		if err := lease.Extend(t.Context(), time.Minute+time.Duration(ttl)*time.Second); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Extend: %v, want ErrLost", err)
		}
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
}

func TestExpiryIsLost(t *testing.T) {
	t.Parallel()
	lease := take(t, etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t), time.Second)
	within(t, lease.(lock.Watched).Lost(), "waited for the end of the ttl")
}

func TestReleaseIsNotLost(t *testing.T) {
	t.Parallel()
	lease := take(t, etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t), time.Minute)
	lost := lease.(lock.Watched).Lost()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
		t.Error("a released lease was called lost")
	case <-time.After(200 * time.Millisecond):
	}
}

func TestReleaseSparesAKeyMadeAnew(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	lease := take(t, etcdlock.New(cli), key, time.Minute)
	name := names(t, cli, key)[0]
	_, err := cli.Delete(t.Context(), name)
	if err == nil {
		_, err = cli.Put(t.Context(), name, "another's")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	if left := names(t, cli, key); len(left) != 1 {
		t.Errorf("keys = %v, want the one that is not ours", left)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	cli := dial(t, labtest.Etcd(t))
	l, key := etcdlock.New(cli), labtest.Name(t)
	held := take(t, l, key, time.Minute)
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
	leases, err := cli.Leases(t.Context())
	if err != nil || len(leases.Leases) != 0 || len(names(t, cli, key)) != 0 {
		t.Errorf("left: leases %v, keys %v (%v)", leases, names(t, cli, key), err)
	}
}

// A key with a slash is not below the key without.
func TestSlashMakesAnotherKey(t *testing.T) {
	t.Parallel()
	l, key := etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t)
	for _, key := range []string{key + "/b", key, key + "/", key + "/b/c"} {
		take(t, l, key, time.Minute)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	held := take(t, l, key, time.Minute)
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
			time.Sleep(10 * time.Millisecond) // whoever overtakes has time to
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for len(names(t, cli, key)) < i+2 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	for want := range n {
		if got := <-served; got != want {
			t.Errorf("waiter %d was served as number %d", got, want)
		}
	}
}

// A waiter's etcd lease lives on while it stands in line, and its time begins
// when it holds.
func TestWaiterOutlivesItsTTL(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	held := take(t, l, key, time.Minute)
	time.AfterFunc(2500*time.Millisecond, func() { _ = held.Release(context.Background()) })
	place := make(chan string, 1)
	time.AfterFunc(500*time.Millisecond, func() { place <- names(t, cli, key)[1] })
	lease, err := l.Lock(t.Context(), key, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, cli, key)[0], <-place; got != want {
		t.Errorf("%s holds, and %s stood in line", got, want)
	}
	time.Sleep(800 * time.Millisecond)
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release within the ttl: %v", err)
	}
}

func TestTTLIsRoundedUp(t *testing.T) {
	t.Parallel()
	lease := take(t, etcdlock.New(dial(t, labtest.SharedEtcd(t))), labtest.Name(t), 1900*time.Millisecond)
	time.Sleep(1700 * time.Millisecond)
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("Release within the ttl: %v", err)
	}
}

// When the queue's middle goes, nobody gets the lock by it.
func TestGivingUpMakesNobodyHolder(t *testing.T) {
	t.Parallel()
	cli, key := dial(t, labtest.SharedEtcd(t)), labtest.Name(t)
	l := etcdlock.New(cli)
	held := take(t, l, key, time.Minute)
	middle, leave := context.WithCancel(t.Context())
	go func() { _, _ = l.Lock(middle, key, time.Minute) }()
	for len(names(t, cli, key)) < 2 {
		time.Sleep(time.Millisecond)
	}
	last, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	time.AfterFunc(200*time.Millisecond, leave)
	if _, err := l.Lock(last, key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("Lock behind one who gave up: %v, want ErrLocked", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLeaseSurvivesRestart(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	l, key := etcdlock.New(dial(t, server)), labtest.Name(t)
	lease := take(t, l, key, time.Minute)
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
