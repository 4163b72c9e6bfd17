package redisdriver_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver/redisdriver"
	"example.com/flashsale/internal/lock/locktest"
)

// They are in one cluster, of six servers, one after the other.
func TestCluster(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "cluster")
	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.Topology)
	}{
		{"SubscribesToManySlotsAtOnce", subscribesToManySlots}, {"HangingNodeDelaysNoOther", hangingNodeDelaysNoOther},
		{"ChannelsFollowAMovedSlot", channelsFollowAMovedSlot}, {"ReleaseNotifies", releaseNotifies},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, top) })
	}
}

// A node sends the messages of many slots on one connection, and one SSUBSCRIBE
// takes channels of one slot only. The user may do no more than docs/install.md says.
func subscribesToManySlots(t *testing.T, top *lab.Topology) {
	for _, node := range top.Nodes {
		rules := []string{"on", "nopass", "~*", "&*", "+@all", "-pubsub"}
		check.NoError(t, labtest.Dial(t, node).ACLSetUser(t.Context(), "user", rules...).Err())
	}
	rdb := labtest.DialURL(t, strings.Replace(top.URL, "://", "://user:any@", 1))
	wakes := listenAll(t, redisdriver.NewSubscriber(rdb), manyNames())
	for _, master := range top.Nodes[:3] {
		if n := pubsubConnections(t, labtest.Dial(t, master)); n != 1 {
			t.Errorf("a master has %d pub/sub connections, want 1", n)
		}
	}
	for _, node := range top.Nodes {
		killSubscriptions(t, labtest.Dial(t, node))
	}
	mustReceiveAll(t, wakes, repaired, "after the subscriptions were lost")
	for name := range wakes {
		publish(t, rdb, name)
	}
	mustReceiveAll(t, wakes, repaired, "of a message")
}

// While the client cannot connect to one node, it subscribes to new channels of
// the other nodes, and keeps their subscriptions.
func hangingNodeDelaysNoOther(t *testing.T, top *lab.Topology) {
	node := top.Nodes[0]
	direct := labtest.DialURL(t, top.URL).(*redis.ClusterClient)
	var hanging atomic.Value
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: direct.Options().Addrs,
		Dialer: hangingDialer(&hanging)})
	t.Cleanup(func() { _ = rdb.Close() })
	s := redisdriver.NewSubscriber(rdb)
	onNode, onOthers := split(t, direct, node.Address, manyNames())
	listenAll(t, s, onNode)
	before := listenAll(t, s, onOthers[:10])
	hanging.Store(node.Address)
	killSubscriptions(t, labtest.Dial(t, node))
	for _, name := range onOthers[10:] { // for several connection attempts to the node
		wake, stop := listen(s, name)
		t.Cleanup(stop)
		mustReceive(t, wake, time.Second, "of "+name+" after Listen during the hang")
		time.Sleep(300 * time.Millisecond)
	}
	for name, wake := range before {
		select {
		case <-wake:
			t.Errorf("the subscription to %s was interrupted", name)
		default:
		}
		publish(t, direct, name)
		mustReceive(t, wake, time.Second, "of a message to "+name+" during the hang")
	}
}

// The client does not look up the slots by itself, and sends the SSUBSCRIBE of a new channel to
// the node that had the slot before. That has ended the subscription of the other one.
func channelsFollowAMovedSlot(t *testing.T, top *lab.Topology) {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{top.Nodes[0].Address},
		ClusterStateReloadInterval: time.Hour})
	t.Cleanup(func() { _ = rdb.Close() })
	names, _ := split(t, rdb, top.Nodes[0].Address, manyNames())
	stays, moves := names[0], names[1]
	s := redisdriver.NewSubscriber(rdb)
	before := listenAll(t, s, []string{stays, "{" + moves + "}"})
	moveEmptySlot(t, top.Nodes[:3], redisdriver.Slot(moves), top.Nodes[1])
	wakes := map[string]chan struct{}{"{" + moves + "}": before["{"+moves+"}"]}
	mustReceiveAll(t, wakes, repaired, "when its subscription began again")
	wake, stop := listen(s, moves)
	t.Cleanup(stop)
	wakes[moves] = wake
	mustReceive(t, wake, repaired, "of "+moves+" after Listen")
	for name := range wakes {
		publish(t, rdb, name)
	}
	mustReceiveAll(t, wakes, repaired, "of a message")
	select {
	case <-before[stays]:
		t.Errorf("the subscription to %s was interrupted", stays)
	default:
	}
}

// In a cluster the message is sharded, and its channel in the slot of the key.
func releaseNotifies(t *testing.T, top *lab.Topology) {
	ofEach(t, func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker) {
		key := "k" // of the permit
		if name != "permit" {
			key = labtest.Name(t)
		}
		held := locktest.MustTryLock(t, open(labtest.DialURL(t, top.URL)), key, time.Minute)
		notifier, ok := open(labtest.DialURL(t, top.URL)).(lock.Notifier)
		if !ok {
			t.Skip("its waiters are in a queue")
		}
		wake, _ := locktest.MustNotify(t, notifier, key)
		check.NoError(t, held.Release(t.Context()))
		check.Receive(t, "after a release in its shard", wake)
	})
}

func moveEmptySlot(tb testing.TB, masters []*lab.Redis, slot int, to *lab.Redis) {
	tb.Helper()
	id, err := labtest.Dial(tb, to).(*redis.Client).ClusterMyID(tb.Context()).Result()
	check.NoError(tb, err)
	for _, master := range append([]*lab.Redis{to}, masters...) { // the new master first
		check.NoError(tb, labtest.Dial(tb, master).Do(tb.Context(), "cluster", "setslot", slot, "node", id).Err())
	}
}

// split divides names into those whose node is at address and the others.
func split(tb testing.TB, rdb *redis.ClusterClient, address string, names []string) (there, elsewhere []string) {
	tb.Helper()
	for _, name := range names {
		node, err := rdb.MasterForKey(tb.Context(), name)
		check.NoError(tb, err)
		if node.Options().Addr == address {
			there = append(there, name)
		} else {
			elsewhere = append(elsewhere, name)
		}
	}
	return there, elsewhere
}

func killSubscriptions(tb testing.TB, node redis.UniversalClient) {
	tb.Helper()
	check.NoError(tb, node.Do(tb.Context(), "client", "kill", "type", "pubsub").Err())
}
