package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/locktest"
)

func socket(e *lab.Server) string { return strings.TrimPrefix(e.Address, "unix://") }

// The client's requests end with their context only, so each gets one.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	locktest.RunFaults(t, promises, false, "unix", socket(server), func(tb testing.TB, hostport string) lock.Locker {
		return timedLocker{etcdlock.New(dialEndpoint(tb, "http://"+hostport))}
	})
}

const requestTimeout = time.Second

type timedLocker struct{ lock.Locker }

func (l timedLocker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := l.Locker.TryLock(ctx, key, ttl)
	return timedLease{lease}, err
}

type timedLease struct{ lock.Lease }

func (l timedLease) Extend(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.Lease.Extend(ctx, ttl)
}

func (l timedLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.Lease.Release(ctx)
}

// Whatever the request was: an acquisition whose reply was lost is a lease, and
// a release whose reply was lost is a release.
func TestLostReplyIsFoundOut(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	proxy, err := faultproxy.New("unix", socket(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	faulty, healthy := etcdlock.New(dialEndpoint(t, "http://"+proxy.Addr())), etcdlock.New(dial(t, server))
	for name, acquire := range map[string]func(context.Context, string, time.Duration) (lock.Lease, error){
		"TryLock": faulty.TryLock, "Lock": faulty.Lock,
	} {
		key := labtest.Name(t) + name
		loseReply := func() { proxy.Inject(faultproxy.LoseReply, "lock/"+key, 1) }
		loseReply()
		lease, err := acquire(t.Context(), key, time.Minute)
		if err != nil || proxy.Hits() != 1 {
			t.Fatalf("%s with %d lost replies: %v", name, proxy.Hits(), err)
		}
		if _, err := healthy.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("TryLock of a held key: %v, want ErrLocked", err)
		}
		loseReply()
		if err := lease.Release(t.Context()); err != nil || proxy.Hits() != 1 {
			t.Errorf("Release after %s with %d lost replies: %v", name, proxy.Hits(), err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("second Release: %v, want ErrLost", err)
		}
		mustTryLock(t, healthy, key, time.Minute)
	}
}

// etcd does not reply. When it does again, it still has the request whose caller
// has given up. Releasing it has to be repeated until it has come.
func TestStalledServerLeavesNoKey(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	l, healthy := etcdlock.New(dial(t, server)), etcdlock.New(dial(t, server))
	if err := mustTryLock(t, l, "connects", time.Minute).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	idle := mustTryLock(t, l, "other", time.Minute)
	for name, acquire := range map[string]func(context.Context, string, time.Duration) (lock.Lease, error){
		"TryLock": l.TryLock, "Lock": l.Lock,
	} {
		server.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := acquire(ctx, name, time.Minute)
		cancel()
		if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
			t.Errorf("%s of a paused server: %v, want an unknown outcome", name, err)
		}
		server.Resume()
		l.Drain(t.Context())
		mustTryLock(t, healthy, name, time.Minute)
	}
	if err := idle.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// The waiter is in the queue when etcd falls silent.
func TestSilentServerIsNoRefusal(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	proxy, err := faultproxy.New("unix", socket(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	waiter, key := etcdlock.New(dialEndpoint(t, "http://"+proxy.Addr())), labtest.Name(t)
	cli := dial(t, server)
	held := mustTryLock(t, etcdlock.New(cli), key, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := waiter.Lock(ctx, key, time.Minute)
		returned <- err
	}()
	for len(etcdKeys(t, cli, key)) < 2 {
		time.Sleep(time.Millisecond)
	}
	proxy.Partition()
	cancel()
	if err := <-returned; err == nil || errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock on a silent server: %v, want the cause and no ErrLocked", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy.Heal()
	waiter.Drain(t.Context())
	mustTryLock(t, etcdlock.New(cli), key, time.Minute)
}

// A waiter that is behind held, through a proxy that has been partitioned since it
// asked for the watch of held's key.
type waiter struct {
	cli      *clientv3.Client
	held     lock.Lease
	proxy    *faultproxy.Proxy
	returned chan error
}

func cutOffWhileWaiting(t *testing.T, server *lab.Server) waiter {
	t.Helper()
	proxy, err := faultproxy.New("unix", socket(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	direct, key := dial(t, server), labtest.Name(t)
	w := waiter{dialEndpoint(t, "http://"+proxy.Addr()), mustTryLock(t, etcdlock.New(direct), key, time.Minute), proxy,
		make(chan error, 1)}
	proxy.PartitionAfter(etcdKeys(t, direct, key)[0])
	go func() {
		_, err := etcdlock.New(w.cli).Lock(t.Context(), key, time.Minute)
		w.returned <- err
	}()
	for !proxy.Partitioned() {
		time.Sleep(time.Millisecond)
	}
	return w
}

// The watch is interrupted, and cannot continue where it was.
func TestWaiterKeepsItsPlaceWhenEtcdHasCompacted(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	w, direct := cutOffWhileWaiting(t, server), dial(t, server)
	w.proxy.Heal()
	<-w.cli.Watch(t.Context(), "another", clientv3.WithCreatedNotify()) // the replies come in order
	w.proxy.Partition()
	put, err := direct.Put(t.Context(), "other", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := direct.Compact(t.Context(), put.Header.Revision); err != nil {
		t.Fatal(err)
	}
	w.proxy.Disconnect()
	w.proxy.Heal()
	if err := w.held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-w.returned; err != nil {
		t.Errorf("Lock after the holder's release: %v", err)
	}
}
