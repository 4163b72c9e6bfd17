package redisson_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const (
	long     = time.Minute
	patience = 20 * time.Second
)

var promises = locktest.Promises{Exclusive: true, Expires: true, Notifies: true, Batches: true, Tick: 10 * time.Millisecond}

func client(tb testing.TB, server *lab.Redis) *redisson.Client {
	tb.Helper()
	return redisson.New(labtest.Dial(tb, server), redisson.Auto)
}

// conforms runs the contract's suite on the locks that open makes.
func conforms(t *testing.T, p locktest.Promises, open func(*redisson.Client) lock.Locker) {
	t.Parallel()
	server := labtest.Redis(t)
	locktest.Run(t, p, func(tb testing.TB) lock.Locker { return open(client(tb, server)) })
}

func TestLockConforms(t *testing.T) {
	conforms(t, promises, func(c *redisson.Client) lock.Locker { return c.Lock() })
}

func TestFencedLockConforms(t *testing.T) {
	p := promises
	p.Fences = true
	conforms(t, p, func(c *redisson.Client) lock.Locker { return c.FencedLock() })
}

func TestFairLockConforms(t *testing.T) {
	p := promises
	p.Notifies, p.Waits = false, true
	conforms(t, p, func(c *redisson.Client) lock.Locker { return c.FairLock() })
}

func TestWriteLockConforms(t *testing.T) {
	conforms(t, promises, func(c *redisson.Client) lock.Locker { return c.WriteLock() })
}

func TestMultiLockConforms(t *testing.T) {
	p := promises
	p.Batches = false
	t.Parallel()
	one, two := labtest.Redis(t), labtest.Redis(t)
	locktest.Run(t, p, func(tb testing.TB) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: client(tb, one).Lock()}, redisson.Part{Locker: client(tb, two).FencedLock()})
	})
}

// single is a semaphore of one permit, which is a lock.
type single struct {
	redisson.RPermitExpirableSemaphore
}

func (s single) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := s.SetPermits(context.WithoutCancel(ctx), key, 1); err != nil {
		return nil, err
	}
	return s.RPermitExpirableSemaphore.TryLock(ctx, key, ttl)
}

func TestSinglePermitConforms(t *testing.T) {
	conforms(t, promises, func(c *redisson.Client) lock.Locker { return single{c.PermitExpirableSemaphore()} })
}

func take(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
	if err != nil {
		tb.Fatalf("TryLock of a free key: %v", err)
	}
	return lease
}

func refused(tb testing.TB, l lock.Locker, key string) {
	tb.Helper()
	if _, err := l.TryLock(tb.Context(), key, long); !errors.Is(err, lock.ErrLocked) {
		tb.Fatalf("TryLock of a held key: %v, want ErrLocked", err)
	}
}

func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// eventually waits for what must become true.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	tb.Fatalf("not within %s: %s", patience, what)
}

func subscribers(tb testing.TB, rdb redis.UniversalClient) int {
	tb.Helper()
	channels, err := rdb.PubSubChannels(tb.Context(), "*").Result()
	ok(tb, err)
	return len(channels)
}
