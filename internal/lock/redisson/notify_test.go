package redisson_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// ears counts the connections that listen.
func ears(tb testing.TB, rdb redis.UniversalClient) int {
	tb.Helper()
	list, err := rdb.Do(tb.Context(), "client", "list", "type", "pubsub").Text()
	noError(tb, err)
	return strings.Count(list, "\n")
}

// A counter counts what scripts a server has run since it was made.
type counter struct {
	tb  testing.TB
	rdb redis.UniversalClient
}

func newCounter(tb testing.TB, server *lab.Redis) counter {
	tb.Helper()
	c := counter{tb, labtest.Dial(tb, server)}
	noError(tb, c.rdb.ConfigResetStat(tb.Context()).Err())
	return c
}

func (c counter) scripts() (sum int) {
	c.tb.Helper()
	for line := range strings.Lines(c.rdb.Info(c.tb.Context(), "commandstats").Val()) {
		if script, figures, _ := strings.Cut(line, ":"); strings.HasPrefix(script, "cmdstat_eval") {
			var n int
			_, _ = fmt.Sscanf(figures, "calls=%d", &n)
			sum += n
		}
	}
	return sum
}

func woken(tb testing.TB, what string, wake <-chan struct{}) {
	tb.Helper()
	select {
	case <-wake:
	case <-time.After(testTimeout):
		tb.Fatalf("not woken: %s", what)
	}
}

func notify(tb testing.TB, n lock.Notifier, key string) (wake chan struct{}, stop func()) {
	tb.Helper()
	wake = make(chan struct{}, 1)
	stop, err := n.Notify(key, wake)
	noError(tb, err)
	woken(tb, "when it begins to listen", wake)
	return wake, stop
}

// TestListenersShareOneConnection, and leave nothing behind.
func TestListenersShareOneConnection(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, c := labtest.Dial(t, server), newClient(t, server)
	var stops []func()
	for i := range 50 {
		key := fmt.Sprint("k", i/2)
		_, stop := notify(t, c.Lock(), key)
		_, stopFair := notify(t, c.FencedLock(), key) // the same channel
		stops = append(stops, stop, stopFair)
	}
	if n, channels := ears(t, rdb), channelCount(t, rdb); n != 1 || channels != 25 {
		t.Errorf("%d connections for %d channels, want 1 for 25", n, channels)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	eventually(t, "one channel is left", func() bool { return channelCount(t, rdb) == 1 })
	stops[0]()
	eventually(t, "no connection is left", func() bool { return ears(t, rdb) == 0 })
	_, stop := notify(t, c.Lock(), "again")
	stop()
	eventually(t, "and none again", func() bool { return ears(t, rdb) == 0 })
}

// TestBrokenLineIsReplaced, once with a sign and once without.
func TestBrokenLineIsReplaced(t *testing.T) {
	t.Parallel()
	proxied, direct, p := throughProxy(t)
	wake, stop := notify(t, proxied.Lock(), "k")
	defer stop()
	p.Disconnect()
	woken(t, "when the line is back", wake)
	noError(t, mustTryLock(t, direct.Lock(), "k", longTTL).Release(t.Context()))
	woken(t, "by a release after a cut", wake)
	p.Inject(faultproxy.HangReply, "ping", 1)
	woken(t, "when the silent line is replaced", wake)
	noError(t, mustTryLock(t, direct.Lock(), "k", longTTL).Release(t.Context()))
	woken(t, "by a release after a silence", wake)
}

func TestForceUnlockWakesAndIsALoss(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, other := newClient(t, server), newClient(t, server)
	held := mustTryLock(t, c.Lock(), "k", longTTL)
	info, err := other.Lock().Inspect(t.Context(), "k")
	noError(t, err)
	if len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 || info.TTL < longTTL-time.Second || info.TTL > longTTL {
		t.Errorf("%+v, want one holder for a minute", info)
	}
	wake, stop := notify(t, other.Lock(), "k")
	defer stop()
	noError(t, other.Lock().ForceUnlock(t.Context(), "k"))
	woken(t, "by the force", wake)
	if info, err = other.Lock().Inspect(t.Context(), "k"); err != nil || len(info.Holders) != 0 || info.TTL != 0 {
		t.Errorf("%+v, %v, want nobody", info, err)
	}
	if err := held.Extend(t.Context(), longTTL); err == nil {
		t.Error("the holder can extend what was taken away")
	}
	noError(t, other.Lock().ForceUnlock(t.Context(), "k")) // nothing is no error
}

// TestBatchesOfHundred is the cost of idle leases.
func TestBatchesOfHundred(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l := newClient(t, server).Lock()
	leases := make([]lock.Lease, 1000)
	for i := range leases {
		leases[i] = mustTryLock(t, l, fmt.Sprint("k", i), longTTL)
	}
	for _, err := range l.ExtendAll(t.Context(), longTTL, leases[:1]) { // loads the script
		noError(t, err)
	}
	c := newCounter(t, server)
	for _, err := range l.ExtendAll(t.Context(), longTTL, leases) {
		noError(t, err)
	}
	if scripts := c.scripts(); scripts != 10 {
		t.Errorf("%d scripts for 1000 leases, want 10", scripts)
	}
}

// TestFenceOutlivesItsData: the clock is a floor.
func TestFenceOutlivesItsData(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, l := labtest.Dial(t, server), newClient(t, server).FencedLock()
	held := mustTryLock(t, l, "k", longTTL)
	noError(t, rdb.FlushAll(t.Context()).Err())
	next := mustTryLock(t, l, "k", longTTL)
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d and a loss of all data", next.Fence(), held.Fence())
	}
	noError(t, next.Release(t.Context()))
	noError(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", uint64(1)<<52, 0).Err())
	if fence := mustTryLock(t, l, "k", longTTL).Fence(); fence != 1<<52+1 {
		t.Errorf("fence %d, want one more than the counter, which is ahead of the clock", fence)
	}
}

// TestMultiLockTakesAllOrNone, in whatever order others come.
func TestMultiLockTakesAllOrNone(t *testing.T) {
	t.Parallel()
	c := newClient(t, labtest.Redis(t))
	l := c.Lock()
	both := redisson.NewMultiLock(redisson.Part{Locker: l, Key: "a"}, redisson.Part{Locker: l, Key: "b"}, redisson.Part{Locker: l, Key: "a"})
	b := mustTryLock(t, l, "b", longTTL)
	wantLocked(t, both, "both")
	a := mustTryLock(t, l, "a", longTTL) // was let go again
	noError(t, a.Release(t.Context()))
	noError(t, b.Release(t.Context()))
	held := mustTryLock(t, both, "both", longTTL)
	wantLocked(t, l, "a")
	wantLocked(t, l, "b")
	noError(t, l.ForceUnlock(t.Context(), "a"))
	if err := held.Extend(t.Context(), longTTL); err == nil {
		t.Error("a multi-lock outlives the loss of a part")
	}
	if err := held.Release(t.Context()); err == nil {
		t.Error("a lost part is no loss")
	}
	noError(t, mustTryLock(t, l, "b", longTTL).Release(t.Context()))
}
