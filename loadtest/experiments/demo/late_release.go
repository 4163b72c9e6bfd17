package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/loadtest/rig"
)

// oneUserLock is the key that the service locks for the user of the one-user
// workload.
const oneUserLock = "flashsale:redis_lock:userId:1"

// expiredLeases acquires n leases of the user's lock, one after the other, and
// lets each expire. From then on only the service has that lock.
func expiredLeases(ctx context.Context, locker lock.Locker, n int) (leases []lock.Lease, err error) {
	for len(leases) < n {
		lease, err := acquire(ctx, locker, time.Millisecond)
		if err != nil {
			return nil, err
		}
		leases = append(leases, lease)
	}
	last, err := acquire(ctx, locker, time.Minute) // when the one before has expired
	if err != nil {
		return nil, err
	}
	return leases, last.Release(ctx)
}

// acquire acquires the user's lock as soon as the previous lease has expired.
func acquire(ctx context.Context, locker lock.Locker, ttl time.Duration) (lock.Lease, error) {
	for {
		lease, err := locker.TryLock(ctx, oneUserLock, ttl)
		if !errors.Is(err, lock.ErrLocked) {
			return lease, err
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// releaseLate releases expired leases while the lock is held, until ctx ends or all are
// released, and returns how many it has released.
func releaseLate(ctx context.Context, rdb redis.UniversalClient, leases []lock.Lease) (sent int, err error) {
	for ctx.Err() == nil && sent < len(leases) {
		locked, err := rdb.Exists(ctx, oneUserLock).Result()
		if err != nil && ctx.Err() == nil {
			return sent, err
		}
		if locked == 0 {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		_ = leases[sent].Release(ctx) // ErrLost, if the driver is right
		sent++
	}
	return sent, nil
}

// withLateReleases returns generate with late releases during the burst. They stand for
// holders that were paused beyond the end of their leases: each releases its expired lease
// while another holder has the lock.
func withLateReleases(sale *rig.Sale, generate rig.Generator) rig.Generator {
	return func(ctx context.Context, dir string, t rig.Target, w rig.Workload) (b rig.Burst, err error) {
		rdb, err := connect.Redis(sale.RedisURL, 2)
		if err != nil {
			return b, err
		}
		defer rdb.Close()
		leases, err := expiredLeases(ctx, redislock.New(rdb), 300*w.Rounds)
		if err != nil {
			return b, err
		}
		during, cancel := context.WithCancel(ctx)
		sent := 0
		var late errgroup.Group
		late.Go(func() (err error) { sent, err = releaseLate(during, rdb, leases); return err })
		b, err = generate(ctx, dir, t, w)
		cancel()
		if err = errors.Join(err, late.Wait()); err == nil && sent == 0 {
			err = fmt.Errorf("no late release was sent: the service never held %s", oneUserLock)
		}
		return b, err
	}
}
