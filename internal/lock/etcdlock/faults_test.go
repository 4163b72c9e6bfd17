package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	locktest.RunFaults(t, promises, false, server.Address, func(tb testing.TB, hostport string) lock.Locker {
		return etcdlock.New(dialEndpoint(tb, "http://"+hostport))
	})
}

// Whatever the request was: an acquisition whose reply was lost is a lease, and
// a release whose reply was lost is a release.
func TestLostReplyIsFoundOut(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	proxy := labtest.Proxy(t, server.Address)
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
		locktest.WantLocked(t, healthy, key)
		loseReply()
		if err := lease.Release(t.Context()); err != nil || proxy.Hits() != 1 {
			t.Errorf("Release after %s with %d lost replies: %v", name, proxy.Hits(), err)
		}
		check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
		locktest.MustTryLock(t, healthy, key, time.Minute)
	}
}

// The waiter is in the queue when etcd falls silent.
func TestSilentServerIsNoRefusal(t *testing.T) {
	t.Parallel()
	server := labtest.SharedEtcd(t)
	proxy := labtest.Proxy(t, server.Address)
	waiter, key := etcdlock.New(dialEndpoint(t, "http://"+proxy.Addr())), labtest.Name(t)
	cli := dial(t, server)
	held := locktest.MustTryLock(t, etcdlock.New(cli), key, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := locktest.Wait(ctx, waiter, key, time.Minute)
	check.Eventually(t, "the waiter is in the queue", func() bool { return len(etcdKeys(t, cli, key)) == 2 })
	proxy.Partition()
	cancel()
	if err := <-returned; err == nil || errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock on a silent server: %v, want the cause and no ErrLocked", err)
	}
	check.NoError(t, held.Release(t.Context()))
	proxy.Heal()
	waiter.Drain(t.Context())
	locktest.MustTryLock(t, etcdlock.New(cli), key, time.Minute)
}

// A waiter that is behind held, through a proxy that has been partitioned since it
// asked for the watch of held's key.
type waiter struct {
	cli      *clientv3.Client
	held     lock.Lease
	proxy    *faultproxy.Proxy
	returned <-chan error
}

func cutOffWhileWaiting(t *testing.T, server *lab.Server) waiter {
	t.Helper()
	proxy := labtest.Proxy(t, server.Address)
	direct, key := dial(t, server), labtest.Name(t)
	held := locktest.MustTryLock(t, etcdlock.New(direct), key, time.Minute)
	cli := dialEndpoint(t, "http://"+proxy.Addr())
	proxy.PartitionAfter(etcdKeys(t, direct, key)[0])
	returned := locktest.Wait(t.Context(), etcdlock.New(cli), key, time.Minute)
	check.Eventually(t, "the waiter asks for the watch", proxy.Partitioned)
	return waiter{cli, held, proxy, returned}
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
	check.NoError(t, err)
	if _, err := direct.Compact(t.Context(), put.Header.Revision); err != nil {
		t.Fatal(err)
	}
	w.proxy.Disconnect()
	w.proxy.Heal()
	check.NoError(t, w.held.Release(t.Context()))
	check.NoError(t, <-w.returned)
}
