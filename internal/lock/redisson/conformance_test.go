package redisson_test

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestMain(m *testing.M) { labtest.Parallel = 20; labtest.Main(m, lab.RedisServer) }

const longTTL = time.Minute

var promises = locktest.Promises{Exclusive: true, Expires: true, Notifies: true, Tells: true,
	Tick: 10 * time.Millisecond}

func newClient(tb testing.TB, server *lab.Redis) *redisson.Client {
	tb.Helper()
	return dial(tb, server.URL)
}

func dial(tb testing.TB, url string) *redisson.Client {
	tb.Helper()
	return redisson.New(labtest.DialURL(tb, url))
}

// exclusive are the exclusive locks of Redisson, with what they promise.
var exclusive = map[string]struct {
	promises locktest.Promises
	open     func(*redisson.Client) lock.Locker
}{
	"Lock":       {promises, func(c *redisson.Client) lock.Locker { return c.Lock() }},
	"FencedLock": {fenced(promises), func(c *redisson.Client) lock.Locker { return c.FencedLock() }},
	"FairLock":   {fair(promises), func(c *redisson.Client) lock.Locker { return c.FairLock() }},
	"WriteLock":  {promises, func(c *redisson.Client) lock.Locker { return c.WriteLock() }},
	"permit": {promises, func(c *redisson.Client) lock.Locker {
		return singlePermit{c.PermitExpirableSemaphore()}
	}},
}

func fenced(p locktest.Promises) locktest.Promises { p.Fences = true; return p }

func fair(p locktest.Promises) locktest.Promises {
	p.Notifies, p.Blocks, p.Tells = false, true, false
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	for name, l := range exclusive {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, l.promises, func(tb testing.TB) lock.Locker { return l.open(newClient(tb, server)) })
		})
	}
}

func TestFairQueue(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l, other := newClient(t, server).FairLock(), newClient(t, server).FairLock()
	locktest.RunQueue(t, [2]lock.BlockingLocker{l, other}, func(t *testing.T, key string) int {
		waiters, err := l.Queue(t.Context(), key)
		check.NoError(t, err)
		return len(waiters)
	})
}

func TestMultiLockConformance(t *testing.T) {
	t.Parallel()
	server1, server2 := labtest.Redis(t), labtest.Redis(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: newClient(tb, server1).Lock()},
			redisson.Part{Locker: newClient(tb, server2).FencedLock()})
	})
}

// A singlePermit is a semaphore of one permit, and so an exclusive lock.
type singlePermit struct {
	redisson.RPermitExpirableSemaphore
}

func (s singlePermit) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := s.SetPermits(context.WithoutCancel(ctx), key, 1); err != nil {
		return nil, err
	}
	return s.RPermitExpirableSemaphore.TryLock(ctx, key, ttl)
}
