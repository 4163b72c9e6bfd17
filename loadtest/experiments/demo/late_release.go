package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/loadtest/rig"
)

// oneUserLock is the key that the service locks for the user of the one-user
// workload.
const oneUserLock = "flashsale:redis_lock:userId:1"

// lateReleases stands for holders that were paused beyond the end of their
// leases. Each releases its expired lease while another holder has the lock.
type lateReleases struct {
	rdb    redis.UniversalClient
	leases []lock.Lease
	sent   int
}

// expiredLeases acquires n leases of the user's lock, one after the other, and
// lets each expire. From then on only the service has that lock.
func expiredLeases(ctx context.Context, url string, n int) (*lateReleases, error) {
	rdb, err := connect.Redis(url, 2)
	if err != nil {
		return nil, err
	}
	l := &lateReleases{rdb: rdb}
	for len(l.leases) < n {
		lease, err := l.acquire(ctx, time.Millisecond)
		if err != nil {
			return nil, errors.Join(err, rdb.Close())
		}
		l.leases = append(l.leases, lease)
	}
	last, err := l.acquire(ctx, time.Minute) // when the one before has expired
	if err == nil {
		err = last.Release(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return l, nil
}

// acquire acquires the user's lock as soon as the previous lease has expired.
func (l *lateReleases) acquire(ctx context.Context, ttl time.Duration) (lock.Lease, error) {
	locker := redislock.New(l.rdb)
	for {
		lease, err := locker.TryLock(ctx, oneUserLock, ttl)
		if !errors.Is(err, lock.ErrLocked) {
			return lease, err
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// run releases expired leases while the lock is held, until ctx ends or all are
// released.
func (l *lateReleases) run(ctx context.Context) error {
	for ctx.Err() == nil && l.sent < len(l.leases) {
		locked, err := l.rdb.Exists(ctx, oneUserLock).Result()
		if err != nil && ctx.Err() == nil {
			return err
		}
		if locked == 0 {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		_ = l.leases[l.sent].Release(ctx) // ErrLost, if the driver is right
		l.sent++
	}
	return nil
}

// withLateReleases returns generate with late releases during the burst.
func withLateReleases(sale *rig.Sale, generate rig.Generator) rig.Generator {
	return func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (rig.Burst, error) {
		late, err := expiredLeases(ctx, sale.RedisURL, 300*w.Rounds)
		if err != nil {
			return rig.Burst{}, err
		}
		defer late.rdb.Close()
		during, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- late.run(during) }()
		b, err := generate(ctx, dir, t, w)
		cancel()
		if err = errors.Join(err, <-done); err == nil && late.sent == 0 {
			err = fmt.Errorf("no late release was sent: the service never held %s", oneUserLock)
		}
		return b, err
	}
}
