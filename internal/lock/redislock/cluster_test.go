package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

// Of two leases whose keys are in one slot, one is at the new node already.
func TestLeasesOfASlotThatIsBeingMovedAreExtended(t *testing.T) {
	t.Parallel()
	const moved, stays, slot = "{foo}1", "{foo}2", 12182
	top := labtest.Topology(t, "cluster")
	rdb := labtest.DialURL(t, top.URL)
	l := redislock.New(rdb)
	var leases []lock.Lease
	for _, key := range []string{moved, stays} {
		leases = append(leases, locktest.MustTryLock(t, l, key, time.Minute))
	}
	beginMove(t, slot, moved, top.Nodes[2], top.Nodes[0])
	for i, lease := range leases {
		if err := errors.Join(lease.Extend(t.Context(), time.Minute), lease.Release(t.Context())); err != nil {
			t.Errorf("extension and release of lease %d of 2: %v", i, err)
		}
	}
	endMove(t, top, slot, top.Nodes[2])
}

// The client is none of a cluster, and its one server is: it refuses a script with keys
// of several slots.
func TestBatchesWorkAtTheOneNodeOfACluster(t *testing.T) {
	t.Parallel()
	port, err := lab.FreePort()
	check.NoError(t, err)
	server := labtest.Start(t, func(l *lab.Lab) (*lab.Redis, error) {
		return lab.StartRedisTCP(l, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(port))
	})
	do(t, server, "cluster", "addslotsrange", 0, 16383)
	l := redislock.New(labtest.Dial(t, server))
	complete := func() bool {
		info := labtest.Dial(t, server).(*redis.Client).ClusterInfo(t.Context()).Val()
		return strings.Contains(info, "cluster_state:ok")
	}
	for !complete() {
		time.Sleep(time.Millisecond)
	}
	leases := lockAll(t, l, 500)
	releaseEach(t, leases)
}

// beginMove begins to move a slot with one key between masters, and endMove ends that, in the
// steps that the documentation of CLUSTER SETSLOT describes.
func beginMove(t *testing.T, slot int, key string, from, to *lab.Redis) {
	t.Helper()
	host, port, err := net.SplitHostPort(to.Address)
	check.NoError(t, err)
	do(t, to, "cluster", "setslot", slot, "importing", nodeID(t, from))
	do(t, from, "cluster", "setslot", slot, "migrating", nodeID(t, to))
	do(t, from, "migrate", host, port, key, 0, 5000)
}

func endMove(t *testing.T, top *lab.Topology, slot int, to *lab.Redis) {
	t.Helper()
	for _, master := range top.Nodes[:3] {
		do(t, master, "cluster", "setslot", slot, "node", nodeID(t, to))
	}
}

func do(t *testing.T, node *lab.Redis, args ...any) {
	t.Helper()
	check.NoError(t, labtest.Dial(t, node).Do(t.Context(), args...).Err())
}

func nodeID(t *testing.T, node *lab.Redis) string {
	t.Helper()
	id, err := labtest.Dial(t, node).(*redis.Client).ClusterMyID(t.Context()).Result()
	check.NoError(t, err)
	return id
}

// releaseEach releases all leases at once.
func releaseEach(t *testing.T, leases []lock.Lease) {
	t.Helper()
	check.AtOnce(len(leases), func(i int) {
		if err := leases[i].Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func lockAll(t *testing.T, l lock.Locker, count int) []lock.Lease {
	t.Helper()
	leases := make([]lock.Lease, count)
	check.AtOnce(count, func(i int) {
		var err error
		if leases[i], err = l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return leases
}

// clusterBehindProxy returns a client of a cluster, and one of its nodes,
// which the client reaches through the proxy.
func clusterBehindProxy(t *testing.T) (rdb *redis.ClusterClient, node string, proxy *faultproxy.Proxy) {
	t.Helper()
	top := labtest.SharedCluster(t)
	node = top.Nodes[0].Address
	proxy = labtest.Proxy(t, node)
	rdb = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{top.Nodes[1].Address}, ReadTimeout: 10 * time.Second, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == node {
				address = proxy.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb, node, proxy
}

// One node hangs for longer than a ttl.
func TestHangingNodeDelaysNoRequestAndEndsNoLockOfAnotherNode(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	rdb, hanging, proxy := clusterBehindProxy(t)
	l := redislock.New(rdb)
	c := lock.New(l)
	locks, there := map[string]*lock.Lock{}, map[string]bool{}
	for i := range 30 {
		key := fmt.Sprint(t.Name(), i)
		node, err := rdb.MasterForKey(t.Context(), key)
		check.NoError(t, err)
		there[key] = node.Options().Addr == hanging
		locks[key], err = c.Acquire(t.Context(), key, lock.Options{TTL: ttl})
		check.NoError(t, err)
	}
	proxy.Inject(faultproxy.HangRequest, "eval", faultproxy.Always)
	var returned atomic.Int64
	for key := range there {
		if there[key] {
			go func() { _, _ = l.TryLock(t.Context(), key, ttl); returned.Add(1) }()
		}
	}
	check.Eventually(t, "a request hangs", func() bool { return proxy.Hits() > 0 })
	for key := range there {
		if !there[key] {
			locktest.WantLocked(t, l, key)
		}
	}
	if n := returned.Load(); n != 0 {
		t.Errorf("%d requests to the hanging node had returned before those to the others", n)
	}
	time.Sleep(ttl + ttl/2) // until each lock has ended that was not renewed
	for key, held := range locks {
		if err := held.Err(); there[key] != errors.Is(err, lock.ErrLost) || !there[key] && err != nil {
			t.Errorf("the lock of %s, on the hanging node: %t, %v", key, there[key], err)
		}
	}
}
