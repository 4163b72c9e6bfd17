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
	ok(tb, err)
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
	ok(tb, c.rdb.ConfigResetStat(tb.Context()).Err())
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
	case <-time.After(patience):
		tb.Fatalf("not woken: %s", what)
	}
}

func notify(tb testing.TB, n lock.Notifier, key string) (wake chan struct{}, stop func()) {
	tb.Helper()
	wake = make(chan struct{}, 1)
	stop, err := n.Notify(key, wake)
	ok(tb, err)
	woken(tb, "when it begins to listen", wake)
	return wake, stop
}

// TestListenersShareOneConnection, and leave nothing behind.
func TestListenersShareOneConnection(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, c := labtest.Dial(t, server), client(t, server)
	var stops []func()
	for i := range 50 {
		key := fmt.Sprint("k", i/2)
		_, stop := notify(t, c.Lock(), key)
		_, stopFair := notify(t, c.FencedLock(), key) // the same channel
		stops = append(stops, stop, stopFair)
	}
	if n, channels := ears(t, rdb), subscribers(t, rdb); n != 1 || channels != 25 {
		t.Errorf("%d connections for %d channels, want 1 for 25", n, channels)
	}
	for _, stop := range stops[1:] {
		stop()
	}
	eventually(t, "one channel is left", func() bool { return subscribers(t, rdb) == 1 })
	stops[0]()
	eventually(t, "no connection is left", func() bool { return ears(t, rdb) == 0 })
	_, stop := notify(t, c.Lock(), "again")
	stop()
	eventually(t, "and none again", func() bool { return ears(t, rdb) == 0 })
}

// TestBrokenLineIsReplaced, once with a sign and once without.
func TestBrokenLineIsReplaced(t *testing.T) {
	t.Parallel()
	harmed, whole, p := line(t)
	wake, stop := notify(t, harmed.Lock(), "k")
	defer stop()
	p.Disconnect()
	woken(t, "when the line is back", wake)
	ok(t, take(t, whole.Lock(), "k", long).Release(t.Context()))
	woken(t, "by a release after a cut", wake)
	p.Inject(faultproxy.HangReply, "ping", 1)
	woken(t, "when the silent line is replaced", wake)
	ok(t, take(t, whole.Lock(), "k", long).Release(t.Context()))
	woken(t, "by a release after a silence", wake)
}

func TestForceUnlockWakesAndIsALoss(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, other := client(t, server), client(t, server)
	held := take(t, c.Lock(), "k", long)
	info, err := other.Lock().Inspect(t.Context(), "k")
	ok(t, err)
	if len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 || info.TTL < long-time.Second || info.TTL > long {
		t.Errorf("%+v, want one holder for a minute", info)
	}
	wake, stop := notify(t, other.Lock(), "k")
	defer stop()
	ok(t, other.Lock().ForceUnlock(t.Context(), "k"))
	woken(t, "by the force", wake)
	if info, err = other.Lock().Inspect(t.Context(), "k"); err != nil || len(info.Holders) != 0 || info.TTL != 0 {
		t.Errorf("%+v, %v, want nobody", info, err)
	}
	if err := held.Extend(t.Context(), long); err == nil {
		t.Error("the holder can extend what was taken away")
	}
	ok(t, other.Lock().ForceUnlock(t.Context(), "k")) // nothing is no error
}

// TestBatchesOfHundred is the cost of idle leases.
func TestBatchesOfHundred(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l := client(t, server).Lock()
	leases := make([]lock.Lease, 1000)
	for i := range leases {
		leases[i] = take(t, l, fmt.Sprint("k", i), long)
	}
	c := newCounter(t, server)
	for _, err := range l.ExtendAll(t.Context(), long, leases) {
		ok(t, err)
	}
	if scripts := c.scripts(); scripts < 10 || scripts > 11 { // one more if the script had to be loaded
		t.Errorf("%d scripts for 1000 leases, want 10", scripts)
	}
}

// TestFenceOutlivesItsData: the clock is a floor.
func TestFenceOutlivesItsData(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, l := labtest.Dial(t, server), client(t, server).FencedLock()
	held := take(t, l, "k", long)
	ok(t, rdb.FlushAll(t.Context()).Err())
	next := take(t, l, "k", long)
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d and a loss of all data", next.Fence(), held.Fence())
	}
	ok(t, next.Release(t.Context()))
	ok(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", uint64(1)<<52, 0).Err())
	if fence := take(t, l, "k", long).Fence(); fence != 1<<52+1 {
		t.Errorf("fence %d, want one more than the counter, which is ahead of the clock", fence)
	}
}

// TestMultiLockTakesAllOrNone, in whatever order others come.
func TestMultiLockTakesAllOrNone(t *testing.T) {
	t.Parallel()
	c := client(t, labtest.Redis(t))
	l := c.Lock()
	both := redisson.NewMultiLock(redisson.Part{Locker: l, Key: "a"}, redisson.Part{Locker: l, Key: "b"}, redisson.Part{Locker: l, Key: "a"})
	b := take(t, l, "b", long)
	refused(t, both, "both")
	a := take(t, l, "a", long) // was let go again
	ok(t, a.Release(t.Context()))
	ok(t, b.Release(t.Context()))
	held := take(t, both, "both", long)
	refused(t, l, "a")
	refused(t, l, "b")
	ok(t, l.ForceUnlock(t.Context(), "a"))
	if err := held.Extend(t.Context(), long); err == nil {
		t.Error("a multi-lock outlives the loss of a part")
	}
	if err := held.Release(t.Context()); err == nil {
		t.Error("a lost part is no loss")
	}
	ok(t, take(t, l, "b", long).Release(t.Context()))
}
