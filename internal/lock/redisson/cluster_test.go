package redisson_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// A pair is a cluster of two masters.
type pair [2]*redis.Client

func cluster(t *testing.T) (addresses []string, nodes pair) {
	t.Helper()
	var buses [2]int
	for i := range nodes {
		bus, err := lab.FreePort()
		ok(t, err)
		server, err := labtest.Lab(t).RedisTCP("--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", "2000")
		ok(t, err)
		t.Cleanup(server.Kill)
		at, err := url.Parse(server.URL)
		ok(t, err)
		addresses, buses[i] = append(addresses, at.Host), bus
		nodes[i] = redis.NewClient(&redis.Options{Addr: at.Host})
		t.Cleanup(func() { _ = nodes[i].Close() })
		ok(t, nodes[i].ClusterAddSlotsRange(t.Context(), 8192*i, 8192*i+8191).Err())
	}
	host, port, err := net.SplitHostPort(addresses[1])
	ok(t, err)
	ok(t, nodes[0].Do(t.Context(), "cluster", "meet", host, port, buses[1]).Err())
	for _, node := range nodes {
		eventually(t, "the cluster is whole", func() bool {
			info := node.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	return addresses, nodes
}

func dialCluster(tb testing.TB, addresses []string, mode redisson.PubSub) *redisson.Client {
	tb.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { _ = rdb.Close() })
	return redisson.New(rdb, mode)
}

func TestClusterConforms(t *testing.T) {
	t.Parallel()
	addresses, _ := cluster(t)
	fenced, fair := promises, promises
	fenced.Fences = true
	fair.Notifies, fair.Waits = false, true
	t.Run("Plain", func(t *testing.T) {
		locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Plain).Lock() })
	})
	t.Run("Fenced", func(t *testing.T) {
		locktest.Run(t, fenced, func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).FencedLock() })
	})
	t.Run("Fair", func(t *testing.T) {
		locktest.Run(t, fair, func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).FairLock() })
	})
	t.Run("Write", func(t *testing.T) {
		locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).WriteLock() })
	})
}

// TestClusterSpeaksShardedPubSub by itself, on one connection per shard.
func TestClusterSpeaksShardedPubSub(t *testing.T) {
	t.Parallel()
	addresses, nodes := cluster(t)
	c, other := dialCluster(t, addresses, redisson.Auto), dialCluster(t, addresses, redisson.Auto)
	wakes := make(map[string]chan struct{})
	for i := range 20 {
		key := fmt.Sprint("k", i)
		wake, stop := notify(t, c.Lock(), key)
		defer stop()
		wakes[key] = wake
	}
	sharded := 0
	for _, node := range nodes {
		channels, err := node.PubSubShardChannels(t.Context(), "redisson_lock__channel:*").Result()
		ok(t, err)
		if n := ears(t, node); n != 1 || len(channels) == 0 {
			t.Errorf("%d connections for %d channels on one shard, want 1 for some", n, len(channels))
		}
		sharded += len(channels)
	}
	if sharded != len(wakes) {
		t.Errorf("%d sharded channels, want %d", sharded, len(wakes))
	}
	for key, wake := range wakes {
		ok(t, take(t, other.Lock(), key, long).Release(t.Context()))
		woken(t, "by a release in its shard", wake)
	}
	sem := c.Semaphore("s")
	got := make(chan error, 1)
	go func() { got <- sem.Acquire(t.Context(), 1) }()
	time.Sleep(20 * time.Millisecond)
	ok(t, other.Semaphore("s").Release(t.Context(), 1))
	ok(t, <-got)
}

// TestMovedSlotIsHeardAgain where it has moved to.
func TestMovedSlotIsHeardAgain(t *testing.T) {
	t.Parallel()
	const key, slot = "foo", 12182 // of the second node
	addresses, nodes := cluster(t)
	c, other := dialCluster(t, addresses, redisson.Auto), dialCluster(t, addresses, redisson.Auto)
	wake, stop := notify(t, c.Lock(), key)
	defer stop()
	to, err := nodes[0].Do(t.Context(), "cluster", "myid").Text()
	ok(t, err)
	for _, node := range nodes {
		ok(t, node.Do(t.Context(), "cluster", "setslot", slot, "node", to).Err())
	}
	// A waiter asks now and then, which also tells its client of the move.
	eventually(t, "heard on the other node", func() bool {
		lease, err := c.Lock().TryLock(t.Context(), key, long)
		if err == nil {
			err = lease.Release(t.Context())
		}
		if err != nil && !errors.Is(err, lock.ErrLocked) {
			t.Log(err)
		}
		n, err := nodes[0].PubSubShardNumSub(t.Context(), "redisson_lock__channel:{"+key+"}").Result()
		ok(t, err)
		return n["redisson_lock__channel:{"+key+"}"] == 1
	})
	select {
	case <-wake:
	default:
	}
	ok(t, take(t, other.Lock(), key, long).Release(t.Context()))
	woken(t, "by a release on the other node", wake)
}
