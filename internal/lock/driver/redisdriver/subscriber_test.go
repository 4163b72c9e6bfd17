package redisdriver_test

import (
	"context"
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
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

const (
	// atOnce is longer than any call that does not wait for the network, also
	// on a busy machine, and shorter than every timeout of a client.
	atOnce = 800 * time.Millisecond
	// repaired is longer than the repair of a broken subscription: an interval
	// between repairs, a connection attempt that fails, and another interval.
	repaired = 5 * time.Second
	// silenceDetected is longer than the two intervals of silence after which a
	// connection is replaced, and the repair.
	silenceDetected = 9 * time.Second
)

func publish(tb testing.TB, rdb redis.UniversalClient, channel string) {
	tb.Helper()
	check.NoError(tb, rdb.Do(tb.Context(), redisdriver.PublishCommand(rdb), channel, "").Err())
}

func listen(s *redisdriver.Subscriber, channel string) (wake chan struct{}, stop func()) {
	wake = make(chan struct{}, 1)
	return wake, s.Listen(channel, wake)
}

// listenAll listens to channels and returns when the server has confirmed all
// of them.
func listenAll(tb testing.TB, s *redisdriver.Subscriber, channels []string) map[string]chan struct{} {
	tb.Helper()
	wakes := map[string]chan struct{}{}
	for _, channel := range channels {
		wake, stop := listen(s, channel)
		tb.Cleanup(stop)
		wakes[channel] = wake
	}
	mustReceiveAll(tb, wakes, repaired, "after Listen")
	return wakes
}

func mustReceive(tb testing.TB, wake <-chan struct{}, timeout time.Duration, when string) {
	tb.Helper()
	select {
	case <-wake:
	case <-time.After(timeout):
		tb.Fatalf("no notification %s within %s", when, timeout)
	}
}

func mustReceiveAll(tb testing.TB, wakes map[string]chan struct{}, timeout time.Duration, when string) {
	tb.Helper()
	end := time.Now().Add(timeout)
	for channel, wake := range wakes {
		mustReceive(tb, wake, time.Until(end), "of "+channel+" "+when)
	}
}

// manyNames returns names in many slots.
func manyNames() (names []string) {
	for i := range 40 {
		names = append(names, fmt.Sprint("k", i))
	}
	return names
}

// mustReturnAtOnce fails the test if call waits.
func mustReturnAtOnce(tb testing.TB, what string, call func()) {
	tb.Helper()
	start := time.Now()
	call()
	if d := time.Since(start); d > atOnce {
		tb.Fatalf("%s took %s, want less than %s", what, d, atOnce)
	}
}

func TestListenAndStopDoNotWaitForTheNetwork(t *testing.T) {
	t.Parallel()
	listenAndStop := func(t *testing.T, s *redisdriver.Subscriber) {
		t.Helper()
		var stops []func()
		for _, name := range manyNames() {
			mustReturnAtOnce(t, "Listen", func() { _, stop := listen(s, name); stops = append(stops, stop) })
			time.Sleep(time.Millisecond) // lets the subscriber begin
		}
		for _, stop := range stops {
			mustReturnAtOnce(t, "stop", stop)
		}
	}
	t.Run("HangingDial", func(t *testing.T) {
		t.Parallel()
		var address atomic.Value
		address.Store("localhost:1")
		rdb := redis.NewClient(&redis.Options{Addr: "localhost:1", Dialer: hangingDialer(&address)})
		t.Cleanup(func() { _ = rdb.Close() })
		listenAndStop(t, redisdriver.NewSubscriber(rdb))
	})
	for name, command := range map[string]string{"HangingNewConnection": "hello", "HangingSubscription": "subscribe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, _, proxy := throughProxy(t)
			proxy.Inject(faultproxy.HangRequest, command, faultproxy.Always)
			listenAndStop(t, redisdriver.NewSubscriber(rdb))
			check.Eventually(t, "the proxy hangs a connection", func() bool { return proxy.Hits() > 0 })
		})
	}
}

// hangingDialer returns a dialer whose connection attempts to addresses that are
// equal to hanging time out.
func hangingDialer(hanging *atomic.Value) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != hanging.Load() {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// throughProxy returns a client behind a fault proxy and a client beside it.
func throughProxy(tb testing.TB) (proxied, direct redis.UniversalClient, proxy *faultproxy.Proxy) {
	tb.Helper()
	server := labtest.Redis(tb)
	proxy = labtest.Proxy(tb, server.URL)
	return labtest.DialURL(tb, "redis://"+proxy.Addr()), labtest.Dial(tb, server), proxy
}

// The proxy drops every packet of the connection and closes nothing, as a
// network without a route does.
func TestSilentSubscriptionIsReplaced(t *testing.T) {
	t.Parallel()
	rdb, direct, proxy := throughProxy(t)
	wake := listenAll(t, redisdriver.NewSubscriber(rdb), []string{"k"})["k"]
	start := time.Now()
	proxy.Inject(faultproxy.HangReply, "ping", 1)
	mustReceive(t, wake, silenceDetected, "after the silent subscription was replaced")
	t.Logf("replaced after %s", time.Since(start))
	publish(t, direct, "k")
	mustReceive(t, wake, repaired, "of a message to the second subscription")
}

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
	direct, s := labtest.Dial(t, server), redisdriver.NewSubscriber(labtest.Dial(t, server))
	channels := func() int { return len(direct.PubSubChannels(t.Context(), "*").Val()) }
	var stops []func()
	for range 2 {
		for _, name := range manyNames() {
			wake, stop := listen(s, name)
			mustReceive(t, wake, repaired, "after Listen")
			stops = append(stops, stop)
		}
	}
	if n, want := channels(), len(manyNames()); n != want || pubsubConnections(t, direct) != 1 {
		t.Errorf("%d connections for %d channels, want 1 for %d", pubsubConnections(t, direct), n, want)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	check.Eventually(t, "one channel is left", func() bool { return channels() == 1 })
	stops[0]()
	check.Eventually(t, "no connection is left", func() bool { return pubsubConnections(t, direct) == 0 })
	_, stop := listen(s, "again")
	check.Eventually(t, "there is a connection again", func() bool { return pubsubConnections(t, direct) == 1 })
	stop()
	check.Eventually(t, "no connection is left again", func() bool { return pubsubConnections(t, direct) == 0 })
}
