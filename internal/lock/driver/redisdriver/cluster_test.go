package redisdriver_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// A node sends the messages of many slots on one connection, and one SSUBSCRIBE
// takes channels of one slot only.
func TestClusterSubscribesToManySlotsAtOnce(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "cluster")
	rdb := labtest.DialURL(t, top.URL)
	wakes := listenAll(t, redisdriver.NewSubscriber(rdb), manyNames())
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
func TestHangingNodeDelaysNoOtherNode(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "cluster")
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

// The client does not look up the slots by itself, and sends the SSUBSCRIBE to
// the node that had the slot before.
func TestNewChannelFollowsAMovedSlot(t *testing.T) {
	t.Parallel()
	top := labtest.Topology(t, "cluster")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{top.Nodes[0].Address},
		ClusterStateReloadInterval: time.Hour})
	t.Cleanup(func() { _ = rdb.Close() })
	names, _ := split(t, rdb, top.Nodes[0].Address, manyNames())
	stays, moves := names[0], names[1]
	s := redisdriver.NewSubscriber(rdb)
	before := listenAll(t, s, []string{stays})[stays]
	moveEmptySlot(t, top.Nodes[:3], redisdriver.Slot(moves), top.Nodes[1])
	wake, stop := listen(s, moves)
	t.Cleanup(stop)
	mustReceive(t, wake, repaired, "of "+moves+" after Listen")
	publish(t, rdb, moves)
	mustReceive(t, wake, repaired, "of a message to "+moves)
	select {
	case <-before:
		t.Errorf("the subscription to %s was interrupted", stays)
	default:
	}
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
