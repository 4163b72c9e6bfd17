package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

const (
	longTTL     = time.Minute
	testTimeout = 20 * time.Second
)

var promises = locktest.Promises{Exclusive: true, Expires: true, Notifies: true, Batches: true, Tells: true,
	Tick: 10 * time.Millisecond}

func newClient(tb testing.TB, server *lab.Redis) *redisson.Client {
	tb.Helper()
	return redisson.New(labtest.Dial(tb, server), redisson.Auto)
}

// testConformance runs the conformance suite on the lockers that open returns.
func testConformance(t *testing.T, p locktest.Promises, open func(*redisson.Client) lock.Locker) {
	t.Parallel()
	server := labtest.Redis(t)
	locktest.Run(t, p, func(tb testing.TB) lock.Locker { return open(newClient(tb, server)) })
}

func TestRLockConformance(t *testing.T) {
	testConformance(t, promises, func(c *redisson.Client) lock.Locker { return c.Lock() })
}

func TestFencedLockConformance(t *testing.T) {
	p := promises
	p.Fences = true
	testConformance(t, p, func(c *redisson.Client) lock.Locker { return c.FencedLock() })
}

func TestFairLockConformance(t *testing.T) {
	p := promises
	p.Notifies, p.Blocks, p.Tells = false, true, false
	testConformance(t, p, func(c *redisson.Client) lock.Locker { return c.FairLock() })
}

func TestWriteLockConformance(t *testing.T) {
	testConformance(t, promises, func(c *redisson.Client) lock.Locker { return c.WriteLock() })
}

func TestMultiLockConformance(t *testing.T) {
	p := promises
	p.Batches = false
	t.Parallel()
	server1, server2 := labtest.Redis(t), labtest.Redis(t)
	locktest.Run(t, p, func(tb testing.TB) lock.Locker {
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

func TestSinglePermitConformance(t *testing.T) {
	testConformance(t, promises,
		func(c *redisson.Client) lock.Locker { return singlePermit{c.PermitExpirableSemaphore()} })
}

// channelCount returns the number of channels with a subscription.
func channelCount(tb testing.TB, rdb redis.UniversalClient) int {
	tb.Helper()
	channels, err := rdb.PubSubChannels(tb.Context(), "*").Result()
	check.NoError(tb, err)
	return len(channels)
}
