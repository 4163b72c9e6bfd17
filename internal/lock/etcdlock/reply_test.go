package etcdlock

import (
	"context"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

func dial(t *testing.T, server *lab.Server) *clientv3.Client {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Address}, Logger: zap.NewNop()})
	check.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

// The put may come when etcd, which stalls now, goes on.
func TestEtcdLeaseOfAnUncertainPutIsRevokedWhenEtcdReplies(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	cli := dial(t, server)
	l := New(cli)
	held := locktest.MustTryLock(t, l, "k", time.Minute)
	server.Pause()
	uncertain := held.(*lease)
	uncertain.uncertain = true
	uncertain.retire(t.Context(), true)
	server.Resume()
	l.Drain(t.Context())
	if left, err := cli.TimeToLive(t.Context(), uncertain.leaseID); err != nil || left.TTL > 0 {
		t.Errorf("the etcd lease has %ds left, %v, want none", left.TTL, err)
	}
}

// The predecessor's key is deleted between the put and the watch.
func TestReleaseBeforeTheWatchIsFound(t *testing.T) {
	t.Parallel()
	cli := dial(t, labtest.SharedEtcd(t))
	l := New(cli)
	held := locktest.MustTryLock(t, l, labtest.Name(t), time.Minute)
	holder := held.(*lease)
	waiter := &lease{locker: l, cli: cli, prefix: holder.prefix, etcdKey: holder.prefix + "waiter"}
	before, err := waiter.put(t.Context(), clientv3.Compare(clientv3.CreateRevision(waiter.etcdKey), "=", 0))
	if err != nil || before.predecessor != holder.etcdKey {
		t.Fatalf("behind %q, %v, want the holder %q", before.predecessor, err, holder.etcdKey)
	}
	check.NoError(t, held.Release(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if after, err := waiter.nextPlace(ctx, before); err != nil || after.predecessor != "" {
		t.Errorf("behind %q, %v, want the waiter to be first", after.predecessor, err)
	}
}

// The reply to the put is lost, the second put is refused, and then etcd stalls.
func TestPlaceAfterALostReplyIsNotAwaitedWithoutEnd(t *testing.T) {
	t.Parallel()
	server := labtest.Etcd(t)
	held := locktest.MustTryLock(t, New(dial(t, server)), "k", time.Minute).(*lease)
	own, err := held.cli.Get(t.Context(), held.etcdKey)
	check.NoError(t, err)
	server.Pause()
	defer server.Resume()
	found := check.Begin(func() error {
		_, err := held.findOwn(context.Background(), (*etcdserverpb.RangeResponse)(own))
		return err
	})
	if err := check.Receive(t, "the place", found); err == nil {
		t.Error("etcd, which stalls, has replied")
	}
}
