package redisson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
)

// pubsubConnections returns the number of pub/sub connections of the server.
func pubsubConnections(tb testing.TB, rdb redis.UniversalClient) int {
	tb.Helper()
	list, err := rdb.Do(tb.Context(), "client", "list", "type", "pubsub").Text()
	check.NoError(tb, err)
	return strings.Count(list, "\n")
}

func TestListenersShareOneConnectionThatIsClosedAfterThem(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, c := labtest.Dial(t, server), newClient(t, server)
	var stops []func()
	for i := range 50 {
		key := fmt.Sprint("k", i/2)
		_, stop := locktest.MustNotify(t, c.Lock(), key)
		_, stopFenced := locktest.MustNotify(t, c.FencedLock(), key) // the same channel
		stops = append(stops, stop, stopFenced)
	}
	if n, channels := pubsubConnections(t, rdb), channelCount(t, rdb); n != 1 || channels != 25 {
		t.Errorf("%d connections for %d channels, want 1 for 25", n, channels)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	check.Eventually(t, "one channel is left", func() bool { return channelCount(t, rdb) == 1 })
	stops[0]()
	check.Eventually(t, "no connection is left", func() bool { return pubsubConnections(t, rdb) == 0 })
	_, stop := locktest.MustNotify(t, c.Lock(), "again")
	stop()
	check.Eventually(t, "no connection is left again", func() bool { return pubsubConnections(t, rdb) == 0 })
}
