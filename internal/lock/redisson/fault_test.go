package redisson_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	for name, l := range exclusive {
		open := func(tb testing.TB, hostport string) lock.Locker { return l.open(dial(tb, "redis://"+hostport)) }
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch name {
			case "permit": // a release that is repeated may name a later permit
			case "FencedLock", "WriteLock": // differ from Lock in their scripts
				locktest.RunLostReplies(t, l.promises, server.URL, open)
			default:
				locktest.RunFaults(t, l.promises, true, server.URL, open)
			}
		})
	}
}

// throughProxy returns a client behind a fault proxy and a client beside it.
func throughProxy(t *testing.T) (proxied, direct *redisson.Client, p *faultproxy.Proxy) {
	t.Helper()
	server := labtest.Redis(t)
	p = labtest.Proxy(t, server.URL)
	return dial(t, "redis://"+p.Addr()), newClient(t, server), p
}

// The changes of latches and semaphores are not idempotent. A change whose reply
// is lost is made once, and its caller gets an error.
func TestLostReplyChangesNoCountTwice(t *testing.T) {
	t.Parallel()
	proxied, direct, p := throughProxy(t)
	name := labtest.Name(t)
	latch := proxied.CountDownLatch(name)
	if set, err := latch.TrySetCount(t.Context(), 3); err != nil || !set {
		t.Fatal(set, err)
	}
	check.NoError(t, latch.CountDown(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := latch.CountDown(t.Context()); err == nil {
		t.Error("CountDown without a reply: no error")
	}
	if n, err := direct.CountDownLatch(name).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("count %d, %v, want 1", n, err)
	}
	sem := proxied.Semaphore(labtest.Name(t))
	check.NoError(t, sem.Release(t.Context(), 5))
	check.NoError(t, sem.TryAcquire(t.Context(), 1))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := sem.TryAcquire(t.Context(), 3); err == nil {
		t.Error("TryAcquire without a reply: no error")
	}
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	if err := sem.Release(t.Context(), 2); err == nil {
		t.Error("Release without a reply: no error")
	}
	if n, err := sem.AvailablePermits(t.Context()); err != nil || n != 3 {
		t.Errorf("%d permits, %v, want 5-1-3+2 = 3", n, err)
	}
}

// Java reads the hold count too. The script of a fenced lock runs twice but increments the
// counter once.
func TestLostReplyLeavesHoldCountOneAndOneFence(t *testing.T) {
	t.Parallel()
	const ahead = uint64(1) << 52 // later than the clock, so that the counter decides
	proxied, direct, p := throughProxy(t)
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr()})
	defer rdb.Close()
	for _, l := range []redisson.RLock{proxied.Lock(), proxied.FencedLock()} {
		check.NoError(t, locktest.MustTryLock(t, l, "k", longTTL).Release(t.Context())) // the server knows the scripts
		check.NoError(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", ahead, 0).Err())
		p.Inject(faultproxy.LoseReply, "evalsha", 1)
		lease := locktest.MustTryLock(t, l, "k", longTTL)
		info, err := direct.Lock().Inspect(t.Context(), "k")
		if err != nil || len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 {
			t.Errorf("%+v, %v, want one hold", info, err)
		}
		if fence := lease.Fence(); fence != 0 && fence != ahead+1 {
			t.Errorf("fence %d, want %d", fence, ahead+1)
		}
		check.NoError(t, lease.Release(t.Context()))
	}
}

// Release sends its request again after a lost reply. A lease that had expired
// before is lost, not released.
func TestLostReplyHidesNoLostLease(t *testing.T) {
	t.Parallel()
	proxied, _, p := throughProxy(t)
	lease := locktest.MustTryLock(t, proxied.Lock(), "k", 50*time.Millisecond)
	check.NoError(t, locktest.MustTryLock(t, proxied.Lock(), "other", longTTL).Release(t.Context()))
	time.Sleep(100 * time.Millisecond)
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
}

func TestLostReplyAcquiresAndReleasesOnePermit(t *testing.T) {
	t.Parallel()
	proxied, direct, p := throughProxy(t)
	name := labtest.Name(t)
	check.NoError(t, proxied.PermitExpirableSemaphore().SetPermits(t.Context(), name, 3))
	check.NoError(t, locktest.MustTryLock(t, proxied.PermitExpirableSemaphore(), name, longTTL).Release(t.Context()))
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	lease := locktest.MustTryLock(t, proxied.PermitExpirableSemaphore(), name, longTTL)
	info, err := direct.PermitExpirableSemaphore().Inspect(t.Context(), name)
	if err != nil || len(info.Holders) != 1 {
		t.Errorf("holders %v, %v, want one", info.Holders, err)
	}
	p.Inject(faultproxy.LoseReply, "evalsha", 1)
	check.NoError(t, lease.Release(t.Context()))
	for range 3 {
		locktest.MustTryLock(t, direct.PermitExpirableSemaphore(), name, longTTL)
	}
	locktest.WantLocked(t, direct.PermitExpirableSemaphore(), name)
}
