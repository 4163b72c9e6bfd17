package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// oneUserLock is the key under which the service locks the user of the
// one-user workload.
const oneUserLock = "redis_lock:userId:1"

// lateReleases plays the holders that everybody fears: they were paused past
// the end of their leases, and now let go of what is no longer theirs,
// whenever somebody else holds the lock.
type lateReleases struct {
	rdb    redis.UniversalClient
	leases []lock.Lease
	Sent   int
}

// staleLeases takes n leases of the user's lock from r, one after the other,
// and lets each run out.
func staleLeases(ctx context.Context, url string, n int) (*lateReleases, error) {
	rdb, err := connect.Redis(url, 2)
	if err != nil {
		return nil, err
	}
	l := &lateReleases{rdb: rdb}
	for len(l.leases) < n {
		lease, err := l.take(ctx, time.Millisecond)
		if err != nil {
			return nil, errors.Join(err, rdb.Close())
		}
		l.leases = append(l.leases, lease)
	}
	return l, nil
}

// take gets the user's lock, as soon as the lease before has run out.
func (l *lateReleases) take(ctx context.Context, ttl time.Duration) (lock.Lease, error) {
	locker := redislock.New(l.rdb)
	for {
		lease, err := locker.TryLock(ctx, oneUserLock, ttl)
		if !errors.Is(err, lock.ErrLocked) {
			return lease, err
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// run lets go late until ctx ends or no lease is left.
func (l *lateReleases) run(ctx context.Context) error {
	for ctx.Err() == nil && l.Sent < len(l.leases) {
		held, err := l.rdb.Exists(ctx, oneUserLock).Result()
		if err != nil && ctx.Err() == nil {
			return err
		}
		if held == 0 {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		_ = l.leases[l.Sent].Release(ctx) // ErrLost, if the driver is right
		l.Sent++
	}
	return nil
}

// withLateReleases generates the load while late releases arrive. That they
// aim at the right key is checked first: while we hold it, the user's claim
// must be told so.
func (s *Stack) withLateReleases(ctx context.Context, dir string, generate generator, t Target, w Workload) (Burst, error) {
	late, err := staleLeases(ctx, s.Redis.URL, 300*w.Rounds)
	if err != nil {
		return Burst{}, err
	}
	defer late.rdb.Close()
	if err := s.checkLockKey(ctx, late, t); err != nil {
		return Burst{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- late.run(ctx) }()
	b, err := generate(ctx, dir, t, w)
	cancel()
	if err = errors.Join(err, <-ended); err == nil && late.Sent == 0 {
		err = errors.New("no late release met a holder")
	}
	return b, err
}

func (s *Stack) checkLockKey(ctx context.Context, late *lateReleases, t Target) error {
	lease, err := late.take(ctx, 30*time.Second)
	if err != nil {
		return err
	}
	user, err := token(s.Secret, 1, false)
	if err != nil {
		return err
	}
	var problem struct{ Code string }
	err = t.call(ctx, http.MethodPost, "/coupons/"+t.Coupons[0]+"/orders", user, nil, http.StatusConflict, &problem)
	if err == nil && problem.Code != "claim_in_progress" {
		err = fmt.Errorf("a claim under a held lock was told %q: %s is not the service's key", problem.Code, oneUserLock)
	}
	return errors.Join(err, lease.Release(ctx))
}
