package redisson_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// startCluster starts a cluster, and returns a client of each master.
func startCluster(t *testing.T) (top *lab.Topology, masters []*redis.Client) {
	t.Helper()
	top = labtest.Topology(t, "cluster")
	for _, node := range top.Nodes[:3] {
		masters = append(masters, labtest.Dial(t, node).(*redis.Client))
	}
	return top, masters
}

func dialCluster(tb testing.TB, top *lab.Topology, mode redisson.PubSub) *redisson.Client {
	tb.Helper()
	return redisson.New(labtest.DialURL(tb, top.URL), mode)
}

// The mode Auto uses sharded pub/sub in a cluster, on one connection per shard.
func TestClusterUsesShardedPubSub(t *testing.T) {
	t.Parallel()
	top, nodes := startCluster(t)
	c, other := dialCluster(t, top, redisson.Auto), dialCluster(t, top, redisson.Auto)
	wakes := make(map[string]chan struct{})
	for i := range 20 {
		key := fmt.Sprint("k", i)
		wake, _ := locktest.MustNotify(t, c.Lock(), key)
		wakes[key] = wake
	}
	sharded := 0
	for _, node := range nodes {
		channels, err := node.PubSubShardChannels(t.Context(), "redisson_lock__channel:*").Result()
		check.NoError(t, err)
		if n := pubsubConnections(t, node); n != 1 || len(channels) == 0 {
			t.Errorf("a shard has %d pub/sub connections for %d channels, want 1 for at least 1", n, len(channels))
		}
		sharded += len(channels)
	}
	if sharded != len(wakes) {
		t.Errorf("the shards have %d channels, want %d", sharded, len(wakes))
	}
	for key, wake := range wakes {
		check.NoError(t, locktest.MustTryLock(t, other.Lock(), key, longTTL).Release(t.Context()))
		check.Receive(t, "after a release in its shard", wake)
	}
}

// Java's clients of an older version use plain pub/sub in a cluster, too.
func TestPlainPubSubNotifiesInACluster(t *testing.T) {
	t.Parallel()
	top, _ := startCluster(t)
	c, other := dialCluster(t, top, redisson.Plain), dialCluster(t, top, redisson.Plain)
	wake, _ := locktest.MustNotify(t, c.Lock(), "k")
	check.NoError(t, locktest.MustTryLock(t, other.Lock(), "k", longTTL).Release(t.Context()))
	check.Receive(t, "a notification after a release", wake)
}

// While a slot is being moved, a call with keys of both nodes is refused. The keys of
// half of the leases are at the new node already.
func TestLeasesOfASlotThatIsBeingMovedAreExtended(t *testing.T) {
	t.Parallel()
	const tag, slot = "{foo}", 12182 // a slot of the third node
	top, nodes := startCluster(t)
	c := dialCluster(t, top, redisson.Auto)
	types, leases := lockTypes(c), map[string][]lock.Lease{}
	for name, l := range types {
		leases[name] = lockTen(t, l, tag+name)
		check.NoError(t, leases[name][9].Release(t.Context()))
		leases[name] = leases[name][:9]
	}
	from, to := nodes[2], nodes[0]
	id := func(node *redis.Client) string {
		id, err := node.ClusterMyID(t.Context()).Result()
		check.NoError(t, err)
		return id
	}
	check.NoError(t, to.Do(t.Context(), "cluster", "setslot", slot, "importing", id(from)).Err())
	check.NoError(t, from.Do(t.Context(), "cluster", "setslot", slot, "migrating", id(to)).Err())
	host, port, err := net.SplitHostPort(top.Nodes[0].Address)
	check.NoError(t, err)
	migrate := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for name := range types {
		for i := range 5 {
			for _, key := range from.Keys(t.Context(), fmt.Sprint("*", tag, name, i, "*")).Val() {
				migrate = append(migrate, key)
			}
		}
	}
	check.NoError(t, from.Do(t.Context(), migrate...).Err())
	for name, l := range types {
		for i, err := range l.ExtendAll(t.Context(), longTTL, leases[name]) {
			if err != nil {
				t.Errorf("extension of %s%d: %v", name, i, err)
			}
		}
	}
}
