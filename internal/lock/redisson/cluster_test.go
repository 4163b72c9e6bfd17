package redisson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
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

func dialCluster(tb testing.TB, top *lab.Topology) *redisson.Client {
	tb.Helper()
	return redisson.New(labtest.DialURL(tb, top.URL))
}

// On one connection per shard, also if the user may do no more than docs/install.md says.
func TestClusterUsesShardedPubSub(t *testing.T) {
	t.Parallel()
	top, nodes := startCluster(t)
	for _, node := range top.Nodes {
		rules := []string{"on", "nopass", "~*", "&*", "+@all", "-pubsub"}
		check.NoError(t, labtest.Dial(t, node).ACLSetUser(t.Context(), "user", rules...).Err())
	}
	c, other := dial(t, strings.Replace(top.URL, "://", "://user:any@", 1)), dialCluster(t, top)
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
