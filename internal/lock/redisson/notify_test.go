package redisson_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// pubsubConnections returns the number of pub/sub connections of the server.
func pubsubConnections(tb testing.TB, rdb redis.UniversalClient) int {
	tb.Helper()
	list, err := rdb.Do(tb.Context(), "client", "list", "type", "pubsub").Text()
	noError(tb, err)
	return strings.Count(list, "\n")
}

// wantWake waits for a value of wake.
func wantWake(tb testing.TB, when string, wake <-chan struct{}) {
	tb.Helper()
	select {
	case <-wake:
	case <-time.After(testTimeout):
		tb.Fatalf("no notification %s", when)
	}
}

// mustNotify calls n.Notify and waits until the subscription has begun.
func mustNotify(tb testing.TB, n lock.Notifier, key string) (wake chan struct{}, stop func()) {
	tb.Helper()
	wake = make(chan struct{}, 1)
	stop, err := n.Notify(key, wake)
	noError(tb, err)
	wantWake(tb, "when the subscription begins", wake)
	return wake, stop
}

func TestListenersShareOneConnectionThatIsClosedAfterThem(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, c := labtest.Dial(t, server), newClient(t, server)
	var stops []func()
	for i := range 50 {
		key := fmt.Sprint("k", i/2)
		_, stop := mustNotify(t, c.Lock(), key)
		_, stopFenced := mustNotify(t, c.FencedLock(), key) // the same channel
		stops = append(stops, stop, stopFenced)
	}
	if n, channels := pubsubConnections(t, rdb), channelCount(t, rdb); n != 1 || channels != 25 {
		t.Errorf("%d connections for %d channels, want 1 for 25", n, channels)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	eventually(t, "one channel is left", func() bool { return channelCount(t, rdb) == 1 })
	stops[0]()
	eventually(t, "no connection is left", func() bool { return pubsubConnections(t, rdb) == 0 })
	_, stop := mustNotify(t, c.Lock(), "again")
	stop()
	eventually(t, "no connection is left again", func() bool { return pubsubConnections(t, rdb) == 0 })
}

// A connection can break with an error or become silent.
func TestBrokenSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	proxied, direct, p := throughProxy(t)
	wake, stop := mustNotify(t, proxied.Lock(), "k")
	defer stop()
	p.Disconnect()
	wantWake(t, "when the subscription begins again", wake)
	noError(t, mustTryLock(t, direct.Lock(), "k", longTTL).Release(t.Context()))
	wantWake(t, "of a release after the disconnect", wake)
	p.Inject(faultproxy.HangReply, "ping", 1)
	wantWake(t, "when the silent connection is replaced", wake)
	noError(t, mustTryLock(t, direct.Lock(), "k", longTTL).Release(t.Context()))
	wantWake(t, "of a release after the silence", wake)
}
