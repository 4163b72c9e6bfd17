package redisson_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// startCluster starts a cluster of two masters with half of the slots each.
func startCluster(t *testing.T) (addresses []string, nodes [2]*redis.Client) {
	t.Helper()
	var busPorts [2]int
	for i := range nodes {
		busPort, err := lab.FreePort()
		noError(t, err)
		server, err := lab.StartRedisTCP(labtest.Lab(t), "--cluster-enabled", "yes", "--cluster-port",
			fmt.Sprint(busPort), "--cluster-node-timeout", "2000")
		noError(t, err)
		t.Cleanup(server.Kill)
		u, err := url.Parse(server.URL)
		noError(t, err)
		addresses, busPorts[i] = append(addresses, u.Host), busPort
		nodes[i] = redis.NewClient(&redis.Options{Addr: u.Host})
		t.Cleanup(func() { _ = nodes[i].Close() })
		noError(t, nodes[i].ClusterAddSlotsRange(t.Context(), 8192*i, 8192*i+8191).Err())
	}
	host, port, err := net.SplitHostPort(addresses[1])
	noError(t, err)
	noError(t, nodes[0].Do(t.Context(), "cluster", "meet", host, port, busPorts[1]).Err())
	for _, node := range nodes {
		eventually(t, "the cluster is complete", func() bool {
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

func TestClusterConformance(t *testing.T) {
	t.Parallel()
	addresses, _ := startCluster(t)
	fenced, fair := promises, promises
	fenced.Fences = true
	fair.Notifies, fair.Blocks, fair.Tells = false, true, false
	t.Run("Plain", func(t *testing.T) {
		locktest.Run(t, promises,
			func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Plain).Lock() })
	})
	t.Run("Fenced", func(t *testing.T) {
		locktest.Run(t, fenced,
			func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).FencedLock() })
	})
	t.Run("Fair", func(t *testing.T) {
		locktest.Run(t, fair,
			func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).FairLock() })
	})
	t.Run("Write", func(t *testing.T) {
		locktest.Run(t, promises,
			func(tb testing.TB) lock.Locker { return dialCluster(tb, addresses, redisson.Auto).WriteLock() })
	})
}

// shardChannels returns how many channels that match pattern the nodes have.
func shardChannels(t *testing.T, nodes [2]*redis.Client, pattern string) (n int) {
	t.Helper()
	for _, node := range nodes {
		channels, err := node.PubSubShardChannels(t.Context(), pattern).Result()
		noError(t, err)
		n += len(channels)
	}
	return n
}

// The mode Auto uses sharded pub/sub in a cluster, on one connection per shard.
func TestClusterUsesShardedPubSub(t *testing.T) {
	t.Parallel()
	addresses, nodes := startCluster(t)
	c, other := dialCluster(t, addresses, redisson.Auto), dialCluster(t, addresses, redisson.Auto)
	wakes := make(map[string]chan struct{})
	for i := range 20 {
		key := fmt.Sprint("k", i)
		wake, stop := mustNotify(t, c.Lock(), key)
		defer stop()
		wakes[key] = wake
	}
	sharded := 0
	for _, node := range nodes {
		channels, err := node.PubSubShardChannels(t.Context(), "redisson_lock__channel:*").Result()
		noError(t, err)
		if n := pubsubConnections(t, node); n != 1 || len(channels) == 0 {
			t.Errorf("a shard has %d pub/sub connections for %d channels, want 1 for at least 1", n, len(channels))
		}
		sharded += len(channels)
	}
	if sharded != len(wakes) {
		t.Errorf("the shards have %d channels, want %d", sharded, len(wakes))
	}
	for key, wake := range wakes {
		noError(t, mustTryLock(t, other.Lock(), key, longTTL).Release(t.Context()))
		wantWake(t, "after a release in its shard", wake)
	}
	sem := c.Semaphore("s")
	acquired := make(chan error, 1)
	go func() { acquired <- sem.Acquire(t.Context(), 1) }()
	eventually(t, "the waiter has subscribed", func() bool { return shardChannels(t, nodes, "redisson_sc:*") == 1 })
	noError(t, other.Semaphore("s").Release(t.Context(), 1))
	noError(t, <-acquired)
}

func TestClientSubscribesAgainAfterASlotHasMoved(t *testing.T) {
	t.Parallel()
	const key, slot = "foo", 12182 // a slot of the second node
	addresses, nodes := startCluster(t)
	c, other := dialCluster(t, addresses, redisson.Auto), dialCluster(t, addresses, redisson.Auto)
	wake, stop := mustNotify(t, c.Lock(), key)
	defer stop()
	target, err := nodes[0].Do(t.Context(), "cluster", "myid").Text()
	noError(t, err)
	for _, node := range nodes {
		noError(t, node.Do(t.Context(), "cluster", "setslot", slot, "node", target).Err())
	}
	// A waiter tries again at intervals. The reply MOVED tells its client of the
	// move.
	eventually(t, "the other node has the subscription", func() bool {
		lease, err := c.Lock().TryLock(t.Context(), key, longTTL)
		if err == nil {
			err = lease.Release(t.Context())
		}
		if err != nil && !errors.Is(err, lock.ErrLocked) {
			t.Log(err)
		}
		n, err := nodes[0].PubSubShardNumSub(t.Context(), "redisson_lock__channel:{"+key+"}").Result()
		noError(t, err)
		return n["redisson_lock__channel:{"+key+"}"] == 1
	})
	select {
	case <-wake:
	default:
	}
	noError(t, mustTryLock(t, other.Lock(), key, longTTL).Release(t.Context()))
	wantWake(t, "after a release on the other node", wake)
}

// While a slot is being moved, a call with keys of both nodes is refused. The keys of
// half of the leases are at the new node already.
func TestLeasesOfASlotThatIsBeingMovedAreExtended(t *testing.T) {
	t.Parallel()
	const tag, slot = "{foo}", 12182 // a slot of the second node
	addresses, nodes := startCluster(t)
	c := dialCluster(t, addresses, redisson.Auto)
	types, leases := lockTypes(c), map[string][]lock.Lease{}
	for name, l := range types {
		leases[name] = lockTen(t, l, tag+name)
	}
	var ids [2]string
	for i, node := range nodes {
		var err error
		ids[i], err = node.ClusterMyID(t.Context()).Result()
		noError(t, err)
	}
	noError(t, nodes[0].Do(t.Context(), "cluster", "setslot", slot, "importing", ids[1]).Err())
	noError(t, nodes[1].Do(t.Context(), "cluster", "setslot", slot, "migrating", ids[0]).Err())
	host, port, err := net.SplitHostPort(addresses[0])
	noError(t, err)
	migrate := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for name := range types {
		for i := range 5 {
			for _, key := range nodes[1].Keys(t.Context(), fmt.Sprint("*", tag, name, i, "*")).Val() {
				migrate = append(migrate, key)
			}
		}
	}
	noError(t, nodes[1].Do(t.Context(), migrate...).Err())
	for name, l := range types {
		for i, err := range l.ExtendAll(t.Context(), longTTL, leases[name]) {
			if err != nil {
				t.Errorf("extension of %s%d: %v", name, i, err)
			}
		}
	}
}
