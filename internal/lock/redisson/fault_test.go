package redisson_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// impatient makes a client that gives up on a silent line soon.
func impatient(tb testing.TB, hostport string) *redisson.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: hostport, DialTimeout: 250 * time.Millisecond, ReadTimeout: 250 * time.Millisecond, WriteTimeout: 250 * time.Millisecond,
		ContextTimeoutEnabled: true,
	})
	tb.Cleanup(func() { _ = rdb.Close() })
	return redisson.New(rdb, redisson.Auto)
}

func socket(server *lab.Redis) string { return strings.TrimPrefix(server.URL, "unix://") }

func TestFaults(t *testing.T) {
	fenced, fair := promises, promises
	fenced.Fences = true
	fair.Notifies, fair.Waits = false, true
	for name, it := range map[string]struct {
		promises locktest.Promises
		open     func(*redisson.Client) lock.Locker
	}{
		"Lock":       {promises, func(c *redisson.Client) lock.Locker { return c.Lock() }},
		"FencedLock": {fenced, func(c *redisson.Client) lock.Locker { return c.FencedLock() }},
		"FairLock":   {fair, func(c *redisson.Client) lock.Locker { return c.FairLock() }},
		"WriteLock":  {promises, func(c *redisson.Client) lock.Locker { return c.WriteLock() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := labtest.Redis(t)
			locktest.RunFaults(t, it.promises, true, "unix", socket(server), func(tb testing.TB, hostport string) lock.Locker {
				return it.open(impatient(tb, hostport))
			})
		})
	}
}

// line is a client whose line can be harmed, and one beside it.
func line(t *testing.T) (harmed, whole *redisson.Client, p *faultproxy.Proxy) {
	t.Helper()
	server := labtest.Redis(t)
	p, err := faultproxy.New("unix", socket(server))
	ok(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return impatient(t, p.Addr()), client(t, server), p
}

// TestLostReplyNeverCountsTwice is about what cannot be idempotent: it happens
// once, and the caller hears that nobody knows.
func TestLostReplyNeverCountsTwice(t *testing.T) {
	t.Parallel()
	harmed, whole, p := line(t)
	name := labtest.Name(t)
	latch := harmed.CountDownLatch(name)
	if set, err := latch.TrySetCount(t.Context(), 3); err != nil || !set {
		t.Fatal(set, err)
	}
	ok(t, latch.CountDown(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := latch.CountDown(t.Context()); err == nil {
		t.Error("a count without an answer is no error")
	}
	if n, err := whole.CountDownLatch(name).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("%d counts missing, %v, want 1", n, err)
	}
	sem := harmed.Semaphore(labtest.Name(t))
	ok(t, sem.Release(t.Context(), 5))
	ok(t, sem.TryAcquire(t.Context(), 1))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := sem.TryAcquire(t.Context(), 3); err == nil {
		t.Error("permits without an answer are no error")
	}
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := sem.Release(t.Context(), 2); err == nil {
		t.Error("a release without an answer is no error")
	}
	if n, err := sem.AvailablePermits(t.Context()); err != nil || n != 3 {
		t.Errorf("%d permits, %v, want 5-1-3+2 = 3", n, err)
	}
}

// TestLostReplyHoldsOnce, in the counts that Java reads too.
func TestLostReplyHoldsOnce(t *testing.T) {
	t.Parallel()
	harmed, whole, p := line(t)
	ok(t, take(t, harmed.FencedLock(), "k", long).Release(t.Context()))
	ok(t, take(t, harmed.Lock(), "k", long).Release(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	held := take(t, harmed.Lock(), "k", long)
	info, err := whole.Lock().Inspect(t.Context(), "k")
	if err != nil || len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 {
		t.Errorf("%+v, %v, want one hold", info, err)
	}
	ok(t, held.Release(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	held = take(t, harmed.FencedLock(), "k", long)
	if info, err = whole.Lock().Inspect(t.Context(), "k"); err != nil || len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 {
		t.Errorf("%+v, %v, want one fenced hold", info, err)
	}
	ok(t, held.Release(t.Context()))
}

// TestLostReplyHidesNoLoss: what had ended before was not released.
func TestLostReplyHidesNoLoss(t *testing.T) {
	t.Parallel()
	harmed, _, p := line(t)
	held := take(t, harmed.Lock(), "k", 50*time.Millisecond)
	ok(t, take(t, harmed.Lock(), "other", long).Release(t.Context()))
	time.Sleep(100 * time.Millisecond)
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := held.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of a lease that had ended: %v, want ErrLost", err)
	}
}

// TestLostReplyMintsOneFence, though the script runs twice.
func TestLostReplyMintsOneFence(t *testing.T) {
	t.Parallel()
	const ahead = uint64(1) << 52 // of the clock, so that the counter counts
	harmed, _, p := line(t)
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr()})
	defer rdb.Close()
	ok(t, take(t, harmed.FencedLock(), "k", long).Release(t.Context()))
	ok(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", ahead, 0).Err())
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if fence := take(t, harmed.FencedLock(), "k", long).Fence(); fence != ahead+1 {
		t.Errorf("fence %d, want %d", fence, ahead+1)
	}
}

// TestLostReplyTakesOnePermit, and gives it back once.
func TestLostReplyTakesOnePermit(t *testing.T) {
	t.Parallel()
	harmed, whole, p := line(t)
	name := labtest.Name(t)
	ok(t, harmed.PermitExpirableSemaphore().SetPermits(t.Context(), name, 3))
	ok(t, take(t, harmed.PermitExpirableSemaphore(), name, long).Release(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	held := take(t, harmed.PermitExpirableSemaphore(), name, long)
	info, err := whole.PermitExpirableSemaphore().Inspect(t.Context(), name)
	if err != nil || len(info.Holders) != 1 {
		t.Errorf("held by %v, %v, want one holder", info.Holders, err)
	}
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	ok(t, held.Release(t.Context()))
	for range 3 {
		take(t, whole.PermitExpirableSemaphore(), name, long)
	}
	refused(t, whole.PermitExpirableSemaphore(), name)
}
